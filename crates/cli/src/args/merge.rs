//! `comity merge …`, `comity release`

use super::help;
use super::values::text;
use clap::{Args, Subcommand};
use comity_api::op;

/// What can be done with the merge queue.
#[derive(Debug, Subcommand)]
pub enum MergeCommand {
    #[command(about = help::<op::MergeQueue>(), after_help = "Example:\n  comity merge queue")]
    Queue,
    #[command(about = help::<op::MergeRun>(), after_help = "A red batch is halved until the task is found that is red. \
        A task that conflicts, or is red alone, is sent back.\n\nExample:\n  comity merge run")]
    Run {
        /// The branch that gets the work (default: `merge.target`, else the base branch)
        #[arg(long, value_name = "BRANCH")]
        target: Option<String>,
        /// Stop after one batch
        #[arg(long)]
        once: bool,
    },
    #[command(about = help::<op::MergeProbe>(), after_help = "Example:\n  comity merge probe")]
    Probe,
}

/// What is released.
#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// The tag; comity makes it where it does not exist yet
    pub tag: String,
    /// The commit (default: what the tag names, else the tip of the base branch)
    #[arg(long, value_name = "COMMIT")]
    pub commit: Option<String>,
    /// Say what is in it
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub reason: Option<String>,
}
