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

/// A task came into being.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskCreated {
    pub number: u64,
    pub title: String,
    pub description: String,
    /// For example `implementation`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// A planner's estimate.
    pub complexity: Option<u32>,
    /// What the task delivers.
    pub deliverable: Deliverable,
    /// How urgent the task is.
    pub priority: Priority,
    pub labels: Vec<String>,
    /// The role that may claim the task.
    pub role: Option<Role>,
    /// The agent that the task is reserved for.
    pub assignee: Option<AgentId>,
    /// Tasks that must be done first.
    pub dependencies: Vec<TaskId>,
    /// Outside reasons not to start.
    pub blockers: Vec<String>,
    /// Patterns of the files that the work changes.
    pub files: Vec<String>,
    /// What the result must satisfy.
    pub requirements: Vec<String>,
    /// The checklist.
    pub dod: Vec<String>,
    /// The gates it asks for.
    pub gates: Vec<String>,
    /// What the work may change.
    pub constraints: Constraints,
    /// Further entries for the mission.
    pub context: Map<String, Value>,
    /// How long the work may take.
    pub timeout: Millis,
    /// The epic that the task belongs to.
    pub epic: Option<String>,
    /// The requirements document that the task belongs to.
    pub prd: Option<String>,
    /// The initiative that the task belongs to.
    pub initiative: Option<String>,
    /// The task that this one is a part of.
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
    /// The pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr: Option<String>,
    /// What a blocked task needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// A task was reserved for somebody, or for nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskAssigned {
    /// For whom.
    pub assignee: Option<AgentId>,
}

/// A reference to another system was set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLinked {
    /// The system.
    pub provider: String,
    /// The kind of reference.
    pub key: String,
    /// The reference.
    pub value: String,
}

/// Somebody took a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskClaimed {
    pub assignee: AgentId,
    /// The number that proves it: this event's own seq.
    pub fence: Fence,
    /// The branch to work on; none when there is no code.
    pub branch: Option<String>,
    /// How long it lives without a sign of life.
    pub ttl: Millis,
    /// On which host.
    pub host: Option<String>,
    /// In which work tree.
    pub workspace: Option<String>,
    /// The tip of the base branch at that time; none where git could not be seen.
    #[serde(default)]
    pub base: Option<String>,
    /// The commit that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// An edge between two tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dependency {
    /// Tasks that must be done first.
    pub on: TaskId,
}

/// A task went from one state to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusChanged {
    /// From.
    pub old_status: Status,
    /// To.
    pub new_status: Status,
    /// Why.
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
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl StatusChanged {
    /// Makes a plain step.
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
        }
    }
}

/// A lease was granted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileLocked {
    /// Its id.
    pub lock_id: LeaseId,
    /// The pattern.
    pub path: String,
    /// Exclusive or shared.
    pub mode: LeaseMode,
    /// Who holds it.
    pub owner: AgentId,
    /// What for.
    pub purpose: Option<String>,
    /// The task whose claim it belongs to.
    pub claim_of: Option<TaskId>,
    /// The number that proves it.
    pub fence: Fence,
    /// How long it lives without a sign of life.
    pub ttl: Millis,
    /// When it was taken elsewhere; none is when it was granted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// A lease was renewed by its owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseRenewed {
    /// Its id.
    pub lock_id: LeaseId,
    /// The pattern.
    pub path: String,
    /// Who holds it.
    pub owner: AgentId,
    /// How long it lives without a sign of life.
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

/// A lease ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseReleased {
    /// Its id.
    pub lock_id: LeaseId,
    /// The pattern.
    pub path: String,
    /// Who held it.
    pub owner: AgentId,
    /// The task whose claim it belonged to.
    pub claim_of: Option<TaskId>,
    /// Why.
    pub reason: Option<String>,
}

/// Leases, and a claim with them, ended because their owner showed no sign of life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocksReclaimed {
    /// Who held them.
    pub owner: AgentId,
    /// When the owner was last heard of.
    pub last_seen: Option<Timestamp>,
    /// The leases.
    pub locks: Vec<ReclaimedLock>,
}

/// One lease that was reclaimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReclaimedLock {
    /// Its id.
    pub lock_id: LeaseId,
    /// The pattern.
    pub path: String,
    /// The task whose claim it belonged to.
    pub claim_of: Option<TaskId>,
}
