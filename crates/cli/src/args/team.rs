//! `comity lease …`, `comity agent …`, `comity gate …`

use super::help;
use super::values::{PageArgs, agent, duration, role, text};
use clap::Subcommand;
use comity_api::op;
use comity_core::ids::AgentId;
use comity_core::role::Role;
use comity_core::time::Millis;

/// What can be done with leases.
#[derive(Debug, Subcommand)]
pub enum LeaseCommand {
    #[command(about = help::<op::LeaseAcquire>(), after_help = "Example:\n  comity lease acquire src/main.rs 'docs/**' --wait 5m")]
    Acquire {
        /// Paths or globs, relative to the working directory
        #[arg(required = true, value_name = "PATTERN")]
        patterns: Vec<String>,
        /// The task that the leases are for
        #[arg(long, short, value_name = "ID")]
        task: Option<String>,
        /// What the leases are for
        #[arg(long, value_name = "TEXT", value_parser = text)]
        purpose: Option<String>,
        /// How long the leases live without a sign of life (default: 15m)
        #[arg(long, value_name = "DUR", value_parser = duration)]
        ttl: Option<Millis>,
        /// Take shared leases, which allow other shared leases on the same files
        #[arg(long)]
        shared: bool,
        /// If the files are leased, wait at most this long, such as 5m
        #[arg(long, value_name = "DUR", value_parser = duration)]
        wait: Option<Millis>,
    },
    #[command(about = help::<op::LeaseRenew>(), after_help = "Example:\n  comity lease renew L1 L2")]
    Renew {
        /// The ids of the leases
        #[arg(required = true, value_name = "LOCK_ID")]
        ids: Vec<String>,
        /// The new time to live (default: as before)
        #[arg(long, value_name = "DUR", value_parser = duration)]
        ttl: Option<Millis>,
    },
    #[command(about = help::<op::LeaseRelease>(), after_help = "Example:\n  comity lease release --all")]
    Release {
        /// The ids of the leases
        #[arg(value_name = "LOCK_ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// Release all your leases
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
    #[command(about = help::<op::LeaseList>(), after_help = "Example:\n  comity lease list --owner codex-cli")]
    List {
        /// Show only leases of this agent
        #[arg(long, value_name = "AGENT", value_parser = agent)]
        owner: Option<AgentId>,
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::LeaseCheck>(), after_help = "Example:\n  comity lease check src/main.rs")]
    Check {
        /// Paths or globs, relative to the working directory
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    #[command(about = help::<op::LeaseReclaim>(), after_help = "Example:\n  comity lease reclaim")]
    Reclaim,
}

/// What can be done with agents.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    #[command(about = help::<op::AgentRegister>(),
        after_help = "Example:\n  comity agent register codex-cli --role critic --skill rust"
    )]
    Register {
        /// The id of the agent
        #[arg(value_parser = agent)]
        id: AgentId,
        /// Set the roles of the agent (repeatable)
        #[arg(long = "role", value_name = "ROLE", value_parser = role)]
        roles: Vec<Role>,
        /// Set the skills of the agent (repeatable)
        #[arg(long = "skill", value_name = "WORD")]
        skills: Vec<String>,
    },
    #[command(about = help::<op::AgentList>(), after_help = "Example:\n  comity agent list")]
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::AgentShow>(), after_help = "Example:\n  comity agent show codex-cli")]
    Show {
        /// The id of the agent
        id: String,
    },
    #[command(about = help::<op::AgentHeartbeat>(), after_help = "Example:\n  comity agent heartbeat")]
    Heartbeat,
    /// Look at the agents that runs are started with: those of comity, and those that the project defines
    #[command(subcommand, after_help = "Example:\n  comity agent define list")]
    Define(DefineCommand),
    #[command(about = help::<op::AgentSuggest>(), after_help = "Example:\n  comity agent suggest --label rust --role critic")]
    Suggest {
        /// A label of the work; agents with this skill come first (repeatable)
        #[arg(long = "label", short, value_name = "WORD")]
        labels: Vec<String>,
        /// The role that the work needs (default: implementer)
        #[arg(long, value_name = "ROLE", value_parser = role)]
        role: Option<Role>,
    },
}

/// What can be done with gates.
#[derive(Debug, Subcommand)]
pub enum GateCommand {
    #[command(about = help::<op::GateList>(), after_help = "Example:\n  comity gate list T1")]
    List {
        /// The task, or the beginning of its id
        id: String,
    },
    #[command(about = help::<op::GateRecord>(),
        after_help = "Example:\n  comity gate record T1 tests pass --report target/tests.xml"
    )]
    Record {
        /// The task, or the beginning of its id
        id: String,
        /// The name of the gate
        gate: String,
        /// The verdict
        verdict: Verdict,
        /// The path of the report
        #[arg(long, value_name = "PATH")]
        report: Option<String>,
        /// The commit that was checked (default: HEAD of this work tree)
        #[arg(long, value_name = "SHA")]
        commit: Option<String>,
        /// Make the gate if neither the task nor the settings know it
        #[arg(long)]
        new: bool,
    },
    #[command(about = help::<op::GateRun>(), after_help = "Example:\n  comity gate run T1 test clippy")]
    Run {
        /// The task, or the beginning of its id
        id: String,
        /// The gates (default: those that are required, else all that have a command)
        #[arg(value_name = "GATE")]
        gates: Vec<String>,
    },
    #[command(about = help::<op::GateWaive>(), after_help = "Example:\n  comity gate waive T1 bench --reason 'no hot path touched'")]
    Waive {
        /// The task, or the beginning of its id
        id: String,
        /// The name of the gate
        gate: String,
        /// Why the gate is waived; the log records it
        #[arg(long, short = 'm', value_name = "TEXT", value_parser = text)]
        reason: String,
    },
}

/// The result of a gate.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Verdict {
    /// The work passed the gate
    Pass,
    /// The work failed the gate
    Fail,
}

/// What can be done with definitions of agents.
#[derive(Debug, Subcommand)]
pub enum DefineCommand {
    #[command(about = help::<op::AgentDefineList>(),
        after_help = "A file .comity/agents/NAME.yml or .neo/agents/NAME.yml defines an agent, or changes one of comity's.\n\n\
        Example:\n  comity agent define list"
    )]
    List,
    #[command(about = help::<op::AgentDefineShow>(), after_help = "Example:\n  comity agent define show developer")]
    Show {
        /// The name of the agent
        name: String,
    },
    #[command(about = help::<op::AgentDefineCheck>(), after_help = "Example:\n  comity agent define check")]
    Check,
}
