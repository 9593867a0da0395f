//! `comity pad …`, `comity interface …`, `comity note`, `comity tell` and `comity brief`; news beside any answer.

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show, text};
use crate::args::{BriefArgs, InterfaceCommand, NoteArgs, PadCommand, PublishArgs, TellArgs};
use crate::human;
use crate::output::Reply;
use comity_api::{
    AppendToPad, AskBrief, ById, ListInterfaces, PadOf, ShowInterface, TellText, WriteNote,
    WritePad, op,
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

pub(super) fn brief(context: &Context, args: &BriefArgs) -> Result<Reply, Refusal> {
    let limit = args.limit.map(usize::from);
    let of_task = |id: &str| AskBrief { task: Some(id.to_owned()), limit, ..AskBrief::default() };
    let of_paths = |about: &[String]| -> Result<AskBrief, Refusal> {
        Ok(AskBrief { paths: context.mapper().patterns(about)?, limit, ..AskBrief::default() })
    };
    let asked = match args.about.as_slice() {
        [one] if is_number(one) => of_task(one),
        [one] if TaskId::parse(one).is_ok() && is_task(context, one)? => of_task(one),
        about => of_paths(about)?,
    };
    let mut answer = context.ask::<op::Brief>(asked)?;
    say_how(Some(&mut answer.brief), &args.about);
    Ok(Reply::new(answer, human::post::brief).paged())
}

/// Tells whether a word can only mean a task: `7`, `t7` or `T7`.
fn is_number(word: &str) -> bool {
    TaskId::numbered(&word.replacen('T', "t", 1)).is_some()
}

/// Tells whether there is a task of that id; otherwise a word is a path.
fn is_task(context: &Context, id: &str) -> Result<bool, Refusal> {
    match context.ask::<op::TaskWhy>(ById { id: id.to_owned() }) {
        Ok(_) => Ok(true),
        Err(refusal) if refusal.code == Code::NotFound => Ok(false),
        Err(refusal) => Err(refusal),
    }
}

/// Words how to get what a brief leaves out.
pub(super) fn say_how(brief: Option<&mut Brief>, about: &[String]) {
    if let Some(more) = brief.and_then(|brief| brief.more.as_mut()) {
        more.how = how(about);
    }
}

/// Words how to get what the brief of a refusal leaves out.
pub(super) fn say_how_refused(mut refusal: Refusal, about: &[String]) -> Refusal {
    let brief = refusal.details.get_mut("brief");
    if let Some(place) = brief.and_then(|brief| brief.pointer_mut("/more/how")) {
        *place = how(about).into();
    }
    refusal
}

fn how(about: &[String]) -> String {
    let call = about.iter().fold(operation("brief"), |call, word| call.arg("ids", word));
    Hint::from(call.arg("limit", &PAGE_MAX)).worded(&crate::wording::CommandLine)
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
