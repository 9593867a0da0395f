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
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use crate::work_tree;
use comity_core::command::Command as Operation;
use comity_core::refusal::Refusal;
use comity_engine::Query;
use serde_json::{Value, json};

/// Runs a command line.
pub fn run(cli: Cli) -> Result<Reply, Refusal> {
    let global = &cli.global;
    // Some find the project by themselves, or need none.
    let context = || Context::find(global);
    match cli.command {
        Command::Init { yes: _ } => crate::init::run(global),
        Command::Status => status::run(&context()?),
        Command::Task(command) => task::run(&context()?, *command.0),
        Command::Lease(command) => lease::run(&context()?, *command.0),
        Command::Agent(command) => team::agent(&context()?, *command.0),
        Command::Gate(command) => team::gate(&context()?, *command.0),
        Command::Decision(command) => decision::run(&context()?, *command.0, global.json),
        Command::Note { kind, text, task } => {
            execute(&context()?, Operation::Note { kind, text, task }, Shape::Event)
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
            command => guard::run(&context()?, command),
        },
        Command::Memory(command) => memory::memory(&context()?, *command.0),
        Command::Directive(command) => memory::directive(&context()?, *command.0),
        Command::Log(command) => log::run(&context()?, &command.0),
        Command::Report(command) => log::report(&context()?, *command.0, global.json),
        Command::Import(command) => import::run(&context()?, *command.0),
        Command::Export(command) => match *command.0 {
            ExportCommand::Neo { dir } => neo::export(&context()?, &dir),
            ExportCommand::Collab { dir } => collab::export(&context()?, &dir),
        },
        Command::Sync(command) => collab::sync(&context()?, &command.0, global.json),
        Command::Watchdog { once } => watchdog::run(&context()?, once, global.json),
    }
}

/// Runs an operation that changes something.
fn execute(context: &Context, operation: Operation, shape: Shape) -> Result<Reply, Refusal> {
    let mut engine = context.engine(Access::Write)?;
    let (answer, notes) = work_tree::execute(context, &mut engine, context.request(operation))?;
    let reply = notes.into_iter().fold(Reply::new(answer, shape), Reply::note);
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
    clap_complete::generate(shell, &mut at_once(Cli::command), "comity", &mut script);
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
        let mut root = Cli::command();
        root.build();
        leaves(&root, "", &mut found);
        found.retain(|name| !name.split('.').any(|part| part == "help"));
        found.retain(|name| !OWN.contains(&name.as_str()));
        found.retain(|name| !FRONTS.iter().any(|front| name.starts_with(front)));
        let mut wanted: Vec<String> = OPERATIONS.iter().map(|o| o.name.to_owned()).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
    }
}
