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

use crate::args::{Cli, Command, CompletionShell, ExportCommand, Global, GuardCommand};
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use comity_core::command::Command as Operation;
use comity_core::refusal::Refusal;
use comity_engine::Query;
use serde_json::{Value, json};

/// Runs a command line.
pub fn run(cli: Cli) -> Result<Reply, Refusal> {
    let global = cli.global;
    match cli.command {
        Command::Completions { shell } => Ok(completions(shell)),
        Command::Demo => crate::demo::run(&global),
        Command::Init { yes: _ } => crate::init::run(&global),
        Command::Doctor { fix } => crate::doctor::run(&global, fix),
        Command::Store(command) => store::run(&global, &command),
        Command::Neo(command) => neo::run(&global, *command),
        Command::Contract(command) => contract::run(&global, command),
        Command::Rpc => collab::rpc(&global),
        Command::Collab(command) => collab::run(&global, command),
        Command::Guard(GuardCommand::Commit { message_file }) => {
            commit_message::check(&message_file)
        }
        command => in_project(&global, command),
    }
}

fn in_project(global: &Global, command: Command) -> Result<Reply, Refusal> {
    let context = Context::find(global)?;
    match command {
        Command::Task(command) => task::run(&context, *command),
        Command::Lease(command) => lease::run(&context, command),
        Command::Agent(command) => team::agent(&context, command),
        Command::Gate(command) => team::gate(&context, command),
        Command::Decision(command) => decision::run(&context, command, global.json),
        Command::Memory(command) => memory::memory(&context, command),
        Command::Directive(command) => memory::directive(&context, command),
        Command::Note { kind, text, task } => {
            execute(&context, Operation::Note { kind, text, task }, Shape::Event)
        }
        Command::Event(command) => event::run(&context, command, global.json),
        Command::Guard(command) => guard::run(&context, command),
        Command::Log(command) => log::run(&context, &command),
        Command::Report(command) => log::report(&context, command, global.json),
        Command::Import(command) => import::run(&context, command),
        Command::Export(ExportCommand::Neo { dir }) => neo::export(&context, &dir),
        Command::Export(ExportCommand::Collab { dir }) => collab::export(&context, &dir),
        Command::Watchdog { once } => watchdog::run(&context, once, global.json),
        Command::Status => status::run(&context),
        Command::Sync(command) => collab::sync(&context, &command, global.json),
        Command::Rpc
        | Command::Collab(_)
        | Command::Completions { .. }
        | Command::Demo
        | Command::Init { .. }
        | Command::Store(_)
        | Command::Neo(_)
        | Command::Contract(_)
        | Command::Doctor { .. } => Ok(Reply::printed()),
    }
}

/// Runs an operation that changes something.
fn execute(context: &Context, operation: Operation, shape: Shape) -> Result<Reply, Refusal> {
    let reply = Reply::new(context.execute(operation)?, shape);
    let ended = context.fence_from_env
        && reply.json.get("task").and_then(|task| task.get("claim")) == Some(&Value::Null);
    // A forgotten variable would have every later command refused as stale.
    Ok(if ended { reply.note("note: that claim has ended; unset COMITY_FENCE") } else { reply })
}

/// Answers a question.
fn query(context: &Context, query: Query, shape: Shape) -> Result<Reply, Refusal> {
    Ok(Reply::new(context.query(query)?, shape))
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
    clap_complete::generate(shell, &mut Cli::command(), "comity", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let answer: Value = json!({"shell": name, "script": script});
    Reply::new(answer, Shape::Text(script))
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::CommandFactory;
    use comity_engine::operations::OPERATIONS;

    /// What only a command line has.
    const OWN: &[&str] = &[
        "init",
        "doctor",
        "completions",
        "demo",
        "store.copy",
        "guard.commit",
        "rpc",
        "sync.collab",
    ];

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
        leaves(&Cli::command(), "", &mut found);
        found.retain(|name| !OWN.contains(&name.as_str()));
        found.retain(|name| !FRONTS.iter().any(|front| name.starts_with(front)));
        let mut wanted: Vec<String> = OPERATIONS.iter().map(|o| o.name.to_owned()).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
    }
}
