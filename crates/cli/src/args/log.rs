//! `comity event …`, `comity log …`, `comity report …`

use super::help;
use super::values::{PageArgs, since};
use clap::{Args, Subcommand};
use comity_api::Since;
use comity_api::op;
use std::path::PathBuf;

/// What can be done with events.
#[derive(Debug, Subcommand)]
pub enum EventCommand {
    #[command(about = help::<op::EventEmit>(),
        after_help = "Example:\n  comity event emit '{\"event\":\"commit_pushed\",\"task\":\"T1\"}'"
    )]
    Emit {
        /// A JSON object with `event` and any other fields; - reads standard input
        #[arg(value_name = "JSON")]
        event: String,
    },
    #[command(about = help::<op::EventList>(), after_help = "Example:\n  comity event list --task T1 --since 2h")]
    List {
        /// Show only events about this task
        #[arg(long, short, value_name = "ID")]
        task: Option<String>,
        /// Show only events with this name
        #[arg(long = "type", value_name = "NAME")]
        kind: Option<String>,
        /// Start after this seq, at this time, or this long ago: 120, 2026-01-31T12:00:00Z, 2h
        #[arg(long, value_name = "WHEN", value_parser = since)]
        since: Option<Since>,
        /// Show the events of every repository in the store
        #[arg(long)]
        all_repos: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::EventTail>(), after_help = "Example:\n  comity event tail --from 1")]
    Tail {
        /// Start with this seq (default: the next new event)
        #[arg(long, value_name = "SEQ")]
        from: Option<u64>,
    },
}

/// `comity log`, and what else can be done with the log.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct LogArgs {
    #[command(subcommand)]
    pub command: Option<LogCommand>,
    /// Show only what happened to this task
    #[arg(long, short, value_name = "ID")]
    pub task: Option<String>,
    #[command(flatten)]
    pub page: PageArgs,
    /// Show the last events and then every new one, until you stop it
    #[arg(long, short, conflicts_with = "after")]
    pub follow: bool,
}

/// What can be done with the log.
#[derive(Debug, Subcommand)]
pub enum LogCommand {
    #[command(about = help::<op::LogVerify>(), after_help = "Example:\n  comity log verify")]
    Verify,
    #[command(about = help::<op::LogRebuild>(), after_help = "Example:\n  comity log rebuild")]
    Rebuild,
    #[command(about = help::<op::LogHead>(), after_help = "Example:\n  comity log head --json")]
    Head,
}

/// What can be done with a store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Copy a whole store into an empty one
    #[command(
        after_help = "Example:\n  comity store copy sqlite:comity.db postgres://db/comity --fence-writers"
    )]
    Copy {
        /// The URL of the store to copy
        from: String,
        /// The URL of the store to copy into; an interrupted copy continues there
        to: String,
        /// Close the old store for writers first
        #[arg(long)]
        fence_writers: bool,
    },
    /// Write the store into a file, while others go on working
    #[command(after_help = "Example:\n  comity store backup ../comity-backup.db")]
    Backup {
        /// The new file
        file: PathBuf,
    },
    /// Make the store from a backup
    #[command(after_help = "Example:\n  comity store restore ../comity-backup.db")]
    Restore {
        /// The file of the backup
        file: PathBuf,
        /// Replace the store that is there; it is kept beside the restored one
        #[arg(long)]
        replace: bool,
    },
}

/// What can be reported.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    #[command(about = help::<op::ReportLog>(), after_help = "Example:\n  comity report log --output LOG.md")]
    Log {
        /// Write to this file instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<String>,
    },
    #[command(about = help::<op::ReportBoard>(), after_help = "Example:\n  comity report board --output board.md")]
    Board {
        /// Write to this file instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<String>,
    },
}
