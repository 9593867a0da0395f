//! `comity export …`

use clap::Subcommand;
use std::path::PathBuf;

/// What can be written for other tools.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Write decisions, directives, memories and tasks as neo's files
    #[command(after_help = "Example:\n  comity export neo ~/.neo/supervisors/supervisor")]
    Neo {
        /// The directory of a supervisor, or neo's own
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Also overwrite files that changed since comity last read or wrote them
        #[arg(long)]
        overwrite: bool,
    },
    /// Write a collaboration/ tree
    #[command(after_help = "Example:\n  comity export collab collaboration")]
    Collab {
        /// The directory to write
        dir: String,
    },
}
