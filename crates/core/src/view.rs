//! Entities in the shapes that users and programs hold on to.

mod memory;
mod post;
mod run;

pub use memory::{DirectiveView, MemoryView, directive, memory};
pub use post::{InterfaceView, MessageView, PadView, interface, message, pad};
pub use run::{BudgetState, BudgetView, Kept, RunView, SeatView, SpentView, budget, run, seat};

use crate::agent::Agent;
use crate::decide::{REVIEW_GATE, gate_state, required_gates};
use crate::decision::Decision;
use crate::facts::{Facts, Presence, Ruling};
use crate::ids::AgentId;
use crate::lease::Lease;
use crate::limits::TTL_DEFAULT;
use crate::origin::Origin;
use crate::policy::Policy;
use crate::ready::{Caller, is_ready, roles_of};
use crate::role::Role;
use crate::status::Status;
use crate::task::{CheckState, ChecklistItem, Claim, Feedback, Step, Task};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    pub id: String,
    pub number: u64,
    pub version: u64,
    pub repo: String,
    pub title: String,
    pub description: String,
    pub r#type: Option<String>,
    pub complexity: Option<u32>,
    pub deliverable: String,
    pub status: Status,
    pub priority: String,
    pub labels: Vec<String>,
    pub role: Option<Role>,
    pub assignee: Option<String>,
    pub reviewer: Option<String>,
    pub fence: Option<u64>,
    pub dependencies: Vec<String>,
    pub blockers: Vec<String>,
    pub files: Vec<String>,
    pub branch: Option<String>,
    pub commit: Option<String>,
    pub pr: Option<String>,
    pub merged_sha: Option<String>,
    /// Present only if a person finished the task without a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
    pub round: u32,
    pub requirements: Vec<String>,
    pub dod: Vec<ChecklistItem>,
    pub gates: Vec<GateView>,
    pub constraints: crate::task::Constraints,
    pub context: Map<String, Value>,
    pub timeout_seconds: i64,
    pub attempts: u32,
    pub max_attempts: u32,
    pub needs: Option<String>,
    /// Whether the caller could claim the task now.
    #[serde(default)]
    pub ready: bool,
    #[serde(default)]
    pub feedback: Option<Feedback>,
    pub epic: Option<String>,
    pub prd: Option<String>,
    pub initiative: Option<String>,
    pub parent: Option<String>,
    pub external_ids: Map<String, Value>,
    pub subtasks: Vec<Step>,
    pub decisions: Vec<String>,
    pub retry_at: Option<Timestamp>,
    pub claim: Option<ClaimView>,
    pub created_by: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A gate of a task, as it stands for the present round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateView {
    pub name: String,
    pub required: bool,
    pub state: CheckState,
    pub tier: Option<String>,
    pub commit: Option<String>,
    pub by: Option<String>,
    pub at: Option<Timestamp>,
    pub report: Option<String>,
    pub reason: Option<String>,
}

/// The live claim of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimView {
    pub agent: String,
    pub host: Option<String>,
    pub workspace: Option<String>,
    pub fence: u64,
    pub claimed_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// The deadline of the work, counted from its start.
    #[serde(default)]
    pub deadline: Option<Timestamp>,
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseView {
    pub lock_id: String,
    pub repo: String,
    pub path: String,
    pub mode: String,
    pub owner: String,
    pub purpose: Option<String>,
    pub fence: u64,
    pub acquired_at: Timestamp,
    pub ttl_seconds: i64,
    pub heartbeat_at: Timestamp,
    pub expires_at: Timestamp,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentView {
    pub id: String,
    pub roles: Vec<Role>,
    pub skills: Vec<String>,
    pub status: String,
    pub last_seen: Option<Timestamp>,
    pub holds: HoldsView,
}

/// What an agent holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldsView {
    pub tasks: Vec<String>,
    pub leases: Vec<String>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionView {
    pub id: String,
    pub question: String,
    pub context: Option<String>,
    pub r#type: String,
    pub options: Vec<crate::decision::DecisionOption>,
    pub default: Option<String>,
    pub to: String,
    pub task: Option<String>,
    pub asked_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub answer: Option<String>,
    pub text: Option<String>,
    pub answered_by: Option<String>,
    pub answered_at: Option<Timestamp>,
    pub state: String,
    /// Present only if it was imported from another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

fn text(id: Option<&AgentId>) -> Option<String> {
    id.map(ToString::to_string)
}

fn claim(facts: &Facts, task: &Task, claim: &Claim) -> Ruling<ClaimView> {
    Ok(ClaimView {
        agent: claim.agent.to_string(),
        host: claim.host.clone(),
        workspace: claim.workspace.clone(),
        fence: claim.fence.get(),
        claimed_at: claim.claimed_at,
        expires_at: facts.claim_expiry(claim)?,
        started_at: claim.started_at,
        deadline: facts.work_deadline(task, claim),
    })
}

/// Shows a task to a caller. Where nobody is named, nobody asks whether the task is ready.
pub fn task(
    facts: &Facts,
    task: &Task,
    policy: &Policy,
    caller: Option<&AgentId>,
) -> Ruling<TaskView> {
    let ready = match caller.filter(|_| task.status == Status::Queued) {
        Some(id) => {
            let roles = roles_of(facts, id, policy)?;
            is_ready(facts, task, Caller { id, roles: &roles }, policy)?
        }
        None => false,
    };
    let claim = task.claim.as_ref().map(|held| claim(facts, task, held)).transpose()?;
    Ok(TaskView {
        id: task.id.to_string(),
        number: task.number,
        version: task.version,
        repo: task.repo.to_string(),
        title: task.title.clone(),
        description: task.description.clone(),
        r#type: task.kind.clone(),
        complexity: task.complexity,
        deliverable: task.deliverable.as_str().to_owned(),
        status: task.status,
        priority: task.priority.to_string(),
        labels: task.labels.clone(),
        role: task.role,
        assignee: text(task.assignee.as_ref()),
        reviewer: text(task.reviewer.as_ref()),
        fence: task.claim.as_ref().map(|claim| claim.fence.get()),
        dependencies: task.dependencies.iter().map(ToString::to_string).collect(),
        blockers: task.blockers.clone(),
        files: task.files.clone(),
        branch: task.branch.clone(),
        commit: task.commit.clone(),
        pr: task.pr.clone(),
        merged_sha: task.merged_sha.clone(),
        unmerged: task.unmerged.clone(),
        round: task.round,
        requirements: task.requirements.clone(),
        dod: task.dod.clone(),
        gates: gates(task, policy),
        constraints: task.constraints.clone(),
        context: task.context.clone(),
        timeout_seconds: task.timeout.secs_ceil(),
        attempts: task.attempts,
        max_attempts: policy.max_attempts,
        needs: task.block.as_ref().map(|block| block.needs.clone()),
        ready,
        feedback: task.feedback.clone(),
        epic: task.epic.clone(),
        prd: task.prd.clone(),
        initiative: task.initiative.clone(),
        parent: task.parent.as_ref().map(ToString::to_string),
        external_ids: task.external_ids.clone(),
        subtasks: task.steps.clone(),
        decisions: task.decisions.iter().map(ToString::to_string).collect(),
        retry_at: task.block.as_ref().and_then(|block| block.retry_at),
        claim,
        created_by: task.created_by.to_string(),
        created_at: task.created_at,
        updated_at: task.updated_at,
    })
}

/// Shows the gates of a task: those required by it or the project, and those with evidence.
pub fn gates(task: &Task, policy: &Policy) -> Vec<GateView> {
    let required = required_gates(task, policy);
    let mut names = required.clone();
    names.extend(task.gates.iter().map(|g| g.name.clone()).filter(|n| !required.contains(n)));
    let show = |name: String| {
        let gate = task.gate(&name);
        let evidence = gate.and_then(|gate| gate.evidence.as_ref());
        let waiver = gate.and_then(|gate| gate.waiver.as_ref());
        let approved = matches!(task.status, Status::Approved | Status::Merging | Status::Done);
        let (state, why) = match name.as_str() {
            REVIEW_GATE if waiver.is_some() => (CheckState::Waived, String::new()),
            REVIEW_GATE if approved => (CheckState::Met, String::new()),
            REVIEW_GATE => (CheckState::Open, "is met by approval".to_owned()),
            _ => gate_state(task, gate, policy),
        };
        let by = waiver.map(|w| &w.by).or(evidence.map(|e| &e.by));
        GateView {
            required: required.contains(&name),
            state,
            tier: evidence.map(|evidence| evidence.tier.as_str().to_owned()),
            commit: evidence.and_then(|evidence| evidence.commit.clone()),
            by: text(by),
            at: waiver.map(|w| w.at).or(evidence.map(|e| e.at)),
            report: evidence.and_then(|evidence| evidence.report.clone()),
            reason: waiver
                .map(|waiver| waiver.reason.clone())
                .or_else(|| (!state.is_settled()).then_some(why)),
            name,
        }
    };
    names.into_iter().map(show).collect()
}

pub fn lease(facts: &Facts, lease: &Lease) -> Ruling<LeaseView> {
    Ok(LeaseView {
        lock_id: lease.id.to_string(),
        repo: lease.repo.to_string(),
        path: lease.path.clone(),
        mode: lease.mode.as_str().to_owned(),
        owner: lease.owner.to_string(),
        purpose: lease.purpose.clone(),
        fence: lease.fence.get(),
        acquired_at: lease.acquired_at,
        ttl_seconds: lease.ttl.secs_ceil(),
        heartbeat_at: facts.lease_life(lease)?,
        expires_at: facts.lease_expiry(lease)?,
    })
}

pub fn agent(agent: &Agent, presence: &Presence, holds: HoldsView, now: Timestamp) -> AgentView {
    let last_seen = presence.latest();
    let silent = last_seen.is_none_or(|seen| now.since(seen) > TTL_DEFAULT);
    let status = match (silent, holds.tasks.is_empty()) {
        (true, _) => "away",
        (false, true) => "idle",
        (false, false) => "busy",
    };
    AgentView {
        id: agent.id.to_string(),
        roles: agent.roles.clone(),
        skills: agent.skills.clone(),
        status: status.to_owned(),
        last_seen,
        holds,
    }
}

pub fn decision(decision: &Decision) -> DecisionView {
    DecisionView {
        id: decision.id.to_string(),
        question: decision.question.clone(),
        context: decision.context.clone(),
        r#type: decision.kind.as_str().to_owned(),
        options: decision.options.clone(),
        default: decision.default.clone(),
        to: decision.to.as_str().to_owned(),
        task: decision.task.as_ref().map(ToString::to_string),
        asked_by: decision.asked_by.to_string(),
        created_at: decision.created_at,
        expires_at: decision.expires_at,
        answer: decision.answer.clone(),
        text: decision.text.clone(),
        answered_by: text(decision.answered_by.as_ref()),
        answered_at: decision.answered_at,
        state: decision.state.as_str().to_owned(),
        origin: decision.origin.as_deref().cloned(),
    }
}
