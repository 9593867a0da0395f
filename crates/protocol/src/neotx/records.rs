//! neo's files: one JSON object a line. A line that was read is written back as it was, unknown keys, order
//! and all; what is set later goes to its place, or to the end.

use crate::plan::Problem;
use serde_json::{Map, Value};

/// The files of a supervisor.
pub const DECISIONS_FILE: &str = "decisions.jsonl";
/// Directives.
pub const DIRECTIVES_FILE: &str = "directives.jsonl";
/// What agents logged and nobody has digested yet.
pub const LOG_BUFFER_FILE: &str = "log-buffer.jsonl";
/// Messages to the supervisor.
pub const INBOX_FILE: &str = "inbox.jsonl";
/// What the supervisor did.
pub const ACTIVITY_FILE: &str = "activity.jsonl";
/// Memories and tasks.
pub const MEMORY_FILE: &str = "memory.sqlite";

/// Keys of a decision, in neo's order.
pub const DECISION_KEYS: &[&str] = &[
    "id",
    "question",
    "context",
    "options",
    "type",
    "source",
    "metadata",
    "createdAt",
    "expiresAt",
    "defaultAnswer",
    "answeredAt",
    "answer",
    "expiredAt",
];
/// Keys of a directive, in neo's order.
pub const DIRECTIVE_KEYS: &[&str] = &[
    "id",
    "trigger",
    "action",
    "description",
    "priority",
    "enabled",
    "createdAt",
    "expiresAt",
    "lastTriggeredAt",
];
/// Keys of an entry of the log buffer, in neo's order.
pub const LOG_KEYS: &[&str] =
    &["id", "type", "message", "agent", "runId", "repo", "target", "timestamp", "consolidatedAt"];
/// Keys of a message, in neo's order.
pub const INBOX_KEYS: &[&str] = &["id", "from", "text", "timestamp", "processedAt"];
/// Keys of an activity, in neo's order.
pub const ACTIVITY_KEYS: &[&str] = &["id", "type", "summary", "detail", "timestamp"];
/// Columns of a memory, in neo's order.
pub const MEMORY_COLUMNS: &[&str] = &[
    "id",
    "type",
    "scope",
    "content",
    "source",
    "tags",
    "created_at",
    "last_accessed_at",
    "access_count",
    "expires_at",
    "outcome",
    "run_id",
    "category",
    "severity",
    "subtype",
];
/// Columns of a task, in neo's order.
pub const TASK_COLUMNS: &[&str] = &[
    "id",
    "title",
    "scope",
    "status",
    "priority",
    "initiative",
    "depends_on",
    "context",
    "run_id",
    "created_at",
    "updated_at",
];

/// One object of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(Map<String, Value>);

impl Record {
    /// Starts an empty one.
    pub fn new() -> Record {
        Record::default()
    }

    /// Makes one of a map.
    pub fn from_map(map: Map<String, Value>) -> Record {
        Record(map)
    }

    /// Returns a value; null counts as absent.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// Returns a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// Sets a value in its place; nothing for null, as neo leaves out what is undefined.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        if !value.is_null() {
            self.0.insert(key.to_owned(), value);
        }
    }

    /// Sets a value, and returns the record.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Record {
        self.set(key, value);
        self
    }

    /// Returns what is not among the known keys.
    pub fn others(&self, known: &[&str]) -> Map<String, Value> {
        let other = |(key, _): &(&String, &Value)| !known.contains(&key.as_str());
        self.0.iter().filter(other).map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Returns the whole.
    pub fn map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Returns the whole with the known keys in neo's order and the others after them.
    pub fn in_order(&self, known: &[&str]) -> Record {
        let mut out = Map::new();
        for key in known {
            if let Some(value) = self.0.get(*key) {
                out.insert((*key).to_owned(), value.clone());
            }
        }
        out.extend(self.others(known));
        Record(out)
    }
}

/// Reads a file of lines. Every line that cannot be read is a problem; the good ones come back all the same.
pub fn read_lines(text: &str) -> (Vec<Record>, Vec<Problem>) {
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    for (place, line) in text.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}');
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(map)) => records.push(Record(map)),
            Ok(_) => problems.push(Problem {
                message: "each line must be an object".to_owned(),
                path: String::new(),
                line: Some(place + 1),
                column: None,
            }),
            Err(error) => problems.push(Problem::json(&error, place + 1)),
        }
    }
    (records, problems)
}

/// Writes a file of lines.
pub fn write_lines(records: &[Record]) -> String {
    records.iter().map(|record| format!("{}\n", Value::Object(record.0.clone()))).collect()
}

/// Takes the last line of each id, as neo does, in the order of the first ones; a tombstone takes all.
pub fn settled(records: Vec<Record>) -> Vec<Record> {
    let mut kept: Vec<Record> = Vec::new();
    let mut places: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for record in records {
        let id = record.text("id").unwrap_or_default().to_owned();
        match places.get(&id).and_then(|place| kept.get_mut(*place)) {
            Some(before) => *before = record,
            None => {
                places.insert(id, kept.len());
                kept.push(record);
            }
        }
    }
    kept.retain(|record| {
        record.text("action") != Some("tombstone") || record.get("trigger").is_some()
    });
    kept
}

/// The text of a message that tells the supervisor about an answer.
pub fn answer_message(id: &str, answer: &str) -> String {
    format!("decision:answer {id} {answer}")
}

/// The text of a message that tells the supervisor about a blocker.
pub fn blocker_message(agent: Option<&str>, message: &str) -> String {
    let by = agent.map(|agent| format!(" ({agent})")).unwrap_or_default();
    format!("[BLOCKER]{by} {message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DECISIONS: &str = include_str!("../../tests/golden/neotx/decisions.jsonl");
    const DIRECTIVES: &str = include_str!("../../tests/golden/neotx/directives.jsonl");
    const LOG: &str = include_str!("../../tests/golden/neotx/log-buffer.jsonl");

    #[test]
    fn files_are_written_back_byte_for_byte() {
        for text in [DECISIONS, DIRECTIVES, LOG] {
            let (records, problems) = read_lines(text);
            assert_eq!(problems, []);
            assert_eq!(write_lines(&records), text);
        }
    }

    #[test]
    fn the_last_line_of_an_id_wins_and_a_tombstone_takes_it_away() {
        let text = "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":2}\n{\"id\":\"a\",\"n\":3}\n\
                    {\"action\":\"tombstone\",\"id\":\"b\",\"reason\":\"deleted\"}\n";
        let (records, _) = read_lines(text);
        assert_eq!(write_lines(&settled(records)), "{\"id\":\"a\",\"n\":3}\n");
    }

    #[test]
    fn known_keys_come_in_neos_order_and_unknown_ones_after_them() {
        let record = Record::new().with("extra", 1).with("question", "q").with("id", "dec_1");
        assert_eq!(
            write_lines(&[record.in_order(DECISION_KEYS)]),
            "{\"id\":\"dec_1\",\"question\":\"q\",\"extra\":1}\n"
        );
    }

    #[test]
    fn bad_lines_are_said_and_good_ones_kept() {
        let (records, problems) = read_lines("{\"id\":\"a\"}\nnope\n3\n\n{\"id\":\"b\"}");
        assert_eq!(records.len(), 2);
        let lines: Vec<Option<usize>> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [Some(2), Some(3)]);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(keys in prop::collection::vec("[a-zA-Z_]{1,8}", 0..6), text in "\\PC*") {
            let mut record = Record::new();
            for key in &keys {
                record.set(key, text.clone());
            }
            let written = write_lines(std::slice::from_ref(&record));
            let (read, problems) = read_lines(&written);
            prop_assert!(problems.is_empty());
            prop_assert_eq!(write_lines(&read), written);
            prop_assert_eq!(read, vec![record]);
        }

        #[test]
        fn no_text_makes_reading_panic(text in "\\PC*") {
            let (records, _) = read_lines(&text);
            let _ = settled(records);
        }
    }
}
