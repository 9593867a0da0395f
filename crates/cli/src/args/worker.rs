//! `comity worker`

use clap::Args;
use comity_project::fleet;

fn label(text: &str) -> Result<(String, String), String> {
    fleet::label(text)
}

/// Options of `worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// What this host offers, such as gpu=1; a run that asks for it may start here (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Run at most N agents at once (default: fleet.max_runs)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub capacity: Option<u16>,
    /// Let the worker of this host take no more runs and end after its last one; where none runs, take what waits now and end
    #[arg(long)]
    pub drain: bool,
}
