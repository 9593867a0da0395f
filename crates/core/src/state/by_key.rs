//! The maps of the state as one: by key, whatever the kind.

use super::{Key, State};
use crate::facts::Entity;

/// Writes what is the same for every kind: its name, the parts of its key, and its map. A star says that the map has the
/// entity itself, where the entity on its way is in a box.
macro_rules! by_key {
    ($($kind:ident($($part:ident),+) in $map:ident $(by $star:tt)?;)*) => {
        #[expect(unused_parens, reason = "the key of a repository or an agent has one part")]
        impl State {
            pub fn get(&self, key: &Key) -> Option<Entity> {
                match key {
                    $(Key::$kind($($part),+) => {
                        let found = self.$map.get(&($(Clone::clone($part)),+));
                        found.map(|it| Entity::$kind(it.clone().into()))
                    })*
                }
            }

            pub fn take(&mut self, key: &Key) -> Option<Entity> {
                match key {
                    $(Key::$kind($($part),+) => {
                        let found = self.$map.remove(&($(Clone::clone($part)),+));
                        found.map(|it| Entity::$kind(it.into()))
                    })*
                }
            }

            pub fn put(&mut self, key: Key, entity: Entity) {
                let fits = match (key, entity) {
                    $((Key::$kind($($part),+), Entity::$kind(it)) => {
                        self.$map.insert(($($part),+), $($star)? it);
                        true
                    })*
                    _ => false,
                };
                assert!(fits, "BUG: an entity under the key of another kind");
            }

            /// Returns the keys of all entities, in order.
            pub fn keys(&self) -> Vec<Key> {
                let mut keys = Vec::new();
                $(keys.extend(self.$map.keys().cloned().map(|($($part),+)| Key::$kind($($part),+)));)*
                keys
            }

            pub fn into_each(self, mut take: impl FnMut(Key, Entity)) {
                $(for (($($part),+), it) in self.$map {
                    take(Key::$kind($($part),+), Entity::$kind(it.into()));
                })*
            }
        }
    };
}

by_key! {
    Repo(repo) in repos;
    Task(repo, id) in tasks;
    Lease(repo, id) in leases by *;
    Decision(repo, id) in decisions by *;
    Agent(id) in agents;
    Memory(repo, id) in memories by *;
    Directive(repo, id) in directives by *;
    PastLease(repo, id) in past_leases by *;
    Post(repo, id) in posts by *;
    Run(repo, id) in runs by *;
    Budget(repo, scope) in budgets by *;
}
