//! `neo task …`, which neo's prompts demand and neo never had.

use super::print;
use crate::args::NeoTask;
use crate::output::Reply;
use comity_api::{TaskAnswer, op};
use comity_bridge::neo::{self, Update, find, is_there, records};
use comity_core::command::NewTask;
use comity_core::decide::REVIEW_GATE;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::{Deliverable, Priority};
use comity_core::view::{GateView, TaskView};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::neotx::records::Record;
use comity_protocol::neotx::words;
use serde_json::{Map, Value, json};

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
            for (key, value) in [(records::SCOPE, scope), (records::RETRIEVE, retrieve)] {
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
            update(context, &id, status.as_deref(), retrieve, priority.as_deref())
        }
        NeoTask::Update { .. } => print::refuse(UPDATE_USAGE),
        NeoTask::List { initiative, status, supervisor: _ } => {
            list(context, initiative.as_deref(), status.as_deref())
        }
        NeoTask::Other(words) => super::unknown(&words, "create, update, list"),
    }
}

const UPDATE_USAGE: &str = "Usage: neo task update <id> --status <status> [--context <command>]";

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
    let answer = json!({"task": records::task(&task, None).map()});
    let note = format!("✓ Task created: {id} ({})", task.id);
    Ok(Reply::text(answer, format!("{id}\n")).note(note))
}

fn update(
    context: &Context,
    id: &str,
    status: Option<&str>,
    retrieve: Option<String>,
    priority: Option<&str>,
) -> Result<Reply, Refusal> {
    let status = match status.map(words::read_task_status) {
        Some(None) => {
            let words = words::TASK_STATUSES.join(", ");
            let given = status.unwrap_or_default();
            return print::refuse(format!("Invalid status \"{given}\". Must be one of: {words}"));
        }
        known => known.flatten(),
    };
    if status.is_none() && retrieve.is_none() && priority.is_none() {
        return print::refuse(UPDATE_USAGE);
    }
    let priority = priority.map(Priority::parse).transpose()?;
    let service = context.service(Access::Write)?;
    let (task, refused) =
        neo::update(&service, &context.caller(), id, &Update { status, retrieve, priority })
            .map_err(|refusal| print::not_found(refusal, "Task", "task", id))?;
    let tracker = words::tracker(task.status, checks(&task));
    let fine = status.is_some_and(|to| to == Status::Review || !is_there(task.status, to));
    // The task is on its way to the wanted state. neo's tracker has words for the states between.
    let shown = if fine { tracker } else { words::task_status(task.status) };
    let said = print::success(&format!("Task updated: {id} → {shown}"));
    let answer = json!({"task": records::task(&task, None).map(), "tracker": tracker});
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
        .zip(records::tasks(&all))
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
