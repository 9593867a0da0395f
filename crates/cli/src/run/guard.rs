//! `comity guard …`: what agents' hooks and git's hooks ask.

#![deny(clippy::wildcard_enum_match_arm)]

use super::{call, text};
use crate::args::{Global, GuardCommand};
use crate::env;
use crate::human::Screen;
use crate::output::Reply;
use comity_api::{CheckMessage, CheckPush, CheckWork, GuardAnswer, Nothing, op};
use comity_core::refusal::Refusal;
use comity_guard::{Guard, Messages};

pub(super) fn run(global: &Global, command: GuardCommand) -> Result<Reply, Refusal> {
    let guard = || {
        let context = env::project(global)?;
        let observer = env::observer(&context);
        Ok::<_, Refusal>(Guard { context, observer })
    };
    match command {
        GuardCommand::Check { id } => {
            let guard = guard()?;
            let caller = guard.context.caller();
            call::<op::GuardCheck>(&guard, &caller, CheckWork { id }, checked)
        }
        GuardCommand::Push { remote } => {
            let (text, guard) = (text::contract("-")?, guard()?);
            let input = CheckPush { text, remote: remote.into_iter().next() };
            call::<op::GuardPush>(&guard, &guard.context.caller(), input, |_, _| String::new())
        }
        GuardCommand::Hook { client } => Ok(super::hook::run(global, client)),
        GuardCommand::Commit { message_file: None } => {
            let guard = guard()?;
            let caller = guard.context.caller();
            call::<op::GuardStaged>(&guard, &caller, Nothing {}, |_, _| String::new())
        }
        GuardCommand::Commit { message_file: Some(message_file) } => {
            let input = CheckMessage { message: text::message(&message_file)? };
            let caller = env::caller_alone()?;
            call::<op::GuardCommit>(&Messages, &caller, input, |_, _| String::new())
        }
    }
}

fn checked(answer: &GuardAnswer, _: &Screen) -> String {
    let GuardAnswer { task, files, .. } = answer;
    let Some(base) = &answer.base else {
        return format!("{task} delivers no code; nothing to check\n");
    };
    let short = base.get(..10).unwrap_or(base);
    format!("{task} meets its constraints: {} files changed since {short}\n", files.len())
}
