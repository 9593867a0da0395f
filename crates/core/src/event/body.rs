//! The fields of events about tasks and leases.

use crate::ids::{AgentId, DecisionId, Fence, LeaseId, TaskId};
use crate::lease::LeaseMode;
use crate::role::Role;
use crate::status::Status;
use crate::task::{Constraints, Deliverable, Priority};
use crate::time::{Millis, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskCreated {
    pub number: u64,
    pub title: String,
    pub description: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub complexity: Option<u32>,
    pub deliverable: Deliverable,
    pub priority: Priority,
    pub labels: Vec<String>,
    pub role: Option<Role>,
    pub assignee: Option<AgentId>,
    pub dependencies: Vec<TaskId>,
    pub blockers: Vec<String>,
    pub files: Vec<String>,
    pub requirements: Vec<String>,
    pub dod: Vec<String>,
    pub gates: Vec<String>,
    pub constraints: Constraints,
    pub context: Map<String, Value>,
    pub timeout: Millis,
    pub epic: Option<String>,
    pub prd: Option<String>,
    pub initiative: Option<String>,
    pub parent: Option<TaskId>,
    /// The text that it was made of, as it came: the log keeps it for the way back, the task does not carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Fields of a task were set. A field that is absent stays; an empty text clears.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskUpdated {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// For example `implementation`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A planner's estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<u32>,
    /// What the task delivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliverable: Option<Deliverable>,
    /// How urgent the task is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// The role that may claim the task; an empty text means any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Outside reasons not to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blockers: Option<Vec<String>>,
    /// Patterns of the files that the work changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// What the result must satisfy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Vec<String>>,
    /// The checklist; an item that stays keeps its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dod: Option<Vec<String>>,
    /// The gates that the task must pass; a gate that stays keeps its evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<String>>,
    /// What the work may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Constraints>,
    /// Entries of the context to set; null removes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Value>>,
    /// How long the work may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// The epic that the task belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epic: Option<String>,
    /// The requirements document that the task belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prd: Option<String>,
    /// The initiative that the task belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiative: Option<String>,
    /// The branch of the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr: Option<String>,
    /// What a blocked task needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// A task was reserved for somebody, or for nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskAssigned {
    pub assignee: Option<AgentId>,
}

/// A reference to another system was set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLinked {
    pub provider: String,
    /// The kind of reference.
    pub key: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskClaimed {
    pub assignee: AgentId,
    /// The number that proves it: this event's own seq.
    pub fence: Fence,
    /// The branch to work on; none when there is no code.
    pub branch: Option<String>,
    pub ttl: Millis,
    pub host: Option<String>,
    pub workspace: Option<String>,
    /// The tip of the base branch at that time; none where git could not be seen.
    #[serde(default)]
    pub base: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The tip of the base branch at the first claim of the task for which it could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_base: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dependency {
    /// Tasks that must be done first.
    pub on: TaskId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusChanged {
    pub old_status: Status,
    pub new_status: Status,
    pub reason: Option<String>,
    /// What is needed, when blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// When to try again, when blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Decisions that must be answered, when blocked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<DecisionId>,
    /// Whether the ended claim counts as an attempt.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uses_attempt: bool,
    /// Whether attempts and rounds start anew.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resets_attempts: bool,
    /// Who should get the task back, when queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefers: Option<AgentId>,
    /// The state of an imported task that nobody here may take over without a person, when blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Status>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl StatusChanged {
    pub fn new(old_status: Status, new_status: Status, reason: Option<String>) -> StatusChanged {
        StatusChanged {
            old_status,
            new_status,
            reason,
            needs: None,
            retry_at: None,
            questions: Vec::new(),
            uses_attempt: false,
            resets_attempts: false,
            prefers: None,
            kept: None,
        }
    }
}

/// A lease was granted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileLocked {
    pub lock_id: LeaseId,
    pub path: String,
    pub mode: LeaseMode,
    pub owner: AgentId,
    pub purpose: Option<String>,
    /// The task whose claim it belongs to.
    pub claim_of: Option<TaskId>,
    pub fence: Fence,
    pub ttl: Millis,
    /// When it was taken elsewhere; none is when it was granted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Its paths had been changed already, or nobody could see whether they were. It excuses no change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub late: bool,
}

/// How a lease was held that ends. An event of an older comity does not say it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    pub mode: LeaseMode,
    pub fence: Fence,
    pub since: Timestamp,
    #[serde(default, skip_serializing_if = "is_false")]
    pub late: bool,
    /// When it ran out; none when it was released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseRenewed {
    pub lock_id: LeaseId,
    pub path: String,
    pub owner: AgentId,
    pub ttl: Millis,
    /// Exclusive or shared from now on.
    pub mode: LeaseMode,
    /// The task whose claim it no longer ends with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detached_from: Option<TaskId>,
    /// When it was renewed elsewhere; none is when it was renewed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseReleased {
    pub lock_id: LeaseId,
    pub path: String,
    pub owner: AgentId,
    pub claim_of: Option<TaskId>,
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

/// Leases, and a claim with them, ended because their owner showed no sign of life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocksReclaimed {
    pub owner: AgentId,
    pub last_seen: Option<Timestamp>,
    pub locks: Vec<ReclaimedLock>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReclaimedLock {
    pub lock_id: LeaseId,
    pub path: String,
    pub claim_of: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}
