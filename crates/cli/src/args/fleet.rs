//! `comity run …`, `comity runs`, `comity cost`, `comity budget …`

use super::help;
use super::values::{PageArgs, cost_by, dollars, period, run_state, text};
use clap::{Args, Subcommand};
use comity_api::{CostBy, op};
use comity_core::budget::Per;
use comity_core::money::Usd;
use comity_core::run::RunState;

/// What can be done with a run.
#[derive(Debug, Subcommand)]
pub enum RunCommand {
    #[command(about = help::<op::RunShow>(), after_help = "Example:\n  comity run show R1")]
    Show {
        /// The id of the run
        id: String,
    },
    #[command(about = help::<op::RunStop>(), after_help = "Example:\n  comity run stop R1")]
    Stop {
        /// The id of the run
        id: String,
        /// Kill the processes at once, without time to end by themselves
        #[arg(long)]
        now: bool,
        /// Explain why
        #[arg(long, value_name = "TEXT", value_parser = text)]
        reason: Option<String>,
    },
    #[command(about = help::<op::RunPause>(), after_help = "Example:\n  comity run pause R1")]
    Pause {
        /// The id of the run
        id: String,
        /// Explain why
        #[arg(long, value_name = "TEXT", value_parser = text)]
        reason: Option<String>,
    },
    #[command(about = help::<op::RunResume>(), after_help = "Example:\n  comity run resume R1")]
    Resume {
        /// The id of the run
        id: String,
        /// Begin a new session of the agent
        #[arg(long)]
        fresh: bool,
    },
}

/// What runs are listed by.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Show only runs in this state, such as running or failed (repeatable)
    #[arg(long, value_name = "STATE", value_parser = run_state)]
    pub status: Vec<RunState>,
    /// Show only runs of this task
    #[arg(long, short, value_name = "ID")]
    pub task: Option<String>,
    /// Show only runs of this agent, such as developer
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub page: PageArgs,
}

/// How costs are shown.
#[derive(Debug, Args)]
pub struct CostArgs {
    /// What costs are added up by: agent, task, repo, day, model or run
    #[arg(long, value_name = "WHAT", value_parser = cost_by, default_value = "agent")]
    pub by: CostBy,
    /// Print one line, for a status bar
    #[arg(long)]
    pub short: bool,
}

/// What can be done with budgets.
#[derive(Debug, Subcommand)]
pub enum BudgetCommand {
    #[command(about = help::<op::BudgetSet>(),
        after_help = "A scope is repo, task:ID, agent:NAME or run:ID. A run counts in all of its scopes.\n\n\
        Example:\n  comity budget set repo --usd 20 --per day")]
    Set {
        /// What the budget is for
        scope: String,
        /// The most US dollars
        #[arg(long, value_name = "N", value_parser = dollars, required_unless_present = "runs")]
        usd: Option<Usd>,
        /// The most runs
        #[arg(long, value_name = "N")]
        runs: Option<u64>,
        /// How long spending is added up: total, day or month (UTC)
        #[arg(long, value_name = "PERIOD", value_parser = period, default_value = "total")]
        per: Per,
    },
    #[command(about = help::<op::BudgetList>(), after_help = "Example:\n  comity budget list")]
    List,
    #[command(about = help::<op::BudgetClear>(), after_help = "Example:\n  comity budget clear repo --per day")]
    Clear {
        /// What the budget is for
        scope: String,
        /// How long spending is added up: total, day or month (UTC)
        #[arg(long, value_name = "PERIOD", value_parser = period, default_value = "total")]
        per: Per,
    },
}
