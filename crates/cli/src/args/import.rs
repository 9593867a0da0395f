//! `comity import …`

use clap::Subcommand;
use std::path::PathBuf;

/// What can be taken over from other tools.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Take issues over from beads
    #[command(
        after_help = "Closed issues become done by a person's word: act as one with --as human:NAME.\n\n\
        Example:\n  comity import beads .beads/issues.jsonl"
    )]
    Beads {
        /// issues.jsonl, or - for stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Only say what would be taken over
        #[arg(long)]
        dry_run: bool,
    },
    /// Take decisions, directives, memories and tasks over from neo
    #[command(
        after_help = "Answered decisions and done tasks are taken over by a person's word: act as one with \
        --as human:NAME.\n\nExample:\n  comity import neo ~/.neo"
    )]
    Neo {
        /// A supervisor's directory, or neo's own
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Take tasks over from Task Master
    #[command(
        after_help = "Done tasks become done by a person's word: act as one with --as human:NAME.\n\n\
        Example:\n  comity import taskmaster .taskmaster/tasks/tasks.json"
    )]
    Taskmaster {
        /// tasks.json, or - for stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Only say what would be taken over
        #[arg(long)]
        dry_run: bool,
    },
    /// Take over the tasks, locks, agents and events of a collaboration/ tree
    #[command(after_help = "Example:\n  comity import collab collaboration")]
    Collab {
        /// The tree, or the directory that it is in
        dir: String,
    },
    /// Take over an older state.json
    #[command(
        after_help = "Example:\n  comity import v1 collaboration/state.json --agent codex-cli=implementer:python,ci"
    )]
    V1 {
        /// The file
        file: String,
        /// Register an agent with a role and skills (repeatable)
        #[arg(long = "agent", value_name = "ID=ROLE[:SKILL,…]")]
        agents: Vec<String>,
    },
}
