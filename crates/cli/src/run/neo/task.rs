//! `neo task …`, which neo's prompts demand and neo never had.

use super::{find, print};
use crate::args::NeoTask;
use crate::output::Reply;
use comity_api::{ById, TaskAnswer, op};
use comity_core::command::{Command, ConstraintChanges, NewTask, Submission};
use comity_core::decide::REVIEW_GATE;
use comity_core::event::TaskUpdated;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::{Deliverable, Priority};
use comity_core::time::Millis;
use comity_core::view::{GateView, TaskView};
use comity_engine::Service;
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::neotx::records::{Record, TASK_COLUMNS};
use comity_protocol::neotx::words;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Keys in a task's context for fields that only neo has.
const SCOPE: &str = "scope";
const RETRIEVE: &str = "retrieve";

/// neo's supervisors give no sign of life while their agents work; a claim made for them lasts a day.
const CLAIM_LIFE: Millis = Millis::from_secs(86_400);

pub(super) fn run(context: &Context, command: NeoTask) -> Result<Reply, Refusal> {
    match command {
        NeoTask::Create { title: None, .. } => print::refuse(
            "Usage: neo task create --scope <path> --priority <priority> [--initiative <name>] \
             [--depends <id>] [--context <command>] <title>",
        ),
        NeoTask::Create {
            title: Some(title),
            scope,
            priority,
            initiative,
            depends,
            context: retrieve,
            supervisor: _,
        } => {
            let mut fields = Map::new();
            for (key, value) in [(SCOPE, scope), (RETRIEVE, retrieve)] {
                if let Some(value) = value {
                    fields.insert(key.to_owned(), Value::from(value));
                }
            }
            let new = NewTask {
                title,
                priority: Some(Priority::parse(&priority)?),
                initiative,
                depends_on: depends,
                context: fields,
                // The supervisor looks after branches and merging itself.
                deliverable: Deliverable::None,
                ..NewTask::default()
            };
            create(context, new)
        }
        NeoTask::Update { id: Some(id), status, context: retrieve, priority, supervisor: _ } => {
            update(context, &id, status.as_deref(), retrieve.as_ref(), priority.as_deref())
        }
        NeoTask::Update { .. } => print::refuse(UPDATE_USAGE),
        NeoTask::List { initiative, status, supervisor: _ } => {
            list(context, initiative.as_deref(), status.as_deref())
        }
        NeoTask::Other(words) => super::unknown(&words, "create, update, list"),
    }
}

const UPDATE_USAGE: &str = "Usage: neo task update <id> --status <status> [--context <command>]";

/// A task as neo's table has it.
fn record(task: &TaskView, depends_on: Option<String>) -> Record {
    let context = |key: &str| task.context.get(key).and_then(Value::as_str).map(str::to_owned);
    let priority = Priority::parse(&task.priority).unwrap_or(Priority::DEFAULT);
    let run = task.external_ids.get("neo").and_then(|ids| ids.get("run")).cloned();
    Record::new()
        .with("id", find::task_id(task))
        .with("title", task.title.as_str())
        .with("scope", context(SCOPE).unwrap_or_else(|| task.repo.clone()))
        .with("status", words::task_status(task.status))
        .with("priority", words::priority(priority))
        .with("initiative", task.initiative.clone())
        .with("depends_on", depends_on)
        .with("context", context(RETRIEVE))
        .with("run_id", run.unwrap_or_default())
        .with("created_at", task.created_at.to_string())
        .with("updated_at", task.updated_at.to_string())
        .in_order(TASK_COLUMNS)
}

/// The tasks as rows of neo's table, with neo's ids in their dependencies.
pub(super) fn records(all: &[TaskView]) -> Vec<Record> {
    let ids: BTreeMap<&str, String> =
        all.iter().map(|task| (task.id.as_str(), find::task_id(task))).collect();
    let one = |task: &TaskView| {
        let first = task.dependencies.first().and_then(|id| ids.get(id.as_str()));
        record(task, first.cloned())
    };
    all.iter().map(one).collect()
}

/// Prints the id alone on stdout, for scripts that keep it.
fn create(context: &Context, mut new: NewTask) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Write)?, context.caller());
    let mut depends_on = Vec::new();
    for id in &new.depends_on {
        let found = find::task(&service, &caller, id);
        depends_on.push(found.map_err(|refusal| print::not_found(refusal, "Task", "task", id))?);
    }
    new.depends_on = depends_on;
    let TaskAnswer { task } = service.call::<op::TaskCreate>(&caller, new)?;
    let id = find::task_id(&task);
    let answer = json!({"task": record(&task, None).map()});
    let note = format!("✓ Task created: {id} ({})", task.id);
    Ok(Reply::text(answer, format!("{id}\n")).note(note))
}

fn update(
    context: &Context,
    id: &str,
    status: Option<&str>,
    retrieve: Option<&String>,
    priority: Option<&str>,
) -> Result<Reply, Refusal> {
    let wanted = match status.map(words::read_task_status) {
        Some(None) => {
            let words = words::TASK_STATUSES.join(", ");
            let given = status.unwrap_or_default();
            return print::refuse(format!("Invalid status \"{given}\". Must be one of: {words}"));
        }
        known => known.flatten(),
    };
    if wanted.is_none() && retrieve.is_none() && priority.is_none() {
        return print::refuse(UPDATE_USAGE);
    }
    let (service, caller) = (context.service(Access::Write)?, context.caller());
    let TaskAnswer { mut task } = find::task(&service, &caller, id)
        .and_then(|id| service.call::<op::TaskShow>(&caller, ById { id }))
        .map_err(|refusal| print::not_found(refusal, "Task", "task", id))?;
    let changes = changes(&task.id, retrieve, priority)?;
    // With an idempotency key the steps start from the state that the task had when the key was first used. So an empty
    // command is remembered, too.
    if caller.key.is_some() {
        let nothing = Command::Several { id: task.id, steps: Vec::new() };
        TaskAnswer { task } = service.run_command(&caller, nothing)?;
    }
    let (task, refused) = walk(&service, context, task, wanted, retrieve, changes)?;
    let tracker = words::tracker(task.status, checks(&task));
    let fine = wanted.is_some_and(|to| to == Status::Review || !is_there(task.status, to));
    // The task is on its way to the wanted state. neo's tracker has words for the states between.
    let shown = if fine { tracker } else { words::task_status(task.status) };
    let said = print::success(&format!("Task updated: {id} → {shown}"));
    let answer = json!({"task": record(&task, None).map(), "tracker": tracker});
    let reply = Reply::text(answer, said);
    Ok(match refused {
        Some(refusal) => reply.note(format!(
            "note: {} is in {}; {}",
            task.id,
            task.status,
            crate::wording::next_step(&refusal)
        )),
        None => reply,
    })
}

/// Tells whether the gates are met that must be met before somebody approves; neo's tracker calls them checks.
fn checks(task: &TaskView) -> words::Checks {
    let open =
        |gate: &GateView| gate.required && gate.name != REVIEW_GATE && !gate.state.is_settled();
    if task.gates.iter().any(open) { words::Checks::Pending } else { words::Checks::Passed }
}

/// The fields that are to be set.
fn changes(
    id: &str,
    retrieve: Option<&String>,
    priority: Option<&str>,
) -> Result<Option<Command>, Refusal> {
    if retrieve.is_none() && priority.is_none() {
        return Ok(None);
    }
    let context =
        retrieve.map(|text| Map::from_iter([(RETRIEVE.to_owned(), Value::from(text.as_str()))]));
    let priority = priority.map(Priority::parse).transpose()?;
    let changes = TaskUpdated { context, priority, ..TaskUpdated::default() };
    Ok(Some(Command::UpdateTask {
        id: id.to_owned(),
        changes: Box::new(changes),
        constraints: ConstraintChanges::default(),
        if_match: None,
    }))
}

/// Brings a task to a state, one command after the other. The fields are set together with the first command. A step that
/// somebody else has to do is returned as a refusal.
fn walk(
    service: &Service,
    context: &Context,
    mut task: TaskView,
    wanted: Option<Status>,
    needs: Option<&String>,
    mut changes: Option<Command>,
) -> Result<(TaskView, Option<Refusal>), Refusal> {
    // Each step leads to another state, so there are at most as many steps as states.
    for number in 1..=Status::ALL.len() {
        let next = wanted.and_then(|wanted| step(&task, wanted, needs));
        let command = match (changes.take(), next) {
            (None, None) => break,
            (Some(only), None) | (None, Some(only)) => only,
            (Some(set), Some(next)) => {
                Command::Several { id: task.id.clone(), steps: vec![set, next] }
            }
        };
        let done = service.run_command(&super::step(context, number), command);
        match done {
            Ok(TaskAnswer { task: next }) => task = next,
            Err(refusal) if number == 1 => return Err(refusal),
            Err(refusal) => return Ok((task, Some(refusal))),
        }
    }
    Ok((task, None))
}

/// Tells whether a task has the wanted state, in neo's words for states.
fn is_there(now: Status, wanted: Status) -> bool {
    match wanted {
        Status::Review => {
            matches!(now, Status::Review | Status::Approved | Status::Merging | Status::Done)
        }
        wanted => words::task_status(now) == words::task_status(wanted),
    }
}

/// Returns the next command on the way to the wanted state; none when the task has that state.
fn step(task: &TaskView, wanted: Status, needs: Option<&String>) -> Option<Command> {
    let id = task.id.clone();
    let to = |status: Status| {
        let needs = needs.cloned().or_else(|| Some("blocked by the supervisor".to_owned()));
        let needs = needs.filter(|_| status == Status::Blocked);
        let reason = Some("neo task update".to_owned());
        Some(Command::Transition { id: task.id.clone(), status, reason, needs })
    };
    if is_there(task.status, wanted) {
        return None;
    }
    match (wanted, task.status) {
        (
            Status::Done | Status::Review,
            Status::Queued | Status::Failed | Status::ChangesRequested,
        )
        | (Status::InProgress, Status::Queued | Status::Failed) => {
            Some(Command::Start { id, ttl: Some(CLAIM_LIFE), reason: None })
        }
        (Status::Done | Status::Review | Status::InProgress, Status::Blocked) => to(Status::Queued),
        (Status::Done | Status::Review, Status::Claimed) => to(Status::InProgress),
        (Status::Done | Status::Review, Status::InProgress) => {
            Some(Command::Submit(Submission { id, ..Submission::default() }))
        }
        (Status::Done, Status::Review) => to(Status::Approved),
        (Status::Done, Status::Approved) if task.deliverable == "code" => to(Status::Merging),
        (Status::Done, Status::Approved | Status::Merging) => {
            Some(Command::Done { id, merged: None, unmerged: false, reason: None })
        }
        (Status::Queued, Status::Review | Status::Approved | Status::Merging) => {
            to(Status::ChangesRequested)
        }
        (Status::InProgress, Status::Done | Status::Abandoned) => to(Status::Queued),
        _ => to(wanted),
    }
}

fn list(
    context: &Context,
    initiative: Option<&str>,
    status: Option<&str>,
) -> Result<Reply, Refusal> {
    let wanted: Vec<&str> =
        status.unwrap_or_default().split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    if let Some(bad) = wanted.iter().find(|word| words::read_task_status(word).is_none()) {
        let all = words::TASK_STATUSES.join(", ");
        return print::refuse(format!("Invalid status \"{bad}\". Must be one of: {all}"));
    }
    let all = context.service(Access::Read)?.all_tasks(&context.caller())?;
    let mut records: Vec<Record> = all
        .iter()
        .zip(records(&all))
        .filter(|(task, _)| initiative.is_none() || task.initiative.as_deref() == initiative)
        .filter(|(task, _)| {
            wanted.is_empty()
                || wanted.contains(&words::task_status(task.status))
                || wanted.contains(&words::tracker(task.status, checks(task)))
        })
        .map(|(_, record)| record)
        .collect();
    // neo shows the newest first.
    records.reverse();
    let text = |record: &Record, key: &str| record.text(key).unwrap_or("-").to_owned();
    let rows: Vec<Vec<String>> = records
        .iter()
        .map(|record| {
            vec![
                text(record, "id"),
                words::marker(&text(record, "status")).to_owned(),
                text(record, "priority"),
                text(record, "initiative"),
                print::cut(&text(record, "title"), 60, "…"),
            ]
        })
        .collect();
    let said = if rows.is_empty() {
        "No tasks found.\n".to_owned()
    } else {
        print::table(&["ID", "STATUS", "PRIORITY", "INITIATIVE", "TITLE"], &rows)
    };
    let maps: Vec<&Map<String, Value>> = records.iter().map(Record::map).collect();
    Ok(Reply::text(json!({"tasks": maps}), said))
}
