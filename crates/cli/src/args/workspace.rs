//! `comity workspace …`

use super::values::duration;
use clap::Subcommand;
use comity_core::time::Millis;

/// What can be done with the work trees of runs.
#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// List the work trees that runs have on this host
    #[command(after_help = "Example:\n  comity workspace list")]
    List,
    /// Remove the work tree of a run; its commits and uncommitted files are kept under refs/comity/run/
    #[command(after_help = "Example:\n  comity workspace remove T1")]
    Remove {
        /// The path, the run or the task
        name: String,
    },
    /// Remove the work trees of finished tasks
    #[command(after_help = "Example:\n  comity workspace gc --older-than 1d")]
    Gc {
        /// Keep those whose last run ended a shorter time ago
        #[arg(long, value_name = "DUR", value_parser = duration, default_value = "7d")]
        older_than: Millis,
    },
}
