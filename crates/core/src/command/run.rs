//! What is asked about runs and budgets.

use super::NewTask;
use crate::ids::AgentId;
use crate::money::Usd;
use crate::run::{CostBasis, RunError, RunState, Stage, Tokens};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A run to be dispatched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// The agent's name, such as `developer`.
    pub agent: String,
    pub task: Option<String>,
    /// The task to be made where none is named.
    pub new_task: Option<Box<NewTask>>,
    pub stage: Stage,
    /// It may change files.
    pub writable: bool,
    pub driver: String,
    pub model: Option<String>,
    pub branch: Option<String>,
    pub base: Option<String>,
    pub meta: Map<String, Value>,
    pub prompt_sha256: String,
    pub prompt_bytes: u64,
    pub sandbox: Option<String>,
    pub labels: Vec<String>,
    pub resumed_from: Option<String>,
    pub parent: Option<String>,
    pub rule: Option<String>,
    /// The most that it may cost.
    pub max_cost: Option<Usd>,
    /// Why a person starts it without the plan that was begun.
    #[serde(default)]
    pub skip_design: Option<String>,
}

/// What shows that a criterion is met: a run, a pull request, a gate as `TASK:GATE` or `GATE`, or a merged commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionEvidence {
    /// The criterion, in its own words.
    pub criterion: String,
    pub evidence: String,
}

/// A change of a run. Those of its keeper have no operation: no door offers them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunChange {
    /// A keeper takes it.
    Take {
        workspace: Option<String>,
        driver_version: Option<String>,
        sandbox: Option<String>,
        session: Option<String>,
        /// The worker that it does so for.
        #[serde(default)]
        worker: Option<AgentId>,
    },
    Progress(Box<RunProgress>),
    /// Whoever was given an objective says that it is reached, and what shows each criterion.
    Complete {
        evidence: Vec<CriterionEvidence>,
        summary: Option<String>,
    },
    /// It waits for the answer to a question.
    Wait {
        decision: String,
    },
    Pause {
        reason: Option<String>,
        until: Option<Timestamp>,
        /// The question that it waits for.
        #[serde(default)]
        decision: Option<String>,
    },
    Resume {
        fresh: bool,
    },
    Stop {
        now: bool,
        reason: Option<String>,
    },
    End(Box<RunEnd>),
    /// comity saw a commit of it.
    Checkpoint {
        sha: String,
        subject: String,
        step: Option<String>,
    },
    /// Its branch was pushed, or stays here.
    HandOver {
        /// The pull request of the branch.
        pr: Option<String>,
        /// What was done, or why the branch stays.
        text: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunProgress {
    /// The number of the turn; none where no turn ended.
    pub turn: Option<u64>,
    pub head: Option<String>,
    pub session: Option<String>,
    /// Calls of a model since the last time, each once.
    pub calls: Vec<ModelCall>,
}

/// One call of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    pub call: String,
    pub tokens: Tokens,
    /// None where nobody knows the price.
    pub usd: Option<Usd>,
    pub basis: CostBasis,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    pub state: RunState,
    pub reason: Option<String>,
    pub error: Option<RunError>,
    pub exit: Option<i32>,
    pub head: Option<String>,
    pub wip: Option<String>,
    pub report_kind: Option<String>,
    /// What its report asks for. The agent of the run does it.
    pub steps: Vec<super::Command>,
    /// What the report says that rules go by, such as `status` and `plan_path`.
    #[serde(default)]
    pub said: Map<String, Value>,
}

/// A change of a seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeatChange {
    /// The caller takes it, or stays in it.
    Take {
        seat: String,
        ttl: crate::time::Millis,
    },
    Leave {
        seat: String,
        reason: Option<String>,
    },
}

/// A step of the supervisor: why it is taken, and what it does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Supervision {
    /// The row of the table.
    pub rule: String,
    /// What happened.
    pub on: String,
    /// The task, run, decision or directive that it is about.
    pub subject: String,
    pub facts: Map<String, Value>,
    pub because: String,
    /// What is done, in the words of the table.
    pub action: String,
    /// The task that the event belongs to.
    pub task: Option<String>,
    /// What is done, in order, all or none.
    pub steps: Vec<super::Command>,
    /// What is asked.
    pub ask: Option<Box<crate::supervise::Ask>>,
}

/// What may be spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewBudget {
    /// `repo`, `task:ID`, `agent:NAME` or `run:ID`.
    pub scope: String,
    /// How long spending is added up.
    pub per: crate::budget::Per,
    /// The most US dollars.
    pub usd: Option<Usd>,
    /// The most runs.
    pub runs: Option<u64>,
}
