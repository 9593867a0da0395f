//! `comity log …`, `comity report …`

use super::query;
use crate::args::{LogCommand, ReportCommand};
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use comity_core::refusal::{Code, Refusal};
use comity_engine::Query;
use comity_protocol::collab;
use serde_json::{Value, json};
use std::io::{self, BufWriter, Write};

pub(super) fn run(context: &Context, command: &LogCommand) -> Result<Reply, Refusal> {
    match command {
        LogCommand::Verify => {
            let answer = context.engine(Access::Read)?.verify()?;
            let ok = answer.get("ok").and_then(Value::as_bool) == Some(true);
            Ok(Reply::new(answer, Shape::Verify).exit(if ok { 0 } else { 1 }))
        }
        LogCommand::Rebuild => {
            let answer = context.engine(Access::Write)?.rebuild()?;
            Ok(Reply::new(answer, Shape::Rebuild))
        }
        LogCommand::Head => query(context, Query::Head, Shape::Head),
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
    let mut engine = context.engine(Access::Read)?;
    let asker = context.asker();
    let failed = |what: &str, error: &io::Error| {
        Refusal::new(Code::Internal, format!("cannot write {what}: {error}"))
    };
    match output {
        Some(name) => {
            let path = context.cwd.join(&name);
            let file = std::fs::File::create(&path).map_err(|error| {
                Refusal::input(format!("cannot write {name}: {error}"))
                    .hint("give a file in an existing directory that you may write to")
            })?;
            let mut out = BufWriter::new(file);
            engine.report_log(&asker, &mut out)?;
            out.flush().map_err(|error| failed(&name, &error))?;
            let answer = json!({"report": null, "output": path.display().to_string()});
            Ok(Reply::new(answer, Shape::Text(format!("Wrote {name}\n"))))
        }
        None if json => {
            let mut text = Vec::new();
            engine.report_log(&asker, &mut text)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            Ok(Reply::new(json!({"report": text, "output": null}), Shape::Text(String::new())))
        }
        None => {
            let mut out = BufWriter::new(Outlet { inner: io::stdout().lock(), closed: false });
            let written = engine.report_log(&asker, &mut out);
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
    let mut engine = context.engine(Access::Read)?;
    let tasks = engine.collab_tasks(&context.asker())?;
    let now = collab::seconds(engine.store_time()?);
    let records: Vec<_> = tasks.iter().map(collab::task_record).collect();
    let text = collab::board(&records, &now);
    let Some(name) = output else {
        return Ok(Reply::new(json!({"report": text, "output": null}), Shape::Text(text)));
    };
    let path = context.cwd.join(&name);
    std::fs::write(&path, &text).map_err(|error| {
        Refusal::input(format!("cannot write {name}: {error}"))
            .hint("give a file in an existing directory that you may write to")
    })?;
    let answer = json!({"report": null, "output": path.display().to_string()});
    Ok(Reply::new(answer, Shape::Text(format!("Wrote {name}\n"))))
}
