//! What a connection has just committed, while nobody else has committed since.
//!
//! A server works on the same few tasks and agents in one batch after the other; it need not decode
//! them again. The database tells whether another connection has committed: then all is forgotten.
//! What a transaction takes from here comes back only with its commit, so that nothing is kept that
//! was never stored.

use crate::Changes;
use comity_core::facts::{Entity, Facts, Presence};
use comity_core::ids::AgentId;
use comity_core::state::{Key, State};
use comity_core::time::Timestamp;
use std::collections::{BTreeMap, HashMap};

/// Entities that are kept; when there are more, all are forgotten.
const KEPT_MAX: usize = 2_048;

/// What a database holds of a task.
pub(crate) trait TaskRow {
    /// Follows a change of the due time.
    fn set_due(&mut self, due_at: Option<i64>);
}

/// What is known without a query.
pub(crate) struct CommitCache<R> {
    version: Option<i64>,
    entities: HashMap<Key, Entity>,
    rows: HashMap<Key, R>,
    presence: HashMap<AgentId, Presence>,
}

impl<R> Default for CommitCache<R> {
    fn default() -> CommitCache<R> {
        CommitCache {
            version: None,
            entities: HashMap::new(),
            rows: HashMap::new(),
            presence: HashMap::new(),
        }
    }
}

impl<R: TaskRow> CommitCache<R> {
    /// Forgets everything if another connection has committed, or if it has become too much.
    pub(crate) fn check(&mut self, version: i64) {
        let kept = self.entities.len() + self.rows.len() + self.presence.len();
        if self.version != Some(version) || kept > KEPT_MAX {
            self.forget();
            self.version = Some(version);
        }
    }

    /// Notes the number of this connection's own commit.
    pub(crate) fn commit_is(&mut self, version: i64) {
        self.version = Some(version);
    }

    pub(crate) fn forget(&mut self) {
        *self = CommitCache::default();
    }

    pub(crate) fn take(&mut self, key: &Key) -> Option<Entity> {
        self.entities.remove(key)
    }

    pub(crate) fn take_presence(&mut self, agent: &AgentId) -> Option<Presence> {
        self.presence.remove(agent)
    }

    pub(crate) fn row(&self, key: &Key) -> Option<&R> {
        self.rows.get(key)
    }

    pub(crate) fn note_row(&mut self, key: Key, row: R) {
        self.rows.insert(key, row);
    }

    /// Follows a commit of this connection. What it changed is known again only by [`CommitCache::keep`].
    pub(crate) fn follow(&mut self, changes: &Changes<'_>, rows: BTreeMap<Key, R>) {
        for key in changes.rows.dirty {
            self.entities.remove(key);
            self.rows.remove(key);
        }
        for (agent, ..) in changes.presence {
            self.presence.remove(agent);
        }
        for (key, due) in changes.rows.due {
            if let Some(row) = self.rows.get_mut(key) {
                row.set_due(due.map(Timestamp::ms));
            }
        }
        self.rows.extend(rows);
    }

    pub(crate) fn keep(&mut self, facts: Facts) {
        if self.version.is_some() {
            let (state, presence) = facts.into_known();
            self.presence.extend(presence);
            self.keep_state(state);
        }
    }

    fn keep_state(&mut self, state: State) {
        let State { repos, tasks, leases, decisions, agents, memories, directives } = state;
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
        for ((repo, id), memory) in memories {
            self.entities.insert(Key::Memory(repo, id), Entity::Memory(Box::new(memory)));
        }
        for ((repo, id), directive) in directives {
            self.entities.insert(Key::Directive(repo, id), Entity::Directive(Box::new(directive)));
        }
    }
}
