//! The merge queue: joining it by approval, batches, landing, and being sent back; releases.

use super::{Answer, Rule};
use crate::command::{Eject, MergeStep, NewRelease};
use crate::event::{
    Event, MergeEjected, MergeLanded, MergeProbed, MergeQueued, MergeStarted, Released,
};
use crate::facts::Ruling;
use crate::ids::TaskId;
use crate::merging::{BatchId, Probe};
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::status::Status;
use crate::task::{Deliverable, Task};

impl Rule<'_> {
    /// Approved code waits to be merged from now on.
    pub(super) fn join_queue(&mut self, task: &Task) {
        let Some(commit) = task.commit.clone().filter(|_| task.deliverable == Deliverable::Code)
        else {
            return;
        };
        let target = self.policy.merge_target.clone();
        self.push(Some(&task.id), Event::MergeQueued(MergeQueued { target, commit }));
    }

    pub(super) fn merge_step(&mut self, step: &MergeStep) -> Ruling<Answer> {
        match step {
            MergeStep::Start { target, base, tasks } => self.start_batch(target, base, tasks),
            MergeStep::Landed { batch, target, sha, tasks } => {
                self.require(Verb::MergeQueue)?;
                let tasks = self.named_tasks(tasks)?;
                let (batch, target, sha) = (*batch, target.clone(), sha.clone());
                let body = MergeLanded { batch, target, sha, tasks };
                Ok(self.record_event(None, Event::MergeLanded(body)))
            }
            MergeStep::Eject(eject) => self.eject(eject),
            MergeStep::Probed { a, b, state, paths } => self.probed(a, b.as_deref(), *state, paths),
        }
    }

    fn record_event(&mut self, task: Option<&TaskId>, event: Event) -> Answer {
        self.push(task, event);
        Answer::Event(self.events.len() - 1)
    }

    fn named_tasks(&self, texts: &[String]) -> Ruling<Vec<TaskId>> {
        self.list_bound("tasks of one batch", texts.len())?;
        texts.iter().map(|text| Ok(self.task(text)?.id.clone())).collect()
    }

    /// Freezes a batch: what is approved later waits for the next one.
    fn start_batch(&mut self, target: &str, base: &str, texts: &[String]) -> Ruling<Answer> {
        let tasks = self.named_tasks(texts)?;
        for text in texts {
            let task = self.task(text)?;
            if !matches!(task.status, Status::Approved | Status::Merging) {
                let message = format!("{} is {} and not in the merge queue", task.id, task.status);
                return Err(Refusal::new(Code::InvalidTransition, message)
                    .detail("task", task.id.as_str())
                    .into());
            }
        }
        self.require(Verb::MergeQueue)?;
        let batch = BatchId(self.next_seq());
        let (target, base) = (target.to_owned(), base.to_owned());
        let body = MergeStarted { batch, target, base, tasks };
        Ok(self.record_event(None, Event::MergeStarted(body)))
    }

    /// Sends work back that does not merge or is red when merged, and says so in the log.
    fn eject(&mut self, eject: &Eject) -> Ruling<Answer> {
        let task = self.task(&eject.id)?;
        self.may_become(task, Status::ChangesRequested)?;
        self.require(Verb::MergeQueue)?;
        let body = MergeEjected {
            batch: eject.batch,
            target: eject.target.clone(),
            reason: eject.reason,
            with: eject.with.clone(),
            paths: eject.paths.clone(),
            gate: eject.gate.clone(),
            output_tail: eject.output_tail.clone(),
        };
        self.push(Some(&task.id), Event::MergeEjected(Box::new(body)));
        self.request_changes(&eject.id, Some(&eject.words))
    }

    /// Records what two runs are to each other. Whoever began later is told of a conflict.
    fn probed(
        &mut self,
        a: &str,
        b: Option<&str>,
        state: Probe,
        paths: &[String],
    ) -> Ruling<Answer> {
        self.list_bound("paths", paths.len())?;
        let repo = &self.request.repo;
        let first = super::runs::find_run(self.facts, repo, a)?;
        let later = b.map(|b| super::runs::find_run(self.facts, repo, b)).transpose()?;
        // The keeper of the run that began later looks, too.
        let keeps = later.unwrap_or(first).identity == self.request.actor;
        if !keeps && !self.may(Verb::MergeQueue) {
            self.require(Verb::Work)?;
        }
        let body =
            MergeProbed { a: first.id, b: later.map(|run| run.id), state, paths: paths.to_vec() };
        let task = later.unwrap_or(first).task.clone();
        let answer = self.record_event(Some(&task), Event::MergeProbed(body));
        if state == Probe::Conflict {
            let (told, with) = match later {
                Some(later) => (later, format!("{} ({})", first.id, first.task)),
                None => (first, "the branch that it goes into".to_owned()),
            };
            let named: Vec<&str> = paths.iter().take(PATHS_TOLD_MAX).map(String::as_str).collect();
            let text = format!(
                "Your work on {} conflicts with {with} in {}. Take that work in before you go on there, or do the rest first.",
                told.task,
                named.join(", ")
            );
            let to = told.identity.to_string();
            self.tell(&to, &text)?;
        }
        Ok(answer)
    }

    /// Says that merged work was given to its users.
    pub(super) fn release_tag(&mut self, new: &NewRelease) -> Ruling<Answer> {
        let tasks = self.named_tasks(&new.tasks)?;
        self.require(Verb::MergeQueue)?;
        let body = Released {
            reason: new.reason.clone(),
            tag: Some(new.tag.clone()),
            sha: Some(new.sha.clone()),
            tasks,
        };
        Ok(self.record_event(None, Event::Released(body)))
    }
}

/// Paths that a message about a conflict names.
const PATHS_TOLD_MAX: usize = 10;
