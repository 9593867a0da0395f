//! `comity with …`

use crate::args::WithArgs;
use crate::child::{self, Ended};
use crate::env;
use crate::output::{self, Reply};
use crate::wording::CommandLine;
use comity_api::{ById, GateAnswer, RecordGate, op};
use comity_core::decide::known_gate;
use comity_core::ids::Fence;
use comity_core::observed::{RunSeen, is_same_command};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Deliverable;
use comity_core::view::{GateView, TaskView};
use comity_engine::{Caller, Service};
use comity_guard::git::{Git, snapshot};
use comity_guard::{About, Before, CheckSettings};
use comity_project::Context;
use comity_project::store::Access;
use serde_json::{Value, json};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

/// The task that a command runs for, and the caller's grant on it.
struct Held {
    task: TaskView,
    /// The caller as the holder of the claim; none where the caller holds no claim on the task.
    holder: Option<Caller>,
}

impl Held {
    /// Tells whether the claim is the one that a fence belongs to.
    fn is_under(&self, fence: Option<Fence>) -> bool {
        fence.is_some() && self.holder.as_ref().is_some_and(|holder| holder.fence == fence)
    }
}

/// What was recorded, or why nothing was.
#[derive(Default)]
struct Recorded {
    gate: Option<GateView>,
    error: Option<Refusal>,
    notes: Vec<String>,
}

pub(super) fn run(context: &Context, args: &WithArgs, json: bool) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let held = find(context, &service, args)?;
    if let (Some(gate), Some(Held { task, .. }), false) = (&args.gate, &held, args.new) {
        let own = task.gates.iter().map(|gate| gate.name.as_str());
        known_gate(gate, own, &service.settings().policy)?;
    }
    let observer = env::observer(context);
    let before = args.gate.as_ref().map(|_| observer.before_run());
    let began = Instant::now();
    let holder = held.as_ref().and_then(|held| held.holder.as_ref());
    let ended = run_alive(&service, holder, args)?;
    let took = began.elapsed();
    let mut recorded = Recorded::default();
    if let Some(why) = &ended.not_started {
        recorded.notes.push(format!("error: {why}"));
    }
    if let (Some(gate), Some(held), Some(before)) = (&args.gate, &held, &before) {
        let tree = observer.after_run(before);
        let is_other_command = is_other(context, &service, (&held.task.id, gate), args)?;
        let run = RunSeen { is_other_command, tree, report: None };
        record(context, &service, (&held.task, gate), (before, run), &ended, &mut recorded);
    }
    let kept = match (&held, holder) {
        (Some(held), Some(holder)) => Some(is_kept(&service, held, holder, &mut recorded.notes)?),
        _ => None,
    };
    if json {
        output::last_line(&answer(args, &held, &ended, kept, took.as_millis(), recorded));
        return Ok(Reply::printed().exit(ended.exit));
    }
    if let Some(refusal) = &recorded.error {
        let (message, hint) = (&refusal.message, refusal.next_step().worded(&CommandLine));
        recorded.notes.insert(0, format!("note: comity recorded nothing: {message}; {hint}"));
    }
    Ok(Reply::printed().exit(ended.exit).noted(recorded.notes))
}

/// Finds the task: the one that is named, the one of the fence, or the only one that the caller holds.
fn find(context: &Context, service: &Service, args: &WithArgs) -> Result<Option<Held>, Refusal> {
    let caller = context.caller();
    let show = |id: String| service.call::<op::TaskShow>(&caller, ById { id });
    let own = |task: &TaskView| {
        let claim = task.claim.as_ref()?;
        let fence = Fence::new(claim.fence);
        (claim.agent == caller.actor.as_str()).then(|| Caller {
            fence,
            key: None,
            observer: None,
            ..caller.clone()
        })
    };
    if let Some(id) = &args.task {
        let task = show(id.clone())?.task;
        return Ok(Some(Held { holder: own(&task), task }));
    }
    let me = service.call::<op::AgentShow>(&caller, ById { id: caller.actor.to_string() });
    let ids = match me {
        Ok(answer) => answer.agent.holds.tasks,
        Err(refusal) if refusal.code == Code::NotFound => Vec::new(),
        Err(refusal) => return Err(refusal),
    };
    let mut found = Vec::new();
    for id in ids {
        let task = show(id)?.task;
        found.extend(own(&task).map(|holder| Held { holder: Some(holder), task }));
    }
    if found.len() > 1 && found.iter().any(|held| held.is_under(caller.fence)) {
        found.retain(|held| held.is_under(caller.fence));
    }
    match found.len() {
        0 if args.gate.is_some() => Err(Refusal::input("you hold no task")
            .hint("name the task that the evidence is for with --task ID")),
        0 | 1 => Ok(found.pop()),
        _ => {
            let ids: Vec<&str> = found.iter().map(|held| held.task.id.as_str()).collect();
            Err(Refusal::input(format!("you hold several tasks: {}", ids.join(", ")))
                .hint("name one of them with --task ID"))
        }
    }
}

/// Runs the command, and gives signs of life for the claim meanwhile.
fn run_alive(
    service: &Service,
    holder: Option<&Caller>,
    args: &WithArgs,
) -> Result<Ended, Refusal> {
    std::thread::scope(|scope| {
        let (stop, stopped) = sync_channel(1);
        if let Some(holder) = holder {
            scope.spawn(move || service.keep_alive(holder, &stopped));
        }
        let ended = child::run(&args.command);
        drop(stop);
        ended
    })
}

/// Tells whether the settings that judge the work name another command for a gate.
fn is_other(
    context: &Context,
    service: &Service,
    (task, gate): (&str, &str),
    args: &WithArgs,
) -> Result<bool, Refusal> {
    let words: Option<Vec<&str>> = args.command.iter().map(|word| word.to_str()).collect();
    let config = match context.git_tree() {
        Some(tree) => {
            let (git, task) = (Git::at(tree), service.task(&context.caller(), task)?);
            let head = git.commit("HEAD");
            let about = About { task: Some(&task), work: head.as_deref() };
            CheckSettings::of(context, &git, about)?.config
        }
        None => context.config.clone(),
    };
    let is_set = |set: &str| words.as_deref().is_some_and(|words| is_same_command(set, words));
    Ok(config.gate_command(gate).is_some_and(|set| !is_set(set)))
}

fn record(
    context: &Context,
    service: &Service,
    (task, gate): (&TaskView, &str),
    (before, run): (&Before, RunSeen),
    ended: &Ended,
    recorded: &mut Recorded,
) {
    let nothing = match (&ended.not_started, ended.stopped_by) {
        (Some(_), _) => Some("the command did not start"),
        (_, Some(_)) => Some("somebody stopped the command"),
        (None, None) => None,
    };
    if let Some(why) = nothing {
        recorded.notes.push(format!("note: comity recorded nothing for gate {gate}: {why}"));
        return;
    }
    let doubt = run.doubt();
    let done = tested_commit(context, task, before).and_then(|commit| {
        let (id, pass) = (task.id.clone(), ended.exit == 0);
        let (gate, new) = (gate.to_owned(), true);
        let input = RecordGate { id, gate, pass, report: None, commit, new };
        let caller = Caller { ran: Some(run), ..context.caller() };
        service.call::<op::GateRecord>(&caller, input)
    });
    match done {
        Ok(GateAnswer { gate: view }) => {
            let word = if ended.exit == 0 { "pass" } else { "fail" };
            let how = match &doubt {
                None => "observed".to_owned(),
                Some(doubt) => format!("claimed only, because {doubt}"),
            };
            recorded.notes.push(format!("note: {}, gate {gate}: {word} ({how})", task.id));
            recorded.gate = Some(view);
        }
        Err(refusal) => recorded.error = Some(refusal),
    }
}

/// Returns what was tested: the commit, or the snapshot that a task that must not commit is handed in with.
fn tested_commit(
    context: &Context,
    task: &TaskView,
    before: &Before,
) -> Result<Option<String>, Refusal> {
    let is_code = task.deliverable == Deliverable::Code.as_str();
    match context.git_tree() {
        Some(tree) if is_code && task.constraints.no_git_commit => {
            snapshot(tree, &task.id).map(Some)
        }
        _ => Ok(before.commit.clone()),
    }
}

/// Tells whether the claim outlived the command, and says so when it did not.
fn is_kept(
    service: &Service,
    held: &Held,
    holder: &Caller,
    notes: &mut Vec<String>,
) -> Result<bool, Refusal> {
    let id = &held.task.id;
    let task = service.call::<op::TaskShow>(holder, ById { id: id.clone() })?.task;
    let is_kept = task.claim.as_ref().is_some_and(|claim| Fence::new(claim.fence) == holder.fence);
    if !is_kept {
        let now = match &task.claim {
            Some(claim) => format!("{} holds it now", claim.agent),
            None => format!("it is {} now", task.status),
        };
        notes.push(format!("note: your claim on {id} ended while the command ran; {now}"));
    }
    Ok(is_kept)
}

fn answer(
    args: &WithArgs,
    held: &Option<Held>,
    ended: &Ended,
    kept: Option<bool>,
    took_ms: u128,
    recorded: Recorded,
) -> Value {
    let command: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let error = recorded.error.map(|refusal| refusal.to_json(&CommandLine)["error"].clone());
    json!({
        "task": held.as_ref().map(|held| &held.task.id),
        "fence": held.as_ref().and_then(|held| held.holder.as_ref()?.fence),
        "claim_kept": kept,
        "command": command,
        "exit_code": ended.exit,
        "signal": ended.signal,
        "duration_ms": u64::try_from(took_ms).unwrap_or(u64::MAX),
        "tier": recorded.gate.as_ref().map(|gate| &gate.tier),
        "gate": recorded.gate,
        "error": error,
        "notes": recorded.notes,
    })
}
