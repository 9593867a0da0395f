//! Changing what a task says: fields, dependencies, reservation, references.

use super::access::wrong_status;
use super::{Answer, Rule};
use crate::command::ConstraintChanges;
use crate::event::{Dependency, Event, TaskAssigned, TaskLinked, TaskUpdated};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::ids::{AgentId, TaskId};
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::status::Status;
use crate::task::{Constraints, Task};
use std::collections::{BTreeMap, VecDeque};

impl<'a> Rule<'a> {
    pub(super) fn update(
        &mut self,
        id: &str,
        changes: &TaskUpdated,
        constraints: &ConstraintChanges,
        if_match: Option<u64>,
    ) -> Ruling<Answer> {
        if *changes == TaskUpdated::default() && constraints.is_empty() {
            return Err(Refusal::input("there is nothing to change")
                .hint(say("for example: ").call(op("task.update").id("T1").arg("priority", "P0")))
                .into());
        }
        let mut changes = changes.clone();
        if let Some(files) = &changes.files {
            changes.files = Some(self.normal_patterns(files)?);
        }
        let task = self.task(id)?;
        if !constraints.is_empty() {
            let base = changes.constraints.take().unwrap_or_else(|| task.constraints.clone());
            changes.constraints = Some(constraints.applied_to(base));
        }
        needs_fit(task, changes.needs.as_deref())?;
        self.may_edit(task)?;
        self.may_weaken(task, &changes)?;
        self.version_fits(task, if_match)?;
        if let Some(context) = &changes.context {
            let added =
                context.iter().filter(|(k, v)| !v.is_null() && !task.context.contains_key(*k));
            self.list_bound("context", task.context.len() + added.count())?;
        }
        self.push(Some(&task.id), Event::TaskUpdated(Box::new(changes)));
        Ok(Answer::Task(task.id.clone()))
    }

    /// A planner or a person edits any task; who made it, or holds it, edits that one.
    fn may_edit(&self, task: &Task) -> Ruling<()> {
        let actor = &self.request.actor;
        let holds = task.claim.as_ref().is_some_and(|claim| claim.agent == *actor);
        let made = task.created_by == *actor && task.claim.is_none();
        if holds || made { Ok(()) } else { self.require(Verb::Update) }
    }

    /// Whoever works on a task does not make it easier, whatever else that agent may be.
    fn may_weaken(&self, task: &Task, changes: &TaskUpdated) -> Ruling<()> {
        let Some(what) = weakening(task, changes) else { return Ok(()) };
        if self.may(Verb::Update) && !self.works_on(task) {
            return Ok(());
        }
        Err(self
            .forbidden(Verb::Update)
            .hint(format!(
                "{what} would weaken a task that you hold or made; another planner or a person may \
                 do it"
            ))
            .into())
    }

    /// Tells whether the task is, or until its verdict was, in the hands of the calling agent.
    pub(super) fn works_on(&self, task: &Task) -> bool {
        let open = task.status != Status::Queued && !task.status.is_finished();
        open && !self.is_person() && task.assignee.as_ref() == Some(&self.request.actor)
    }

    pub(super) fn version_fits(&self, task: &Task, if_match: Option<u64>) -> Ruling<()> {
        match if_match {
            Some(wanted) if wanted != task.version => Err(Refusal::new(
                Code::VersionMismatch,
                format!("{} has version {}, not {wanted}", task.id, task.version),
            )
            .detail("version", task.version)
            .into()),
            _ => Ok(()),
        }
    }

    pub(super) fn add_dependency(
        &mut self,
        id: &str,
        on: &str,
        may_be_unknown: bool,
    ) -> Ruling<Answer> {
        let task = self.task(id)?;
        let (on, status) = self.dependency(on, may_be_unknown)?;
        if task.status.is_finished() {
            return Err(wrong_status(task, " and cannot get new dependencies").into());
        }
        self.may_edit(task)?;
        self.closes_no_cycle(&task.id, &on)?;
        if !task.dependencies.contains(&on) {
            self.list_bound("dependencies", task.dependencies.len() + 1)?;
            self.push(Some(&task.id), Event::DependencyAdded(Dependency { on: on.clone() }));
            if status == Some(Status::Abandoned) && task.status == Status::Queued {
                let change = super::queue::blocked_by_abandoned(task.status, &on);
                self.push_step(task, change)?;
            }
        }
        Ok(Answer::Task(task.id.clone()))
    }

    /// Finds what a task is to depend on. What may be unknown is named by its whole id, and has no state yet.
    pub(super) fn dependency(
        &self,
        text: &str,
        may_be_unknown: bool,
    ) -> Ruling<(TaskId, Option<Status>)> {
        if may_be_unknown {
            let id = TaskId::parse(text)?;
            let status = self.facts.task(&self.request.repo, &id)?.map(|task| task.status);
            return Ok((id, status));
        }
        let task = self.task(text)?;
        Ok((task.id.clone(), Some(task.status)))
    }

    pub(super) fn closes_no_cycle(&self, task: &TaskId, on: &TaskId) -> Ruling<()> {
        let Some(cycle) = self.cycle(task, on)? else { return Ok(()) };
        let names: Vec<&str> = cycle.iter().map(TaskId::as_str).collect();
        let message = format!("the dependency would close the cycle {}", names.join(" → "));
        Err(Refusal::new(Code::DependencyCycle, message).detail("cycle", names).into())
    }

    /// Returns the cycle that a new edge would close, starting and ending with the task.
    fn cycle(&self, task: &TaskId, dependency: &TaskId) -> Ruling<Option<Vec<TaskId>>> {
        if task == dependency {
            return Ok(Some(vec![task.clone(), task.clone()]));
        }
        self.facts.closure(&self.request.repo, dependency)?;
        let mut came_from: BTreeMap<TaskId, TaskId> = BTreeMap::new();
        let mut queue = VecDeque::from([dependency.clone()]);
        while let Some(id) = queue.pop_front() {
            let Some(at) = self.facts.task(&self.request.repo, &id)? else { continue };
            for next in &at.dependencies {
                if next == dependency || came_from.contains_key(next) {
                    continue;
                }
                came_from.insert(next.clone(), id.clone());
                if next == task {
                    return Ok(Some(walk_back(&came_from, task, dependency)));
                }
                queue.push_back(next.clone());
            }
        }
        Ok(None)
    }

    pub(super) fn remove_dependency(&mut self, id: &str, on: &str) -> Ruling<Answer> {
        let task = self.task(id)?;
        // What it waits for may be there by its name only.
        let named = task.dependencies.iter().find(|known| known.as_str() == on);
        let dependency = match named {
            Some(named) => named.clone(),
            None => self.task(on)?.id.clone(),
        };
        if !task.dependencies.contains(&dependency) {
            return Err(super::access::not_found("dependency", on)
                .hint(format!("{} depends on: {}", task.id, list(&task.dependencies)))
                .into());
        }
        // Who holds a task may not free it of what it has to wait for.
        self.require(Verb::Update)?;
        let edge = Dependency { on: dependency.clone() };
        self.push(Some(&task.id), Event::DependencyRemoved(edge));
        let why = format!("it no longer depends on {dependency}");
        self.free_of(task, &dependency, why)?;
        Ok(Answer::Task(task.id.clone()))
    }

    pub(super) fn assign(
        &mut self,
        id: &str,
        agent: Option<&AgentId>,
        new: bool,
    ) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.knows(agent, new)?;
        if task.status.is_finished() {
            return Err(wrong_status(task, " and cannot be assigned any more").into());
        }
        self.require(Verb::Assign)?;
        if let Some(claim) = &task.claim
            && agent != Some(&claim.agent)
        {
            let message = format!("{} is claimed by {}", task.id, claim.agent);
            return Err(Refusal::new(Code::NotReady, message)
                .hint("let the holder release it first")
                .detail("holder", claim.agent.as_str())
                .into());
        }
        self.meet_new(agent, new)?;
        self.push(Some(&task.id), Event::TaskAssigned(TaskAssigned { assignee: agent.cloned() }));
        Ok(Answer::Task(task.id.clone()))
    }

    /// Refuses an assignee that nobody knows, unless the caller means a new one. The door adds the nearest name.
    pub(super) fn knows(&self, agent: Option<&AgentId>, new: bool) -> Ruling<()> {
        let Some(agent) = agent.filter(|_| !new) else { return Ok(()) };
        if self.is_met(agent)? {
            return Ok(());
        }
        Err(unknown_name("agent", agent.as_str(), None).into())
    }

    /// Registers an assignee that the caller means as a new one.
    pub(super) fn meet_new(&mut self, agent: Option<&AgentId>, new: bool) -> Ruling<()> {
        agent.filter(|_| new).map_or(Ok(()), |agent| self.meet(agent))
    }

    pub(super) fn link(
        &mut self,
        id: &str,
        provider: &str,
        key: &str,
        value: &str,
    ) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.require(Verb::Link)?;
        let keys = task.external_ids.get(provider).and_then(serde_json::Value::as_object);
        let new_provider = usize::from(keys.is_none());
        self.list_bound("external ids", task.external_ids.len() + new_provider)?;
        if let Some(keys) = keys.filter(|keys| !keys.contains_key(key)) {
            self.list_bound("external ids of one provider", keys.len() + 1)?;
        }
        let link = TaskLinked {
            provider: provider.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        self.push(Some(&task.id), Event::TaskLinked(link));
        Ok(Answer::Task(task.id.clone()))
    }
}

/// What is needed is said of a blocked task, and a blocked task always says it.
fn needs_fit(task: &Task, needs: Option<&str>) -> Result<(), Refusal> {
    let Some(needs) = needs else { return Ok(()) };
    if task.block.is_none() {
        let message =
            format!("{} is {}; only a blocked task can say what it needs", task.id, task.status);
        return Err(Refusal::new(Code::InvalidTransition, message)
            .hint(say("block it: ").call(op("task.block").ask("id", "ID").ask("needs", "TEXT")))
            .detail("status", task.status.as_str()));
    }
    if needs.trim().is_empty() {
        let message = format!("{} is blocked; a blocked task must say what it needs", task.id);
        return Err(Refusal::new(Code::NeedsMissing, message));
    }
    Ok(())
}

fn walk_back(
    came_from: &BTreeMap<TaskId, TaskId>,
    task: &TaskId,
    dependency: &TaskId,
) -> Vec<TaskId> {
    let mut path = vec![task.clone()];
    let mut at = task;
    while let Some(previous) = came_from.get(at) {
        path.push(previous.clone());
        if previous == dependency {
            break;
        }
        at = previous;
    }
    path.push(task.clone());
    path.reverse();
    path
}

fn list(ids: &[TaskId]) -> String {
    if ids.is_empty() {
        return "nothing".to_owned();
    }
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}

/// Tells whether a new list lacks something that the old one had.
fn drops<'t>(mut old: impl Iterator<Item = &'t String>, new: Option<&Vec<String>>) -> bool {
    new.is_some_and(|new| old.any(|item| !new.contains(item)))
}

/// Names what a change would take away from what the task demands of its holder.
fn weakening(task: &Task, changes: &TaskUpdated) -> Option<&'static str> {
    let gates = task.gates.iter().filter(|gate| gate.required).map(|gate| &gate.name);
    if drops(gates, changes.gates.as_ref()) {
        return Some("dropping a gate");
    }
    if drops(task.dod.iter().map(|item| &item.text), changes.dod.as_ref()) {
        return Some("dropping a checklist item");
    }
    if drops(task.requirements.iter(), changes.requirements.as_ref()) {
        return Some("dropping a requirement");
    }
    if drops(task.blockers.iter(), changes.blockers.as_ref()) {
        return Some("dropping a blocker");
    }
    if changes.constraints.as_ref().is_some_and(|new| looser(&task.constraints, new)) {
        return Some("loosening a constraint");
    }
    if changes.deliverable.is_some_and(|new| new != task.deliverable) {
        return Some("changing the deliverable");
    }
    if changes.role.as_ref().is_some_and(|new| task.role.is_some_and(|old| old.as_str() != new)) {
        return Some("changing the role");
    }
    if changes
        .timeout
        .is_some_and(|new| task.timeout.ms() > 0 && (new.ms() == 0 || new > task.timeout))
    {
        return Some("extending the timeout");
    }
    None
}

fn looser(old: &Constraints, new: &Constraints) -> bool {
    let more_files = match (old.max_files, new.max_files) {
        (Some(old), Some(new)) => new > old,
        (Some(_), None) => true,
        (None, _) => false,
    };
    more_files
        || (old.no_git_commit && !new.no_git_commit)
        || (old.no_new_deps && !new.no_new_deps)
        || new.allow_delete.iter().any(|pattern| !old.allow_delete.contains(pattern))
}

/// Refuses a name that is not known.
pub fn unknown_name(what: &str, name: &str, nearest: Option<&str>) -> Refusal {
    let message = format!("there is no {what} {:?}", crate::ids::shorten(name));
    let hint = match nearest {
        Some(nearest) => say(format!("did you mean {nearest}? to make a new {what}, add ")),
        None => say(format!("to make a new {what}, add ")),
    };
    Refusal::new(Code::UnknownName, message)
        .hint(hint.mention("new"))
        .detail(what, name)
        .detail("nearest", nearest)
}
