//! `comity neo run|runs|cost|supervise|supervisor|child`: runs and the supervisor with neo's own flags.

use super::neo::{NeoOutput, Supervisor};
use clap::{Args, Subcommand};

/// `neo run`
#[derive(Debug, Args)]
pub struct NeoRun {
    /// The agent
    pub agent: Option<String>,
    /// What is to be done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// The branch to work on
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// How urgent it is: critical, high, medium or low
    #[arg(long, value_name = "PRIORITY", default_value = "medium")]
    pub priority: String,
    /// Further facts about the run, as JSON
    #[arg(long, value_name = "JSON")]
    pub meta: Option<String>,
    /// What becomes of the branch: pr or branch
    #[arg(long, value_name = "STRATEGY")]
    pub git_strategy: Option<String>,
    /// Go on in the background; this is so without the flag
    #[arg(short, long)]
    pub detach: bool,
    /// Wait for the end of the run
    #[arg(long, short = 's', visible_alias = "no-detach")]
    pub sync: bool,
    #[command(flatten)]
    pub form: NeoOutput,
}

/// `neo runs`
#[derive(Debug, Args)]
pub struct NeoRuns {
    /// The run: neo's id or its beginning, or comity's id
    pub id: Option<String>,
    /// Show only the last runs
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Show only runs with this status: running, paused, completed, failed or blocked
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    /// Print one short line a run
    #[arg(long)]
    pub short: bool,
    #[command(flatten)]
    pub form: NeoOutput,
}

/// `neo cost`
#[derive(Debug, Args)]
pub struct NeoCost {
    /// Print one line, for a status bar
    #[arg(long)]
    pub short: bool,
    /// Show all days; this is so without the flag
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub form: NeoOutput,
}

/// `neo supervise`
#[derive(Debug, Args)]
pub struct NeoSupervise {
    /// Show whether a supervisor is at work
    #[arg(long)]
    pub status: bool,
    /// Stop the supervisor of this host
    #[arg(long)]
    pub kill: bool,
    /// Show what the supervisor of this project does
    #[arg(long)]
    pub attach: bool,
    /// Go on in the background
    #[arg(short, long)]
    pub detach: bool,
    /// Tell the supervisor something; a text that begins with a verb, such as fix or add, becomes a task
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Accepted and ignored: questions go to the supervisor of the project
    #[arg(long, value_name = "NAME")]
    pub parent: Option<String>,
    /// Bring this objective to its end instead
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub objective: Option<String>,
    /// When it is reached, parted by commas
    #[arg(long, value_name = "A,B")]
    pub criteria: Option<String>,
    /// The most US dollars that it may cost
    #[arg(long, value_name = "N")]
    pub budget: Option<f64>,
    #[command(flatten)]
    pub supervisor: Supervisor,
}

/// `neo supervisor …`
#[derive(Debug, Subcommand)]
pub enum NeoSupervisor {
    /// Show whether a supervisor is at work
    #[command(after_help = "Example:\n  comity neo supervisor status")]
    Status {
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Show what was done
    #[command(after_help = "Example:\n  comity neo supervisor activity --type dispatch --limit 20")]
    Activity {
        /// Show only this: decision, action, error, event, message, plan or dispatch
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Show only what was done since
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Show only what was done until
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Show at most N entries
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
        #[command(flatten)]
        supervisor: Supervisor,
    },
}

/// `neo child …`
#[derive(Debug, Subcommand)]
pub enum NeoChild {
    /// Start a supervisor for one objective
    #[command(
        after_help = "Example:\n  comity neo child spawn -o 'Parse dates' -c 'The tests pass' -b 5"
    )]
    Spawn {
        /// Accepted and ignored: questions go to the supervisor of the project
        #[arg(long, short, value_name = "NAME")]
        supervisor: Option<String>,
        /// The objective
        #[arg(long, short, value_name = "TEXT")]
        objective: Option<String>,
        /// When it is reached, parted by commas
        #[arg(long, short, value_name = "A,B")]
        criteria: Option<String>,
        /// The most US dollars that it may cost
        #[arg(long, short, value_name = "N")]
        budget: Option<f64>,
    },
}
