//! `comity neo …`: the commands of neo with their own flags.

pub use super::neo_fleet::{NeoChild, NeoCost, NeoRun, NeoRuns, NeoSupervise, NeoSupervisor};
use clap::{Args, Subcommand};

/// What neo's commands do, on this project's store.
#[derive(Debug, Subcommand)]
pub enum NeoCommand {
    /// Ask and answer with the flags of `neo decision`
    #[command(subcommand, after_help = "Example:\n  comity neo decision pending")]
    Decision(NeoDecision),
    /// Keep tasks with the flags of `neo task`
    #[command(
        subcommand,
        after_help = "Example:\n  comity neo task create --scope . --priority high 'T1: JWT middleware'"
    )]
    Task(NeoTask),
    /// Give standing instructions with the flags of `neo directive`
    #[command(
        subcommand,
        after_help = "Example:\n  comity neo directive create 'launch scout' --trigger idle --duration 2h"
    )]
    Directive(NeoDirective),
    /// Write and find memories with the flags of `neo memory`
    #[command(
        subcommand,
        after_help = "Example:\n  comity neo memory write --type fact --scope . 'CI runs the compiled output'"
    )]
    Memory(NeoMemory),
    /// Log with the flags of `neo log`; without a type, show the last entries
    #[command(after_help = "Example:\n  comity neo log milestone 'T1 done — commit abc1234'")]
    Log(NeoLog),
    /// Show events with the flags of `neo logs`
    #[command(after_help = "Example:\n  comity neo logs 3f2a91bc --short")]
    Logs(NeoLogs),
    /// Start an agent with the flags of `neo run`
    #[command(
        after_help = "Example:\n  comity neo run developer --prompt 'Add a retry' --branch feat/retry"
    )]
    Run(Box<NeoRun>),
    /// List runs with the flags of `neo runs`
    #[command(after_help = "Example:\n  comity neo runs --short")]
    Runs(NeoRuns),
    /// Show costs with the flags of `neo cost`
    #[command(after_help = "Example:\n  comity neo cost --short")]
    Cost(NeoCost),
    /// Hand a task to the supervisor with the flags of `neo do`
    #[command(after_help = "Example:\n  comity neo do 'Fix the login'")]
    Do {
        /// What is to be done
        task: Option<String>,
        /// Accepted and ignored: the supervisor runs by itself
        #[arg(short, long)]
        detach: bool,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Supervise with the flags of `neo supervise`
    #[command(after_help = "Example:\n  comity neo supervise --status")]
    Supervise(Box<NeoSupervise>),
    /// Look at the supervisor with the flags of `neo supervisor`
    #[command(subcommand, after_help = "Example:\n  comity neo supervisor status")]
    Supervisor(NeoSupervisor),
    /// List agents with the flags of `neo agents`
    #[command(after_help = "Example:\n  comity neo agents")]
    Agents {
        #[command(flatten)]
        form: NeoOutput,
    },
    /// Start a supervisor for one objective with the flags of `neo child`
    #[command(
        subcommand,
        after_help = "Example:\n  comity neo child spawn -o 'Parse dates' -c 'The tests pass'"
    )]
    Child(NeoChild),
}

/// neo's flag for JSON.
#[derive(Clone, Debug, Default, Args)]
pub struct NeoOutput {
    /// Print neo's own JSON: json
    #[arg(long, value_name = "FORM")]
    pub output: Option<String>,
}

impl NeoOutput {
    pub fn is_json(&self) -> bool {
        self.output.as_deref() == Some("json")
    }
}

/// The one supervisor that a project has; the name is taken and has no effect.
#[derive(Clone, Debug, Args)]
pub struct Supervisor {
    /// Accepted and ignored: a project has one store
    #[arg(long, value_name = "NAME", default_value = "supervisor")]
    pub name: String,
}

/// `neo decision …`
#[derive(Debug, Subcommand)]
pub enum NeoDecision {
    /// Ask a question
    #[command(
        after_help = "Example:\n  comity neo decision create 'Design approval for X-1' --type approval --wait"
    )]
    Create(Box<NeoAsk>),
    /// List pending questions in a table
    #[command(after_help = "Example:\n  comity neo decision list --all")]
    List {
        /// Also show questions that are settled
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Show pending questions in full
    #[command(after_help = "Example:\n  comity neo decision pending")]
    Pending {
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Show one question
    #[command(after_help = "Example:\n  comity neo decision get dec_00000001")]
    Get {
        /// The question: neo's id or its beginning, or comity's id
        id: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Answer a question
    #[command(after_help = "Example:\n  comity neo decision answer dec_00000001 approved")]
    Answer {
        /// The question: neo's id or its beginning, or comity's id
        id: Option<String>,
        /// The answer: a key, 'key: text', or any text if the question has no options
        #[arg(allow_hyphen_values = true)]
        answer: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// Options of `neo decision create`.
#[derive(Debug, Args)]
pub struct NeoAsk {
    /// The question
    pub question: Option<String>,
    /// Offer these answers
    #[arg(long, short, value_name = "KEY:LABEL[:DESCRIPTION],…")]
    pub options: Option<String>,
    /// The answer that comity gives at the deadline
    #[arg(long, short, value_name = "KEY", visible_alias = "default")]
    pub default_answer: Option<String>,
    /// Close the question after this time, such as 24h, 30m or 7d
    #[arg(long, short, value_name = "DUR", default_value = "24h")]
    pub expires_in: String,
    /// The type of the question, such as approval
    #[arg(long = "type", short = 't', value_name = "TYPE", default_value = "generic")]
    pub kind: String,
    /// What a reader must know to answer
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub context: Option<String>,
    /// Wait for the answer
    #[arg(long, short)]
    pub wait: bool,
    /// Wait at most this long
    #[arg(long, value_name = "DUR", default_value = "30m")]
    pub timeout: String,
    #[command(flatten)]
    pub supervisor: Supervisor,
}

/// `neo task …`
#[derive(Debug, Subcommand)]
pub enum NeoTask {
    /// Create a task and print its id
    #[command(
        after_help = "Example:\n  comity neo task create --scope . --initiative auth-v2 'T1: JWT middleware'"
    )]
    Create {
        /// What is to be done
        title: Option<String>,
        /// The repository that the task is about
        #[arg(long, value_name = "PATH")]
        scope: Option<String>,
        /// The priority: critical, high, medium or low
        #[arg(long, value_name = "PRIORITY", default_value = "medium")]
        priority: String,
        /// The initiative that the task belongs to
        #[arg(long, value_name = "NAME")]
        initiative: Option<String>,
        /// A task that must be done first (repeatable)
        #[arg(long, value_name = "ID")]
        depends: Vec<String>,
        /// A command that prints what a worker must know
        #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
        context: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Change a task
    #[command(
        after_help = "Example:\n  comity neo task update mem_00000001-abc --status in_progress"
    )]
    Update {
        /// The task: neo's id or its beginning, or comity's id
        id: Option<String>,
        /// The status: pending, in_progress, done, blocked or abandoned
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        /// A command that prints what a worker must know; for blocked, what the task needs
        #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
        context: Option<String>,
        /// The priority: critical, high, medium or low
        #[arg(long, value_name = "PRIORITY")]
        priority: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// List tasks
    #[command(after_help = "Example:\n  comity neo task list --status pending,in_progress")]
    List {
        /// Show only tasks of this initiative
        #[arg(long, value_name = "NAME")]
        initiative: Option<String>,
        /// Show only tasks with these statuses
        #[arg(long, value_name = "A,B")]
        status: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// `neo directive …`
#[derive(Debug, Subcommand)]
pub enum NeoDirective {
    /// Give a standing instruction
    #[command(
        after_help = "Example:\n  comity neo directive create 'run tests on all repos' --duration 'until midnight'"
    )]
    Create {
        /// The instruction
        action: Option<String>,
        /// When a supervisor follows it: idle, startup or shutdown
        #[arg(long, short, value_name = "TRIGGER", default_value = "idle")]
        trigger: String,
        /// How long the directive applies: 2h, 'for 2 hours', 'until 18:00', 'until midnight', indefinitely
        #[arg(long, short, value_name = "DURATION")]
        duration: Option<String>,
        /// The priority; directives with a higher one come first
        #[arg(long, short, value_name = "N", default_value = "0", allow_hyphen_values = true)]
        priority: String,
        /// Explain why, or how
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// List standing instructions
    #[command(after_help = "Example:\n  comity neo directive list")]
    List {
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Delete a standing instruction
    #[command(after_help = "Example:\n  comity neo directive delete dir_00000001-abc")]
    Delete {
        /// The directive: neo's id or its beginning, or comity's id
        id: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Switch a standing instruction off or on
    #[command(after_help = "Example:\n  comity neo directive toggle dir_00000001-abc")]
    Toggle {
        /// The directive: neo's id or its beginning, or comity's id
        id: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Show a standing instruction
    #[command(after_help = "Example:\n  comity neo directive show dir_00000001-abc")]
    Show {
        /// The directive: neo's id or its beginning, or comity's id
        id: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// `neo memory …`
#[derive(Debug, Subcommand)]
pub enum NeoMemory {
    /// Write a memory
    #[command(
        after_help = "Example:\n  comity neo memory write --type procedure 'Run the build before pushing'"
    )]
    Write {
        /// What to remember
        content: Option<String>,
        #[command(flatten)]
        about: NeoAbout,
        /// Forget the memory after this time
        #[arg(long, value_name = "DUR")]
        expires: Option<String>,
        /// Tags, separated by commas
        #[arg(long, value_name = "A,B")]
        tags: Option<String>,
    },
    /// Forget a memory
    #[command(after_help = "Example:\n  comity neo memory forget mem_00000001-abc")]
    Forget {
        /// The memory: neo's id or its beginning, or comity's id
        id: Option<String>,
        #[command(flatten)]
        supervisor: Supervisor,
    },
    /// Change the text of a memory
    #[command(after_help = "Example:\n  comity neo memory update mem_00000001-abc 'Run it twice'")]
    Update {
        /// The memory: neo's id or its beginning, or comity's id
        id: Option<String>,
        /// The new text
        content: Option<String>,
        #[command(flatten)]
        about: NeoAbout,
    },
    /// Find memories by their words
    #[command(after_help = "Example:\n  comity neo memory search 'compiled output'")]
    Search {
        /// The words to find
        query: Option<String>,
        #[command(flatten)]
        about: NeoAbout,
        #[command(flatten)]
        shown: NeoShown,
    },
    /// List memories
    #[command(after_help = "Example:\n  comity neo memory list --type fact")]
    List {
        #[command(flatten)]
        about: NeoAbout,
        #[command(flatten)]
        shown: NeoShown,
    },
    /// List the newest memories
    #[command(after_help = "Example:\n  comity neo memory recent --limit 5")]
    Recent {
        #[command(flatten)]
        about: NeoAbout,
        #[command(flatten)]
        shown: NeoShown,
    },
    /// Count memories
    #[command(after_help = "Example:\n  comity neo memory stats")]
    Stats {
        #[command(flatten)]
        supervisor: Supervisor,
    },
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// What a memory is about.
#[derive(Clone, Debug, Args)]
pub struct NeoAbout {
    /// The type: knowledge, warning, focus, fact, procedure or feedback
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The subtype of knowledge: fact or procedure
    #[arg(long, value_name = "SUBTYPE")]
    pub subtype: Option<String>,
    /// The scope: global, or the path of a repository
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Who says it: developer, reviewer, supervisor or user
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,
    /// The category of a warning
    #[arg(long, value_name = "CATEGORY")]
    pub category: Option<String>,
    /// The severity of a warning
    #[arg(long, value_name = "SEVERITY")]
    pub severity: Option<String>,
    /// What came of it
    #[arg(long, value_name = "OUTCOME")]
    pub outcome: Option<String>,
    #[command(flatten)]
    pub supervisor: Supervisor,
}

/// How memories are shown.
#[derive(Clone, Debug, Args)]
pub struct NeoShown {
    /// Show whole texts
    #[arg(long)]
    pub full: bool,
    /// Show at most N entries
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    pub limit: Option<u16>,
}

/// Options of `neo log`. `--repo`, which is comity's own for everything else, names the entry's repository.
#[derive(Debug, Args)]
pub struct NeoLog {
    /// The type: progress, action, decision, blocker, milestone or discovery
    #[arg(value_name = "TYPE")]
    pub kind: Option<String>,
    /// The message
    #[arg(allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Only log: do not keep a discovery as knowledge
    #[arg(long)]
    pub memory: bool,
    /// Also keep the entry as knowledge
    #[arg(long)]
    pub knowledge: bool,
    /// The repository that the entry is about (as --repo)
    #[arg(long, value_name = "PATH")]
    pub scope: Option<String>,
    /// Also keep the entry as a procedure
    #[arg(long)]
    pub procedure: bool,
    /// Show the message of a blocker without logging it
    #[arg(long)]
    pub preview: bool,
    #[command(flatten)]
    pub supervisor: Supervisor,
}

/// Options of `neo logs`.
#[derive(Debug, Args)]
pub struct NeoLogs {
    /// Show only events of this run or task
    pub id: Option<String>,
    /// Show the last N events
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub last: u16,
    /// Show only events of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Show only events of this run
    #[arg(long, value_name = "PREFIX")]
    pub run: Option<String>,
    /// Print one short line per event
    #[arg(long)]
    pub short: bool,
    /// Continue with new events as they come
    #[arg(long, short)]
    pub follow: bool,
    /// Print JSON with `json`
    #[arg(long, value_name = "FORMAT")]
    pub output: Option<String>,
}
