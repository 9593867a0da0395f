//! `comity memory …` and `comity directive …`

use super::help;
use super::values::{PageArgs, duration, memory_type, trigger};
use clap::{Args, Subcommand};
use comity_api::op;
use comity_core::directive::Trigger;
use comity_core::memory::{MemoryFilter, MemoryType};
use comity_core::time::Millis;

/// What can be done with memories.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    #[command(about = help::<op::MemoryWrite>(),
        after_help = "With --supersedes the new memory replaces an older one, which stays in the \
        store with a link to it; `comity memory update` changes a memory in place.\n\nExample:\n  \
        comity memory write 'Tests need a running database' --type fact --scope src/store --tag ci"
    )]
    Write(Box<WriteArgs>),
    #[command(about = help::<op::MemoryList>(), after_help = "Example:\n  comity memory list --type procedure --scope src/store")]
    List {
        #[command(flatten)]
        filter: MemoryFilterArgs,
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::MemoryShow>(), after_help = "Example:\n  comity memory show M1")]
    Show {
        /// The memory
        id: String,
    },
    #[command(about = help::<op::MemorySearch>(),
        after_help = "English words are found in all their forms; a * after the last word leaves \
        its end open.\n\nExample:\n  comity memory search 'database migrat*'"
    )]
    Search {
        /// Words, in any order
        #[arg(allow_hyphen_values = true)]
        query: String,
        #[command(flatten)]
        filter: MemoryFilterArgs,
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::MemoryUpdate>(),
        after_help = "To keep what it said before, write a new memory with `comity memory write \
        --supersedes ID`.\n\nExample:\n  comity memory update M1 'Tests need PostgreSQL 15' \
        --expires 30d"
    )]
    Update(Box<UpdateMemoryArgs>),
    #[command(about = help::<op::MemoryForget>(), after_help = "Example:\n  comity memory forget M1")]
    Forget {
        /// The memory
        id: String,
    },
}

/// Options of `memory write`.
#[derive(Debug, Args)]
pub struct WriteArgs {
    /// What to remember
    #[arg(allow_hyphen_values = true)]
    pub text: String,
    /// fact (knowledge), procedure, feedback (warning) or focus
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type)]
    pub kind: MemoryType,
    /// What it is about: a repository, a path, anything (default: global)
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Forget it after this time
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub expires: Option<Millis>,
    /// Add a tag (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// The task it was learnt on
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Replace this memory
    #[arg(long, value_name = "ID")]
    pub supersedes: Option<String>,
}

/// Options of `memory update`.
#[derive(Debug, Args)]
pub struct UpdateMemoryArgs {
    /// The memory
    pub id: String,
    /// What it says from now on
    #[arg(allow_hyphen_values = true)]
    pub text: Option<String>,
    /// Make it of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type)]
    pub kind: Option<MemoryType>,
    /// Say what it is about
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Set the tags, all of them (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Take all tags away
    #[arg(long, conflicts_with = "tags")]
    pub no_tags: bool,
    /// Forget it after this time from now
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub expires: Option<Millis>,
    /// Keep it without end
    #[arg(long, conflicts_with = "expires")]
    pub no_expiry: bool,
}

/// Which memories.
#[derive(Debug, Args)]
pub struct MemoryFilterArgs {
    /// Only of this type: fact (knowledge), procedure, feedback (warning) or focus
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type)]
    pub kind: Option<MemoryType>,
    /// Only of this scope, and global ones
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Only with this tag (repeatable: with all of them)
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Show those that were replaced, too
    #[arg(long)]
    pub all: bool,
}

impl From<MemoryFilterArgs> for MemoryFilter {
    fn from(args: MemoryFilterArgs) -> MemoryFilter {
        MemoryFilter { kind: args.kind, scope: args.scope, tags: args.tags, all: args.all }
    }
}

/// What can be done with directives.
#[derive(Debug, Subcommand)]
pub enum DirectiveCommand {
    #[command(about = help::<op::DirectiveCreate>(),
        after_help = "A duration is 90s, 30m, 2h or 7d, 'for 2 hours', 'until 18:00', 'until \
        midnight' (local time), or indefinitely.\n\nExample:\n  comity directive create 'Update \
        the dependencies' --trigger idle --priority 10 --duration 'until midnight'"
    )]
    Create(Box<DirectiveArgs>),
    #[command(about = help::<op::DirectiveList>(), after_help = "Example:\n  comity directive list --active --trigger idle")]
    List {
        /// Only what counts now, the highest priority first
        #[arg(long)]
        active: bool,
        /// Only for this trigger: idle, startup or shutdown
        #[arg(long, value_name = "TRIGGER", value_parser = trigger)]
        trigger: Option<Trigger>,
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::DirectiveShow>(), after_help = "Example:\n  comity directive show I1")]
    Show {
        /// The directive
        id: String,
    },
    #[command(about = help::<op::DirectiveToggle>(), after_help = "Example:\n  comity directive toggle I1")]
    Toggle {
        /// The directive
        id: String,
        /// Switch it on, whatever it was
        #[arg(long)]
        on: bool,
        /// Switch it off, whatever it was
        #[arg(long, conflicts_with = "on")]
        off: bool,
    },
    #[command(about = help::<op::DirectiveDelete>(), after_help = "Example:\n  comity directive delete I1")]
    Delete {
        /// The directive
        id: String,
    },
    #[command(about = help::<op::DirectiveTrigger>(), after_help = "Example:\n  comity directive trigger I1")]
    Trigger {
        /// The directive
        id: String,
    },
}

/// Options of `directive create`.
#[derive(Debug, Args)]
pub struct DirectiveArgs {
    /// What is to be done
    #[arg(allow_hyphen_values = true)]
    pub text: String,
    /// idle, startup or shutdown
    #[arg(long, value_name = "TRIGGER", value_parser = trigger, default_value = "idle")]
    pub trigger: Trigger,
    /// How long it counts, such as 2h or 'until 18:00' (default: indefinitely)
    #[arg(long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// The highest comes first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub priority: u64,
    /// Say why, or how
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub description: Option<String>,
}
