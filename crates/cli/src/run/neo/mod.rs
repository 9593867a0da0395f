//! `comity neo …`: neo's commands, flags, words and exit statuses over this project's store.

mod decision;
mod directive;
mod directories;
mod export;
mod find;
mod import;
mod log;
mod memory;
mod print;
mod task;

pub(super) use export::export;
pub(super) use import::import;

use crate::args::{Global, NeoCommand};
use crate::context::Context;
use crate::env;
use crate::output::Reply;
use comity_core::refusal::Refusal;

/// Runs one of neo's commands. What neo would refuse with a cross and exit 1 is refused so here.
pub(super) fn run(global: &Global, command: NeoCommand) -> Result<Reply, Refusal> {
    let done = match command {
        NeoCommand::Decision(command) => {
            Context::find(global).and_then(|context| decision::run(&context, command, global.json))
        }
        NeoCommand::Task(command) => {
            Context::find(global).and_then(|context| task::run(&context, command))
        }
        NeoCommand::Directive(command) => {
            Context::find(global).and_then(|context| directive::run(&context, command))
        }
        NeoCommand::Memory(command) => {
            Context::find(global).and_then(|context| memory::run(&context, command))
        }
        NeoCommand::Log(args) => log::run(global, args),
        NeoCommand::Logs(args) => {
            Context::find(global).and_then(|context| log::show(&context, &args))
        }
    };
    done.or_else(|refusal| if global.json { Err(refusal) } else { Ok(print::failed(&refusal)) })
}

/// The agent that neo says is running, when nobody says otherwise: its name and the start of its run's id.
fn agent_of_run() -> Result<Option<String>, Refusal> {
    let Some(name) = env::var("NEO_AGENT_NAME")? else { return Ok(None) };
    let plain = |text: &str, most: usize| -> String {
        text.chars()
            .filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c))
            .take(most)
            .collect()
    };
    let name = plain(&name, 60);
    if name.is_empty() {
        return Ok(None);
    }
    Ok(Some(match env::var("NEO_RUN_ID")? {
        Some(run) => format!("neo:{name}:{}", plain(&run, log::RUN_CHARS)),
        None => format!("neo:{name}"),
    }))
}
