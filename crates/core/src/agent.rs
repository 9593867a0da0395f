//! An agent or a person that has acted.

use crate::ids::AgentId;
use crate::role::Role;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Somebody who acts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// The identity.
    pub id: AgentId,
    /// What it is there for.
    pub roles: Vec<Role>,
    /// What it can do.
    pub skills: Vec<String>,
    /// When it was first seen.
    pub registered_at: Timestamp,
    /// Whatever else callers said of it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub about: Map<String, Value>,
}

/// The numbers given out in one repository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Highest task number.
    pub tasks: u64,
    /// Highest lease number.
    pub leases: u64,
    /// Highest decision number.
    pub decisions: u64,
    /// Highest memory number.
    #[serde(default)]
    pub memories: u64,
    /// Highest directive number.
    #[serde(default)]
    pub directives: u64,
}
