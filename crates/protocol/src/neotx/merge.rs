//! neo's files and this store, three ways: what is there, what is here, and what both were when they last met.
//!
//! A value that changed only here is written there; one that changed only there stays and is said by the next
//! import; one that changed in both places stays and is said. What both were is kept as fingerprints, so that
//! nothing that is redacted here lies in the clear beside the store.

use super::lines::Change;
use super::records::Record;
use comity_core::chain::Hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Fingerprints of values, by key.
pub type Prints = BTreeMap<String, String>;

/// Hex digits of a fingerprint.
const DIGITS: usize = 32;

fn print(value: &Value) -> String {
    let hash = Hash::of(value.to_string().as_bytes()).to_string();
    hash.chars().take(DIGITS).collect()
}

/// Returns the fingerprints of a record; null counts as absent.
pub fn prints(record: &Record) -> Prints {
    let there = record.map().iter().filter(|(_, value)| !value.is_null());
    there.map(|(key, value)| (key.clone(), print(value))).collect()
}

/// What a record was in both places when they last met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// In neo's file.
    pub theirs: Prints,
    /// Here, in neo's words.
    pub ours: Prints,
}

impl Base {
    /// Takes both as they are now.
    pub fn of(theirs: &Record, ours: &Record) -> Base {
        Base { theirs: prints(theirs), ours: prints(ours) }
    }

    /// Takes both as they are when a record has just been taken over. The outcomes that it has only here came of it here,
    /// such as the default of a question whose time was up: they are to be written there.
    pub fn taken(theirs: &Record, ours: &Record, outcomes: &[&str]) -> Base {
        let mut base = Base::of(theirs, ours);
        base.ours.retain(|key, _| !outcomes.contains(&key.as_str()) || theirs.get(key).is_some());
        base
    }
}

/// Bases by id.
pub type Bases = BTreeMap<String, Base>;

/// Where two records go from here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merge {
    /// What changes there.
    pub change: Change,
    /// Keys that changed in both places, or of which nobody knows: they stay as they are there.
    pub stays: Vec<String>,
}

/// Compares a record of neo's file with ours. `follows` are keys that only change with others, such as the time
/// of the last change.
pub fn merge(theirs: &Record, ours: &Record, base: Option<&Base>, follows: &[&str]) -> Merge {
    let (there, here) = (prints(theirs), prints(ours));
    let nothing = Base::default();
    // In the order of ours, which is neo's: what is added is added in that order.
    let mine = ours.map().keys().filter(|key| here.contains_key(*key));
    let before = base.unwrap_or(&nothing).ours.keys().filter(|key| !here.contains_key(*key));
    let mut merge = Merge::default();
    for key in mine.chain(before).filter(|key| !follows.contains(&key.as_str())) {
        let (now, mine) = (there.get(key), here.get(key));
        if now == mine {
            continue;
        }
        let changed_here = base.is_none_or(|base| base.ours.get(key) != mine);
        let changed_there = base.is_none_or(|base| base.theirs.get(key) != now);
        match (changed_here, changed_there) {
            (false, _) => {}
            (true, true) => merge.stays.push(key.clone()),
            (true, false) => put(&mut merge.change, key, ours),
        }
    }
    if !merge.change.is_empty() {
        for key in follows.iter().filter(|key| ours.get(key).is_some()) {
            put(&mut merge.change, key, ours);
        }
    }
    merge
}

fn put(change: &mut Change, key: &str, ours: &Record) {
    match ours.get(key) {
        Some(value) => drop(change.set.insert(key.to_owned(), value.clone())),
        None => change.unset.push(key.to_owned()),
    }
}

/// Returns what changed in neo's file since both met and is something else here.
pub fn changed_there(theirs: &Record, ours: &Record, base: &Base, follows: &[&str]) -> Vec<String> {
    let (there, here) = (prints(theirs), prints(ours));
    let keys: BTreeSet<&String> = there.keys().chain(base.theirs.keys()).collect();
    let changed = |key: &&String| {
        let now = there.get(*key);
        base.theirs.get(*key) != now && here.get(*key) != now
    };
    keys.into_iter()
        .filter(changed)
        .filter(|key| !follows.contains(&key.as_str()))
        .cloned()
        .collect()
}

/// What an export has to look at, of one kind of thing.
pub struct Sides<'s> {
    /// What neo's file has, by id.
    pub theirs: BTreeMap<&'s str, &'s Record>,
    /// What is here.
    pub ours: &'s [Record],
    /// What was deleted here.
    pub gone: &'s BTreeSet<String>,
    /// What must not be written: it cannot be read, or belongs to another supervisor.
    pub not_here: &'s BTreeSet<String>,
    /// When both met; none when the file is new.
    pub bases: Option<&'s Bases>,
    /// Keys that only change with others.
    pub follows: &'s [&'s str],
}

/// What an export does with one kind of thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Lines or rows to change.
    pub change: Vec<(String, Change)>,
    /// Lines or rows to add.
    pub add: Vec<Record>,
    /// Lines or rows to take out.
    pub remove: Vec<String>,
    /// What stays as it is there, though it is something else here: id, what, why.
    pub left: Vec<(String, String, &'static str)>,
    /// What both are afterwards.
    pub bases: Bases,
}

/// Why something stays as it is in neo's files.
const BOTH: &str = "it changed there and here; the file keeps its own";
const UNKNOWN: &str = "it differs, and nothing is known of when; import it first";
const GONE_THERE: &str = "it was removed there; it is not written again";
const GONE_HERE: &str = "it was deleted here and changed there; the file keeps it";

/// Finds what an export has to do.
pub fn steps(sides: &Sides<'_>) -> Steps {
    let nothing = Bases::new();
    let bases = sides.bases.unwrap_or(&nothing);
    let mut steps = Steps { bases: bases.clone(), ..Steps::default() };
    for ours in sides.ours {
        let Some(id) = ours.text("id").filter(|id| !sides.not_here.contains(*id)) else { continue };
        let base = bases.get(id);
        let Some(theirs) = sides.theirs.get(id) else {
            if base.is_some() {
                steps.left.push((id.to_owned(), "the whole".to_owned(), GONE_THERE));
            } else {
                steps.add.push(ours.clone());
                steps.bases.insert(id.to_owned(), Base::of(ours, ours));
            }
            continue;
        };
        let merge = merge(theirs, ours, base, sides.follows);
        if !merge.stays.is_empty() {
            let why = if base.is_some() { BOTH } else { UNKNOWN };
            steps.left.push((id.to_owned(), merge.stays.join(", "), why));
        }
        steps.bases.insert(id.to_owned(), met(theirs, ours, base, &merge.change));
        if !merge.change.is_empty() {
            steps.change.push((id.to_owned(), merge.change));
        }
    }
    for (id, theirs) in &sides.theirs {
        if !sides.gone.contains(*id) || sides.not_here.contains(*id) {
            continue;
        }
        if bases.get(*id).is_some_and(|base| base.theirs == prints(theirs)) {
            steps.remove.push((*id).to_owned());
        } else {
            steps.left.push(((*id).to_owned(), "the whole".to_owned(), GONE_HERE));
        }
    }
    steps
}

/// What both are after an export: where they are the same now, they met; elsewhere it is as it was.
fn met(theirs: &Record, ours: &Record, before: Option<&Base>, change: &Change) -> Base {
    let (there, here) = (prints(theirs), prints(ours));
    let mut base = before.cloned().unwrap_or_default();
    let keys: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    for key in keys {
        let written = change.set.contains_key(key);
        if written || there.get(key) == here.get(key) {
            let now = here.get(key).cloned().unwrap_or_default();
            base.theirs.insert(key.clone(), now.clone());
            base.ours.insert(key.clone(), now);
        }
    }
    for key in &change.unset {
        base.theirs.remove(key);
        base.ours.remove(key);
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(value: Value) -> Record {
        let Value::Object(map) = value else { panic!("an object") };
        Record::from_map(map)
    }

    fn all<'s>(
        theirs: &'s [Record],
        ours: &'s [Record],
        gone: &'s BTreeSet<String>,
        bases: Option<&'s Bases>,
    ) -> Steps {
        static NONE: BTreeSet<String> = BTreeSet::new();
        let theirs = theirs.iter().map(|it| (it.text("id").unwrap(), it)).collect();
        let follows = &["updated_at"][..];
        steps(&Sides { theirs, ours, gone, not_here: &NONE, bases, follows })
    }

    #[test]
    fn what_changed_here_is_written_and_what_changed_there_stays() {
        let theirs = record(json!({"id": "a", "mail": "ann@x.y", "status": "in_progress", "t": 1}));
        let ours = record(json!({"id": "a", "mail": "[redacted]", "status": "pending",
            "priority": "medium", "t": 9, "updated_at": 5}));
        let base = Base::of(&theirs, &ours);
        let none = merge(&theirs, &ours, Some(&base), &["updated_at"]);
        assert_eq!(none, Merge::default(), "nothing changed, so nothing is written back");
        let mut now = ours.clone();
        now.set("status", "done");
        now.set("updated_at", 6);
        let merged = merge(&theirs, &now, Some(&base), &["updated_at"]);
        let wanted = record(json!({"status": "done", "updated_at": 6}));
        assert_eq!((&merged.change.set, merged.stays.len()), (wanted.map(), 0));
        let mut edited = theirs.clone();
        edited.set("status", "blocked");
        edited.set("mail", "bob@x.y");
        assert_eq!(merge(&edited, &ours, Some(&base), &[]).change, Change::default());
        assert_eq!(merge(&edited, &now, Some(&base), &[]).stays, ["status"]);
        assert_eq!(changed_there(&edited, &ours, &base, &[]), ["mail", "status"]);
        assert_eq!(changed_there(&theirs, &now, &base, &[]), [""; 0]);
    }

    #[test]
    fn a_value_that_is_taken_away_here_is_taken_out_there() {
        let theirs = record(json!({"id": "a", "expires_at": "t"}));
        let base = Base::of(&theirs, &theirs);
        let merged = merge(&theirs, &record(json!({"id": "a"})), Some(&base), &[]);
        assert_eq!(merged.change.unset, ["expires_at"]);
    }

    #[test]
    fn what_came_of_a_record_while_it_was_taken_over_is_written_there() {
        let theirs = record(json!({"id": "a", "defaultAnswer": "yes"}));
        let ours = record(json!({"id": "a", "defaultAnswer": "yes", "answer": "yes", "type": "x"}));
        let base = Base::taken(&theirs, &ours, &["answer"]);
        let change = merge(&theirs, &ours, Some(&base), &[]).change;
        assert_eq!(change.set.keys().collect::<Vec<_>>(), ["answer"]);
        // An answer that it has there is neo's, whatever is here.
        let theirs = record(json!({"id": "a", "answer": "no"}));
        let base = Base::taken(&theirs, &ours, &["answer"]);
        assert!(merge(&theirs, &ours, Some(&base), &[]).change.is_empty());
    }

    #[test]
    fn without_a_word_of_when_both_met_neos_file_keeps_its_own() {
        let theirs = record(json!({"id": "a", "n": 1}));
        let ours = record(json!({"id": "a", "n": 2}));
        let done = all(&[theirs], &[ours], &BTreeSet::new(), Some(&Bases::new()));
        assert_eq!((done.change.len(), done.left.len()), (0, 1));
    }

    #[test]
    fn what_was_deleted_here_goes_there_unless_it_was_changed_there() {
        let theirs = record(json!({"id": "a", "n": 1}));
        let bases = Bases::from([("a".to_owned(), Base::of(&theirs, &theirs))]);
        let gone = BTreeSet::from(["a".to_owned()]);
        assert_eq!(all(std::slice::from_ref(&theirs), &[], &gone, Some(&bases)).remove, ["a"]);
        let edited = record(json!({"id": "a", "n": 2}));
        let done = all(&[edited], &[], &gone, Some(&bases));
        assert_eq!((done.remove.len(), done.left.len()), (0, 1));
        // And what was deleted there does not come back, unless the whole file is new.
        let done = all(&[], std::slice::from_ref(&theirs), &BTreeSet::new(), Some(&bases));
        assert_eq!((done.add.len(), done.left.len()), (0, 1));
        assert_eq!(all(&[], &[theirs], &BTreeSet::new(), None).add.len(), 1);
    }

    #[test]
    fn after_an_export_both_have_met_where_they_are_the_same_and_nowhere_else() {
        let theirs = record(json!({"id": "a", "n": 1, "m": 1}));
        let ours = record(json!({"id": "a", "n": 2, "m": 5}));
        let mut base = Base::of(&theirs, &theirs);
        base.theirs.insert("m".to_owned(), "older".to_owned());
        let bases = Bases::from([("a".to_owned(), base.clone())]);
        let done = all(&[theirs], std::slice::from_ref(&ours), &BTreeSet::new(), Some(&bases));
        let after = &done.bases["a"];
        assert_eq!(after.theirs["n"], prints(&ours)["n"]);
        assert_eq!(after.theirs["m"], "older", "that one is still to be settled");
    }
}
