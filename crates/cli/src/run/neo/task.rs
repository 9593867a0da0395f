//! `neo task …`, which neo's prompts demand and neo never had.

use super::{find, print};
use crate::args::NeoTask;
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use crate::work_tree::execute;
use comity_core::command::{Command, ConstraintChanges, Containment, NewTask, Submission};
use comity_core::event::TaskUpdated;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::{Deliverable, Priority};
use comity_core::time::Millis;
use comity_core::view::TaskView;
use comity_engine::{Engine, Query};
use comity_protocol::neotx::records::{Record, TASK_COLUMNS};
use comity_protocol::neotx::words;
use serde_json::{Map, Value, json};

/// The keys under which a task's context keeps what neo says of it.
const SCOPE: &str = "scope";
const RETRIEVE: &str = "retrieve";

/// neo's supervisors give no sign of life while their agents work; a claim made for them lasts a day.
const CLAIM_LIFE: Millis = Millis::from_secs(86_400);

pub(super) fn run(context: &Context, command: NeoTask) -> Result<Reply, Refusal> {
    match command {
        NeoTask::Create {
            title,
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
        NeoTask::Update { id, status, context: retrieve, priority, supervisor: _ } => {
            update(context, &id, status.as_deref(), retrieve.as_ref(), priority.as_deref())
        }
        NeoTask::List { initiative, status, supervisor: _ } => {
            list(context, initiative.as_deref(), status.as_deref())
        }
    }
}

fn view(mut answer: Value) -> Result<TaskView, Refusal> {
    let task = answer.get_mut("task").map(Value::take).unwrap_or_default();
    serde_json::from_value(task).map_err(|error| {
        Refusal::new(Code::Internal, format!("BUG: the task does not read: {error}"))
    })
}

/// A task as neo's table has it.
pub(super) fn record(task: &TaskView, depends_on: Option<String>) -> Record {
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

/// Prints the id alone on stdout, for scripts that keep it.
fn create(context: &Context, mut new: NewTask) -> Result<Reply, Refusal> {
    let mut engine = context.engine(Access::Write)?;
    let mut depends_on = Vec::new();
    for id in &new.depends_on {
        depends_on.push(find::task(&mut engine, context, id)?);
    }
    new.depends_on = depends_on;
    let task = view(engine.execute(context.request(Command::CreateTask(Box::new(new))))?)?;
    let id = find::task_id(&task);
    let answer = json!({"task": record(&task, None).map()});
    let note = format!("✓ Task created: {id} ({})", task.id);
    Ok(Reply::new(answer, Shape::Text(format!("{id}\n"))).note(note))
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
            let message = format!("Invalid status \"{given}\". Must be one of: {words}");
            return Ok(print::error(&message));
        }
        known => known.flatten(),
    };
    if wanted.is_none() && retrieve.is_none() && priority.is_none() {
        return Ok(print::error(
            "Usage: neo task update <id> --status <status> [--context <command>]",
        ));
    }
    let mut engine = context.engine(Access::Write)?;
    let not_found = |mut refusal: Refusal| {
        if refusal.code == Code::NotFound {
            refusal.message = format!("Task not found: {id}");
        }
        refusal
    };
    let ours = find::task(&mut engine, context, id).map_err(not_found)?;
    let query = Query::Task { id: ours.clone() };
    let mut task = engine.query(&context.asker(), query).and_then(view).map_err(not_found)?;
    if retrieve.is_some() || priority.is_some() {
        let fields = retrieve.map(|text| {
            let mut map = Map::new();
            map.insert(RETRIEVE.to_owned(), Value::from(text.as_str()));
            map
        });
        let changes = TaskUpdated {
            context: fields,
            priority: priority.map(Priority::parse).transpose()?,
            ..TaskUpdated::default()
        };
        let command = Command::UpdateTask {
            id: ours,
            changes: Box::new(changes),
            constraints: ConstraintChanges::default(),
            if_match: None,
        };
        task = view(engine.execute(context.request(command))?)?;
    }
    let mut note = None;
    if let Some(wanted) = wanted {
        (task, note) = walk(&mut engine, context, task, wanted, retrieve)?;
    }
    let shown = words::task_status(task.status);
    let said = print::success(&format!("Task updated: {id} → {shown}"));
    let answer = json!({"task": record(&task, None).map()});
    let reply = Reply::new(answer, Shape::Text(said));
    Ok(match note {
        Some(note) => reply.note(note),
        None => reply,
    })
}

/// Goes to a state by the verbs that lead there. What others have to do on the way is said, not done.
fn walk(
    engine: &mut Engine,
    context: &Context,
    mut task: TaskView,
    wanted: Status,
    needs: Option<&String>,
) -> Result<(TaskView, Option<String>), Refusal> {
    let first = task.status;
    // Each step leads on in the life of a task, which has eleven states.
    for _ in 0..Status::ALL.len() {
        let Some(command) = step(&task, wanted, needs) else { return Ok((task, None)) };
        match execute(context, engine, context.request(command)).and_then(|(task, _)| view(task)) {
            Ok(next) => task = next,
            Err(refusal) if task.status == first => return Err(refusal),
            Err(refusal) => {
                let note =
                    format!("note: {} is in {}; {}", task.id, task.status, refusal.hint_text());
                return Ok((task, Some(note)));
            }
        }
    }
    Ok((task, None))
}

/// The next step from where a task is to where it should be; none when it is there.
fn step(task: &TaskView, wanted: Status, needs: Option<&String>) -> Option<Command> {
    let id = task.id.clone();
    let to = |status: Status| {
        let needs = needs.cloned().or_else(|| Some("blocked by the supervisor".to_owned()));
        let needs = needs.filter(|_| status == Status::Blocked);
        let reason = Some("neo task update".to_owned());
        Some(Command::Transition { id: task.id.clone(), status, reason, needs })
    };
    if words::task_status(task.status) == words::task_status(wanted) {
        return None;
    }
    match (wanted, task.status) {
        (Status::Done, Status::Queued | Status::Failed | Status::ChangesRequested)
        | (Status::InProgress, Status::Queued | Status::Failed) => {
            Some(Command::Start { id, ttl: Some(CLAIM_LIFE), reason: None })
        }
        (Status::Done | Status::InProgress, Status::Blocked) => to(Status::Queued),
        (Status::Done, Status::Claimed) => to(Status::InProgress),
        (Status::Done, Status::InProgress) => {
            Some(Command::Submit(Submission { id, ..Submission::default() }))
        }
        (Status::Done, Status::Review) => to(Status::Approved),
        (Status::Done, Status::Approved) if task.deliverable == "code" => to(Status::Merging),
        (Status::Done, Status::Approved | Status::Merging) => Some(Command::Done {
            id,
            merged: None,
            containment: Containment::Unknown,
            reason: None,
        }),
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
        return Ok(print::error(&format!("Invalid status \"{bad}\". Must be one of: {all}")));
    }
    let mut engine = context.engine(Access::Read)?;
    let all = find::tasks(&mut engine, context)?;
    let ids: std::collections::BTreeMap<&str, String> =
        all.iter().map(|task| (task.id.as_str(), find::task_id(task))).collect();
    let mut records: Vec<Record> = all
        .iter()
        .filter(|task| initiative.is_none() || task.initiative.as_deref() == initiative)
        .filter(|task| wanted.is_empty() || wanted.contains(&words::task_status(task.status)))
        .map(|task| {
            let first = task.dependencies.first().and_then(|id| ids.get(id.as_str()));
            record(task, first.cloned())
        })
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
                print::cut(&text(record, "title"), 60),
            ]
        })
        .collect();
    let said = if rows.is_empty() {
        "No tasks found.\n".to_owned()
    } else {
        print::table(&["ID", "STATUS", "PRIORITY", "INITIATIVE", "TITLE"], &rows)
    };
    let maps: Vec<&Map<String, Value>> = records.iter().map(Record::map).collect();
    Ok(Reply::new(json!({"tasks": maps}), Shape::Text(said)))
}
