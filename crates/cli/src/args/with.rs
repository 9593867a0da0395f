//! `comity with …`

use clap::Args;
use std::ffi::OsString;

/// Options of `with`.
#[derive(Debug, Args)]
pub struct WithArgs {
    /// The task (default: the one that you hold)
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Record the exit status as evidence for this gate
    #[arg(long, value_name = "NAME")]
    pub gate: Option<String>,
    /// Make the gate if neither the task nor the settings know it
    #[arg(long, requires = "gate")]
    pub new: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<OsString>,
}
