//! `comity task …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, reply, show, task_fields, text, words};
use crate::args::{ListArgs, Step, SubmitArgs, TaskCommand, VerbArgs};
use crate::human;
use crate::output::Reply;
use comity_api::{
    Assign, Block, ById, CheckItem, ClaimAnswer, Depend, Done, Handoff, Link, Operation, Start,
    Subtask, TaskAnswer, TaskFilter, TaskVerbInput, Transition, op,
};
use comity_bridge::contract::{self, Named};
use comity_bridge::mission;
use comity_core::command::{ClaimWish, StepVerb, Submission};
use comity_core::refusal::Refusal;
use comity_core::time::Millis;
use comity_engine::{Answered, Handler, Service};
use comity_project::Context;
use comity_project::store::Access;
use serde_json::json;

pub(super) fn run(context: &Context, command: TaskCommand) -> Result<Reply, Refusal> {
    match command {
        TaskCommand::Create(args) => {
            let (new, note) = task_fields::new_task(context, *args.0)?;
            let reply = execute::<op::TaskCreate>(context, new, human::task::line)?;
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
            execute::<op::TaskDepend>(context, Depend { id, on, remove }, human::task::line)
        }
        TaskCommand::Assign { id, agent, none: _ } => {
            execute::<op::TaskAssign>(context, Assign { id, agent }, human::task::line)
        }
        TaskCommand::Link { id, provider, value, key } => {
            let input = Link { id, provider, key, value };
            execute::<op::TaskLink>(context, input, human::task::line)
        }
        TaskCommand::Claim { id, role, skills, ttl, no_lease, start, wait } => {
            let wish = ClaimWish { id, role, skills, ttl, no_lease, start, owner: None };
            claim(context, wish, wait)
        }
        TaskCommand::Start { verb: VerbArgs { id, reason }, ttl } => {
            execute::<op::TaskStart>(context, Start { id, ttl, reason }, human::task::line)
        }
        TaskCommand::Submit(args) => submit(context, *args),
        TaskCommand::Handoff { id, subtask, plan } => {
            handoff(context, id, subtask.as_deref(), &plan)
        }
        TaskCommand::Done { verb: VerbArgs { id, reason }, merged, unmerged } => {
            let input = Done { id, merged, unmerged, reason };
            execute::<op::TaskDone>(context, input, human::task::line)
        }
        TaskCommand::Breakdown { file, epic } => words::breakdown(context, &file, epic.as_ref()),
        TaskCommand::Answer { id, text, comment } => words::answer(context, id, text, comment),
        TaskCommand::Intervene { id, feedback } => words::intervene(context, id, feedback),
        TaskCommand::Review(args) => verb::<op::TaskReview>(context, args),
        TaskCommand::Approve(args) => verb::<op::TaskApprove>(context, args),
        TaskCommand::RequestChanges(args) => verb::<op::TaskRequestChanges>(context, args),
        TaskCommand::Merge(args) => verb::<op::TaskMerge>(context, args),
        TaskCommand::Unblock(args) => verb::<op::TaskUnblock>(context, args),
        TaskCommand::Fail(args) => verb::<op::TaskFail>(context, args),
        TaskCommand::Release(args) => verb::<op::TaskRelease>(context, args),
        TaskCommand::Abandon(args) => verb::<op::TaskAbandon>(context, args),
        TaskCommand::Requeue(args) => verb::<op::TaskRequeue>(context, args),
        TaskCommand::Reopen(args) => verb::<op::TaskReopen>(context, args),
        TaskCommand::Block { verb: VerbArgs { id, reason }, needs, questions, retry_after } => {
            let input = Block { id, needs, questions, retry_after, reason };
            execute::<op::TaskBlock>(context, input, human::task::line)
        }
        TaskCommand::Check { verb: VerbArgs { id, reason }, item, waive } => {
            let input = CheckItem { id, item, waive, reason };
            execute::<op::TaskCheck>(context, input, human::task::line)
        }
        TaskCommand::Subtask { id, step, text } => {
            let input = Subtask { id, step: step.into(), text };
            execute::<op::TaskSubtask>(context, input, human::task::line)
        }
        TaskCommand::Transition { verb: VerbArgs { id, reason }, status, needs } => {
            let input = Transition { id, status, reason, needs };
            execute::<op::TaskTransition>(context, input, human::task::line)
        }
    }
}

fn claim(context: &Context, wish: ClaimWish, wait: Option<Millis>) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let answered = match wait {
        Some(wait) => {
            let Answered { output, remarks } =
                service.claim_waiting(&context.caller(), &wish, wait)?;
            Answered { output: output.take()?, remarks }
        }
        None => Handler::<op::TaskClaim>::handle(&service, &context.caller(), wish)?,
    };
    let ClaimAnswer { task, mission, .. } = &answered.output;
    let written = mission::write(context, task, mission);
    let reply = reply(answered, human::task::claim);
    // The claim stands even when what goes with it cannot be written.
    Ok(match written {
        Ok(_) => reply,
        Err(failed) => reply
            .note(format!("note: comity could not write the mission's files: {}", failed.message)),
    })
}

fn submit(context: &Context, args: SubmitArgs) -> Result<Reply, Refusal> {
    // A result is read before anything else: one that cannot be used moves nothing.
    let (report, notes) = match &args.result {
        Some(file) => {
            let (name, text) = (text::name_of(file), text::contract(file)?);
            let (report, notes) = contract::work_report(Named { name, text: &text }, args.kind)?;
            (Some(Box::new(report)), notes)
        }
        None => (None, Vec::new()),
    };
    let submission = Submission {
        id: args.verb.id,
        commit: args.commit,
        branch: args.branch,
        pr: args.pr,
        reviewer: args.reviewer,
        keep_leases: args.keep_leases,
        empty: args.empty,
        gates: args.gates,
        reason: args.verb.reason,
        report,
    };
    Ok(execute::<op::TaskSubmit>(context, submission, human::task::submitted)?.noted(notes))
}

impl From<Step> for StepVerb {
    fn from(step: Step) -> StepVerb {
        match step {
            Step::Start => StepVerb::Start,
            Step::Complete => StepVerb::Complete,
        }
    }
}

/// Calls one of the operations that take a task and a reason.
fn verb<O>(context: &Context, VerbArgs { id, reason }: VerbArgs) -> Result<Reply, Refusal>
where
    O: Operation<Input = TaskVerbInput, Output = TaskAnswer>,
    Service: Handler<O>,
{
    execute::<O>(context, TaskVerbInput { id, reason }, human::task::line)
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
    let input = Handoff { id, subtask: subtask.map(str::to_owned) };
    let TaskAnswer { task } = service.call::<op::TaskHandoff>(&context.caller(), input)?;
    let text = comity_protocol::collab::handoff(&task, subtask, plan);
    Ok(Reply::text(json!({"task": task, "handoff": &text}), text))
}
