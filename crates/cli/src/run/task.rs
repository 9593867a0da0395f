//! `comity task …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::post::{say_how, say_how_refused};
use super::{call, edit, execute, reply, show, task_fields, team, text, words};
use crate::args::{
    CreateArgs, LandArgs, LandStrategy, ListArgs, OneArgs, Step, SubmitArgs, TaskCommand, VerbArgs,
};
use crate::human;
use crate::human::task::{Explained, SeveralExplained};
use crate::output::{Reply, Words};
use crate::wording;
use comity_api::{
    AskBrief, Assign, Block, BriefedTask, ById, CheckItem, Claim, ClaimAnswer, Depend, Done,
    Handoff, LandTask, Link, Operation, Several, Start, Strategy, Subtask, TaskAnswer, TaskFilter,
    TaskStep, TaskVerbInput, TasksAnswer, Transition, UndoStep, op,
};
use comity_bridge::contract::{self, AskedFor, Named};
use comity_bridge::mission;
use comity_core::brief::Brief;
use comity_core::command::{NewTask, StepVerb, Submission};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::REMEMBER;
use comity_engine::{Answered, CommandOutput, Handler, Service};
use comity_project::Context;
use comity_project::store::Access;
use serde::Serialize;
use serde_json::json;

pub(super) fn run(context: &Context, command: TaskCommand, json: bool) -> Result<Reply, Refusal> {
    match command {
        TaskCommand::Create(args) => create(context, *args.0),
        TaskCommand::List(args) => list(context, *args.0),
        TaskCommand::Show { ids } => shown(context, ids, json),
        TaskCommand::Why { ids } => explained(context, ids),
        TaskCommand::Update(args) => task_fields::update(context, *args.0),
        TaskCommand::Depend { ids, on, remove } => {
            let input = |id| Depend { id, on: on.clone(), remove, awaits_unknown: false };
            each::<op::TaskDepend>(context, ids, input, TaskStep::Depend, human::task::line)
        }
        TaskCommand::Assign { id, agent, none: _, new } => {
            execute::<op::TaskAssign>(context, Assign { id, agent, new }, human::task::line)
        }
        TaskCommand::Link { id, provider, value, key } => {
            let input = Link { id, provider, key, value };
            execute::<op::TaskLink>(context, input, human::task::line)
        }
        TaskCommand::Claim { id, role, skills, ttl, no_lease, start, wait } => {
            let owner = None;
            claim(context, Claim { id, role, skills, ttl, no_lease, start, owner, wait })
        }
        TaskCommand::Start { verb: VerbArgs { ids, reason }, ttl } => {
            start(context, ids, |id| Start { id, ttl, reason: reason.clone() })
        }
        TaskCommand::Submit(args) => submit(context, *args),
        TaskCommand::Handoff { id, subtask, plan } => {
            handoff(context, id, subtask.as_deref(), &plan)
        }
        TaskCommand::Done { verb: VerbArgs { ids, reason }, merged, unmerged } => {
            let input = |id| Done { id, merged: merged.clone(), unmerged, reason: reason.clone() };
            each::<op::TaskDone>(context, ids, input, TaskStep::Done, human::task::line)
        }
        TaskCommand::Land(args) => land(context, args, json),
        TaskCommand::Breakdown { file, epic } => words::breakdown(context, &file, epic.as_ref()),
        TaskCommand::Answer { id, text, comment } => words::answer(context, id, text, comment),
        TaskCommand::Intervene { id, feedback } => words::intervene(context, id, feedback),
        TaskCommand::Review(args) => verb::<op::TaskReview>(context, args, TaskStep::Review),
        TaskCommand::Approve(args) => verb::<op::TaskApprove>(context, args, TaskStep::Approve),
        TaskCommand::RequestChanges { verb, remember } => request_changes(context, verb, remember),
        TaskCommand::Merge(args) => verb::<op::TaskMerge>(context, args, TaskStep::Merge),
        TaskCommand::Unblock(args) => verb::<op::TaskUnblock>(context, args, TaskStep::Unblock),
        TaskCommand::Fail(args) => verb::<op::TaskFail>(context, args, TaskStep::Fail),
        TaskCommand::Release(args) => verb::<op::TaskRelease>(context, args, TaskStep::Release),
        TaskCommand::Abandon(args) => verb::<op::TaskAbandon>(context, args, TaskStep::Abandon),
        TaskCommand::Requeue(args) => verb::<op::TaskRequeue>(context, args, TaskStep::Requeue),
        TaskCommand::Reopen(args) => verb::<op::TaskReopen>(context, args, TaskStep::Reopen),
        TaskCommand::Undo { id } => {
            execute::<op::TaskUndo>(context, UndoStep { id }, human::task::line)
        }
        TaskCommand::Block { verb: VerbArgs { ids, reason }, needs, questions, retry_after } => {
            let wish = Block { id: String::new(), needs, questions, retry_after, reason };
            let input = |id| Block { id, ..wish.clone() };
            each::<op::TaskBlock>(context, ids, input, TaskStep::Block, human::task::line)
        }
        TaskCommand::Check { verb: OneArgs { id, reason }, item, waive } => {
            let input = CheckItem { id, item, waive, reason };
            execute::<op::TaskCheck>(context, input, human::task::line)
        }
        TaskCommand::Subtask { id, step, text } => {
            let input = Subtask { id, step: step.into(), text };
            execute::<op::TaskSubtask>(context, input, human::task::line)
        }
        TaskCommand::Transition { verb: OneArgs { id, reason }, status, needs } => {
            let input = Transition { id, status, reason, needs };
            execute::<op::TaskTransition>(context, input, human::task::line)
        }
    }
}

/// Sends work back; what is to be remembered begins with a word for that.
fn request_changes(context: &Context, args: VerbArgs, remember: bool) -> Result<Reply, Refusal> {
    let VerbArgs { ids, reason } = args;
    let reason = reason.map(|reason| match remember {
        true => format!("{REMEMBER} {reason}"),
        false => reason,
    });
    let args = VerbArgs { ids, reason };
    verb::<op::TaskRequestChanges>(context, args, TaskStep::RequestChanges)
}

/// Shows tasks, all or none: as they are to programs, with their stories to whoever reads.
fn shown(context: &Context, ids: Vec<String>, json: bool) -> Result<Reply, Refusal> {
    let service = context.service(Access::Read)?;
    let caller = context.caller();
    let ids = ids.into_iter().map(|id| ById { id });
    if !json {
        let told = ids.map(|id| {
            let story = service.call::<op::TaskStory>(&caller, id)?;
            let brief = whole_brief(&service, context, &story.task.id);
            Ok((story, brief))
        });
        let told = told.collect::<Result<_, Refusal>>()?;
        return Ok(Reply::new(human::story::Stories(told), human::story::all));
    }
    let mut tasks = Vec::new();
    for id in ids {
        let mut shown = service.call::<op::TaskShow>(&caller, id)?;
        say_how(shown.brief.as_mut(), &[shown.task.id.clone()]);
        tasks.push(shown);
    }
    Ok(match <[_; 1]>::try_from(tasks) {
        Ok([task]) => Reply::new(task, human::task::briefed),
        Err(tasks) => {
            let tasks = tasks.into_iter().map(|it| it.task).collect();
            Reply::new(TasksAnswer { tasks, next: None }, human::task::lines)
        }
    })
}

/// Explains tasks, all or none.
fn explained(context: &Context, ids: Vec<String>) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Read)?, context.caller());
    let told = ids.into_iter().map(|id| service.call::<op::TaskWhy>(&caller, ById { id }));
    let told: Vec<Explained> =
        told.map(|why| why.map(Explained::from)).collect::<Result<_, _>>()?;
    Ok(match <[_; 1]>::try_from(told) {
        Ok([one]) => Reply::new(one, human::task::why),
        Err(several) => Reply::new(SeveralExplained::from(several), human::task::why_each),
    })
}

fn create(context: &Context, args: CreateArgs) -> Result<Reply, Refusal> {
    let is_edited = args.edit;
    let source = args.contract.clone().unwrap_or_default();
    let AskedFor { task: mut new, status, note } = task_fields::new_task(context, args)?;
    let mut written = None;
    if is_edited {
        let text = edit::write(&new.title, &new.description)?;
        (new.title, new.description) = (text.title.clone(), text.description.clone());
        written = Some(text);
    }
    let made = match status.filter(|status| *status != Status::Queued) {
        Some(status) => take_over(context, new, status, text::name_of(&source)),
        None => execute::<op::TaskCreate>(context, new, human::task::line),
    };
    match made {
        Ok(reply) => Ok(note.into_iter().fold(reply, Reply::note)),
        Err(refusal) => {
            written.into_iter().for_each(edit::Written::keep);
            Err(refusal)
        }
    }
}

/// Makes a task of an issue that is no longer, or not yet, to be claimed.
fn take_over(
    context: &Context,
    new: NewTask,
    status: Status,
    source: &str,
) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let made = contract::take_over(&service, &context.caller(), (new, status), source)?;
    let (id, now) = (&made.task.id, made.task.status);
    let note = (now != status).then(|| {
        format!(
            "note: {source} says {status}; {} may not take that over, so {id} is {now}",
            context.actor
        )
    });
    Ok(note.into_iter().fold(Reply::new(made, human::task::line), Reply::note))
}

fn claim(context: &Context, mut wish: Claim) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    wish.id = comity_github::choose(context, &wish)?;
    let about: Vec<String> = wish.id.iter().cloned().collect();
    let mut answered = Handler::<op::TaskClaim>::handle(&service, &context.caller(), wish)
        .map_err(|refusal| say_how_refused(refusal, &about))?;
    let ClaimAnswer { task, mission, branch, checkout, brief, .. } = &mut answered.output;
    say_how(brief.as_mut(), std::slice::from_ref(&task.id));
    if let Some(branch) = branch {
        let way = crate::env::observer(context).checkout(branch);
        *checkout = way.and_then(|way| wording::checkout(&way, branch));
    }
    let whole = whole_brief(&service, context, &task.id);
    let written = mission::write(context, task, mission, whole.as_ref());
    let reply = reply(answered, human::task::claim);
    // The claim stands even when what goes with it cannot be written.
    Ok(match written {
        Ok(_) => reply,
        Err(failed) => reply
            .note(format!("note: comity could not write the mission's files: {}", failed.message)),
    })
}

/// Starts one task, with its brief where that claims it, or several, all or none.
fn start(
    context: &Context,
    ids: Vec<String>,
    input: impl Fn(String) -> Start,
) -> Result<Reply, Refusal> {
    let id = match <[String; 1]>::try_from(ids) {
        Ok([id]) => id,
        Err(ids) => return several(context, ids.into_iter().map(|id| TaskStep::Start(input(id)))),
    };
    let service = context.service(Access::Write)?;
    let done = Handler::<op::TaskStart>::handle(&service, &context.caller(), input(id.clone()));
    let about = std::slice::from_ref(&id);
    let mut answered = done.map_err(|refusal| say_how_refused(refusal, about))?;
    say_how(answered.output.brief.as_mut(), about);
    let Answered { output, remarks } = answered;
    Ok(Reply::new(output, human::task::briefed).noted(remarks))
}

fn land(context: &Context, args: LandArgs, json: bool) -> Result<Reply, Refusal> {
    let strategy = match args.strategy {
        LandStrategy::Merge => Strategy::Merge,
        LandStrategy::Squash => Strategy::Squash,
        LandStrategy::Rebase => Strategy::Rebase,
    };
    let input = LandTask { id: args.id, into: args.into, strategy, push: args.push };
    let runner = team::runner(context, json)?;
    call::<op::TaskLand>(&runner, &context.caller(), input, human::task::landed)
}
/// Returns the whole brief for a task, for the file that its mission names.
pub(super) fn whole_brief(service: &Service, context: &Context, id: &str) -> Option<Brief> {
    let asked = AskBrief { task: Some(id.to_owned()), ..AskBrief::default() };
    let mut brief = service.call::<op::Brief>(&context.caller(), asked).ok()?.brief;
    say_how(Some(&mut brief), &[id.to_owned()]);
    Some(brief)
}

fn submit(context: &Context, args: SubmitArgs) -> Result<Reply, Refusal> {
    let VerbArgs { ids, reason } = args.verb;
    if args.result.is_some() && ids.len() > 1 {
        return Err(Refusal::input("a result is about one task")
            .hint("submit each task with its own --result"));
    }
    // A result is read before anything else: one that cannot be used moves nothing.
    let mut seeing = None;
    let (report, notes) = match &args.result {
        Some(file) => {
            let (name, text) = (text::name_of(file), text::contract(file)?);
            let (report, notes) = contract::work_report(Named { name, text: &text }, args.kind)?;
            if file != "-" {
                seeing = Some(crate::env::seeing_result(context, file, &text));
            }
            (Some(Box::new(report)), notes)
        }
        None => (None, Vec::new()),
    };
    let context = seeing.as_ref().unwrap_or(context);
    let given = Submission {
        id: String::new(),
        commit: args.commit,
        branch: args.branch,
        pr: args.pr,
        reviewer: args.reviewer,
        keep_leases: args.keep_leases,
        empty: args.empty,
        gates: args.gates,
        new: args.new,
        reason,
        report,
    };
    let input = |id| Submission { id, ..given.clone() };
    let words = human::task::submitted;
    Ok(each::<op::TaskSubmit>(context, ids, input, TaskStep::Submit, words)?.noted(notes))
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
fn verb<O>(
    context: &Context,
    VerbArgs { ids, reason }: VerbArgs,
    step: fn(TaskVerbInput) -> TaskStep,
) -> Result<Reply, Refusal>
where
    O: Operation<Input = TaskVerbInput, Output = TaskAnswer>,
    Service: Handler<O>,
{
    let input = |id| TaskVerbInput { id, reason: reason.clone() };
    each::<O>(context, ids, input, step, human::task::line)
}

/// Calls an operation for one task, or for several at once, all or none.
pub(super) fn each<O>(
    context: &Context,
    ids: Vec<String>,
    input: impl Fn(String) -> O::Input,
    step: fn(O::Input) -> TaskStep,
    words: Words<O::Output>,
) -> Result<Reply, Refusal>
where
    O: Operation,
    O::Output: CommandOutput + Serialize + 'static,
    Service: Handler<O>,
{
    match <[String; 1]>::try_from(ids) {
        Ok([id]) => execute::<O>(context, input(id), words),
        Err(ids) => several(context, ids.into_iter().map(|id| step(input(id)))),
    }
}

fn several(context: &Context, steps: impl Iterator<Item = TaskStep>) -> Result<Reply, Refusal> {
    let several = Several { ids: Vec::new(), steps: steps.collect() };
    execute::<op::TaskSeveral>(context, several, human::task::lines)
}

fn list(context: &Context, args: ListArgs) -> Result<Reply, Refusal> {
    let mine = args.mine.then(|| context.as_known()).transpose()?.map(|known| known.actor);
    let filter = TaskFilter {
        statuses: args.statuses,
        assignee: args.assignee.or(mine),
        labels: args.labels,
        role: args.role,
        initiative: args.initiative,
        ready: args.ready,
        search: args.search,
        all: args.all,
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
    let BriefedTask { task, mut brief } =
        service.call::<op::TaskHandoff>(&context.caller(), input)?;
    say_how(brief.as_mut(), std::slice::from_ref(&task.id));
    let text = comity_protocol::collab::handoff(&task, subtask, plan);
    let words = human::post::beside(json!(brief));
    let answer = json!({"task": task, "handoff": &text, "brief": brief});
    // Whoever starts the fresh context reads stdout: that is the prompt, and nothing else.
    Ok(Reply::text(answer, text).beside(words))
}
