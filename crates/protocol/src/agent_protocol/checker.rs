//! The parts that the checks of both contracts are made of.
//!
//! The original validator is a program in JavaScript, and its verdicts follow from that language: what
//! counts as missing, what a pattern matches, how a list is put into a message.

use super::time::is_iso_8601;
use crate::contract::Mode;
use crate::document::{Data, Node, Place, looks_like_time};
use crate::problem::Problems;
use comity_core::pattern::PatternError;

const SHOWN_MAX: usize = 200;

pub(super) struct Checker<'a> {
    pub(super) root: &'a Node,
    pub(super) mode: Mode,
    pub(super) found: Problems,
}

impl<'a> Checker<'a> {
    pub(super) fn new(root: &'a Node, mode: Mode) -> Checker<'a> {
        Checker { root, mode, found: Problems::new() }
    }

    /// Puts a value into a message; long ones are cut where the exact words do not matter.
    pub(super) fn shown(&self, value: &Node) -> String {
        let text = text_of(value);
        if self.mode == Mode::Compat || text.chars().count() <= SHOWN_MAX {
            return text;
        }
        text.chars().take(SHOWN_MAX).chain(['…']).collect()
    }

    pub(super) fn error(&mut self, at: Place, path: &str, message: impl Into<String>) {
        self.found.error(at, path, message);
    }

    pub(super) fn required(&mut self, key: &str) -> Option<&'a Node> {
        let value = truthy(self.root, key);
        if value.is_none() {
            let at = self.root.get(key).map_or(self.root.at, |value| value.at);
            self.error(at, key, format!("Missing required field: {key}"));
        }
        value
    }

    pub(super) fn version(&mut self) {
        let Some(value) = self.required("version") else { return };
        if value.text() == Some("1") {
            return;
        }
        let one = matches!(&value.data, Data::Number(numeral) if numeral.whole() == Some(1));
        if one && self.mode == Mode::Full {
            let message = "version 1 is not in quotes; write it as \"1\"";
            self.found.warning(value.at, "version", message);
            return;
        }
        let message = format!("Unsupported version: {} (expected 1)", self.shown(value));
        self.error(value.at, "version", message);
    }

    pub(super) fn id(&mut self, key: &str, prefix: &str, form: &str) {
        let Some(value) = self.required(key) else { return };
        let text = self.shown(value);
        let digits = text.strip_prefix(prefix).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            self.error(value.at, key, format!("Invalid {key} format: {text} (expected {form})"));
        } else if self.mode != Mode::Compat && value.text().is_none() {
            self.error(value.at, key, format!("Field {key} must be a string"));
        }
    }

    pub(super) fn required_list(&mut self, key: &str) -> Option<&'a [Node]> {
        let value = self.required(key)?;
        self.list(key, value)
    }

    pub(super) fn list(&mut self, key: &str, value: &'a Node) -> Option<&'a [Node]> {
        match &value.data {
            Data::List(items) => Some(items),
            _ => {
                self.error(value.at, key, format!("Field {key} must be an array"));
                None
            }
        }
    }

    pub(super) fn part(&mut self, path: &str, item: &'a Node, key: &str) -> Option<&'a Node> {
        let value = truthy(item, key);
        if value.is_none() {
            let at = item.get(key).map_or(item.at, |value| value.at);
            self.error(at, &format!("{path}.{key}"), format!("{path}: missing {key}"));
        }
        value
    }

    /// Checks the entries of a list: each has these parts, some of which must be one of some words.
    pub(super) fn each(&mut self, list: &str, items: &'a [Node], parts: &[(&str, &[&str])]) {
        for (place, item) in items.iter().enumerate() {
            let path = format!("{list}[{place}]");
            // Where the original throws: an entry that is nothing at all.
            if item.data == Data::Null {
                self.error(item.at, &path, format!("{path}: must be an object"));
                continue;
            }
            for (key, words) in parts {
                let Some(value) = self.part(&path, item, key) else { continue };
                if !words.is_empty() && !value.text().is_some_and(|text| words.contains(&text)) {
                    let message = format!("{path}: invalid {key} '{}'", self.shown(value));
                    self.error(value.at, &format!("{path}.{key}"), message);
                }
            }
        }
    }

    /// Beyond the original: a text that says something.
    pub(super) fn says_something(&mut self, path: &str, item: &Node, key: &str) {
        let Some(value) = truthy(item, key) else { return };
        let wrong = match value.text() {
            None => "must be a string",
            Some(text) if text.trim().is_empty() => "is blank",
            Some(_) => return,
        };
        self.error(value.at, &format!("{path}.{key}"), format!("{path}: {key} {wrong}"));
    }

    /// Beyond the original: a time that is one.
    pub(super) fn time(&mut self, path: &str, item: &Node, key: &str) {
        let Some(value) = truthy(item, key) else { return };
        if !value.text().is_some_and(is_iso_8601) {
            let (dot, colon) = if path.is_empty() { ("", "") } else { (".", ": ") };
            let shown = self.shown(value);
            let message = format!("{path}{colon}{key} '{shown}' is not an ISO 8601 time");
            self.error(value.at, &format!("{path}{dot}{key}"), message);
        }
    }

    /// Beyond the original: a path below the root. Returns it in its one spelling.
    pub(super) fn path(
        &mut self,
        path: &str,
        value: &Node,
        parse: fn(&str) -> Result<String, PatternError>,
    ) -> Option<String> {
        let Some(text) = value.text() else {
            self.error(value.at, path, format!("{path} must be a string"));
            return None;
        };
        match parse(text) {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                let what = match error {
                    PatternError::OutsideRoot | PatternError::Absolute => "leaves the root",
                    _ => "is no path below the root",
                };
                let message = format!("{path}: '{}' {what} ({error})", self.shown(value));
                self.error(value.at, path, message);
                None
            }
        }
    }
}

/// The text that JavaScript makes of a value; fractions and dates stay as they are written.
fn text_of(value: &Node) -> String {
    match &value.data {
        Data::Null => "null".to_owned(),
        Data::Number(numeral) => {
            numeral.whole().map_or_else(|| numeral.text.clone(), |whole| whole.to_string())
        }
        Data::List(items) => {
            let item = |item: &Node| match item.data {
                Data::Null => String::new(),
                _ => text_of(item),
            };
            items.iter().map(item).collect::<Vec<_>>().join(",")
        }
        Data::Map(_) => "[object Object]".to_owned(),
        Data::Bool(_) | Data::Text(_) => value.written().unwrap_or_default(),
    }
}

/// Returns a value unless it counts as missing: empty text, zero, false, null.
pub(super) fn truthy<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).filter(|value| is_truthy(value))
}

fn is_truthy(value: &Node) -> bool {
    match &value.data {
        Data::Null | Data::Bool(false) => false,
        Data::Text(text) => !text.is_empty(),
        // Infinity is true, "not a number" is not.
        Data::Number(numeral) => match &numeral.value {
            Some(number) => number.as_f64() != Some(0.0),
            None => !numeral.text.to_ascii_lowercase().contains("nan"),
        },
        Data::Bool(true) | Data::List(_) | Data::Map(_) => true,
    }
}

/// Tells whether the original sees an object: maps, lists, and dates without quotes.
pub(super) fn is_object(value: &Node, mode: Mode) -> bool {
    matches!(value.data, Data::Map(_) | Data::List(_)) || is_date(value, mode)
}

/// A date without quotes is an object to the original.
pub(super) fn is_date(value: &Node, mode: Mode) -> bool {
    mode == Mode::Compat && value.plain && value.text().is_some_and(looks_like_time)
}
