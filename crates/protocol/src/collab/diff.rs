//! What somebody changed in a state file, seen against the export that the change was made on.

use super::document::Kind;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One change of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// An entry that the base has not: its place in the file and all of it.
    Added(usize, Map<String, Value>),
    /// An entry with other values: its id, its place, the new values, and what the base has instead.
    Changed(String, usize, Map<String, Value>, Map<String, Value>),
    /// An entry of the base that is no longer there.
    Missing(String, Map<String, Value>),
}

/// Keys that follow from others and are nobody's to set.
fn follows(kind: Kind, key: &str) -> bool {
    match kind {
        Kind::Tasks => key == "updated_at" || key == "created_at",
        Kind::Locks => false,
        Kind::Agents => key == "last_seen",
    }
}

type Entries<'v> = BTreeMap<&'v str, (usize, &'v Map<String, Value>)>;

fn entries(kind: Kind, document: &Value) -> Entries<'_> {
    let list = document.get(kind.list()).and_then(Value::as_array);
    let list = list.map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .enumerate()
        .filter_map(|(n, value)| {
            let map = value.as_object()?;
            Some((map.get(kind.key())?.as_str()?, (n, map)))
        })
        .collect()
}

fn changed(kind: Kind, old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in new {
        if !follows(kind, key) && old.get(key) != Some(value) {
            out.insert(key.clone(), value.clone());
        }
    }
    out
}

/// Returns what was changed from the base to the file, in the order of the file.
pub fn edits(kind: Kind, base: &Value, file: &Value) -> Vec<Edit> {
    let old = entries(kind, base);
    let new = entries(kind, file);
    let mut out = Vec::new();
    let mut by_place: Vec<_> = new.iter().collect();
    by_place.sort_by_key(|(_, (n, _))| *n);
    for (id, (n, entry)) in by_place {
        match old.get(id) {
            None => out.push(Edit::Added(*n, (*entry).clone())),
            Some((_, before)) => {
                let values = changed(kind, before, entry);
                if !values.is_empty() {
                    let was = values.keys().filter_map(|key| {
                        before.get(key).map(|value| (key.clone(), value.clone()))
                    });
                    out.push(Edit::Changed((*id).to_owned(), *n, values.clone(), was.collect()));
                }
            }
        }
    }
    for (id, (_, entry)) in &old {
        if !new.contains_key(id) {
            out.push(Edit::Missing((*id).to_owned(), (*entry).clone()));
        }
    }
    out
}

/// Tells how far a file is from a base: the number of values that differ. An entry that is not there counts as one.
/// Counting ends at the limit.
pub fn distance(kind: Kind, base: &Value, file: &Value, limit: usize) -> usize {
    let old = entries(kind, base);
    let new = entries(kind, file);
    let mut far = 0;
    for (id, (_, entry)) in &new {
        far += match old.get(id) {
            None => 1,
            Some((_, before)) => {
                let differs = |(key, value): &(&String, &Value)| {
                    !follows(kind, key) && before.get(key.as_str()) != Some(value)
                };
                entry.iter().filter(differs).count()
            }
        };
        if far >= limit {
            return limit;
        }
    }
    far += old.keys().filter(|id| !new.contains_key(*id)).count();
    far.min(limit)
}
