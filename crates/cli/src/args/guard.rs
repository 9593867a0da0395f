//! `comity guard …`

use clap::Subcommand;

/// What the guard can be asked.
#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    /// Check this work tree against the constraints of a task
    #[command(after_help = "Example:\n  comity guard check T1")]
    Check {
        /// The task, or the beginning of its id (default: the one that you hold)
        id: Option<String>,
    },
    /// Refuse pushes of agents to protected branches, as git's pre-push hook
    #[command(
        after_help = "Example:\n  comity guard push origin URL < refs    # .git/hooks/pre-push: exec comity guard push \"$@\""
    )]
    Push {
        /// The name and address of the remote, as git gives them
        #[arg(value_name = "REMOTE", num_args = 0..=2)]
        remote: Vec<String>,
    },
    /// Check a commit message against the template type(task-id): summary
    #[command(after_help = "Example:\n  comity guard commit .git/COMMIT_EDITMSG")]
    Commit {
        /// The file with the message; - reads standard input
        #[arg(value_name = "MSGFILE")]
        message_file: String,
    },
}
