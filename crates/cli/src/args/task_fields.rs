//! The fields of a task, as options of `task create` and `task update`.

use super::values::{agent, deliverable, duration, key_value, priority, role, text};
use clap::Args;
use comity_core::ids::AgentId;
use comity_core::role::Role;
use comity_core::task::{Deliverable, Priority};
use comity_core::time::Millis;

/// Options of `task create`.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The title: what is to be done, in one line
    #[arg(required_unless_present_any = ["contract", "edit"], value_parser = text)]
    pub title: Option<String>,
    /// Read the fields from a task contract or a mission; options override it; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub contract: Option<String>,
    /// Write title and description in an editor (VISUAL, EDITOR)
    #[arg(long)]
    pub edit: bool,
    /// Use this id instead of the next number, such as T7
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Describe the task; - reads standard input
    #[arg(long, short, value_name = "TEXT", value_parser = text, allow_hyphen_values = true)]
    pub description: Option<String>,
    /// The priority: P0 to P4, or critical, high, medium, low
    #[arg(long, short, value_name = "P", value_parser = priority)]
    pub priority: Option<Priority>,
    /// Add a label (repeatable)
    #[arg(long = "label", short, value_name = "WORD")]
    pub labels: Vec<String>,
    /// Let only agents with this role claim the task
    #[arg(long, value_name = "ROLE", value_parser = role)]
    pub role: Option<Role>,
    /// Wait for this task to be done (repeatable)
    #[arg(long = "depends-on", value_name = "ID")]
    pub depends_on: Vec<String>,
    /// Declare files that the work changes; a claim leases them (repeatable)
    #[arg(long = "file", short, value_name = "GLOB")]
    pub files: Vec<String>,
    /// Add a requirement that the result must meet (repeatable)
    #[arg(long = "require", value_name = "TEXT", value_parser = text)]
    pub requirements: Vec<String>,
    /// Add an item to the checklist (repeatable)
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub dod: Vec<String>,
    /// Require evidence for this gate (repeatable)
    #[arg(long = "gate", short, value_name = "NAME")]
    pub gates: Vec<String>,
    /// Add an outside reason not to start yet (repeatable)
    #[arg(long = "blocker", value_name = "TEXT", value_parser = text)]
    pub blockers: Vec<String>,
    /// Add an entry to the context of the mission; JSON values keep their type (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub context: Vec<(String, String)>,
    /// Allow at most N changed files (default: any number)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_files: Option<u32>,
    /// Forbid commits; the work is submitted as a snapshot
    #[arg(long)]
    pub no_git_commit: bool,
    /// Forbid new dependencies
    #[arg(long)]
    pub no_new_deps: bool,
    /// Allow these files to be deleted (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub allow_delete: Vec<String>,
    /// Limit the time of each round of work, such as 2h
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub timeout: Option<Millis>,
    /// What the task delivers: code, document or none (default: code)
    #[arg(long, value_name = "KIND", value_parser = deliverable)]
    pub deliverable: Option<Deliverable>,
    /// The type of work, such as implementation
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Estimate how hard the task is
    #[arg(long, value_name = "N")]
    pub complexity: Option<u32>,
    /// The epic that the task belongs to
    #[arg(long, value_name = "EPIC")]
    pub epic: Option<String>,
    /// The requirements document that the task belongs to
    #[arg(long, value_name = "PRD")]
    pub prd: Option<String>,
    /// The initiative that the task belongs to
    #[arg(long, value_name = "NAME")]
    pub initiative: Option<String>,
    /// Make the task a part of this one
    #[arg(long, value_name = "ID")]
    pub parent: Option<String>,
    /// Reserve the task for this agent
    #[arg(long, short, value_name = "AGENT", value_parser = agent)]
    pub assignee: Option<AgentId>,
    /// Register the assignee if nobody knows it
    #[arg(long, requires = "assignee")]
    pub new: bool,
}

/// Options of `task update`. A field that is left out stays as it is. An empty text clears a field. A list replaces
/// the old one.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// The task, or the beginning of its id; several change together, all or none
    #[arg(id = "id", required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Refuse unless the task still has this version
    #[arg(long, value_name = "N")]
    pub if_match: Option<u64>,
    /// Set the title
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub title: Option<String>,
    /// Set the description
    #[arg(long, short, value_name = "TEXT", value_parser = text, allow_hyphen_values = true)]
    pub description: Option<String>,
    /// Set the priority: P0 to P4, or critical, high, medium, low
    #[arg(long, short, value_name = "P", value_parser = priority)]
    pub priority: Option<Priority>,
    /// Replace the labels; '' for none (repeatable)
    #[arg(long = "label", short, value_name = "WORD")]
    pub labels: Option<Vec<String>>,
    /// Set the role; 'any' for none
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Replace the declared files; '' for none (repeatable)
    #[arg(long = "file", short, value_name = "GLOB")]
    pub files: Option<Vec<String>>,
    /// Replace the requirements; '' for none (repeatable)
    #[arg(long = "require", value_name = "TEXT", value_parser = text)]
    pub requirements: Option<Vec<String>>,
    /// Replace the checklist; '' for none (repeatable)
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub dod: Option<Vec<String>>,
    /// Replace the gates; '' for none (repeatable)
    #[arg(long = "gate", short, value_name = "NAME")]
    pub gates: Option<Vec<String>>,
    /// Replace the outside blockers; '' for none (repeatable)
    #[arg(long = "blocker", value_name = "TEXT", value_parser = text)]
    pub blockers: Option<Vec<String>>,
    /// Set an entry of the context; KEY= removes it (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub context: Option<Vec<(String, String)>>,
    /// Allow at most N changed files; 0 for any number
    #[arg(long, value_name = "N")]
    pub max_files: Option<u32>,
    /// Forbid commits; =false allows them again
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    pub no_git_commit: Option<bool>,
    /// Forbid new dependencies; =false allows them again
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    pub no_new_deps: Option<bool>,
    /// Replace the files that may be deleted; '' for none (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub allow_delete: Option<Vec<String>>,
    /// Limit the time of each round of work; 0s for no limit
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub timeout: Option<Millis>,
    /// Set what the task delivers: code, document or none
    #[arg(long, value_name = "KIND", value_parser = deliverable)]
    pub deliverable: Option<Deliverable>,
    /// Set the type of work
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Set the estimate
    #[arg(long, value_name = "N")]
    pub complexity: Option<u32>,
    /// Set the epic
    #[arg(long, value_name = "EPIC")]
    pub epic: Option<String>,
    /// Set the requirements document
    #[arg(long, value_name = "PRD")]
    pub prd: Option<String>,
    /// Set the initiative
    #[arg(long, value_name = "NAME")]
    pub initiative: Option<String>,
    /// Set the branch
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Set the pull request
    #[arg(long, value_name = "URL")]
    pub pr: Option<String>,
}
