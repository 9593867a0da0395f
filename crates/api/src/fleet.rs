//! What is asked about runs and budgets, and the answers.

use comity_core::budget::Per;
use comity_core::command::{Command, CriterionEvidence, NewBudget, RunChange};
use comity_core::money::Usd;
use comity_core::run::{RunState, Tokens};
use comity_core::time::Timestamp;
use comity_core::view::{BudgetView, RunView, SeatView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunFilter {
    /// Only runs in one of these states.
    pub status: Vec<RunState>,
    /// Only runs of this task.
    pub task: Option<String>,
    /// Only runs of this agent.
    pub agent: Option<String>,
    pub limit: Option<usize>,
    pub after: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRun {
    pub id: String,
    /// Kill the processes at once, without time to end by themselves.
    #[serde(default)]
    pub now: bool,
    #[serde(default)]
    pub reason: Option<String>,
}

impl From<StopRun> for Command {
    fn from(input: StopRun) -> Command {
        let change = RunChange::Stop { now: input.now, reason: input.reason };
        Command::RunChange { id: input.id, change }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRun {
    pub id: String,
    #[serde(default)]
    pub reason: Option<String>,
}

impl From<PauseRun> for Command {
    fn from(input: PauseRun) -> Command {
        let change = RunChange::Pause { reason: input.reason, until: None, decision: None };
        Command::RunChange { id: input.id, change }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRun {
    pub id: String,
    /// Begin a new session of the agent.
    #[serde(default)]
    pub fresh: bool,
}

impl From<ResumeRun> for Command {
    fn from(input: ResumeRun) -> Command {
        Command::RunChange { id: input.id, change: RunChange::Resume { fresh: input.fresh } }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearBudget {
    /// `repo`, `task:ID`, `agent:NAME` or `run:ID`.
    pub scope: String,
    #[serde(default)]
    pub per: Per,
}

impl From<ClearBudget> for Command {
    fn from(input: ClearBudget) -> Command {
        let ClearBudget { scope, per } = input;
        Command::BudgetSet(NewBudget { scope, per, usd: None, runs: None })
    }
}

/// What costs are added up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostBy {
    #[default]
    Agent,
    Task,
    Repo,
    Day,
    Model,
    Run,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CostFilter {
    /// What costs are added up by.
    pub by: CostBy,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunAnswer {
    pub run: RunView,
}

/// What the agent of a run said, from a place on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunLogsOf {
    pub id: String,
    /// The `next` of the answer before, or 0 for all of it; without it, the last of it.
    #[serde(default)]
    pub from: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunLine {
    pub at: Timestamp,
    /// `text`, `tool`, `usage`, `stderr` or `event`.
    pub kind: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunLogsAnswer {
    pub lines: Vec<RunLine>,
    /// Where to go on.
    pub next: u64,
    /// More was said than one answer has.
    pub more: bool,
    /// The run goes on, so that more may come.
    pub live: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunsPage {
    pub runs: Vec<RunView>,
    pub next: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetsAnswer {
    pub budgets: Vec<BudgetView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostAnswer {
    pub cost: CostView,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostView {
    /// Since midnight UTC.
    pub today: SumView,
    pub all: SumView,
    /// What is kept for live runs.
    pub reserved_usd: Usd,
    /// Runs whose cost nobody knows.
    pub unpriced_runs: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SumView {
    pub usd: Usd,
    pub tokens: Tokens,
    pub runs: u64,
    pub by: BTreeMap<String, PartView>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartView {
    pub usd: Usd,
    pub tokens: Tokens,
    pub runs: u64,
}

/// A seat after it was taken or left; none when nobody has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeatAnswer {
    pub seat: Option<SeatView>,
}

/// Why a run was started: the steps of the supervisor about its task, the oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyRun {
    pub run: String,
    pub because: Vec<Reason>,
}

/// One step of the supervisor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    pub seq: u64,
    /// The row of the table.
    pub rule: String,
    /// What the row looked at.
    pub facts: Map<String, Value>,
    pub because: String,
    pub action: String,
}

/// The processes on all hosts that take labelled runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkersAnswer {
    pub workers: Vec<WorkerView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerView {
    pub id: String,
    pub host: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// Runs that it has at once at the most.
    pub capacity: usize,
    /// The runs that it has now.
    pub live: Vec<String>,
    pub last_seen: Option<Timestamp>,
    /// It takes no more runs, and ends with its last one.
    pub drain: bool,
    /// What shuts agents in on its host.
    pub sandbox: String,
    /// The drivers of its host, with their versions where they say one.
    pub drivers: BTreeMap<String, Option<String>>,
}

/// A piece of work that a focused supervisor hands out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DispatchPiece {
    /// The agent, such as developer, reviewer or scout.
    pub agent: String,
    /// What is to be done; or the id of a task that goes on.
    pub task: String,
    /// The files that it is about.
    pub files: Vec<String>,
    /// When it is done.
    pub done: String,
    /// What the agent must leave alone or keep to.
    pub constraints: Vec<String>,
    /// Answer at the end of the run, and not at its beginning.
    pub wait: bool,
}

/// A run that was sent out; with what its agent said last, once it has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PieceAnswer {
    pub run: RunView,
    /// The task that the agent works on.
    pub task: String,
    pub said: Option<String>,
}

/// What a focused supervisor ends with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompleteObjective {
    /// For each criterion, what shows that it is met.
    pub evidence: Vec<CriterionEvidence>,
    pub summary: Option<String>,
}

/// What a focused supervisor cannot decide itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BlockObjective {
    /// The question that somebody has to answer.
    pub question: String,
    /// What was tried, and why that is not enough.
    pub reason: Option<String>,
}
