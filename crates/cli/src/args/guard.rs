//! `comity guard …`

use super::help;
use clap::Subcommand;
use comity_api::op;

/// What the guard can be asked.
#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    #[command(about = help::<op::GuardCheck>(), after_help = "Example:\n  comity guard check T1")]
    Check {
        /// The task (default: the one that you hold)
        id: Option<String>,
    },
    #[command(about = help::<op::GuardPush>(),
        after_help = "Example:\n  comity guard push origin URL < refs    # .git/hooks/pre-push: exec comity guard push \"$@\""
    )]
    Push {
        /// What git says about the remote: its name and address
        #[arg(value_name = "REMOTE", num_args = 0..=2)]
        remote: Vec<String>,
    },
    #[command(about = help::<op::GuardCommit>(), after_help = "Example:\n  comity guard commit .git/COMMIT_EDITMSG")]
    Commit {
        /// The file with the message; - reads it from stdin
        #[arg(value_name = "MSGFILE")]
        message_file: String,
    },
}
