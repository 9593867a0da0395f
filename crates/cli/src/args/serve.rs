//! `comity token …`

use super::values::{agent, duration, role};
use clap::Subcommand;
use comity_core::ids::AgentId;
use comity_core::role::Role;
use comity_core::time::Millis;

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token for an agent, and print it once
    #[command(after_help = "Example:\n  comity token create --agent codex:web --expires 7d")]
    Create {
        /// The agent that the token names
        #[arg(long, value_name = "ID", value_parser = agent)]
        agent: AgentId,
        /// Set the roles of the agent (repeatable)
        #[arg(long = "role", value_name = "ROLE", value_parser = role)]
        roles: Vec<Role>,
        /// The time until the token ends (default: 30d)
        #[arg(long, value_name = "DUR", value_parser = duration)]
        expires: Option<Millis>,
    },
    /// List the tokens that are not revoked
    #[command(after_help = "Example:\n  comity token list")]
    List,
    /// End a token
    #[command(after_help = "Example:\n  comity token revoke K1")]
    Revoke {
        /// The id of the token
        id: String,
    },
}
