//! `comity neo …`: neo's commands, flags, words and exit statuses over this project's store.

#![deny(clippy::wildcard_enum_match_arm)]

mod decision;
mod directive;
mod fleet;
mod log;
mod memory;
mod print;
mod supervisor;
mod task;

use crate::args::{self, Global, NeoCommand};
use crate::env;
use crate::output::{self, Reply};
use comity_core::refusal::Refusal;
use comity_project::Context;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// neo's words.
    Words,
    /// One object on one line, as everywhere in comity.
    Object,
    /// neo's own JSON, where neo has the flag.
    Neos,
}

/// Runs one of neo's commands. A refusal is printed as neo prints it: a cross, and exit status 1.
pub(super) fn run(global: &Global, command: NeoCommand) -> Result<Reply, Refusal> {
    dispatch(global, command)
        .or_else(|refusal| if global.json { Err(refusal) } else { Ok(print::failed(&refusal)) })
}

/// Finds the project. neo's `--repo` is the path of a repository, and comity's its name in the store: a directory that is there is
/// meant as neo means it.
fn project(global: &Global) -> Result<Context, Refusal> {
    let (mut machine, mut own) = (env::machine()?, global.clone());
    let path = own.repo.as_ref().map(|repo| machine.cwd.join(repo));
    if let Some(dir) = path.and_then(|path| path.canonicalize().ok()).filter(|dir| dir.is_dir()) {
        machine.cwd = dir;
        own.repo = None;
    }
    Ok(env::seeing(Context::find(&machine, &own.asked())?))
}

fn dispatch(global: &Global, command: NeoCommand) -> Result<Reply, Refusal> {
    let context = || project(global);
    let form = match (global.json, args::json_comes_first()) {
        (false, _) => Form::Words,
        (true, true) => Form::Object,
        (true, false) => Form::Neos,
    };
    match command {
        NeoCommand::Decision(command) => decision::run(&context()?, command, form),
        NeoCommand::Task(command) => task::run(&context()?, command),
        NeoCommand::Directive(command) => directive::run(&context()?, command),
        NeoCommand::Memory(command) => memory::run(&context()?, command),
        NeoCommand::Log(args) => log::run(global, args),
        NeoCommand::Logs(args) => log::show(&context()?, &args),
        NeoCommand::Run(args) => fleet::start(&context()?, *args),
        NeoCommand::Runs(args) => fleet::runs(&context()?, &args),
        NeoCommand::Cost(args) => fleet::cost(&context()?, &args),
        NeoCommand::Supervise(args) => supervisor::supervise(&context()?, *args, global),
        NeoCommand::Supervisor(command) => {
            supervisor::supervisor(&context()?, command, global.json)
        }
        NeoCommand::Agents { form } => supervisor::agents(&context()?, &form),
        NeoCommand::Child(command) => supervisor::child(&context()?, command, global),
        NeoCommand::Do { task, .. } => supervisor::hand_over(&context()?, task, global),
    }
}

fn unknown(words: &[String], known: &str) -> Result<Reply, Refusal> {
    let word = words.first().map_or("", String::as_str);
    let refusal = Refusal::input(format!("Unknown action \"{word}\". Must be one of: {known}"));
    // Words after an unknown subcommand are not parsed as options, so `--json` is still among them.
    if words.iter().any(|word| word == "--json") {
        let _ = output::refusal(&refusal, true);
        return Ok(Reply::printed().exit(refusal.code.exit_status()));
    }
    Err(refusal)
}
