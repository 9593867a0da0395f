//! `comity memory …` and `comity directive …`

use super::help;
use super::values::{PageArgs, duration, memory_type, text, trigger};
use clap::{Args, Subcommand};
use comity_api::op;
use comity_core::directive::Trigger;
use comity_core::memory::{MemoryFilter, MemoryType};
use comity_core::time::Millis;

/// What can be done with memories.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    #[command(about = help::<op::MemoryWrite>(),
        after_help = "With --supersedes the new memory replaces an older one. The older one stays in the \
        store and links to the new one. `comity memory update` changes a memory in place.\n\nExample:\n  \
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
        /// The id of the memory
        id: String,
    },
    #[command(about = help::<op::MemorySearch>(),
        after_help = "A search finds English words in all their forms. A * leaves the end of the last word \
        open.\n\nExample:\n  comity memory search 'database migrat*'"
    )]
    Search {
        /// The words to find, in any order
        #[arg(allow_hyphen_values = true)]
        query: String,
        #[command(flatten)]
        filter: MemoryFilterArgs,
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::MemoryUpdate>(),
        after_help = "To keep the old text, write a new memory with `comity memory write \
        --supersedes ID`.\n\nExample:\n  comity memory update M1 'Tests need PostgreSQL 15' \
        --expires 30d"
    )]
    Update(Box<UpdateMemoryArgs>),
    #[command(about = help::<op::MemoryForget>(), after_help = "Example:\n  comity memory forget M1")]
    Forget {
        /// The id of the memory
        id: String,
    },
}

/// Options of `memory write`.
#[derive(Debug, Args)]
pub struct WriteArgs {
    /// What to remember; - reads standard input
    #[arg(allow_hyphen_values = true, value_parser = text)]
    pub text: String,
    /// The type: fact (or knowledge), procedure, feedback (or warning), focus
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type)]
    pub kind: MemoryType,
    /// What the memory is about: a repository, a path, any text (default: global)
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Forget the memory after this time, such as 7d
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub expires: Option<Millis>,
    /// Add a tag (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// The task on which you learnt it
    #[arg(long, short, value_name = "ID")]
    pub task: Option<String>,
    /// Replace this memory
    #[arg(long, value_name = "ID")]
    pub supersedes: Option<String>,
}

/// Options of `memory update`.
#[derive(Debug, Args)]
pub struct UpdateMemoryArgs {
    /// The id of the memory
    pub id: String,
    /// The new text
    #[arg(allow_hyphen_values = true, value_parser = text)]
    pub text: Option<String>,
    /// Set the type: fact (or knowledge), procedure, feedback (or warning), focus
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type)]
    pub kind: Option<MemoryType>,
    /// Set what the memory is about
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Replace the tags (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Remove all tags
    #[arg(long, conflicts_with = "tags")]
    pub no_tags: bool,
    /// Forget the memory after this time from now, such as 7d
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub expires: Option<Millis>,
    /// Keep the memory for ever
    #[arg(long, conflicts_with = "expires")]
    pub no_expiry: bool,
}

/// What memories are listed by.
#[derive(Debug, Args)]
pub struct MemoryFilterArgs {
    /// Show only this type: fact (or knowledge), procedure, feedback (or warning), focus
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type)]
    pub kind: Option<MemoryType>,
    /// Show only memories of this scope and global ones
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Show only memories with this tag (repeatable: with all of them)
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Also show memories that were replaced
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
        after_help = "A duration is a time such as 90s, 30m, 2h or 7d, 'for 2 hours', 'until 18:00' or 'until \
        midnight' in local time, or indefinitely.\n\nExample:\n  comity directive create 'Update \
        the dependencies' --trigger idle --priority 10 --duration 'until midnight'"
    )]
    Create(Box<DirectiveArgs>),
    #[command(about = help::<op::DirectiveList>(), after_help = "Example:\n  comity directive list --active --trigger idle")]
    List {
        /// Show only directives that apply now, highest priority first
        #[arg(long)]
        active: bool,
        /// Show only this trigger: idle, startup or shutdown
        #[arg(long, value_name = "TRIGGER", value_parser = trigger)]
        trigger: Option<Trigger>,
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::DirectiveShow>(), after_help = "Example:\n  comity directive show I1")]
    Show {
        /// The id of the directive
        id: String,
    },
    #[command(about = help::<op::DirectiveToggle>(), after_help = "Example:\n  comity directive toggle I1")]
    Toggle {
        /// The id of the directive
        id: String,
        /// Switch the directive on
        #[arg(long)]
        on: bool,
        /// Switch the directive off
        #[arg(long, conflicts_with = "on")]
        off: bool,
    },
    #[command(about = help::<op::DirectiveDelete>(), after_help = "Example:\n  comity directive delete I1")]
    Delete {
        /// The id of the directive
        id: String,
    },
    #[command(about = help::<op::DirectiveTrigger>(), after_help = "Example:\n  comity directive trigger I1")]
    Trigger {
        /// The id of the directive
        id: String,
    },
}

/// Options of `directive create`.
#[derive(Debug, Args)]
pub struct DirectiveArgs {
    /// The instruction
    #[arg(allow_hyphen_values = true, value_parser = text)]
    pub text: String,
    /// When a supervisor follows it: idle, startup or shutdown
    #[arg(long, value_name = "TRIGGER", value_parser = trigger, default_value = "idle")]
    pub trigger: Trigger,
    /// How long the directive applies, such as 2h or 'until 18:00' (default: indefinitely)
    #[arg(long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// The priority; directives with a higher one come first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub priority: u64,
    /// Explain why, or how
    #[arg(long, value_name = "TEXT", value_parser = text, allow_hyphen_values = true)]
    pub description: Option<String>,
}
