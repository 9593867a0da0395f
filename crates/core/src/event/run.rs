//! The fields of events about runs and budgets.

use crate::budget::{Per, Scope};
use crate::ids::{AgentId, DecisionId, Fence, RunId, TaskId};
use crate::money::Usd;
use crate::run::{CostBasis, RunError, RunState, Stage, Tokens};
use crate::task::Priority;
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunQueued {
    pub run: RunId,
    pub agent: String,
    pub driver: String,
    pub model: Option<String>,
    pub stage: Stage,
    pub meta: Map<String, Value>,
    pub branch: Option<String>,
    pub base: Option<String>,
    pub prompt_sha256: String,
    pub prompt_bytes: u64,
    pub sandbox: Option<String>,
    pub priority: Priority,
    pub labels: Vec<String>,
    pub resumed_from: Option<RunId>,
    pub parent: Option<RunId>,
    /// The task of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<TaskId>,
    pub attempt: u32,
    pub rule: Option<String>,
    /// Who acts in it.
    pub identity: AgentId,
    /// It may change files.
    pub writable: bool,
    pub fence: Fence,
    pub ttl: Millis,
    /// The pull request of its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    pub run: RunId,
    pub worker: AgentId,
    pub host: Option<String>,
    pub workspace: Option<String>,
    pub fence: Fence,
    pub driver_version: Option<String>,
    pub sandbox: Option<String>,
    pub session: Option<String>,
}

/// What a run did so far: numbers are those of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunProgressed {
    pub run: RunId,
    pub turn: u64,
    pub tokens: Tokens,
    pub cost_usd: Usd,
    pub cost_basis: Option<CostBasis>,
    pub head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The pull request of its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunWaiting {
    pub run: RunId,
    pub decision: DecisionId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPaused {
    pub run: RunId,
    pub reason: Option<String>,
    pub until: Option<Timestamp>,
    pub decision: Option<DecisionId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResumed {
    pub run: RunId,
    pub by: AgentId,
    /// The agent begins a new session.
    pub fresh: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    pub run: RunId,
    pub state: RunState,
    pub reason: Option<String>,
    pub error: Option<RunError>,
    pub exit: Option<i32>,
    pub head: Option<String>,
    pub wip: Option<String>,
    pub report_kind: Option<String>,
    pub turns: u64,
    pub tokens: Tokens,
    pub cost_usd: Usd,
    pub cost_basis: Option<CostBasis>,
    pub duration_seconds: u64,
    /// What its report says that rules go by.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub said: Map<String, Value>,
    /// Whose review of the task ends with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frees_review_of: Option<AgentId>,
    /// The pull request of its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr: Option<String>,
}

/// A keeper was not heard of for too long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLost {
    pub run: RunId,
    pub host: Option<String>,
    pub last_seen: Timestamp,
    /// Whose review of the task ends with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frees_review_of: Option<AgentId>,
}

/// comity saw a commit of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub run: RunId,
    pub sha: String,
    pub subject: String,
    pub step: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeatTaken {
    pub seat: String,
    pub host: Option<String>,
    /// This event's own seq.
    pub fence: Fence,
    pub ttl: Millis,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeatLeft {
    pub seat: String,
    pub reason: Option<String>,
}

/// A rule of the supervisor, and what followed from it. Nothing is projected from it: what it did has events of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Supervised {
    pub rule: String,
    pub on: String,
    pub subject: String,
    pub facts: Map<String, Value>,
    pub because: String,
    pub action: String,
    pub run: Option<RunId>,
    pub decision: Option<DecisionId>,
    pub key: Option<String>,
}

/// What may be spent was set. Without a limit it is not bounded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetSet {
    pub scope: Scope,
    pub per: Per,
    pub usd: Option<Usd>,
    pub tokens: Option<u64>,
    pub seconds: Option<u64>,
    pub runs: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetReserved {
    pub run: RunId,
    pub usd: Usd,
    pub scopes: Vec<Scope>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetSettled {
    pub run: RunId,
    pub call: String,
    pub usd: Usd,
    pub tokens: Tokens,
    pub estimated: bool,
    pub scopes: Vec<Scope>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetReleased {
    pub run: RunId,
    pub usd: Usd,
    pub scopes: Vec<Scope>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetBreached {
    pub scope: Scope,
    pub per: Per,
    pub limit: Usd,
    pub spent: Usd,
    pub reserved: Usd,
    pub run: RunId,
    pub decision: DecisionId,
}
