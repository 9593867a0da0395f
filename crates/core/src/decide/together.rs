//! Commands made of commands: each step sees what those before it did, and all are done or none.

use super::{Answer, Rule};
use crate::command::{Command, Question, Request, Submission, TaskAnswers, TaskVerb, WorkReport};
use crate::decision::{Decision, DecisionPurpose, DecisionState, DecisionType};
use crate::event::Draft;
use crate::facts::{Facts, Ruling};
use crate::hint::{op, say};
use crate::ids::{AgentId, DecisionId, Fence, TaskId};
use crate::observed::Observed;
use crate::refusal::{Code, Refusal};
use crate::role::Role;
use crate::status::Status;
use crate::task::Task;
use crate::via::Via;

/// A copy of the facts in which the steps so far have happened.
pub(super) struct Ahead {
    facts: Facts,
    /// How many events of the command have happened in it.
    followed: usize,
}

impl Ahead {
    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(super) fn followed(&self) -> usize {
        self.followed
    }

    pub(super) fn follow(&mut self, draft: &Draft) {
        self.facts.apply(draft.clone());
        self.followed += 1;
    }
}

impl Rule<'_> {
    /// Begins a command that is made of several.
    pub(super) fn ahead(&self) -> Ahead {
        let mut ahead = Ahead { facts: self.facts.clone(), followed: 0 };
        self.events.iter().for_each(|draft| ahead.follow(draft));
        ahead
    }

    /// Does one of several steps.
    pub(super) fn in_turn(&mut self, ahead: &mut Ahead, command: Command) -> Ruling<Answer> {
        self.in_turn_seen(ahead, command, self.request.observed.clone())
    }

    /// Does one of several steps in the name of another, who acts in a session of its own.
    pub(super) fn in_turn_as(
        &mut self,
        ahead: &mut Ahead,
        actor: &AgentId,
        via: &Via,
        fence: Option<Fence>,
        command: Command,
    ) -> Ruling<Answer> {
        let roles = ahead.facts.agent(actor)?.map(|agent| agent.roles.clone());
        let (actor, via) = (actor.clone(), via.clone());
        // It works somewhere else than whoever speaks for it.
        let request =
            Request { command, actor, via, fence, workspace: None, ..self.request.clone() };
        let request = self.in_its_turn(ahead, request)?;
        self.step_of(ahead, &request, roles.unwrap_or_default())
    }

    fn in_turn_seen(
        &mut self,
        ahead: &mut Ahead,
        command: Command,
        observed: Observed,
    ) -> Ruling<Answer> {
        let request = Request { command, observed, ..self.request.clone() };
        let request = self.in_its_turn(ahead, request)?;
        self.step_of(ahead, &request, self.roles.clone())
    }

    fn step_of(
        &mut self,
        ahead: &mut Ahead,
        request: &Request,
        roles: Vec<Role>,
    ) -> Ruling<Answer> {
        let judging = self.policy.checked_by(&request.observed);
        let mut rule = Rule {
            facts: &ahead.facts,
            request,
            policy: &judging,
            events: Vec::new(),
            roles,
            owner: self.owner,
            since: self.since,
            listed: self.listed,
        };
        let answer = rule.dispatch(&request.command)?;
        for draft in rule.events {
            ahead.follow(&draft);
            self.events.push(draft);
        }
        Ok(answer)
    }

    /// What was seen before the first step is seen of the task that the steps before this one left.
    fn in_its_turn(&self, ahead: &Ahead, mut request: Request) -> Ruling<Request> {
        let named = request
            .command
            .task_ref()
            .and_then(|text| TaskId::parse(text).ok().or_else(|| TaskId::numbered(text)));
        let Some(id) = named else { return Ok(request) };
        let repo = &self.request.repo;
        let version = |task: Option<&Task>| task.map_or(0, |task| task.version);
        let before = version(self.facts.task(repo, &id)?);
        let steps = version(ahead.facts.task(repo, &id)?).saturating_sub(before);
        if let Some(work) = &mut request.observed.work {
            work.task_version += steps;
        }
        if let Some(merge) = &mut request.observed.merge {
            merge.task_version += steps;
        }
        Ok(request)
    }

    /// Changes tasks in several ways. What was seen of each step counts for that step.
    pub(super) fn several(&mut self, ids: &[String], steps: &[Command]) -> Ruling<Answer> {
        let mut found: Vec<TaskId> = Vec::new();
        for id in ids {
            let id = self.task(id)?.id.clone();
            if found.contains(&id) {
                return Err(Refusal::input(format!("{id} is named twice")).into());
            }
            found.push(id);
        }
        let mut ahead = self.ahead();
        let mut handed_in = None;
        let all = &self.request.observed;
        let seen_of = |number| all.steps.get(number).unwrap_or(all).clone();
        for (number, step) in steps.iter().enumerate() {
            let done = self.in_turn_seen(&mut ahead, step.clone(), seen_of(number))?;
            if matches!(done, Answer::HandedIn(..)) {
                handed_in = Some(done);
            }
        }
        Ok(match (found.as_slice(), handed_in) {
            ([_], Some(handed_in)) => handed_in,
            ([id], None) => Answer::Task(id.clone()),
            _ => Answer::Tasks(found),
        })
    }

    /// Finishes work that comity merged, by the rules of `merge` and `done`. A fence that comes with it must be live.
    pub(super) fn land(
        &mut self,
        id: &str,
        merged: &str,
        reason: Option<&String>,
    ) -> Ruling<Answer> {
        let task = self.held_task(id)?;
        let id = task.id.to_string();
        let mut ahead = self.ahead();
        if task.status != Status::Merging {
            self.in_turn(&mut ahead, TaskVerb::Merge.on(&id, reason.cloned()))?;
        }
        let (merged, reason) = (Some(merged.to_owned()), reason.cloned());
        self.in_turn(&mut ahead, Command::Done { id, merged, unmerged: false, reason })
    }

    /// Answers several questions of one task.
    pub(super) fn answer_task(&mut self, given: &TaskAnswers) -> Ruling<Answer> {
        let task = self.task(&given.id)?;
        let id = task.id.clone();
        if given.answers.is_empty() {
            return Err(if task.status == Status::Blocked {
                Refusal::input(format!("the answer fits no open question of {id}"))
            } else {
                Refusal::new(Code::InvalidTransition, format!("{id} does not wait for an answer"))
                    .hint(say("see ").quote(op("task.why").ask("id", "ID")))
            }
            .into());
        }
        let mut ahead = self.ahead();
        for answer in &given.answers {
            let decision = self.decision(&answer.decision)?;
            if decision.task.as_ref() != Some(&id) {
                let message = format!("{} is not a question of {id}", decision.id);
                return Err(Refusal::input(message).into());
            }
            let command = Command::DecisionAnswer {
                id: answer.decision.clone(),
                answer: answer.answer.clone(),
            };
            self.in_turn(&mut ahead, command)?;
        }
        if let Some(text) = &given.notes {
            let (kind, task) = ("decision".to_owned(), Some(id.to_string()));
            self.in_turn(&mut ahead, Command::Note { kind, text: text.clone(), task })?;
        }
        Ok(Answer::Task(id))
    }

    /// Hands completed work in, with what its result claims about gates before it.
    pub(super) fn hand_in(
        &mut self,
        task: &Task,
        submission: &Submission,
        report: &WorkReport,
    ) -> Ruling<Answer> {
        if report.pr.is_none() && report.evidence.is_empty() {
            return self.submit(submission);
        }
        let seen = self.request.observed.work.as_ref().map(|work| work.commit.clone());
        let mut ahead = self.ahead();
        for evidence in &report.evidence {
            let record = Command::GateRecord {
                id: task.id.to_string(),
                gate: evidence.gate.clone(),
                pass: evidence.pass,
                report: evidence.report.clone(),
                commit: seen.clone().or_else(|| submission.commit.clone()),
                // A report is kept as it was written.
                new: true,
            };
            self.in_turn(&mut ahead, record)?;
        }
        let now = ahead.facts.task(&self.request.repo, &task.id)?.map(|task| task.status);
        // One failure too many has stopped the task; there is nothing to hand in.
        if task.status != Status::Blocked && now == Some(Status::Blocked) {
            return Ok(Answer::Task(task.id.clone()));
        }
        let submission = Submission {
            pr: submission.pr.clone().or_else(|| report.pr.clone()),
            report: None,
            ..submission.clone()
        };
        self.in_turn(&mut ahead, Command::Submit(submission))
    }

    /// A person says what to do with a task that is stuck, and it goes on.
    pub(super) fn intervene(&mut self, id: &str, feedback: &str) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.require_person("intervene")?;
        if task.status.is_finished() {
            let message = format!("{} is {} and cannot take feedback", task.id, task.status);
            return Err(Refusal::new(Code::InvalidTransition, message)
                .hint(
                    say("reopen it first: ")
                        .call(op("task.reopen").ask("id", "ID").ask("reason", "TEXT")),
                )
                .into());
        }
        let asked = self.asked_of(&task.id, &task.decisions)?;
        let mut ahead = self.ahead();
        for (id, purpose) in &asked {
            let answer = match purpose {
                DecisionPurpose::Question | DecisionPurpose::Budget => feedback.to_owned(),
                DecisionPurpose::Exhausted => format!("retry: {feedback}"),
                DecisionPurpose::Grace => format!("requeue: {feedback}"),
            };
            let id = id.to_string();
            self.in_turn(&mut ahead, Command::DecisionAnswer { id, answer })?;
        }
        if asked.is_empty() {
            self.say(&mut ahead, &task.id, feedback)?;
        }
        let id = task.id.to_string();
        let reason = Some(format!("a person looked at it: {}", crate::ids::shorten(feedback)));
        let now = ahead.facts.task(&self.request.repo, &task.id)?.map(|task| task.status);
        match now {
            Some(Status::Blocked) => {
                self.in_turn(&mut ahead, TaskVerb::Unblock.on(id, reason))?;
            }
            Some(Status::Failed) => {
                self.in_turn(&mut ahead, TaskVerb::Requeue.on(id, reason))?;
            }
            _ => {}
        }
        Ok(Answer::Task(task.id.clone()))
    }

    /// The open questions of a task whose answer can be a free text or says that it goes on.
    fn asked_of(
        &self,
        task: &TaskId,
        decisions: &[DecisionId],
    ) -> Ruling<Vec<(DecisionId, DecisionPurpose)>> {
        let mut asked = Vec::new();
        for id in decisions {
            let decision = self.facts.decision(&self.request.repo, *id)?;
            let fits = |decision: &&Decision| {
                let free = decision.kind == DecisionType::Free;
                decision.state == DecisionState::Open
                    && decision.task.as_ref() == Some(task)
                    && (free || decision.purpose != DecisionPurpose::Question)
            };
            asked.extend(decision.filter(fits).map(|decision| (decision.id, decision.purpose)));
        }
        Ok(asked)
    }

    /// What a person says unasked is kept as a question with its answer, so that the next mission has it.
    fn say(&mut self, ahead: &mut Ahead, task: &TaskId, feedback: &str) -> Ruling<()> {
        let question = Question {
            question: format!("What does a person say about {task}?"),
            task: Some(task.to_string()),
            options: Vec::new(),
            kind: Some(DecisionType::Free),
            context: None,
            default: None,
            to: None,
            expires: None,
            proposes: None,
        };
        let asked = self.in_turn(ahead, Command::DecisionAsk(Box::new(question)))?;
        if let Answer::Decision(id) = asked {
            let (id, answer) = (id.to_string(), feedback.to_owned());
            self.in_turn(ahead, Command::DecisionAnswer { id, answer })?;
        }
        Ok(())
    }
}
