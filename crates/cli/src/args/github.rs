//! `comity github …`

use super::help;
use clap::{Subcommand, ValueEnum};
use comity_api::op;
use std::net::SocketAddr;

/// Whose account a token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AccountOf {
    Bot,
    Person,
}

/// What can be done with GitHub.
#[derive(Debug, Subcommand)]
pub enum GithubCommand {
    #[command(about = help::<op::GithubSetup>(), after_help = "Example:\n  comity github setup --account bot --me ann")]
    Setup {
        /// Send events of the repository to this address, where `comity github serve` listens
        #[arg(long, value_name = "URL")]
        hook: Option<String>,
        /// Whose account the token belongs to: only comity writes with it, or a person, too
        #[arg(long, value_enum)]
        account: Option<AccountOf>,
        /// Your own login on GitHub: what it approves there is your approval
        #[arg(long, value_name = "LOGIN")]
        me: Option<String>,
        /// Only show what would be done
        #[arg(long)]
        dry_run: bool,
    },
    #[command(about = help::<op::GithubDoctor>(), after_help = "Example:\n  comity github doctor")]
    Doctor,
    #[command(about = help::<op::GithubStatus>(), after_help = "Example:\n  comity github status")]
    Status,
    #[command(about = help::<op::GithubQuota>(), after_help = "Example:\n  comity github quota")]
    Quota,
    #[command(about = help::<op::GithubSync>(), after_help = "Example:\n  comity github sync --dry-run\n  comity github sync --watch")]
    Sync {
        /// Continue until Ctrl-C
        #[arg(long, conflicts_with = "dry_run")]
        watch: bool,
        /// Look at everything again, not only at what changed
        #[arg(long)]
        full: bool,
        /// Only show what would be done
        #[arg(long)]
        dry_run: bool,
        /// Only send what this task needs (repeatable)
        #[arg(long = "task", value_name = "ID")]
        tasks: Vec<String>,
        /// Send at most so many writes
        #[arg(long, value_name = "N")]
        max_writes: Option<u64>,
    },
    /// Keep issues on GitHub and tasks in sync, and let GitHub say when something changed
    #[command(after_help = "Example:\n  comity github serve --listen 127.0.0.1:4190")]
    Serve {
        /// The address to listen on for GitHub's events
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4190")]
        listen: SocketAddr,
    },
    #[command(about = help::<op::GithubPublish>(), after_help = "Example:\n  comity github publish T1 T2 --epic 12")]
    Publish {
        /// The tasks
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// The number of the issue that these are parts of
        #[arg(long, value_name = "N")]
        epic: Option<u64>,
        /// The repository (default: the one that the task names, else that of the project)
        #[arg(long, value_name = "OWNER/NAME")]
        to: Option<String>,
    },
    #[command(about = help::<op::GithubPr>(), after_help = "Example:\n  comity github pr T1")]
    Pr {
        /// The task
        id: String,
    },
    #[command(about = help::<op::GithubPause>(), after_help = "Example:\n  comity github pause 7 --reason 'we discuss it'")]
    Pause {
        /// The issue: N, or OWNER/NAME#N
        issue: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    #[command(about = help::<op::GithubResume>(), after_help = "Example:\n  comity github resume 7")]
    Resume {
        /// The issue: N, or OWNER/NAME#N
        issue: String,
    },
    #[command(about = help::<op::GithubForget>(), after_help = "Example:\n  comity github forget")]
    Forget,
}
