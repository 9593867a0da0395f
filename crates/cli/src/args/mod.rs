//! The command line: every command with its options, one sentence and an example each.

mod collab;
mod contract;
mod decision;
mod export;
mod guard;
mod import;
mod log;
mod memory;
mod neo;
mod task;
mod task_fields;
mod team;
mod values;

pub use collab::{CollabCommand, CollabFields, SyncCommand, TaskOutput};
pub use contract::ContractCommand;
pub use decision::{AskArgs, DecisionCommand};
pub use export::ExportCommand;
pub use guard::GuardCommand;
pub use import::ImportCommand;
pub use log::{EventCommand, LogCommand, ReportCommand, StoreCommand};
pub use memory::{DirectiveArgs, DirectiveCommand, MemoryCommand, UpdateMemoryArgs, WriteArgs};
pub use neo::{
    NeoAbout, NeoAsk, NeoCommand, NeoDecision, NeoDirective, NeoLog, NeoLogs, NeoMemory, NeoShown,
    NeoTask,
};
pub use task::{ListArgs, Step, TaskCommand, VerbArgs};
pub use task_fields::{CreateArgs, UpdateArgs};
pub use team::{AgentCommand, GateCommand, LeaseCommand, Verdict};
pub use values::fence;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use comity_core::ids::Fence;
use std::ffi::OsString;

/// Coordinate coding agents and people who work on the same repository
#[derive(Debug, Parser)]
#[command(
    name = "comity",
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
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Use the project in DIR [env: COMITY_ROOT]
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<String>,
    /// Use this store [env: COMITY_STORE]
    #[arg(long, global = true, value_name = "URL")]
    pub store: Option<String>,
    /// Act as this agent or person [env: COMITY_AGENT]
    #[arg(long = "as", global = true, value_name = "ID")]
    pub actor: Option<String>,
    /// Act on this repository [env: COMITY_REPO]
    #[arg(long, global = true, value_name = "NAME")]
    pub repo: Option<String>,
    /// Prove a grant by its fence [env: COMITY_FENCE]
    #[arg(long, global = true, value_name = "N", value_parser = fence)]
    pub fence: Option<Fence>,
    /// Print one JSON object on one line
    #[arg(long, global = true)]
    pub json: bool,
    /// Give the first answer again for the same key
    #[arg(long, global = true, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Everyday(Everyday),
    #[command(flatten)]
    Further(Further),
}

/// What agents call all day long. A call of one of these does not pay for the definition of all the others.
#[derive(Debug, Subcommand)]
pub enum Everyday {
    /// Set the project up and make its store
    #[command(after_help = "Example:\n  comity init")]
    Init {
        /// Ask nothing (nothing is asked anyway)
        #[arg(long, short)]
        yes: bool,
    },
    /// Show what is going on, who holds what, and what needs you
    #[command(after_help = "Example:\n  comity status")]
    Status,
    /// Plan, claim, hand in, review and finish tasks
    #[command(subcommand, after_help = "Example:\n  comity task claim")]
    Task(Box<TaskCommand>),
    /// Reserve files
    #[command(subcommand, after_help = "Example:\n  comity lease acquire 'src/**/*.rs' --ttl 30m")]
    Lease(LeaseCommand),
    /// See and register agents
    #[command(subcommand, after_help = "Example:\n  comity agent list")]
    Agent(AgentCommand),
    /// Record and waive evidence
    #[command(subcommand, after_help = "Example:\n  comity gate record T1 tests pass")]
    Gate(GateCommand),
    /// Ask and answer questions
    #[command(
        subcommand,
        after_help = "Example:\n  comity decision ask 'Which parser?' --option serde --option own --wait"
    )]
    Decision(DecisionCommand),
    /// Write something down for the record
    #[command(after_help = "Example:\n  comity note discovery 'The parser is recursive' --task T1")]
    Note {
        /// progress, action, decision, blocker, milestone or discovery
        #[arg(value_name = "TYPE")]
        kind: String,
        /// What to write down
        text: String,
        /// The task it is about
        #[arg(long, value_name = "ID")]
        task: Option<String>,
    },
    /// Read and follow the log, or add to it
    #[command(subcommand, after_help = "Example:\n  comity event tail")]
    Event(EventCommand),
}

/// Everything else.
#[derive(Debug, Subcommand)]
pub enum Further {
    /// Check the store, the log, git and the settings
    #[command(after_help = "Example:\n  comity doctor --fix")]
    Doctor {
        /// Mend what can be mended safely
        #[arg(long)]
        fix: bool,
    },
    /// Remember things for later agents, and find them again
    #[command(subcommand, after_help = "Example:\n  comity memory search 'flaky tests'")]
    Memory(MemoryCommand),
    /// Give standing instructions for idle time, start and stop
    #[command(subcommand, after_help = "Example:\n  comity directive list --active")]
    Directive(DirectiveCommand),
    /// Check, write and explain missions, results and other contracts
    #[command(subcommand, after_help = "Example:\n  comity contract validate result.yaml")]
    Contract(ContractCommand),
    /// Check what was changed against what may be changed
    #[command(subcommand, after_help = "Example:\n  comity guard check T1")]
    Guard(GuardCommand),
    /// Check the log and what was built from it
    #[command(subcommand, after_help = "Example:\n  comity log verify")]
    Log(LogCommand),
    /// Move a store
    #[command(
        subcommand,
        after_help = "Example:\n  comity store copy sqlite:comity.db postgres://db/comity"
    )]
    Store(StoreCommand),
    /// Write Markdown for people, from the log
    #[command(subcommand, after_help = "Example:\n  comity report log --output LOG.md")]
    Report(ReportCommand),
    /// Use neo's commands with neo's flags
    #[command(subcommand, after_help = "Example:\n  comity neo decision list")]
    Neo(Box<NeoCommand>),
    /// Take over what other tools keep
    #[command(subcommand, after_help = "Example:\n  comity import beads .beads/issues.jsonl")]
    Import(ImportCommand),
    /// Write what is here for other tools
    #[command(
        subcommand,
        after_help = "Example:\n  comity export neo ~/.neo/supervisors/supervisor"
    )]
    Export(ExportCommand),
    /// Reclaim what is stale and apply what has expired
    #[command(after_help = "Example:\n  comity watchdog --once")]
    Watchdog {
        /// Do it once instead of for ever
        #[arg(long)]
        once: bool,
    },
    /// Keep files of another system in step
    #[command(subcommand, after_help = "Example:\n  comity sync collab --watch")]
    Sync(SyncCommand),
    /// Answer collab.* JSON-RPC on stdin and stdout
    #[command(
        after_help = "Example:\n  comity rpc <<<'{\"id\":1,\"method\":\"collab.create_task\",\"params\":{\"title\":\"Parse dates\"}}'"
    )]
    Rpc,
    /// Use a collaboration/ tree by the command line of agents.md
    #[command(
        subcommand,
        after_help = "Example:\n  comity collab create-task --title 'Parse dates'"
    )]
    Collab(CollabCommand),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  comity completions bash > /etc/bash_completion.d/comity")]
    Completions {
        /// The shell
        #[arg(value_parser = clap::value_parser!(CompletionShell))]
        shell: CompletionShell,
    },
    /// Watch a crew of agents in a throw-away repository
    #[command(after_help = "Example:\n  comity demo")]
    Demo,
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

/// The command line with everyday commands only.
#[derive(Debug, Parser)]
#[command(name = "comity", version, max_term_width = 100)]
struct Short {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Everyday,
}

/// Reads the command line.
pub fn parse() -> Result<Cli, clap::Error> {
    if is_everyday(std::env::args_os().skip(1)) {
        let Short { global, command } = parsed()?;
        return Ok(Cli { global, command: Command::Everyday(command) });
    }
    parsed()
}

fn parsed<P: CommandFactory + FromArgMatches>() -> Result<P, clap::Error> {
    // Taking the definition apart again would cost a tenth of a short command; the process ends soon.
    let definition: &mut clap::Command = Box::leak(Box::new(P::command()));
    let mut matches = definition.try_get_matches_from_mut(std::env::args_os())?;
    P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(definition))
}

/// Global options that are followed by a value.
const WITH_VALUE: [&str; 6] =
    ["--root", "--store", "--as", "--repo", "--fence", "--idempotency-key"];

/// Tells whether the first word names an everyday command; whatever is odd is left to the whole definition.
fn is_everyday(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.to_str() else { return false };
        match text.split_once('=') {
            Some((name, _)) if WITH_VALUE.contains(&name) => {}
            None if WITH_VALUE.contains(&text) => drop(arguments.next()),
            None if text == "--json" => {}
            _ => return Everyday::has_subcommand(text),
        }
    }
    false
}

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

#[cfg(test)]
mod reference;

#[cfg(test)]
mod tests {
    use super::{Cli, Short, WITH_VALUE, is_everyday, json_first};
    use clap::CommandFactory;
    use std::ffi::OsString;

    #[test]
    fn an_everyday_command_is_defined_alike_in_short_and_as_a_part_of_the_whole() {
        let (mut whole, mut short) = (Cli::command(), Short::command());
        whole.build();
        short.build();
        for command in short.get_subcommands().filter(|command| command.get_name() != "help") {
            let same = whole.find_subcommand(command.get_name()).unwrap();
            let help = |command: &clap::Command| command.clone().render_long_help().to_string();
            assert_eq!(help(command), help(same));
        }
        let takes_value = |argument: &&clap::Arg| argument.get_action().takes_values();
        let globals = whole.get_arguments().filter(|argument| argument.is_global_set());
        let with_value: Vec<String> = globals
            .filter(takes_value)
            .map(|argument| format!("--{}", argument.get_long().unwrap()))
            .collect();
        assert_eq!(with_value, WITH_VALUE);
    }

    #[test]
    fn the_first_word_tells_whether_a_command_is_an_everyday_one() {
        let is = |words: &str| is_everyday(words.split(' ').map(Into::into));
        for words in
            ["task claim", "--json note x y", "--as a status", "--as=a --root . lease list"]
        {
            assert!(is(words), "{words}");
        }
        for words in
            ["doctor", "help task", "--as task", "-h", "--odd task", "tas", "--version", ""]
        {
            assert!(!is(words), "{words}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_argument_of_a_command_hides_a_global_option() {
        let root = Cli::command();
        let globals: Vec<_> = root.get_arguments().map(clap::Arg::get_id).collect();
        let mut left: Vec<&clap::Command> = root.get_subcommands().collect();
        while let Some(command) = left.pop() {
            for argument in command.get_arguments() {
                assert!(
                    !globals.contains(&argument.get_id()),
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
            command.get_subcommands().for_each(|inner| walk(inner, &path));
        }
        walk(&Cli::command(), "");
    }

    #[test]
    fn json_before_the_command_is_told_from_json_after_it() {
        let first = |line: &str| json_first(line.split(' ').map(OsString::from));
        assert!(first("--json neo decision list"));
        assert!(first("--as neo --repo=x --json neo decision list"));
        assert!(!first("neo decision list --json") && !first("--as --json neo decision list"));
    }
}
