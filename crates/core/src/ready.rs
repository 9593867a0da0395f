//! Readiness: what stands between a task and a caller who wants to claim it.

use crate::decide::{Conflict, conflicts, overlapping};
use crate::facts::{Facts, Ruling};
use crate::hint::{Hint, op, say};
use crate::ids::{AgentId, TaskId};
use crate::pattern::Pattern;
use crate::policy::Policy;
use crate::role::{Role, Verb};
use crate::status::Status;
use crate::task::Task;
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    Status(Status, Option<AgentId>),
    Dependency(TaskId, Option<Status>),
    Blocker(String),
    Assigned(AgentId),
    Role(Role),
    Files(Box<Conflict>),
}

impl Obstacle {
    /// Returns the word that reasons are counted by.
    pub fn kind(&self) -> &'static str {
        match self {
            Obstacle::Status(..) => "status",
            Obstacle::Dependency(..) => "dependencies",
            Obstacle::Blocker(_) => "blockers",
            Obstacle::Assigned(_) => "assigned_to_others",
            Obstacle::Role(_) => "role",
            Obstacle::Files(_) => "files_leased",
        }
    }

    pub fn sentence(&self) -> String {
        match self {
            Obstacle::Status(status, Some(holder)) => format!("it is {status}, held by {holder}"),
            Obstacle::Status(status, None) => format!("it is {status}"),
            Obstacle::Dependency(id, Some(status)) => {
                format!("it depends on {id}, which is {status}")
            }
            Obstacle::Dependency(id, None) => format!("it depends on {id}, which does not exist"),
            Obstacle::Blocker(text) => format!("blocker: {text}"),
            Obstacle::Assigned(agent) => format!("it is assigned to {agent}"),
            Obstacle::Role(role) => format!("it is for the role {role}"),
            Obstacle::Files(conflict) => conflict.sentence(),
        }
    }

    pub fn to_json(&self) -> Value {
        json!({"kind": self.kind(), "reason": self.sentence()})
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    pub id: &'a AgentId,
    /// Its roles; a person needs none.
    pub roles: &'a [Role],
}

impl Caller<'_> {
    fn has(&self, role: Role) -> bool {
        self.id.is_person() || self.roles.contains(&role)
    }
}

/// Returns the roles of a caller. Who is unknown so far would be registered as an implementer on first use.
pub fn roles_of(facts: &Facts, caller: &AgentId, policy: &Policy) -> Ruling<Vec<Role>> {
    Ok(match facts.agent(caller)? {
        Some(agent) => agent.roles.clone(),
        None if caller.is_person() || policy.registration_required => Vec::new(),
        None => vec![Role::Implementer],
    })
}

/// Tells whether the caller could claim the task now.
pub fn is_ready(facts: &Facts, task: &Task, caller: Caller<'_>, policy: &Policy) -> Ruling<bool> {
    let works = caller.id.is_person()
        || policy.allows(caller.roles, Verb::Claim)
        || task.role.is_some_and(|role| caller.roles.contains(&role));
    Ok(task.status == Status::Queued
        && works
        && first_obstacle(facts, task, caller, policy)?.is_none())
}

/// Lists everything that stands between the task and the caller.
pub fn obstacles(
    facts: &Facts,
    task: &Task,
    caller: Caller<'_>,
    policy: &Policy,
) -> Ruling<Vec<Obstacle>> {
    let mut found = Vec::new();
    if task.status != Status::Queued {
        let holder = task.claim.as_ref().map(|claim| claim.agent.clone());
        found.push(Obstacle::Status(task.status, holder));
    }
    found.extend(waits_for(facts, task)?);
    found.extend(task.blockers.iter().cloned().map(Obstacle::Blocker));
    if let Some(other) = task.reserved_for.as_ref().filter(|agent| *agent != caller.id) {
        found.push(Obstacle::Assigned(other.clone()));
    }
    if let Some(role) = task.role.filter(|role| !caller.has(*role)) {
        found.push(Obstacle::Role(role));
    }
    for conflict in file_conflicts(facts, task, caller.id, policy)? {
        found.push(Obstacle::Files(Box::new(conflict)));
    }
    Ok(found)
}

/// Returns the first thing in the way, cheaper than all of them.
pub fn first_obstacle(
    facts: &Facts,
    task: &Task,
    caller: Caller<'_>,
    policy: &Policy,
) -> Ruling<Option<Obstacle>> {
    if let Some(obstacle) = waits_for(facts, task)?.into_iter().next() {
        return Ok(Some(obstacle));
    }
    if let Some(text) = task.blockers.first() {
        return Ok(Some(Obstacle::Blocker(text.clone())));
    }
    if let Some(other) = task.reserved_for.as_ref().filter(|agent| *agent != caller.id) {
        return Ok(Some(Obstacle::Assigned(other.clone())));
    }
    if let Some(role) = task.role.filter(|role| !caller.has(*role)) {
        return Ok(Some(Obstacle::Role(role)));
    }
    let conflict = file_conflicts(facts, task, caller.id, policy)?.into_iter().next();
    Ok(conflict.map(|conflict| Obstacle::Files(Box::new(conflict))))
}

/// Returns the dependencies of a task that are not done.
pub fn waits_for(facts: &Facts, task: &Task) -> Ruling<Vec<Obstacle>> {
    let mut found = Vec::new();
    for id in &task.dependencies {
        let status = facts.task(&task.repo, id)?.map(|dependency| dependency.status);
        if status != Some(Status::Done) {
            found.push(Obstacle::Dependency(id.clone(), status));
        }
    }
    Ok(found)
}

/// Returns the live leases of others that a claim of the task's declared files would run into.
pub fn file_conflicts(
    facts: &Facts,
    task: &Task,
    owner: &AgentId,
    policy: &Policy,
) -> Ruling<Vec<Conflict>> {
    let mut found = Vec::new();
    for pattern in declared(facts, task)? {
        let mode = policy.claim_mode(owner, &pattern);
        found.extend(conflicts(facts, &task.repo, &pattern, owner, mode)?);
    }
    Ok(found)
}

/// Counts the live leases of others that the task's declared files would be shared with.
pub fn shared_with(facts: &Facts, task: &Task, owner: &AgentId) -> Ruling<usize> {
    let mut count = 0;
    for pattern in declared(facts, task)? {
        count += overlapping(facts, &task.repo, &pattern, owner)?;
    }
    Ok(count)
}

/// Stored patterns were parsed when they came in; one that no longer parses covers nothing.
fn declared(facts: &Facts, task: &Task) -> Ruling<Vec<Pattern>> {
    let rule = facts.case_rule_of(&task.repo)?;
    Ok(task.files.iter().filter_map(|text| Pattern::parse_with(text, rule).ok()).collect())
}

/// Returns a dependency that will never be done. `freed_of` is one that no longer counts.
pub(crate) fn abandoned_dependency<'t>(
    facts: &Facts,
    task: &'t Task,
    freed_of: Option<&TaskId>,
) -> Ruling<Option<&'t TaskId>> {
    for id in task.dependencies.iter().filter(|id| freed_of != Some(*id)) {
        let dependency = facts.task(&task.repo, id)?;
        if dependency.is_some_and(|dependency| dependency.status == Status::Abandoned) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Says what helps a task that depends on an abandoned one.
pub(crate) fn way_past_abandoned(task: &TaskId, dependency: &TaskId) -> Hint {
    let remove = op("task.depend").id(task).arg("on", dependency).flag("remove");
    say("ask a planner to remove the dependency (")
        .call(remove)
        .say(format!("), or a person to reopen {dependency}"))
}
