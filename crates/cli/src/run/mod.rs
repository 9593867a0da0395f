//! One file per group of commands: arguments become an operation, its answer becomes a reply.

mod collab;
mod config;
mod contract;
mod decision;
mod edit;
mod event;
mod fleet;
mod focus;
mod github;
mod guard;
mod hook;
mod import;
mod lease;
mod log;
mod man;
mod memory;
mod merge;
mod neo;
mod objective;
mod post;
mod prime;
mod serve;
mod status;
mod store;
pub mod supervise;
mod task;
mod task_fields;
mod team;
mod text;
mod trust;
mod watchdog;
mod whoami;
mod why;
mod with;
mod words;
mod worker;
mod workspace;
mod writing;

pub use fleet::keeper;

use crate::args::{Cli, Command, CompletionShell, Global, at_once};
use crate::human;
use crate::output::{self, Reply, Words};
use comity_api::{Nothing, Operation, TakeSnapshot, op};
use comity_core::refusal::Refusal;
use comity_engine::{Answered, Caller, CommandOutput, Handler, Service};
use comity_guard::Snapshots;
use comity_project::Context;
use comity_project::store::Access;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::cell::OnceCell;
use std::process::ExitCode;

/// The project of a command, found when the command first asks for it.
struct ProjectOnce<'g>(&'g Global, OnceCell<Context>);

impl ProjectOnce<'_> {
    fn context(&self) -> Result<&Context, Refusal> {
        if let Some(context) = self.1.get() {
            return Ok(context);
        }
        let context = crate::env::project(self.0)?;
        Ok(self.1.get_or_init(|| context))
    }
}

/// Runs a command, prints its answer with what is new for the caller, and notes that it is out.
pub fn run(cli: Cli) -> ExitCode {
    let (global, json) = (cli.global.clone(), cli.global.json);
    let found = ProjectOnce(&global, OnceCell::new());
    let answered = answer(cli, &found).and_then(|reply| dated(reply, &found));
    let context = found.1.get();
    let exit = match answered {
        Ok(reply) => {
            let reply = match context {
                Some(context) => post::with_news(context, reply),
                None => reply,
            };
            output::reply(&reply, json)
        }
        Err(refusal) => output::refusal(&refusal, json),
    };
    context.into_iter().for_each(post::delivered);
    exit
}

/// Says which moment it is about, if it is one of the past.
fn dated(reply: Reply, found: &ProjectOnce<'_>) -> Result<Reply, Refusal> {
    match found.0.at {
        Some(_) => Ok(reply.at(found.context()?.service(Access::Read)?.moment())),
        None => Ok(reply),
    }
}

#[deny(clippy::wildcard_enum_match_arm)]
fn answer(cli: Cli, found: &ProjectOnce<'_>) -> Result<Reply, Refusal> {
    let global = &cli.global;
    // Some find the project by themselves, or need none.
    let context = || found.context();
    if global.roots.len() > 1 && !matches!(cli.command, Command::Serve(_)) {
        return Err(Refusal::input("only a server takes several roots").hint("give --root once"));
    }
    match cli.command {
        Command::Init(args) => crate::init::run(global, &args),
        Command::Status => status::run(context()?),
        Command::Board => crate::board::run(context()?, global.json),
        Command::Whoami => whoami::run(context()?),
        Command::Task(command) => task::run(context()?, *command.0, global.json),
        Command::Lease(command) => lease::run(context()?, *command.0),
        Command::Agent(command) => team::agent(context()?, *command.0),
        Command::Gate(command) => team::gate(context()?, *command.0, global.json),
        Command::Decision(command) => decision::run(context()?, *command.0, global.json),
        Command::Note(args) => post::note(context()?, *args.0),
        Command::Tell(args) => post::tell(context()?, *args.0),
        Command::Brief(args) => post::brief(context()?, &args.0),
        Command::Pad(command) => post::pad(context()?, *command.0),
        Command::Interface(command) => post::interface(context()?, *command.0),
        Command::With(args) => with::run(context()?, &args.0, global.json),
        Command::Event(command) => event::run(context()?, *command.0, global.json),
        Command::Completions { shell } => Ok(completions(shell)),
        Command::Config(command) => config::run(context()?, global, *command.0),
        Command::Man { dir } => man::run(&dir),
        Command::Demo(args) => crate::demo::run(global, &args),
        Command::Doctor { fix } => crate::doctor::run(global, fix),
        Command::Trust { list, remove } => trust::run(global, list, remove),
        Command::Store(command) => store::run(global, &command.0),
        Command::Neo(command) => neo::run(global, *command.0),
        Command::Contract(command) => contract::run(global, *command.0),
        Command::Rpc => collab::rpc(global),
        Command::Mcp { client } => serve::mcp(global, client),
        Command::Serve(args) => serve::serve(global, args),
        Command::Up(args) => serve::up(global, args),
        Command::Link => serve::link(context()?),
        Command::Why { of } => why::run(context()?, of),
        Command::Token(command) => serve::token(context()?, *command.0),
        Command::Prime { hook, client } => prime::run(global, hook, client),
        Command::Collab(command) => collab::run(global, *command.0),
        Command::Guard(command) => guard::run(global, *command.0),
        Command::Run(args) => fleet::run(context()?, *args.0, global.json),
        Command::Runs(args) => fleet::runs(context()?, *args.0),
        Command::Worker(args) => worker::run(context()?, *args.0, global.json),
        Command::Workers => show::<op::Workers>(context()?, Nothing {}, human::worker::list),
        Command::Objective(command) => objective::run(context()?, *command.0),
        Command::Cost(args) => fleet::cost(context()?, &args.0),
        Command::Budget(command) => fleet::budget(context()?, *command.0),
        Command::Workspace(command) => workspace::run(context()?, *command.0),
        Command::Merge(command) => merge::run(context()?, *command.0, global.json),
        Command::Release(args) => merge::release(context()?, *args.0, global.json),
        Command::Memory(command) => memory::memory(context()?, *command.0),
        Command::Directive(command) => memory::directive(context()?, *command.0),
        Command::Log(args) => log::run(context()?, *args.0, global.json),
        Command::Report(command) => log::report(context()?, *command.0, global.json),
        Command::Import(command) => import::import(context()?, *command.0),
        Command::Export(command) => import::export(context()?, *command.0),
        Command::Github(command) => github::run(context()?, *command.0, global.json),
        Command::Sync(command) => collab::sync(context()?, *command.0, global.json),
        Command::Snapshot { list } => snapshot(context()?, list),
        Command::Supervise(args) => supervise::run(context()?, &args, global),
        Command::Watchdog { once } => watchdog::run(context()?, once, global.json),
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
    let answered = service.handle(&context.caller(), input)?;
    let ended = ENDS_CLAIM.contains(&O::ROW.name)
        && answered.output.task().is_some_and(|task| task.claim.is_none());
    let reply = reply(answered, words);
    Ok(if ended && context.fence_from_env { reply.note(CLAIM_HAS_ENDED) } else { reply })
}

/// Operations that need the holder and may end its claim: the fence that came with them was that claim's.
const ENDS_CLAIM: [&str; 4] = ["task.submit", "task.block", "task.fail", "task.release"];

fn snapshot(context: &Context, list: bool) -> Result<Reply, Refusal> {
    let snapshots = Snapshots { tree: context.git_tree().cloned() };
    let input = TakeSnapshot { list };
    call::<op::Snapshot>(&snapshots, &context.caller(), input, human::task::snapshots)
}

/// Calls an operation of guard or bridge, and shows its answer with its remarks.
fn call<O>(
    handler: &impl Handler<O>,
    caller: &Caller,
    input: O::Input,
    words: Words<O::Output>,
) -> Result<Reply, Refusal>
where
    O: Operation,
    O::Output: Serialize + DeserializeOwned + 'static,
{
    let Answered { output, remarks } = handler.handle(caller, input)?;
    Ok(Reply::new(output, words).noted(remarks))
}

/// Shows an answer with its remarks.
fn reply<A>(answered: Answered<A>, words: Words<A>) -> Reply
where
    A: CommandOutput + Serialize + 'static,
{
    let Answered { output, remarks } = answered;
    remarks.into_iter().fold(Reply::new(output, words), Reply::note)
}

/// A forgotten variable would have the next task's verbs refused as stale.
const CLAIM_HAS_ENDED: &str = "note: the claim of COMITY_FENCE has ended; unset the variable";

/// Calls an operation that only reads, and shows its answer.
fn show<O>(context: &Context, input: O::Input, words: Words<O::Output>) -> Result<Reply, Refusal>
where
    O: Operation,
    O::Output: Serialize + DeserializeOwned + 'static,
    Service: Handler<O>,
{
    Ok(Reply::new(context.ask::<O>(input)?, words).paged())
}

/// Prints a script that knows commands and options, and asks comity itself for ids and statuses.
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
    let script = crate::completion::script(name, &String::from_utf8_lossy(&script));
    Reply::text(json!({"shell": name, "script": &script}), script)
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::CommandFactory;
    use comity_api::{Door, TABLE};
    use comity_engine::Handlers;
    use comity_project::store::Access;
    use comity_project::{Asked, Context, Machine};
    use std::collections::BTreeMap;

    /// What only a command line has: it is about this machine, or the command line itself.
    const OWN: &[&str] = &[
        "init",
        "doctor",
        "completions",
        "config.list",
        "config.get",
        "config.set",
        "man",
        "demo",
        "store.copy",
        "store.backup",
        "store.restore",
        "rpc",
        "whoami",
        "with",
        "trust",
        "mcp",
        "serve",
        "link",
        "up",
        // These are processes that go on, or files of this machine.
        "supervise",
        "worker",
        "token.create",
        "token.list",
        "token.revoke",
        "prime",
        "guard.hook",
        "github.serve",
    ];

    /// Operations that the command line asks for in the words of others: `contract render mission`, `task intervene`
    /// without an answer, a verb with several ids, `neo decision create`, `task show` for people, `guard commit` for
    /// staged files.
    const BY_OTHER_WORDS: &[&str] = &[
        "task.mission",
        "task.intervention",
        "task.several",
        "task.story",
        "neo.ask",
        "guard.staged",
    ];

    /// Other tools' words for operations that are in the table under their own names.
    const FRONTS: &[&str] = &["neo.", "collab."];

    fn leaves(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        for inner in command.get_subcommands() {
            let name = format!("{path}{}", inner.get_name());
            // A group may be a command by itself.
            if inner.has_subcommands()
                && inner.get_arguments().any(|argument| {
                    let id = argument.get_id();
                    id == "follow" || id == "wait"
                })
            {
                found.push(name.clone());
            }
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
        let offered = TABLE.iter().filter(|row| row.doors.contains(&Door::CommandLine));
        let mut wanted: Vec<String> = offered.map(|row| row.name.to_owned()).collect();
        wanted.retain(|name| !BY_OTHER_WORDS.contains(&name.as_str()));
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
    }

    #[test]
    fn every_row_has_exactly_one_handler() {
        let dir = tempfile::tempdir().unwrap();
        let machine =
            Machine { cwd: dir.path().to_owned(), login: "ann".to_owned(), ..Machine::default() };
        let context = Context::find_or_here(&machine, &Asked::default()).unwrap();
        let service = context.service(Access::Read).unwrap();
        let mut handlers = Handlers::default();
        comity_engine::register(&service, &mut handlers);
        comity_guard::register_messages(&comity_guard::Messages, &mut handlers);
        let observer = crate::env::observer(&context);
        let guard = comity_guard::Guard { context: context.clone(), observer, index: None };
        comity_guard::register(&guard, &mut handlers);
        let shown = comity_guard::Shown { service: service.clone(), tree: None };
        comity_guard::register_shown(&shown, &mut handlers);
        let runner = super::team::runner(&context, true).unwrap();
        comity_guard::register_runs(&runner, &mut handlers);
        let tree = context.git_tree().cloned();
        comity_guard::register_snapshots(&comity_guard::Snapshots { tree }, &mut handlers);
        let outputs = comity_fleet::RunOutputs {
            context: context.clone(),
            service: service.clone(),
            is_own: true,
        };
        comity_fleet::register_outputs(&outputs, &mut handlers);
        let own = comity_fleet::Objectives {
            context: context.clone(),
            service: service.clone(),
            program: None,
        };
        comity_fleet::register_objectives(&own, &mut handlers);
        let fleet = super::fleet::on_host(&context, Access::Read).unwrap();
        comity_fleet::register(&fleet, &mut handlers);
        let runs = comity_fleet::Resumer {
            context: context.clone(),
            service: service.clone(),
            program: None,
        };
        comity_fleet::register_resumer(&runs, &mut handlers);
        let definitions = comity_fleet::Definitions { root: context.root.dir.clone() };
        comity_fleet::register_definitions(&definitions, &mut handlers);
        let github = comity_github::Github { context: context.clone(), service: service.clone() };
        comity_github::register(&github, &mut handlers);
        comity_bridge::register(&comity_bridge::Bridge { context, service }, &mut handlers);
        let mut count: BTreeMap<&str, usize> = TABLE.iter().map(|row| (row.name, 0)).collect();
        assert_eq!(count.len(), TABLE.len(), "names are unique");
        for row in handlers.rows() {
            *count.get_mut(row.name).expect("a handler of a row that is not in the table") += 1;
        }
        for row in TABLE {
            assert_eq!(count[row.name], 1, "{}", row.name);
        }
    }
}
