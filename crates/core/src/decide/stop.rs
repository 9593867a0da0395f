//! Stopping: blocked, failed, out of attempts.

use super::access::wrong_status;
use super::{Answer, Rule};
use crate::decision::{Addressee, DecisionOption, DecisionPurpose, DecisionState, DecisionType};
use crate::event::{DecisionAsked, Draft, ErrorReport, Event, StatusChanged};
use crate::facts::Ruling;
use crate::ids::DecisionId;
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use crate::run::run_of;
use crate::status::Status;
use crate::task::Task;
use crate::time::Millis;

impl<'a> Rule<'a> {
    /// The holder stops its own work; a planner, critic or integrator stops what is in their hands.
    fn require_stopper(&self, task: &Task, verb: Verb) -> Ruling<()> {
        if task.status.is_held() {
            self.require_worker(task, verb)?;
            return self.require_holder(task);
        }
        let own = task.assignee.as_ref() == Some(&self.request.actor)
            && task.status == Status::ChangesRequested;
        let in_charge = [(Status::Review, Role::Critic), (Status::Merging, Role::Integrator)];
        let in_charge = in_charge.iter().find(|(status, _)| *status == task.status);
        let in_charge = in_charge.map(|(_, role)| *role);
        let charged = in_charge.is_some_and(|role| self.roles.contains(&role));
        if own || charged || self.roles.contains(&Role::Planner) || self.is_person() {
            return self.require(verb);
        }
        self.require(verb)?;
        if task.status == Status::ChangesRequested {
            return self.require_holder(task);
        }
        let wanted: Vec<&str> =
            in_charge.into_iter().chain([Role::Planner]).map(Role::as_str).collect();
        let roles: Vec<&str> = self.roles.iter().map(|role| role.as_str()).collect();
        let (actor, id, status) = (&self.request.actor, &task.id, task.status);
        let message = format!(
            "{actor} may not {verb} {id}: it is {status}, and this needs a person or the role {}",
            wanted.join(" or ")
        );
        Err(Refusal::new(Code::RoleForbidden, message)
            .hint("ask the holder of the task; if nobody holds it, ask a planner or a person")
            .detail("verb", verb.as_str())
            .detail("roles", roles)
            .detail("wanted", wanted)
            .into())
    }

    pub(super) fn block(
        &mut self,
        id: &str,
        needs: Option<&String>,
        questions: &[String],
        retry_after: Option<Millis>,
        reason: Option<&String>,
    ) -> Ruling<Answer> {
        let about = needs.map(|needs| needs.trim().to_owned());
        let ask = |question| Asked { question, about: about.clone() };
        let asked: Vec<Asked<'_>> = questions.iter().map(String::as_str).map(ask).collect();
        self.stop(id, needs, &asked, retry_after, reason)
    }

    /// Blocks a task with questions, each with what one must know to answer it.
    pub(super) fn stop(
        &mut self,
        id: &str,
        needs: Option<&String>,
        asked: &[Asked<'_>],
        retry_after: Option<Millis>,
        reason: Option<&String>,
    ) -> Ruling<Answer> {
        let task = self.held_task(id)?;
        self.may_become(task, Status::Blocked)?;
        self.require_stopper(task, Verb::Block)?;
        let needs = needs.map(|text| text.trim()).filter(|text| !text.is_empty());
        let Some(needs) = needs else {
            let message = format!("{} cannot be blocked without saying what it needs", task.id);
            return Err(Refusal::new(Code::NeedsMissing, message).into());
        };
        if !asked.is_empty() {
            self.list_bound("decisions", task.decisions.len() + asked.len())?;
        }
        let mut change = StatusChanged::new(task.status, Status::Blocked, reason.cloned());
        change.needs = Some(needs.to_owned());
        change.retry_at = retry_after.map(|wait| self.now().plus(wait));
        let mut next = self.facts.counters(&self.request.repo)?.decisions;
        for Asked { question, about } in asked {
            if let Some(open) = self.open_question(task, question)? {
                change.questions.push(open);
                continue;
            }
            next += 1;
            change.questions.push(DecisionId(next));
            let body = DecisionAsked::free(DecisionId(next), question, about.clone());
            self.push(Some(&task.id), Event::DecisionAsked(Box::new(body)));
        }
        self.end_claim_and_step(task, change)?;
        Ok(Answer::Task(task.id.clone()))
    }

    /// The id of an open question of the task stands for that question.
    fn open_question(&self, task: &Task, text: &str) -> Ruling<Option<DecisionId>> {
        let Some(id) = DecisionId::parse(text).filter(|id| task.decisions.contains(id)) else {
            return Ok(None);
        };
        let decision = self.facts.decision(&task.repo, id)?;
        Ok(decision.filter(|decision| decision.state == DecisionState::Open).map(|one| one.id))
    }

    pub(super) fn unblock(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let task = self.task(id)?;
        if task.status != Status::Blocked {
            return Err(wrong_status(task, ", not blocked").into());
        }
        self.require(Verb::Unblock)?;
        self.check_reset(task)?;
        self.waits_for_nothing_abandoned(task)?;
        let why = reason.cloned().or_else(|| Some("unblocked".to_owned()));
        let mut change = StatusChanged::new(task.status, Status::Queued, why);
        change.prefers = task.assignee.clone();
        change.resets_attempts = self.resets(task);
        self.push_step(task, change)?;
        Ok(Answer::Task(task.id.clone()))
    }

    /// Whether putting the task back counts as the answer that gives it new attempts.
    pub(super) fn resets(&self, task: &Task) -> bool {
        self.is_worn_out(task) && (self.is_person() || self.roles.contains(&Role::Planner))
    }

    fn is_worn_out(&self, task: &Task) -> bool {
        task.attempts >= self.policy.max_attempts
            || task.review_rounds >= self.policy.max_review_rounds
    }

    /// Only a person or a planner gives a worn-out task new attempts.
    pub(super) fn check_reset(&self, task: &Task) -> Ruling<()> {
        if self.resets(task) || !self.is_worn_out(task) {
            return Ok(());
        }
        self.check_attempts(task)?;
        let message =
            format!("{} has used all its {} review rounds", task.id, self.policy.max_review_rounds);
        Err(Refusal::new(Code::AttemptsExhausted, message)
            .detail("review_rounds", task.review_rounds)
            .into())
    }

    /// Ends an attempt; the report of the last one has the log, where there is more of it than the reason.
    pub(super) fn fail(
        &mut self,
        id: &str,
        reason: Option<&str>,
        log: Option<String>,
    ) -> Ruling<Answer> {
        let task = self.held_task(id)?;
        self.may_become(task, Status::Failed)?;
        self.require_stopper(task, Verb::Fail)?;
        let why = reason.unwrap_or("failed").to_owned();
        let mut change = StatusChanged::new(task.status, Status::Failed, Some(why.clone()));
        change.uses_attempt = task.status.is_held();
        let attempts = task.attempts + u32::from(change.uses_attempt);
        let of_run = task.claim.as_ref().is_some_and(|claim| run_of(&claim.agent).is_some());
        self.end_claim_and_step(task, change)?;
        if attempts >= self.policy.max_attempts {
            let next = self.facts.counters(&self.request.repo)?.decisions + 1;
            let wear = Wear {
                attempts,
                what: format!("{attempts} attempts failed"),
                log: Some(log.unwrap_or(why)),
                of_run,
            };
            for event in exhausted(task, Status::Failed, &wear, DecisionId(next)) {
                self.push(Some(&task.id), event);
            }
        }
        Ok(Answer::Task(task.id.clone()))
    }
}

/// One question of a task that stops.
pub(super) struct Asked<'c> {
    pub(super) question: &'c str,
    /// What a reader must know to answer.
    pub(super) about: Option<String>,
}

/// How a task was worn out.
pub(super) struct Wear {
    pub(super) attempts: u32,
    pub(super) what: String,
    pub(super) log: Option<String>,
    /// Runs of agents wore it out: another one may begin anew.
    pub(super) of_run: bool,
}

/// A task that gives up trying: an error report, a decision for a planner, and blocked.
pub(super) fn exhausted(
    task: &Task,
    from: Status,
    wear: &Wear,
    decision: DecisionId,
) -> Vec<Event> {
    let other = if wear.of_run {
        ("fresh", "Start over without what the last run left behind")
    } else {
        ("split", "Break it into smaller tasks")
    };
    let report = ErrorReport {
        status: Status::Blocked,
        reason: wear.what.clone(),
        error_log: wear.log.clone(),
        attempts: wear.attempts,
        request: format!("Decide what to do with {}: retry, {} or abandon.", task.id, other.0),
    };
    let asked = choice(
        decision,
        &format!("{}: {}. What now?", task.id, wear.what),
        wear.log.clone(),
        DecisionPurpose::Exhausted,
        &[("retry", "Start over with fresh attempts"), other, ("abandon", "Give it up")],
    );
    let mut change = StatusChanged::new(from, Status::Blocked, Some(wear.what.clone()));
    change.needs = Some(format!("an answer to {decision}: retry, {} or abandon", other.0));
    vec![Event::Error(report), Event::DecisionAsked(Box::new(asked)), Event::StatusChanged(change)]
}

/// A question with fixed options to a planner.
pub(super) fn choice(
    decision: DecisionId,
    question: &str,
    context: Option<String>,
    purpose: DecisionPurpose,
    options: &[(&str, &str)],
) -> DecisionAsked {
    let option = |(key, label): &(&str, &str)| DecisionOption {
        key: (*key).to_owned(),
        label: Some((*label).to_owned()),
        description: None,
    };
    DecisionAsked {
        kind: DecisionType::Choice,
        options: options.iter().map(option).collect(),
        to: Addressee::Planner,
        purpose,
        ..DecisionAsked::free(decision, question, context)
    }
}

/// Wraps events of the watchdog.
pub(super) fn by_watchdog(task: &Task, event: Event) -> Draft {
    Draft::by_watchdog(task.repo.clone(), Some(task.id.clone()), event)
}
