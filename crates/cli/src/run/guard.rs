//! `comity guard …`: what agents' hooks and git's hooks ask.

#![deny(clippy::wildcard_enum_match_arm)]

use super::{call, text};
use crate::args::{Global, GuardCommand};
use crate::env;
use crate::human::Screen;
use crate::output::{self, Reply};
use comity_api::{CheckMessage, CheckPush, CheckWork, GuardAnswer, Nothing, op};
use comity_core::refusal::Refusal;
use comity_guard::{Guard, Messages};
use std::path::PathBuf;

pub(super) fn run(global: &Global, command: GuardCommand) -> Result<Reply, Refusal> {
    let guard = || {
        let context = env::project(global)?;
        let observer = env::observer(&context);
        let index = env::var("GIT_INDEX_FILE")?.map(PathBuf::from);
        Ok::<_, Refusal>(Guard { context, observer, index })
    };
    match command {
        GuardCommand::Check { id, base, head } => {
            let guard = guard()?;
            let caller = guard.context.caller();
            call::<op::GuardCheck>(&guard, &caller, CheckWork { id, base, head }, checked)
        }
        GuardCommand::Push { remote } => {
            let input = CheckPush { text: text::contract("-")?, remote: remote.into_iter().next() };
            warned(
                global,
                guard().and_then(|guard| {
                    call::<op::GuardPush>(&guard, &guard.context.caller(), input, |_, _| {
                        String::new()
                    })
                }),
            )
        }
        GuardCommand::Hook { client } => Ok(super::hook::run(global, client)),
        GuardCommand::Commit { message_file: None, .. } => warned(
            global,
            guard().and_then(|guard| {
                let caller = guard.context.caller();
                call::<op::GuardStaged>(&guard, &caller, Nothing {}, |_, _| String::new())
            }),
        ),
        GuardCommand::Commit { hook: true, .. } if !has_template(global) => Ok(Reply::printed()),
        GuardCommand::Commit { message_file: Some(message_file), hook } => {
            let input = CheckMessage { message: text::message(&message_file)? };
            let caller = env::caller_alone()?;
            let checked = call::<op::GuardCommit>(&Messages, &caller, input, |_, _| String::new());
            if hook { warned(global, checked) } else { checked }
        }
    }
}

/// A person is told and may go on, whatever goes wrong: also a guard that cannot answer. An agent is stopped.
fn warned(global: &Global, checked: Result<Reply, Refusal>) -> Result<Reply, Refusal> {
    let is_agent = match &global.asked().actor {
        Some(named) => !named.starts_with("human:"),
        None => env::is_agent(),
    };
    match checked {
        Err(refusal) if !is_agent => {
            output::remark(&format!("warning: {}", refusal.message));
            Ok(Reply::printed())
        }
        done => done,
    }
}

/// Tells whether the project wants messages to follow the template. Where nothing is set up, it wants nothing.
fn has_template(global: &Global) -> bool {
    env::project(global).is_ok_and(|context| context.config.commits().template)
}

fn checked(answer: &GuardAnswer, _: &Screen) -> String {
    let GuardAnswer { task, files, .. } = answer;
    let Some(base) = &answer.base else {
        return format!("{task} delivers no code; nothing to check\n");
    };
    let short = base.get(..10).unwrap_or(base);
    format!("{task} meets its constraints: {} files changed since {short}\n", files.len())
}
