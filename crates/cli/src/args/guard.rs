//! `comity guard …`

use super::help;
use clap::Subcommand;
use comity_api::op;

/// What the guard can be asked.
#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    #[command(about = help::<op::GuardCheck>(), after_help = "Example:\n  comity guard check T1")]
    Check {
        /// The task, or the beginning of its id (default: the one that you hold)
        id: Option<String>,
    },
    #[command(about = help::<op::GuardPush>(),
        after_help = "Example:\n  comity guard push origin URL < refs    # .git/hooks/pre-push: exec comity guard push \"$@\""
    )]
    Push {
        /// The name and address of the remote, as git gives them
        #[arg(value_name = "REMOTE", num_args = 0..=2)]
        remote: Vec<String>,
    },
    #[command(about = help::<op::GuardCommit>(), after_help = "Example:\n  comity guard commit .git/COMMIT_EDITMSG")]
    Commit {
        /// The file with the message; - reads standard input
        #[arg(value_name = "MSGFILE")]
        message_file: String,
    },
}
