//! What a connection has just committed, while nobody else has committed since.
//!
//! A server works on the same few tasks and agents in one batch after the other; it need not decode
//! them again. The database tells whether another connection has committed: then all is forgotten.
//! What a transaction takes from here comes back only with its commit, so that nothing is kept that
//! was never stored.

use crate::Changes;
use comity_core::facts::{Entity, Facts, Presence};
use comity_core::ids::AgentId;
use comity_core::state::Key;
use comity_core::time::Timestamp;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// What is kept of each kind: as much again may be left from before.
const KEPT_MAX: usize = 1_024;
/// After so many transactions everything is forgotten: signs of life that are too old to count go with it.
const TRANSACTIONS_MAX: u32 = 4_096;

/// What was put in lately. When that becomes much, what has not been put in again since the last time is forgotten.
struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    fn take(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.young.get_mut(key).or_else(|| self.old.get_mut(key))
    }

    fn grow_old(&mut self) {
        if self.young.len() > KEPT_MAX {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
    }
}

/// What a database holds of a task.
pub(crate) trait TaskRow {
    /// Follows a change of the due time.
    fn set_due(&mut self, due_at: Option<i64>);
}

/// What is known without a query.
pub(crate) struct CommitCache<R> {
    version: Option<i64>,
    transactions: u32,
    entities: Recent<Key, Entity>,
    rows: Recent<Key, R>,
    presence: Recent<AgentId, Presence>,
}

impl<R> Default for CommitCache<R> {
    fn default() -> CommitCache<R> {
        CommitCache {
            version: None,
            transactions: 0,
            entities: Recent::default(),
            rows: Recent::default(),
            presence: Recent::default(),
        }
    }
}

impl<R: TaskRow> CommitCache<R> {
    /// Forgets everything if another connection has committed, and what has not been used for long.
    pub(crate) fn check(&mut self, version: i64) {
        if self.version != Some(version) || self.transactions >= TRANSACTIONS_MAX {
            self.forget();
            self.version = Some(version);
        }
        self.transactions += 1;
        self.entities.grow_old();
        self.rows.grow_old();
        self.presence.grow_old();
    }

    /// Notes the number of this connection's own commit.
    pub(crate) fn commit_is(&mut self, version: i64) {
        self.version = Some(version);
    }

    pub(crate) fn forget(&mut self) {
        *self = CommitCache::default();
    }

    pub(crate) fn take(&mut self, key: &Key) -> Option<Entity> {
        self.entities.take(key)
    }

    pub(crate) fn take_presence(&mut self, agent: &AgentId) -> Option<Presence> {
        self.presence.take(agent)
    }

    pub(crate) fn row(&self, key: &Key) -> Option<&R> {
        self.rows.get(key)
    }

    pub(crate) fn note_row(&mut self, key: Key, row: R) {
        self.rows.put(key, row);
    }

    /// Follows a commit of this connection. What it changed is known again only by [`CommitCache::keep`].
    pub(crate) fn follow(&mut self, changes: &Changes<'_>, rows: BTreeMap<Key, R>) {
        for key in changes.rows.dirty {
            self.entities.take(key);
            self.rows.take(key);
        }
        for (agent, ..) in changes.presence {
            self.presence.take(agent);
        }
        for (key, due) in changes.rows.due {
            if let Some(row) = self.rows.get_mut(key) {
                row.set_due(due.map(Timestamp::ms));
            }
        }
        rows.into_iter().for_each(|(key, row)| self.rows.put(key, row));
    }

    pub(crate) fn keep(&mut self, facts: Facts) {
        if self.version.is_some() {
            let (state, presence) = facts.into_known();
            presence.into_iter().for_each(|(agent, signs)| self.presence.put(agent, signs));
            state.into_each(|key, entity| {
                // Nobody looks up one ended lease.
                if !matches!(key, Key::PastLease(..)) {
                    self.entities.put(key, entity);
                }
            });
        }
    }
}
