//! `comity import …`

use super::help;
use clap::Subcommand;
use comity_api::op;
use std::path::PathBuf;

/// What can be taken over from other tools.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    #[command(about = help::<op::ImportBeads>(),
        after_help = "Without --with-state, issues that are closed arrive blocked. With it, a person's import takes \
        over every state, and a planner's every state but that of finished work.\n\n\
        Example:\n  comity import beads .beads/issues.jsonl"
    )]
    Beads {
        /// The file issues.jsonl; - reads standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Only show what would be imported
        #[arg(long)]
        dry_run: bool,
        /// Take over the states of tasks, too, as far as your roles go
        #[arg(long)]
        with_state: bool,
    },
    #[command(about = help::<op::ImportNeo>(),
        after_help = "Without --with-state, tasks that are done arrive blocked. Only a person can import done tasks \
        and answered decisions.\n\nExample:\n  comity import neo ~/.neo --with-state"
    )]
    Neo {
        /// The directory of a supervisor, or neo's own
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Take over the states of tasks, too, as far as your roles go
        #[arg(long)]
        with_state: bool,
    },
    #[command(about = help::<op::ImportGithub>(),
        after_help = "Example:\n  comity import github --label bug --dry-run\n  comity import github 7 12"
    )]
    Github {
        /// Only these issues
        #[arg(value_name = "N")]
        issues: Vec<u64>,
        /// Only issues with this label
        #[arg(long, value_name = "NAME")]
        label: Option<String>,
        /// open, closed or all (default: open)
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// Only show what would be imported
        #[arg(long)]
        dry_run: bool,
    },
    #[command(about = help::<op::ImportTaskmaster>(),
        after_help = "Without --with-state, tasks that are done arrive blocked. With it, a person's import takes over \
        every state, and a planner's every state but that of finished work.\n\n\
        Example:\n  comity import taskmaster .taskmaster/tasks/tasks.json"
    )]
    Taskmaster {
        /// The file tasks.json; - reads standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Only show what would be imported
        #[arg(long)]
        dry_run: bool,
        /// Take over the states of tasks, too, as far as your roles go
        #[arg(long)]
        with_state: bool,
    },
    #[command(about = help::<op::ImportCollab>(), after_help = "Example:\n  comity import collab collaboration")]
    Collab {
        /// The tree, or the directory that contains it
        dir: String,
        /// Take over the states of tasks, too, as far as your roles go
        #[arg(long)]
        with_state: bool,
    },
    #[command(about = help::<op::ImportV1>(),
        after_help = "Example:\n  comity import v1 collaboration/state.json --agent codex-cli=implementer:python,ci"
    )]
    V1 {
        /// The file state.json
        file: String,
        /// Register this agent with a role and skills (repeatable)
        #[arg(long = "agent", value_name = "ID=ROLE[:SKILL,…]")]
        agents: Vec<String>,
        /// Take over the states of tasks, too, as far as your roles go
        #[arg(long)]
        with_state: bool,
    },
}
