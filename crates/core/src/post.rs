//! What agents leave for each other: change notices, interfaces, messages and pads.
//!
//! All four are posts: somebody wrote them, at a place in the log, for others. Change notices and messages stay as they
//! were written; interfaces and pads get new versions.

use crate::ids::{AgentId, MemoryId, RepoName, Seq, TaskId};
use crate::limits::PLACE_DEPTH_MAX;
use crate::memory::{GLOBAL_SCOPE, Memory};
use crate::pattern::{CaseRule, Pattern};
use crate::role::Role;
use crate::time::Timestamp;
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

word_enum! {
    /// Which of the four a post is, in the order of their ids.
    #[derive(JsonSchema)]
    pub enum PostKind as "kind of post" {
        /// Something is different now.
        Change => "change",
        /// A shape that two sides build against.
        Interface => "interface",
        /// A short text to somebody.
        Message => "message",
        /// A page that everybody on a piece of work writes to.
        Pad => "pad",
    }
}

/// What a post is found by: its kind, and its name or its place in the log. Stored as one text, in whose order posts are
/// listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PostId(String);

impl PostId {
    /// Names the post of a kind that has a name of its own.
    pub fn named(kind: PostKind, name: &str) -> PostId {
        PostId(format!("{kind}:{name}"))
    }

    /// Names the post of a kind that is found by its place in the log.
    pub fn at(kind: PostKind, seq: Seq) -> PostId {
        PostId(format!("{kind}:{:020}", seq.0))
    }

    /// Names a memory among the things that are found at places.
    pub fn of_memory(id: MemoryId) -> PostId {
        PostId(format!("memory:{:020}", id.0))
    }

    /// Returns the memory that is meant, if it is one.
    pub fn memory(&self) -> Option<MemoryId> {
        self.0.strip_prefix("memory:")?.parse().ok().map(MemoryId)
    }

    /// Reads an id as it is stored.
    pub fn stored(text: &str) -> PostId {
        PostId(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name: that of an interface, or the scope of a pad.
    pub fn name(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, name)| name)
    }
}

impl fmt::Display for PostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whom a post is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    /// Everybody in the repository.
    All,
    Role(Role),
    /// Whoever works on this task.
    Task(TaskId),
    Agent(AgentId),
    /// Whoever works on these paths.
    Path(String),
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recipient::All => f.write_str("all"),
            Recipient::Role(role) => role.fmt(f),
            Recipient::Task(id) => id.fmt(f),
            Recipient::Agent(id) => id.fmt(f),
            Recipient::Path(path) => f.write_str(path),
        }
    }
}

/// Who may publish the next version of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// The task on which it was published first.
    pub task: Option<TaskId>,
    /// Who published it first.
    pub agent: AgentId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Post {
    pub repo: RepoName,
    pub id: PostId,
    pub kind: PostKind,
    /// The event that wrote what it says now.
    pub seq: Seq,
    pub ts: Timestamp,
    pub by: AgentId,
    /// The task on which it was written.
    pub task: Option<TaskId>,
    /// Counts from one.
    pub version: u64,
    pub text: String,
    /// The paths that it is about, as patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<Recipient>,
    /// Of work that landed: the commit that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Of an interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Of a pad: the version in which each section changed last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<String, u64>,
    /// The events of the latest versions, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Seq>,
}

impl Post {
    /// Returns the places that the post is found at. The exact rule of [`crate::brief::Scope`] decides among what is
    /// found there.
    pub fn places(&self) -> BTreeSet<String> {
        let kind = PlaceKind::of(self.kind);
        let mut places = BTreeSet::new();
        for path in &self.paths {
            places_of_path(kind, path, &mut places);
        }
        for to in &self.to {
            match to {
                Recipient::Path(path) => places_of_path(kind, path, &mut places),
                Recipient::All | Recipient::Role(_) | Recipient::Task(_) | Recipient::Agent(_) => {
                    places.insert(place_of(kind, to));
                }
            }
        }
        places
    }
}

impl Memory {
    /// Returns the places that a brief finds the memory at; none once it was replaced.
    pub fn places(&self) -> BTreeSet<String> {
        let mut places = BTreeSet::new();
        if self.superseded_by.is_none() {
            places.insert(memories_of(&self.scope));
            if self.scope != GLOBAL_SCOPE {
                places_of_path(PlaceKind::Memory, &self.scope, &mut places);
            }
        }
        places
    }
}

/// What is found at a place, as its first letter. Each kind has places of its own, so that many of one kind never hide
/// those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    Change,
    Interface,
    Message,
    Memory,
    Pad,
}

impl PlaceKind {
    pub fn of(kind: PostKind) -> PlaceKind {
        match kind {
            PostKind::Change => PlaceKind::Change,
            PostKind::Interface => PlaceKind::Interface,
            PostKind::Message => PlaceKind::Message,
            PostKind::Pad => PlaceKind::Pad,
        }
    }

    fn letter(self) -> char {
        match self {
            PlaceKind::Change => 'c',
            PlaceKind::Interface => 'i',
            PlaceKind::Message => 'g',
            PlaceKind::Memory => 'm',
            PlaceKind::Pad => 'p',
        }
    }
}

/// Returns the place of what is for somebody.
pub fn place_of(kind: PlaceKind, to: &Recipient) -> String {
    let kind = kind.letter();
    match to {
        Recipient::All => format!("{kind}*"),
        Recipient::Role(role) => format!("{kind}%{role}"),
        Recipient::Task(id) => format!("{kind}#{id}"),
        Recipient::Agent(id) => format!("{kind}@{id}"),
        Recipient::Path(path) => format!("{kind}={path}"),
    }
}

/// Returns the place of the memories with exactly this scope.
pub fn memories_of(scope: &str) -> String {
    format!("{}:{scope}", PlaceKind::Memory.letter())
}

/// Adds the places of a pattern: its literal prefix, and, as something below them, every directory above. A pattern that
/// does not parse has none: no scope could overlap it.
fn places_of_path(kind: PlaceKind, path: &str, places: &mut BTreeSet<String>) {
    let Ok(prefix) = Pattern::prefix_of(path) else { return };
    let prefix = indexed(&prefix);
    let kind = kind.letter();
    places.insert(format!("{kind}={prefix}"));
    for above in directories_above(&prefix) {
        places.insert(format!("{kind}<{above}"));
    }
}

/// Returns the places at which everything lies that may overlap a pattern with this literal prefix: what begins on the way
/// to it, at it, or below it.
pub fn places_near(kind: PlaceKind, prefix: &str) -> Vec<String> {
    let prefix = indexed(prefix);
    let kind = kind.letter();
    let mut places: Vec<String> =
        directories_above(&prefix).iter().map(|above| format!("{kind}={above}")).collect();
    places.push(format!("{kind}={prefix}"));
    places.push(format!("{kind}<{prefix}"));
    places
}

/// A path as the index has it: case folded whatever the repository's rule, and not deeper than a bound. Both only bring
/// more under one place, so that nothing is missed.
fn indexed(prefix: &str) -> String {
    let cut: Vec<&str> = prefix.split('/').take(PLACE_DEPTH_MAX).collect();
    crate::pattern::folded(&cut.join("/"), CaseRule::Insensitive).into_owned()
}

/// Returns the directories above a path, the root first.
fn directories_above(path: &str) -> Vec<&str> {
    let root = (!path.is_empty()).then_some("");
    let above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    root.into_iter().chain(above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::overlap;
    use proptest::prelude::*;

    fn of_path(path: &str) -> BTreeSet<String> {
        let mut places = BTreeSet::new();
        places_of_path(PlaceKind::Change, path, &mut places);
        places
    }

    #[test]
    fn ids_are_ordered_by_kind_and_by_place_in_the_log() {
        let mut ids = [
            PostId::named(PostKind::Pad, "global"),
            PostId::at(PostKind::Change, Seq(10)),
            PostId::named(PostKind::Interface, "api"),
            PostId::at(PostKind::Change, Seq(9)),
        ];
        ids.sort();
        let texts: Vec<&str> = ids.iter().map(PostId::name).collect();
        assert_eq!(texts, ["00000000000000000009", "00000000000000000010", "api", "global"]);
    }

    fn path() -> impl Strategy<Value = String> {
        let segment =
            prop_oneof![Just("a"), Just("B"), Just("b"), Just("*"), Just("**"), Just("a*")];
        proptest::collection::vec(segment, 1..5).prop_map(|segments| segments.join("/"))
    }

    proptest! {
        #[test]
        fn what_overlaps_is_found_at_a_place_nearby(one in path(), other in path()) {
            let rule = CaseRule::Insensitive;
            let parsed = |text: &str| Pattern::parse_with(text, rule).unwrap();
            if overlap(&parsed(&one), &parsed(&other)).is_some() {
                let prefix = Pattern::prefix_of(&other).unwrap();
                let near = places_near(PlaceKind::Change, &prefix);
                prop_assert!(near.iter().any(|place| of_path(&one).contains(place)));
            }
        }
    }

    #[test]
    fn deep_paths_are_found_too() {
        let deep = vec!["d"; PLACE_DEPTH_MAX * 2].join("/");
        let near = places_near(PlaceKind::Change, &deep);
        assert!(near.iter().any(|place| of_path(&format!("{deep}/x")).contains(place)));
        assert!(of_path(&deep).len() <= PLACE_DEPTH_MAX + 1);
    }
}
