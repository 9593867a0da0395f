//! `comity workspace …`

use super::help;
use super::values::duration;
use clap::Subcommand;
use comity_api::op;
use comity_core::time::Millis;

/// What can be done with the work trees of runs.
#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    #[command(about = help::<op::WorkspaceList>(), after_help = "Example:\n  comity workspace list")]
    List,
    #[command(about = help::<op::WorkspaceRemove>(), after_help = "Example:\n  comity workspace remove T1")]
    Remove {
        /// The path, the run or the task
        name: String,
    },
    #[command(about = help::<op::WorkspaceGc>(), after_help = "Example:\n  comity workspace gc --older-than 1d")]
    Gc {
        /// Keep those whose last run ended a shorter time ago
        #[arg(long, value_name = "DUR", value_parser = duration, default_value = "7d")]
        older_than: Millis,
    },
}
