//! `comity supervise --objective`: a focused supervisor is started, and started again when it was answered or broke, until
//! its objective is reached or given up.

use super::fleet::{INTERRUPTED, LOOK};
use crate::args::SuperviseArgs;
use crate::human;
use crate::output::{self, Reply};
use comity_api::{ById, DecisionFilter, RunAnswer, op};
use comity_core::budget::Per;
use comity_core::command::{NewBudget, NewTask};
use comity_core::hint::{op as operation, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::run::RunState;
use comity_core::status::Status;
use comity_core::supervise::OBJECTIVE;
use comity_core::task::Deliverable;
use comity_core::view::{RunView, TaskView};
use comity_engine::Service;
use comity_fleet::{Asked, FOCUSED, start};
use comity_project::Context;
use comity_project::store::Access;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// Longest title that is made of an objective, in characters.
const TITLE_CHARS_MAX: usize = 100;

pub(super) fn run(
    context: &Context,
    objective: &str,
    args: &SuperviseArgs,
    json: bool,
) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let caller = context.caller();
    let title = objective.trim().lines().next().unwrap_or_default();
    let new = NewTask {
        title: title.chars().take(TITLE_CHARS_MAX).collect(),
        description: objective.to_owned(),
        dod: args.criterion.clone(),
        deliverable: Deliverable::None,
        context: [(OBJECTIVE.to_owned(), Value::Bool(true))].into_iter().collect(),
        ..NewTask::default()
    };
    let task = service.call::<op::TaskCreate>(&caller, new)?.task.id;
    if args.budget.is_some() {
        let (scope, usd) = (format!("task:{task}"), args.budget);
        let budget = NewBudget { scope, per: Per::Total, usd, runs: None };
        service.call::<op::BudgetSet>(&caller, budget)?;
    }
    Focus { context, service, task, driver: args.driver.clone(), json }.bring_to_its_end()
}

struct Focus<'a> {
    context: &'a Context,
    service: Service,
    task: String,
    driver: Option<String>,
    json: bool,
}

impl Focus<'_> {
    fn bring_to_its_end(&self) -> Result<Reply, Refusal> {
        let stop = crate::env::stop_flag()?;
        let mut last = self.start(None)?;
        let mut asked = None;
        loop {
            let id = last.id.clone().unwrap_or_default();
            last = self.service.call::<op::RunShow>(&self.context.caller(), ById { id })?.run;
            let task = self.task()?;
            match task.status {
                Status::Done => return Ok(reached(last)),
                Status::Abandoned => return Ok(given_up(last, &task)),
                Status::Blocked if asked.as_ref() != Some(&task.version) => {
                    asked = Some(task.version);
                    self.tell_block(&task);
                }
                Status::Queued | Status::Failed if !last.state.is_live() => {
                    last = self.start(Some(&last))?;
                }
                _ => {}
            }
            if stop.load(Ordering::Relaxed) {
                let id = last.id.as_deref().unwrap_or_default();
                let note = match last.state.is_live() {
                    true => format!("{id} goes on; stop it with `comity run stop {id}`"),
                    false => format!("nobody looks after {} now", self.task),
                };
                let answer = RunAnswer { run: last };
                return Ok(Reply::new(answer, human::fleet::line).note(note).exit(INTERRUPTED));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn task(&self) -> Result<TaskView, Refusal> {
        let id = ById { id: self.task.clone() };
        Ok(self.service.call::<op::TaskShow>(&self.context.caller(), id)?.task)
    }

    /// Starts the focused supervisor: anew after an answer, else where it broke.
    fn start(&self, last: Option<&RunView>) -> Result<RunView, Refusal> {
        let broke = last.filter(|last| matches!(last.state, RunState::Failed | RunState::Lost));
        let asked = Asked {
            agent: FOCUSED.to_owned(),
            task: Some(self.task.clone()),
            driver: self.driver.clone(),
            prompt: self.answers()?,
            resumed_from: broke.and_then(|last| last.id.clone()),
            ..Asked::default()
        };
        let (caller, program) = (self.context.caller(), crate::env::program()?);
        let run = start(self.context, &self.service, &caller, &program, &asked)?.run;
        if self.json {
            drop(output::line(&RunAnswer { run: run.clone() }));
        } else {
            let id = run.id.as_deref().unwrap_or_default();
            output::remark(&format!("{id} looks after {}; press Ctrl-C to leave", self.task));
        }
        Ok(run)
    }

    /// Returns what was answered so far, as words for the one that goes on.
    fn answers(&self) -> Result<Option<String>, Refusal> {
        let filter = DecisionFilter { all: true, ..DecisionFilter::default() };
        let page = self.service.call::<op::DecisionList>(&self.context.caller(), filter)?;
        let own = page.decisions.iter().filter(|one| one.task.as_deref() == Some(&*self.task));
        let told: Vec<String> = own
            .filter_map(|one| {
                let answer = one.answer.as_deref()?;
                let text = one.text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
                Some(format!("You asked: {}\nThe answer is: {answer}{text}", one.question))
            })
            .collect();
        Ok((!told.is_empty()).then(|| told.join("\n\n")))
    }

    fn tell_block(&self, task: &TaskView) {
        let needs = task.needs.as_deref().unwrap_or_default();
        if self.json {
            drop(output::line(&json!({"blocked": {"task": task.id, "needs": needs}})));
        } else {
            let text = format!("{} waits: {needs} (see `comity decision list`)\n", task.id);
            drop(output::text(&text));
        }
    }
}

fn reached(run: RunView) -> Reply {
    Reply::new(RunAnswer { run }, human::objective::completed)
}

fn given_up(run: RunView, task: &TaskView) -> Reply {
    let message = format!("the objective {} was given up", task.id);
    let refusal = Refusal::new(Code::RunFailed, message)
        .hint(say("see ").quote(operation("task.why").id(&task.id)))
        .detail("task", task.id.as_str());
    Reply::new(RunAnswer { run }, human::fleet::run).refused(refusal)
}
