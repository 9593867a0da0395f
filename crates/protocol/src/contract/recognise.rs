//! What kind a contract is, told by marks that belong to one kind only.
//!
//! What is handed in moves tasks, so a contract of one kind that has a mistake in it must never pass for a good
//! one of another kind. Keys that another kind has speak against a kind, and what stays undecided is refused.

use super::{KINDS, Kind, Mode, SURE, odds};
use crate::ace;
use crate::document::{self, Data, Fault, Node, Place};
use crate::neotx::wrapped;
use serde_json::Value;
use std::collections::BTreeSet;

/// Keys in common from which on a kind is worth naming.
const NEAR_MIN: usize = 2;
/// Required keys from which on having them all says something.
const WHOLE_MIN: usize = 2;

/// What an agent is given, and may repeat in what it hands in.
const GIVEN: [&str; 4] = ["mission", "neo-task", "agent", "resume"];

/// What a text is looked at for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To say what is wrong with it.
    Check,
    /// To end a piece of work with it.
    HandIn,
}

/// What a text was seen to be.
pub(super) enum Seen {
    /// A contract of this kind.
    One(&'static Kind),
    /// One of these.
    Several(Vec<&'static Kind>),
    /// Reports of several kinds that contradict each other.
    AtOdds(Fault),
    /// Nothing that has marks.
    Nothing,
}

struct Candidate {
    kind: &'static Kind,
    marks: u32,
    tree: Option<Node>,
    /// Whether its own reader can read it.
    readable: bool,
    /// Whether it cannot, and the text shows that it is meant.
    meant: bool,
}

impl Candidate {
    /// Where its own reader finds it.
    fn at(&self) -> Option<Place> {
        self.tree.as_ref().filter(|_| self.readable).map(|tree| tree.at)
    }

    fn is_comment(&self) -> bool {
        self.kind.name == ace::COMMENT.name
    }
}

/// Looks at a text as each kind reads it.
pub(super) fn look(text: &str, purpose: Purpose) -> Seen {
    let mut found = candidates(text);
    if purpose == Purpose::HandIn && !is_bare(text) {
        found = leave_given(found);
    }
    match choose(found) {
        Seen::One(kind) => odds::find(text, kind).map_or(Seen::One(kind), Seen::AtOdds),
        other => other,
    }
}

/// The kind of a contract that stands alone.
pub(super) fn kind_of(text: &str) -> Option<&'static Kind> {
    match choose(candidates(text)) {
        Seen::One(kind) => Some(kind),
        _ => None,
    }
}

/// Tells whether the whole text is one contract, with nothing around it.
pub(super) fn is_bare(text: &str) -> bool {
    let whole = document::read(text).ok().filter(|tree| matches!(tree.data, Data::Map(_)));
    whole.is_some_and(|tree| KINDS.iter().any(|kind| (kind.marks)("", Some(&tree)) > 0))
}

/// What was given to an agent cannot be handed in; beside a report that stands elsewhere it is only repeated.
fn leave_given(found: Vec<Candidate>) -> Vec<Candidate> {
    let (mut given, mut others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|candidate| GIVEN.contains(&candidate.kind.name));
    // What is wholly one thing is not half another.
    let whole: Vec<Place> =
        given.iter().filter(|c| is_whole(c)).filter_map(Candidate::at).collect();
    others.retain(|other| !other.at().is_some_and(|at| whole.contains(&at)) || is_whole(other));
    let reports: Vec<Option<Place>> = others
        .iter()
        .filter(|other| other.kind.report.is_some() && (other.readable || other.meant))
        .map(Candidate::at)
        .collect();
    given.retain(|candidate| reports.iter().all(|at| *at == candidate.at()));
    given.extend(others);
    given
}

fn candidates(text: &str) -> Vec<Candidate> {
    // What its own reader cannot read may still show what it was meant to be.
    let in_prose = wrapped::read(text).ok();
    let mut found = Vec::new();
    for kind in KINDS {
        let own = (kind.read)(text, Mode::Full).ok();
        let readable = own.is_some();
        let tree = own.or_else(|| in_prose.clone());
        let by_text = if readable { 0 } else { (kind.marks)(text, None) };
        let marks = (kind.marks)(text, tree.as_ref()).max(by_text);
        if marks > 0 {
            found.push(Candidate { kind, marks, tree, readable, meant: by_text > 0 });
        }
    }
    found
}

fn choose(mut found: Vec<Candidate>) -> Seen {
    if found.iter().any(|candidate| candidate.marks >= SURE) {
        found.retain(|candidate| candidate.marks >= SURE);
    }
    // What is meant and cannot be read is not replaced by what can be; otherwise what can be read is meant.
    if found.iter().any(|candidate| candidate.meant && !candidate.is_comment()) {
        found.retain(|candidate| candidate.meant);
    } else if found.iter().any(|candidate| candidate.readable) {
        found.retain(|candidate| candidate.readable);
    }
    // A comment is what is left when nothing else is in it.
    if found.len() > 1 {
        found.retain(|candidate| !candidate.is_comment());
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
pub(super) fn keys(schema: &Value) -> BTreeSet<String> {
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
