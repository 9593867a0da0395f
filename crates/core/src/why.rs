//! Why a task is where it is, in words.

use crate::decide::{REVIEW_GATE, missing_for_approval, review_is_waived};
use crate::decision::DecisionState;
use crate::facts::{Facts, Ruling};
use crate::hint::{Hint, op, say};
use crate::ids::TaskId;
use crate::policy::Policy;
use crate::ready::{Caller, Obstacle, abandoned_dependency, obstacles, way_past_abandoned};
use crate::role::Verb;
use crate::status::Status;
use crate::task::{Deliverable, Task};

/// An explanation: whether the task can go on, why or why not, and what to do next.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Why {
    pub id: String,
    pub status: Status,
    /// Whether the caller could claim it now.
    pub ready: bool,
    /// One sentence.
    pub summary: String,
    /// Everything that is in the way.
    pub reasons: Vec<String>,
    /// The next step.
    pub next: Hint,
}

pub fn why(facts: &Facts, task: &Task, caller: Caller<'_>, policy: &Policy) -> Ruling<Why> {
    let id = &task.id;
    let explain = |ready: bool, summary: String, reasons: Vec<String>, next: Hint| {
        Ok(Why { id: id.to_string(), status: task.status, ready, summary, reasons, next })
    };
    match task.status {
        Status::Queued => {
            let found = obstacles(facts, task, caller, policy)?;
            let reasons: Vec<String> = found.iter().map(Obstacle::sentence).collect();
            if reasons.is_empty() {
                let reasons = feedback(task).into_iter().collect();
                let next = op("task.claim").id(id).into();
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
            let is_mine = task.claim.as_ref().is_some_and(|claim| claim.agent == *caller.id);
            let shows = if is_mine { "you show" } else { &format!("{holder} shows") };
            let mut reasons =
                vec![format!("the claim ends at {expires} unless {shows} a sign of life")];
            reasons.extend(feedback(task));
            let deadline = task.claim.as_ref().and_then(|claim| facts.work_deadline(task, claim));
            if let Some(deadline) = deadline {
                reasons.push(format!("the work must be submitted by {deadline}"));
            }
            if is_mine {
                let is_claimed = task.status == Status::Claimed;
                let next = op(if is_claimed { "task.start" } else { "task.submit" });
                let next = next.id(id).into();
                let summary = format!("{id} is {} by you.", verb(task.status));
                return explain(false, summary, reasons, next);
            }
            let next = say(format!("wait for {holder}, or ask it to run "))
                .quote(op("task.release").id(id));
            explain(false, format!("{id} is {} by {holder}.", verb(task.status)), reasons, next)
        }
        Status::Review => {
            let missing = missing_for_approval(task, policy);
            let reasons: Vec<String> =
                missing.iter().map(crate::decide::Missing::sentence).collect();
            if reasons.is_empty() {
                let next = to_approve(task, caller, policy);
                return explain(false, format!("{id} can be approved."), reasons, next);
            }
            let next =
                Hint::from(op("gate.record").id(id).ask("gate", "GATE").arg("verdict", "pass"))
                    .say(", or ")
                    .call(op("gate.waive").id(id).ask("gate", "GATE").ask("reason", "…"));
            explain(false, format!("{id} is in review and cannot be approved yet."), reasons, next)
        }
        Status::Blocked => blocked(facts, task),
        Status::ChangesRequested
        | Status::Approved
        | Status::Merging
        | Status::Failed
        | Status::Done
        | Status::Abandoned => settled(task, caller, policy),
    }
}

/// Who works alone reviews nothing of its own: a person may waive the review, an agent waits for another.
fn to_approve(task: &Task, caller: Caller<'_>, policy: &Policy) -> Hint {
    let id = &task.id;
    let worked = task.assignee.as_ref() == Some(caller.id)
        || task.workers.iter().any(|worker| worker.agent == *caller.id);
    let waived = review_is_waived(task);
    if worked && !waived && caller.id.is_person() {
        let waive = op("gate.waive").id(id).arg("gate", REVIEW_GATE).ask("reason", "…");
        return say("somebody else reviews your work, or you run ").quote(waive);
    }
    let may_judge = !worked || (waived && caller.id.is_person());
    if may_judge && may(caller, Verb::Approve, policy) {
        return say("look at the work and run ")
            .quote(op("task.approve").id(id))
            .say(" or ")
            .quote(op("task.request-changes").id(id).ask("reason", "…"));
    }
    say("a critic or a person runs ").quote(op("task.approve").id(id))
}

fn may(caller: Caller<'_>, verb: Verb, policy: &Policy) -> bool {
    caller.id.is_person() || policy.allows(caller.roles, verb)
}

fn verb(status: Status) -> &'static str {
    if status == Status::Claimed { "claimed" } else { "being worked on" }
}

fn next_for(task: &TaskId, found: &[Obstacle]) -> Hint {
    match found.first() {
        Some(Obstacle::Dependency(id, Some(Status::Abandoned))) => way_past_abandoned(task, id),
        Some(Obstacle::Dependency(id, _)) => say(format!("finish {id} first")),
        Some(Obstacle::Assigned(agent)) => say(format!("let {agent} claim it, or run "))
            .quote(op("task.assign").id(task).flag("none")),
        Some(Obstacle::Role(role)) => say(format!("let an agent with the role {role} claim it")),
        Some(Obstacle::Files(conflict)) => {
            say(format!("wait until {} releases {}", conflict.held.owner, conflict.held.id))
        }
        Some(Obstacle::Blocker(_)) => {
            say("clear the blockers with ").quote(op("task.update").id(task).arg("blocker", ""))
        }
        Some(Obstacle::Status(..)) | None => say("wait"),
    }
}

fn blocked(facts: &Facts, task: &Task) -> Ruling<Why> {
    let id = &task.id;
    let mut reasons = Vec::new();
    let mut next = match abandoned_dependency(facts, task, None)? {
        Some(dependency) => way_past_abandoned(id, dependency),
        None => op("task.unblock").id(id).into(),
    };
    if let Some(block) = &task.block {
        reasons.push(format!("it needs: {}", block.needs));
        if let Some(at) = block.retry_at {
            reasons.push(format!("comity queues it again at {at}"));
        }
    }
    for decision in &task.decisions {
        if let Some(open) = facts.decision(&task.repo, *decision)?
            && open.state == DecisionState::Open
        {
            reasons.push(format!("{} asks {}: {}", open.id, open.to.as_str(), open.question));
            next = op("decision.answer").id(&open.id).ask("answer", "ANSWER").into();
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

/// What the last review said that sent the work back.
fn feedback(task: &Task) -> Option<String> {
    let feedback = task.feedback.as_ref()?;
    Some(format!("{} sent round {} back: {}", feedback.by, feedback.round, feedback.words()))
}

fn settled(task: &Task, caller: Caller<'_>, policy: &Policy) -> Ruling<Why> {
    let id = &task.id;
    let who = task.assignee.as_ref().map_or("the assignee", |agent| agent.as_str());
    let (summary, next) = match task.status {
        Status::ChangesRequested => (
            format!("A review sent {id} back."),
            match task.assignee.as_ref() == Some(caller.id) {
                true => op("task.start").id(id).into(),
                false => say(format!("{who} runs ")).quote(op("task.start").id(id)),
            },
        ),
        Status::Approved => {
            let code = task.deliverable == Deliverable::Code;
            let mine = may(caller, if code { Verb::Merge } else { Verb::Done }, policy);
            let verb = op(if code { "task.merge" } else { "task.done" }).id(id);
            let next = if mine { verb.into() } else { say("an integrator runs ").quote(verb) };
            (format!("{id} is approved."), next)
        }
        Status::Merging => {
            (format!("{id} is being merged."), op("task.done").id(id).ask("merged", "SHA").into())
        }
        Status::Failed => (
            format!("{id} failed."),
            Hint::from(op("task.requeue").id(id)).say(", or ").call(op("task.start").id(id)),
        ),
        Status::Done
        | Status::Abandoned
        | Status::Queued
        | Status::Claimed
        | Status::InProgress
        | Status::Review
        | Status::Blocked => (
            format!("{id} is {}.", task.status),
            say("a person may run ").quote(op("task.reopen").id(id).ask("reason", "…")),
        ),
    };
    let mut reasons: Vec<String> =
        task.last_error.iter().filter(|_| task.status == Status::Failed).cloned().collect();
    reasons.extend(feedback(task).filter(|_| task.status == Status::ChangesRequested));
    Ok(Why { id: id.to_string(), status: task.status, ready: false, summary, reasons, next })
}
