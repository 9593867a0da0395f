//! `comity log …`, `comity report …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::show;
use crate::args::{LogCommand, ReportCommand};
use crate::human;
use crate::output::Reply;
use comity_api::{Nothing, ReportAnswer, op};
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::collab;
use std::io::{self, BufWriter, Write};

pub(super) fn run(context: &Context, command: &LogCommand) -> Result<Reply, Refusal> {
    match command {
        LogCommand::Verify => {
            let answer = context.service(Access::Read)?.verify()?;
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

/// Remembers that the reader has gone, which is no failure.
struct Outlet<W: Write> {
    inner: W,
    closed: bool,
}

impl<W: Write> Write for Outlet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
        self.closed |= matches!(&written, Err(e) if e.kind() == io::ErrorKind::BrokenPipe);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.closed |= matches!(&flushed, Err(e) if e.kind() == io::ErrorKind::BrokenPipe);
        flushed
    }
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
            let file = std::fs::File::create(&path).map_err(|error| {
                Refusal::input(format!("cannot write {name}: {error}"))
                    .hint("give a file in a directory that exists and that you may write to")
            })?;
            let mut out = BufWriter::new(file);
            service.report_log(&caller, &mut out)?;
            out.flush().map_err(|error| failed(&name, &error))?;
            let answer = ReportAnswer { report: None, output: Some(path.display().to_string()) };
            Ok(Reply::text(answer, format!("Wrote {name}\n")))
        }
        None if json => {
            let mut text = Vec::new();
            service.report_log(&caller, &mut text)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            Ok(Reply::text(ReportAnswer { report: Some(text), output: None }, ""))
        }
        None => {
            let mut out = BufWriter::new(Outlet { inner: io::stdout().lock(), closed: false });
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

/// Writes the tasks by state.
fn board(context: &Context, output: Option<String>) -> Result<Reply, Refusal> {
    let service = context.service(Access::Read)?;
    let tasks = service.all_tasks(&context.caller())?;
    let now = collab::seconds(service.store_time()?);
    let records: Vec<_> = tasks.iter().map(collab::task_record).collect();
    let text = collab::board(&records, &now);
    let Some(name) = output else {
        let answer = ReportAnswer { report: Some(text.clone()), output: None };
        return Ok(Reply::text(answer, text));
    };
    let path = context.cwd.join(&name);
    std::fs::write(&path, &text).map_err(|error| {
        Refusal::input(format!("cannot write {name}: {error}"))
            .hint("give a file in a directory that exists and that you may write to")
    })?;
    let answer = ReportAnswer { report: None, output: Some(path.display().to_string()) };
    Ok(Reply::text(answer, format!("Wrote {name}\n")))
}
