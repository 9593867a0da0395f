//! `comity task …`

use super::{execute, mission, query, task_fields, task_git, task_result, words};
use crate::args::{ListArgs, Step, TaskCommand, VerbArgs};
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use comity_core::command::{ClaimWish, Command, StepVerb};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_engine::{Query, TaskFilter};
use serde_json::Value;

pub(super) fn run(context: &Context, command: TaskCommand) -> Result<Reply, Refusal> {
    match command {
        TaskCommand::Create(args) => {
            let (new, note) = task_fields::new_task(context, *args.0)?;
            let reply = execute(context, Command::CreateTask(Box::new(new)), Shape::TaskLine)?;
            Ok(note.into_iter().fold(reply, Reply::note))
        }
        TaskCommand::List(args) => list(context, *args.0),
        TaskCommand::Show(args) => query(context, Query::Task { id: args.id }, Shape::Task),
        TaskCommand::Why(args) => query(context, Query::Why { id: args.id }, Shape::Why),
        TaskCommand::Update(args) => task_fields::update(context, *args.0),
        TaskCommand::Depend { id, on, remove } => {
            execute(context, Command::Depend { id, on, remove }, Shape::TaskLine)
        }
        TaskCommand::Assign { id, agent, none: _ } => {
            execute(context, Command::Assign { id, agent }, Shape::TaskLine)
        }
        TaskCommand::Link { id, provider, value, key } => {
            execute(context, Command::Link { id, provider, key, value }, Shape::TaskLine)
        }
        TaskCommand::Claim { id, role, skills, ttl, no_lease } => {
            let wish = ClaimWish { id, role, skills, ttl, no_lease, owner: None };
            let reply = execute(context, Command::Claim(wish), Shape::Claim)?;
            // The claim stands even when what goes with it cannot be written.
            Ok(match mission::write(context, &reply.json) {
                Ok(_) => reply,
                Err(failed) => reply.note(format!("note: the mission's files: {}", failed.message)),
            })
        }
        TaskCommand::Start { verb: VerbArgs { id, reason }, ttl } => {
            execute(context, Command::Start { id, ttl, reason }, Shape::TaskLine)
        }
        TaskCommand::Submit { verb, commit, branch, pr, reviewer, result, kind, keep_leases } => {
            // A result is read before anything else: one that cannot be used moves nothing.
            let result = result.map(|file| task_result::read(context, &file, kind)).transpose()?;
            let given = task_git::Given { commit, branch, pr, reviewer, result, keep_leases };
            task_git::submit(context, verb, given)
        }
        TaskCommand::Handoff { id, subtask, plan } => {
            handoff(context, id, subtask.as_deref(), &plan)
        }
        TaskCommand::Done { verb, merged } => task_git::done(context, verb, merged),
        TaskCommand::Breakdown { file, epic } => words::breakdown(context, &file, epic.as_ref()),
        TaskCommand::Answer { id, text, comment } => words::answer(context, &id, text, comment),
        TaskCommand::Intervene { id, feedback } => words::intervene(context, id, feedback),
        other => verbs(context, other),
    }
}

/// The verbs that are no more than a command of the same name.
fn verbs(context: &Context, command: TaskCommand) -> Result<Reply, Refusal> {
    let command = match command {
        TaskCommand::Review(VerbArgs { id, reason }) => Command::Review { id, reason },
        TaskCommand::Approve(VerbArgs { id, reason }) => Command::Approve { id, reason },
        TaskCommand::RequestChanges(VerbArgs { id, reason }) => {
            Command::RequestChanges { id, reason }
        }
        TaskCommand::Merge(VerbArgs { id, reason }) => Command::Merge { id, reason },
        TaskCommand::Unblock(VerbArgs { id, reason }) => Command::Unblock { id, reason },
        TaskCommand::Fail(VerbArgs { id, reason }) => Command::Fail { id, reason },
        TaskCommand::Release(VerbArgs { id, reason }) => Command::Release { id, reason },
        TaskCommand::Abandon(VerbArgs { id, reason }) => Command::Abandon { id, reason },
        TaskCommand::Requeue(VerbArgs { id, reason }) => Command::Requeue { id, reason },
        TaskCommand::Reopen(VerbArgs { id, reason }) => Command::Reopen { id, reason },
        TaskCommand::Block { verb, needs, questions, retry_after } => {
            Command::Block { id: verb.id, needs, questions, retry_after, reason: verb.reason }
        }
        TaskCommand::Check { verb, item, waive } => {
            Command::Check { id: verb.id, item, waive, reason: verb.reason }
        }
        TaskCommand::Subtask { id, step, text } => {
            let step = match step {
                Step::Start => StepVerb::Start,
                Step::Complete => StepVerb::Complete,
            };
            Command::Subtask { id, step, text }
        }
        TaskCommand::Transition { verb, status, needs } => {
            Command::Transition { id: verb.id, status, reason: verb.reason, needs }
        }
        _ => return Ok(Reply::printed()),
    };
    execute(context, command, Shape::TaskLine)
}

fn list(context: &Context, args: ListArgs) -> Result<Reply, Refusal> {
    let filter = TaskFilter {
        statuses: args.statuses,
        assignee: args.assignee,
        labels: args.labels,
        role: args.role,
        initiative: args.initiative,
        ready: args.ready,
        page: args.page.into(),
    };
    query(context, Query::Tasks(filter), Shape::Tasks)
}

/// Prints what a fresh context needs, and writes down that it starts.
fn handoff(
    context: &Context,
    id: String,
    subtask: Option<&str>,
    plan: &[String],
) -> Result<Reply, Refusal> {
    let mut answer =
        context.execute(Command::Handoff { id, subtask: subtask.map(str::to_owned) })?;
    let task = answer.get("task").cloned().unwrap_or_default();
    let task: TaskView = serde_json::from_value(task)
        .map_err(|error| Refusal::new(Code::Internal, format!("BUG: a task: {error}")))?;
    let text = comity_protocol::collab::handoff(&task, subtask, plan);
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("handoff".to_owned(), Value::from(text.clone()));
    }
    Ok(Reply::new(answer, Shape::Text(text)))
}
