//! What agents remember: a text with its type, scope, source and life.

use crate::ids::{AgentId, MemoryId, RepoName, Seq, TaskId};
use crate::origin::Origin;
use crate::time::Timestamp;
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The scope that belongs to every other one.
pub const GLOBAL_SCOPE: &str = "global";

word_enum! {
    /// What kind of thing is remembered.
    #[derive(JsonSchema)]
    pub enum MemoryType as "memory type" {
        /// A stable truth.
        #[serde(alias = "knowledge")]
        Fact => "fact" | "knowledge",
        /// How something is done.
        Procedure => "procedure",
        /// A complaint or a wish that comes again.
        #[serde(alias = "warning")]
        Feedback => "feedback" | "warning",
        /// What the work is about now.
        Focus => "focus",
    }
}

/// Where a memory comes from: who said what it says now, on which task, and where in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    pub agent: AgentId,
    pub task: Option<TaskId>,
    #[schemars(with = "u64")]
    pub event: Seq,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub repo: RepoName,
    pub id: MemoryId,
    pub kind: MemoryType,
    /// What it is about: `global`, a repository, a path, anything.
    pub scope: String,
    pub text: String,
    pub tags: Vec<String>,
    pub source: Source,
    pub created_at: Timestamp,
    /// When it is forgotten by itself.
    pub expires_at: Option<Timestamp>,
    pub superseded_by: Option<MemoryId>,
    /// What it is in the system that it was taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

impl Memory {
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
