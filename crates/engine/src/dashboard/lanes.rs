//! The timeline: who did what when, one lane for each agent.

use super::DAY;
use crate::fold::{BUCKET_MS, Name, Past, Step};
use crate::read::Reader;
use comity_api::{Bar, Density, Lane, LeaseBar, LogEnds, TimeMark, TimeWindow, TimelineAnswer};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use std::collections::BTreeMap;

/// The window where none is given.
const WINDOW: Millis = Millis::from_secs(4 * 3_600);
/// Bars, leases and marks of one answer, each.
const MARKS_MAX: usize = 5_000;

/// The part of time that is shown.
#[derive(Clone, Copy)]
struct Window {
    from: Timestamp,
    to: Timestamp,
}

impl Window {
    fn has(self, from: Timestamp, to: Option<Timestamp>) -> bool {
        from <= self.to && to.is_none_or(|to| to >= self.from)
    }
}

impl Reader<'_> {
    pub(crate) fn timeline(&mut self, wanted: &TimeWindow) -> Result<TimelineAnswer, Refusal> {
        let (now, repo) = (self.now(), self.caller.repo.to_string());
        let (seq, at) = (self.seq(), self.at());
        let to = wanted.to.unwrap_or(now);
        let before = |length: Millis| Timestamp::from_ms(to.ms().saturating_sub(length.ms()));
        let from = wanted.from.unwrap_or_else(|| before(WINDOW));
        if from >= to {
            return Err(Refusal::input("the window ends before it begins"));
        }
        let fold = self.fold()?;
        let past = fold.of(&repo);
        let mut lanes = Lanes { past, window: Window { from, to }, lanes: BTreeMap::new() };
        lanes.work();
        lanes.reviews();
        lanes.questions();
        lanes.leases();
        lanes.writes();
        let (lanes, folded) = lanes.finish();
        let log = LogEnds { from: past.ends.map(|ends| ends.0), to: past.ends.map(|ends| ends.1) };
        let density = density(past, before(DAY).min(from), to);
        Ok(TimelineAnswer { seq, at, now, from, to, log, lanes, folded, density })
    }
}

struct Lanes<'p> {
    past: &'p Past,
    window: Window,
    lanes: BTreeMap<Name, Lane>,
}

impl Lanes<'_> {
    fn lane(&mut self, name: Name) -> &mut Lane {
        let agent = self.past.name(name);
        self.lanes.entry(name).or_insert_with(|| Lane {
            agent: agent.to_owned(),
            person: agent.starts_with("human:"),
            bars: Vec::new(),
            leases: Vec::new(),
            marks: Vec::new(),
        })
    }

    fn bar(&mut self, name: Name, bar: Bar) {
        if self.window.has(bar.from, bar.to) {
            self.lane(name).bars.push(bar);
        }
    }

    fn mark(&mut self, name: Name, mark: TimeMark) {
        if self.window.has(mark.ts, Some(mark.ts)) {
            self.lane(name).marks.push(mark);
        }
    }

    /// Puts the stretches in which tasks were worked on and merged into the lanes of those who did it.
    fn work(&mut self) {
        let past = self.past;
        for task in past.tasks() {
            let steps: Vec<&Step> = past.steps_of(task).collect();
            let mut at = 0;
            while let Some(step) = steps.get(at) {
                let is_same = |other: &&&Step| other.status.is_held() == step.status.is_held();
                let run = steps.get(at..).unwrap_or_default().iter().take_while(is_same).count();
                let (kind, who, length) = match step.status {
                    Status::Claimed | Status::InProgress => ("work", step.worker, run),
                    Status::Merging => ("merge", Some(step.by), 1),
                    _ => {
                        at += 1;
                        continue;
                    }
                };
                let next = steps.get(at + length);
                if let Some(who) = who {
                    let bar = Bar {
                        kind: kind.to_owned(),
                        task: past.text(Some(task)),
                        decision: None,
                        from: step.ts,
                        to: next.map(|next| next.ts),
                        seq: step.seq,
                        end: next.map(|next| ended(past, next).to_owned()),
                    };
                    self.bar(who, bar);
                    self.end_mark(who, next.copied());
                }
                at += length;
            }
        }
    }

    /// Marks where work failed, was blocked or was finished.
    fn end_mark(&mut self, who: Name, next: Option<&Step>) {
        let Some(step) = next else { return };
        let kind = match step.status {
            Status::Failed => "failed",
            Status::Blocked => "blocked",
            Status::Done => "done",
            _ => return,
        };
        let task = self.past.text(Some(step.task));
        let words = format!("{} {kind}", task.as_deref().unwrap_or_default());
        let (ts, seq) = (step.ts, step.seq);
        let kind = kind.to_owned();
        self.mark(who, TimeMark { kind, ts, seq, task, decision: None, path: None, words });
    }

    fn reviews(&mut self) {
        let past = self.past;
        for taken in &past.taken {
            let after = |step: &&Step| step.seq > taken.seq && step.status != Status::Review;
            let next = past.steps_of(taken.task).find(after);
            let bar = Bar {
                kind: "review".to_owned(),
                task: past.text(Some(taken.task)),
                decision: None,
                from: taken.ts,
                to: next.map(|next| next.ts),
                seq: taken.seq,
                end: next.map(|next| ended(past, next).to_owned()),
            };
            self.bar(taken.by, bar);
        }
    }

    fn questions(&mut self) {
        let past = self.past;
        for asked in &past.asked {
            let decision = Some(format!("D{}", asked.id));
            let bar = Bar {
                kind: "wait".to_owned(),
                task: past.text(asked.task),
                decision: decision.clone(),
                from: asked.from,
                to: asked.settled.map(|(at, ..)| at),
                seq: asked.seq,
                end: asked.settled.map(|_| "answered".to_owned()),
            };
            self.bar(asked.by, bar);
            if let Some((ts, by, seq)) = asked.settled {
                let seq = seq.get();
                let words = format!("answered D{}", asked.id);
                let task = past.text(asked.task);
                let kind = "answered".to_owned();
                self.mark(by, TimeMark { kind, ts, seq, task, decision, path: None, words });
            }
        }
    }

    fn leases(&mut self) {
        let past = self.past;
        for hold in past.holds.iter().filter(|hold| self.window.has(hold.from, hold.to)) {
            let path = past.name(hold.path);
            let refused = past.writes.iter().filter(|write| {
                write.refused
                    && write.holder == Some(hold.owner)
                    && write.ts >= hold.from
                    && hold.to.is_none_or(|to| write.ts <= to)
                    && super::tree::meet(path, past.name(write.path))
            });
            let bar = LeaseBar {
                lock_id: format!("L{}", hold.id),
                path: path.to_owned(),
                task: past.text(hold.task),
                from: hold.from,
                to: hold.to,
                seq: hold.seq,
                refused: refused.count(),
            };
            let lane = self.lanes.entry(hold.owner).or_insert_with(|| Lane {
                agent: past.name(hold.owner).to_owned(),
                person: past.name(hold.owner).starts_with("human:"),
                bars: Vec::new(),
                leases: Vec::new(),
                marks: Vec::new(),
            });
            lane.leases.push(bar);
        }
    }

    fn writes(&mut self) {
        let past = self.past;
        for write in &past.writes {
            let kind = if write.refused { "refused" } else { "write_seen" };
            let path = past.name(write.path).to_owned();
            let words = match past.text(write.holder) {
                Some(holder) => format!("{path}, held by {holder}"),
                None => path.clone(),
            };
            let mark = TimeMark {
                kind: kind.to_owned(),
                ts: write.ts,
                seq: write.seq,
                task: past.text(write.task),
                decision: None,
                path: Some(path),
                words,
            };
            self.mark(write.by, mark);
        }
    }

    /// Returns the lanes, people first, and the names of those who did nothing in this window.
    fn finish(self) -> (Vec<Lane>, Vec<String>) {
        let mut lanes: Vec<Lane> = self.lanes.into_values().collect();
        for lane in &mut lanes {
            lane.bars.sort_by_key(|bar| bar.seq);
            lane.marks.sort_by_key(|mark| mark.seq);
            lane.bars.truncate(MARKS_MAX);
            lane.leases.truncate(MARKS_MAX);
            lane.marks.truncate(MARKS_MAX);
        }
        lanes.sort_by(|a, b| (!a.person, &a.agent).cmp(&(!b.person, &b.agent)));
        let shown: Vec<&str> = lanes.iter().map(|lane| lane.agent.as_str()).collect();
        let known = self.past.hours.keys().map(|(_, name)| self.past.name(*name));
        let mut folded: Vec<String> =
            known.filter(|name| !shown.contains(name)).map(str::to_owned).collect();
        folded.sort();
        folded.dedup();
        (lanes, folded)
    }
}

/// Says how a stretch of time ended.
fn ended(past: &Past, next: &Step) -> &'static str {
    match next.status {
        Status::Review => "submitted",
        Status::Queued if past.name(next.by) == "watchdog" => "reclaimed",
        Status::Queued => "released",
        Status::Blocked => "blocked",
        Status::Failed => "failed",
        Status::Done => "done",
        Status::Abandoned => "abandoned",
        Status::Approved => "approved",
        Status::ChangesRequested => "sent_back",
        Status::Claimed | Status::InProgress => "continued",
        Status::Merging => "merging",
    }
}

fn density(past: &Past, from: Timestamp, to: Timestamp) -> Density {
    let (first, last) = (from.ms() / BUCKET_MS, to.ms() / BUCKET_MS);
    // A long window has wider stretches, so that an answer stays small.
    let width = ((last - first) / 200 + 1).max(1);
    let mut counts = Vec::new();
    let mut at = first;
    while at <= last {
        counts.push(past.buckets.range(at..at + width).map(|(_, count)| count).sum());
        at += width;
    }
    let from = Timestamp::from_ms(first * BUCKET_MS);
    Density { from, bucket_seconds: width * BUCKET_MS / 1_000, counts }
}
