//! What somebody changed in a state file, seen against the export that the change was made on.

use super::document::StateFile;
use comity_core::time::Timestamp;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// An entry that the base has not: its place in the file and all of it.
    Added(usize, Map<String, Value>),
    Changed(Change),
    /// An entry of the base that is no longer there.
    Missing(String, Map<String, Value>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    pub id: String,
    pub place: usize,
    pub values: Map<String, Value>,
    pub gone: Vec<String>,
    pub was: Map<String, Value>,
}

/// The key whose value names the export that an entry was read from: it differs with every change that comity makes.
fn stamp(kind: StateFile) -> &'static str {
    match kind {
        StateFile::Tasks => "updated_at",
        StateFile::Locks => "heartbeat_at",
        StateFile::Agents => "last_seen",
    }
}

/// Keys that follow from others and are nobody's to set.
fn follows(kind: StateFile, key: &str) -> bool {
    kind != StateFile::Locks && key == stamp(kind)
}

type Entry = Map<String, Value>;
type Entries<'v> = BTreeMap<&'v str, (usize, &'v Entry)>;

fn entries(kind: StateFile, document: &Value) -> Entries<'_> {
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

fn changed(kind: StateFile, old: &Entry, new: &Entry) -> (Entry, Vec<String>) {
    let differs = |(key, value): &(&String, &Value)| {
        !follows(kind, key) && old.get(key.as_str()) != Some(value)
    };
    let values = new.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone()));
    let lacks = |key: &&String| !follows(kind, key) && !new.contains_key(key.as_str());
    (values.collect(), old.keys().filter(lacks).cloned().collect())
}

/// Returns what was changed from the base to the file, in the order of the file.
pub fn edits(kind: StateFile, base: &Value, file: &Value) -> Vec<Edit> {
    let old = entries(kind, base);
    let new = entries(kind, file);
    let mut out = Vec::new();
    let mut by_place: Vec<_> = new.iter().collect();
    by_place.sort_by_key(|(_, (n, _))| *n);
    for (id, (place, entry)) in by_place {
        let Some((_, before)) = old.get(id) else {
            out.push(Edit::Added(*place, (*entry).clone()));
            continue;
        };
        let (mut values, gone) = changed(kind, before, entry);
        // Who was heard of elsewhere was heard of.
        if kind == StateFile::Agents && time(kind, entry) > time(kind, before) {
            let key = stamp(kind);
            values.extend(entry.get(key).map(|time| (key.to_owned(), time.clone())));
        }
        if !(values.is_empty() && gone.is_empty()) {
            let touched = |key: &&String| values.contains_key(key.as_str()) || gone.contains(key);
            let was = before.iter().filter(|(key, _)| touched(key));
            let was = was.map(|(key, value)| (key.clone(), value.clone())).collect();
            out.push(Edit::Changed(Change {
                id: (*id).to_owned(),
                place: *place,
                values,
                gone,
                was,
            }));
        }
    }
    for (id, (_, entry)) in &old {
        if !new.contains_key(id) {
            out.push(Edit::Missing((*id).to_owned(), (*entry).clone()));
        }
    }
    out
}

fn apart(kind: StateFile, old: &Entry, new: &Entry) -> usize {
    let (values, gone) = changed(kind, old, new);
    values.len() + gone.len()
}

/// Finds the value that an entry was made from, among all that are known of it, the oldest first.
///
/// The stamp in the entry says when that was, to the second. Where several values have that stamp, or somebody set
/// another one, the value counts that the entry differs from least, the newest of equals. Of several that differ in the
/// same way the oldest counts: a conflict too many is noise, a conflict too few is silence. A stamp after the newest
/// value says that something was set just now, even if it was set back to an older value.
pub fn base<'v>(kind: StateFile, known: &[&'v Entry], entry: &Entry) -> Option<&'v Entry> {
    let stamp = stamp(kind);
    let said = entry.get(stamp).filter(|said| !said.is_null());
    let fits = |known: &&&Entry| said.is_some() && known.get(stamp) == said;
    let same: Vec<&'v Entry> = known.iter().filter(fits).copied().collect();
    let stamped = !same.is_empty();
    let among: &[&'v Entry] = if stamped { &same } else { known };
    let nearest = among.iter().rev().min_by_key(|known| apart(kind, known, entry))?;
    if !stamped {
        let newest = known.last().filter(|newest| is_before(kind, newest, entry));
        let back = newest.filter(|_| apart(kind, nearest, entry) == 0);
        return Some(back.unwrap_or(nearest));
    }
    let change = changed(kind, nearest, entry);
    among.iter().find(|known| changed(kind, known, entry) == change).copied()
}

fn time(kind: StateFile, entry: &Entry) -> Option<Timestamp> {
    Timestamp::parse(entry.get(stamp(kind))?.as_str()?)
}

fn is_before(kind: StateFile, one: &Entry, other: &Entry) -> bool {
    time(kind, one).zip(time(kind, other)).is_some_and(|(one, other)| one < other)
}

/// Returns the values of an entry that are those of its base and not the newest ones, where the stamps do not say that
/// the entry is older: somebody may have set them back on purpose.
pub fn doubtful<'e>(
    kind: StateFile,
    newest: &Entry,
    base: &Entry,
    entry: &'e Entry,
) -> Vec<(&'e str, &'e Value)> {
    if is_before(kind, entry, newest) {
        return Vec::new();
    }
    let old = |(key, value): &(&'e String, &'e Value)| {
        !follows(kind, key)
            && base.get(key.as_str()) == Some(*value)
            && newest.get(key.as_str()) != Some(*value)
    };
    entry.iter().filter(old).map(|(key, value)| (key.as_str(), value)).collect()
}

/// Tells how far a file is from a base: the number of values that differ. An entry that the base has not counts with all
/// of its values, so that one that was changed is not taken for another; one that the file has not counts as one.
pub fn distance(kind: StateFile, base: &Value, file: &Value) -> usize {
    let old = entries(kind, base);
    let new = entries(kind, file);
    let far: usize = new
        .iter()
        .map(|(id, (_, entry))| {
            old.get(id).map_or(entry.len(), |(_, before)| apart(kind, before, entry))
        })
        .sum();
    far + old.keys().filter(|id| !new.contains_key(*id)).count()
}
