//! What `serde_json` changes in a file without a word: it keeps the last of two equal keys, and rounds large integers.

use super::{Data, Node, Place};
use std::collections::HashSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlawKind {
    RepeatedKey(String),
    LargeNumber(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) kind: FlawKind,
    /// Such as `tasks[3].status`.
    pub(crate) path: String,
    pub(crate) at: Place,
}

/// Finds the flaws of a document, in the order of its text.
pub(crate) fn flaws(root: &Node) -> Vec<Flaw> {
    let mut found = Vec::new();
    look(root, &mut String::new(), &mut found);
    found
}

fn look(node: &Node, path: &mut String, found: &mut Vec<Flaw>) {
    let before = path.len();
    match &node.data {
        Data::Null | Data::Bool(_) | Data::Text(_) => {}
        Data::Number(number) => {
            let text = &number.text;
            let is_whole = !text.contains(['.', 'e', 'E']);
            if is_whole && text.parse::<i64>().is_err() && text.parse::<u64>().is_err() {
                let kind = FlawKind::LargeNumber(number.text.clone());
                found.push(Flaw { kind, path: path.clone(), at: node.at });
            }
        }
        Data::List(items) => {
            for (place, item) in items.iter().enumerate() {
                path.push_str(&format!("[{place}]"));
                look(item, path, found);
                path.truncate(before);
            }
        }
        Data::Map(entries) => {
            let mut keys = HashSet::new();
            for entry in entries {
                if before > 0 {
                    path.push('.');
                }
                path.push_str(&entry.key);
                if !keys.insert(entry.key.as_str()) {
                    let kind = FlawKind::RepeatedKey(entry.key.clone());
                    found.push(Flaw { kind, path: path.clone(), at: entry.key_at });
                }
                look(&entry.value, path, found);
                path.truncate(before);
            }
        }
    }
}
