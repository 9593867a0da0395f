//! What the three contracts have in common.

use crate::document::{Data, Node, says_nothing};
use comity_core::command::Extra;
use serde_json::{Map, Value};

/// The items of a list of texts; one text is a list of one.
pub(super) fn list(value: Option<&Node>) -> Vec<String> {
    match value.map(|value| (value, &value.data)) {
        Some((_, Data::List(items))) => items.iter().filter_map(Node::written).collect(),
        Some((_, Data::Text(text))) if !text.trim().is_empty() => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// What a contract has beyond the known keys that say something, and the order of all its keys. A known key that is
/// there and says nothing, such as an empty list, comes back as it was given.
pub(super) fn beyond(root: &Node, known: &[&str]) -> Extra {
    let Value::Object(given) = root.to_value() else { return Extra::default() };
    let order: Vec<String> = given.keys().cloned().collect();
    let silent: Map<String, Value> = given
        .iter()
        .filter(|(key, value)| known.contains(&key.as_str()) && says_nothing(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut extra = Extra::of(given, known);
    if !silent.is_empty() {
        extra.keys = order;
        extra.other.extend(silent);
    }
    extra
}

pub(super) fn unknown(root: &Node, known: &[&str]) -> Map<String, Value> {
    let entries = root.entries().iter().filter(|entry| !known.contains(&entry.key.as_str()));
    entries.map(|entry| (entry.key.clone(), entry.value.to_value())).collect()
}
