//! `comity task …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, mission, perform, show, task_fields, task_git, task_result, words};
use crate::args::{ListArgs, Step, SubmitArgs, TaskCommand, VerbArgs};
use crate::human;
use crate::output::Reply;
use comity_api::{ById, ClaimAnswer, TaskAnswer, TaskFilter, op};
use comity_core::command::{ClaimWish, Command, StepVerb, TaskVerb};
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_project::store::Access;
use serde_json::json;

pub(super) fn run(context: &Context, command: TaskCommand) -> Result<Reply, Refusal> {
    match command {
        TaskCommand::Create(args) => {
            let (new, note) = task_fields::new_task(context, *args.0)?;
            let reply = execute(context, Command::CreateTask(Box::new(new)), human::task::line)?;
            Ok(note.into_iter().fold(reply, Reply::note))
        }
        TaskCommand::List(args) => list(context, *args.0),
        TaskCommand::Show(args) => {
            show::<op::TaskShow>(context, ById { id: args.id }, human::task::full)
        }
        TaskCommand::Why(args) => {
            let answer = context.ask::<op::TaskWhy>(ById { id: args.id })?;
            Ok(Reply::new(human::task::Explained::from(answer), human::task::why))
        }
        TaskCommand::Update(args) => task_fields::update(context, *args.0),
        TaskCommand::Depend { id, on, remove } => {
            execute(context, Command::Depend { id, on, remove }, human::task::line)
        }
        TaskCommand::Assign { id, agent, none: _ } => {
            execute(context, Command::Assign { id, agent }, human::task::line)
        }
        TaskCommand::Link { id, provider, value, key } => {
            execute(context, Command::Link { id, provider, key, value }, human::task::line)
        }
        TaskCommand::Claim { id, role, skills, ttl, no_lease } => {
            claim(context, ClaimWish { id, role, skills, ttl, no_lease, owner: None })
        }
        TaskCommand::Start { verb: VerbArgs { id, reason }, ttl } => {
            execute(context, Command::Start { id, ttl, reason }, human::task::line)
        }
        TaskCommand::Submit(args) => submit(context, *args),
        TaskCommand::Handoff { id, subtask, plan } => {
            handoff(context, id, subtask.as_deref(), &plan)
        }
        TaskCommand::Done { verb: VerbArgs { id, reason }, merged, unmerged } => {
            let command = Command::Done { id, merged, unmerged, reason };
            execute(context, command, human::task::line)
        }
        TaskCommand::Breakdown { file, epic } => words::breakdown(context, &file, epic.as_ref()),
        TaskCommand::Answer { id, text, comment } => words::answer(context, &id, text, comment),
        TaskCommand::Intervene { id, feedback } => words::intervene(context, id, feedback),
        TaskCommand::Review(args) => verb(context, TaskVerb::Review, args),
        TaskCommand::Approve(args) => verb(context, TaskVerb::Approve, args),
        TaskCommand::RequestChanges(args) => verb(context, TaskVerb::RequestChanges, args),
        TaskCommand::Merge(args) => verb(context, TaskVerb::Merge, args),
        TaskCommand::Unblock(args) => verb(context, TaskVerb::Unblock, args),
        TaskCommand::Fail(args) => verb(context, TaskVerb::Fail, args),
        TaskCommand::Release(args) => verb(context, TaskVerb::Release, args),
        TaskCommand::Abandon(args) => verb(context, TaskVerb::Abandon, args),
        TaskCommand::Requeue(args) => verb(context, TaskVerb::Requeue, args),
        TaskCommand::Reopen(args) => verb(context, TaskVerb::Reopen, args),
        TaskCommand::Block { verb: VerbArgs { id, reason }, needs, questions, retry_after } => {
            let command = Command::Block { id, needs, questions, retry_after, reason };
            execute(context, command, human::task::line)
        }
        TaskCommand::Check { verb: VerbArgs { id, reason }, item, waive } => {
            execute(context, Command::Check { id, item, waive, reason }, human::task::line)
        }
        TaskCommand::Subtask { id, step, text } => {
            execute(context, Command::Subtask { id, step: step.into(), text }, human::task::line)
        }
        TaskCommand::Transition { verb: VerbArgs { id, reason }, status, needs } => {
            execute(context, Command::Transition { id, status, reason, needs }, human::task::line)
        }
    }
}

fn claim(context: &Context, wish: ClaimWish) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let (reply, notes) = perform(context, &service, &context.request(Command::Claim(wish)))?;
    let answer: ClaimAnswer = reply.take()?;
    let written = mission::write(context, &answer.task, &answer.mission);
    let reply = notes.into_iter().fold(Reply::new(answer, human::task::claim), Reply::note);
    // The claim stands even when what goes with it cannot be written.
    Ok(match written {
        Ok(_) => reply,
        Err(failed) => reply
            .note(format!("note: comity could not write the mission's files: {}", failed.message)),
    })
}

fn submit(context: &Context, args: SubmitArgs) -> Result<Reply, Refusal> {
    // A result is read before anything else: one that cannot be used moves nothing.
    let result =
        args.result.map(|file| task_result::read(context, &file, args.kind)).transpose()?;
    let given = task_git::Given {
        commit: args.commit,
        branch: args.branch,
        pr: args.pr,
        reviewer: args.reviewer,
        result,
        keep_leases: args.keep_leases,
        empty: args.empty,
    };
    let done = task_git::submit(context, args.verb, given)?;
    Ok(Reply::new(done.answer, human::task::submitted).noted(done.notes))
}

impl From<Step> for StepVerb {
    fn from(step: Step) -> StepVerb {
        match step {
            Step::Start => StepVerb::Start,
            Step::Complete => StepVerb::Complete,
        }
    }
}

fn verb(context: &Context, verb: TaskVerb, args: VerbArgs) -> Result<Reply, Refusal> {
    execute(context, verb.on(args.id, args.reason), human::task::line)
}

fn list(context: &Context, args: ListArgs) -> Result<Reply, Refusal> {
    let filter = TaskFilter {
        statuses: args.statuses,
        assignee: args.assignee,
        labels: args.labels,
        role: args.role,
        initiative: args.initiative,
        ready: args.ready,
        limit: args.page.limit.map(usize::from),
        after: args.page.after,
    };
    show::<op::TaskList>(context, filter, human::task::list)
}

/// Prints what a fresh context needs, and writes down that it starts.
fn handoff(
    context: &Context,
    id: String,
    subtask: Option<&str>,
    plan: &[String],
) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let command = Command::Handoff { id, subtask: subtask.map(str::to_owned) };
    let TaskAnswer { task } = service.run_command(&context.caller(), command)?;
    let text = comity_protocol::collab::handoff(&task, subtask, plan);
    Ok(Reply::text(json!({"task": task, "handoff": &text}), text))
}
