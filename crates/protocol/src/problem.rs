//! What is wrong with a document, and where.

use crate::document::{Fault, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
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

    pub fn is_valid(&self) -> bool {
        self.0.iter().all(|problem| problem.level == Level::Warning)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    pub fn errors(&self) -> Vec<&str> {
        let errors = self.0.iter().filter(|problem| problem.level == Level::Error);
        errors.map(|problem| problem.message.as_str()).collect()
    }

    pub fn all_errors(&mut self) {
        for problem in &mut self.0 {
            problem.level = Level::Error;
        }
    }

    #[must_use]
    pub fn seen_as(mut self, what: &str) -> Problems {
        for problem in &mut self.0 {
            problem.message = format!("as {what}: {}", problem.message);
        }
        self
    }

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
