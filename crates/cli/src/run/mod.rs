//! One file per group of commands: arguments become an operation, its answer becomes a reply.

mod apply;
mod collab;
mod commit_message;
mod contract;
mod decision;
mod event;
mod guard;
mod import;
mod lease;
mod log;
mod memory;
mod mission;
mod neo;
mod push;
mod status;
mod store;
mod task;
mod task_fields;
mod task_git;
mod task_result;
mod team;
mod watchdog;
mod words;
mod writing;

use crate::args::{Cli, Command, CompletionShell, ExportCommand, GuardCommand, at_once};
use crate::human;
use crate::output::{Reply, Words};
use comity_api::{Operation, WriteNote, op};
use comity_core::refusal::Refusal;
use comity_engine::{Answered, CommandOutput, Handler, Service};
use comity_project::Context;
use comity_project::store::Access;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Runs a command line.
#[deny(clippy::wildcard_enum_match_arm)]
pub fn run(cli: Cli) -> Result<Reply, Refusal> {
    let global = &cli.global;
    // Some find the project by themselves, or need none.
    let context = || crate::env::project(global);
    match cli.command {
        Command::Init { yes: _ } => crate::init::run(global),
        Command::Status => status::run(&context()?),
        Command::Task(command) => task::run(&context()?, *command.0),
        Command::Lease(command) => lease::run(&context()?, *command.0),
        Command::Agent(command) => team::agent(&context()?, *command.0),
        Command::Gate(command) => team::gate(&context()?, *command.0),
        Command::Decision(command) => decision::run(&context()?, *command.0, global.json),
        Command::Note { kind, text, task } => {
            execute::<op::Note>(&context()?, WriteNote { kind, text, task }, human::event::one)
        }
        Command::Event(command) => event::run(&context()?, *command.0, global.json),
        Command::Completions { shell } => Ok(completions(shell)),
        Command::Demo => crate::demo::run(global),
        Command::Doctor { fix } => crate::doctor::run(global, fix),
        Command::Store(command) => store::run(global, &command.0),
        Command::Neo(command) => neo::run(global, *command.0),
        Command::Contract(command) => contract::run(global, *command.0),
        Command::Rpc => collab::rpc(global),
        Command::Collab(command) => collab::run(global, *command.0),
        Command::Guard(command) => match *command.0 {
            GuardCommand::Commit { message_file } => commit_message::check(&message_file),
            command @ (GuardCommand::Check { .. } | GuardCommand::Push { .. }) => {
                guard::run(&context()?, command)
            }
        },
        Command::Memory(command) => memory::memory(&context()?, *command.0),
        Command::Directive(command) => memory::directive(&context()?, *command.0),
        Command::Log(command) => log::run(&context()?, &command.0),
        Command::Report(command) => log::report(&context()?, *command.0, global.json),
        Command::Import(command) => import::run(&context()?, *command.0),
        Command::Export(command) => match *command.0 {
            ExportCommand::Neo { dir, overwrite } => {
                let done = comity_bridge::neo::export(&context()?, &dir, overwrite)?;
                Ok(Reply::new(done, human::import::neo_export))
            }
            ExportCommand::Collab { dir } => collab::export(&context()?, &dir),
        },
        Command::Sync(command) => collab::sync(&context()?, &command.0, global.json),
        Command::Watchdog { once } => watchdog::run(&context()?, once, global.json),
    }
}

/// Calls an operation that changes something, and shows its answer.
fn execute<O>(context: &Context, input: O::Input, words: Words<O::Output>) -> Result<Reply, Refusal>
where
    O: Operation,
    O::Output: CommandOutput + Serialize + 'static,
    Service: Handler<O>,
{
    let service = context.service(Access::Write)?;
    Ok(reply(context, service.handle(&context.caller(), input)?, words))
}

/// Shows an answer with its remarks.
fn reply<A>(context: &Context, answered: Answered<A>, words: Words<A>) -> Reply
where
    A: CommandOutput + Serialize + 'static,
{
    let Answered { output, remarks } = answered;
    let ended = context.fence_from_env && output.task().is_some_and(|task| task.claim.is_none());
    let reply = remarks.into_iter().fold(Reply::new(output, words), Reply::note);
    if ended { reply.note(CLAIM_HAS_ENDED) } else { reply }
}

/// A forgotten variable would have every later command refused as stale.
const CLAIM_HAS_ENDED: &str = "note: that claim has ended; unset COMITY_FENCE";

/// Calls an operation that only reads, and shows its answer.
fn show<O>(context: &Context, input: O::Input, words: Words<O::Output>) -> Result<Reply, Refusal>
where
    O: Operation,
    O::Output: Serialize + DeserializeOwned + 'static,
    Service: Handler<O>,
{
    Ok(Reply::new(context.ask::<O>(input)?, words))
}

fn completions(shell: CompletionShell) -> Reply {
    use clap::CommandFactory;
    use clap_complete::Shell;
    let (shell, name) = match shell {
        CompletionShell::Bash => (Shell::Bash, "bash"),
        CompletionShell::Zsh => (Shell::Zsh, "zsh"),
        CompletionShell::Fish => (Shell::Fish, "fish"),
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut at_once(Cli::command), "comity", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Reply::text(json!({"shell": name, "script": &script}), script)
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::CommandFactory;
    use comity_api::TABLE;

    /// What only a command line has: it is about this machine, its files, or texts of other protocols.
    const OWN: &[&str] = &[
        "init",
        "doctor",
        "completions",
        "demo",
        "store.copy",
        "guard.check",
        "guard.commit",
        "guard.push",
        "contract.apply",
        "contract.schema",
        "contract.validate",
        "report.board",
        "report.log",
        "rpc",
        "sync.collab",
    ];

    /// Operations that the command line asks for in the words of others: `contract render mission`, `task intervene`
    /// without an answer.
    const BY_OTHER_WORDS: &[&str] = &["task.mission", "task.intervention"];

    /// Other tools' words for operations that are in the table under their own names.
    const FRONTS: &[&str] = &["import.", "export.", "neo.", "collab."];

    fn leaves(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        for inner in command.get_subcommands() {
            let name = format!("{path}{}", inner.get_name());
            if inner.has_subcommands() {
                leaves(inner, &format!("{name}."), found);
            } else {
                found.push(name);
            }
        }
    }

    #[test]
    fn the_command_line_has_every_operation_and_no_other() {
        let mut found = Vec::new();
        let mut root = Cli::command();
        root.build();
        leaves(&root, "", &mut found);
        found.retain(|name| !name.split('.').any(|part| part == "help"));
        found.retain(|name| !OWN.contains(&name.as_str()));
        found.retain(|name| !FRONTS.iter().any(|front| name.starts_with(front)));
        let mut wanted: Vec<String> = TABLE.iter().map(|row| row.name.to_owned()).collect();
        wanted.retain(|name| !BY_OTHER_WORDS.contains(&name.as_str()));
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
    }
}
