//! `comity run …`, `comity runs`, `comity cost`, `comity budget …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{call, execute, show};
use crate::args::{BudgetCommand, CostArgs, Global, RunArgs, RunCommand, RunsArgs, StartArgs};
use crate::human::{self, Screen};
use crate::output::{self, Reply};
use comity_api::{
    ById, ClearBudget, CostFilter, Nothing, PauseRun, ResumeRun, RunAnswer, RunDiffAnswer,
    RunFilter, RunLogsOf, StartRun, SteerRun, StopRun, op,
};
use comity_core::command::NewBudget;
use comity_core::hint::{op as operation, say};
use comity_core::limits::PROMPT_BYTES_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::RunState;
use comity_engine::{Caller, Handler};
use comity_fleet::{Fleet, Job, Resumer, RunOutputs, Surroundings};
use comity_guard::GitObserver;
use comity_project::store::Access;
use comity_project::{Context, plain_file};
use comity_server::{RunDoor, Served};
use serde_json::{Map, Value};
use std::any::Any;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(super) fn run(context: &Context, args: RunArgs, json: bool) -> Result<Reply, Refusal> {
    let Some(command) = args.command else { return start(context, args.start) };
    match command {
        RunCommand::Show { id } => show::<op::RunShow>(context, ById { id }, human::fleet::run),
        RunCommand::Why { id } => show::<op::RunWhy>(context, ById { id }, human::supervise::why),
        RunCommand::Logs { id, follow } => logs(context, &id, follow, json),
        RunCommand::Stop { id, now, reason } => {
            execute::<op::RunStop>(context, StopRun { id, now, reason }, human::fleet::line)
        }
        RunCommand::Pause { id, reason } => {
            execute::<op::RunPause>(context, PauseRun { id, reason }, human::fleet::line)
        }
        RunCommand::Resume { id, fresh } => resume(context, id, fresh),
        RunCommand::Steer { id, text } => {
            let fleet = on_host(context, Access::Write)?;
            let input = SteerRun { id, text };
            call::<op::RunSteer>(&fleet, &context.caller(), input, human::fleet::line)
        }
        RunCommand::Diff { id } => diff(context, id, json),
    }
}

/// Returns what runs agents on this host.
pub(super) fn on_host(context: &Context, access: Access) -> Result<Fleet, Refusal> {
    let service = context.service(access)?;
    Ok(Fleet { context: context.clone(), service, program: crate::env::program()? })
}

fn resume(context: &Context, id: String, fresh: bool) -> Result<Reply, Refusal> {
    let Fleet { context, service, program } = on_host(context, Access::Write)?;
    let caller = context.caller();
    let runs = Resumer { context, service, program: Some(program) };
    call::<op::RunResume>(&runs, &caller, ResumeRun { id, fresh }, human::fleet::line)
}

fn diff(context: &Context, id: String, json: bool) -> Result<Reply, Refusal> {
    let fleet = on_host(context, Access::Read)?;
    if json {
        let words = |answer: &RunDiffAnswer, _: &Screen| answer.diff.clone();
        return call::<op::RunDiff>(&fleet, &context.caller(), ById { id }, words);
    }
    let answer = Handler::<op::RunDiff>::handle(&fleet, &context.caller(), ById { id })?.output;
    drop(output::text(&answer.diff));
    Ok(Reply::printed())
}

/// How often somebody who waits looks at a run or at what it said.
pub(super) const LOOK: Duration = Duration::from_millis(200);

fn start(context: &Context, args: StartArgs) -> Result<Reply, Refusal> {
    let Some(agent) = args.agent else {
        return Err(Refusal::input("no agent is named")
            .hint("name one, as in: comity run developer --task T1"));
    };
    let prompt = match args.prompt_file {
        Some(file) => {
            Some(plain_file::read_text(&file, PROMPT_BYTES_MAX).map_err(|error| {
                Refusal::input(format!("cannot read {}: {error}", file.display()))
            })?)
        }
        None => args.prompt,
    };
    let meta = match args.meta.as_deref().map(serde_json::from_str::<Value>) {
        None => Map::new(),
        Some(Ok(Value::Object(meta))) => meta,
        Some(_) => return Err(Refusal::input("--meta is not a JSON object")),
    };
    let wanted = StartRun {
        agent,
        prompt,
        task: args.task,
        branch: args.branch,
        base: args.base,
        stage: args.stage,
        meta,
        driver: args.driver,
        model: args.model,
        budget: args.budget,
        max_turns: args.max_turns,
        timeout: args.timeout,
        labels: args.label,
        git_strategy: args.git_strategy,
        skip_design: args.skip_design.then_some(args.reason).flatten(),
    };
    let fleet = on_host(context, Access::Write)?;
    if !args.wait {
        return call::<op::Run>(&fleet, &context.caller(), wanted, human::fleet::started);
    }
    let started = Handler::<op::Run>::handle(&fleet, &context.caller(), wanted)?.output;
    let id = started.run.id.unwrap_or_default();
    let stop = crate::env::stop_flag()?;
    loop {
        let answer = context.ask::<op::RunShow>(ById { id: id.clone() })?;
        if !answer.run.state.is_live() {
            return Ok(ended(answer));
        }
        if stop.load(Ordering::Relaxed) {
            let note = format!("{id} goes on; stop it with `comity run stop {id}`");
            return Ok(Reply::new(answer, human::fleet::line).note(note).exit(INTERRUPTED));
        }
        std::thread::sleep(LOOK);
    }
}

/// What a shell reports for a command that Ctrl-C ended.
pub(super) const INTERRUPTED: u8 = 130;

fn ended(answer: RunAnswer) -> Reply {
    let run = &answer.run;
    if run.state == RunState::Succeeded {
        return Reply::new(answer, human::fleet::run);
    }
    let id = run.id.clone().unwrap_or_default();
    let why = run.error.as_ref().map(|error| format!(": {}: {}", error.kind, error.message));
    let refusal =
        Refusal::new(Code::RunFailed, format!("{id} {}{}", run.state, why.unwrap_or_default()))
            .hint(say("see what the agent said with ").quote(operation("run.logs").id(&id)))
            .detail("run", id.as_str())
            .detail("state", run.state.as_str());
    Reply::new(answer, human::fleet::run).refused(refusal)
}

fn logs(context: &Context, id: &str, follow: bool, json: bool) -> Result<Reply, Refusal> {
    let stop = crate::env::stop_flag()?;
    let service = context.service(Access::Read)?;
    let outputs = RunOutputs { context: context.clone(), service, is_own: true };
    let mut from = Some(0);
    loop {
        let wanted = RunLogsOf { id: id.to_owned(), from };
        let said = Handler::<op::RunLogs>::handle(&outputs, &context.caller(), wanted)?.output;
        from = Some(said.next);
        for line in said.lines {
            let written = match json {
                true => output::line(&line),
                false => output::text(&human::fleet::said(&line)),
            };
            if written.is_err() {
                return Ok(Reply::printed());
            }
        }
        let goes_on = said.more || (follow && said.live);
        if !goes_on || stop.load(Ordering::Relaxed) {
            return Ok(Reply::printed());
        }
        if !said.more {
            std::thread::sleep(LOOK);
        }
    }
}

/// Runs the hidden command that keeps one run.
pub fn keeper(job: &Path) -> Result<(), Refusal> {
    let job = Job::read(job)?;
    let global = Global {
        roots: vec![job.root.clone()],
        store: Some(job.store.clone()),
        repo: Some(job.repo.clone()),
        actor: Some(job.identity.clone()),
        ..Global::default()
    };
    let context = crate::env::project(&global)?;
    let service = context.service(Access::Write)?;
    let base = context.config.base_branch().map(str::to_owned);
    let observer = |tree: &Path| GitObserver {
        tree: Some(tree.to_owned()),
        base: base.clone(),
        head_counts: true,
        is_comitys: Box::new(comity_bridge::by_comity(&context)),
    };
    let door = |socket: &Path, caller: Caller| -> Result<Box<dyn Any>, Refusal> {
        let mut served = Served::open(context.clone(), true)?;
        served.program = Some(crate::env::program()?);
        Ok(Box::new(RunDoor::open(served, socket, caller)?))
    };
    let program = crate::env::program()?;
    let around = Surroundings { program: &program, observer: &observer, door: &door };
    comity_fleet::keep(&context, &service, &job, &around)
}

pub(super) fn runs(context: &Context, args: RunsArgs) -> Result<Reply, Refusal> {
    let (limit, after) = (args.page.limit.map(usize::from), args.page.after);
    let RunsArgs { status, task, agent, .. } = args;
    let filter = RunFilter { status, task, agent, limit, after };
    show::<op::Runs>(context, filter, human::fleet::runs)
}

pub(super) fn cost(context: &Context, args: &CostArgs) -> Result<Reply, Refusal> {
    let words = if args.short { human::fleet::short_cost } else { human::fleet::cost };
    show::<op::Cost>(context, CostFilter { by: args.by }, words)
}

pub(super) fn budget(context: &Context, command: BudgetCommand) -> Result<Reply, Refusal> {
    match command {
        BudgetCommand::Set { scope, usd, runs, per } => {
            let new = NewBudget { scope, per, usd, runs };
            execute::<op::BudgetSet>(context, new, human::fleet::budgets)
        }
        BudgetCommand::List => show::<op::BudgetList>(context, Nothing {}, human::fleet::budgets),
        BudgetCommand::Clear { scope, per } => {
            execute::<op::BudgetClear>(context, ClearBudget { scope, per }, human::fleet::budgets)
        }
    }
}
