//! A lease: the hold of one owner on the paths of one pattern, for a time.

use crate::ids::{AgentId, Fence, LeaseId, RepoName, TaskId};
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

/// Whether others may hold the same paths.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum LeaseMode {
    /// Nobody else.
    #[default]
    Exclusive,
    /// Others that share, too.
    Shared,
}

impl LeaseMode {
    /// Returns the word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            LeaseMode::Exclusive => "exclusive",
            LeaseMode::Shared => "shared",
        }
    }
}

/// A live lease. One that has ended is not kept; the log remembers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    /// The repository of its paths.
    pub repo: RepoName,
    pub id: LeaseId,
    /// The normalised pattern.
    pub path: String,
    /// Exclusive or shared.
    pub mode: LeaseMode,
    /// Who holds it.
    pub owner: AgentId,
    /// What for, in words or as a task id.
    pub purpose: Option<String>,
    /// The task whose claim it belongs to; it ends with that claim.
    pub claim_of: Option<TaskId>,
    /// The number that proves it.
    pub fence: Fence,
    /// When it was granted.
    pub acquired_at: Timestamp,
    /// When it was last renewed by a command.
    pub renewed_at: Timestamp,
    /// How long it lives without a sign of life.
    pub ttl: Millis,
}
