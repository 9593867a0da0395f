//! `comity supervise`

use super::team::runner;
use crate::args::{Global, SuperviseArgs};
use crate::human;
use crate::output::{self, Reply};
use comity_core::refusal::{Code, Refusal};
use comity_core::supervise::Step;
use comity_fleet::supervise::{Post, Said, Supervisor, Taken, post, stop};
use comity_project::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::process::{Command, Stdio};

/// A step as programs see it.
#[derive(Serialize, Deserialize)]
pub struct StepView {
    pub rule: String,
    pub on: String,
    pub subject: String,
    pub facts: Map<String, Value>,
    pub because: String,
    pub action: String,
    pub run: Option<String>,
    pub decision: Option<String>,
    /// Why it could not be done now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Value>,
}

#[derive(Serialize, Deserialize)]
pub struct StepsAnswer {
    pub steps: Vec<StepView>,
    pub idle: bool,
}

#[derive(Serialize, Deserialize)]
pub struct PostAnswer {
    pub supervisor: Post,
}

fn view(step: &Step) -> StepView {
    StepView {
        rule: step.rule.clone(),
        on: step.on.to_string(),
        subject: step.subject.clone(),
        facts: step.facts.clone(),
        because: step.because.clone(),
        action: step.action.clone(),
        run: None,
        decision: None,
        refused: None,
    }
}

fn taken(taken: &Taken) -> StepView {
    StepView {
        run: taken.run.clone(),
        decision: taken.decision.clone(),
        refused: taken
            .refused
            .as_ref()
            .map(|refusal| json!({"code": refusal.code.as_str(), "message": refusal.message})),
        ..view(&taken.step)
    }
}

pub(super) fn run(
    context: &Context,
    args: &SuperviseArgs,
    global: &Global,
) -> Result<Reply, Refusal> {
    if args.status {
        return Ok(Reply::new(PostAnswer { supervisor: post(context)? }, human::supervise::post));
    }
    if args.stop {
        stop(context)?;
        return Ok(Reply::new(PostAnswer { supervisor: post(context)? }, human::supervise::post));
    }
    if args.detach {
        return detach(context, args, global);
    }
    if args.detached {
        comity_fleet::lead();
    }
    if let Some(text) = &args.objective {
        return super::focus::run(context, text, args, global.json);
    }
    let program = crate::env::program()?;
    let mut supervisor = Supervisor::new(context, runner(context, global.json)?, program)?;
    if args.dry_run {
        let (steps, idle) = supervisor.due()?;
        let answer = StepsAnswer { steps: steps.iter().map(view).collect(), idle };
        return Ok(Reply::new(answer, human::supervise::steps));
    }
    if args.once {
        let beat = supervisor.once()?;
        let answer = StepsAnswer { steps: beat.taken.iter().map(taken).collect(), idle: beat.idle };
        return Ok(Reply::new(answer, human::supervise::steps));
    }
    let flag = crate::env::stop_flag()?;
    let json = global.json;
    supervisor.keep(&flag, &mut |said| tell(said, json))?;
    Ok(Reply::printed())
}

fn tell(said: &Said<'_>, json: bool) {
    match said {
        Said::Took(step) if json => drop(output::line(&taken(step))),
        Said::Took(step) => drop(output::text(&human::supervise::step(&taken(step)))),
        Said::Began if !json => output::remark("supervising; press Ctrl-C to stop"),
        Said::StandsBy(refusal) if !json => {
            output::remark(&format!("standing by: {}", refusal.message));
        }
        Said::Refused(refusal) if !json => {
            output::remark(&format!("the seat is lost: {}", refusal.message));
        }
        Said::Waits if !json => output::remark("the store cannot be reached; trying again"),
        _ => {}
    }
}

/// Starts the supervisor as a process of its own.
#[expect(clippy::disallowed_methods, reason = "the supervisor goes on when this process ends")]
pub(super) fn detach(
    context: &Context,
    args: &SuperviseArgs,
    global: &Global,
) -> Result<Reply, Refusal> {
    let failed = |error: std::io::Error| {
        Refusal::new(Code::CouldNotRun, format!("cannot start the supervisor: {error}"))
    };
    let log = comity_fleet::supervise::log_file(context)?;
    let file = std::fs::File::create(&log).map_err(failed)?;
    let mut command = Command::new(crate::env::program()?);
    command.args(["--root", &context.root.dir.to_string_lossy(), "--store", &context.store_url()]);
    command.args(["--repo", context.repo.as_str(), "--as", context.actor.as_str()]);
    command.args(["supervise", "--detached"]);
    for (name, given) in [("objective", &args.objective), ("driver", &args.driver)] {
        command.args(given.iter().map(|given| format!("--{name}={given}")));
    }
    command.args(args.criterion.iter().map(|one| format!("--criterion={one}")));
    command.args(args.budget.iter().map(|usd| format!("--budget={}", usd.dollars())));
    if global.json {
        command.arg("--json");
    }
    command.current_dir(&context.root.dir).stdin(Stdio::null());
    command.stdout(file.try_clone().map_err(failed)?).stderr(file);
    let child = command.spawn().map_err(failed)?;
    let mut supervisor = post(context)?;
    if supervisor.state == "stopped" {
        supervisor.state = "starting".to_owned();
        supervisor.pid = i32::try_from(child.id()).ok();
    }
    Ok(Reply::new(PostAnswer { supervisor }, human::supervise::post)
        .note(format!("what it does is written to {}", log.display())))
}
