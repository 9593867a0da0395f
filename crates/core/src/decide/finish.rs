//! Finishing and taking up again: merge, done, abandon, requeue, reopen, and `transition` by status.

use super::access::wrong_status;
use super::{Answer, Rule};
use crate::brief::excerpt;
use crate::command::Submission;
use crate::event::{ChangeNoted, Event, Merged, StatusChanged};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::ids::TaskId;
use crate::limits::LIST_ENTRIES_MAX;
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::status::Status;
use crate::task::{Deliverable, Task};
use std::collections::BTreeSet;

/// Returns paths that fit into one list: the directories of them where they are too many.
fn few_paths(paths: &[String]) -> Vec<String> {
    let mut few: Vec<String> = paths.to_vec();
    while few.len() > LIST_ENTRIES_MAX {
        let above = few.iter().map(|path| {
            let path = path.trim_end_matches('/');
            path.rsplit_once('/').map_or_else(|| ".".to_owned(), |(above, _)| format!("{above}/"))
        });
        few = above.collect::<BTreeSet<String>>().into_iter().collect();
    }
    few
}

impl<'a> Rule<'a> {
    pub(super) fn merge(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.may_become(task, Status::Merging)?;
        if task.deliverable != Deliverable::Code {
            return Err(Refusal::new(
                Code::InvalidTransition,
                format!(
                    "{} delivers {}; there is nothing to merge",
                    task.id,
                    task.deliverable.as_str()
                ),
            )
            .hint(say("finish it with ").quote(op("task.done").id(&task.id)))
            .into());
        }
        self.require(Verb::Merge)?;
        self.lands(task)?;
        self.step(task, Status::Merging, reason)?;
        Ok(Answer::Task(task.id.clone()))
    }

    pub(super) fn done(
        &mut self,
        id: &str,
        merged: Option<&String>,
        unmerged: bool,
        reason: Option<&String>,
    ) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.may_become(task, Status::Done)?;
        if task.status == Status::Approved && task.deliverable == Deliverable::Code {
            let message = format!("{} has code that must be merged before it is done", task.id);
            return Err(Refusal::new(Code::InvalidTransition, message)
                .hint(say("run ").quote(op("task.merge").id(&task.id)).say(" first"))
                .detail("status", task.status.as_str())
                .into());
        }
        self.require(Verb::Done)?;
        self.children_finished(task)?;
        let (sha, violations) = if unmerged {
            self.require_person("finish a task without a merge")?;
            (None, Vec::new())
        } else {
            let sha = self.merged(task, merged)?;
            let added = self.request.observed.merge.as_ref().map(|seen| seen.added.as_slice());
            (sha, self.merge_lands(task, added.unwrap_or_default())?)
        };
        if task.deliverable == Deliverable::Code || sha.is_some() {
            let unmerged = reason.filter(|_| unmerged).cloned();
            let change = self.landed(task, sha.as_ref());
            let (branch, gates) = (task.branch.clone(), self.request.observed.gates.clone());
            let body = Merged { sha, branch, unmerged, violations, change, gates };
            self.push(Some(&task.id), Event::Merged(body));
        }
        // Loaded here so that what this unblocks is visible to the next command of the same batch.
        self.facts.dependants(&self.request.repo, &task.id)?;
        self.step(task, Status::Done, reason)?;
        Ok(Answer::Task(task.id.clone()))
    }

    /// Returns the commit that has the work; it must contain the submitted one, as far as there is one. A commit that is
    /// named must be one in any case.
    fn merged(&self, task: &Task, named: Option<&String>) -> Ruling<Option<String>> {
        let submitted = task.commit.as_ref().filter(|_| task.deliverable == Deliverable::Code);
        if submitted.is_none() && named.is_none() {
            return Ok(None);
        }
        let Some(seen) = &self.request.observed.merge else {
            if self.policy.has_git {
                return Err(self.unobserved(task, "the merge of").into());
            }
            return Ok(named.cloned());
        };
        self.is_of_this_version(task, seen.task_version)?;
        let merged = &seen.merged;
        match submitted {
            Some(commit) if !seen.contains => {
                let message = format!("{merged} contains neither {commit} nor an equal patch");
                Err(Refusal::new(Code::NotMerged, message)
                    .detail("commit", commit.clone())
                    .detail("merged", merged.clone())
                    .into())
            }
            _ => Ok(Some(merged.clone())),
        }
    }

    /// Says what landed, for those who work on the same paths; nothing where no code was merged.
    fn landed(&self, task: &Task, sha: Option<&String>) -> Option<ChangeNoted> {
        sha?;
        let merge = self.request.observed.merge.as_ref();
        let seen = merge.map_or(&[][..], |seen| &seen.files);
        let paths = if seen.is_empty() { &task.files } else { seen };
        let paths = few_paths(paths);
        let is_code = task.deliverable == Deliverable::Code && !paths.is_empty();
        // A snapshot says nothing of its own.
        let subject = merge.and_then(|seen| seen.subject.as_ref());
        let subject = subject.filter(|_| !task.constraints.no_git_commit);
        let text = subject.map_or_else(|| task.title.clone(), |line| excerpt(line));
        is_code.then_some(ChangeNoted { paths, text })
    }

    pub(super) fn children_finished(&self, task: &Task) -> Ruling<()> {
        let children = self.facts.children(&self.request.repo, &task.id)?;
        let open: Vec<&str> = children
            .iter()
            .filter(|child| !child.status.is_finished())
            .map(|child| child.id.as_str())
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        let message = format!("{} has parts that are not finished: {}", task.id, open.join(", "));
        Err(Refusal::new(Code::NotReady, message)
            .hint("finish or abandon them first")
            .detail("children", open)
            .into())
    }

    pub(super) fn abandon(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.may_become(task, Status::Abandoned)?;
        self.require(Verb::Abandon)?;
        self.abandon_task(task, reason.cloned())?;
        Ok(Answer::Task(task.id.clone()))
    }

    /// Abandons a task, and blocks what waits for it.
    pub(super) fn abandon_task(&mut self, task: &Task, reason: Option<String>) -> Ruling<()> {
        self.end_claim_and_step(task, StatusChanged::new(task.status, Status::Abandoned, reason))?;
        self.block_dependants(&task.id)
    }

    /// Blocks what waits for a task that will never be done.
    pub(super) fn block_dependants(&mut self, id: &TaskId) -> Ruling<()> {
        for dependant in self.facts.dependants(&self.request.repo, id)? {
            if dependant.status == Status::Queued {
                let change = super::queue::blocked_by_abandoned(dependant.status, id);
                self.push_step(dependant, change)?;
            }
        }
        Ok(())
    }

    pub(super) fn requeue(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.may_become(task, Status::Queued)?;
        if task.status.is_finished() {
            return Err(wrong_status(task, "; only a person may reopen it")
                .hint(op("task.reopen").id(&task.id).ask("reason", "TEXT"))
                .into());
        }
        self.require(Verb::Requeue)?;
        self.check_reset(task)?;
        if task.status == Status::Blocked {
            self.waits_for_nothing_abandoned(task)?;
        }
        let why = reason.cloned().or_else(|| Some("re-queued".to_owned()));
        let mut change = StatusChanged::new(task.status, Status::Queued, why);
        change.resets_attempts = self.resets(task);
        self.end_claim_and_step(task, change)?;
        Ok(Answer::Task(task.id.clone()))
    }

    pub(super) fn reopen(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let Some(reason) = reason.filter(|text| !text.trim().is_empty()) else {
            return Err(Refusal::input("reopening needs a reason")
                .hint(say("say why with ").ask("reason", "TEXT"))
                .into());
        };
        let task = self.task(id)?;
        if !task.status.is_finished() {
            return Err(wrong_status(task, "; only a finished task can be reopened").into());
        }
        self.require_person("reopen a task")?;
        self.parent_is_open(task)?;
        let mut change = StatusChanged::new(task.status, Status::Queued, Some(reason.clone()));
        change.resets_attempts = true;
        self.push_step(task, change)?;
        if task.status == Status::Abandoned {
            for dependant in self.facts.dependants(&self.request.repo, &task.id)? {
                let why = format!("dependency {} was reopened", task.id);
                self.free_of(dependant, &task.id, why)?;
            }
        }
        Ok(Answer::Task(task.id.clone()))
    }

    /// A parent is done only when its parts are: a part of a done one comes back after it.
    fn parent_is_open(&self, task: &Task) -> Ruling<()> {
        let Some(id) = &task.parent else { return Ok(()) };
        match self.facts.task(&self.request.repo, id)? {
            Some(parent) if parent.status == Status::Done => Err(Refusal::new(
                Code::NotReady,
                format!("{} is part of {id}, which is done", task.id),
            )
            .hint(
                say(format!("reopen {id} first: "))
                    .call(op("task.reopen").id(id).ask("reason", "TEXT")),
            )
            .detail("parent", id.as_str())
            .into()),
            _ => Ok(()),
        }
    }

    /// Goes to a status by the verb that leads there from where the task is.
    pub(super) fn transition(
        &mut self,
        id: &str,
        to: Status,
        reason: Option<&String>,
        needs: Option<&String>,
    ) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.may_become(task, to)?;
        let answer = match to {
            Status::Claimed => self.claim_named(&task.id),
            Status::InProgress => self.start(id, None, reason),
            Status::Review => self.submit(&Submission {
                id: task.id.to_string(),
                reason: reason.cloned(),
                ..Submission::default()
            }),
            Status::Approved => self.approve(id, reason),
            Status::ChangesRequested => self.request_changes(id, reason),
            Status::Merging => self.merge(id, reason),
            Status::Done => self.done(id, None, false, reason),
            Status::Blocked => self.block(id, needs, &[], None, reason),
            Status::Failed => self.fail(id, reason.map(String::as_str), None),
            Status::Abandoned => self.abandon(id, reason),
            Status::Queued => match task.status {
                Status::Claimed | Status::InProgress => self.release(id, reason),
                Status::Blocked => self.unblock(id, reason),
                Status::Done | Status::Abandoned => self.reopen(id, reason),
                Status::Queued
                | Status::Review
                | Status::ChangesRequested
                | Status::Approved
                | Status::Merging
                | Status::Failed => self.requeue(id, reason),
            },
        }?;
        Ok(if let Answer::Claimed(id, _) = answer { Answer::Task(id) } else { answer })
    }
}
