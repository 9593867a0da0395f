use crate::time::Millis;
use serde::{Deserialize, Serialize};

/// What is done about leases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LeaseChange {
    /// Take leases, all or none.
    Acquire {
        patterns: Vec<String>,
        /// The task they are for.
        task: Option<String>,
        /// What they are for, in words.
        purpose: Option<String>,
        /// Their life.
        #[serde(default, with = "crate::time::written")]
        ttl: Option<Millis>,
        /// Whether others may share them.
        shared: bool,
    },
    /// Renew leases.
    Renew {
        /// The leases.
        ids: Vec<String>,
        /// Their new life.
        #[serde(default, with = "crate::time::written")]
        ttl: Option<Millis>,
    },
    /// End leases.
    Release {
        /// The leases.
        ids: Vec<String>,
        /// All of the caller's own.
        all: bool,
    },
}

impl From<LeaseChange> for super::Command {
    fn from(command: LeaseChange) -> super::Command {
        super::Command::Lease(command)
    }
}
