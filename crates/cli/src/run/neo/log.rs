//! `neo log` and `neo logs`.

use super::print;
use crate::args::{Global, NeoLog, NeoLogs};
use crate::env;
use crate::local_time::clock_in_words;
use crate::output::{self, Reply};
use crate::terminal::neutral;
use comity_api::{ById, EventFilter, EventView, Nothing, Since, TailEvents, WriteNote, op};
use comity_bridge::neo::records::{AGENT, short_agent};
use comity_bridge::neo::{find, step};
use comity_core::chain::Hash;
use comity_core::command::NewMemory;
use comity_core::limits::PAGE_MAX;
use comity_core::memory::MemoryType;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Caller, Service, Stop, StreamHandler};
use comity_project::Context;
use comity_project::identity::neo_word;
use comity_project::store::Access;
use comity_protocol::neotx::records::blocker_message;
use comity_protocol::neotx::words::{self, LOG_TYPES};
use serde_json::json;

/// Entries that are shown when nothing is logged.
const RECENT: usize = 20;
/// Events that are read at once on the way back through the log.
const WINDOW: u64 = 500;

pub(super) fn run(global: &Global, args: NeoLog) -> Result<Reply, Refusal> {
    // Here `--repo` is neo's: a path that the entry is about.
    let mut own = global.clone();
    let repo = own.repo.take().or(args.scope).or(env::var("NEO_REPOSITORY")?);
    let context = env::project(&own)?;
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
    // A discovery also becomes a memory.
    let kept = match (words::log_target(&kind), args.procedure, args.knowledge) {
        (_, true, _) => Some(MemoryType::Procedure),
        ("knowledge", false, _) if !args.memory => Some(MemoryType::Fact),
        (_, false, true) => Some(MemoryType::Fact),
        _ => None,
    };
    let memory = kept.map(|kind| NewMemory {
        text: text.clone(),
        kind,
        scope: repo,
        tags: Vec::new(),
        expires: None,
        task: None,
        supersedes: None,
    });
    let service = context.service(Access::Write)?;
    let note = WriteNote { kind, text, task: None, paths: Vec::new() };
    let answer = service.call::<op::Note>(&step(&context.caller(), 1), note)?;
    if let Some(memory) = memory {
        service.call::<op::MemoryWrite>(&step(&context.caller(), 2), memory)?;
    }
    Ok(Reply::text(answer, print::success(&said)))
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
    Reply::text(json!({"preview": inbox}), said)
}

/// An id in the form of a UUID, for a message that is only shown.
fn random_id(now: &str, message: &str) -> String {
    let seed = format!("{now} {} {message}", std::process::id());
    let hash = Hash::of(seed.as_bytes()).to_string();
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The last events that fit, the oldest first. The log is read backwards, so that a long log costs nothing.
fn last(
    service: &Service,
    caller: &Caller,
    most: usize,
    task: Option<&str>,
    fits: &dyn Fn(&EventView) -> bool,
) -> Result<Vec<EventView>, Refusal> {
    let mut end = service.call::<op::LogHead>(caller, Nothing {})?.seq;
    let mut found: Vec<EventView> = Vec::new();
    while end > 0 && found.len() < most {
        let start = end.saturating_sub(WINDOW);
        let filter = EventFilter {
            task: task.map(str::to_owned),
            since: Some(Since::Seq(start)),
            limit: Some(PAGE_MAX),
            ..EventFilter::default()
        };
        let events = service.call::<op::EventList>(caller, filter)?.events.into_iter();
        let mut before: Vec<EventView> =
            events.filter(|event| event.seq <= end && fits(event)).collect();
        before.append(&mut found);
        found = before;
        end = start;
    }
    let first = found.len().saturating_sub(most);
    Ok(found.split_off(first))
}

fn clock(event: &EventView) -> String {
    event.ts.to_string().get(11..19).unwrap_or_default().to_owned()
}

fn agent(event: &EventView) -> String {
    match event.agent.as_str() {
        agent if agent.starts_with(AGENT) => short_agent(agent),
        agent => agent.to_owned(),
    }
}

fn recent(context: &Context) -> Result<Reply, Refusal> {
    let service = context.service(Access::Read)?;
    let is_note = |event: &EventView| event.event == "note";
    let mut entries = last(&service, &context.caller(), RECENT, None, &is_note)?;
    entries.reverse();
    if entries.is_empty() {
        let said = "No log entries found.\n".to_owned();
        return Ok(Reply::text(json!({"events": []}), said));
    }
    let row = |event: &EventView| {
        vec![
            clock_in_words(event.ts),
            event.text("type").unwrap_or_default().to_owned(),
            agent(event),
            print::cut(event.text("text").unwrap_or_default(), 60, "..."),
        ]
    };
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    let said = print::table(&["TIME", "TYPE", "AGENT", "MESSAGE"], &rows);
    Ok(Reply::text(json!({"events": entries}), said))
}

/// The type of a note, or the name of another event.
fn kind(event: &EventView) -> &str {
    match event.event.as_str() {
        "note" => event.text("type").unwrap_or_default(),
        name => name,
    }
}

fn line(event: &EventView, short: bool) -> String {
    let said = ["text", "message", "reason", "question", "answer", "title", "status", "path"]
        .iter()
        .filter_map(|key| event.text(key))
        .find(|said| !said.is_empty())
        .unwrap_or_default();
    let (kind, time) = (kind(event), clock(event));
    let task = event.task.as_ref().map(|id| format!(" task={id}")).unwrap_or_default();
    let words = if short {
        format!("{time} {kind} {said}")
    } else {
        format!("[{time}] {kind:<15} agent={}{task} {said}", agent(event))
    };
    neutral(words.trim_end()) + "\n"
}

/// Tells whether an agent of the run made the event. The run may be a prefix of the full id.
fn of_run(event: &EventView, run: &str) -> bool {
    let run = neo_word(run);
    let made_by = event.agent.strip_prefix(AGENT).and_then(|it| it.split_once(':'));
    !run.is_empty() && made_by.is_some_and(|(_, made_by)| made_by.starts_with(&run))
}

/// Shows events as they come, until somebody ends it.
pub(super) fn follow(
    context: &Context,
    from: Option<u64>,
    short: bool,
    fits: impl Fn(&EventView) -> bool + Send + 'static,
) -> Result<Reply, Refusal> {
    let show = move |event: &EventView| !fits(event) || output::text(&line(event, short)).is_ok();
    let service = context.service(Access::Write)?;
    let (input, stop, caller) = (TailEvents { from }, Stop::default(), context.caller());
    StreamHandler::<op::EventTail>::stream(&service, &caller, input, Box::new(show), &stop)?;
    Ok(Reply::printed())
}

pub(super) fn show(context: &Context, args: &NeoLogs) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Read)?, context.caller());
    // The id names a task if there is such a task, and a run otherwise.
    let named = args.id.as_deref();
    let task = named.and_then(|id| {
        let id = find::task(&service, &caller, id).ok()?;
        Some(service.call::<op::TaskShow>(&caller, ById { id }).ok()?.task.id)
    });
    let run = args.run.as_deref().or(named.filter(|_| task.is_none()));
    if args.follow && run.is_none() && task.is_none() {
        return print::refuse("--follow requires --run <runId>");
    }
    // A run of comity has one name that acts in it.
    let actor = run.and_then(|run| super::fleet::actor_of(context, run));
    let (wanted, of_task, by_run) = (args.kind.clone(), task.clone(), run.map(str::to_owned));
    let fits = move |event: &EventView| {
        let is_kind = |wanted: &String| kind(event) == wanted || event.event == *wanted;
        let here = of_task.is_none() || event.task == of_task;
        wanted.as_ref().is_none_or(is_kind)
            && here
            && by_run.as_ref().is_none_or(|run| {
                actor.as_deref() == Some(event.agent.as_str()) || of_run(event, run)
            })
    };
    let events = last(&service, &caller, usize::from(args.last), task.as_deref(), &fits)?;
    if args.output.as_deref() == Some("json") {
        let newest_first: Vec<EventView> = events.into_iter().rev().collect();
        return Ok(print::json(&newest_first));
    }
    let said: String = events.iter().map(|event| line(event, args.short)).collect();
    if args.follow {
        let _ = output::text(&said);
        let from = events.last().map(|event| event.seq + 1);
        return follow(context, from, args.short, fits);
    }
    if events.is_empty() {
        return Err(Refusal::new(Code::NotFound, "No event logs found.")
            .hint("without an id `comity neo logs` shows the last events of all"));
    }
    Ok(Reply::text(json!({"events": events}), said))
}
