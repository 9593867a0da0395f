//! `comity guard …`

use clap::Subcommand;

/// What the guard can be asked.
#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    /// Check this work tree against the constraints of a task
    #[command(after_help = "Example:\n  comity guard check T1")]
    Check {
        /// The task (default: the one that you hold)
        id: Option<String>,
    },
}
