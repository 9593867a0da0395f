//! What is wrong with a document, and where.

use crate::document::{Fault, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The document is not valid.
    Error,
    /// It is taken, but should be mended.
    Warning,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    pub message: String,
    /// Where in the tree: `log[1].level`; empty for the whole document.
    pub path: String,
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    pub level: Level,
}

/// Everything that was found, in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Starts with nothing found.
    pub fn new() -> Problems {
        Problems::default()
    }

    pub fn error(&mut self, at: Place, path: impl Into<String>, message: impl Into<String>) {
        self.push(at, path.into(), message.into(), Level::Error);
    }

    pub fn warning(&mut self, at: Place, path: impl Into<String>, message: impl Into<String>) {
        self.push(at, path.into(), message.into(), Level::Warning);
    }

    fn push(&mut self, at: Place, path: String, message: String, level: Level) {
        self.0.push(Problem { message, path, line: at.line, column: at.column, level });
    }

    /// Tells whether nothing is wrong that makes the document invalid.
    pub fn is_valid(&self) -> bool {
        self.0.iter().all(|problem| problem.level == Level::Warning)
    }

    /// Tells whether nothing was found at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns them in the order of the checks.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// Returns the errors alone, as one sentence each.
    pub fn errors(&self) -> Vec<&str> {
        let errors = self.0.iter().filter(|problem| problem.level == Level::Error);
        errors.map(|problem| problem.message.as_str()).collect()
    }

    pub fn retain(&mut self, keep: impl FnMut(&Problem) -> bool) {
        self.0.retain(keep);
    }

    /// Makes everything that was found an error.
    pub fn all_errors(&mut self) {
        for problem in &mut self.0 {
            problem.level = Level::Error;
        }
    }

    /// Says of each problem what the document was taken for.
    #[must_use]
    pub fn seen_as(mut self, what: &str) -> Problems {
        for problem in &mut self.0 {
            problem.message = format!("as {what}: {}", problem.message);
        }
        self
    }

    /// Adds all problems of another check.
    pub fn extend(&mut self, others: Problems) {
        self.0.extend(others.0);
    }
}

impl From<Fault> for Problems {
    fn from(fault: Fault) -> Problems {
        let mut problems = Problems::new();
        problems.error(fault.at, "", fault.message);
        problems
    }
}
