//! An agent that does not get on: its run is paused, and a person says whether it goes on.

use crate::keeper::{Keeper, patiently};
use crate::workspace::{Kept, Workspace};
use comity_api::{ById, op};
use comity_core::command::{Question, RunChange};
use comity_core::decision::{Addressee, DecisionOption};
use comity_core::refusal::Refusal;
use comity_core::run::RunState;
use comity_core::time::Millis;
use std::time::Duration;

const GO_ON: &str = "go-on";
const STOP: &str = "stop";

fn millis(time: Duration) -> Millis {
    Millis::from_ms(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

impl Keeper<'_> {
    /// Keeps the files as they are; tells whether something changed. What is too large is said.
    pub(crate) fn keep_files(&mut self, space: &mut Workspace) -> bool {
        let Kept { is_new, left_out } = space.snapshot();
        for name in left_out {
            self.note("event", &format!("{name} is too large for a snapshot and is left out"));
        }
        is_new
    }

    /// A tool is called, with what its client says.
    pub(crate) fn called(&mut self, tool: &str, input: Option<&str>) {
        if let Some(input) = input {
            self.progress.call(&format!("{tool} {input}"));
        }
    }

    /// A file changed after so much work.
    pub(crate) fn got_on(&mut self, worked: Duration) {
        self.progress.got_on(millis(worked));
    }

    /// Pauses the run where its agent does not get on, and asks a person.
    pub(crate) fn ask_if_stuck(&mut self, worked: Duration) -> Result<(), Refusal> {
        let (patience, writes) = (self.context.config.patience()?, self.job.agent.writable);
        let stuck = self.progress.stuck(millis(worked), writes, &patience);
        let Some(why) = stuck.filter(|_| self.run.state == RunState::Running) else {
            return Ok(());
        };
        self.progress.got_on(millis(worked));
        let option = |key: &str, label: &str| DecisionOption {
            key: key.to_owned(),
            label: Some(label.to_owned()),
            description: None,
        };
        let question = Question {
            question: format!("{} does not get on: {why}. What now?", self.job.run),
            task: self.run.task.clone(),
            options: vec![option(GO_ON, "Let it go on"), option(STOP, "End the run")],
            context: None,
            to: Some(Addressee::Person),
            kind: None,
            default: None,
            expires: None,
            proposes: None,
        };
        let asks = |keeper: &mut Self| {
            keeper.service.call::<op::DecisionAsk>(&keeper.caller, question.clone())
        };
        let decision = self.insist(asks)?.decision.id;
        self.note("event", &format!("{decision} asks whether it goes on: {why}"));
        self.asked_to_go_on = Some(decision.clone());
        self.change(&RunChange::Pause { reason: Some(why), until: None, decision: Some(decision) })
    }

    /// Goes on or ends as a person answered, while the run is paused for that.
    pub(crate) fn follow_answer(&mut self) -> Result<(), Refusal> {
        let Some(id) = self.asked_to_go_on.clone() else { return Ok(()) };
        let shown = patiently(self.service.call::<op::DecisionShow>(&self.caller, ById { id }))?;
        let Some(answer) = shown.and_then(|shown| shown.decision.answer) else { return Ok(()) };
        self.asked_to_go_on = None;
        let reason = Some("a person ended it, as it did not get on".to_owned());
        match answer.as_str() {
            STOP => self.change(&RunChange::Stop { now: true, reason }),
            _ => self.change(&RunChange::Resume { fresh: false }),
        }
    }
}
