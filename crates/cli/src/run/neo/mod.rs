//! `comity neo …`: neo's commands, flags, words and exit statuses over this project's store.

mod decision;
mod directive;
mod export;
mod files;
mod find;
mod import;
mod log;
mod memory;
mod met;
mod print;
mod resume;
mod task;

pub(super) use export::export;
pub(super) use import::import;
pub(super) use resume::render as render_resume;

use crate::args::{self, Global, NeoCommand};
use crate::context::Context;
use crate::env;
use crate::output::{self, Reply};
use comity_core::command::{Command, Request};
use comity_core::refusal::Refusal;

/// What an answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// neo's words.
    Words,
    /// One object on one line, as everywhere in comity.
    Object,
    /// neo's own JSON, where neo has the flag.
    Neos,
}

/// Runs one of neo's commands. What neo would refuse with a cross and exit 1 is refused so here.
pub(super) fn run(global: &Global, command: NeoCommand) -> Result<Reply, Refusal> {
    let done = by_agent(global).and_then(|own| dispatch(&own, command));
    done.or_else(|refusal| if global.json { Err(refusal) } else { Ok(print::failed(&refusal)) })
}

fn dispatch(global: &Global, command: NeoCommand) -> Result<Reply, Refusal> {
    let context = || Context::find(global);
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
    }
}

/// Refuses a word that is none of a command's.
fn unknown(words: &[String], known: &str) -> Result<Reply, Refusal> {
    let word = words.first().map_or("", String::as_str);
    let refusal = Refusal::input(format!("Unknown action \"{word}\". Must be one of: {known}"));
    // What follows an unknown word is not read as options, so the flag is still among the words.
    if words.iter().any(|word| word == "--json") {
        let _ = output::refusal(&refusal, true);
        return Ok(Reply::printed().exit(refusal.code.exit_status()));
    }
    Err(refusal)
}

/// What the ids of neo's agents begin with.
const AGENT: &str = "neo:";
/// How much of an agent's name, and of its run's id, goes into its id here.
const NAME_CHARS: usize = 60;
const RUN_CHARS: usize = 60;

fn plain(text: &str, most: usize) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).take(most).collect()
}

/// Acts as the agent that neo says is running, when nobody says otherwise: its name and its run. It never is a person,
/// whatever its name is.
fn by_agent(global: &Global) -> Result<Global, Refusal> {
    let mut own = global.clone();
    if own.actor.is_some() || env::var("COMITY_AGENT")?.is_some() {
        return Ok(own);
    }
    let Some(name) = env::var("NEO_AGENT_NAME")? else { return Ok(own) };
    let name = plain(&name, NAME_CHARS);
    if !name.is_empty() {
        let run = env::var("NEO_RUN_ID")?.map(|run| plain(&run, RUN_CHARS));
        own.actor = Some(match run.filter(|run| !run.is_empty()) {
            Some(run) => format!("{AGENT}{name}:{run}"),
            None => format!("{AGENT}{name}"),
        });
    }
    Ok(own)
}

/// The name under which neo knows an agent: without our prefix and its run; a person or a script is a user.
fn short_agent(agent: &str) -> String {
    match agent.strip_prefix(AGENT) {
        Some(name) => name.split(':').next().unwrap_or(name).to_owned(),
        None if agent.starts_with("human:") || agent.starts_with("script:") => "user".to_owned(),
        None => agent.to_owned(),
    }
}

/// One of several steps of one command line: each has a key of its own, so that all of them can be repeated.
fn step(context: &Context, command: Command, number: usize) -> Request {
    let request = context.request(command);
    let key = request.key.as_ref().map(|key| format!("{key}:{number}"));
    Request { key, ..request }
}
