//! What is said about a tree that is kept in step.

use serde::{Deserialize, Serialize};

/// What came of keeping a tree in step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Edits that were taken over.
    pub taken: Vec<String>,
    /// Edits that the rules refused; the store's value is put back.
    pub refused: Vec<String>,
    /// Values that were changed in both places, and what counts.
    pub conflicts: Vec<String>,
    /// Files that are not overwritten, because what is in them cannot be read.
    pub problems: Vec<String>,
    /// Files that were written.
    pub written: Vec<String>,
    /// Whether a file lacks something still, because somebody writes it all the time.
    #[serde(skip)]
    pub unsettled: bool,
}

impl Report {
    /// Adds what came of another go.
    pub(super) fn add(&mut self, later: Report) {
        self.taken.extend(later.taken);
        self.refused.extend(later.refused);
        self.conflicts.extend(later.conflicts);
        self.problems = later.problems;
        self.written.extend(later.written);
        self.unsettled = later.unsettled;
    }

    /// Tells whether there is anything that somebody has to know.
    pub fn says_something(&self) -> bool {
        !(self.taken.is_empty()
            && self.refused.is_empty()
            && self.conflicts.is_empty()
            && self.problems.is_empty())
    }

    /// Returns it for people, a line each.
    pub fn lines(&self) -> Vec<String> {
        let all = [
            ("taken over", &self.taken),
            ("refused", &self.refused),
            ("conflict", &self.conflicts),
            ("problem", &self.problems),
        ];
        all.iter()
            .flat_map(|(word, list)| list.iter().map(move |text| format!("{word}: {text}")))
            .collect()
    }
}
