//! The command line. Every command has one sentence of help and an example.

mod collab;
mod config;
mod contract;
mod decision;
mod deferred;
mod export;
mod fleet;
mod github;
mod groups;
mod guard;
mod import;
mod init;
mod log;
mod memory;
mod merge;
mod neo;
mod neo_fleet;
mod objective;
mod post;
mod serve;
mod shorthand;
mod supervise;
mod task;
mod task_fields;
mod team;
mod values;
mod with;
mod worker;
mod workspace;

pub use collab::{CollabCommand, CollabFields, SyncCommand, TaskOutput};
pub use config::ConfigCommand;
pub use contract::ContractCommand;
pub use decision::{AskArgs, DecisionCommand};
pub use deferred::{Deferred, at_once};
pub use export::ExportCommand;
pub use fleet::{BudgetCommand, CostArgs, RunArgs, RunCommand, RunsArgs, StartArgs};
pub use github::{AccountOf, GithubCommand};
pub use guard::{GuardCommand, HookedClient};
pub use import::ImportCommand;
pub use init::InitArgs;
pub use log::{EventCommand, LogArgs, LogCommand, ReportCommand, StoreCommand};
pub use memory::{DirectiveArgs, DirectiveCommand, MemoryCommand, UpdateMemoryArgs, WriteArgs};
pub use merge::{MergeCommand, ReleaseArgs};
pub use neo::{
    NeoAbout, NeoAsk, NeoChild, NeoCommand, NeoCost, NeoDecision, NeoDirective, NeoLog, NeoLogs,
    NeoMemory, NeoOutput, NeoRun, NeoRuns, NeoShown, NeoSupervise, NeoSupervisor, NeoTask,
};
pub use objective::ObjectiveCommand;
pub use post::{BriefArgs, InterfaceCommand, NoteArgs, PadCommand, PublishArgs, TellArgs};
pub use serve::{DemoArgs, Scene, ServeArgs, TokenCommand};
pub use shorthand::{expanded, instead, nearest_command};
pub use supervise::SuperviseArgs;
pub use task::{
    LandArgs, LandStrategy, ListArgs, OneArgs, Step, SubmitArgs, TaskCommand, VerbArgs,
};
pub use task_fields::{CreateArgs, UpdateArgs};
pub use team::{AgentCommand, DefineCommand, GateCommand, LeaseCommand, Verdict};
pub use values::{colour, fence};
pub use with::WithArgs;
pub use worker::WorkerArgs;
pub use workspace::WorkspaceCommand;

use anstream::ColorChoice;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use comity_api::{Operation, op};
use comity_core::ids::Fence;
use comity_project::Asked;
use std::ffi::OsString;

/// Coordinate coding agents and people who work on the same repository
#[derive(Debug, Parser)]
#[command(
    name = "comity",
    bin_name = "comity",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Example:\n  comity init\n  comity task create 'Parse dates' --file 'src/date/**'\n  \
                  comity task claim"
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes, before or after its name.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Use the project in DIR [env: COMITY_ROOT]
    #[arg(long = "root", global = true, value_name = "DIR", action = clap::ArgAction::Append)]
    pub roots: Vec<String>,
    /// Use this store [env: COMITY_STORE]
    #[arg(long, global = true, value_name = "URL")]
    pub store: Option<String>,
    /// Act as this agent or person [env: COMITY_AGENT]
    #[arg(long = "as", global = true, value_name = "ID")]
    pub actor: Option<String>,
    /// Act on this repository [env: COMITY_REPO]
    #[arg(long, global = true, value_name = "NAME")]
    pub repo: Option<String>,
    /// The fence of your claim, for commands that need its holder [env: COMITY_FENCE]
    #[arg(long, global = true, value_name = "N", value_parser = fence)]
    pub fence: Option<Fence>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Use colours: auto, always or never [env: NO_COLOR]
    #[arg(long, global = true, value_name = "WHEN", value_parser = colour)]
    pub color: Option<ColorChoice>,
    /// Run the command only once for this key
    #[arg(long, global = true, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Ask about the past: a seq, or a time such as 2026-11-18T14:02:00Z
    #[arg(long, global = true, value_name = "MOMENT")]
    pub at: Option<String>,
    /// Ask this server instead of the store: http://HOST:PORT, https://HOST or unix:PATH [env: COMITY_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
}

impl Global {
    pub fn asked(&self) -> Asked {
        Asked {
            root: self.roots.first().cloned(),
            store: self.store.clone(),
            repo: self.repo.clone(),
            actor: self.actor.clone(),
            fence: self.fence,
            key: self.idempotency_key.clone(),
            at: self.at.clone(),
            url: self.url.clone(),
        }
    }
}

/// Returns the help text of an operation, which its row has for every door.
const fn help<O: Operation>() -> &'static str {
    O::ROW.help
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set up the project and create its store
    #[command(
        after_help = "Example:\n  comity init\n  comity --url http://127.0.0.1:4180 init --clients claude    # the clients of a server"
    )]
    Init(InitArgs),
    #[command(about = help::<op::Status>(), after_help = "Example:\n  comity status")]
    Status,
    /// Show the board live in the terminal, and answer questions there
    #[command(after_help = "Example:\n  comity board")]
    Board,
    /// Plan, claim, submit, review and finish tasks
    #[command(subcommand, after_help = "Example:\n  comity task claim")]
    Task(Deferred<TaskCommand>),
    /// Reserve files
    #[command(subcommand, after_help = "Example:\n  comity lease acquire 'src/**/*.rs' --ttl 30m")]
    Lease(Deferred<LeaseCommand>),
    /// Register and list agents
    #[command(subcommand, after_help = "Example:\n  comity agent list")]
    Agent(Deferred<AgentCommand>),
    /// Record evidence for gates, or waive them
    #[command(subcommand, after_help = "Example:\n  comity gate record T1 tests pass")]
    Gate(Deferred<GateCommand>),
    /// Ask and answer questions
    #[command(
        subcommand,
        after_help = "Example:\n  comity decision ask 'Which parser?' --option serde --option own --wait"
    )]
    Decision(Deferred<DecisionCommand>),
    #[command(about = help::<op::Note>(), after_help = "Example:\n  comity note discovery 'The parser is recursive' --task T1")]
    Note(Deferred<NoteArgs>),
    #[command(about = help::<op::Tell>(), after_help = "Example:\n  comity tell T7 'parse_date now returns a Result'")]
    Tell(Deferred<TellArgs>),
    #[command(about = help::<op::Brief>(), after_help = "Example:\n  comity brief T7\n  comity brief src/auth")]
    Brief(Deferred<BriefArgs>),
    /// Read and write the page that those on a piece of work share
    #[command(
        subcommand,
        after_help = "Example:\n  comity pad append 'The old parser stays until T7 is done'"
    )]
    Pad(Deferred<PadCommand>),
    /// Publish and read interfaces that two sides build against
    #[command(
        subcommand,
        after_help = "Example:\n  comity interface publish auth-api api.ts --path 'src/auth/**'"
    )]
    Interface(Deferred<InterfaceCommand>),
    /// Run a command, keep your claim alive meanwhile, and record the exit status as evidence
    #[command(after_help = "Example:\n  comity with --task T1 --gate tests -- cargo test")]
    With(Deferred<WithArgs>),
    /// Read and follow the log, or add to it
    #[command(subcommand, after_help = "Example:\n  comity event tail")]
    Event(Deferred<EventCommand>),
    /// Check the store, the log, git and the settings
    #[command(after_help = "Example:\n  comity doctor --fix")]
    Doctor {
        /// Fix what can be fixed safely
        #[arg(long)]
        fix: bool,
    },
    /// Write down what later agents should know, and find it again
    #[command(subcommand, after_help = "Example:\n  comity memory search 'flaky tests'")]
    Memory(Deferred<MemoryCommand>),
    /// Give standing instructions to supervisors
    #[command(subcommand, after_help = "Example:\n  comity directive list --active")]
    Directive(Deferred<DirectiveCommand>),
    /// Start an agent on a task, in a work tree of its own; look at a run, and steer it
    #[command(
        after_help = "Example:\n  comity run developer --task T1 --driver script --wait\n  comity run show R1"
    )]
    Run(Deferred<RunArgs>),
    #[command(about = help::<op::Runs>(), after_help = "Example:\n  comity runs --status running")]
    Runs(Deferred<RunsArgs>),
    /// Take the runs of other hosts that ask for what this one offers
    #[command(
        after_help = "Hosts share a store on PostgreSQL and the remote that [fleet] remote names. A run that was started with --label waits for a \
        worker that offers all of its labels. A host that is lost loses nothing: its run goes on elsewhere, from what was pushed last.\n\n\
        Example:\n  comity worker --label gpu=1 --capacity 2"
    )]
    Worker(Deferred<WorkerArgs>),
    #[command(about = help::<op::Workers>(), after_help = "Example:\n  comity workers")]
    Workers,
    #[command(about = help::<op::Cost>(), after_help = "Example:\n  comity cost --by task")]
    Cost(Deferred<CostArgs>),
    /// Look after the work trees of runs
    #[command(subcommand, after_help = "Example:\n  comity workspace list")]
    Workspace(Deferred<WorkspaceCommand>),
    /// Look after an objective, from inside of its run: send agents out, and end with evidence or a question
    #[command(
        subcommand,
        after_help = "Example:\n  comity objective complete --evidence 'Dates are parsed=R2'"
    )]
    Objective(Deferred<ObjectiveCommand>),
    /// Merge approved work: show the queue, work through it, and look for coming conflicts
    #[command(subcommand, after_help = "Example:\n  comity merge run")]
    Merge(Deferred<MergeCommand>),
    #[command(about = help::<op::Release>(), after_help = "Example:\n  comity release v1.2.0")]
    Release(Deferred<ReleaseArgs>),
    /// Set and show what runs may cost
    #[command(subcommand, after_help = "Example:\n  comity budget set repo --usd 20 --per day")]
    Budget(Deferred<BudgetCommand>),
    /// Check, write and apply missions, results and other contracts
    #[command(subcommand, after_help = "Example:\n  comity contract validate result.yaml")]
    Contract(Deferred<ContractCommand>),
    /// Check work, pushes and commit messages against the rules
    #[command(subcommand, after_help = "Example:\n  comity guard check T1")]
    Guard(Deferred<GuardCommand>),
    #[command(about = help::<op::Log>(), after_help = "Example:\n  comity log --task T1")]
    Log(Deferred<LogArgs>),
    /// Back up, restore or copy a store
    #[command(
        subcommand,
        after_help = "Example:\n  comity store copy sqlite:comity.db postgres://db/comity"
    )]
    Store(Deferred<StoreCommand>),
    /// Write reports in Markdown
    #[command(subcommand, after_help = "Example:\n  comity report log --output LOG.md")]
    Report(Deferred<ReportCommand>),
    /// Use neo's commands with neo's flags
    #[command(subcommand, after_help = "Example:\n  comity neo decision list")]
    Neo(Deferred<NeoCommand>),
    /// Import tasks, decisions and memories of other tools
    #[command(subcommand, after_help = "Example:\n  comity import beads .beads/issues.jsonl")]
    Import(Deferred<ImportCommand>),
    /// Export tasks, decisions and memories to other tools
    #[command(
        subcommand,
        after_help = "Example:\n  comity export neo ~/.neo/supervisors/supervisor"
    )]
    Export(Deferred<ExportCommand>),
    /// Show who comity takes you for, why, and what you hold
    #[command(after_help = "Example:\n  comity whoami")]
    Whoami,
    #[command(about = help::<op::Snapshot>(), after_help = "Example:\n  comity snapshot --list")]
    Snapshot {
        /// List what is kept, of all work trees
        #[arg(long)]
        list: bool,
    },
    /// Dispatch agents for what the rules say is due, until it is told to stop
    #[command(
        after_help = "The rules are a table: docs/reference/supervisor.md. A project changes rows of it in .comity/supervisor.toml.\n\n\
        Example:\n  comity supervise --dry-run\n  comity supervise --detach"
    )]
    Supervise(Box<SuperviseArgs>),
    #[command(about = help::<op::Watchdog>(), after_help = "Example:\n  comity watchdog --once")]
    Watchdog {
        /// Run once instead of continuously
        #[arg(long)]
        once: bool,
    },
    /// Keep the files of another tool and the store in sync
    #[command(subcommand, after_help = "Example:\n  comity sync collab --watch")]
    Sync(Deferred<SyncCommand>),
    /// Let issues on GitHub be tasks, labels their state and comments their trail
    #[command(subcommand, after_help = "Example:\n  comity github sync --watch")]
    Github(Deferred<GithubCommand>),
    /// Serve the collab.* methods as JSON-RPC on stdin and stdout
    #[command(
        after_help = "Example:\n  comity rpc <<<'{\"id\":1,\"method\":\"collab.create_task\",\"params\":{\"title\":\"Parse dates\"}}'"
    )]
    Rpc,
    /// Serve the tools of agents as MCP on stdin and stdout
    #[command(after_help = "Example:\n  comity mcp --client codex")]
    Mcp {
        /// The client that starts the server: claude-code, codex, gemini, opencode, cursor or vscode
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// Serve the dashboard, the API, the stream of events and MCP over HTTP
    #[command(after_help = "Example:\n  comity serve --listen 127.0.0.1:4180")]
    Serve(ServeArgs),
    /// Print a link that opens the dashboard of the running server once
    #[command(after_help = "Example:\n  comity link --as human:ann")]
    Link,
    /// Set up the project if it is new, serve it, and print the link to its dashboard
    #[command(after_help = "Example:\n  comity up")]
    Up(ServeArgs),
    #[command(about = help::<op::Why>(), after_help = "Example:\n  comity why src/date.rs")]
    Why {
        /// A task, a path, a commit, an agent, a lease or a decision
        of: String,
    },
    /// Make, list and revoke the tokens of agents that call over HTTP
    #[command(subcommand, after_help = "Example:\n  comity token create --agent codex:web")]
    Token(Deferred<TokenCommand>),
    /// Print what an agent must know at the start of a session
    #[command(after_help = "Example:\n  comity prime")]
    Prime {
        /// Answer as a SessionStart hook of an agent client; the hook's input is read from stdin
        #[arg(long)]
        hook: bool,
        /// The client whose hook it is: claude-code, codex, gemini, opencode, cursor or vscode
        #[arg(long, value_name = "NAME", requires = "hook")]
        client: Option<String>,
    },
    /// Use a collaboration/ tree with the commands of agents.md
    #[command(
        subcommand,
        after_help = "Example:\n  comity collab create-task --title 'Parse dates'"
    )]
    Collab(Deferred<CollabCommand>),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  comity completions bash > /etc/bash_completion.d/comity")]
    Completions {
        /// The shell: bash, zsh or fish
        #[arg(value_parser = clap::value_parser!(CompletionShell))]
        shell: CompletionShell,
    },
    /// Trust the store and the commands that this repository's files name
    #[command(after_help = "Example:\n  comity trust --list")]
    Trust {
        /// List what you trust, and what waits for your trust here
        #[arg(long, conflicts_with = "remove")]
        list: bool,
        /// Take back your trust in everything of this repository
        #[arg(long)]
        remove: bool,
    },
    /// Show and change the settings of the project
    #[command(subcommand, after_help = "Example:\n  comity config list")]
    Config(Deferred<ConfigCommand>),
    /// Write the manual pages into a directory
    #[command(after_help = "Example:\n  comity man ~/.local/share/man/man1")]
    Man {
        /// The directory; comity makes it if it is missing
        #[arg(value_name = "DIR")]
        dir: std::path::PathBuf,
    },
    /// Watch a crew of agents work in a temporary repository
    #[command(after_help = "Example:\n  comity demo\n  comity demo --open")]
    Demo(DemoArgs),
}

/// Shells that get a completion script.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum CompletionShell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// Words that may ask for the first page of help.
const HELP_WORDS: [&str; 3] = ["help", "--help", "-h"];

/// Reads the command line.
pub fn parse() -> Result<Cli, clap::Error> {
    let arguments = plain_help(expanded(std::env::args_os().collect()));
    let asks = |word: &OsString| HELP_WORDS.iter().any(|help| word == help);
    let definition = match arguments.len() < 2 || arguments.iter().any(asks) {
        true => groups::grouped(Cli::command()),
        false => Cli::command(),
    };
    // Taking the definition apart again would cost a tenth of a short command; the process ends soon.
    let definition: &mut clap::Command = Box::leak(Box::new(definition));
    let mut matches = definition.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(definition))
}

/// Leaves `--json` out beside `help`, which takes nothing but the names of commands. Whoever prints the help sees it where
/// it was typed.
fn plain_help(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_json = |word: &OsString| word == "--json";
    let mut words = arguments.iter().skip(1).filter(|word| !is_json(word));
    let (first, second) = (words.next(), words.next());
    let is_help = |word: Option<&OsString>| word.is_some_and(|word| word == "help");
    let is_group = |word: &OsString| {
        at_once(Cli::command).find_subcommand(word).is_some_and(clap::Command::has_subcommands)
    };
    if is_help(first) || (is_help(second) && first.is_some_and(is_group)) {
        arguments.retain(|word| !is_json(word));
    }
    arguments
}

/// Returns what `--color` says, also where the rest of the command line is wrong.
pub fn colour_asked() -> Option<ColorChoice> {
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--") => return None,
            Some("--color") => return colour(arguments.next()?.to_str()?).ok(),
            Some(text) => {
                if let Some(when) = text.strip_prefix("--color=") {
                    return colour(when).ok();
                }
            }
            None => {}
        }
    }
    None
}

/// Global options that are followed by a value.
const WITH_VALUE: [&str; 9] = [
    "--root",
    "--store",
    "--as",
    "--repo",
    "--fence",
    "--color",
    "--idempotency-key",
    "--at",
    "--url",
];

/// Tells whether `--json` stands before the command: then comity's own shape is meant, also where the command has a
/// flag of that name itself.
pub fn json_comes_first() -> bool {
    json_first(std::env::args_os().skip(1))
}

fn json_first(mut arguments: impl Iterator<Item = OsString>) -> bool {
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--json") => return true,
            Some(name) if WITH_VALUE.contains(&name) => drop(arguments.next()),
            Some(option) if option.starts_with("--") => {}
            _ => return false,
        }
    }
    false
}

/// Returns the whole definition, with nothing deferred and all that clap adds.
pub fn whole() -> clap::Command {
    let mut root = at_once(Cli::command);
    root.build();
    root
}

#[cfg(test)]
mod reference;

#[cfg(test)]
mod tests {
    use super::{Cli, WITH_VALUE, json_first, whole};
    use clap::CommandFactory;
    use std::ffi::OsString;

    #[test]
    fn the_global_options_that_are_followed_by_a_value_are_known() {
        let root = whole();
        let takes_value = |argument: &&clap::Arg| argument.get_action().takes_values();
        let globals = root.get_arguments().filter(|argument| argument.is_global_set());
        let with_value: Vec<String> = globals
            .filter(takes_value)
            .map(|argument| format!("--{}", argument.get_long().unwrap()))
            .collect();
        assert_eq!(with_value, WITH_VALUE);
    }

    #[test]
    fn only_what_is_called_is_defined() {
        let mut root = Cli::command();
        let _ = root.try_get_matches_from_mut(["comity", "lease", "list"]).unwrap();
        let defined = |name: &str| root.find_subcommand(name).unwrap().has_subcommands();
        assert!(defined("lease"));
        assert!(!defined("task") && !defined("neo"));
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_argument_of_a_command_hides_a_global_option() {
        let root = whole();
        let globals: Vec<_> =
            root.get_arguments().filter(|argument| argument.is_global_set()).collect();
        let globals: Vec<_> = globals.into_iter().map(clap::Arg::get_id).collect();
        let mut left: Vec<&clap::Command> = root.get_subcommands().collect();
        while let Some(command) = left.pop() {
            for argument in command.get_arguments() {
                assert!(
                    argument.is_global_set() || !globals.contains(&argument.get_id()),
                    "{}: {argument}",
                    command.get_name()
                );
            }
            left.extend(command.get_subcommands());
        }
    }

    #[test]
    fn every_command_has_one_imperative_sentence_and_an_example() {
        fn walk(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && !about.ends_with('.'), "{path}: {about:?}");
            assert!(about.starts_with(char::is_uppercase), "{path}: {about:?}");
            let example = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(example.contains("Example:\n  comity "), "{path} has no example");
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty(), "{path}: {} has no help", argument.get_id());
            }
            let own = command.get_subcommands().filter(|inner| inner.get_name() != "help");
            own.for_each(|inner| walk(inner, &path));
        }
        walk(&whole(), "");
    }

    #[test]
    fn json_before_the_command_is_told_from_json_after_it() {
        let first = |line: &str| json_first(line.split(' ').map(OsString::from));
        assert!(first("--json neo decision list"));
        assert!(first("--as neo --repo=x --json neo decision list"));
        assert!(!first("neo decision list --json") && !first("--as --json neo decision list"));
    }
}
