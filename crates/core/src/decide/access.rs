//! Finding what a command names, and whether the caller may touch it: ids, fences, roles, holders.

use super::Rule;
use crate::decision::Decision;
use crate::facts::Facts;
use crate::facts::Ruling;
use crate::hint::{Hint, op, say};
use crate::ids::{AgentId, DecisionId, LeaseId, RepoName, TaskId};
use crate::lease::Lease;
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::status::Status;
use crate::task::Task;

/// Finds a task by its id or by an unambiguous prefix; an exact id beats a prefix.
pub fn find_task<'a>(facts: &'a Facts, repo: &RepoName, text: &str) -> Ruling<&'a Task> {
    let numbered = TaskId::numbered(text);
    let given = TaskId::parse(text);
    for id in given.iter().chain(&numbered) {
        if let Some(task) = facts.task(repo, id)? {
            return Ok(task);
        }
    }
    if numbered.is_some() {
        return Err(not_found("task", text).into());
    }
    given?;
    let matches = facts.tasks_by_prefix(repo, text)?;
    match matches.as_slice() {
        [] => Err(not_found("task", text).into()),
        [only] => facts.task(repo, only)?.ok_or_else(|| not_found("task", text).into()),
        several => {
            let names: Vec<&str> = several.iter().map(TaskId::as_str).collect();
            Err(Refusal::new(
                Code::AmbiguousId,
                format!("{text:?} is the beginning of several ids: {}", names.join(", ")),
            )
            .detail("matches", names)
            .into())
        }
    }
}

pub(super) fn how_to_register(agent: &AgentId) -> Hint {
    let register = op("agent.register").id(agent).arg("role", "implementer");
    say("ask a person to register it: ").call(register)
}

/// Says that a task is in no state for a command; `why` goes on after the status.
pub(super) fn wrong_status(task: &Task, why: &str) -> Refusal {
    Refusal::new(Code::InvalidTransition, format!("{} is {}{why}", task.id, task.status))
        .detail("status", task.status.as_str())
}

pub fn not_found(what: &str, text: &str) -> Refusal {
    let (things, list) = match what {
        "lease" => ("live leases", op("lease.list")),
        "decision" => ("decisions", op("decision.list").flag("all")),
        "memory" => ("memories", op("memory.list").flag("all")),
        "directive" => ("directives", op("directive.list")),
        "run" => ("runs", op("runs")),
        "agent" => ("agents", op("agent.list")),
        _ => ("tasks", op("task.list")),
    };
    Refusal::new(Code::NotFound, format!("there is no {what} {:?}", crate::ids::shorten(text)))
        .hint(say(format!("list the {things} with ")).quote(list))
}

/// What the holder of an ended grant can do, up to the call that gets another one.
fn ended_grant() -> Hint {
    say("that grant has ended: leave ").mention("fence").say(" out, or ")
}

/// Returns the call that brings a task nearer to being submitted.
fn way_to_submission(status: Status) -> Option<&'static str> {
    let calls = [(Status::Queued, "task.claim"), (Status::Claimed, "task.start")];
    calls.into_iter().find(|(from, _)| *from == status).map(|(_, call)| call)
}

impl<'a> Rule<'a> {
    pub(super) fn task(&self, text: &str) -> Ruling<&'a Task> {
        find_task(self.facts, &self.request.repo, text)
    }

    /// Finds the task for a verb that needs its holder: a fence that is given must be that of its live claim.
    pub(super) fn held_task(&self, text: &str) -> Ruling<&'a Task> {
        let task = self.task(text)?;
        self.fence_fits_task(task)?;
        Ok(task)
    }

    pub(super) fn lease(&self, text: &str) -> Ruling<&'a Lease> {
        let id = LeaseId::parse(text).ok_or_else(|| {
            Refusal::input(format!("lease id {:?} is not valid", crate::ids::shorten(text))).hint(
                say("a lease id looks like L7; list the live leases with ").quote(op("lease.list")),
            )
        })?;
        let lease = self.facts.lease(&self.request.repo, id)?;
        let lease = lease.ok_or_else(|| not_found("lease", text))?;
        if !self.facts.is_live(lease)? {
            return Err(not_found("lease", text).into());
        }
        Ok(lease)
    }

    pub(super) fn decision(&self, text: &str) -> Ruling<&'a Decision> {
        find_decision(self.facts, &self.request.repo, text)
    }

    fn fence_fits_task(&self, task: &Task) -> Ruling<()> {
        let Some(fence) = self.request.fence else { return Ok(()) };
        let live = match &task.claim {
            Some(claim) if claim.fence == fence => self.facts.claim_end(task, claim)? > self.now(),
            _ => false,
        };
        if live {
            return Ok(());
        }
        let holder = task.claim.as_ref().map(|claim| claim.agent.to_string());
        let message = format!("fence {fence} does not belong to a live claim on {}", task.id);
        let claim = op("task.claim").id(&task.id);
        Err(Refusal::new(Code::StaleFence, message)
            .hint(ended_grant().say("take the task again: ").quote(claim))
            .detail("fence", fence.get())
            .detail("task", task.id.as_str())
            .detail("holder", holder)
            .into())
    }

    pub(super) fn fence_fits_lease(&self, lease: &Lease) -> Ruling<()> {
        match self.request.fence {
            Some(fence) if fence != lease.fence => self.fence_covers_claim_of(lease),
            _ => Ok(()),
        }
    }

    /// The fence of a claim is good for the leases that belong to that claim.
    fn fence_covers_claim_of(&self, lease: &Lease) -> Ruling<()> {
        if let Some(id) = &lease.claim_of
            && let Some(task) = self.facts.task(&self.request.repo, id)?
        {
            return self.fence_fits_task(task);
        }
        let fence = self.request.fence.map_or(0, crate::ids::Fence::get);
        let message = format!("fence {fence} does not belong to {}", lease.id);
        let take = op("lease.acquire").arg("patterns", &lease.path);
        Err(Refusal::new(Code::StaleFence, message)
            .hint(ended_grant().say("take the lease again: ").quote(take))
            .detail("fence", fence)
            .detail("lease", lease.id.to_string())
            .into())
    }

    pub(super) fn may_become(&self, task: &Task, to: Status) -> Ruling<()> {
        if task.status.may_become(to) {
            return Ok(());
        }
        let next: Vec<&str> = task.status.next().iter().map(|status| status.as_str()).collect();
        let message = match task.status == to {
            true => format!("{} has the status {to} already", task.id),
            false => {
                format!("{} has the status {}, which does not lead to {to}", task.id, task.status)
            }
        };
        let goes = say(format!("from {} a task goes to: {}", task.status, next.join(", ")));
        let hint = match way_to_submission(task.status) {
            Some(first) if to == Status::Review => {
                goes.say("; first ").quote(op(first).id(&task.id))
            }
            _ => goes,
        };
        Err(Refusal::new(Code::InvalidTransition, message)
            .hint(hint)
            .detail("task", task.id.as_str())
            .detail("status", task.status.as_str())
            .detail("wanted", to.as_str())
            .detail("allowed", next)
            .into())
    }

    /// Tells whether the caller's roles allow the verb; a person's word is enough for any.
    pub(super) fn may(&self, verb: Verb) -> bool {
        self.outside_allows(verb).is_ok()
            && (self.is_person() || self.policy.allows(&self.roles, verb))
    }

    pub(super) fn require(&self, verb: Verb) -> Ruling<()> {
        self.outside_allows(verb)?;
        if self.may(verb) {
            return Ok(());
        }
        Err(self.forbidden(verb).into())
    }

    pub(super) fn forbidden(&self, verb: Verb) -> Refusal {
        let roles: Vec<&str> = self.roles.iter().map(|role| role.as_str()).collect();
        let wanted: Vec<&str> = verb.roles().iter().map(|role| role.as_str()).collect();
        let actor = &self.request.actor;
        let have = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
        let need = if wanted.is_empty() {
            "a person".to_owned()
        } else {
            format!("the role {}", wanted.join(" or "))
        };
        Refusal::new(
            Code::RoleForbidden,
            format!("{actor} ({have}) may not {verb}; this needs {need}"),
        )
        .detail("verb", verb.as_str())
        .detail("roles", roles)
        .detail("wanted", wanted)
    }

    /// Only the holder of a live claim, or a person, gets past this.
    pub(super) fn require_holder(&self, task: &Task) -> Ruling<()> {
        if self.is_person() {
            return Ok(());
        }
        let actor = &self.request.actor;
        let holder = task.claim.as_ref().map(|claim| &claim.agent).or(task.assignee.as_ref());
        if holder == Some(actor) {
            return Ok(());
        }
        Err(self.not_holder(&format!("task {}", task.id), holder.map(|id| id.as_str())).into())
    }

    pub(super) fn not_holder(&self, what: &str, holder: Option<&str>) -> Refusal {
        let message = match holder {
            Some(holder) => format!("{what} is held by {holder}, not by {}", self.request.actor),
            None => format!("{what} is not held by {}", self.request.actor),
        };
        Refusal::new(Code::NotHolder, message).detail("holder", holder)
    }

    /// Only a person gets past this.
    pub(super) fn require_person(&self, what: &str) -> Ruling<()> {
        // What only a person may do takes the rights of one who may take finished work up again.
        self.outside_allows(Verb::Reopen)?;
        if self.is_person() {
            return Ok(());
        }
        Err(Refusal::new(Code::HumanOnly, format!("only a person may {what}")).into())
    }
}

pub fn find_decision<'a>(facts: &'a Facts, repo: &RepoName, text: &str) -> Ruling<&'a Decision> {
    let id = DecisionId::parse(text).ok_or_else(|| {
        Refusal::input(format!("decision id {:?} is not valid", crate::ids::shorten(text))).hint(
            say("a decision id looks like D3; list them with ")
                .quote(op("decision.list").flag("all")),
        )
    })?;
    facts.decision(repo, id)?.ok_or_else(|| not_found("decision", text).into())
}
