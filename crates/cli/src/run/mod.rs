//! One file per group of commands: arguments become an operation, its answer becomes a reply.

mod collab;
mod decision;
mod event;
mod guard;
mod lease;
mod log;
mod status;
mod store;
mod task;
mod task_fields;
mod task_git;
mod team;
mod watchdog;

use crate::args::{Cli, Command, CompletionShell, Global};
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
        Command::Rpc => collab::rpc(&global),
        Command::Collab(command) => collab::run(&global, command),
        Command::Guard(command) => guard::run(&command),
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
        Command::Note { kind, text, task } => {
            execute(&context, Operation::Note { kind, text, task }, Shape::Event)
        }
        Command::Event(command) => event::run(&context, command, global.json),
        Command::Log(command) => log::run(&context, &command),
        Command::Report(command) => log::report(&context, command, global.json),
        Command::Watchdog { once } => watchdog::run(&context, once, global.json),
        Command::Status => status::run(&context),
        Command::Import(command) => collab::import(&context, command),
        Command::Export(command) => collab::export(&context, &command),
        Command::Sync(command) => collab::sync(&context, &command, global.json),
        Command::Rpc
        | Command::Collab(_)
        | Command::Guard(_)
        | Command::Completions { .. }
        | Command::Demo
        | Command::Init { .. }
        | Command::Store(_)
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
    const OWN: [&str; 20] = [
        "init",
        "doctor",
        "completions",
        "demo",
        "store.copy",
        "rpc",
        "collab.emit-event",
        "collab.acquire-lease",
        "collab.renew-lease",
        "collab.release-lease",
        "collab.generate-log",
        "collab.list-tasks",
        "collab.create-task",
        "collab.update-task",
        "collab.transition-task",
        "import.collab",
        "import.v1",
        "export.collab",
        "sync.collab",
        "guard.commit",
    ];

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
        let mut wanted: Vec<String> = OPERATIONS.iter().map(|o| o.name.to_owned()).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
    }
}
