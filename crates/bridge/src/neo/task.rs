//! Brings a task to the state that neo names, one command after the other.

use super::records::RETRIEVE;
use super::{find, step};
use comity_api::{BriefedTask, ById, Done, Several, Start, TaskStep, Transition, UpdateTask, op};
use comity_core::command::{ConstraintChanges, Submission};
use comity_core::event::TaskUpdated;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Priority;
use comity_core::time::Millis;
use comity_core::view::TaskView;
use comity_engine::{Caller, Service};
use comity_protocol::neotx::words;
use serde_json::{Map, Value};

/// neo's supervisors give no sign of life while their agents work; a claim made for them lasts a day.
const CLAIM_LIFE: Millis = Millis::from_secs(86_400);

/// What `neo task update` asks for.
pub struct Update {
    pub status: Option<Status>,
    /// The command that retrieves the task's context; also what a blocked task needs.
    pub retrieve: Option<String>,
    pub priority: Option<Priority>,
}

/// Updates the task with that id of comity's or neo's. A step that somebody else has to do is returned as a refusal.
pub fn update(
    service: &Service,
    caller: &Caller,
    id: &str,
    wanted: &Update,
) -> Result<(TaskView, Option<Refusal>), Refusal> {
    let id = find::task(service, caller, id)?;
    let BriefedTask { mut task, .. } = service.call::<op::TaskShow>(caller, ById { id })?;
    let changes = changes(&task.id, wanted);
    // With an idempotency key the steps start from the state that the task had when the key was first used. So an empty
    // command is remembered, too.
    if caller.key.is_some() {
        task = several(service, caller, &task.id, Vec::new())?;
    }
    walk(service, caller, task, wanted, changes)
}

/// Changes a task in several ways, all or none.
fn several(
    service: &Service,
    caller: &Caller,
    id: &str,
    steps: Vec<TaskStep>,
) -> Result<TaskView, Refusal> {
    let input = Several { ids: vec![id.to_owned()], steps };
    let tasks = service.call::<op::TaskSeveral>(caller, input)?.tasks;
    tasks.into_iter().next().ok_or_else(|| Refusal::new(Code::Internal, "BUG: no task"))
}

fn changes(id: &str, Update { retrieve, priority, .. }: &Update) -> Option<TaskStep> {
    let context = retrieve
        .as_ref()
        .map(|text| Map::from_iter([(RETRIEVE.to_owned(), Value::from(text.as_str()))]));
    let changes = TaskUpdated { context, priority: *priority, ..TaskUpdated::default() };
    (retrieve.is_some() || priority.is_some()).then(|| {
        TaskStep::Update(UpdateTask {
            id: id.to_owned(),
            changes: Box::new(changes),
            constraints: ConstraintChanges::default(),
            if_match: None,
        })
    })
}

/// Brings a task to a state, one command after the other. The fields are set together with the first command.
fn walk(
    service: &Service,
    caller: &Caller,
    mut task: TaskView,
    wanted: &Update,
    mut changes: Option<TaskStep>,
) -> Result<(TaskView, Option<Refusal>), Refusal> {
    // Each step leads to another state, so there are at most as many steps as states.
    for number in 1..=Status::ALL.len() {
        let needs = wanted.retrieve.as_ref();
        let next = wanted.status.and_then(|status| next(&task, status, needs));
        let steps: Vec<TaskStep> = changes.take().into_iter().chain(next).collect();
        if steps.is_empty() {
            break;
        }
        match several(service, &step(caller, number), &task.id, steps) {
            Ok(next) => task = next,
            Err(refusal) if number == 1 => return Err(refusal),
            Err(refusal) => return Ok((task, Some(refusal))),
        }
    }
    Ok((task, None))
}

/// Tells whether a task has the wanted state, in neo's words for states.
pub fn is_there(now: Status, wanted: Status) -> bool {
    match wanted {
        Status::Review => {
            matches!(now, Status::Review | Status::Approved | Status::Merging | Status::Done)
        }
        wanted => words::task_status(now) == words::task_status(wanted),
    }
}

/// Returns the next command on the way to the wanted state; none when the task has that state.
fn next(task: &TaskView, wanted: Status, needs: Option<&String>) -> Option<TaskStep> {
    let id = task.id.clone();
    let to = |status: Status| {
        let needs = needs.cloned().or_else(|| Some("blocked by the supervisor".to_owned()));
        let needs = needs.filter(|_| status == Status::Blocked);
        let reason = Some("neo task update".to_owned());
        Some(TaskStep::Transition(Transition { id: task.id.clone(), status, reason, needs }))
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
            Some(TaskStep::Start(Start { id, ttl: Some(CLAIM_LIFE), reason: None }))
        }
        (Status::Done | Status::Review | Status::InProgress, Status::Blocked) => to(Status::Queued),
        (Status::Done | Status::Review, Status::Claimed) => to(Status::InProgress),
        (Status::Done | Status::Review, Status::InProgress) => {
            Some(TaskStep::Submit(Submission { id, ..Submission::default() }))
        }
        (Status::Done, Status::Review) => to(Status::Approved),
        (Status::Done, Status::Approved) if task.deliverable == "code" => to(Status::Merging),
        (Status::Done, Status::Approved | Status::Merging) => {
            Some(TaskStep::Done(Done { id, merged: None, unmerged: false, reason: None }))
        }
        (Status::Queued, Status::Review | Status::Approved | Status::Merging) => {
            to(Status::ChangesRequested)
        }
        (Status::InProgress, Status::Done | Status::Abandoned) => to(Status::Queued),
        _ => to(wanted),
    }
}
