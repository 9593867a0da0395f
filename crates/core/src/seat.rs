//! A seat: a place that one process at a time has, such as that of the supervisor of a repository.

use crate::ids::{AgentId, Fence};
use crate::refusal::Refusal;
use crate::role::Verb;
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

/// Who sits where, and until when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    pub holder: AgentId,
    pub host: Option<String>,
    /// What everything that is done from the seat is done under.
    pub fence: Fence,
    /// How long it is kept without a sign of life.
    pub ttl: Millis,
    pub since: Timestamp,
}

/// The seat of whoever supervises the repository.
pub const SUPERVISOR: &str = "supervisor";
const MERGE: &str = "merge:";
/// Longest name of a seat, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Returns what somebody must be able to do to take a seat.
pub fn verb(name: &str) -> Result<Verb, Refusal> {
    let target = name.strip_prefix(MERGE).filter(|target| !target.trim().is_empty());
    match (name, target) {
        (SUPERVISOR, _) => Ok(Verb::Supervise),
        (_, Some(_)) if name.len() <= NAME_BYTES_MAX => Ok(Verb::MergeQueue),
        _ => Err(Refusal::input(format!("there is no seat {:?}", crate::ids::shorten(name)))
            .hint("the seats are supervisor and merge:BRANCH")),
    }
}
