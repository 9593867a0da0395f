//! What agents remember: a text with its type, scope, source and life.

use crate::ids::{AgentId, MemoryId, RepoName, Seq, TaskId, shorten};
use crate::origin::Origin;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The scope that belongs to every other one.
pub const GLOBAL_SCOPE: &str = "global";

/// What kind of thing is remembered.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryType {
    /// A stable truth.
    #[serde(alias = "knowledge")]
    Fact,
    /// How something is done.
    Procedure,
    /// A complaint or a wish that comes again.
    #[serde(alias = "warning")]
    Feedback,
    /// What the work is about now.
    Focus,
}

impl MemoryType {
    /// Every type.
    pub const ALL: [MemoryType; 4] =
        [MemoryType::Fact, MemoryType::Procedure, MemoryType::Feedback, MemoryType::Focus];

    /// Returns the word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            MemoryType::Fact => "fact",
            MemoryType::Procedure => "procedure",
            MemoryType::Feedback => "feedback",
            MemoryType::Focus => "focus",
        }
    }

    /// Reads the word, or neo's word for it.
    pub fn parse(text: &str) -> Result<MemoryType, Refusal> {
        match text.trim().to_ascii_lowercase().as_str() {
            "fact" | "knowledge" => Ok(MemoryType::Fact),
            "procedure" => Ok(MemoryType::Procedure),
            "feedback" | "warning" => Ok(MemoryType::Feedback),
            "focus" => Ok(MemoryType::Focus),
            _ => Err(Refusal::input(format!("memory type {:?} is not known", shorten(text)))
                .hint("use one of: fact (knowledge), procedure, feedback (warning), focus")),
        }
    }
}

impl fmt::Display for MemoryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a memory comes from: who said what it says now, on which task, and where in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub agent: AgentId,
    /// On which task.
    pub task: Option<TaskId>,
    /// The event that says it.
    pub event: Seq,
}

/// Something remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The repository it belongs to.
    pub repo: RepoName,
    pub id: MemoryId,
    /// What kind of thing it is.
    pub kind: MemoryType,
    /// What it is about: `global`, a repository, a path, anything.
    pub scope: String,
    /// What is remembered.
    pub text: String,
    /// The labels.
    pub tags: Vec<String>,
    /// Where it comes from.
    pub source: Source,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it is forgotten by itself.
    pub expires_at: Option<Timestamp>,
    /// What replaced it.
    pub superseded_by: Option<MemoryId>,
    /// What it is in the system that it was taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

impl Memory {
    /// Tells whether its time is up.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Returns the texts that it is found by.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.text.as_str()).chain(self.tags.iter().map(String::as_str))
    }

    /// Returns everything that it is found by: words and stems.
    pub fn terms(&self) -> BTreeSet<String> {
        crate::search_terms::terms(self.texts())
    }
}

/// Which memories are wanted.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
pub struct MemoryFilter {
    /// Of this type.
    pub kind: Option<MemoryType>,
    /// Only memories of this scope and global ones.
    pub scope: Option<String>,
    /// Only memories with all these tags.
    pub tags: Vec<String>,
    /// Also memories that were replaced.
    pub all: bool,
}

impl MemoryFilter {
    /// Tells whether a memory is wanted.
    pub fn fits(&self, memory: &Memory) -> bool {
        let in_scope = |scope: &String| *scope == memory.scope || memory.scope == GLOBAL_SCOPE;
        (self.all || memory.superseded_by.is_none())
            && self.kind.is_none_or(|kind| memory.kind == kind)
            && self.scope.as_ref().is_none_or(in_scope)
            && self.tags.iter().all(|tag| memory.tags.contains(tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_neo_are_read_and_comitys_are_written() {
        assert_eq!(MemoryType::parse("knowledge").unwrap(), MemoryType::Fact);
        assert_eq!(MemoryType::parse("Warning").unwrap(), MemoryType::Feedback);
        assert!(MemoryType::parse("task").is_err());
        let read: MemoryType = serde_json::from_str("\"knowledge\"").unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"fact\"");
        for kind in MemoryType::ALL {
            assert_eq!(MemoryType::parse(kind.as_str()).unwrap(), kind);
        }
    }
}
