//! Review: taking it, accepting, sending back.

use super::access::wrong_status;
use super::stop::{Wear, exhausted};
use super::{Answer, Rule, review_is_waived};
use crate::event::{Approved, Event, Note, ReviewFeedback, ReviewTaken, StatusChanged};
use crate::facts::Ruling;
use crate::ids::{AgentId, DecisionId};
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::status::Status;
use crate::task::Task;

impl<'a> Rule<'a> {
    /// Who claimed or submitted any round of a task does not judge it, and neither does any other name from the same
    /// client session.
    pub(super) fn not_own_work(&self, task: &Task, verb: &str) -> Ruling<()> {
        let actor = &self.request.actor;
        let message = if self.worked_on(task) {
            format!("{actor} worked on {} and cannot {verb} it", task.id)
        } else if let Some(name) = self.session_worker(task) {
            format!(
                "{actor} comes from the client session of {name}, which worked on {} and cannot {verb} it",
                task.id
            )
        } else {
            return Ok(());
        };
        Err(Refusal::new(Code::SelfReview, message).detail("assignee", actor.as_str()).into())
    }

    pub(super) fn worked_on(&self, task: &Task) -> bool {
        let actor = &self.request.actor;
        task.assignee.as_ref() == Some(actor) || task.workers.iter().any(|w| w.agent == *actor)
    }

    /// Names who worked on a task from the session that the request comes from.
    pub(super) fn session_worker<'t>(&self, task: &'t Task) -> Option<&'t AgentId> {
        let session = self.request.via.session_key()?;
        let worker = task.workers.iter().find(|w| w.session.as_ref() == Some(&session))?;
        Some(&worker.agent)
    }

    /// A review that another critic has taken is left to that critic.
    fn review_is_free(&self, task: &Task) -> Ruling<()> {
        match &task.reviewer {
            Some(reviewer)
                if task.review_taken && *reviewer != self.request.actor && !self.is_person() =>
            {
                let what = format!("the review of {}", task.id);
                Err(self.not_holder(&what, Some(reviewer.as_str())).into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn take_review(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let task = self.task(id)?;
        if task.status != Status::Review {
            return Err(wrong_status(task, ", not in review").into());
        }
        self.require(Verb::Review)?;
        self.review_is_free(task)?;
        self.not_own_work(task, "review")?;
        let taken = ReviewTaken { reviewer: self.request.actor.clone() };
        self.push(Some(&task.id), Event::ReviewTaken(taken));
        if let Some(text) = reason.filter(|text| !text.trim().is_empty()) {
            let note = Note { kind: "action".to_owned(), text: text.clone() };
            self.push(Some(&task.id), Event::Note(note));
        }
        Ok(Answer::Task(task.id.clone()))
    }

    pub(super) fn approve(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.may_become(task, Status::Approved)?;
        self.require(Verb::Approve)?;
        self.review_is_free(task)?;
        if !(self.is_person() && review_is_waived(task)) {
            self.not_own_work(task, "review")?;
        }
        let missing = super::missing_for_approval(task, self.policy);
        if !missing.is_empty() {
            let names: Vec<String> = missing.iter().map(super::gates::Missing::sentence).collect();
            let message = format!("{} cannot be approved: {}", task.id, names.join("; "));
            return Err(Refusal::new(Code::GateUnmet, message)
                .detail(
                    "missing",
                    missing.iter().map(super::gates::Missing::to_json).collect::<Vec<_>>(),
                )
                .into());
        }
        if !task.review_taken || task.reviewer.as_ref() != Some(&self.request.actor) {
            let taken = ReviewTaken { reviewer: self.request.actor.clone() };
            self.push(Some(&task.id), Event::ReviewTaken(taken));
        }
        self.is_approved(task, reason)?;
        Ok(Answer::Task(task.id.clone()))
    }

    pub(super) fn is_approved(&mut self, task: &Task, reason: Option<&String>) -> Ruling<()> {
        let body =
            Approved { commit: task.commit.clone(), round: task.round, notes: reason.cloned() };
        self.push(Some(&task.id), Event::Approved(body));
        self.step(task, Status::Approved, reason)?;
        self.join_queue(task);
        Ok(())
    }

    pub(super) fn request_changes(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.may_become(task, Status::ChangesRequested)?;
        self.require(Verb::RequestChanges)?;
        if task.status == Status::Review {
            self.review_is_free(task)?;
            self.not_own_work(task, "review")?;
        }
        let feedback = ReviewFeedback { status: Status::ChangesRequested, notes: reason.cloned() };
        self.push(Some(&task.id), Event::ReviewFeedback(feedback));
        let change = StatusChanged::new(task.status, Status::ChangesRequested, reason.cloned());
        self.push_step(task, change)?;
        let rounds = task.review_rounds + 1;
        if rounds >= self.policy.max_review_rounds {
            let next = self.facts.counters(&self.request.repo)?.decisions + 1;
            let wear = Wear {
                attempts: task.attempts,
                what: format!("{rounds} review rounds without approval"),
                log: reason.cloned(),
                of_run: false,
            };
            for event in exhausted(task, Status::ChangesRequested, &wear, DecisionId(next)) {
                self.push(Some(&task.id), event);
            }
        } else if task.assignee.as_ref().is_none_or(AgentId::is_elsewhere) {
            // Imported work has no author here who could go on with it: it is for anybody.
            let why = Some("nobody here worked on it".to_owned());
            let change = StatusChanged::new(Status::ChangesRequested, Status::Queued, why);
            self.push_step(task, change)?;
        }
        Ok(Answer::Task(task.id.clone()))
    }
}
