//! What keeps a run from being dispatched: a task that was tried too often, a plan that is not there.

use super::Rule;
use super::run_reports::PLAN_PATH;
use super::runs::read_run;
use super::together::Ahead;
use crate::command::NewRun;
use crate::decision::{DecisionPurpose, DecisionState};
use crate::event::{Event, Note};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::ids::TaskId;
use crate::refusal::{Code, Refusal};
use crate::run::{Stage, run_of};
use crate::task::Task;
use serde_json::Value;

impl Rule<'_> {
    /// A task about which comity asks what to do is not tried again before the answer.
    pub(super) fn not_in_loop(&self, id: &TaskId) -> Ruling<()> {
        let repo = &self.request.repo;
        let Some(task) = self.facts.task(repo, id)? else { return Ok(()) };
        for decision in &task.decisions {
            let Some(decision) = self.facts.decision(repo, *decision)? else { continue };
            if decision.purpose == DecisionPurpose::Exhausted
                && decision.state == DecisionState::Open
            {
                let message = format!("{id} was tried too often; {} asks what to do", decision.id);
                let worn = task.attempts >= self.policy.max_attempts;
                let (count, limit) = match worn {
                    true => (task.attempts, self.policy.max_attempts),
                    false => (task.review_rounds, self.policy.max_review_rounds),
                };
                return Err(Refusal::new(Code::LoopGuard, message)
                    .hint(
                        say("answer it with ")
                            .quote(op("decision.answer").id(&decision.id).ask("answer", "ANSWER")),
                    )
                    .detail("count", count)
                    .detail("limit", limit)
                    .detail("decision", decision.id.to_string())
                    .into());
            }
        }
        Ok(())
    }

    /// Once a plan of a task was begun, nobody develops it before the plan is in its branch.
    pub(super) fn design_is_there(
        &mut self,
        ahead: &mut Ahead,
        id: &TaskId,
        new: &NewRun,
    ) -> Ruling<()> {
        let repo = &self.request.repo;
        let Some(task) = self.facts.task(repo, id)? else { return Ok(()) };
        if new.stage != Stage::Develop || !self.policy.has_git || !self.was_planned(task)? {
            return Ok(());
        }
        // What goes on has passed here when it began.
        if let Some(from) = &new.resumed_from {
            let from = self.facts.run(repo, read_run(from)?)?;
            if from.is_some_and(|run| run.stage == new.stage && run.task == *id) {
                return Ok(());
            }
        }
        if let Some(reason) = &new.skip_design {
            self.require_person("start without the plan")?;
            let text = format!("Started without the plan: {reason}");
            let note = Note { kind: "decision".to_owned(), text };
            self.push_ahead(ahead, Some(id), Event::Note(note));
            return Ok(());
        }
        let plan = task.context.get(PLAN_PATH).and_then(Value::as_str);
        if plan.is_some() && plan == self.request.observed.plan.as_deref() {
            return Ok(());
        }
        let message = match plan {
            Some(plan) => format!("{plan} is not in the branch of {id} yet"),
            None => format!("the plan of {id} is not ready"),
        };
        Err(Refusal::new(Code::DesignOpen, message).detail("task", id.as_str()).into())
    }

    fn was_planned(&self, task: &Task) -> Ruling<bool> {
        for worker in &task.workers {
            let Some(id) = run_of(&worker.agent) else { continue };
            let run = self.facts.run(&task.repo, id)?;
            if run.is_some_and(|run| run.stage == Stage::Plan && run.identity == worker.agent) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
