//! A file of JSON lines, kept byte for byte: only a line that changes is written anew. Lines of other tools, and even
//! broken ones, stay as they are.

use super::records::Record;
use crate::plan::Problem;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
struct Line {
    bytes: Vec<u8>,
    record: Option<Record>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    lines: Vec<Line>,
    /// Lines that are no objects with an id. They stay as they are.
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    pub set: Map<String, Value>,
    pub unset: Vec<String>,
}

impl Change {
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.unset.is_empty()
    }
}

impl Lines {
    pub fn read(bytes: &[u8]) -> Lines {
        let mut lines = Lines::default();
        for (place, bytes) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let record = lines.record(place, bytes);
            lines.lines.push(Line { bytes: bytes.to_vec(), record });
        }
        lines
    }

    fn record(&mut self, place: usize, bytes: &[u8]) -> Option<Record> {
        let mut say = |said: &str| self.problems.push(Problem::new("", Some(place + 1), said));
        let Ok(text) = std::str::from_utf8(bytes) else {
            say("the line is not UTF-8; comity leaves it as it is");
            return None;
        };
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return None;
        }
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(map)) if map.get("id").is_some_and(Value::is_string) => {
                return Some(Record::from_map(map));
            }
            Ok(Value::Object(_)) => say("the line has no id; comity leaves it as it is"),
            Ok(_) => say("each line must be an object"),
            Err(error) => self.problems.push(Problem::json(&error, place + 1)),
        }
        None
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
        found.retain(|record| !gone(record));
        found
    }

    pub fn change(&mut self, id: &str, change: &Change) {
        let of_id = |line: &&mut Line| line.id() == Some(id);
        if let Some(line) = self.lines.iter_mut().rev().find(of_id) {
            line.change(change);
        }
    }

    pub fn add(&mut self, record: Record) {
        if let Some(last) = self.lines.last_mut()
            && !last.bytes.ends_with(b"\n")
        {
            last.bytes.push(b'\n');
        }
        let bytes = format!("{}\n", Value::Object(record.map().clone())).into_bytes();
        self.lines.push(Line { bytes, record: Some(record) });
    }

    pub fn remove(&mut self, id: &str) {
        self.lines.retain(|line| line.id() != Some(id));
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| line.bytes.iter().copied()).collect()
    }
}

impl Line {
    fn id(&self) -> Option<&str> {
        self.record.as_ref().and_then(|record| record.text("id"))
    }

    fn change(&mut self, change: &Change) {
        let Some(record) = &mut self.record else { return };
        let mut map = record.map().clone();
        map.retain(|key, _| !change.unset.contains(key));
        map.extend(change.set.clone());
        let end = if self.bytes.ends_with(b"\r\n") { "\r\n" } else { "\n" };
        self.bytes = format!("{}{end}", Value::Object(map.clone())).into_bytes();
        *record = Record::from_map(map);
    }
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
    fn only_a_line_that_changes_is_written_anew() {
        let before = "{\"z\" : 1, \"id\":\"a\", \"n\":[1,{\"x\":2}]}\r\n\
                      \n{\"other\" : true}\n{\"id\":\"b\"}";
        let mut lines = Lines::read(before.as_bytes());
        assert_eq!(lines.bytes(), before.as_bytes());
        lines.change("a", &set("n", json!("new")));
        lines.change("b", &set("answer", json!("x")));
        lines.add(Record::new().with("id", "c"));
        let after = String::from_utf8(lines.bytes()).unwrap();
        assert_eq!(
            after,
            "{\"z\":1,\"id\":\"a\",\"n\":\"new\"}\r\n\
             \n{\"other\" : true}\n{\"id\":\"b\",\"answer\":\"x\"}\n{\"id\":\"c\"}\n"
        );
        lines.change("b", &Change { set: Map::new(), unset: vec!["answer".to_owned()] });
        lines.remove("a");
        let after = String::from_utf8(lines.bytes()).unwrap();
        assert_eq!(after, "\n{\"other\" : true}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n");
    }

    #[test]
    fn lines_without_an_id_and_with_other_bytes_stay_and_are_said() {
        let before = b"{\"id\":7,\"x\":1}\n{\"id\":\"q\",\"t\":\"\xff\"}\n{\"x\":2}\n\xff\xfe\n{\"id\":\"a\"}\n";
        let lines = Lines::read(before);
        assert_eq!(lines.bytes(), before);
        let said: Vec<Option<usize>> = lines.problems.iter().map(|it| it.line).collect();
        assert_eq!(said, [Some(1), Some(2), Some(3), Some(4)]);
        assert_eq!(lines.records().len(), 1);
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
    }
}
