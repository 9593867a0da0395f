//! `comity rpc`, `comity collab …`, and a tree imported, exported and kept in step.

use crate::args::{CollabCommand, CollabFields, Global, SyncCommand, TaskOutput};
use crate::collab::{Collab, Failure, ROUNDS_MAX, Report, Syncer, Tree, serve, watch};
use crate::context::Context;
use crate::env;
use crate::human::Shape;
use crate::output::{self, Reply};
use comity_core::refusal::Refusal;
use comity_core::time::Millis;
use comity_protocol::collab::{Legacy, normal_event, pretty_ascii, task_lines};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Exit status of the tree's own command line when something fails, for scripts that were written for it. Who asks for
/// JSON asks in comity's words and gets comity's statuses.
const FAILED: u8 = 1;

/// Finds the root as the tree's own tools do: `COLLAB_ROOT`, else where we are.
fn context(global: &Global) -> Result<Context, Refusal> {
    let here = std::env::current_dir().unwrap_or_default();
    let root = env::var("COLLAB_ROOT")?.map_or_else(|| here.clone(), |root| here.join(root));
    // Where the caller is comes first, as in its own server; the root's own files follow.
    let of = |dir: &Path| [dir.join(".env"), dir.join("collaboration").join(".env")];
    env::load_files(&[of(&here), of(&root)].concat());
    let mut global = global.clone();
    if global.root.is_none() {
        global.root = env::var("COLLAB_ROOT")?;
    }
    Context::find_or_here(&global)
}

/// Opens the methods over that root.
fn open(global: &Global) -> Result<Collab, Refusal> {
    let context = context(global)?;
    let ttl = match env::var("COLLAB_TTL")? {
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
    Collab::open(context, ttl)
}

pub(super) fn rpc(global: &Global) -> Result<Reply, Refusal> {
    let mut collab = open(global)?;
    let traceback = env::var("COLLAB_TRACEBACK")?.is_some_and(|text| text != "0");
    collab.end_on_signals()?;
    serve(&mut collab, traceback)?;
    Ok(Reply::printed())
}

pub(super) fn run(global: &Global, command: CollabCommand) -> Result<Reply, Refusal> {
    let done =
        open(global).map_err(Failure::from).and_then(|mut collab| call(&mut collab, command));
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
    let mut invoke = |method: &str, params: Value| {
        let params = params.as_object().cloned().unwrap_or_default();
        let unknown = || Failure::input(format!("BUG: {method}"));
        collab.call(&format!("collab.{method}"), params).ok_or_else(unknown)?
    };
    let (answer, text) = match command {
        CollabCommand::EmitEvent { event } => {
            let answer = invoke("emit_event", Value::Object(event_of(&event)?))?;
            (answer, String::new())
        }
        CollabCommand::AcquireLease { path, owner, purpose } => {
            let params = json!({"path": path, "owner": owner, "purpose": purpose});
            let answer = invoke("acquire_lease", params)?;
            let text = word(&answer, "lock_id");
            (answer, text)
        }
        CollabCommand::RenewLease { lock_id, owner } => {
            (invoke("renew_lease", json!({"lock_id": lock_id, "owner": owner}))?, String::new())
        }
        CollabCommand::ReleaseLease { lock_id, owner } => {
            (invoke("release_lease", json!({"lock_id": lock_id, "owner": owner}))?, String::new())
        }
        CollabCommand::GenerateLog => {
            let answer = invoke("generate_log", json!({}))?;
            (answer, "Wrote collaboration/logs/log.md\n".to_owned())
        }
        CollabCommand::ListTasks { status, assignee, output } => {
            let answer = invoke("list_tasks", json!({"status": status, "assignee": assignee}))?;
            let tasks = answer.get("tasks").cloned().unwrap_or_default();
            let text = match output {
                TaskOutput::Json => pretty_ascii(&json!({"version": 1, "tasks": tasks})),
                TaskOutput::Table => task_lines(&tasks),
            };
            (answer, text)
        }
        CollabCommand::CreateTask { fields, id, roadmap_id } => {
            let mut params = params_of(fields);
            params.extend(id.map(|id| ("id".to_owned(), json!(id))));
            let linked = roadmap_id.is_some();
            params.extend(roadmap_id.map(|id| ("roadmap_id".to_owned(), json!(id))));
            let answer = invoke("create_task", Value::Object(params))?;
            if linked {
                output::remark(
                    "Warning: failed to link roadmap: comity does not write project/roadmap.yml; \
                     the task keeps the id as roadmap_id",
                );
            }
            let text = word(&answer, "id");
            (answer, text)
        }
        CollabCommand::UpdateTask { id, fields, status } => {
            let mut params = params_of(fields);
            params.insert("id".to_owned(), json!(id));
            params.extend(status.map(|status| ("status".to_owned(), json!(status))));
            (invoke("update_task", Value::Object(params))?, String::new())
        }
        CollabCommand::TransitionTask { id, status } => {
            (invoke("transition_task", json!({"id": id, "new_status": status}))?, String::new())
        }
    };
    Ok(Reply::new(answer, Shape::Text(text)))
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

fn params_of(fields: CollabFields) -> Map<String, Value> {
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

fn word(answer: &Value, key: &str) -> String {
    answer.get(key).and_then(Value::as_str).map(|word| format!("{word}\n")).unwrap_or_default()
}

pub(super) fn import(context: &Context, dir: &str) -> Result<Reply, Refusal> {
    let dir = context.cwd.join(dir);
    if !Tree::at(&dir).dir.join("state").is_dir() {
        return Err(Refusal::input(format!("{} has no state/", dir.display()))
            .hint("give the directory collaboration/, or the one that it is in"));
    }
    reply(&Syncer::open(context.clone(), &dir)?.import()?)
}

pub(super) fn import_v1(
    context: &Context,
    file: &str,
    agents: &[String],
) -> Result<Reply, Refusal> {
    reply(&crate::collab::import_v1(context, &context.cwd.join(file), agents)?)
}

pub(super) fn export(context: &Context, dir: &str) -> Result<Reply, Refusal> {
    reply(&Syncer::open(context.clone(), &context.cwd.join(dir))?.export()?)
}

pub(super) fn sync(context: &Context, command: &SyncCommand, json: bool) -> Result<Reply, Refusal> {
    let SyncCommand::Collab { dir, watch: goes_on } = command;
    let dir: PathBuf = match dir {
        Some(dir) => context.cwd.join(dir),
        None => context.root.dir.join("collaboration"),
    };
    let mut syncer = Syncer::open(context.clone(), &dir)?;
    if *goes_on {
        watch(&mut syncer, json)?;
        return Ok(Reply::printed());
    }
    reply(&syncer.settle(true, ROUNDS_MAX)?)
}

/// What could not be read is the caller's to mend.
fn reply(report: &Report) -> Result<Reply, Refusal> {
    let mut text: String = report.lines().iter().map(|line| format!("{line}\n")).collect();
    for file in &report.written {
        text.push_str(&format!("wrote {file}\n"));
    }
    if text.is_empty() {
        text.push_str("Everything is in step.\n");
    }
    let exit = if report.problems.is_empty() { 0 } else { 2 };
    Ok(Reply::new(report.json(), Shape::Text(text)).exit(exit))
}
