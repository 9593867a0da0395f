//! Steps of the supervisor: what a rule asks for and why it does, in one transaction.

use super::input::Check;
use super::stop::choice;
use super::together::Ahead;
use super::{Answer, Rule};
use crate::command::{Command, Supervision};
use crate::event::{DecisionAsked, Event, Supervised};
use crate::facts::Ruling;
use crate::ids::{DecisionId, TaskId};
use crate::limits;
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::seat::SUPERVISOR;
use crate::supervise::Ask;

pub(super) fn check(step: &Supervision, each: impl Fn(&Command) -> Check) -> Check {
    if step.rule.trim().is_empty() || step.subject.trim().is_empty() {
        return Err(Refusal::input("a step of the supervisor names its rule and its subject"));
    }
    if step.steps.len() > limits::STEPS_MAX {
        let text = format!("a step of the supervisor does at most {} things", limits::STEPS_MAX);
        return Err(Refusal::new(Code::LimitExceeded, text));
    }
    if step.steps.iter().any(|step| matches!(step, Command::Supervise(_) | Command::Seat(_))) {
        return Err(Refusal::input("a step of the supervisor has no such step in it"));
    }
    step.steps.iter().try_for_each(each)
}

impl Rule<'_> {
    pub(super) fn supervise(&mut self, step: &Supervision) -> Ruling<Answer> {
        let task = step.task.as_ref().map(|text| self.task(text)).transpose()?;
        let task = task.map(|task| task.id.clone());
        self.require(Verb::Supervise)?;
        self.sits(SUPERVISOR)?;
        let (mut run, mut decision) = (None, None);
        let mut ahead = self.ahead();
        let (actor, via) = (self.request.actor.clone(), self.request.via.clone());
        for command in &step.steps {
            // The fence is that of the seat, and protects none of the things below.
            let done = self.in_turn_as(&mut ahead, &actor, &via, None, command.clone())?;
            if let Answer::Run(id) = done {
                run = Some(id);
            } else if let Answer::Decision(id) | Answer::Answered(id, _) = done {
                decision = Some(id);
            }
        }
        if let Some(ask) = &step.ask {
            decision = Some(self.ask_by_rule(&mut ahead, step, ask, task.as_ref())?);
        }
        let place = self.events.len();
        let body = Supervised {
            rule: step.rule.clone(),
            on: step.on.clone(),
            subject: step.subject.clone(),
            facts: step.facts.clone(),
            because: step.because.clone(),
            action: step.action.clone(),
            run,
            decision,
            key: self.request.key.clone(),
        };
        self.push(task.as_ref(), Event::Supervised(Box::new(body)));
        Ok(match (run, decision) {
            (Some(run), _) => Answer::Run(run),
            (None, Some(decision)) => Answer::Decision(decision),
            (None, None) => Answer::Event(place),
        })
    }

    /// Asks what a rule asks, and stops the task until the answer.
    fn ask_by_rule(
        &mut self,
        ahead: &mut Ahead,
        step: &Supervision,
        ask: &Ask,
        task: Option<&TaskId>,
    ) -> Ruling<DecisionId> {
        let id = DecisionId(ahead.facts().counters(&self.request.repo)?.decisions + 1);
        let options: Vec<(&str, &str)> =
            ask.options.iter().map(|key| (key.as_str(), meaning(key))).collect();
        let asked = DecisionAsked {
            to: ask.to.clone(),
            rule: Some(step.rule.clone()),
            ..choice(id, &ask.question, ask.context.clone(), ask.purpose, &options)
        };
        self.push_ahead(ahead, task, Event::DecisionAsked(Box::new(asked)));
        if let Some(task) = task.filter(|_| ask.blocks) {
            let block = Command::Block {
                id: task.to_string(),
                needs: Some(format!("an answer to {id}: {}", ask.options.join(", "))),
                questions: vec![id.to_string()],
                retry_after: None,
                reason: Some(step.because.clone()),
            };
            let (actor, via) = (self.request.actor.clone(), self.request.via.clone());
            self.in_turn_as(ahead, &actor, &via, None, block)?;
        }
        Ok(id)
    }
}

/// Says what the options of the built-in rules mean; those of a project speak for themselves.
fn meaning(key: &str) -> &str {
    match key {
        "retry" => "Start over with fresh attempts",
        "split" => "Break it into smaller tasks",
        "abandon" => "Give it up",
        "go-on" => "Start it again: what stood in the way is mended",
        "take-branch" => "Go on with the branch as it is now",
        "restore" => "Put the branch back to the last commit of the run",
        "only" => "Delete the files of the task; 'only: PATH' names them",
        "also" => "Delete these as well: 'also: PATH'",
        "cancel" => "Delete nothing, and give the task up",
        "accept" => "Go on with the review",
        "architect" => "Let an architect plan it anew",
        "rework" => "Send it back to a developer",
        "wait" => "Wait for the checks once more",
        "review-anyway" => "Review it without the checks",
        other => other,
    }
}
