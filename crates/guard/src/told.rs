//! What the store knows of a task and its surroundings, and git does not.

/// What the store tells.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// What was committed on the task's branch before this time, in seconds, was not for the task.
    pub not_before: Option<i64>,
    /// When it was claimed, in seconds, by the claim's fence, as far as git and the store have one clock.
    pub claimed: &'a [(u64, i64)],
    /// Patterns of the files that the task declares.
    pub files: &'a [String],
    /// What else is under way in the same work tree.
    pub beside: &'a [Beside],
    /// Tells whether another agent has a task.
    pub is_anothers: &'a dyn Fn(&str) -> bool,
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
    pub const NOTHING: Told<'static> =
        Told { not_before: None, claimed: &[], files: &[], beside: &[], is_anothers: &|_| false };

    /// Returns when a claim was made.
    pub(crate) fn claimed_at(&self, fence: u64) -> Option<i64> {
        self.claimed.iter().find(|(number, _)| *number == fence).map(|(_, at)| *at)
    }
}
