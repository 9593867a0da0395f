//! `comity collab …` and `comity sync …`

use super::help;
use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use comity_api::op;
use comity_core::status::Status;

/// What the command line of a `collaboration/` tree can do.
#[derive(Debug, Subcommand)]
pub enum CollabCommand {
    /// Append an event
    #[command(
        after_help = "Example:\n  comity collab emit-event '{\"event\":\"tests_run\",\"task\":\"task-001\",\"result\":\"pass\"}'"
    )]
    EmitEvent {
        /// A JSON object with `event` and any other fields
        #[arg(value_name = "JSON")]
        event: String,
    },
    /// Take a lease on a path
    #[command(after_help = "Example:\n  comity collab acquire-lease src/app.py codex-cli task-004")]
    AcquireLease {
        /// The path
        path: String,
        /// The owner of the lease
        owner: String,
        /// What the lease is for, usually a task
        purpose: String,
    },
    /// Renew a lease
    #[command(after_help = "Example:\n  comity collab renew-lease L-00000001 codex-cli")]
    RenewLease {
        /// The id of the lease
        lock_id: String,
        /// The owner of the lease
        owner: String,
    },
    /// Release a lease
    #[command(after_help = "Example:\n  comity collab release-lease L-00000001 codex-cli")]
    ReleaseLease {
        /// The id of the lease
        lock_id: String,
        /// The owner of the lease
        owner: String,
    },
    /// Write logs/log.md again
    #[command(after_help = "Example:\n  comity collab generate-log")]
    GenerateLog,
    /// List tasks
    #[command(after_help = "Example:\n  comity collab list-tasks --status queued --output json")]
    ListTasks {
        /// Show only tasks with this status
        #[arg(long, value_name = "STATUS", value_parser = statuses())]
        status: Option<String>,
        /// Show only tasks of this agent
        #[arg(long, value_name = "AGENT")]
        assignee: Option<String>,
        /// How to print the tasks
        #[arg(long, default_value = "table")]
        output: TaskOutput,
    },
    /// Create a task
    #[command(
        after_help = "Example:\n  comity collab create-task --title 'Parse dates' --labels backend,api"
    )]
    #[command(mut_arg("title", |arg| arg.required(true)))]
    CreateTask {
        #[command(flatten)]
        fields: CollabFields,
        /// Use this id
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// The entry of the roadmap that the task belongs to
        #[arg(long, value_name = "ID")]
        roadmap_id: Option<String>,
    },
    /// Change a task
    #[command(after_help = "Example:\n  comity collab update-task task-001 --priority P1")]
    UpdateTask {
        /// The id of the task
        id: String,
        #[command(flatten)]
        fields: CollabFields,
        /// The new status
        #[arg(long, value_name = "STATUS", value_parser = statuses())]
        status: Option<String>,
        /// What the task needs, when it is or becomes blocked
        #[arg(long, value_name = "TEXT")]
        needs: Option<String>,
    },
    /// Move a task to another status
    #[command(after_help = "Example:\n  comity collab transition-task task-001 in_progress")]
    TransitionTask {
        /// The id of the task
        id: String,
        /// The new status
        #[arg(value_parser = statuses())]
        status: String,
        /// What the task needs, when it becomes blocked
        #[arg(long, value_name = "TEXT")]
        needs: Option<String>,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

/// The words for a state; any other is wrong usage, as it is for the tree's own command line.
fn statuses() -> PossibleValuesParser {
    PossibleValuesParser::new(Status::ALL.map(Status::as_str))
}

/// Fields of a task.
#[derive(Debug, clap::Args)]
pub struct CollabFields {
    /// The title
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The labels, separated by commas
    #[arg(long, value_name = "A,B")]
    pub labels: Option<String>,
    /// The priority: P0 to P4, or critical, high, medium, low
    #[arg(long, value_name = "P")]
    pub priority: Option<String>,
    /// The agent that the task is for
    #[arg(long, value_name = "AGENT")]
    pub assignee: Option<String>,
}

/// How tasks are shown.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum TaskOutput {
    /// A table
    Table,
    /// JSON, as in the file
    Json,
}

/// What can be kept in step.
#[derive(Debug, Subcommand)]
pub enum SyncCommand {
    #[command(about = help::<op::SyncCollab>(), after_help = "Example:\n  comity sync collab --watch")]
    Collab {
        /// The tree (default: collaboration/ in the root)
        dir: Option<String>,
        /// Continue until Ctrl-C
        #[arg(long)]
        watch: bool,
    },
}
