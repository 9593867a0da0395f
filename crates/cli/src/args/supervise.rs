//! `comity supervise`

use super::values::{dollars, text};
use clap::Args;
use comity_core::money::Usd;

/// Options of `supervise`.
#[derive(Debug, Args)]
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
    /// Start an agent that is responsible for this objective until every criterion is met
    #[arg(long, value_name = "TEXT", value_parser = text, requires = "criteria")]
    pub objective: Option<String>,
    /// A criterion of the objective (repeatable)
    #[arg(long = "criterion", value_name = "TEXT", value_parser = text, requires = "objective")]
    pub criteria: Vec<String>,
    /// The most US dollars that the objective may cost
    #[arg(long, value_name = "N", value_parser = dollars, requires = "objective")]
    pub budget: Option<Usd>,
    /// This process was started in the background
    #[arg(long, hide = true)]
    pub detached: bool,
}
