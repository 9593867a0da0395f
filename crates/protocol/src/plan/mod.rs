//! The plan of an import: the tasks that the file of another tracker becomes, with their links and states, and a list of
//! what comity has no place for. The plan only makes commands; an importer executes them.

mod arrange;
mod bounds;
mod circles;
mod earlier;
mod fields;
mod import_command;
mod import_record;
mod names;
mod places;
mod reading;

#[cfg(test)]
mod tests;

pub use arrange::arrange;
pub use bounds::{bounded, notes, one_line, requirements, title};
pub use earlier::Earlier;
pub use fields::{Fields, Problem};
pub use import_command::{ImportedAs, Rights, Source, kept};
pub use import_record::{ImportRecord, Part};
pub use names::task_id;
pub(crate) use places::{locate, repeated};
pub(crate) use reading::{Reading, leave, without_equal};

use comity_core::command::NewTask;
pub(crate) use comity_core::ids::shorten as short;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most bytes of a file that is read as one plan.
pub const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most items of one plan.
pub const ITEMS_MAX: usize = 50_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The tasks; parents come before their parts once the plan is arranged.
    pub tasks: Vec<Planned>,
    /// What has no place here.
    pub left_out: Vec<LeftOut>,
    /// The tasks that earlier imports made of items which this file only names, by item.
    pub earlier: BTreeMap<String, String>,
}

impl Plan {
    /// Returns where each item is in the plan.
    pub fn places(&self) -> BTreeMap<&str, usize> {
        self.tasks.iter().enumerate().map(|(place, task)| (task.item.as_str(), place)).collect()
    }
}

/// One item of the other tracker as a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// Its id over there.
    pub item: String,
    /// The task, without dependencies and parent.
    pub new: NewTask,
    /// Items that must be done first.
    pub depends_on: Vec<String>,
    pub parent: Option<String>,
    /// References to keep beside the id: key and value.
    pub links: Vec<(String, String)>,
    pub notes: Vec<String>,
    /// The state it has over there, in our words.
    pub target: Target,
    /// Parts with something that cannot be carried over yet: a later import may, when what they name is here.
    pub lacks: Vec<Part>,
}

/// Where a task is to be brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Target {
    /// Into the queue, where it starts.
    #[default]
    Queued,
    Review {
        why: String,
    },
    Done {
        why: String,
    },
    Blocked {
        needs: String,
    },
    Abandoned {
        why: String,
    },
}

impl Target {
    /// Tells whether nothing more is to be done.
    pub fn is_finished(&self) -> bool {
        matches!(self, Target::Done { .. } | Target::Abandoned { .. })
    }

    /// Returns the word of the status.
    pub fn as_str(&self) -> &'static str {
        self.status().as_str()
    }
}

/// Something that was not carried over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftOut {
    /// The item, or `*` for all of them.
    pub item: String,
    pub what: String,
    /// Why it has no place, and what to do about it.
    pub why: String,
}

impl LeftOut {
    pub fn new(
        item: impl Into<String>,
        what: impl Into<String>,
        why: impl Into<String>,
    ) -> LeftOut {
        LeftOut { item: item.into(), what: what.into(), why: why.into() }
    }
}

/// Adds a headed part to a description.
pub fn add_part(to: &mut String, heading: &str, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    if !to.is_empty() {
        to.push_str("\n\n");
    }
    to.push_str(&format!("## {heading}\n\n{}", text.trim_end()));
}
