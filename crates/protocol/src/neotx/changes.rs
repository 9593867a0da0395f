//! What an export to neo's files has to write: the values that changed in comity since the last import or export.
//!
//! What comity saw then is kept as fingerprints, so that a value which comity redacts never lies in the clear beside
//! the store.

use super::lines::Change;
use super::records::Record;
use comity_core::chain::Hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub type Prints = BTreeMap<String, String>;

const PRINT_DIGITS: usize = 32;

/// Keys that neo changes by itself whenever something is read or written. They are no edits.
pub const BOOKKEEPING: &[&str] = &["updated_at", "last_accessed_at", "access_count"];

fn print(value: &Value) -> String {
    let hash = Hash::of(value.to_string().as_bytes()).to_string();
    hash.chars().take(PRINT_DIGITS).collect()
}

fn prints(record: &Record) -> Prints {
    let there = record.map().iter().filter(|(_, value)| !value.is_null());
    there.map(|(key, value)| (key.clone(), print(value))).collect()
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// As neo's file had it.
    pub theirs: Prints,
    /// As comity would have written it.
    pub ours: Prints,
}

impl Base {
    pub fn of(theirs: &Record, ours: &Record) -> Base {
        Base { theirs: prints(theirs), ours: prints(ours) }
    }

    /// The base of a record that was just imported. An outcome that only comity has came of the import, such as the
    /// default answer of a question whose time was up. The next export writes it.
    pub fn imported(theirs: &Record, ours: &Record, outcomes: &[&str]) -> Base {
        let mut base = Base::of(theirs, ours);
        base.ours.retain(|key, _| !outcomes.contains(&key.as_str()) || theirs.get(key).is_some());
        base
    }

    /// Names the values that changed in neo's file since then and are different in comity.
    pub fn changed_there(&self, theirs: &Record, ours: &Record) -> Vec<String> {
        let (there, here) = (prints(theirs), prints(ours));
        let keys: BTreeSet<&String> = there.keys().chain(self.theirs.keys()).collect();
        let changed = |key: &&String| {
            let now = there.get(*key);
            self.theirs.get(*key) != now && here.get(*key) != now
        };
        let is_edit = |key: &&String| !BOOKKEEPING.contains(&key.as_str());
        keys.into_iter().filter(is_edit).filter(changed).cloned().collect()
    }

    fn wrote(&mut self, ours: &Record, change: &Change) {
        self.ours = prints(ours);
        self.theirs.extend(change.set.iter().map(|(key, value)| (key.clone(), print(value))));
        self.theirs.retain(|key, _| !change.unset.contains(key));
    }
}

pub type Bases = BTreeMap<String, Base>;

/// Finds what changed in comity since the base; without a base, everything that differs.
fn changed_here(theirs: &Record, ours: &Record, base: Option<&Base>) -> Change {
    let (there, here) = (prints(theirs), prints(ours));
    let is_new = |key: &str| {
        let now = here.get(key);
        there.get(key) != now && base.is_none_or(|base| base.ours.get(key) != now)
    };
    let is_edit = |key: &&String| !BOOKKEEPING.contains(&key.as_str()) && is_new(key);
    let mut change = Change::default();
    for key in ours.map().keys().filter(is_edit) {
        change.set.extend(ours.get(key).map(|value| (key.clone(), value.clone())));
    }
    let before = base.into_iter().flat_map(|base| base.ours.keys());
    let gone = before.filter(|key| !here.contains_key(*key) && there.contains_key(*key));
    change.unset.extend(gone.cloned());
    let touched = ours.get("updated_at").filter(|_| !change.is_empty());
    change.set.extend(touched.map(|at| ("updated_at".to_owned(), at.clone())));
    change
}

pub struct Sides<'s> {
    pub theirs: BTreeMap<&'s str, &'s Record>,
    pub ours: &'s [Record],
    pub deleted: &'s BTreeSet<String>,
    pub elsewhere: &'s BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    pub change: Vec<(String, Change)>,
    pub add: Vec<Record>,
    pub remove: Vec<String>,
    /// Ids that neo removed. They are not written again.
    pub removed_there: Vec<String>,
}

/// Finds what an export has to do, and notes in the bases that it is done.
pub fn steps(sides: &Sides<'_>, bases: &mut Bases) -> Steps {
    let mut steps = Steps::default();
    for ours in sides.ours {
        let Some(id) = ours.text("id").filter(|id| !sides.elsewhere.contains(*id)) else {
            continue;
        };
        match sides.theirs.get(id) {
            None if bases.contains_key(id) => steps.removed_there.push(id.to_owned()),
            None => {
                steps.add.push(ours.clone());
                bases.insert(id.to_owned(), Base::of(ours, ours));
            }
            Some(theirs) => {
                let change = changed_here(theirs, ours, bases.get(id));
                let base = bases.entry(id.to_owned()).or_insert_with(|| Base::of(theirs, ours));
                base.wrote(ours, &change);
                if !change.is_empty() {
                    steps.change.push((id.to_owned(), change));
                }
            }
        }
    }
    let there = sides.theirs.keys().filter(|id| sides.deleted.contains(**id));
    steps.remove =
        there.filter(|id| !sides.elsewhere.contains(**id)).map(|id| (*id).to_owned()).collect();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(value: Value) -> Record {
        let Value::Object(map) = value else { panic!("an object") };
        Record::from_map(map)
    }

    fn run(theirs: &[Record], ours: &[Record], deleted: &[&str], bases: &mut Bases) -> Steps {
        let theirs = theirs.iter().map(|it| (it.text("id").unwrap(), it)).collect();
        let deleted = deleted.iter().map(ToString::to_string).collect();
        let sides = Sides { theirs, ours, deleted: &deleted, elsewhere: &BTreeSet::new() };
        steps(&sides, bases)
    }

    #[test]
    fn only_what_changed_in_comity_is_written() {
        let theirs = record(json!({"id": "a", "mail": "ann@x.y", "status": "in_progress", "e": 1}));
        let ours = record(json!({"id": "a", "mail": "[redacted]", "status": "pending", "e": 1,
            "priority": "medium", "updated_at": 5}));
        let mut bases = Bases::from([("a".to_owned(), Base::of(&theirs, &ours))]);
        let all = std::slice::from_ref(&theirs);
        assert_eq!(run(all, std::slice::from_ref(&ours), &[], &mut bases), Steps::default());
        let now = record(json!({"id": "a", "mail": "[redacted]", "status": "done",
            "priority": "medium", "updated_at": 6}));
        let steps = run(all, std::slice::from_ref(&now), &[], &mut bases);
        let (_, change) = &steps.change[0];
        assert_eq!(Value::Object(change.set.clone()), json!({"status": "done", "updated_at": 6}));
        assert_eq!(change.unset, ["e"]);
        let written = record(json!({"id": "a", "mail": "ann@x.y", "status": "done"}));
        assert_eq!(run(&[written], &[now], &[], &mut bases), Steps::default());
    }

    #[test]
    fn an_edit_of_neos_is_named_and_bookkeeping_is_no_edit() {
        let theirs = record(json!({"id": "a", "mail": "ann@x.y", "n": 1, "access_count": 1}));
        let ours = record(json!({"id": "a", "mail": "[redacted]", "n": 2}));
        let base = Base::of(&theirs, &ours);
        assert_eq!(base.changed_there(&theirs, &ours), [""; 0]);
        let now = record(json!({"id": "a", "mail": "bob@x.y", "n": 2, "access_count": 2}));
        assert_eq!(base.changed_there(&now, &ours), ["mail"]);
    }

    #[test]
    fn an_outcome_of_the_import_is_written() {
        let theirs = record(json!({"id": "a", "defaultAnswer": "yes"}));
        let ours = record(json!({"id": "a", "defaultAnswer": "yes", "answer": "yes", "type": "x"}));
        let base = Base::imported(&theirs, &ours, &["answer"]);
        let change = changed_here(&theirs, &ours, Some(&base));
        assert_eq!(change.set.keys().collect::<Vec<_>>(), ["answer"]);
        // An answer that neo's file has is neo's, whatever comity has.
        let theirs = record(json!({"id": "a", "answer": "no"}));
        let base = Base::imported(&theirs, &ours, &["answer"]);
        assert!(changed_here(&theirs, &ours, Some(&base)).is_empty());
    }

    #[test]
    fn what_one_side_deleted_is_not_written_again() {
        let one = record(json!({"id": "a", "n": 1}));
        let one = std::slice::from_ref(&one);
        let mut bases = Bases::new();
        assert_eq!(run(&[], one, &[], &mut bases).add.len(), 1);
        assert_eq!(run(&[], one, &[], &mut bases).removed_there, ["a"]);
        assert_eq!(run(one, &[], &["a"], &mut bases).remove, ["a"]);
    }
}
