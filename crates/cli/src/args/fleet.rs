//! `comity run …`, `comity runs`, `comity cost`, `comity budget …`

use super::help;
use super::values::{
    PageArgs, cost_by, dollars, duration, git_strategy, period, run_state, stage, text,
};
use clap::{Args, Subcommand};
use comity_api::{CostBy, op};
use comity_core::budget::Per;
use comity_core::money::Usd;
use comity_core::run::{GitStrategy, RunState, Stage};
use comity_core::time::Millis;

fn label(text: &str) -> Result<String, String> {
    comity_project::fleet::label(text).map(|_| text.to_owned())
}

/// Starts a run, or does something with one.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunArgs {
    #[command(subcommand)]
    pub command: Option<RunCommand>,
    #[command(flatten)]
    pub start: StartArgs,
}

/// Options of `run AGENT`.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// The agent, such as architect, developer, reviewer or scout
    #[arg(value_name = "AGENT")]
    pub agent: Option<String>,
    /// What is to be done; - reads standard input
    #[arg(long, value_name = "TEXT", value_parser = text, allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// Read what is to be done from this file
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    pub prompt_file: Option<std::path::PathBuf>,
    /// The task to work on; without one, comity creates a task from the prompt
    #[arg(long, short, value_name = "ID")]
    pub task: Option<String>,
    /// The branch to work on (default: that of the task)
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// The commit to start from (default: the tip of the base branch)
    #[arg(long, value_name = "COMMIT")]
    pub base: Option<String>,
    /// What the run is for: plan, develop, review or scout (default: what the agent is for)
    #[arg(long, value_name = "STAGE", value_parser = stage)]
    pub stage: Option<Stage>,
    /// Further facts about the run, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub meta: Option<String>,
    /// The driver that starts the agent: claude, codex, or one of the settings
    #[arg(long, value_name = "NAME")]
    pub driver: Option<String>,
    /// The model of the agent
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The most US dollars that the run may cost
    #[arg(long, value_name = "N", value_parser = dollars)]
    pub budget: Option<Usd>,
    /// The most turns that the agent may take
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u32>,
    /// How long the agent may work (default: fleet.max_duration)
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub timeout: Option<Millis>,
    /// Wait for a worker on another host that offers this, such as gpu=1 (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<String>,
    /// Start a developer although the plan of the task is not ready; only a person may, with a reason
    #[arg(long, requires = "reason")]
    pub skip_design: bool,
    /// Explain why the plan is not needed
    #[arg(long, value_name = "TEXT", value_parser = text, requires = "skip_design")]
    pub reason: Option<String>,
    /// How far the work goes when it is handed in: branch (it stays here) or pr (default: what the report recommends)
    #[arg(long, value_name = "HOW", value_parser = git_strategy)]
    pub git_strategy: Option<GitStrategy>,
    /// Wait for the end of the run; exit with 3 unless it succeeded
    #[arg(long)]
    pub wait: bool,
}

/// What can be done with a run.
#[derive(Debug, Subcommand)]
pub enum RunCommand {
    #[command(about = help::<op::RunShow>(), after_help = "Example:\n  comity run show R1")]
    Show {
        /// The id of the run
        id: String,
    },
    #[command(about = help::<op::RunWhy>(), after_help = "Example:\n  comity run why R1")]
    Why {
        /// The id of the run
        id: String,
    },
    #[command(about = help::<op::RunLogs>(), after_help = "Example:\n  comity run logs R1 --follow")]
    Logs {
        /// The id of the run
        id: String,
        /// Go on with what the agent says from now on, until the run ends
        #[arg(long, short)]
        follow: bool,
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
    #[command(
        about = help::<op::RunResume>(),
        after_help = "A run that failed, was stopped or lost goes on in a new run: on the same task, branch and work tree. The new \
        agent is told which steps are done. It takes up the session of the old one once, if the agent itself was not at fault.\n\n\
        Example:\n  comity run resume R1"
    )]
    Resume {
        /// The id of the run
        id: String,
        /// Begin a new session of the agent
        #[arg(long)]
        fresh: bool,
    },
    #[command(about = help::<op::RunSteer>(),
        after_help = "Example:\n  comity run steer R1 'Leave the tests of the parser alone'")]
    Steer {
        /// The id of the run
        id: String,
        /// What to say; - reads standard input
        #[arg(value_parser = text, allow_hyphen_values = true)]
        text: String,
    },
    #[command(about = help::<op::RunDiff>(), after_help = "Example:\n  comity run diff R1")]
    Diff {
        /// The id of the run
        id: String,
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
        /// Spend at most this many US dollars
        #[arg(long, value_name = "N", value_parser = dollars, required_unless_present = "runs")]
        usd: Option<Usd>,
        /// Start at most this many runs
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
