//! `comity serve`, `comity demo` and `comity token …`

use super::values::{agent, duration, role};
use clap::{Args, Subcommand};
use comity_core::ids::AgentId;
use comity_core::role::Role;
use comity_core::time::Millis;

/// How a server listens.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// The address to listen on; off this host only with TLS or behind a proxy
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4180")]
    pub listen: std::net::SocketAddr,
    /// The certificate for TLS, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<std::path::PathBuf>,
    /// The key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<std::path::PathBuf>,
    /// A proxy in front does TLS and sets X-Forwarded-For
    #[arg(long, requires = "hosts")]
    pub behind_proxy: bool,
    /// A name under which the server is called (repeatable)
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// Open the dashboard in the browser
    #[arg(long)]
    pub open: bool,
}

/// What a demonstration shows.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Open the dashboard in the browser and play the crew there, slowly
    #[arg(long)]
    pub open: bool,
    /// Instead of a crew, a scene to look at: two weeks of work, up to now
    #[arg(long, value_name = "NAME", value_parser = clap::value_parser!(Scene))]
    pub scene: Option<Scene>,
    /// Keep the repository in this directory, which is made, instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub dir: Option<std::path::PathBuf>,
}

/// Scenes that can be shown.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Scene {
    /// An accounting system in a busy hour
    Ledger,
}

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
        /// Let the token change this task only
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Let the token use this verb only, such as claim or approve (repeatable)
        #[arg(long = "verb", value_name = "VERB")]
        verbs: Vec<String>,
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
