//! An agent or a person that has acted.

use crate::ids::AgentId;
use crate::role::Role;
use crate::seat::Seat;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub roles: Vec<Role>,
    pub skills: Vec<String>,
    pub registered_at: Timestamp,
    /// Whatever else callers said of it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub about: Map<String, Value>,
}

/// The highest numbers given out in one repository, and what was set for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    pub tasks: u64,
    pub leases: u64,
    pub decisions: u64,
    #[serde(default)]
    pub memories: u64,
    #[serde(default)]
    pub directives: u64,
    /// Whether `A` and `a` are one name there; none where nobody has set it, and then the settings say it.
    #[serde(default)]
    pub fold_case: Option<bool>,
    /// Who sits where.
    #[serde(default)]
    pub seats: BTreeMap<String, Seat>,
}
