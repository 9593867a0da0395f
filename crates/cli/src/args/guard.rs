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
    /// Keep agents from pushing to protected branches; git's pre-push hook calls it
    #[command(
        after_help = "Example:\n  comity guard push origin URL < refs    # .git/hooks/pre-push: exec comity guard push \"$@\""
    )]
    Push {
        /// What git says about the remote: its name and address
        #[arg(value_name = "REMOTE", num_args = 0..=2)]
        remote: Vec<String>,
    },
    /// Check a commit message against the template type(task-id): summary
    #[command(after_help = "Example:\n  comity guard commit .git/COMMIT_EDITMSG")]
    Commit {
        /// The file with the message; - reads it from stdin
        #[arg(value_name = "MSGFILE")]
        message_file: String,
    },
}
