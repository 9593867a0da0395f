//! What the end of a run does to its task: its report is carried out, and what it still holds is let go.

use super::Rule;
use super::access::find_decision;
use super::runs::{Acting, holds};
use super::stop::{Wear, choice, exhausted};
use super::together::Ahead;
use crate::command::{Command, RunEnd, Submission, TaskVerb};
use crate::decision::{Addressee, DESIGN_ASKS_MAX, Decision, DecisionPurpose, DecisionState};
use crate::event::{DecisionAsked, Event, Note, RunProgressed, StatusChanged, TaskUpdated};
use crate::facts::Ruling;
use crate::ids::DecisionId;
use crate::run::{Run, RunState, Stage};
use crate::status::Status;
use crate::supervise::{HANDED_OVER, OBJECTIVE};
use crate::task::{CheckState, ChecklistItem, Deliverable, Task};
use serde_json::Value;

/// Where a task says which plan it is done by.
pub const PLAN_PATH: &str = "plan_path";
/// Longest reason that is passed on to a task, in characters.
const REASON_CHARS_MAX: usize = 500;

fn tail(why: Option<&str>) -> String {
    why.map(|why| format!(": {}", why.chars().take(REASON_CHARS_MAX).collect::<String>()))
        .unwrap_or_default()
}

impl Rule<'_> {
    /// Does what the report of a run asks for, in the name of the run.
    pub(super) fn follow_report(
        &mut self,
        ahead: &mut Ahead,
        acting: &Acting,
        run: &Run,
        end: &RunEnd,
    ) -> Ruling<()> {
        let said = |key: &str| end.said.get(key).and_then(Value::as_str);
        if run.stage == Stage::Plan
            && let Some(path) = said(PLAN_PATH)
        {
            let context = [(PLAN_PATH.to_owned(), path.into())].into_iter().collect();
            let body = TaskUpdated { context: Some(context), ..TaskUpdated::default() };
            self.push_ahead(ahead, Some(&run.task), Event::TaskUpdated(Box::new(body)));
        }
        if run.stage == Stage::Review && said("spec_compliance") == Some("PASS") {
            self.check_list(ahead, acting, run, end)?;
        }
        for step in &end.steps {
            self.as_run(ahead, acting, None, step.clone())?;
        }
        if said("recommendation") == Some("discard") && self.held_after(ahead, run)? {
            self.ask_to_discard(ahead, acting, run, said("reason"))?;
        }
        if run.stage == Stage::Scout && end.state == RunState::Succeeded {
            self.end_scouting(ahead, acting, run, said("summary"))?;
        }
        Ok(())
    }

    /// The branch of a run was pushed, or stays here: its task says so, and the task and the run name the pull request.
    pub(super) fn handed_over(&mut self, run: &Run, pr: Option<&String>, text: &str) {
        let context = [(HANDED_OVER.to_owned(), run.id.to_string().into())].into_iter().collect();
        let (context, pr) = (Some(context), pr.cloned());
        let body = TaskUpdated { pr: pr.clone(), context, ..TaskUpdated::default() };
        self.push(Some(&run.task), Event::TaskUpdated(Box::new(body)));
        let progress = RunProgressed {
            run: run.id,
            turn: run.turns,
            tokens: run.tokens,
            cost_usd: run.cost,
            cost_basis: run.cost_basis,
            head: None,
            session: None,
            pr,
        };
        self.push(Some(&run.task), Event::RunProgressed(Box::new(progress)));
        let note = Note { kind: "action".to_owned(), text: text.to_owned() };
        self.push(Some(&run.task), Event::Note(note));
    }

    /// Work that is approved and is what was asked for has met its checklist, as the reviewer claims.
    fn check_list(
        &mut self,
        ahead: &mut Ahead,
        acting: &Acting,
        run: &Run,
        end: &RunEnd,
    ) -> Ruling<()> {
        let approves =
            |step: &Command| matches!(step, Command::Move { verb: TaskVerb::Approve, .. });
        if !end.steps.iter().any(approves) {
            return Ok(());
        }
        let Some(task) = self.facts.task(&self.request.repo, &run.task)? else { return Ok(()) };
        let open = |item: &&ChecklistItem| item.state == CheckState::Open;
        for item in task.dod.iter().filter(open) {
            let (id, item) = (run.task.to_string(), item.text.clone());
            let reason = Some("the review found it met".to_owned());
            let check = Command::Check { id, item, waive: false, reason };
            self.as_run(ahead, acting, None, check)?;
        }
        Ok(())
    }

    /// Nobody discards work but a person.
    fn ask_to_discard(
        &mut self,
        ahead: &mut Ahead,
        acting: &Acting,
        run: &Run,
        why: Option<&str>,
    ) -> Ruling<()> {
        let id = DecisionId(ahead.facts().counters(&self.request.repo)?.decisions + 1);
        let question = format!("{} wants the work on {} discarded. Discard it?", run.id, run.task);
        let options = [
            ("yes", "Give the task up; the work is kept under a ref of its own"),
            ("no", "Let an agent go on with it"),
        ];
        let asked = DecisionAsked {
            to: Addressee::Person,
            rule: Some("branch.discard".to_owned()),
            ..choice(id, &question, why.map(str::to_owned), DecisionPurpose::Question, &options)
        };
        self.push_ahead(ahead, Some(&run.task), Event::DecisionAsked(Box::new(asked)));
        let block = Command::Block {
            id: run.task.to_string(),
            needs: Some(format!("an answer to {id}")),
            questions: vec![id.to_string()],
            retry_after: None,
            reason: None,
        };
        self.as_run(ahead, acting, None, block)?;
        Ok(())
    }

    /// A scout changes nothing: its task is done when its report is in. Elsewhere it lets go of the task.
    fn end_scouting(
        &mut self,
        ahead: &mut Ahead,
        acting: &Acting,
        run: &Run,
        summary: Option<&str>,
    ) -> Ruling<()> {
        let repo = self.request.repo.clone();
        let Some(task) = ahead.facts().task(&repo, &run.task)?.cloned() else { return Ok(()) };
        // Whoever looks after an objective says itself that it is reached.
        if task.context.get(OBJECTIVE) == Some(&Value::Bool(true)) {
            return Ok(());
        }
        if let (Some(asked), Some(summary)) = (task.context.get("answers"), summary) {
            let (id, answer) = (asked.as_str().unwrap_or_default().to_owned(), summary.to_owned());
            if find_decision(ahead.facts(), &repo, &id)?.state == DecisionState::Open {
                self.as_run(ahead, acting, None, Command::DecisionAnswer { id, answer })?;
            }
        }
        if !holds(run, &task) {
            return Ok(());
        }
        let id = run.task.to_string();
        if task.deliverable != Deliverable::None {
            let release = TaskVerb::Release.on(id, Some("the report is in".to_owned()));
            self.as_run(ahead, acting, None, release)?;
            return Ok(());
        }
        self.finish_unreviewed(ahead, acting, run, "the report of the scout is in")
    }

    /// Finishes a task that delivers nothing to look at.
    pub(super) fn finish_unreviewed(
        &mut self,
        ahead: &mut Ahead,
        acting: &Acting,
        run: &Run,
        why: &str,
    ) -> Ruling<()> {
        let repo = self.request.repo.clone();
        let submission = Submission { id: run.task.to_string(), ..Submission::default() };
        self.as_run(ahead, acting, None, Command::Submit(submission))?;
        for (from, to) in [(Status::Review, Status::Approved), (Status::Approved, Status::Done)] {
            let change = StatusChanged::new(from, to, Some(why.to_owned()));
            let Some(now) = ahead.facts().task(&repo, &run.task)?.cloned() else { break };
            for event in super::queue::with_consequence(ahead.facts(), &now, change, None)? {
                self.push_ahead(ahead, Some(&run.task), event);
            }
        }
        Ok(())
    }

    /// A failure of the work uses an attempt; whatever else ended the run does not.
    pub(super) fn let_go(
        &mut self,
        mut ahead: Ahead,
        acting: &Acting,
        run: &Run,
        end: &RunEnd,
    ) -> Ruling<()> {
        // The end itself is in the events by now; the task has not changed since.
        let attempt = end.error.as_ref().is_some_and(|error| error.kind.uses_attempt());
        let failed = end.state == RunState::Failed && attempt;
        let verb = if failed { TaskVerb::Fail } else { TaskVerb::Release };
        let said = end.error.as_ref().map(|error| format!("{}: {}", error.kind, error.message));
        let why = said.or_else(|| end.reason.clone());
        let reason = format!("{} {}{}", acting.id, end.state, tail(why.as_deref()));
        for draft in self.events.iter().skip(ahead.followed()) {
            ahead.follow(draft);
        }
        if end.state == RunState::Failed
            && let Some(block) = self.stopped_by_question(run, &reason)?
        {
            self.as_run(&mut ahead, acting, None, block)?;
            return Ok(());
        }
        if run.stage == Stage::Plan
            && end.state == RunState::Failed
            && let Some(task) = self.facts.task(&self.request.repo, &run.task)?
            && let proposals = self.designs(task)?
            && proposals.len() >= DESIGN_ASKS_MAX
        {
            return self.end_design(ahead, acting, task, &proposals, reason);
        }
        let command = verb.on(run.task.to_string(), Some(reason));
        self.as_run(&mut ahead, acting, None, command)?;
        Ok(())
    }

    /// A design that was turned down too often: a person sees all proposals and decides.
    fn end_design(
        &mut self,
        mut ahead: Ahead,
        acting: &Acting,
        task: &Task,
        proposals: &[&Decision],
        reason: String,
    ) -> Ruling<()> {
        let command = TaskVerb::Release.on(task.id.to_string(), Some(reason));
        self.as_run(&mut ahead, acting, None, command)?;
        let told = proposals.iter().map(|one| {
            let answer = one.answer.as_deref().unwrap_or("(no answer)");
            let text = one.text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            let context = one.context.as_deref().unwrap_or_default();
            format!("{} {}\n{context}\nAnswer: {answer}{text}", one.id, one.question)
        });
        let wear = Wear {
            attempts: task.attempts,
            what: format!("{} designs were not approved", proposals.len()),
            log: Some(told.collect::<Vec<_>>().join("\n\n")),
            of_run: true,
        };
        let id = DecisionId(ahead.facts().counters(&self.request.repo)?.decisions + 1);
        for mut event in exhausted(task, Status::Queued, &wear, id) {
            if let Event::DecisionAsked(asked) = &mut event {
                asked.to = Addressee::Person;
            }
            self.push_ahead(&mut ahead, Some(&task.id), event);
        }
        Ok(())
    }

    /// A run that ended while its question is open waits for the answer: its task is blocked on it.
    fn stopped_by_question(&self, run: &Run, reason: &str) -> Ruling<Option<Command>> {
        let repo = &self.request.repo;
        let Some(task) = self.facts.task(repo, &run.task)? else { return Ok(None) };
        let mut questions = Vec::new();
        for id in &task.decisions {
            let decision = self.facts.decision(repo, *id)?;
            let is_own =
                |one: &&Decision| one.state == DecisionState::Open && one.asked_by == run.identity;
            questions.extend(decision.filter(is_own).map(|one| one.id.to_string()));
        }
        let needs = match questions.as_slice() {
            [] => return Ok(None),
            all => Some(format!("an answer to {}", all.join(", "))),
        };
        let (id, reason) = (run.task.to_string(), Some(reason.to_owned()));
        Ok(Some(Command::Block { id, needs, questions, retry_after: None, reason }))
    }
}
