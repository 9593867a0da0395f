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
use std::io::{self, BufWriter, Write};
use std::path::Path;

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
