//! Making tasks.

use super::{Answer, Rule};
use crate::command::NewTask;
use crate::event::{Event, TaskCreated};
use crate::facts::Ruling;
use crate::ids::{TASK_NUMBER_MAX, TaskId};
use crate::limits;
use crate::pattern::Pattern;
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::status::Status;
use crate::task::{Priority, Task};

impl Rule<'_> {
    pub(super) fn create_task(&mut self, new: &NewTask) -> Ruling<Answer> {
        self.knows(new.assignee.as_ref(), new.new)?;
        let (id, abandoned) = self.make_task(new, Verb::Assign, false)?;
        self.meet_new(new.assignee.as_ref(), new.new)?;
        if let Some(dependency) = abandoned {
            self.block_by_abandoned(&id, &dependency);
        }
        Ok(Answer::Task(id))
    }

    /// Makes a task; to reserve it for somebody else takes the verb. Whoever calls decides what becomes of a task that
    /// depends on an abandoned one, which is returned.
    pub(super) fn make_task(
        &mut self,
        new: &NewTask,
        to_reserve: Verb,
        finished: bool,
    ) -> Ruling<(TaskId, Option<TaskId>)> {
        let given = given_id(new.id.as_deref())?;
        let files = self.normal_patterns(&new.files)?;
        let mut dependencies = Vec::new();
        let mut abandoned = None;
        for text in &new.depends_on {
            let (on, status) = self.dependency(text, new.awaits_unknown)?;
            if status == Some(Status::Abandoned) {
                abandoned = Some(on.clone());
            }
            if !dependencies.contains(&on) {
                dependencies.push(on);
            }
        }
        let parent = new.parent.as_ref().map(|text| self.task(text)).transpose()?;
        let parent = match parent {
            Some(parent) => Some(takes_parts(parent, finished)?),
            None => None,
        };
        self.require(Verb::Create)?;
        if new.assignee.as_ref().is_some_and(|agent| *agent != self.request.actor) {
            self.require(to_reserve)?;
        }
        let (id, number) = match (&given, &new.id_prefix) {
            (None, Some(prefix)) => self.prefixed_identity(prefix)?,
            _ => self.new_identity(given)?,
        };
        self.waits_not_for_itself(&id, &dependencies)?;
        let created = TaskCreated {
            number,
            title: new.title.trim().to_owned(),
            description: new.description.clone(),
            kind: new.kind.clone(),
            complexity: new.complexity,
            deliverable: new.deliverable,
            priority: new.priority.unwrap_or(Priority::DEFAULT),
            labels: new.labels.clone(),
            role: new.role,
            assignee: new.assignee.clone(),
            dependencies,
            blockers: new.blockers.clone(),
            files,
            requirements: new.requirements.clone(),
            dod: new.dod.clone(),
            gates: new.gates.clone(),
            constraints: new.constraints.clone(),
            context: new.context.clone(),
            timeout: new.timeout.unwrap_or_default(),
            epic: new.epic.clone(),
            prd: new.prd.clone(),
            initiative: new.initiative.clone(),
            parent,
            body: new.body.clone(),
        };
        self.push(Some(&id), Event::TaskCreated(Box::new(created)));
        for link in &new.links {
            self.push(Some(&id), Event::TaskLinked(link.clone()));
        }
        Ok((id, abandoned))
    }

    /// A task may have been waited for before it is made; it cannot wait for those who wait for it.
    fn waits_not_for_itself(&self, id: &TaskId, dependencies: &[TaskId]) -> Ruling<()> {
        let awaited = !dependencies.is_empty()
            && (dependencies.contains(id)
                || !self.facts.dependants(&self.request.repo, id)?.is_empty());
        if awaited {
            for on in dependencies {
                self.closes_no_cycle(id, on)?;
            }
        }
        Ok(())
    }

    /// Blocks a new task that waits for something that was given up.
    pub(super) fn block_by_abandoned(&mut self, id: &TaskId, dependency: &TaskId) {
        let change = super::queue::blocked_by_abandoned(Status::Queued, dependency);
        self.push(Some(id), Event::StatusChanged(change));
    }

    /// Counts on from the highest number until the id is free: other systems' ids may run ahead.
    fn prefixed_identity(&self, prefix: &str) -> Ruling<(TaskId, u64)> {
        let repo = &self.request.repo;
        let mut number = self.facts.counters(repo)?.tasks + 1;
        while number <= TASK_NUMBER_MAX {
            let id = TaskId::parse(&format!("{prefix}{number:03}"))?;
            if self.facts.task(repo, &id)?.is_none() {
                return Ok((id, number));
            }
            number += 1;
        }
        Err(Refusal::new(Code::LimitExceeded, "no task numbers are left").into())
    }

    /// A given `T<n>` takes number n; every other task takes the next number after the highest.
    fn new_identity(&self, given: Option<TaskId>) -> Ruling<(TaskId, u64)> {
        let repo = &self.request.repo;
        let next = self.facts.counters(repo)?.tasks + 1;
        let number = given.as_ref().and_then(TaskId::number).unwrap_or(next);
        if number > TASK_NUMBER_MAX {
            return Err(Refusal::new(Code::LimitExceeded, "no task numbers are left").into());
        }
        let Some(id) = given else { return Ok((TaskId::generated(number), number)) };
        let taken = self.facts.task(repo, &id)?.is_some();
        if taken || (number < next && self.number_taken(number)?) {
            return Err(Refusal::new(Code::DuplicateId, format!("the id {id} is taken"))
                .detail("id", id.as_str())
                .into());
        }
        Ok((id, number))
    }

    fn number_taken(&self, number: u64) -> Ruling<bool> {
        self.facts.number_taken(&self.request.repo, number)
    }

    /// Patterns in the form they are stored and compared in.
    pub(super) fn normal_patterns(&self, texts: &[String]) -> Ruling<Vec<String>> {
        let mut normal = Vec::new();
        for text in texts {
            let pattern = self.pattern(text)?.as_str().to_owned();
            if !normal.contains(&pattern) {
                normal.push(pattern);
            }
        }
        Ok(normal)
    }

    pub(super) fn pattern(&self, text: &str) -> Ruling<Pattern> {
        Pattern::parse_with(text, self.facts.case_rule_of(&self.request.repo)?).map_err(|error| {
            Refusal::new(error.code(), format!("pattern {text:?}: {error}")).into()
        })
    }

    /// Refuses a list that would grow beyond its bound.
    pub(super) fn list_bound(&self, what: &str, length: usize) -> Ruling<()> {
        if length <= limits::LIST_ENTRIES_MAX {
            return Ok(());
        }
        let message = format!("{what}: at most {} entries are allowed", limits::LIST_ENTRIES_MAX);
        Err(Refusal::new(Code::LimitExceeded, message)
            .detail("limit", limits::LIST_ENTRIES_MAX)
            .into())
    }
}

/// Reads a given id; a number in it must be one that can be given.
fn given_id(text: Option<&str>) -> Result<Option<TaskId>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    let id = TaskId::parse(text)?;
    match id.number() {
        Some(number) if number == 0 || number > TASK_NUMBER_MAX => {
            Err(Refusal::input(format!("task number {number} is out of range"))
                .hint(format!("use a number between 1 and {TASK_NUMBER_MAX}")))
        }
        _ => Ok(Some(id)),
    }
}

/// A finished whole takes no parts, except those that are finished, too.
fn takes_parts(parent: &Task, finished: bool) -> Result<TaskId, Refusal> {
    if parent.status.is_finished() && !finished {
        let message = format!("{} is {} and cannot get new parts", parent.id, parent.status);
        return Err(Refusal::new(Code::InvalidTransition, message)
            .hint("a person may reopen it")
            .detail("status", parent.status.as_str()));
    }
    Ok(parent.id.clone())
}
