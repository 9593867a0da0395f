//! `comity pad …`, `comity interface …`, `comity note`, `comity tell` and `comity brief`; news beside any answer.

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show, text};
use crate::args::{BriefArgs, InterfaceCommand, NoteArgs, PadCommand, PublishArgs, TellArgs};
use crate::human;
use crate::output::Reply;
use comity_api::{
    AppendToPad, AskBrief, ListInterfaces, PadOf, ShowInterface, TellText, WriteNote, WritePad, op,
};
use comity_core::brief::Brief;
use comity_core::command::NewInterface;
use comity_core::hint::{Hint, op as operation};
use comity_core::ids::TaskId;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;

pub(super) fn pad(context: &Context, command: PadCommand) -> Result<Reply, Refusal> {
    match command {
        PadCommand::Show { scope } => {
            show::<op::PadShow>(context, PadOf { scope }, human::post::pad)
        }
        PadCommand::Append { text, scope } => {
            let input = AppendToPad { text, scope };
            execute::<op::PadAppend>(context, input, human::post::written)
        }
        PadCommand::Write { file, scope, section, if_match } => {
            let input = WritePad { text: text::plain(&file)?, scope, section, if_match };
            execute::<op::PadWrite>(context, input, human::post::written)
        }
        PadCommand::History { scope } => {
            show::<op::PadHistory>(context, PadOf { scope }, human::post::history)
        }
    }
}

pub(super) fn interface(context: &Context, command: InterfaceCommand) -> Result<Reply, Refusal> {
    match command {
        InterfaceCommand::Publish(args) => {
            let PublishArgs { name, file, paths, audience, task, if_match } = *args;
            let paths = context.mapper().patterns(&paths)?;
            let text = text::plain(&file)?;
            let input = NewInterface { name, text, paths, audience, task, if_match };
            execute::<op::InterfacePublish>(context, input, human::post::published)
        }
        InterfaceCommand::Show { name, version, diff } => {
            let input = ShowInterface { name, version, diff };
            show::<op::InterfaceShow>(context, input, human::post::interface)
        }
        InterfaceCommand::List { path, page } => {
            let paths: Vec<String> = path.into_iter().collect();
            let path = context.mapper().patterns(&paths)?.pop();
            let (limit, after) = (page.limit.map(usize::from), page.after);
            let input = ListInterfaces { path, limit, after };
            show::<op::InterfaceList>(context, input, human::post::interfaces)
        }
    }
}

pub(super) fn note(context: &Context, args: NoteArgs) -> Result<Reply, Refusal> {
    let NoteArgs { kind, text, task, paths } = args;
    let paths = context.mapper().patterns(&paths)?;
    execute::<op::Note>(context, WriteNote { kind, text, task, paths }, human::event::one)
}

pub(super) fn tell(context: &Context, args: TellArgs) -> Result<Reply, Refusal> {
    let TellArgs { to, text } = args;
    execute::<op::Tell>(context, TellText { to, text }, human::post::told)
}

pub(super) fn brief(context: &Context, args: BriefArgs) -> Result<Reply, Refusal> {
    let limit = args.limit.map(usize::from);
    let mut answer = match args.about.as_slice() {
        [one] if TaskId::parse(one).is_ok() || TaskId::numbered(one).is_some() => {
            let task = AskBrief { task: Some(one.clone()), limit, ..AskBrief::default() };
            match context.ask::<op::Brief>(task) {
                // What is no task is a path, unless it can only be meant as a task.
                Err(refusal)
                    if refusal.code == Code::NotFound && TaskId::numbered(one).is_none() =>
                {
                    let paths = context.mapper().patterns(&args.about)?;
                    context.ask::<op::Brief>(AskBrief { paths, limit, ..AskBrief::default() })?
                }
                found => found?,
            }
        }
        about => {
            let paths = context.mapper().patterns(about)?;
            context.ask::<op::Brief>(AskBrief { paths, limit, ..AskBrief::default() })?
        }
    };
    say_how(Some(&mut answer.brief), &args.about);
    Ok(Reply::new(answer, human::post::brief).paged())
}

/// Words how to get what a brief leaves out.
pub(super) fn say_how(brief: Option<&mut Brief>, about: &[String]) {
    if let Some(more) = brief.and_then(|brief| brief.more.as_mut()) {
        let call = about.iter().fold(operation("brief"), |call, word| call.arg("ids", word));
        let hint = Hint::from(call.arg("limit", &PAGE_MAX));
        more.how = hint.worded(&crate::wording::CommandLine);
    }
}

/// Adds what is new for the caller to an answer. No answer fails for want of news.
pub(super) fn with_news(context: &Context, reply: Reply) -> Reply {
    let Some(service) = context.opened().filter(|_| reply.has_answer()) else { return reply };
    match service.news(&context.caller()) {
        Ok(news) => reply.news(news),
        Err(_) => reply,
    }
}

/// Notes that the answer is out.
pub(super) fn delivered(context: &Context) {
    if let Some(service) = context.opened() {
        // What cannot be noted is told again later, and says so.
        let _ = service.delivered(&context.caller());
    }
}
