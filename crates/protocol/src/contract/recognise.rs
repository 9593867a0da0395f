//! What kind a contract is, told by marks that belong to one kind only.
//!
//! What is handed in moves tasks, so a contract of one kind that has a mistake in it must never pass for a good
//! one of another kind. Keys that another kind has speak against a kind, and what stays undecided is refused.

use super::{KINDS, Kind, Mode, SURE};
use crate::ace;
use crate::document::Node;
use crate::neotx::wrapped;
use serde_json::Value;
use std::collections::BTreeSet;

/// Keys in common from which on a kind is worth naming.
const NEAR_MIN: usize = 2;
/// Required keys from which on having them all says something.
const WHOLE_MIN: usize = 2;

/// What a text was seen to be.
pub(super) enum Seen {
    /// A contract of this kind.
    One(&'static Kind),
    /// One of these.
    Several(Vec<&'static Kind>),
    /// Nothing that has marks.
    Nothing,
}

struct Candidate {
    kind: &'static Kind,
    marks: u32,
    tree: Option<Node>,
    /// Whether its own reader can read it.
    readable: bool,
}

/// Looks at a text as each kind reads it.
pub(super) fn look(text: &str) -> Seen {
    // What its own reader cannot read may still show what it was meant to be.
    let in_prose = wrapped::read(text).ok();
    let mut found = Vec::new();
    for kind in KINDS {
        let own = (kind.read)(text, Mode::Full).ok();
        let readable = own.is_some();
        let tree = own.or_else(|| in_prose.clone());
        let marks = (kind.marks)(text, tree.as_ref());
        if marks > 0 {
            found.push(Candidate { kind, marks, tree, readable });
        }
    }
    if found.iter().any(|candidate| candidate.marks >= SURE) {
        found.retain(|candidate| candidate.marks >= SURE);
    }
    // What can be read is meant; a comment is what is left when nothing else is in it.
    if found.iter().any(|candidate| candidate.readable) {
        found.retain(|candidate| candidate.readable);
    }
    if found.len() > 1 {
        found.retain(|candidate| candidate.kind.name != ace::COMMENT.name);
    }
    settle(&found)
}

fn settle(found: &[Candidate]) -> Seen {
    let only = |fits: &dyn Fn(&Candidate) -> bool| {
        let mut fitting = found.iter().filter(|candidate| fits(candidate));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first.kind)
    };
    if found.is_empty() {
        return Seen::Nothing;
    }
    let known: Vec<(&str, BTreeSet<String>)> =
        KINDS.iter().map(|kind| (kind.name, keys(&(kind.schema)()))).collect();
    let chosen = only(&|_| true)
        .or_else(|| only(&|candidate| !has_foreign(candidate, &known)))
        .or_else(|| only(&is_whole));
    match chosen {
        Some(kind) => Seen::One(kind),
        None => Seen::Several(found.iter().map(|candidate| candidate.kind).collect()),
    }
}

/// Tells whether something is there that other kinds have and this one has not.
fn has_foreign(candidate: &Candidate, known: &[(&str, BTreeSet<String>)]) -> bool {
    let entries = candidate.tree.as_ref().map_or(&[][..], Node::entries);
    entries.iter().any(|entry| {
        let mut owners = known.iter().filter(|(_, keys)| keys.contains(&entry.key)).peekable();
        owners.peek().is_some() && !owners.any(|(name, _)| *name == candidate.kind.name)
    })
}

/// Tells whether it is a good contract of a kind that demands something, whatever else is in it.
fn is_whole(candidate: &Candidate) -> bool {
    let Some(tree) = &candidate.tree else { return false };
    let schema = (candidate.kind.schema)();
    let all_there = |form: &Value| {
        let required = form.get("required").and_then(Value::as_array);
        required.is_some_and(|keys| {
            let there = |key: &Value| key.as_str().is_some_and(|key| tree.get(key).is_some());
            keys.len() >= WHOLE_MIN && keys.iter().all(there)
        })
    };
    forms(&schema).into_iter().any(all_there)
        && (candidate.kind.validate)(tree, Mode::Full).is_valid()
}

/// A schema, and the forms that it comes in.
fn forms(schema: &Value) -> Vec<&Value> {
    let others = schema.get("anyOf").and_then(Value::as_array);
    std::iter::once(schema).chain(others.into_iter().flatten()).collect()
}

/// The keys that a kind knows at the top.
fn keys(schema: &Value) -> BTreeSet<String> {
    let properties = |form: &Value| form.get("properties").and_then(Value::as_object).cloned();
    let known = forms(schema).into_iter().filter_map(properties);
    known.flat_map(|map| map.into_iter().map(|(key, _)| key)).collect()
}

/// The kind that has most keys in common with a contract that has no marks.
pub(super) fn nearest(tree: &Node) -> Option<&'static Kind> {
    let mut best = (None, NEAR_MIN - 1);
    for kind in KINDS {
        let known = keys(&(kind.schema)());
        let common = tree.entries().iter().filter(|entry| known.contains(&entry.key)).count();
        if common > best.1 {
            best = (Some(kind), common);
        }
    }
    best.0
}
