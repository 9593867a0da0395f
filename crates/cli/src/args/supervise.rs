//! `comity supervise`

use clap::Args;

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
    /// This process was started in the background
    #[arg(long, hide = true)]
    pub detached: bool,
}
