//! `comity rpc`, `comity collab …`, and a tree imported, exported and kept in step.

#![deny(clippy::wildcard_enum_match_arm)]

use super::import::bridge;
use crate::args::{CollabCommand, CollabFields, Global, SyncCommand, TaskOutput};
use crate::env;
use crate::human::Screen;
use crate::output::{self, Reply};
use crate::wording::CommandLine;
use comity_api::{Operation, SyncReport, TreeDirectory, op};
use comity_bridge::Bridge;
use comity_bridge::collab::{Collab, Failing, Failure, Syncer, Tell, say, serve, watch};
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::time::Millis;
use comity_engine::Handler;
use comity_project::store::Access;
use comity_project::{Context, Environment, Machine};
use comity_protocol::collab::{Legacy, normal_event, pretty_ascii, task_lines};
use serde_json::{Map, Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

/// Exit status of the tree's own command line when something fails, for scripts that were written for it. Who asks for
/// JSON asks in comity's words and gets comity's statuses.
const FAILED: u8 = 1;

/// Finds the root as the tree's own tools do: `COLLAB_ROOT`, else where we are.
fn context(global: &Global) -> Result<(Context, Environment), Refusal> {
    let mut machine = env::machine()?;
    let here = &machine.cwd;
    let root = machine
        .environment
        .get("COLLAB_ROOT")?
        .map_or_else(|| here.clone(), |root| here.join(root));
    // Where the caller is comes first, as in its own server; the root's own files follow.
    let of = |dir: &Path| [dir.join(".env"), dir.join("collaboration").join(".env")];
    machine.environment = machine.environment.with_files(&[of(here), of(&root)].concat());
    let mut asked = global.asked();
    if asked.root.is_none() {
        asked.root = root_of_variables(&machine)?;
    }
    Ok((env::seeing(Context::find_or_here(&machine, &asked)?), machine.environment))
}

/// Returns the root in `COLLAB_ROOT`. One that a file has must stay where the caller is: a repository brings such files
/// along.
fn root_of_variables(machine: &Machine) -> Result<Option<String>, Refusal> {
    let Some(root) = machine.environment.get("COLLAB_ROOT")? else { return Ok(None) };
    let place = std::fs::canonicalize(machine.cwd.join(&root));
    let is_here = place.is_ok_and(|place| place.starts_with(&machine.cwd));
    if machine.environment.has("COLLAB_ROOT") || is_here {
        return Ok(Some(root));
    }
    let text = format!("a file .env names the root {root:?}, which is elsewhere");
    Err(Refusal::new(Code::Untrusted, text)
        .hint("if you know this root, set COLLAB_ROOT in the environment"))
}

fn open(global: &Global) -> Result<(Collab, Environment), Refusal> {
    let (context, environment) = context(global)?;
    let ttl = match environment.get("COLLAB_TTL")? {
        None => None,
        Some(text) => {
            let seconds = text.trim().parse::<i64>().ok().filter(|seconds| *seconds > 0);
            let wrong = || {
                Refusal::input(format!("COLLAB_TTL is {text:?}, not a number of seconds"))
                    .hint("for example COLLAB_TTL=900")
            };
            Some(Millis::from_secs(seconds.ok_or_else(wrong)?))
        }
    };
    Ok((Collab::open(context, ttl, remarks())?, environment))
}

pub(super) fn rpc(global: &Global) -> Result<Reply, Refusal> {
    let (mut collab, environment) = open(global)?;
    collab.plans_where_nobody_does()?;
    let traceback = environment.get("COLLAB_TRACEBACK")?.is_some_and(|text| text != "0");
    end_on_signals(collab.last_export())?;
    let failing = Failing { wording: &CommandLine, traceback };
    serve(&mut collab, BufReader::new(io::stdin().lock()), output::json(), &failing)?;
    Ok(Reply::printed())
}

fn remarks() -> Tell {
    Arc::new(output::remark)
}

/// Writes the tree and ends the process when it is told to stop from outside.
fn end_on_signals(last_export: impl FnOnce() + Send + 'static) -> Result<(), Refusal> {
    let (mut wake, bell) = UnixStream::pair().map_err(env::no_signals)?;
    for signal in [SIGINT, SIGTERM] {
        let bell = bell.try_clone().map_err(env::no_signals)?;
        signal_hook::low_level::pipe::register(signal, bell).map_err(env::no_signals)?;
    }
    let wait = move || {
        if wake.read_exact(&mut [0]).is_ok() {
            last_export();
            // What is not acknowledged by now was not done.
            std::process::exit(0);
        }
    };
    let named = std::thread::Builder::new().name("comity-signals".to_owned());
    named.spawn(wait).map(drop).map_err(env::no_signals)
}

pub(super) fn run(global: &Global, command: CollabCommand) -> Result<Reply, Refusal> {
    let done =
        open(global).map_err(Failure::from).and_then(|(mut collab, _)| call(&mut collab, command));
    match done {
        Ok(reply) => Ok(reply),
        Err(failure) if global.json => {
            Err(failure.refusal.unwrap_or_else(|| Refusal::input(failure.message)))
        }
        Err(failure) => {
            output::remark(&format!("Error: {}", failure.message));
            Ok(Reply::printed().exit(FAILED))
        }
    }
}

fn call(collab: &mut Collab, command: CollabCommand) -> Result<Reply, Failure> {
    Ok(match command {
        CollabCommand::EmitEvent { event } => {
            Reply::text(collab.emit_event(event_of(&event)?)?, "")
        }
        CollabCommand::AcquireLease { path, owner, purpose } => {
            let leased =
                collab.acquire_lease(&path, AgentId::parse(&owner)?, filled(Some(purpose)))?;
            let text = format!("{}\n", leased.lock_id);
            Reply::text(leased, text)
        }
        CollabCommand::RenewLease { lock_id, owner } => {
            Reply::text(collab.renew_lease(&lock_id, &AgentId::parse(&owner)?)?, "")
        }
        CollabCommand::ReleaseLease { lock_id, owner } => {
            Reply::text(collab.release_lease(&lock_id, &AgentId::parse(&owner)?)?, "")
        }
        CollabCommand::GenerateLog => {
            Reply::text(collab.generate_log()?, "Wrote collaboration/logs/log.md\n")
        }
        CollabCommand::ListTasks { status, assignee, output } => {
            let answer = collab.list_tasks(status.as_deref(), filled(assignee).as_deref())?;
            let text = match output {
                TaskOutput::Json => pretty_ascii(&json!({"version": 1, "tasks": answer.tasks})),
                TaskOutput::Table => task_lines(&json!(answer.tasks)),
            };
            Reply::text(answer, text)
        }
        CollabCommand::CreateTask { fields, id, roadmap_id } => {
            let mut record = record_of(fields);
            let linked = roadmap_id.is_some();
            record.extend(roadmap_id.map(|id| ("roadmap_id".to_owned(), json!(id))));
            let created = collab.create_task(filled(id), record)?;
            if linked {
                output::remark(
                    "Warning: failed to link roadmap: comity does not write project/roadmap.yml; \
                     the task keeps the id as roadmap_id",
                );
            }
            let text = format!("{}\n", created.id);
            Reply::text(created, text)
        }
        CollabCommand::UpdateTask { id, fields, status, needs } => {
            let mut record = record_of(fields);
            record.extend(needs.map(|needs| ("needs".to_owned(), json!(needs))));
            record.extend(status.map(|status| ("status".to_owned(), json!(status))));
            Reply::text(collab.update_task(&id, &record)?, "")
        }
        CollabCommand::TransitionTask { id, status, needs, reason } => {
            let (needs, reason) = (filled(needs), filled(reason));
            Reply::text(collab.transition_task(id, Status::parse(&status)?, reason, needs)?, "")
        }
    })
}

/// An empty text counts as left out.
fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn event_of(text: &str) -> Result<Map<String, Value>, Failure> {
    let event = match serde_json::from_str(text) {
        Ok(Value::Object(event)) => event,
        Ok(_) => return Err(Failure::input("the event is not a JSON object")),
        Err(error) => return Err(Failure::input(format!("the event is not JSON: {error}"))),
    };
    let normal = normal_event(event);
    if let Legacy::Unknown(_) = normal {
        output::remark(&format!("Warning: Unknown event format: {text}"));
    }
    Ok(normal.into_event())
}

/// Makes a part of an entry of `tasks.json`.
fn record_of(fields: CollabFields) -> Map<String, Value> {
    let CollabFields { title, description, labels, priority, assignee } = fields;
    let list = |text: String| -> Value {
        text.split(',').map(str::trim).filter(|label| !label.is_empty()).collect()
    };
    [
        ("title", title.map(Value::from)),
        ("description", description.map(Value::from)),
        ("labels", labels.map(list)),
        ("priority", priority.map(Value::from)),
        ("assignee", assignee.map(Value::from)),
    ]
    .into_iter()
    .filter_map(|(key, value)| value.map(|value| (key.to_owned(), value)))
    .collect()
}

pub(super) fn sync(context: &Context, command: SyncCommand, json: bool) -> Result<Reply, Refusal> {
    let SyncCommand::Collab { dir, watch: goes_on } = command;
    if goes_on {
        let (bridge, input) = (bridge(context, Access::Write)?, TreeDirectory { dir });
        return watching(&mut bridge.tree_in_step(&context.caller(), &input)?, json);
    }
    in_step::<op::SyncCollab>(context, TreeDirectory { dir })
}

/// Calls an operation on a tree. What could not be read is the caller's to mend.
pub(super) fn in_step<O>(context: &Context, input: O::Input) -> Result<Reply, Refusal>
where
    O: Operation<Output = SyncReport>,
    Bridge: Handler<O>,
{
    let report = bridge(context, Access::Write)?.handle(&context.caller(), input)?.output;
    let exit = if report.problems.is_empty() { 0 } else { 2 };
    Ok(Reply::new(report, words).exit(exit))
}

/// Keeps the tree in step until a signal ends it.
fn watching(syncer: &mut Syncer, json: bool) -> Result<Reply, Refusal> {
    let stop = env::stop_flag()?;
    if !json {
        output::remark("watching; end with Ctrl-C");
    }
    let remarks = remarks();
    watch(syncer, &stop, &|outcome| match outcome {
        Ok(report) if json => {
            // Whoever read us has gone; the files are kept in step all the same.
            let _ = (!report.lines().is_empty()).then(|| output::line(report));
        }
        outcome => say(&remarks, outcome),
    })?;
    Ok(Reply::printed())
}

fn words(report: &SyncReport, _: &Screen) -> String {
    let written = report.written.iter().map(|file| format!("wrote {file}"));
    let lines: Vec<String> = report.lines().into_iter().chain(written).collect();
    if lines.is_empty() { "Everything is in step.\n".to_owned() } else { lines.join("\n") + "\n" }
}
