//! Everything that the model keeps, and how a commit changes it.

use crate::transaction_time::ClockNote;
use crate::{Changes, PRESENCE_LIFE, Rows};
use comity_core::chain::{Head, Stored};
use comity_core::facts::{Entity, Presence, Saved};
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

    pub(super) fn entity(&self, key: &Key) -> Option<Entity> {
        let state = &self.state;
        match key {
            Key::Repo(repo) => state.repos.get(repo).cloned().map(Entity::Repo),
            Key::Task(repo, id) => {
                let task = state.tasks.get(&(repo.clone(), id.clone()));
                task.cloned().map(Entity::Task)
            }
            Key::Lease(repo, id) => {
                let lease = state.leases.get(&(repo.clone(), *id));
                lease.cloned().map(Box::new).map(Entity::Lease)
            }
            Key::Decision(repo, id) => {
                let decision = state.decisions.get(&(repo.clone(), *id));
                decision.cloned().map(Box::new).map(Entity::Decision)
            }
            Key::Agent(id) => state.agents.get(id).cloned().map(Entity::Agent),
            Key::Memory(repo, id) => {
                let memory = state.memories.get(&(repo.clone(), *id));
                memory.cloned().map(Box::new).map(Entity::Memory)
            }
            Key::Directive(repo, id) => {
                let directive = state.directives.get(&(repo.clone(), *id));
                directive.cloned().map(Box::new).map(Entity::Directive)
            }
            Key::PastLease(repo, id) => {
                let lease = state.past_leases.get(&(repo.clone(), *id));
                lease.cloned().map(Box::new).map(Entity::PastLease)
            }
            Key::Post(repo, id) => {
                let post = state.posts.get(&(repo.clone(), id.clone()));
                post.cloned().map(Box::new).map(Entity::Post)
            }
            Key::Run(repo, id) => {
                let run = state.runs.get(&(repo.clone(), *id));
                run.cloned().map(Box::new).map(Entity::Run)
            }
            Key::Budget(repo, scope) => {
                let budget = state.budgets.get(&(repo.clone(), scope.clone()));
                budget.cloned().map(Box::new).map(Entity::Budget)
            }
        }
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        let state = &self.state;
        let mut keys: Vec<Key> = state.repos.keys().cloned().map(Key::Repo).collect();
        keys.extend(state.tasks.keys().cloned().map(|(repo, id)| Key::Task(repo, id)));
        keys.extend(state.leases.keys().cloned().map(|(repo, id)| Key::Lease(repo, id)));
        keys.extend(state.decisions.keys().cloned().map(|(repo, id)| Key::Decision(repo, id)));
        keys.extend(state.agents.keys().cloned().map(Key::Agent));
        keys.extend(state.memories.keys().cloned().map(|(repo, id)| Key::Memory(repo, id)));
        keys.extend(state.directives.keys().cloned().map(|(repo, id)| Key::Directive(repo, id)));
        keys.extend(state.past_leases.keys().cloned().map(|(repo, id)| Key::PastLease(repo, id)));
        keys.extend(state.posts.keys().cloned().map(|(repo, id)| Key::Post(repo, id)));
        keys.extend(state.runs.keys().cloned().map(|(repo, id)| Key::Run(repo, id)));
        keys.extend(state.budgets.keys().cloned().map(|(repo, scope)| Key::Budget(repo, scope)));
        keys.sort();
        keys
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
            self.copy_row(key, &rows.facts.state);
            if self.entity(key).is_none() {
                self.due.remove(key);
            }
        }
        for (key, due) in rows.due {
            match due {
                Some(at) if self.entity(key).is_some() => {
                    self.due.insert(key.clone(), *at);
                }
                _ => {
                    self.due.remove(key);
                }
            }
        }
    }

    fn copy_row(&mut self, key: &Key, from: &State) {
        match key {
            Key::Repo(repo) => copy(repo, &from.repos, &mut self.state.repos),
            Key::Task(repo, id) => {
                copy(&(repo.clone(), id.clone()), &from.tasks, &mut self.state.tasks);
            }
            Key::Lease(repo, id) => {
                copy(&(repo.clone(), *id), &from.leases, &mut self.state.leases);
            }
            Key::Decision(repo, id) => {
                copy(&(repo.clone(), *id), &from.decisions, &mut self.state.decisions);
            }
            Key::Agent(id) => copy(id, &from.agents, &mut self.state.agents),
            Key::Memory(repo, id) => {
                copy(&(repo.clone(), *id), &from.memories, &mut self.state.memories);
            }
            Key::Directive(repo, id) => {
                copy(&(repo.clone(), *id), &from.directives, &mut self.state.directives);
            }
            Key::PastLease(repo, id) => {
                copy(&(repo.clone(), *id), &from.past_leases, &mut self.state.past_leases);
            }
            Key::Post(repo, id) => {
                copy(&(repo.clone(), id.clone()), &from.posts, &mut self.state.posts);
            }
            Key::Run(repo, id) => copy(&(repo.clone(), *id), &from.runs, &mut self.state.runs),
            Key::Budget(repo, scope) => {
                copy(&(repo.clone(), scope.clone()), &from.budgets, &mut self.state.budgets);
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

/// Copies an entry from one map to another; an absent one is deleted.
fn copy<K: Ord + Clone, V: Clone>(key: &K, from: &BTreeMap<K, V>, to: &mut BTreeMap<K, V>) {
    match from.get(key) {
        Some(value) => {
            to.insert(key.clone(), value.clone());
        }
        None => {
            to.remove(key);
        }
    }
}
