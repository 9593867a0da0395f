//! `neo log` and `neo logs`.

use super::{find, print};
use crate::args::{Global, NeoLog, NeoLogs};
use crate::context::Context;
use crate::env;
use crate::human::{Shape, clean_text};
use crate::output::{self, Reply};
use crate::store::Access;
use comity_core::chain::Hash;
use comity_core::command::{Command, NewMemory};
use comity_core::memory::MemoryType;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Engine, EventFilter, Page, Query, Since};
use comity_protocol::neotx::records::blocker_message;
use comity_protocol::neotx::words::{self, LOG_TYPES};
use serde_json::{Value, json};

/// Entries that are shown when nothing is logged.
const RECENT: usize = 20;
/// Events that are read at once on the way back through the log.
const WINDOW: u64 = 500;

pub(super) fn run(global: &Global, args: NeoLog) -> Result<Reply, Refusal> {
    // Here `--repo` is neo's: a path that the entry is about.
    let mut own = global.clone();
    let repo = own.repo.take().or(args.scope).or(env::var("NEO_REPOSITORY")?);
    let context = Context::find(&own)?;
    let Some(kind) = args.kind else { return recent(&context) };
    if !LOG_TYPES.contains(&kind.as_str()) {
        let all = LOG_TYPES.join(", ");
        return print::refuse(format!("Invalid type \"{kind}\". Must be one of: {all}"));
    }
    let Some(text) = args.message else {
        return print::refuse(format!("Usage: neo log {kind} <message>"));
    };
    if args.preview && kind == "blocker" {
        return Ok(preview(&text));
    }
    let said = format!("Logged: [{kind}] {}", text.chars().take(100).collect::<String>());
    // What is worth knowing later is remembered, too.
    let kept = match (words::log_target(&kind), args.procedure, args.knowledge) {
        (_, true, _) => Some(MemoryType::Procedure),
        ("knowledge", false, _) if !args.memory => Some(MemoryType::Fact),
        (_, false, true) => Some(MemoryType::Fact),
        _ => None,
    };
    let memory = kept.map(|kind| {
        Command::MemoryWrite(Box::new(NewMemory {
            text: text.clone(),
            kind,
            scope: repo,
            tags: Vec::new(),
            expires: None,
            task: None,
            supersedes: None,
        }))
    });
    let mut engine = context.engine(Access::Write)?;
    let note = Command::Note { kind, text, task: None };
    let answer = engine.execute(super::step(&context, note, 1))?;
    if let Some(memory) = memory {
        engine.execute(super::step(&context, memory, 2))?;
    }
    Ok(Reply::new(answer, Shape::Text(print::success(&said))))
}

fn preview(message: &str) -> Reply {
    let agent = env::var("NEO_AGENT_NAME").ok().flatten();
    let now = crate::human::now().to_string();
    let inbox = json!({
        "id": random_id(&now, message),
        "from": "agent",
        "text": blocker_message(agent.as_deref(), message),
        "timestamp": now,
    });
    let pretty = serde_json::to_string_pretty(&inbox).unwrap_or_default();
    let rule = "─".repeat(60);
    let said = format!(
        "\nPreview of inbox message:\n{rule}\n{pretty}\n{rule}\n\nUse without --preview to write to inbox.\n"
    );
    Reply::new(json!({"preview": inbox}), Shape::Text(said))
}

/// An id in the form of a UUID, for a message that is only shown.
fn random_id(now: &str, message: &str) -> String {
    let seed = format!("{now} {} {message}", std::process::id());
    let hash = Hash::of(seed.as_bytes()).to_string();
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The last events that fit, the oldest first. The log is read backwards, so that its length does not matter.
fn last(
    engine: &mut Engine,
    context: &Context,
    most: usize,
    task: Option<&str>,
    fits: &dyn Fn(&Value) -> bool,
) -> Result<Vec<Value>, Refusal> {
    let head = engine.query(&context.asker(), Query::Head)?;
    let mut end = head.get("seq").and_then(Value::as_u64).unwrap_or(0);
    let mut found: Vec<Value> = Vec::new();
    while end > 0 && found.len() < most {
        let start = end.saturating_sub(WINDOW);
        let filter = EventFilter {
            task: task.map(str::to_owned),
            since: Some(Since::Seq(start)),
            page: Page { limit: Some(500), after: None },
            ..EventFilter::default()
        };
        let mut answer = engine.query(&context.asker(), Query::Events(filter))?;
        let events = answer.get_mut("events").map(Value::take).unwrap_or_default();
        let Value::Array(events) = events else { break };
        let within = |event: &Value| {
            event.get("seq").and_then(Value::as_u64).is_some_and(|seq| seq <= end) && fits(event)
        };
        let mut before: Vec<Value> = events.into_iter().filter(within).collect();
        before.append(&mut found);
        found = before;
        end = start;
    }
    let first = found.len().saturating_sub(most);
    Ok(found.split_off(first))
}

fn text<'v>(event: &'v Value, key: &str) -> &'v str {
    event.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn clock(event: &Value) -> String {
    text(event, "ts").get(11..19).unwrap_or_default().to_owned()
}

fn agent(event: &Value) -> String {
    match text(event, "agent") {
        agent if agent.starts_with(super::AGENT) => super::short_agent(agent),
        agent => agent.to_owned(),
    }
}

fn recent(context: &Context) -> Result<Reply, Refusal> {
    let mut engine = context.engine(Access::Read)?;
    let is_note = |event: &Value| text(event, "event") == "note";
    let mut entries = last(&mut engine, context, RECENT, None, &is_note)?;
    entries.reverse();
    if entries.is_empty() {
        let said = "No log entries found.\n".to_owned();
        return Ok(Reply::new(json!({"events": []}), Shape::Text(said)));
    }
    let row = |event: &Value| {
        vec![
            clock(event),
            text(event, "type").to_owned(),
            agent(event),
            print::cut(text(event, "text"), 60, "..."),
        ]
    };
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    let said = print::table(&["TIME", "TYPE", "AGENT", "MESSAGE"], &rows);
    Ok(Reply::new(json!({"events": entries}), Shape::Text(said)))
}

/// What a line of the log is about: a note by its own type, everything else by its name.
fn kind(event: &Value) -> &str {
    if text(event, "event") == "note" { text(event, "type") } else { text(event, "event") }
}

fn line(event: &Value, short: bool) -> String {
    let said = ["text", "message", "reason", "question", "answer", "title", "status", "path"]
        .iter()
        .map(|key| text(event, key))
        .find(|said| !said.is_empty())
        .unwrap_or_default();
    let (kind, time) = (kind(event), clock(event));
    let task = match text(event, "task") {
        "" => String::new(),
        id => format!(" task={id}"),
    };
    let words = if short {
        format!("{time} {kind} {said}")
    } else {
        format!("[{time}] {kind:<15} agent={}{task} {said}", agent(event))
    };
    clean_text(words.trim_end()) + "\n"
}

/// Tells whether an event was made by an agent of a run: both ids begin alike, as far as they go.
fn of_run(event: &Value, run: &str) -> bool {
    let run = super::plain(run, super::RUN_CHARS);
    let made_by = text(event, "agent").strip_prefix(super::AGENT).and_then(|it| it.split_once(':'));
    !run.is_empty() && made_by.is_some_and(|(_, made_by)| made_by.starts_with(&run))
}

pub(super) fn show(context: &Context, args: &NeoLogs) -> Result<Reply, Refusal> {
    let mut engine = context.engine(Access::Read)?;
    // An id is a run's, or a task's when there is such a task.
    let named = args.id.as_deref();
    let task = named.and_then(|id| {
        let id = find::task(&mut engine, context, id).ok()?;
        let query = Query::Task { id };
        let answer = engine.query(&context.asker(), query).ok()?;
        answer.pointer("/task/id").and_then(Value::as_str).map(str::to_owned)
    });
    let run = args.run.as_deref().or(named.filter(|_| task.is_none()));
    if args.follow && run.is_none() && task.is_none() {
        return print::refuse("--follow requires --run <runId>");
    }
    let fits = |event: &Value| {
        let wanted = args
            .kind
            .as_deref()
            .is_none_or(|wanted| kind(event) == wanted || text(event, "event") == wanted);
        let here = task.as_deref().is_none_or(|id| text(event, "task") == id);
        wanted && here && run.is_none_or(|run| of_run(event, run))
    };
    let events = last(&mut engine, context, usize::from(args.last), task.as_deref(), &fits)?;
    if args.output.as_deref() == Some("json") {
        let newest_first: Vec<Value> = events.into_iter().rev().collect();
        return Ok(print::json(&Value::Array(newest_first)));
    }
    let said: String = events.iter().map(|event| line(event, args.short)).collect();
    if args.follow {
        let _ = output::text(&said);
        let from = events.last().and_then(|event| event.get("seq")).and_then(Value::as_u64);
        let mut engine = context.engine(Access::Write)?;
        let mut show =
            |event: &Value| !fits(event) || output::text(&line(event, args.short)).is_ok();
        engine.tail(&context.asker(), from, &mut show)?;
        return Ok(Reply::printed());
    }
    if events.is_empty() {
        return Err(Refusal::new(Code::NotFound, "No event logs found.")
            .hint("without an id `comity neo logs` shows the last events of all"));
    }
    Ok(Reply::new(json!({"events": events}), Shape::Text(said)))
}
