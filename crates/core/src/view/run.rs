//! Runs and budgets in the shapes that users and programs hold on to.

use crate::budget::{Budget, Cap, Per};
use crate::money::Usd;
use crate::policy::FleetPolicy;
use crate::run::{CostBasis, Milestone, Run, RunError, RunState, Stage, Tokens};
use crate::seat::Seat;
use crate::time::Timestamp;
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// RUN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunView {
    /// None of a run that is only tried.
    pub id: Option<String>,
    pub number: Option<u64>,
    pub repo: String,
    pub task: Option<String>,
    pub agent: String,
    /// Who acts in it.
    pub identity: Option<String>,
    pub driver: String,
    pub model: Option<String>,
    pub stage: Stage,
    pub meta: Map<String, Value>,
    pub branch: Option<String>,
    pub base: Option<String>,
    pub head: Option<String>,
    pub state: RunState,
    pub reason: Option<String>,
    pub error: Option<RunError>,
    pub attempt: u32,
    pub resumed_from: Option<String>,
    pub parent: Option<String>,
    /// What a worker must offer to take it.
    #[serde(default)]
    pub labels: Vec<String>,
    pub worker: Option<String>,
    pub host: Option<String>,
    pub workspace: Option<String>,
    pub sandbox: Option<String>,
    pub session: Option<String>,
    /// Under this hash its words are kept for the host that takes it.
    #[serde(default)]
    pub prompt_sha256: String,
    pub fence: Option<u64>,
    pub turns: u64,
    pub tokens: Tokens,
    pub cost_usd: Option<Usd>,
    pub cost_basis: Option<CostBasis>,
    pub reserved_usd: Usd,
    pub waiting_on: Option<String>,
    pub not_before: Option<Timestamp>,
    pub report: Option<String>,
    pub pr: Option<String>,
    pub milestones: Vec<Milestone>,
    pub created_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

pub fn run(run: &Run) -> RunView {
    let unpriced = run.cost_basis == Some(CostBasis::Unpriced);
    RunView {
        id: Some(run.id.to_string()),
        number: Some(run.id.0),
        repo: run.repo.to_string(),
        task: Some(run.task.to_string()),
        agent: run.agent.clone(),
        identity: Some(run.identity.to_string()),
        driver: run.driver.clone(),
        model: run.model.clone(),
        stage: run.stage,
        meta: run.meta.clone(),
        branch: run.branch.clone(),
        base: run.base.clone(),
        head: run.head.clone(),
        state: run.state,
        reason: run.reason.clone(),
        error: run.error.clone(),
        attempt: run.attempt,
        resumed_from: run.resumed_from.map(|id| id.to_string()),
        parent: run.parent.map(|id| id.to_string()),
        labels: run.labels.clone(),
        worker: run.worker.as_ref().map(ToString::to_string),
        host: run.host.clone(),
        workspace: run.workspace.clone(),
        sandbox: run.sandbox.clone(),
        session: run.session.clone(),
        prompt_sha256: run.prompt_sha256.clone(),
        fence: Some(run.fence.get()),
        turns: run.turns,
        tokens: run.tokens,
        cost_usd: (!unpriced).then_some(run.cost),
        cost_basis: run.cost_basis,
        reserved_usd: run.reserved,
        waiting_on: run.waiting_on.map(|id| id.to_string()),
        not_before: run.not_before,
        report: run.report.clone(),
        pr: run.pr.clone(),
        milestones: run.milestones.clone(),
        created_at: Some(run.created_at),
        started_at: run.started_at,
        ended_at: run.ended_at,
    }
}

word_enum! {
    #[derive(JsonSchema)]
    pub enum BudgetState {
        Open => "open",
        /// Most of it is used.
        Alert => "alert",
        /// Nothing of it is left.
        Breached => "breached",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpentView {
    pub usd: Usd,
    pub runs: u64,
}

/// What is kept for live runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    pub usd: Usd,
    pub runs: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetView {
    pub scope: String,
    pub per: Per,
    pub usd: Option<Usd>,
    pub tokens: Option<u64>,
    pub seconds: Option<u64>,
    pub runs: Option<u64>,
    pub spent: SpentView,
    pub reserved: Kept,
    pub state: BudgetState,
    /// Nobody has set it: it comes from the settings.
    pub default: bool,
}

/// Returns the caps of one scope with what is used of them; those of the settings among them.
pub fn budget(budget: &Budget, policy: &FleetPolicy, now: Timestamp) -> Vec<BudgetView> {
    let default = policy.default_caps(&budget.scope);
    let both = |per: Per| {
        let set = budget.caps.get(&per).map(|cap| (per, *cap, false));
        set.or_else(|| default.get(&per).map(|cap| (per, *cap, true)))
    };
    let caps = Per::ALL.into_iter().filter_map(both);
    caps.map(|(per, cap, is_default)| one(budget, policy, now, (per, cap, is_default))).collect()
}

fn one(
    budget: &Budget,
    policy: &FleetPolicy,
    now: Timestamp,
    (per, cap, default): (Per, Cap, bool),
) -> BudgetView {
    let spent = budget.spent(per, now);
    let used = spent.usd.plus(budget.reserved());
    let full = cap.usd.is_some_and(|cap| used >= cap) || cap.runs.is_some_and(|c| spent.runs >= c);
    let alert = cap.usd.is_some_and(|cap| used >= cap.percent(policy.alert_percent));
    BudgetView {
        scope: budget.scope.to_string(),
        per,
        usd: cap.usd,
        tokens: None,
        seconds: None,
        runs: cap.runs,
        spent: SpentView { usd: spent.usd, runs: spent.runs },
        reserved: Kept { usd: budget.reserved(), runs: budget.live.len() },
        state: match (full, alert) {
            (true, _) => BudgetState::Breached,
            (false, true) => BudgetState::Alert,
            (false, false) => BudgetState::Open,
        },
        default,
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeatView {
    pub seat: String,
    pub holder: String,
    pub host: Option<String>,
    pub fence: u64,
    pub since: String,
}

pub fn seat(name: &str, seat: &Seat) -> SeatView {
    SeatView {
        seat: name.to_owned(),
        holder: seat.holder.to_string(),
        host: seat.host.clone(),
        fence: seat.fence.get(),
        since: seat.since.to_string(),
    }
}
