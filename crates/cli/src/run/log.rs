//! `comity log …`, `comity report …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::show;
use crate::args::{LogArgs, LogCommand, ReportCommand};
use crate::human::{self, Screen};
use crate::output::{self, Reply};
use comity_api::{ById, EventView, LogFilter, Nothing, ReportAnswer, TailEvents, VerifyAnswer, op};
use comity_core::chain::Hash;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Stop, StreamHandler};
use comity_project::Context;
use comity_project::store::Access;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub(super) fn run(context: &Context, args: LogArgs, json: bool) -> Result<Reply, Refusal> {
    let LogArgs { command, task, page, follow } = args;
    let Some(command) = command else {
        let limit = page.limit.map(usize::from);
        return match follow {
            true => self::follow(context, task, limit, json),
            false => {
                let wanted = LogFilter { task, limit, after: page.after };
                show::<op::Log>(context, wanted, human::log::list)
            }
        };
    };
    match command {
        LogCommand::Verify => {
            let answer = match context.service(Access::Read) {
                // There is no log left to look at, and that is the answer.
                Err(refusal) if refusal.code == Code::StoreDamaged => all_gone(&refusal),
                service => service?.call::<op::LogVerify>(&context.caller(), Nothing {})?,
            };
            let exit = if answer.ok { 0 } else { 1 };
            Ok(Reply::new(answer, human::log::verify).exit(exit))
        }
        LogCommand::Rebuild => {
            let answer = context.service(Access::Write)?.rebuild()?;
            Ok(Reply::new(answer, human::log::rebuild))
        }
        LogCommand::Head => show::<op::LogHead>(context, Nothing {}, human::log::head),
    }
}

fn all_gone(refusal: &Refusal) -> VerifyAnswer {
    let problems = vec![refusal.message.clone()];
    VerifyAnswer { ok: false, events: 0, head: Hash::GENESIS.to_string(), problems }
}

/// Events that are shown before new ones are waited for.
const FOLLOWED_MAX: usize = 10;

/// Shows the last events in the order in which they happened, and then every new one.
fn follow(
    context: &Context,
    task: Option<String>,
    limit: Option<usize>,
    json: bool,
) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let caller = context.caller();
    let wanted = LogFilter { task, limit: limit.or(Some(FOLLOWED_MAX)), after: None };
    let task = match &wanted.task {
        Some(id) => Some(service.call::<op::TaskShow>(&caller, ById { id: id.clone() })?.task.id),
        None => None,
    };
    let mut show = move |event: &EventView| {
        if task.is_some() && event.task != task {
            return true;
        }
        let written = if json {
            output::line(event)
        } else {
            human::cleaned(event).map_err(io::Error::other).and_then(|cleaned| {
                let event = cleaned.as_ref().unwrap_or(event);
                output::text(&human::log::line(event, &Screen::detect()))
            })
        };
        // Whoever read us has gone: nothing is left to do.
        written.is_ok()
    };
    let shown = service.call::<op::Log>(&caller, wanted)?.events;
    let next = match shown.first() {
        Some(event) => event.seq + 1,
        None => service.call::<op::LogHead>(&caller, Nothing {})?.seq + 1,
    };
    if shown.iter().rev().all(&mut show) {
        let (input, stop) = (TailEvents { from: Some(next) }, Stop::default());
        StreamHandler::<op::EventTail>::stream(&service, &caller, input, Box::new(show), &stop)?;
    }
    Ok(Reply::printed())
}

pub(super) fn report(
    context: &Context,
    command: ReportCommand,
    json: bool,
) -> Result<Reply, Refusal> {
    let output = match command {
        ReportCommand::Log { output } => output,
        ReportCommand::Board { output } => return board(context, output),
    };
    let service = context.service(Access::Read)?;
    let caller = context.caller();
    let failed = |what: &str, error: &io::Error| {
        Refusal::new(Code::Internal, format!("cannot write {what}: {error}"))
    };
    match output {
        Some(name) => {
            let path = context.cwd.join(&name);
            let file = std::fs::File::create(&path).map_err(|error| unwritable(&name, &error))?;
            let mut out = BufWriter::new(file);
            service.report_log(&caller, &mut out)?;
            out.flush().map_err(|error| failed(&name, &error))?;
            Ok(wrote(&path, &name))
        }
        None if json => {
            let answer = service.call::<op::ReportLog>(&caller, Nothing {})?;
            Ok(Reply::text(answer, ""))
        }
        None => {
            let mut out = BufWriter::new(output::words());
            let written = service.report_log(&caller, &mut out);
            let flushed = out.flush();
            if out.get_ref().closed {
                return Ok(Reply::printed());
            }
            written?;
            flushed.map_err(|error| failed("the report", &error))?;
            Ok(Reply::printed())
        }
    }
}

fn board(context: &Context, output: Option<String>) -> Result<Reply, Refusal> {
    let answer = context.ask::<op::ReportBoard>(Nothing {})?;
    let text = answer.report.clone().unwrap_or_default();
    let Some(name) = output else { return Ok(Reply::text(answer, text)) };
    let path = context.cwd.join(&name);
    std::fs::write(&path, &text).map_err(|error| unwritable(&name, &error))?;
    Ok(wrote(&path, &name))
}

fn unwritable(name: &str, error: &io::Error) -> Refusal {
    Refusal::input(format!("cannot write {name}: {error}"))
        .hint("give a file in a directory that exists and that you may write to")
}

fn wrote(path: &Path, name: &str) -> Reply {
    let answer = ReportAnswer { report: None, output: Some(path.display().to_string()) };
    Reply::text(answer, format!("Wrote {name}\n"))
}
