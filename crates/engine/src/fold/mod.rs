//! The log, folded into what pages about time show: when each task had which status, who held what for how long, what was
//! asked, what was refused. A fold is extended by new events and never read again from the start while somebody uses it.

mod keep;

pub(crate) use keep::{Folds, Look};

use comity_core::chain::{Hash, Stored};
use comity_core::event::Event;
use comity_core::ids::Seq;
use comity_core::status::Status;
use comity_core::time::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU64;

/// Milliseconds in an hour.
pub(crate) const HOUR_MS: i64 = 3_600_000;
/// The stretches of time that events are counted in.
pub(crate) const BUCKET_MS: i64 = 900_000;

/// A name, as a number that is small.
pub(crate) type Name = u32;

/// A task came into a status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub seq: u64,
    pub ts: Timestamp,
    pub task: Name,
    pub status: Status,
    /// Who did it.
    pub by: Name,
    /// Who works on the task from then on, or did so last.
    pub worker: Option<Name>,
}

/// A review that somebody took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub seq: u64,
    pub ts: Timestamp,
    pub task: Name,
    pub by: Name,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub id: u64,
    pub seq: u64,
    pub from: Timestamp,
    pub to: Option<Timestamp>,
    pub path: Name,
    pub owner: Name,
    pub task: Option<Name>,
    /// Whether it ended because its owner gave no sign of life.
    pub reclaimed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub id: u64,
    pub seq: u64,
    pub from: Timestamp,
    pub by: Name,
    pub task: Option<Name>,
    /// When, by whom and where it was settled.
    pub settled: Option<(Timestamp, Name, NonZeroU64)>,
}

/// A write that the guard refused, or saw where it should not have been.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub seq: u64,
    pub ts: Timestamp,
    pub by: Name,
    pub path: Name,
    pub holder: Option<Name>,
    pub task: Option<Name>,
    pub refused: bool,
}

/// What happened in one repository.
#[derive(Debug, Default)]
pub(crate) struct Past {
    names: Vec<String>,
    numbers: HashMap<String, Name>,
    pub steps: Vec<Step>,
    /// The places of each task's steps.
    of_task: HashMap<Name, Vec<usize>>,
    pub created: HashMap<Name, Timestamp>,
    workers: HashMap<Name, Name>,
    pub taken: Vec<Taken>,
    pub holds: Vec<Hold>,
    open_holds: HashMap<u64, usize>,
    pub asked: Vec<Asked>,
    open_asked: HashMap<u64, usize>,
    pub writes: Vec<Written>,
    /// What was needed when a task was blocked, by the place of the step.
    pub needs: HashMap<u64, String>,
    /// The last words of an agent: a note, a path or a command.
    pub last_words: HashMap<Name, String>,
    /// Events of each agent, by the hour.
    pub hours: BTreeMap<(i64, Name), u32>,
    /// Events, by the quarter of an hour.
    pub buckets: BTreeMap<i64, u32>,
    pub ends: Option<(Timestamp, Timestamp)>,
}

impl Past {
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name as usize).map_or("", String::as_str)
    }

    pub fn number(&self, name: &str) -> Option<Name> {
        self.numbers.get(name).copied()
    }

    pub fn text(&self, name: Option<Name>) -> Option<String> {
        name.map(|name| self.name(name).to_owned())
    }

    /// Returns the steps of a task in the order of the log.
    pub fn steps_of(&self, task: Name) -> impl DoubleEndedIterator<Item = &Step> {
        let places = self.of_task.get(&task).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|place| self.steps.get(*place))
    }

    pub fn tasks(&self) -> impl Iterator<Item = Name> + '_ {
        self.of_task.keys().copied()
    }

    /// Returns when a task came into its status.
    pub fn since(&self, task: &str) -> Option<Timestamp> {
        self.steps_of(self.number(task)?).next_back().map(|step| step.ts)
    }

    fn intern(&mut self, text: &str) -> Name {
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        let name = Name::try_from(self.names.len()).unwrap_or(Name::MAX);
        self.names.push(text.to_owned());
        self.numbers.insert(text.to_owned(), name);
        name
    }

    fn step(&mut self, stored: &Stored, status: Status) {
        let Some(id) = &stored.task else { return };
        let (task, by) = (self.intern(id), self.intern(&stored.agent));
        let step = Step {
            seq: stored.seq.0,
            ts: stored.ts,
            task,
            status,
            by,
            worker: self.workers.get(&task).copied(),
        };
        self.of_task.entry(task).or_default().push(self.steps.len());
        self.steps.push(step);
    }

    fn add(&mut self, stored: &Stored) {
        let by = self.intern(&stored.agent);
        *self.hours.entry((stored.ts.ms() / HOUR_MS, by)).or_default() += 1;
        *self.buckets.entry(stored.ts.ms() / BUCKET_MS).or_default() += 1;
        let first = self.ends.map_or(stored.ts, |(first, _)| first);
        self.ends = Some((first, stored.ts));
        let Some(body) = stored.body.as_deref() else { return };
        let Ok(event) = Event::decode(&stored.event, body) else { return };
        self.apply(stored, by, event);
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most events leave no trace on these pages")]
    fn apply(&mut self, stored: &Stored, by: Name, event: Event) {
        let task = stored.task.as_deref().map(|id| self.intern(id));
        let (seq, ts) = (stored.seq.0, stored.ts);
        match event {
            Event::TaskCreated(_) => {
                self.step(stored, Status::Queued);
                self.created.extend(task.map(|task| (task, ts)));
            }
            Event::TaskClaimed(body) => {
                let worker = self.intern(body.assignee.as_str());
                self.workers.extend(task.map(|task| (task, worker)));
            }
            Event::StatusChanged(body) => {
                self.step(stored, body.new_status);
                if let Some(needs) = body.needs.or(body.reason) {
                    self.needs.insert(seq, needs);
                }
            }
            Event::ReviewTaken(body) => {
                let by = self.intern(body.reviewer.as_str());
                self.taken.extend(task.map(|task| Taken { seq, ts, task, by }));
            }
            Event::FileLocked(body) => {
                let id = body.lock_id.0;
                let path = self.intern(&body.path);
                let owner = self.intern(body.owner.as_str());
                let task = body.claim_of.as_ref().map(|id| self.intern(id.as_str())).or(task);
                let hold =
                    Hold { id, seq, from: ts, to: None, path, owner, task, reclaimed: false };
                self.open_holds.insert(id, self.holds.len());
                self.holds.push(hold);
            }
            Event::LeaseReleased(body) => self.end_hold(body.lock_id.0, ts, false),
            Event::LocksReclaimed(body) => {
                body.locks.iter().for_each(|lock| self.end_hold(lock.lock_id.0, ts, true));
            }
            Event::DecisionAsked(body) => {
                let id = body.decision.0;
                self.open_asked.insert(id, self.asked.len());
                self.asked.push(Asked { id, seq, from: ts, by, task, settled: None });
            }
            Event::DecisionAnswered(body) => self.settle(body.decision.0, ts, by, seq),
            Event::DecisionExpired(body) => self.settle(body.decision.0, ts, by, seq),
            Event::Note(body) => {
                self.last_words.insert(by, body.text);
            }
            Event::SubtaskStarted(body) => {
                self.last_words.insert(by, body.notes);
            }
            Event::Reported(body) if matches!(&*body.name, "write_refused" | "write_seen") => {
                let text = |key: &str| body.fields.get(key).and_then(Value::as_str);
                let Some(path) = text("path") else { return };
                let holder = text("holder").map(|holder| self.intern(holder));
                let (path, refused) = (self.intern(path), body.name == "write_refused");
                self.writes.push(Written { seq, ts, by, path, holder, task, refused });
            }
            _ => {}
        }
    }

    fn end_hold(&mut self, id: u64, at: Timestamp, reclaimed: bool) {
        let place = self.open_holds.remove(&id);
        if let Some(hold) = place.and_then(|place| self.holds.get_mut(place)) {
            (hold.to, hold.reclaimed) = (Some(at), reclaimed);
        }
    }

    fn settle(&mut self, id: u64, ts: Timestamp, by: Name, seq: u64) {
        let place = self.open_asked.remove(&id);
        if let Some(asked) = place.and_then(|place| self.asked.get_mut(place)) {
            // A place of the log is never 0, so the entry needs no room for whether it is there.
            asked.settled = NonZeroU64::new(seq).map(|seq| (ts, by, seq));
        }
    }
}

/// The whole log up to a place.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    pub seq: Seq,
    /// The hash of the last event.
    pub hash: Hash,
    repos: HashMap<String, Past>,
    none: Past,
}

impl Fold {
    pub fn of(&self, repo: &str) -> &Past {
        self.repos.get(repo).unwrap_or(&self.none)
    }

    pub fn add(&mut self, stored: &Stored) {
        (self.seq, self.hash) = (stored.seq, stored.hash);
        if !self.repos.contains_key(&stored.repo) {
            self.repos.insert(stored.repo.clone(), Past::default());
        }
        if let Some(past) = self.repos.get_mut(&stored.repo) {
            past.add(stored);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_an_event_takes_at_most_64_bytes() {
        let sizes = [
            ("Step", size_of::<Step>()),
            ("Taken", size_of::<Taken>()),
            ("Hold", size_of::<Hold>()),
            ("Asked", size_of::<Asked>()),
            ("Written", size_of::<Written>()),
        ];
        for (name, size) in sizes {
            assert!(size <= 64, "{name}: {size} bytes");
        }
    }
}
