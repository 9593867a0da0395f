//! `comity pad …`, `comity interface …`, `comity tell` and `comity brief`

use super::help;
use super::values::{PageArgs, text};
use clap::{Args, Subcommand};
use comity_api::op;

/// What can be done with pads.
#[derive(Debug, Subcommand)]
pub enum PadCommand {
    #[command(about = help::<op::PadShow>(), after_help = "Example:\n  comity pad show checkout-rewrite")]
    Show {
        /// An initiative, an epic or a task (default: that of your task, else global)
        #[arg(value_name = "SCOPE")]
        scope: Option<String>,
    },
    #[command(about = help::<op::PadAppend>(), after_help = "Example:\n  comity pad append 'The old parser stays until T7 is done'")]
    Append {
        /// The text to add; - reads standard input
        #[arg(allow_hyphen_values = true, value_parser = text)]
        text: String,
        /// An initiative, an epic or a task (default: that of your task, else global)
        #[arg(value_name = "SCOPE")]
        scope: Option<String>,
    },
    #[command(about = help::<op::PadWrite>(),
        after_help = "To replace the whole page, say which version you have seen. With --section only what \
        stands below that heading is replaced, and only a change of that section is in the way.\n\nExample:\n  \
        comity pad write plan.md --section Plan --if-match 4"
    )]
    Write {
        /// The file with the text; - reads standard input
        #[arg(value_name = "FILE")]
        file: String,
        /// An initiative, an epic or a task (default: that of your task, else global)
        #[arg(value_name = "SCOPE")]
        scope: Option<String>,
        /// Replace only what stands below the heading `## NAME`
        #[arg(long, value_name = "NAME")]
        section: Option<String>,
        /// Refuse if the page changed after this version
        #[arg(long, value_name = "N")]
        if_match: Option<u64>,
    },
    #[command(about = help::<op::PadHistory>(), after_help = "Example:\n  comity pad history")]
    History {
        /// An initiative, an epic or a task (default: that of your task, else global)
        #[arg(value_name = "SCOPE")]
        scope: Option<String>,
    },
}

/// What can be done with interfaces.
#[derive(Debug, Subcommand)]
pub enum InterfaceCommand {
    #[command(about = help::<op::InterfacePublish>(),
        after_help = "The task that published the first version owns the interface: its assignee, a planner or \
        a person publishes the next one.\n\nExample:\n  \
        comity interface publish auth-api api.ts --path 'src/auth/**' --for T7"
    )]
    Publish(Box<PublishArgs>),
    #[command(about = help::<op::InterfaceShow>(), after_help = "Example:\n  comity interface show auth-api --diff")]
    Show {
        /// The name of the interface
        name: String,
        /// The version (default: the newest)
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        /// Also show what differs from the version before
        #[arg(long)]
        diff: bool,
    },
    #[command(about = help::<op::InterfaceList>(), after_help = "Example:\n  comity interface list --path src/auth")]
    List {
        /// Only interfaces of this path, or for whoever works there
        #[arg(long, value_name = "P")]
        path: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
}

/// Options of `interface publish`.
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// The name of the interface
    pub name: String,
    /// The file with the shape; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// The files that have the interface; several times for several
    #[arg(long = "path", value_name = "GLOB")]
    pub paths: Vec<String>,
    /// Who builds against it: paths, a task or an agent; several times for several
    #[arg(long = "for", value_name = "WHOM")]
    pub audience: Vec<String>,
    /// The task that owns it (default: the one that you claimed last)
    #[arg(long, short, value_name = "ID")]
    pub task: Option<String>,
    /// Refuse unless this is the newest version
    #[arg(long, value_name = "N")]
    pub if_match: Option<u64>,
}

/// Options of `tell`.
#[derive(Debug, Args)]
pub struct TellArgs {
    /// An agent, a task, a role, or all
    pub to: String,
    /// The text, at most 2 KiB; - reads standard input
    #[arg(allow_hyphen_values = true, value_parser = text)]
    pub text: String,
}

/// Options of `brief`.
#[derive(Debug, Args)]
pub struct BriefArgs {
    /// A task, or paths (default: what you hold)
    #[arg(value_name = "PATH|TASK")]
    pub about: Vec<String>,
    /// Show up to N entries instead of the 12 that come with a claim
    #[arg(long, value_name = "N")]
    pub limit: Option<u16>,
}

/// Options of `note`.
#[derive(Debug, Args)]
pub struct NoteArgs {
    /// The type: progress, action, decision, blocker, milestone, discovery or change
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// The text of the note; - reads standard input
    #[arg(value_parser = text)]
    pub text: String,
    /// The task that the note is about
    #[arg(long, short, value_name = "ID")]
    pub task: Option<String>,
    /// The paths that a change is about; several times for several
    #[arg(long = "path", value_name = "GLOB")]
    pub paths: Vec<String>,
}
