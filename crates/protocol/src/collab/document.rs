//! The three state files: what makes one of them, and writing one over what is there.

use super::Problem;
use super::parsed::{Parsed, problem_in, utf8};
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateFile {
    Tasks,
    Locks,
    Agents,
}

impl StateFile {
    pub const ALL: [StateFile; 3] = [StateFile::Tasks, StateFile::Locks, StateFile::Agents];

    /// The name of the list, which is also the kind in `get_state`; the key that tells entries apart; the file.
    fn words(self) -> [&'static str; 3] {
        match self {
            StateFile::Tasks => ["tasks", "id", "tasks.json"],
            StateFile::Locks => ["locks", "lock_id", "locks.json"],
            StateFile::Agents => ["agents", "id", "agents.json"],
        }
    }

    pub fn list(self) -> &'static str {
        let [list, ..] = self.words();
        list
    }

    pub fn key(self) -> &'static str {
        let [_, key, _] = self.words();
        key
    }

    pub fn file(self) -> &'static str {
        let [.., file] = self.words();
        file
    }
}

pub fn read_bytes(kind: StateFile, bytes: &[u8]) -> Result<Value, Vec<Problem>> {
    read(kind, utf8(bytes)?)
}

/// Reads a state file: JSON, an object, with a list of objects under its name that have their key. What would not be
/// read as it is written is a problem, too.
pub fn read(kind: StateFile, text: &str) -> Result<Value, Vec<Problem>> {
    let parsed = Parsed::read(text)?;
    let mut problems = parsed.lossy();
    problems.extend(shape(kind, &parsed));
    if problems.is_empty() { Ok(parsed.value) } else { Err(problems) }
}

fn shape(kind: StateFile, parsed: &Parsed) -> Vec<Problem> {
    let Some(top) = parsed.value.as_object() else {
        let hint = match (kind, &parsed.value) {
            // The successor keeps other things under the same names.
            (StateFile::Locks, Value::Array(_)) => {
                "a list: this is a kyros-praxis tree, which comity does not read; nothing is changed"
            }
            _ => "must be an object",
        };
        return vec![parsed.problem("", hint)];
    };
    let name = kind.list();
    let entries = match top.get(name) {
        None => return Vec::new(),
        Some(Value::Array(entries)) => entries,
        Some(_) => return vec![parsed.problem(name, "must be a list")],
    };
    let mut problems = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for (n, entry) in entries.iter().enumerate() {
        let key = kind.key();
        let path = format!("{name}[{n}]");
        match entry.as_object().map(|entry| entry.get(key).and_then(Value::as_str)) {
            None => problems.push(parsed.problem(path, "must be an object")),
            Some(None | Some("")) => {
                problems.push(parsed.problem(path, format!("{key} is missing or not a text")));
            }
            Some(Some(id)) if !known.insert(id) => {
                let message = format!("two entries have the {key} {id:?}");
                problems.push(parsed.problem(format!("{path}.{key}"), message));
            }
            Some(Some(_)) => {}
        }
    }
    problems
}

pub(super) fn problem_at(
    kind: StateFile,
    text: &str,
    n: usize,
    key: &str,
    message: String,
) -> Problem {
    problem_in(text, format!("{}[{n}].{key}", kind.list()), message)
}

/// Writes entries into a document. What is there keeps its place, and so do its keys; what is new comes after it.
/// An entry that is not among the new ones stays when `keep` says so.
pub fn document(
    kind: StateFile,
    template: Option<&Value>,
    records: Vec<Map<String, Value>>,
    keep: &dyn Fn(&str) -> bool,
) -> Value {
    let mut top = template.and_then(Value::as_object).cloned().unwrap_or_default();
    if top.is_empty() {
        top.insert("version".to_owned(), Value::from(1));
    }
    let key = kind.key();
    let name_of = |record: &Map<String, Value>| {
        record.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut fresh: Map<String, Value> =
        records.into_iter().map(|record| (name_of(&record), Value::Object(record))).collect();
    let mut entries = Vec::new();
    let old = match top.get_mut(kind.list()) {
        Some(Value::Array(old)) => std::mem::take(old),
        _ => Vec::new(),
    };
    for entry in old {
        let Value::Object(entry) = entry else { continue };
        let name = name_of(&entry);
        // Taken out by exchange, so that removing many stays cheap.
        let new = fresh.get_mut(&name).map(Value::take);
        match new {
            Some(Value::Object(record)) => entries.push(Value::Object(over(&entry, record))),
            _ if keep(&name) => entries.push(Value::Object(entry)),
            _ => {}
        }
    }
    entries.extend(fresh.into_iter().map(|(_, record)| record).filter(|record| !record.is_null()));
    top.insert(kind.list().to_owned(), Value::Array(entries));
    Value::Object(top)
}

fn over(old: &Map<String, Value>, mut record: Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for key in old.keys() {
        if let Some(value) = record.get_mut(key) {
            out.insert(key.clone(), value.take());
        }
    }
    for (key, value) in record {
        out.entry(key).or_insert(value);
    }
    out
}
