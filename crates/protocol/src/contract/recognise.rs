//! Finds the kind of a contract. Each kind has marks: keys or words that no other kind has.
//!
//! A report moves tasks. So a faulty contract of one kind must never pass for a good contract of another kind. A key
//! that only other kinds have speaks against a kind, and a contract that still fits several kinds is refused.

use super::{ContractKind, KINDS, Mode, SURE, contradictions};
use crate::ace;
use crate::document::{self, Data, Fault, Node, Place};
use crate::neotx::wrapped;
use serde_json::Value;
use std::collections::BTreeSet;

/// A kind is named as the nearest one if it shares at least this many keys with the text.
const NEAR_MIN: usize = 2;
/// A schema must require at least this many keys before having all of them proves the kind.
const WHOLE_MIN: usize = 2;

/// Kinds that an agent is given. The agent may repeat them in what it hands in.
const GIVEN: [&str; 4] = ["mission", "neo-task", "agent", "resume"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Check,
    /// To end a piece of work by its report.
    HandIn,
}

pub(super) enum Recognised {
    One(&'static ContractKind),
    Several(Vec<&'static ContractKind>),
    Contradictory(Fault),
    Nothing,
}

struct Candidate {
    kind: &'static ContractKind,
    marks: u32,
    tree: Option<Node>,
    readable: bool,
    /// The reader of this kind cannot read the text, but the text has marks of this kind.
    meant: bool,
}

impl Candidate {
    fn at(&self) -> Option<Place> {
        self.tree.as_ref().filter(|_| self.readable).map(|tree| tree.at)
    }

    fn is_comment(&self) -> bool {
        self.kind.name == ace::COMMENT.name
    }
}

pub(super) fn look(text: &str, purpose: Purpose) -> Recognised {
    let mut found = candidates(text);
    if purpose == Purpose::HandIn && !is_bare(text) {
        found = leave_given(found);
    }
    match choose(found) {
        Recognised::One(kind) => contradictions::find(text, kind)
            .map_or(Recognised::One(kind), Recognised::Contradictory),
        other => other,
    }
}

pub(super) fn kind_of(text: &str) -> Option<&'static ContractKind> {
    match choose(candidates(text)) {
        Recognised::One(kind) => Some(kind),
        _ => None,
    }
}

/// Tells whether the whole text is one contract, with nothing around it.
pub(super) fn is_bare(text: &str) -> bool {
    let whole = document::read(text).ok().filter(|tree| matches!(tree.data, Data::Map(_)));
    whole.is_some_and(|tree| KINDS.iter().any(|kind| (kind.marks)("", Some(&tree)) > 0))
}

/// Drops the missions and tasks that an agent was given, if the text also has a report in another place.
fn leave_given(found: Vec<Candidate>) -> Vec<Candidate> {
    let (mut given, mut others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|candidate| GIVEN.contains(&candidate.kind.name));
    // A place that holds a complete mission holds no incomplete report.
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
    // A contract that its own reader cannot read may still have marks of its kind.
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

fn choose(mut found: Vec<Candidate>) -> Recognised {
    if found.iter().any(|candidate| candidate.marks >= SURE) {
        found.retain(|candidate| candidate.marks >= SURE);
    }
    // An unreadable contract with marks of its kind is not replaced by another one that can be read.
    if found.iter().any(|candidate| candidate.meant && !candidate.is_comment()) {
        found.retain(|candidate| candidate.meant);
    } else if found.iter().any(|candidate| candidate.readable) {
        found.retain(|candidate| candidate.readable);
    }
    // A text counts as a comment only if it holds no other contract.
    if found.len() > 1 {
        found.retain(|candidate| !candidate.is_comment());
    }
    settle(&found)
}

fn settle(found: &[Candidate]) -> Recognised {
    let only = |fits: &dyn Fn(&Candidate) -> bool| {
        let mut fitting = found.iter().filter(|candidate| fits(candidate));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first.kind)
    };
    if found.is_empty() {
        return Recognised::Nothing;
    }
    let known: Vec<(&str, BTreeSet<String>)> =
        KINDS.iter().map(|kind| (kind.name, keys(&(kind.schema)()))).collect();
    let chosen = only(&|_| true)
        .or_else(|| only(&|candidate| !has_foreign(candidate, &known)))
        .or_else(|| only(&is_whole));
    match chosen {
        Some(kind) => Recognised::One(kind),
        None => Recognised::Several(found.iter().map(|candidate| candidate.kind).collect()),
    }
}

fn has_foreign(candidate: &Candidate, known: &[(&str, BTreeSet<String>)]) -> bool {
    let entries = candidate.tree.as_ref().map_or(&[][..], Node::entries);
    entries.iter().any(|entry| {
        let mut owners = known.iter().filter(|(_, keys)| keys.contains(&entry.key)).peekable();
        owners.peek().is_some() && !owners.any(|(name, _)| *name == candidate.kind.name)
    })
}

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

fn forms(schema: &Value) -> Vec<&Value> {
    let others = schema.get("anyOf").and_then(Value::as_array);
    std::iter::once(schema).chain(others.into_iter().flatten()).collect()
}

pub(super) fn keys(schema: &Value) -> BTreeSet<String> {
    let properties = |form: &Value| form.get("properties").and_then(Value::as_object).cloned();
    let known = forms(schema).into_iter().filter_map(properties);
    known.flat_map(|map| map.into_iter().map(|(key, _)| key)).collect()
}

/// The kind that has most keys in common with a contract that has no marks.
pub(super) fn nearest(tree: &Node) -> Option<&'static ContractKind> {
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
