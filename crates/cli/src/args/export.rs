//! `comity export …`

use super::help;
use clap::Subcommand;
use comity_api::op;
use std::path::PathBuf;

/// What can be written for other tools.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    #[command(about = help::<op::ExportNeo>(), after_help = "Example:\n  comity export neo ~/.neo/supervisors/supervisor")]
    Neo {
        /// The directory of a supervisor, or neo's own
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Also overwrite files that changed since comity last read or wrote them
        #[arg(long)]
        overwrite: bool,
    },
    #[command(about = help::<op::ExportCollab>(), after_help = "Example:\n  comity export collab collaboration")]
    Collab {
        /// The directory to write
        dir: String,
    },
    #[command(about = help::<op::ExportJson>(), after_help = "Example:\n  comity export json >comity.json")]
    Json,
}
