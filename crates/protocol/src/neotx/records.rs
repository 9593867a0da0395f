//! neo's files and what is in them: objects with neo's keys, in neo's order.

use serde_json::{Map, Value};

pub const DECISIONS_FILE: &str = "decisions.jsonl";
pub const DIRECTIVES_FILE: &str = "directives.jsonl";
/// What agents logged and nobody has digested yet.
pub const LOG_BUFFER_FILE: &str = "log-buffer.jsonl";
pub const INBOX_FILE: &str = "inbox.jsonl";
pub const ACTIVITY_FILE: &str = "activity.jsonl";
pub const MEMORY_FILE: &str = "memory.sqlite";

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
pub const DECISION_OUTCOMES: &[&str] = &["answeredAt", "answer", "expiredAt"];
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(Map<String, Value>);

impl Record {
    pub fn new() -> Record {
        Record::default()
    }

    pub fn from_map(map: Map<String, Value>) -> Record {
        Record(map)
    }

    /// Returns a value; null counts as absent.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

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

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Record {
        self.set(key, value);
        self
    }

    pub fn others(&self, known: &[&str]) -> Map<String, Value> {
        let other = |(key, _): &(&String, &Value)| !known.contains(&key.as_str());
        self.0.iter().filter(other).map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    pub fn map(&self) -> &Map<String, Value> {
        &self.0
    }

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

pub fn blocker_message(agent: Option<&str>, message: &str) -> String {
    let by = agent.map(|agent| format!(" ({agent})")).unwrap_or_default();
    format!("[BLOCKER]{by} {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_come_in_neos_order_and_unknown_ones_after_them() {
        let record = Record::new().with("extra", 1).with("question", "q").with("id", "dec_1");
        let keys: Vec<String> = record.in_order(DECISION_KEYS).map().keys().cloned().collect();
        assert_eq!(keys, ["id", "question", "extra"]);
    }
}
