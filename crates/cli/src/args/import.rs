//! `comity import …`

use super::help;
use clap::Subcommand;
use comity_api::op;
use std::path::PathBuf;

/// What can be taken over from other tools.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    #[command(about = help::<op::ImportBeads>(),
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
    #[command(about = help::<op::ImportNeo>(),
        after_help = "Answered decisions and done tasks are taken over by a person's word: act as one with \
        --as human:NAME.\n\nExample:\n  comity import neo ~/.neo"
    )]
    Neo {
        /// A supervisor's directory, or neo's own
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    #[command(about = help::<op::ImportTaskmaster>(),
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
    #[command(about = help::<op::ImportCollab>(), after_help = "Example:\n  comity import collab collaboration")]
    Collab {
        /// The tree, or the directory that it is in
        dir: String,
    },
    #[command(about = help::<op::ImportV1>(),
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
