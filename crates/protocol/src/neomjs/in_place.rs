//! Setting one key of a contract where it stands: order, comments and everything else stay as they were written.

use super::envelope::is_fence;
use super::task::STYLE;
use crate::document::{Data, Entry, Node, to_yaml};
use crate::markdown::indent;
use serde_json::{Map, Value, json};
use std::ops::Range;

/// A document inside a text: its tree, with the places of the text, and the line after its last one.
pub(super) struct Inside<'a> {
    pub(super) text: &'a str,
    pub(super) root: &'a Node,
    pub(super) end: usize,
}

impl Inside<'_> {
    /// Sets or removes a key, of the whole or of the map that `within` names. None where that cannot be done line
    /// by line; whoever asks reads the result to see that it says what it should.
    pub(super) fn set(
        &self,
        within: Option<&str>,
        key: &str,
        value: Option<&Value>,
    ) -> Option<String> {
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let root = Block { lines: &lines, entries: self.root.entries(), end: self.end };
        let Some(outer) = within else { return root.set(key, value) };
        let Some(place) = root.place(outer) else {
            return value.map_or_else(
                || Some(self.text.to_owned()),
                |value| root.set(outer, Some(&json!({key: value}))),
            );
        };
        let inner = self.root.get(outer)?;
        let block = Block { lines: &lines, entries: inner.entries(), end: root.range(place)?.end };
        let last = block.entries.len() == 1 && block.place(key).is_some();
        match block.set(key, value) {
            Some(_) if last && value.is_none() => root.set(outer, None),
            Some(text) => Some(text),
            None => root.set(outer, whole(inner, key, value).as_ref()),
        }
    }
}

/// A map that is not written line by line, with one key set.
fn whole(map: &Node, key: &str, value: Option<&Value>) -> Option<Value> {
    let mut out = match map.to_value() {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    match value {
        Some(value) => drop(out.insert(key.to_owned(), value.clone())),
        None => drop(out.shift_remove(key)),
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Keys and values, each on lines of its own.
struct Block<'a> {
    lines: &'a [&'a str],
    entries: &'a [Entry],
    end: usize,
}

impl Block<'_> {
    fn place(&self, key: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.key == key)
    }

    fn set(&self, key: &str, value: Option<&Value>) -> Option<String> {
        let last = self.entries.len().checked_sub(1)?;
        let (range, value) = match (self.place(key), value) {
            (Some(place), value) => (self.range(place)?, value),
            (None, Some(value)) => {
                let end = self.range(last)?.end;
                (end..end, Some(value))
            }
            (None, None) => return Some(self.lines.concat()),
        };
        let ending = match self.lines.first() {
            Some(line) if line.ends_with("\r\n") => "\r\n",
            _ => "\n",
        };
        let mut out = self.lines.get(..range.start)?.concat();
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(ending);
        }
        if let Some(value) = value {
            let margin = " ".repeat(self.margin()?);
            for line in to_yaml(&json!({key: value}), &STYLE).lines() {
                let margin = if line.is_empty() { "" } else { &margin };
                out.push_str(&format!("{margin}{line}{ending}"));
            }
        }
        out.push_str(&self.lines.get(range.end..)?.concat());
        Some(out)
    }

    /// How far the keys are indented; all of them must be.
    fn margin(&self) -> Option<usize> {
        let column = self.entries.first()?.key_at.column;
        let same = self.entries.iter().all(|entry| entry.key_at.column == column);
        let margin = usize::try_from(column).ok()?.checked_sub(1)?;
        same.then_some(margin)
    }

    /// The lines of one entry, without empty lines and comments after it.
    fn range(&self, place: usize) -> Option<Range<usize>> {
        let entry = self.entries.get(place)?;
        let margin = self.margin()?;
        let line = |entry: &Entry| usize::try_from(entry.key_at.line).ok()?.checked_sub(1);
        let start = line(entry)?;
        let before = self.lines.get(start)?.get(..margin)?;
        let mut end = self.entries.get(place + 1).map_or(Some(self.end), line)?;
        if !before.bytes().all(|byte| byte == b' ') || end <= start || end > self.lines.len() {
            return None;
        }
        let is_text = matches!(entry.value.data, Data::Text(_));
        let after = |line: &&str| {
            let said = line.trim();
            let comment = said.starts_with('#') && (indent(line) <= margin || !is_text);
            said.is_empty() || comment || is_fence(line)
        };
        while end > start + 1 && self.lines.get(end - 1).is_some_and(after) {
            end -= 1;
        }
        Some(start..end)
    }
}
