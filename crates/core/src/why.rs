//! Why a task is where it is, in words.

use crate::decide::missing_for_approval;
use crate::decision::DecisionState;
use crate::facts::{Facts, Ruling};
use crate::ids::TaskId;
use crate::policy::Policy;
use crate::ready::{Caller, Obstacle, abandoned_dependency, obstacles, way_past_abandoned};
use crate::status::Status;
use crate::task::{Deliverable, Task};

/// An explanation: whether the task can go on, why or why not, and what to do next.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Why {
    /// The task.
    pub id: String,
    /// Its status.
    pub status: Status,
    /// Whether the caller could claim it now.
    pub ready: bool,
    /// One sentence.
    pub summary: String,
    /// Each thing in the way.
    pub reasons: Vec<String>,
    /// The next step.
    pub next: String,
}

/// Explains a task to a caller.
pub fn why(facts: &Facts, task: &Task, caller: Caller<'_>, policy: &Policy) -> Ruling<Why> {
    let id = &task.id;
    let explain = |ready: bool, summary: String, reasons: Vec<String>, next: String| {
        Ok(Why { id: id.to_string(), status: task.status, ready, summary, reasons, next })
    };
    match task.status {
        Status::Queued => {
            let found = obstacles(facts, task, caller)?;
            let reasons: Vec<String> = found.iter().map(Obstacle::sentence).collect();
            if reasons.is_empty() {
                let next = format!("comity task claim {id}");
                return explain(true, format!("{id} is ready for {}.", caller.id), reasons, next);
            }
            explain(false, format!("{id} is queued but not ready."), reasons, next_for(id, &found))
        }
        Status::Claimed | Status::InProgress => {
            let holder = task.claim.as_ref().map_or("somebody", |claim| claim.agent.as_str());
            let expires = match &task.claim {
                Some(claim) => facts.claim_expiry(claim)?.to_string(),
                None => String::new(),
            };
            let mut reasons =
                vec![format!("the claim ends at {expires} unless {holder} shows a sign of life")];
            let deadline = task.claim.as_ref().and_then(|claim| facts.work_deadline(task, claim));
            if let Some(deadline) = deadline {
                reasons.push(format!("the work must be handed in by {deadline}"));
            }
            let next = format!("wait for {holder}, or let it run `comity task release {id}`");
            explain(false, format!("{id} is {} by {holder}.", verb(task.status)), reasons, next)
        }
        Status::Review => {
            let missing = missing_for_approval(task, policy);
            let reasons: Vec<String> =
                missing.iter().map(crate::decide::Missing::sentence).collect();
            if reasons.is_empty() {
                let next = format!("a critic or a person runs `comity task approve {id}`");
                return explain(false, format!("{id} can be approved."), reasons, next);
            }
            let next = format!(
                "comity gate record {id} GATE pass, or comity gate waive {id} GATE --reason …"
            );
            explain(false, format!("{id} is in review and cannot be approved yet."), reasons, next)
        }
        Status::Blocked => blocked(facts, task),
        _ => settled(task),
    }
}

fn verb(status: Status) -> &'static str {
    if status == Status::Claimed { "claimed" } else { "being worked on" }
}

fn next_for(task: &TaskId, found: &[Obstacle]) -> String {
    match found.first() {
        Some(Obstacle::Dependency(id, Some(Status::Abandoned))) => way_past_abandoned(task, id),
        Some(Obstacle::Dependency(id, _)) => format!("finish {id} first"),
        Some(Obstacle::Assigned(agent)) => {
            format!("let {agent} take it, or comity task assign … --none")
        }
        Some(Obstacle::Role(role)) => format!("let an agent with the role {role} take it"),
        Some(Obstacle::Files(conflict)) => {
            format!("wait until {} releases {}", conflict.held.owner, conflict.held.id)
        }
        Some(Obstacle::Blocker(_)) => "clear the blocker with comity task update".to_owned(),
        Some(Obstacle::Status(..)) | None => "wait".to_owned(),
    }
}

fn blocked(facts: &Facts, task: &Task) -> Ruling<Why> {
    let id = &task.id;
    let mut reasons = Vec::new();
    let mut next = match abandoned_dependency(facts, task, None)? {
        Some(dependency) => way_past_abandoned(id, dependency),
        None => format!("comity task unblock {id}"),
    };
    if let Some(block) = &task.block {
        reasons.push(format!("it needs: {}", block.needs));
        if let Some(at) = block.retry_at {
            reasons.push(format!("it is tried again at {at}"));
        }
    }
    for decision in &task.decisions {
        if let Some(open) = facts.decision(&task.repo, *decision)?
            && open.state == DecisionState::Open
        {
            reasons.push(format!("{} asks {}: {}", open.id, open.to.as_str(), open.question));
            next = format!("comity decision answer {} ANSWER", open.id);
        }
    }
    if task.attempts > 0 {
        reasons.push(format!("attempts used: {}", task.attempts));
    }
    if let Some(error) = &task.last_error {
        reasons.push(format!("last failure: {error}"));
    }
    let summary = format!("{id} is blocked.");
    Ok(Why { id: id.to_string(), status: task.status, ready: false, summary, reasons, next })
}

fn settled(task: &Task) -> Ruling<Why> {
    let id = &task.id;
    let who = task.assignee.as_ref().map_or("the assignee", |agent| agent.as_str());
    let (summary, next) = match task.status {
        Status::ChangesRequested => (
            format!("{id} was sent back by a review."),
            format!("{who} runs `comity task start {id}`"),
        ),
        Status::Approved => {
            let verb = if task.deliverable == Deliverable::Code { "merge" } else { "done" };
            (format!("{id} is approved."), format!("an integrator runs `comity task {verb} {id}`"))
        }
        Status::Merging => {
            (format!("{id} is being merged."), format!("comity task done {id} --merged SHA"))
        }
        Status::Failed => (
            format!("{id} failed."),
            format!("comity task requeue {id}, or comity task start {id}"),
        ),
        _ => (
            format!("{id} is {}.", task.status),
            format!("a person may run `comity task reopen {id} --reason …`"),
        ),
    };
    let reasons =
        task.last_error.iter().filter(|_| task.status == Status::Failed).cloned().collect();
    Ok(Why { id: id.to_string(), status: task.status, ready: false, summary, reasons, next })
}
