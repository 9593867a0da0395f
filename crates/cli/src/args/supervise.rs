//! `comity supervise`

use clap::Args;

/// Options of `supervise`.
#[derive(Debug, Default, Args)]
pub struct SuperviseArgs {
    /// Do what is due now, and end
    #[arg(long)]
    pub once: bool,
    /// Show what is due now, and do nothing
    #[arg(long, conflicts_with_all = ["once", "detach", "status", "stop"])]
    pub dry_run: bool,
    /// Go on in the background
    #[arg(long, conflicts_with_all = ["once", "status", "stop"])]
    pub detach: bool,
    /// Show who supervises this repository
    #[arg(long, conflicts_with_all = ["once", "stop"])]
    pub status: bool,
    /// Stop the supervisor of this host
    #[arg(long, conflicts_with = "once")]
    pub stop: bool,
    /// Bring this one objective to its end instead: a focused supervisor sends agents out for it
    #[arg(long, value_name = "TEXT", value_parser = super::values::text, requires = "criterion",
        conflicts_with_all = ["once", "dry_run", "status", "stop"])]
    pub objective: Option<String>,
    /// When the objective is reached; each criterion needs evidence (repeatable)
    #[arg(long, value_name = "TEXT", value_parser = super::values::text, requires = "objective")]
    pub criterion: Vec<String>,
    /// The most US dollars that the objective may cost, with all agents that are sent out
    #[arg(long, value_name = "N", value_parser = super::values::dollars, requires = "objective")]
    pub budget: Option<comity_core::money::Usd>,
    /// The driver of the focused supervisor
    #[arg(long, value_name = "NAME", requires = "objective")]
    pub driver: Option<String>,
    /// This process was started in the background
    #[arg(long, hide = true)]
    pub detached: bool,
}
