//! A file of lines, kept byte for byte: only a line that changes is written anew, and of that line only what
//! changes. So key order, long numbers, other tools' lines and even broken ones stay as they are.

use super::records::Record;
use crate::plan::Problem;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// One line with its end.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    bytes: Vec<u8>,
    record: Option<Record>,
}

/// A file of lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    lines: Vec<Line>,
    /// Lines that are no JSON objects.
    pub problems: Vec<Problem>,
    /// Lines that stay as they are because they cannot be told apart or written back.
    pub odd: Vec<Problem>,
    /// The ids of such lines, where they have one.
    pub untouchable: BTreeSet<String>,
}

/// What is to become of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Values to set.
    pub set: Map<String, Value>,
    /// Keys to take out.
    pub unset: Vec<String>,
}

impl Change {
    /// Tells whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.unset.is_empty()
    }
}

fn problem(place: usize, message: &str) -> Problem {
    Problem {
        message: message.to_owned(),
        path: String::new(),
        line: Some(place + 1),
        column: None,
    }
}

impl Lines {
    /// Reads a file.
    pub fn read(bytes: &[u8]) -> Lines {
        let mut lines = Lines::default();
        for (place, bytes) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let record = lines.record(place, bytes);
            lines.lines.push(Line { bytes: bytes.to_vec(), record });
        }
        lines
    }

    fn record(&mut self, place: usize, bytes: &[u8]) -> Option<Record> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return None;
        }
        let record = match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(map)) => Record::from_map(map),
            Ok(_) => {
                self.problems.push(problem(place, "each line must be an object"));
                return None;
            }
            Err(error) => {
                self.problems.push(Problem::json(&error, place + 1));
                return None;
            }
        };
        if std::str::from_utf8(bytes).is_err() {
            self.odd
                .push(problem(place, "it has bytes that are no UTF-8; the line stays as it is"));
            self.untouchable.extend(record.text("id").map(str::to_owned));
            return None;
        }
        if record.text("id").is_none() {
            self.odd.push(problem(place, "it has no id; the line stays as it is"));
            return None;
        }
        Some(record)
    }

    /// Returns what is in the file: the last line of each id, as neo reads it, in the order of the first ones. A
    /// tombstone takes an id away.
    pub fn records(&self) -> Vec<&Record> {
        let mut found: Vec<&Record> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for record in self.lines.iter().filter_map(|line| line.record.as_ref()) {
            let id = record.text("id").unwrap_or_default();
            match places.get(id).and_then(|place| found.get_mut(*place)) {
                Some(before) => *before = record,
                None => {
                    places.insert(id, found.len());
                    found.push(record);
                }
            }
        }
        let gone = |record: &&Record| {
            record.text("action") == Some("tombstone") && record.get("trigger").is_none()
        };
        found.retain(|record| {
            !gone(record) && !self.untouchable.contains(record.text("id").unwrap_or_default())
        });
        found
    }

    /// Changes the line that counts for an id.
    pub fn change(&mut self, id: &str, change: &Change) {
        let of_id = |line: &&mut Line| line.id() == Some(id);
        if let Some(line) = self.lines.iter_mut().rev().find(of_id) {
            line.change(change);
        }
    }

    /// Adds a line.
    pub fn add(&mut self, record: Record) {
        if let Some(last) = self.lines.last_mut()
            && !last.bytes.ends_with(b"\n")
        {
            last.bytes.push(b'\n');
        }
        let bytes = format!("{}\n", Value::Object(record.map().clone())).into_bytes();
        self.lines.push(Line { bytes, record: Some(record) });
    }

    /// Takes every line of an id out.
    pub fn remove(&mut self, id: &str) {
        self.lines.retain(|line| line.id() != Some(id));
    }

    /// Returns the file.
    pub fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| line.bytes.iter().copied()).collect()
    }
}

impl Line {
    fn id(&self) -> Option<&str> {
        self.record.as_ref().and_then(|record| record.text("id"))
    }

    fn change(&mut self, change: &Change) {
        let (Some(record), Ok(text)) = (&mut self.record, std::str::from_utf8(&self.bytes)) else {
            return;
        };
        let mut parts: Vec<String> = Vec::new();
        let mut written: BTreeSet<String> = BTreeSet::new();
        for member in members(text) {
            if change.unset.contains(&member.key) {
                continue;
            }
            let key = text.get(member.name).unwrap_or_default();
            let value = match change.set.get(&member.key) {
                Some(value) => value.to_string(),
                None => text.get(member.value).unwrap_or_default().to_owned(),
            };
            parts.push(format!("{key}:{value}"));
            written.insert(member.key);
        }
        for (key, value) in change.set.iter().filter(|(key, _)| !written.contains(*key)) {
            parts.push(format!("{}:{value}", Value::from(key.as_str())));
        }
        let mut map = record.map().clone();
        map.retain(|key, _| !change.unset.contains(key));
        map.extend(change.set.clone());
        let end = if text.ends_with("\r\n") { "\r\n" } else { "\n" };
        let line = format!("{{{}}}{end}", parts.join(",")).into_bytes();
        *record = Record::from_map(map);
        self.bytes = line;
    }
}

/// A key and its value, by their places in the text.
struct Member {
    key: String,
    name: Range<usize>,
    value: Range<usize>,
}

/// Divides an object that is known to be JSON into its members, whatever is in them.
fn members(text: &str) -> Vec<Member> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let blank = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let Some(open) = text.find('{') else { return found };
    let mut at = blank(open + 1);
    while bytes.get(at) == Some(&b'"') {
        let name = at..string_end(bytes, at);
        let key = serde_json::from_str(text.get(name.clone()).unwrap_or_default());
        let Ok(key) = key else { return found };
        // After the key comes the colon.
        let start = blank(blank(name.end) + 1);
        let end = value_end(bytes, start);
        let shown = text.get(start..end).unwrap_or_default().trim_end().len();
        found.push(Member { key, name, value: start..start + shown });
        at = blank(end + 1);
    }
    found
}

/// The place after the text that begins here.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The place of the comma or brace after the value that begins here.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' | b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn set(key: &str, value: Value) -> Change {
        Change { set: Map::from_iter([(key.to_owned(), value)]), unset: Vec::new() }
    }

    #[test]
    fn only_what_changes_is_written_anew() {
        let before = "{\"zeta\" : 12345678901234567890123, \"id\":\"a\", \"s\":\"}\\\",{\", \"n\":[1,{\"x\":2}]}\r\n\
                      \n{\"other\":true}\n{\"id\":\"b\"}";
        let mut lines = Lines::read(before.as_bytes());
        assert_eq!(lines.bytes(), before.as_bytes());
        lines.change("a", &set("n", json!("new")));
        lines.change("b", &set("answer", json!("x")));
        lines.add(Record::new().with("id", "c"));
        let after = String::from_utf8(lines.bytes()).unwrap();
        assert_eq!(
            after,
            "{\"zeta\":12345678901234567890123,\"id\":\"a\",\"s\":\"}\\\",{\",\"n\":\"new\"}\r\n\
             \n{\"other\":true}\n{\"id\":\"b\",\"answer\":\"x\"}\n{\"id\":\"c\"}\n"
        );
        lines.change("b", &Change { set: Map::new(), unset: vec!["answer".to_owned()] });
        lines.remove("a");
        let after = String::from_utf8(lines.bytes()).unwrap();
        assert_eq!(after, "\n{\"other\":true}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n");
    }

    #[test]
    fn lines_without_an_id_and_with_other_bytes_stay_and_are_said() {
        let before = b"{\"id\":7,\"x\":1}\n{\"id\":\"q\",\"t\":\"\xff\"}\n{\"x\":2}\n\xff\xfe\n{\"id\":\"a\"}\n";
        let lines = Lines::read(before);
        assert_eq!(lines.bytes(), before);
        let odd: Vec<Option<usize>> = lines.odd.iter().map(|it| it.line).collect();
        assert_eq!(odd, [Some(1), Some(2), Some(3)]);
        assert_eq!(lines.problems.len(), 1, "what is no JSON at all");
        assert_eq!(lines.records().len(), 1);
        assert!(lines.untouchable.contains("q"));
    }

    #[test]
    fn the_last_line_of_an_id_counts_and_a_tombstone_takes_it_away() {
        let text = "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":2}\n{\"id\":\"a\",\"n\":3}\n\
                    {\"action\":\"tombstone\",\"id\":\"b\",\"reason\":\"deleted\"}\n";
        let mut lines = Lines::read(text.as_bytes());
        assert_eq!(lines.records(), [&Record::new().with("id", "a").with("n", 3)]);
        lines.change("a", &set("n", json!(4)));
        let after = String::from_utf8(lines.bytes()).unwrap();
        assert_eq!(after, text.replace("\"n\":3", "\"n\":4"));
    }

    proptest! {
        #[test]
        fn any_file_is_written_back_as_it_was(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Lines::read(&bytes).bytes(), bytes);
        }

        #[test]
        fn a_change_of_one_key_leaves_the_others_as_they_were(
            keys in prop::collection::btree_set("[a-z\"\\\\{}:,]{1,5}", 1..6),
            texts in prop::collection::vec("\\PC{0,12}", 6),
        ) {
            let mut record = Record::new().with("id", "it");
            for (key, text) in keys.iter().zip(&texts) {
                record.set(key, json!([text, {"deep": text}]));
            }
            let line = format!("{}\n", Value::Object(record.map().clone()));
            let mut lines = Lines::read(line.as_bytes());
            let first = keys.iter().next().unwrap();
            lines.change("it", &set(first, json!("set")));
            record.set(first, "set");
            let wanted = format!("{}\n", Value::Object(record.map().clone()));
            prop_assert_eq!(String::from_utf8(lines.bytes()).unwrap(), wanted);
        }
    }
}
