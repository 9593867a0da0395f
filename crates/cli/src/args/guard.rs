//! `comity guard …`

use super::help;
use clap::{Subcommand, ValueEnum};
use comity_api::op;

/// What the guard can be asked.
#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    #[command(about = help::<op::GuardCheck>(), after_help = "Example:\n  comity guard check T1\n  comity guard check T1 --base origin/main --head HEAD    # in CI")]
    Check {
        /// The task, or the beginning of its id (default: the one that you hold)
        id: Option<String>,
        /// What the work is compared with (default: where it began)
        #[arg(long, value_name = "REF")]
        base: Option<String>,
        /// The commit that is checked (default: the work tree as it is)
        #[arg(long, value_name = "REF")]
        head: Option<String>,
    },
    #[command(about = help::<op::GuardPush>(),
        after_help = "Example:\n  comity guard push origin URL < refs    # .git/hooks/pre-push: exec comity guard push \"$@\""
    )]
    Push {
        /// The name and address of the remote, as git gives them
        #[arg(value_name = "REMOTE", num_args = 0..=2)]
        remote: Vec<String>,
    },
    /// Answer a hook of an agent client: may this tool write, and what did it write?
    #[command(
        after_help = "Example:\n  comity guard hook --client claude < event.json    # comity init registers it"
    )]
    Hook {
        /// The client that calls
        #[arg(long, value_name = "CLIENT", value_enum)]
        client: HookedClient,
    },
    #[command(about = help::<op::GuardCommit>(), after_help = "Example:\n  comity guard commit .git/COMMIT_EDITMSG")]
    Commit {
        /// The file with the message; - reads standard input (default: check the staged files instead)
        #[arg(value_name = "MSGFILE")]
        message_file: Option<String>,
        /// Check the message only where `[commit] template` is set, as git's hook does
        #[arg(long)]
        hook: bool,
    },
}

/// A client that has hooks which can say no.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum HookedClient {
    Claude,
    Codex,
}
