//! Questions: asking, answering, and what an answer sets in motion.

use super::{Answer, Rule};
use crate::command::{NewTask, Question};
use crate::decision::{
    APPROVAL_KEYS, Addressee, DESIGN_ASKS_MAX, DESIGN_QUESTION, Decision, DecisionOption,
    DecisionPurpose, DecisionState, DecisionType, PROPOSAL_KEY, read_answer,
};
use crate::event::{DecisionAnswered, DecisionAsked, Draft, Event, RunResumed, StatusChanged};
use crate::facts::{Facts, Ruling};
use crate::hint::say;
use crate::ids::{AgentId, DecisionId, TaskId};
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::run::{RunState, run_of};
use crate::status::Status;
use crate::task::Task;
use crate::via::Via;

impl<'a> Rule<'a> {
    pub(super) fn ask(&mut self, question: &Question) -> Ruling<Answer> {
        let kind = question.kind.unwrap_or(if question.options.is_empty() {
            DecisionType::Free
        } else {
            DecisionType::Choice
        });
        let options = options_for(kind, &question.options)?;
        if let Some(default) = &question.default {
            read_answer(kind, &options, default).map_err(|refusal| {
                Refusal::input(format!("the default answer is not valid: {}", refusal.message))
                    .hint(refusal.next_step())
            })?;
        }
        let run = self.acting_run()?;
        // Whoever asks in a run asks about the task of the run.
        let named = question.task.clone().or_else(|| run.map(|run| run.task.to_string()));
        let task = named.as_ref().map(|text| self.task(text)).transpose()?;
        self.require(Verb::Ask)?;
        if let (Some(task), Some(_)) = (task, run)
            && question.question.trim_start().starts_with(DESIGN_QUESTION)
        {
            self.design_may_be_asked(task)?;
        }
        if let Some(task) = task {
            self.list_bound("decisions", task.decisions.len() + 1)?;
        }
        let id = DecisionId(self.facts.counters(&self.request.repo)?.decisions + 1);
        let asked = DecisionAsked {
            kind,
            options,
            default: question.default.clone(),
            to: question.to.clone().unwrap_or(match run {
                Some(_) => Addressee::Planner,
                None => Addressee::Person,
            }),
            expires_at: question.expires.map(|wait| self.now().plus(wait)),
            proposes: question.proposes.clone(),
            ..DecisionAsked::free(id, &question.question, question.context.clone())
        };
        self.push(task.map(|task| &task.id), Event::DecisionAsked(Box::new(asked)));
        Ok(Answer::Decision(id))
    }

    pub(super) fn answer(&mut self, id: &str, answer: &str) -> Ruling<Answer> {
        let decision = self.decision(id)?;
        if decision.state != DecisionState::Open {
            return Err(already_answered(decision).into());
        }
        self.may_answer(decision)?;
        let (key, text) = decision.read_answer(answer)?;
        let body = DecisionAnswered {
            decision: decision.id,
            answer: key.clone(),
            text,
            state: DecisionState::Answered,
        };
        let said = body.text.clone();
        self.push(decision.task.as_ref(), Event::DecisionAnswered(body));
        let resumed = woken(self.facts, decision, &self.request.actor)?;
        resumed.into_iter().for_each(|draft| self.append(draft));
        let made = if key == PROPOSAL_KEY { self.make_proposed(decision)? } else { None };
        if decision.purpose == DecisionPurpose::Budget {
            self.follow_budget_answer(decision, &key, said.as_deref())?;
        }
        self.follow_answer(decision, &key)?;
        Ok(Answer::Answered(decision.id, made))
    }

    /// Makes the task that a question proposes; the task names the question.
    fn make_proposed(&mut self, decision: &Decision) -> Ruling<Option<TaskId>> {
        let Some(proposed) = &decision.proposes else { return Ok(None) };
        let named = [
            Some(("decision".to_owned(), decision.id.to_string().into())),
            proposed.effort.clone().map(|effort| ("effort".to_owned(), effort.into())),
        ];
        let new = NewTask {
            title: proposed.title.clone(),
            description: proposed.description.clone(),
            priority: proposed.priority,
            context: named.into_iter().flatten().collect(),
            ..NewTask::default()
        };
        let (id, _) = self.make_task(&new, Verb::Assign, false)?;
        Ok(Some(id))
    }

    /// A design is asked about twice. After that, a person decides how the task goes on.
    fn design_may_be_asked(&self, task: &Task) -> Ruling<()> {
        let asked = self.designs(task)?.len();
        if asked < DESIGN_ASKS_MAX {
            return Ok(());
        }
        let message = format!("the design of {} was asked about {asked} times", task.id);
        Err(Refusal::new(Code::GateCycles, message)
            .detail("count", asked)
            .detail("limit", DESIGN_ASKS_MAX)
            .into())
    }

    /// Returns the questions about the design of a task since a person last gave it a new start.
    pub(super) fn designs(&self, task: &Task) -> Ruling<Vec<&'a Decision>> {
        let mut found = Vec::new();
        for id in task.decisions.iter().rev() {
            let Some(decision) = self.facts.decision(&task.repo, *id)? else { continue };
            if decision.purpose == DecisionPurpose::Exhausted {
                break;
            }
            if decision.is_design() {
                found.push(decision);
            }
        }
        found.reverse();
        Ok(found)
    }

    /// The addressee or a person answers; the asker does not, unless a person.
    fn may_answer(&self, decision: &Decision) -> Ruling<()> {
        self.outside_allows(Verb::AnswerForPlanner)?;
        if self.is_person() {
            return Ok(());
        }
        let actor = &self.request.actor;
        let refuse = |code: Code, message: String| -> Ruling<()> {
            Err(Refusal::new(code, message)
                .hint("let the addressee or a person answer it")
                .detail("to", decision.to.as_str())
                .into())
        };
        // What comity asks about a worn-out task is nobody's own question, whoever wore it out.
        if decision.asked_by == *actor && decision.purpose == DecisionPurpose::Question {
            return refuse(
                Code::RoleForbidden,
                format!("{actor} asked {} and may not answer it", decision.id),
            );
        }
        match &decision.to {
            Addressee::Person => {
                refuse(Code::HumanOnly, format!("{} is addressed to a person", decision.id))
            }
            Addressee::Planner if self.may(Verb::AnswerForPlanner) => Ok(()),
            Addressee::Planner => {
                refuse(Code::RoleForbidden, format!("{} is addressed to a planner", decision.id))
            }
            // A question to `scout` is one to any run of that agent.
            Addressee::Agent(agent) if agent == actor || is_run_of(actor, agent) => Ok(()),
            Addressee::Agent(agent) => {
                refuse(Code::NotHolder, format!("{} is addressed to {agent}", decision.id))
            }
        }
    }

    fn follow_answer(&mut self, decision: &Decision, key: &str) -> Ruling<()> {
        let Some(id) = &decision.task else { return Ok(()) };
        let Some(task) = self.facts.task(&self.request.repo, id)? else { return Ok(()) };
        // A question about an earlier block must not end a later one.
        if task.block.as_ref().is_none_or(|block| block.since > decision.created_at) {
            return Ok(());
        }
        match (decision.purpose, key) {
            (DecisionPurpose::Question, _) => {
                let actor = self.request.actor.clone();
                let resumed = resume_after(self.facts, task, &[decision.id], &actor)?;
                resumed.into_iter().for_each(|draft| self.append(draft));
                Ok(())
            }
            (_, "retry" | "requeue" | "fresh") => {
                let mut change = StatusChanged::new(
                    Status::Blocked,
                    Status::Queued,
                    Some(format!("{}: {key}", decision.id)),
                );
                change.resets_attempts =
                    decision.purpose == DecisionPurpose::Exhausted || self.resets(task);
                change.prefers = task.assignee.clone();
                self.push_step(task, change)?;
                Ok(())
            }
            (_, "abandon") => self.abandon_task(task, Some(format!("{}: {key}", decision.id))),
            // Splitting is the planner's own work; the task waits for it.
            _ => Ok(()),
        }
    }
}

fn is_run_of(actor: &AgentId, agent: &AgentId) -> bool {
    run_of(actor).is_some()
        && actor.as_str().rsplit_once(':').is_some_and(|(name, _)| name == agent.as_str())
}

/// A run that waits for an answer goes on when the question is settled.
pub(super) fn woken(facts: &Facts, decision: &Decision, by: &AgentId) -> Ruling<Option<Draft>> {
    let Some(id) = run_of(&decision.asked_by) else { return Ok(None) };
    let run = facts.run(&decision.repo, id)?;
    let Some(run) =
        run.filter(|run| run.state == RunState::Waiting && run.waiting_on == Some(decision.id))
    else {
        return Ok(None);
    };
    Ok(Some(Draft {
        repo: decision.repo.clone(),
        agent: by.clone(),
        task: Some(run.task.clone()),
        event: Event::RunResumed(RunResumed { run: run.id, by: by.clone(), fresh: false }),
        via: Via::default(),
    }))
}

/// When the last question of a blocked task is answered, the task goes on. `answered` are those whose
/// answers are not yet in the facts.
pub(super) fn resume_after(
    facts: &Facts,
    task: &Task,
    answered: &[DecisionId],
    actor: &AgentId,
) -> Ruling<Vec<Draft>> {
    let Some(block) = &task.block else { return Ok(Vec::new()) };
    if !answered.iter().any(|id| block.questions.contains(id)) {
        return Ok(Vec::new());
    }
    for question in &block.questions {
        let decision = facts.decision(&task.repo, *question)?;
        let settled = decision.is_none_or(|decision| {
            matches!(decision.state, DecisionState::Answered | DecisionState::Defaulted)
        });
        if !answered.contains(question) && !settled {
            return Ok(Vec::new());
        }
    }
    let why = Some("every question is answered".to_owned());
    let mut change = StatusChanged::new(Status::Blocked, Status::Queued, why);
    change.prefers = task.assignee.clone();
    let events = super::queue::with_consequence(facts, task, change, None)?;
    let draft = |event| Draft {
        repo: task.repo.clone(),
        agent: actor.clone(),
        task: Some(task.id.clone()),
        event,
        via: Via::default(),
    };
    Ok(events.into_iter().map(draft).collect())
}

fn options_for(
    kind: DecisionType,
    given: &[DecisionOption],
) -> Result<Vec<DecisionOption>, Refusal> {
    let plain =
        |key: &&str| DecisionOption { key: (*key).to_owned(), label: None, description: None };
    match kind {
        DecisionType::Choice if given.is_empty() => Err(Refusal::input("a choice needs options")
            .hint(say("give ").ask("option", "KEY:LABEL").say(" at least once"))),
        DecisionType::Choice => Ok(given.to_vec()),
        DecisionType::Approval if given.is_empty() => Ok(APPROVAL_KEYS.iter().map(plain).collect()),
        DecisionType::Approval => Err(Refusal::input("an approval has fixed options").hint(
            say("leave ")
                .mention("option")
                .say(format!(" out; the keys are {}", APPROVAL_KEYS.join(", "))),
        )),
        DecisionType::Free if given.is_empty() => Ok(Vec::new()),
        DecisionType::Free => Err(Refusal::input("a free question has no options")
            .hint(say("leave ").mention("type").say(" out to make it a choice"))),
    }
}

fn already_answered(decision: &Decision) -> Refusal {
    let message = match (&decision.answer, &decision.answered_by) {
        (Some(answer), Some(by)) => {
            format!("{} was answered by {by}: {}", decision.id, crate::ids::shorten(answer))
        }
        _ => format!("{} is {}", decision.id, decision.state.as_str()),
    };
    Refusal::new(Code::AlreadyAnswered, message)
        .detail("state", decision.state.as_str())
        .detail("answer", decision.answer.clone())
}
