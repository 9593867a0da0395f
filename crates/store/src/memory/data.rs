//! Everything that the model keeps, and how a commit changes it.

use crate::transaction_time::ClockNote;
use crate::{Changes, PRESENCE_LIFE, Rows};
use comity_core::chain::{Head, Stored};
use comity_core::facts::{Presence, Saved};
use comity_core::ids::{AgentId, Fence};
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::state::{Key, State};
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use std::collections::BTreeMap;

/// The log, the projected state, and what stays outside the log.
#[derive(Clone, Default)]
pub(super) struct Data {
    pub(super) state: State,
    pub(super) events: Vec<Stored>,
    pub(super) presence: BTreeMap<(AgentId, Option<Fence>), Timestamp>,
    pub(super) saved: BTreeMap<(AgentId, String), Saved>,
    pub(super) kept: BTreeMap<(String, String), Vec<u8>>,
    pub(super) due: BTreeMap<Key, Timestamp>,
    pub(super) noted: Option<ClockNote>,
    pub(super) commits: u64,
    pub(super) closed: Option<String>,
}

impl Data {
    pub(super) fn head(&self) -> Head {
        self.events.last().map(Stored::head).unwrap_or_default()
    }

    /// Tells whether a task waits for nothing but somebody to claim it.
    pub(super) fn is_unblocked(&self, task: &Task) -> bool {
        task.status == Status::Queued && self.open_dependencies(task) == 0
    }

    pub(super) fn open_dependencies(&self, task: &Task) -> usize {
        let is_done = |id| {
            let found = self.state.tasks.get(&(task.repo.clone(), id));
            found.is_some_and(|on| on.status == Status::Done)
        };
        task.dependencies.iter().filter(|id| !is_done((*id).clone())).count()
    }

    /// Signs of life for one grant that are too old to count are not there, pruned or not.
    pub(super) fn presence_of(&self, agent: &AgentId, now: Timestamp) -> Presence {
        let mut presence = Presence::default();
        for ((_, fence), seen) in self.presence.iter().filter(|((id, _), _)| id == agent) {
            match fence {
                None => presence.general = Some(*seen),
                Some(fence) if now.since(*seen) < PRESENCE_LIFE => {
                    presence.by_fence.insert(*fence, *seen);
                }
                Some(_) => {}
            }
        }
        presence
    }

    pub(super) fn saved_answer(&self, actor: &AgentId, key: &str, now: Timestamp) -> Option<Saved> {
        let saved = self.saved.get(&(actor.clone(), key.to_owned()))?;
        (now.since(saved.at) < IDEMPOTENCY_LIFE).then(|| saved.clone())
    }

    pub(super) fn write_rows(&mut self, rows: &Rows<'_>) {
        for key in rows.dirty {
            self.state.take(key);
            match rows.facts.state.get(key) {
                Some(entity) => self.state.put(key.clone(), entity),
                None => drop(self.due.remove(key)),
            }
        }
        for (key, due) in rows.due {
            match due {
                Some(at) if self.state.get(key).is_some() => {
                    self.due.insert(key.clone(), *at);
                }
                _ => {
                    self.due.remove(key);
                }
            }
        }
    }

    pub(super) fn clear_projections(&mut self) {
        self.state = State::default();
        self.due.clear();
    }

    pub(super) fn apply(&mut self, changes: &Changes<'_>) {
        self.events.extend_from_slice(changes.events);
        self.write_rows(&changes.rows);
        if let Some(at) = crate::corrected(changes.events) {
            self.presence.retain(|_, seen| *seen <= at);
            self.saved.values_mut().for_each(|saved| saved.at = saved.at.min(at));
        }
        for (agent, fence, seen) in changes.presence {
            let last = self.presence.entry((agent.clone(), *fence)).or_insert(*seen);
            *last = (*last).max(*seen);
        }
        for (actor, key, saved) in changes.saved {
            self.saved.insert((actor.clone(), key.clone()), saved.clone());
        }
        for (space, key, value) in changes.kept {
            let place = (space.clone(), key.clone());
            match value {
                Some(value) => self.kept.insert(place, value.clone()),
                None => self.kept.remove(&place),
            };
        }
        self.commits += 1;
    }
}
