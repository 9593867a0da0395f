//! `comity config …`

use clap::Subcommand;

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// List all settings, with where each value comes from
    #[command(after_help = "Example:\n  comity config list")]
    List,
    /// Show one setting
    #[command(after_help = "Example:\n  comity config get limits.ttl")]
    Get {
        /// The setting, such as limits.ttl
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Change one setting in .comity/config.toml and keep the rest of the file
    #[command(after_help = "Example:\n  comity config set gates.required tests,lint")]
    Set {
        /// The setting, such as limits.ttl
        #[arg(value_name = "KEY")]
        key: String,
        /// The new value; lists take commas
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
    },
}
