//! What this connection has just committed, while nobody else has committed since.
//!
//! A server works on the same few tasks and agents in one batch after the other; it need not decode
//! them again. `data_version` tells whether another connection has committed: then all is forgotten.
//! What a transaction takes from here comes back only with its commit, so that nothing is kept that
//! was never stored.

use super::task_row::TaskRow;
use crate::Changes;
use comity_core::facts::{Entity, Facts, Presence};
use comity_core::ids::AgentId;
use comity_core::state::{Key, State};
use comity_core::time::Timestamp;
use std::collections::{BTreeMap, HashMap};

/// Entities that are kept; when there are more, all are forgotten.
const KEPT_MAX: usize = 2_048;

/// The rows of tasks that one commit wrote.
pub(super) type TaskRows = BTreeMap<Key, TaskRow>;

/// What is known without a look at the database.
#[derive(Default)]
pub(super) struct Recent {
    version: Option<i64>,
    entities: HashMap<Key, Entity>,
    rows: HashMap<Key, TaskRow>,
    presence: HashMap<AgentId, Presence>,
}

impl Recent {
    /// Forgets everything if another connection has committed, or if it has become too much.
    pub(super) fn check(&mut self, version: i64) {
        let kept = self.entities.len() + self.rows.len() + self.presence.len();
        if self.version != Some(version) || kept > KEPT_MAX {
            self.forget();
            self.version = Some(version);
        }
    }

    pub(super) fn forget(&mut self) {
        *self = Recent::default();
    }

    /// Takes an entity, if it is known.
    pub(super) fn take(&mut self, key: &Key) -> Option<Entity> {
        self.entities.remove(key)
    }

    /// Takes an agent's signs of life, if they are known.
    pub(super) fn take_presence(&mut self, agent: &AgentId) -> Option<Presence> {
        self.presence.remove(agent)
    }

    /// Returns how the row of a task stands in the database, if that is known.
    pub(super) fn row(&self, key: &Key) -> Option<&TaskRow> {
        self.rows.get(key)
    }

    /// Notes how the row of a task stands in the database.
    pub(super) fn note_row(&mut self, key: Key, row: TaskRow) {
        self.rows.insert(key, row);
    }

    /// Follows a commit of this connection. What it changed is known again only by [`Recent::keep`].
    pub(super) fn follow(&mut self, changes: &Changes<'_>, rows: TaskRows) {
        for key in changes.rows.dirty {
            self.entities.remove(key);
            self.rows.remove(key);
        }
        for (agent, ..) in changes.presence {
            self.presence.remove(agent);
        }
        for (key, due) in changes.rows.due {
            if let Some(row) = self.rows.get_mut(key) {
                row.columns.due_at = due.map(Timestamp::ms);
            }
        }
        self.rows.extend(rows);
    }

    /// Keeps the facts of the last commit.
    pub(super) fn keep(&mut self, facts: Facts) {
        if self.version.is_some() {
            let (state, presence) = facts.into_known();
            self.presence.extend(presence);
            self.keep_state(state);
        }
    }

    fn keep_state(&mut self, state: State) {
        let State { repos, tasks, leases, decisions, agents } = state;
        self.entities.extend(repos.into_iter().map(|(id, it)| (Key::Repo(id), Entity::Repo(it))));
        self.entities
            .extend(agents.into_iter().map(|(id, it)| (Key::Agent(id), Entity::Agent(it))));
        for ((repo, id), task) in tasks {
            self.entities.insert(Key::Task(repo, id), Entity::Task(Box::new(task)));
        }
        for ((repo, id), lease) in leases {
            self.entities.insert(Key::Lease(repo, id), Entity::Lease(Box::new(lease)));
        }
        for ((repo, id), decision) in decisions {
            self.entities.insert(Key::Decision(repo, id), Entity::Decision(Box::new(decision)));
        }
    }
}
