//! What the store knows of a task and its surroundings, and git does not.

use std::path::PathBuf;

/// What the store tells.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// What was committed on the task's branch before this time, in seconds, was not for the task.
    pub not_before: Option<i64>,
    /// The claims of the task.
    pub taken: &'a [Taken],
    /// Patterns of the files that the task declares.
    pub files: &'a [String],
    /// What else is under way in the same work tree.
    pub beside: &'a [Beside],
    /// What else is under way in other work trees that the task was claimed in.
    pub behind: &'a [Beside],
    /// Tells whether another agent has a task.
    pub is_anothers: &'a dyn Fn(&str) -> bool,
}

/// Where and when a task was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The claim's fence.
    pub fence: u64,
    /// When, in seconds, as far as git and the store have one clock.
    pub at: Option<i64>,
    /// The work tree, when it is on this machine.
    pub tree: Option<PathBuf>,
}

/// A live claim of another task, in the same work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The other task.
    pub task: String,
    /// Its claim.
    pub fence: u64,
    /// Whether another agent has it.
    pub is_anothers: bool,
    /// Patterns of the files that the other task declares.
    pub files: Vec<String>,
}

impl Told<'_> {
    /// Nothing is known.
    pub const NOTHING: Told<'static> = Told {
        not_before: None,
        taken: &[],
        files: &[],
        beside: &[],
        behind: &[],
        is_anothers: &|_| false,
    };

    /// Returns when a claim was made.
    pub(crate) fn claimed_at(&self, fence: u64) -> Option<i64> {
        self.taken.iter().find(|claim| claim.fence == fence).and_then(|claim| claim.at)
    }
}
