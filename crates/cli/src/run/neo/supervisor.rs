//! `neo supervise`, `neo supervisor`, `neo agents` and `neo child`: the supervisor in neo's words.

use super::print;
use crate::args::{Global, NeoChild, NeoOutput, NeoSupervise, NeoSupervisor, SuperviseArgs};
use crate::output::{self, Reply};
use crate::terminal::neutral;
use comity_api::{AgentDefinition, EventFilter, EventView, Nothing, Since, WriteNote, op};
use comity_core::command::NewTask;
use comity_core::ids::SUPERVISOR;
use comity_core::limits::PAGE_MAX;
use comity_core::money::Usd;
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use comity_engine::Handler;
use comity_fleet::Definitions;
use comity_fleet::supervise::{Post, post, stop};
use comity_project::Context;
use comity_project::store::Access;
use serde_json::{Value, json};

/// What `neo supervisor activity` shows, as neo names it.
const ACTIVITIES: [&str; 7] =
    ["decision", "action", "error", "event", "message", "plan", "dispatch"];
const ACTIVITIES_MAX: usize = 500;

pub(super) fn supervise(
    context: &Context,
    args: NeoSupervise,
    global: &Global,
) -> Result<Reply, Refusal> {
    if args.status {
        return shown(context, global.json);
    }
    if args.attach {
        return attach(context);
    }
    if args.kill {
        if !stop(context)? {
            return print::refuse("No supervisor running");
        }
        return Ok(Reply::text(json!({"stopped": true}), print::success("Supervisor stopped")));
    }
    if let Some(text) = &args.message {
        return message(context, text);
    }
    if let Some(objective) = args.objective {
        return lead(context, objective, args.criteria, args.budget, args.detach, global);
    }
    if args.parent.is_some() || args.criteria.is_some() || args.budget.is_some() {
        return print::refuse("--parent, --criteria and --budget need --objective");
    }
    let own = SuperviseArgs { detach: args.detach, ..SuperviseArgs::default() };
    crate::run::supervise::run(context, &own, global)
}

/// Starts a supervisor for one objective; criteria are parted by commas.
fn lead(
    context: &Context,
    objective: String,
    criteria: Option<String>,
    budget: Option<f64>,
    detach: bool,
    global: &Global,
) -> Result<Reply, Refusal> {
    let criteria = criteria.unwrap_or_default();
    let criterion: Vec<String> = criteria
        .split(',')
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect();
    if criterion.is_empty() {
        return print::refuse("--objective needs --criteria a,b");
    }
    let budget = match budget.map(Usd::from_dollars) {
        Some(None) => return print::refuse("Invalid --budget: must be a number of dollars"),
        given => given.flatten(),
    };
    let own = SuperviseArgs {
        objective: Some(objective),
        criterion,
        budget,
        detach,
        ..SuperviseArgs::default()
    };
    crate::run::supervise::run(context, &own, global)
}

/// A message is a note; one that begins with a verb of a ticket is a task, too.
pub(super) fn message(context: &Context, text: &str) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let caller = context.caller();
    let table = comity_project::supervisor::table(&context.root)?;
    let note = WriteNote {
        kind: "action".to_owned(),
        text: format!("to the supervisor: {text}"),
        task: None,
        paths: Vec::new(),
    };
    service.call::<op::Note>(&caller, note)?;
    if !table.triage.begins_a_ticket(text) {
        let said = print::success("Message sent to the supervisor");
        return Ok(Reply::text(json!({"message": text}), said));
    }
    let new = NewTask { title: text.to_owned(), ..NewTask::default() };
    let answer = service.call::<op::TaskCreate>(&caller, new)?;
    let said = format!("Task {} created for the supervisor", answer.task.id);
    Ok(Reply::text(answer, print::success(&said)))
}

/// Puts a task where the supervisor finds it, and does what is due now. A supervisor that is at work already does it itself.
pub(super) fn hand_over(
    context: &Context,
    task: Option<String>,
    global: &Global,
) -> Result<Reply, Refusal> {
    let Some(title) = task else { return print::refuse("Usage: neo do <task>") };
    let service = context.service(Access::Write)?;
    let new = NewTask { title, ..NewTask::default() };
    let answer = service.call::<op::TaskCreate>(&context.caller(), new)?;
    let said = format!("Task {} created for the supervisor", answer.task.id);
    let reply = Reply::text(answer, print::success(&said));
    let beat = SuperviseArgs { once: true, ..SuperviseArgs::default() };
    Ok(match crate::run::supervise::run(context, &beat, global) {
        Ok(_) => reply,
        Err(refusal) => reply.note(format!("no beat was done now: {}", refusal.message)),
    })
}

/// Shows what the supervisor does from now on, until somebody ends it.
fn attach(context: &Context) -> Result<Reply, Refusal> {
    let it = post(context)?;
    if it.state == "stopped" {
        return print::refuse("No supervisor running");
    }
    let _ = output::text(&words(&it));
    let fits = |event: &EventView| event.agent == SUPERVISOR;
    super::log::follow(context, None, false, fits)
}

fn shown(context: &Context, json: bool) -> Result<Reply, Refusal> {
    let it = post(context)?;
    if json {
        return Ok(print::json(&state(&it)));
    }
    let said = words(&it);
    Ok(Reply::text(json!({"supervisor": it}), said))
}

fn words(it: &Post) -> String {
    let mut said = format!("Supervisor \"{}\": {}\n", it.name, it.state);
    let lines = [
        ("PID", it.pid.map(|pid| pid.to_string())),
        ("Host", it.host.clone()),
        ("Started", it.since.clone()),
        ("Last heartbeat", it.last_beat.clone()),
        ("Active runs", Some(it.live_runs.to_string())),
        ("Queued runs", Some(it.queued_runs.to_string())),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            said += &format!("  {name}: {}\n", neutral(&value));
        }
    }
    said
}

/// The fields of neo's `state.json` that comity knows.
fn state(it: &Post) -> Value {
    json!({
        "name": it.name,
        "status": it.state,
        "pid": it.pid,
        "startedAt": it.since,
        "lastHeartbeat": it.last_beat,
        "activeRuns": it.live_runs,
        "queuedRuns": it.queued_runs,
    })
}

pub(super) fn supervisor(
    context: &Context,
    command: NeoSupervisor,
    json: bool,
) -> Result<Reply, Refusal> {
    match command {
        NeoSupervisor::Status { .. } => shown(context, json),
        NeoSupervisor::Activity { kind, since, until, limit, .. } => {
            if kind.as_ref().is_some_and(|kind| !ACTIVITIES.contains(&kind.as_str())) {
                let all = ACTIVITIES.join(", ");
                return print::refuse(format!("Invalid --type: must be one of {all}"));
            }
            let time = |text: Option<String>| {
                let read = |text: String| {
                    Timestamp::parse(&text)
                        .ok_or_else(|| Refusal::input(format!("Invalid time: {text}")))
                };
                text.map(read).transpose()
            };
            let (since, until) = (time(since)?, time(until)?);
            let most = usize::from(limit).min(ACTIVITIES_MAX);
            let found = activity(context, kind.as_deref(), since, until, most)?;
            let entries: Vec<Value> = found.iter().map(entry).collect();
            if json {
                return Ok(print::json(&entries));
            }
            if found.is_empty() {
                output::aside("No activity found.\n");
                return Ok(Reply::printed());
            }
            let line = |event: &EventView| {
                let at = event.ts.to_string();
                let at = at.get(11..19).unwrap_or_default();
                neutral(&format!("{at} {:<9} {}", activity_of(event), summary(event))) + "\n"
            };
            let said: String = found.iter().map(line).collect();
            Ok(Reply::text(json!({"activity": entries}), said))
        }
    }
}

/// What an event is among the activities of neo.
fn activity_of(event: &EventView) -> &'static str {
    match event.event.as_str() {
        "supervised" if event.text("run").is_some() => "dispatch",
        "run_queued" => "dispatch",
        "supervised" => "action",
        "decision_asked" | "decision_answered" | "decision_expired" => "decision",
        "message_sent" => "message",
        "error" => "error",
        "note" => match event.text("type").unwrap_or_default() {
            "decision" => "decision",
            "action" => "action",
            "blocker" => "error",
            _ => "event",
        },
        _ => "event",
    }
}

fn summary(event: &EventView) -> String {
    let keys = ["because", "text", "message", "question", "answer", "reason", "title", "to"];
    let said = keys.iter().filter_map(|key| event.text(key)).find(|said| !said.is_empty());
    let task = event.task.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
    format!("{task}{}", said.unwrap_or(&event.event)).replace('\n', " ")
}

fn entry(event: &EventView) -> Value {
    json!({
        "id": event.seq.to_string(),
        "type": activity_of(event),
        "summary": summary(event),
        "timestamp": event.ts,
    })
}

fn activity(
    context: &Context,
    kind: Option<&str>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    most: usize,
) -> Result<Vec<EventView>, Refusal> {
    let service = context.service(Access::Read)?;
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (since, limit) = (since.map(Since::Time), Some(PAGE_MAX));
        let filter = EventFilter { since, limit, after, ..EventFilter::default() };
        let page = service.call::<op::EventList>(&context.caller(), filter)?;
        found.extend(page.events.into_iter().filter(|event| {
            kind.is_none_or(|kind| activity_of(event) == kind)
                && until.is_none_or(|until| event.ts <= until)
        }));
        // The last ones are wanted, and the log may be long.
        let first = found.len().saturating_sub(most);
        found.drain(..first);
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

pub(super) fn agents(context: &Context, form: &NeoOutput) -> Result<Reply, Refusal> {
    let known = Definitions { root: context.root.dir.clone() };
    let agents = Handler::<op::AgentDefineList>::handle(&known, &context.caller(), Nothing {})?
        .output
        .agents;
    let sandbox = |writable: bool| if writable { "writable" } else { "readonly" };
    let source = |file: &Option<String>| if file.is_some() { "project" } else { "built-in" };
    let list: Vec<Value> = agents
        .iter()
        .map(|agent| {
            json!({
                "name": agent.name,
                "description": agent.description,
                "model": agent.model,
                "sandbox": sandbox(agent.writable),
                "source": source(&agent.file),
            })
        })
        .collect();
    if form.is_json() {
        return Ok(print::json(&list));
    }
    let row = |agent: &AgentDefinition| {
        vec![
            agent.name.clone(),
            agent.model.clone().unwrap_or_else(|| "-".to_owned()),
            sandbox(agent.writable).to_owned(),
            source(&agent.file).to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = agents.iter().map(row).collect();
    let said = print::table(&["NAME", "MODEL", "SANDBOX", "SOURCE"], &rows);
    Ok(Reply::text(json!({"agents": list}), said))
}

pub(super) fn child(
    context: &Context,
    command: NeoChild,
    global: &Global,
) -> Result<Reply, Refusal> {
    let NeoChild::Spawn { objective, criteria, budget, .. } = command;
    let Some(objective) = objective else {
        return print::refuse("Usage: neo child spawn --objective <text> --criteria a,b");
    };
    lead(context, objective, criteria, budget, true, global)
}
