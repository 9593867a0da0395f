use crate::time::Millis;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LeaseChange {
    /// Take leases, all or none.
    Acquire {
        patterns: Vec<String>,
        task: Option<String>,
        purpose: Option<String>,
        #[serde(default, with = "crate::time::written")]
        ttl: Option<Millis>,
        shared: bool,
    },
    Renew {
        ids: Vec<String>,
        #[serde(default, with = "crate::time::written")]
        ttl: Option<Millis>,
    },
    Release {
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
