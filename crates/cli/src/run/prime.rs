//! `comity prime`: what an agent needs to know at the start of a session, in few words.

use crate::args::Global;
use crate::env;
use crate::output::Reply;
use comity_api::{
    AskBrief, ById, DecisionFilter, LeaseFilter, ListDirectives, ListMemories, Operation,
    TaskFilter, op,
};
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_engine::{Caller, Handler, Service};
use comity_project::identity::{Said, claude_process, keep_first_session};
use comity_project::store::Access;
use comity_project::{Context, Machine};
use comity_protocol::brief_text;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;
use std::io::Read;

/// The longest text.
const CHARACTERS_MAX: usize = 1_600;
const HELD_MAX: usize = 5;
const READY_MAX: usize = 3;
const LEASES_MAX: usize = 5;
const DIRECTIVES_MAX: usize = 3;
const MEMORIES_MAX: usize = 3;
/// Entries of a list that are looked through.
const LOOKED_AT: usize = 100;
/// The longest title or text of an entry.
const ENTRY_CHARACTERS_MAX: usize = 90;
/// The most bytes of a hook's input.
const HOOK_BYTES_MAX: u64 = 1024 * 1024;

const LOOP: &str = "Loop: claim_task (shell: comity task claim --start) → lease_files before you edit other files → work on \
the claim's branch, commit → record progress and gates → submit_work (comity task submit ID). \
A refusal has a hint: follow the hint.";
const RULES: &str = "Rules: changes to files that others hold cannot be merged; ask instead of guessing (ask; comity decision \
ask); 15 minutes without a call lose the claim (record heartbeat; comity agent heartbeat).";

/// What a client says on the standard input of a hook.
#[derive(Default, Deserialize)]
#[serde(default)]
struct HookInput {
    session_id: Option<String>,
    hook_event_name: Option<String>,
}

/// Prints the text. As a hook it never fails: a session must start whatever the store is like.
pub(super) fn run(global: &Global, hook: bool, client: Option<String>) -> Result<Reply, Refusal> {
    if !hook {
        let machine = env::machine()?;
        let context = Context::find(&machine, &global.asked())?;
        let text = text(&context, &context.actor, false)?;
        return Ok(Reply::text(json!({"me": context.actor.as_str(), "text": text}), text));
    }
    Ok(of_hook(global, client).unwrap_or_else(|_| Reply::printed()))
}

fn of_hook(global: &Global, client: Option<String>) -> Result<Reply, Refusal> {
    let mut said = String::new();
    let read = std::io::stdin().take(HOOK_BYTES_MAX).read_to_string(&mut said);
    let input: HookInput =
        read.ok().and_then(|_| serde_json::from_str(&said).ok()).unwrap_or_default();
    let machine = env::machine()?;
    let context = Context::find(&machine, &global.asked())?;
    if !context.is_far() && !context.store.exists() {
        return Ok(Reply::printed());
    }
    let me = whose(&context, &machine, client, input.session_id)?;
    // A server tells what is new with its answers, and gives the whole brief when it is asked.
    let text = text(&context, &me, !context.is_far())?;
    let event = input.hook_event_name.unwrap_or_else(|| "SessionStart".to_owned());
    let answer = json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}});
    let line = format!("{answer}\n");
    Ok(Reply::text(answer, line))
}

/// Finds out whose session begins, and keeps the first session of the client's process.
fn whose(
    context: &Context,
    machine: &Machine,
    client: Option<String>,
    session: Option<String>,
) -> Result<AgentId, Refusal> {
    let process = claude_process(&machine.environment);
    if let (Some(process), Some(session)) = (process, &session) {
        // Without the file a later session of the process is another agent; that is no reason to fail.
        drop(keep_first_session(&context.sessions(), process, session));
    }
    let said = Said { client, session, process, ..Said::default() };
    Ok(context.client(machine, &said)?.map_or_else(|| context.actor.clone(), |known| known.actor))
}

/// One look at the store, for one agent.
struct Look {
    service: Service,
    caller: Caller,
}

impl Look {
    fn ask<O: Operation>(&self, input: O::Input) -> Result<O::Output, Refusal>
    where
        Service: Handler<O>,
    {
        self.service.call::<O>(&self.caller, input)
    }
}

/// Makes the text. What comes last is left out first. At the start of a session the context is fresh, and everything that
/// others left comes again.
fn text(context: &Context, me: &AgentId, fresh: bool) -> Result<String, Refusal> {
    let caller = Caller { actor: me.clone(), ..context.caller() };
    let look = Look { service: context.service(Access::Read)?, caller };
    let held = held(&look)?;
    let parts = [
        format!("You are {me} in {} (comity coordinates the agents here).\n", context.repo),
        holds(&look, &held)?,
        ready(&look)?,
        leases(&look)?,
        format!("{LOOP}\n"),
        format!("{RULES}\n"),
        directives(&look)?,
        memories(&look, &held)?,
    ];
    let mut text = String::new();
    for line in parts.iter().flat_map(|part| part.lines()) {
        if text.chars().count() + line.chars().count() + 1 > CHARACTERS_MAX {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    let room = CHARACTERS_MAX.saturating_sub(text.chars().count());
    text.push_str(&from_others(&look, fresh, room)?);
    Ok(text)
}

/// What others left for the tasks at hand, as far as there is room, between marks: it is data, whatever it says.
fn from_others(look: &Look, fresh: bool, room: usize) -> Result<String, Refusal> {
    let mut brief = if fresh {
        let brief = look.service.fresh_brief(&look.caller, None)?;
        // The text goes out with the end of this process.
        look.service.delivered(&look.caller)?;
        brief
    } else {
        look.ask::<op::Brief>(AskBrief::default())?.brief
    };
    // These have lines of their own.
    (brief.memories, brief.neighbours) = (Vec::new(), Vec::new());
    let mut lines: Vec<String> = brief_text::lines(&brief).iter().map(|line| entry(line)).collect();
    while !lines.is_empty() {
        let text = brief_text::between_marks(&lines);
        if text.chars().count() <= room {
            return Ok(text);
        }
        lines.pop();
    }
    Ok(String::new())
}

fn held(look: &Look) -> Result<Vec<TaskView>, Refusal> {
    let agent = match look.ask::<op::AgentShow>(ById { id: look.caller.actor.to_string() }) {
        Ok(answer) => answer.agent,
        Err(refusal) if refusal.code == Code::NotFound => return Ok(Vec::new()),
        Err(refusal) => return Err(refusal),
    };
    let ids = agent.holds.tasks.into_iter().take(HELD_MAX);
    ids.map(|id| Ok(look.ask::<op::TaskShow>(ById { id })?.task)).collect()
}

fn holds(look: &Look, held: &[TaskView]) -> Result<String, Refusal> {
    if held.is_empty() {
        return Ok("You hold no task.\n".to_owned());
    }
    let mut lines = String::new();
    let input = DecisionFilter { all: true, limit: Some(LOOKED_AT), after: None };
    let asked = look.ask::<op::DecisionList>(input)?.decisions;
    for task in held {
        let _ = write!(lines, "You hold {} {}", task.id, entry(&task.title));
        if let Some(claim) = &task.claim {
            let _ = write!(lines, " (fence {}, until {})", claim.fence, claim.expires_at);
        }
        let _ = writeln!(lines, ", branch {}.", task.branch.as_deref().unwrap_or("none"));
        let of_task = asked.iter().filter(|one| one.task.as_deref() == Some(&task.id));
        for one in of_task.filter(|one| one.answer.is_some()) {
            let answer = one.answer.as_deref().unwrap_or_default();
            let _ = writeln!(lines, "  {}: {} → {}", one.id, entry(&one.question), entry(answer));
        }
    }
    Ok(lines)
}

fn ready(look: &Look) -> Result<String, Refusal> {
    let input = TaskFilter { ready: true, limit: Some(READY_MAX), ..TaskFilter::default() };
    let tasks = look.ask::<op::TaskList>(input)?.tasks;
    let mut lines = String::new();
    for task in &tasks {
        let _ = writeln!(lines, "Ready: {} {} {}", task.id, task.priority, entry(&task.title));
    }
    Ok(lines)
}

fn leases(look: &Look) -> Result<String, Refusal> {
    let input = LeaseFilter { owner: None, limit: Some(LOOKED_AT), after: None };
    let leases = look.ask::<op::LeaseList>(input)?.leases;
    let me = look.caller.actor.as_str();
    let mut lines = String::new();
    for lease in leases.iter().filter(|lease| lease.owner != me).take(LEASES_MAX) {
        let _ = writeln!(
            lines,
            "Held by others: {} by {} until {}",
            entry(&lease.path),
            lease.owner,
            lease.expires_at
        );
    }
    Ok(lines)
}

fn directives(look: &Look) -> Result<String, Refusal> {
    let (active, limit) = (true, Some(DIRECTIVES_MAX));
    let input = ListDirectives { active, limit, ..ListDirectives::default() };
    let mut lines = String::new();
    for one in look.ask::<op::DirectiveList>(input)?.directives {
        let _ = writeln!(lines, "Directive {}: {}", one.id, entry(&one.text));
    }
    Ok(lines)
}

/// Memories whose scope is one of the held files, or around it.
fn memories(look: &Look, held: &[TaskView]) -> Result<String, Refusal> {
    let files: Vec<&str> = held.iter().flat_map(|task| &task.files).map(String::as_str).collect();
    if files.is_empty() {
        return Ok(String::new());
    }
    let input = ListMemories { limit: Some(LOOKED_AT), ..ListMemories::default() };
    let fits =
        |scope: &str| files.iter().any(|file| file.starts_with(scope) || scope.starts_with(file));
    let all = look.ask::<op::MemoryList>(input)?.memories;
    let mut lines = String::new();
    let fitting = all.iter().filter(|memory| fits(&memory.scope));
    for memory in fitting.take(MEMORIES_MAX) {
        let _ = writeln!(lines, "Remember {}: {}", memory.id, entry(&memory.text));
    }
    Ok(lines)
}

/// Returns a text as a part of one line.
fn entry(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(ENTRY_CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}
