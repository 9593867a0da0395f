//! The parts that the checks of the three contracts are made of.

use crate::document::{Data, Node};
use crate::problem::Problems;
use comity_core::command::Extra;
use serde_json::{Map, Value};

const SHOWN_MAX: usize = 80;

pub(super) struct Check<'a> {
    pub(super) root: &'a Node,
    pub(super) found: Problems,
}

impl<'a> Check<'a> {
    /// Begins a check; none when the document is not even a list of keys.
    pub(super) fn of(root: &'a Node, what: &str) -> Result<Check<'a>, Problems> {
        let mut found = Problems::new();
        if !matches!(root.data, Data::Map(_)) {
            found.error(root.at, "", format!("the {what} is not a list of keys and values"));
            return Err(found);
        }
        Ok(Check { root, found })
    }

    /// Returns the text of a key that must be there and say something.
    pub(super) fn needed(&mut self, key: &str) -> Option<&'a Node> {
        let value = self.root.get(key).filter(|value| value.data != Data::Null);
        let Some(value) = value else {
            self.found.error(self.root.at, key, format!("{key} is missing"));
            return None;
        };
        if value.written().is_some_and(|text| !text.trim().is_empty()) {
            return Some(value);
        }
        let what = if value.written().is_some() { "is empty" } else { "is not a text" };
        self.found.error(value.at, key, format!("{key} {what}"));
        None
    }

    pub(super) fn wished(&mut self, key: &str) -> Option<&'a Node> {
        let value = self.root.get(key).filter(|value| value.data != Data::Null);
        match value {
            None => self.found.warning(self.root.at, key, format!("{key} is missing")),
            Some(value) if value.written().is_none() => {
                self.found.error(value.at, key, format!("{key} is not a text"));
            }
            Some(_) => {}
        }
        value.filter(|value| value.written().is_some())
    }

    pub(super) fn texts(&mut self, path: &str, value: Option<&Node>) {
        let Some(value) = value else { return };
        match &value.data {
            Data::Null | Data::Text(_) => {}
            Data::List(items) => {
                for (place, item) in items.iter().enumerate() {
                    let path = format!("{path}[{place}]");
                    match item.written() {
                        Some(text) if !text.trim().is_empty() => {}
                        Some(_) => self.found.error(item.at, &path, format!("{path} is empty")),
                        None => {
                            let message =
                                format!("{path} is not a text; put it in quotes if it has a colon");
                            self.found.error(item.at, &path, message);
                        }
                    }
                }
            }
            _ => self.found.error(value.at, path, format!("{path} is not a list")),
        }
    }

    /// Versions are written in many ways; all of them are version 1.
    pub(super) fn version(&mut self) {
        let Some(value) = self.wished("version") else { return };
        let text = value.written().unwrap_or_default();
        if text.trim().parse() != Ok(1.0_f64) {
            let message = format!("version {} is not known; it is 1.0", shown(&text));
            self.found.error(value.at, "version", message);
        }
    }
}

pub(super) fn shown(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_MAX).collect();
    if cut.len() < text.len() { format!("{cut:?}…") } else { format!("{cut:?}") }
}

pub(super) fn text(root: &Node, key: &str) -> String {
    root.get(key).and_then(Node::written).unwrap_or_default()
}

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

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

pub(super) fn unknown(root: &Node, known: &[&str]) -> Map<String, Value> {
    let entries = root.entries().iter().filter(|entry| !known.contains(&entry.key.as_str()));
    entries.map(|entry| (entry.key.clone(), entry.value.to_value())).collect()
}
