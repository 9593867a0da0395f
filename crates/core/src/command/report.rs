//! What an agent reports when it hands a result in, whatever protocol it came by.

use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A result contract, as the rules see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkReport {
    /// The kind of contract that reported it, such as `result`.
    pub contract: String,
    /// The task that the report names.
    #[serde(default)]
    pub task_id: Option<String>,
    /// How the work ended.
    pub status: ReportStatus,
    /// What the agent says it changed.
    #[serde(default)]
    pub files_modified: Vec<ReportedFile>,
    /// Whether the result lists changed files; an empty list says that nothing changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lists_files: bool,
    /// What the agent says it did.
    #[serde(default)]
    pub log: Vec<ReportedLine>,
    /// What the agent could not settle.
    #[serde(default)]
    pub issues: Vec<ReportedIssue>,
    /// When it ended, in the agent's words.
    #[serde(default)]
    pub completed_at: Option<String>,
    /// The pull request that the report names.
    #[serde(default)]
    pub pr: Option<String>,
    /// What the agent says about gates.
    #[serde(default)]
    pub evidence: Vec<ReportedEvidence>,
    /// Fields that the contract does not know; comity keeps them.
    #[serde(default)]
    pub other: Map<String, Value>,
    /// The order of the keys, if it differs from the protocol's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

word_enum! {
    /// How the work ended.
    #[derive(JsonSchema)]
    pub enum ReportStatus {
        /// Ready for review.
        Completed => "completed",
        /// The attempt failed.
        Failed => "failed",
        /// It cannot go on without something.
        Blocked => "blocked",
    }
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedFile {
    /// The path, relative to the root.
    pub path: String,
    /// What was done with the file.
    pub action: FileAction,
    /// What else is said about it.
    #[serde(flatten)]
    pub more: Extra,
}

impl ReportedFile {
    pub fn new(path: impl Into<String>, action: FileAction) -> ReportedFile {
        ReportedFile { path: path.into(), action, more: Extra::default() }
    }
}

/// What an object has beyond the fields that its contract knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extra {
    /// Fields that comity does not know.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub other: Map<String, Value>,
    /// The order of the keys, if it differs from the protocol's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

impl Extra {
    /// Takes from an object what is not known, and the order of its keys when it is an unusual one.
    pub fn of(given: Map<String, Value>, known: &[&str]) -> Extra {
        let is_known = |key: &&String| known.contains(&key.as_str());
        let keys: Vec<String> = given.keys().cloned().collect();
        let usual = known.iter().copied().filter(|key| given.contains_key(*key));
        let unknown = keys.iter().filter(|key| !is_known(key)).map(String::as_str);
        let is_usual = usual.chain(unknown).eq(keys.iter().map(String::as_str));
        let other = given.into_iter().filter(|(key, _)| !is_known(&key)).collect();
        Extra { other, keys: if is_usual { Vec::new() } else { keys } }
    }

    /// Puts known fields and the others together again, in the order that they had. Where both name one, the known
    /// field counts.
    pub fn whole(&self, known: Map<String, Value>) -> Map<String, Value> {
        let mut all = known;
        for (key, value) in &self.other {
            all.entry(key).or_insert_with(|| value.clone());
        }
        let first = self.keys.iter().filter_map(|key| Some((key.clone(), all.get(key)?.clone())));
        let mut out: Map<String, Value> = first.collect();
        for (key, value) in all {
            out.entry(key).or_insert(value);
        }
        out
    }
}

/// What a result claims about a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedEvidence {
    pub gate: String,
    /// Whether the work passed the gate.
    pub pass: bool,
    /// What the agent says about it.
    #[serde(default)]
    pub report: Option<String>,
}

word_enum! {
    /// What was done with a file.
    #[derive(JsonSchema)]
    pub enum FileAction {
        /// It is new.
        Created => "created",
        /// It was there before.
        Modified => "modified",
        /// It is gone.
        Deleted => "deleted",
        /// One of these; the contract does not say which.
        Changed => "changed",
    }
}

/// A line of the agent's own log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedLine {
    /// `info`, `tip`, `warn`, `error` or `critical`.
    pub level: String,
    pub message: String,
    /// When, in the agent's words.
    #[serde(default)]
    pub timestamp: Option<String>,
    /// What else is said about it.
    #[serde(flatten)]
    pub more: Extra,
}

impl ReportedLine {
    pub fn new(level: impl Into<String>, message: impl Into<String>) -> ReportedLine {
        ReportedLine {
            level: level.into(),
            message: message.into(),
            timestamp: None,
            more: Extra::default(),
        }
    }
}

/// Something the agent could not settle by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedIssue {
    #[serde(rename = "type")]
    pub kind: IssueKind,
    pub description: String,
    /// What else is said about it.
    #[serde(flatten)]
    pub more: Extra,
}

impl ReportedIssue {
    pub fn new(kind: IssueKind, description: impl Into<String>) -> ReportedIssue {
        ReportedIssue { kind, description: description.into(), more: Extra::default() }
    }
}

/// The kind of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssueKind {
    /// The work cannot go on.
    Blocker,
    /// Somebody must answer it.
    Question,
    /// Somebody should know it.
    Concern,
}

/// The level of a log line that is worth knowing beyond the task.
pub const TIP_LEVEL: &str = "tip";
/// The key of a contract that says why the agent stopped, apart from what it asks.
pub const REASON_KEY: &str = "reason";
/// The key of a contract that says what one must know to answer what it asks.
pub const CONTEXT_KEY: &str = "context";
/// Levels of log lines that tell what went wrong.
const GRAVE: [&str; 2] = ["critical", "error"];

/// Returns what a log says went wrong.
pub fn grave_lines(log: &[ReportedLine]) -> Vec<&str> {
    let grave = log.iter().filter(|line| GRAVE.contains(&line.level.as_str()));
    grave.map(|line| line.message.trim_end()).filter(|text| !text.is_empty()).collect()
}

impl WorkReport {
    /// Returns the files that it says were changed; none when it does not say.
    pub fn listed_files(&self) -> Option<&[ReportedFile]> {
        let says = self.lists_files || !self.files_modified.is_empty();
        says.then_some(self.files_modified.as_slice())
    }

    /// Returns what the agent learnt that is of use elsewhere.
    pub fn tips(&self) -> Vec<String> {
        let tips = self.log.iter().filter(|line| line.level == TIP_LEVEL);
        tips.map(|line| line.message.clone()).collect()
    }

    /// Returns why the agent stopped, where it says so apart from what it asks.
    pub fn reason(&self) -> Option<&str> {
        self.said_apart(REASON_KEY)
    }

    /// Returns what one must know to answer what the agent asks, where it says so apart from that.
    pub fn context(&self) -> Option<&str> {
        self.said_apart(CONTEXT_KEY)
    }

    fn said_apart(&self, key: &str) -> Option<&str> {
        let said = self.other.get(key).and_then(Value::as_str).map(str::trim);
        said.filter(|said| !said.is_empty())
    }

    /// Returns what the agent could not settle, each thing once.
    pub fn questions(&self) -> Vec<&str> {
        let mut questions = Vec::new();
        for issue in &self.issues {
            let question = issue.description.trim();
            if !questions.contains(&question) {
                questions.push(question);
            }
        }
        questions
    }

    /// Returns all that the agent stopped for: the reason, and everything that it asks. Without either it is what
    /// its log says last.
    pub fn needs(&self) -> Option<String> {
        let mut parts = self.questions();
        if let Some(reason) = self.reason().filter(|reason| !parts.contains(reason)) {
            parts.insert(0, reason);
        }
        if parts.is_empty() {
            parts.extend(self.cause());
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns the gravest thing that the agent says of why it stopped. A reason that stands apart counts more
    /// than a question, which says what is wanted and not why.
    pub fn cause(&self) -> Option<&str> {
        let blocker = self.issues.iter().find(|issue| issue.kind == IssueKind::Blocker);
        let blocker = blocker.map(|issue| issue.description.as_str());
        let issue = || self.issues.first().map(|issue| issue.description.as_str());
        let line = |level: &str| self.log.iter().rev().find(|line| line.level == level);
        blocker.or(self.reason()).or_else(issue).or_else(|| {
            let grave = line("critical").or_else(|| line("error")).or_else(|| line("warn"));
            grave.or(self.log.last()).map(|line| line.message.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else { panic!("{value}") };
        map
    }

    #[test]
    fn unknown_fields_go_back_to_where_they_stood() {
        let known = ["path", "action"];
        for (given, order) in [
            (json!({"path": "a", "action": "created"}), false),
            (json!({"path": "a", "action": "created", "lines": 3}), false),
            (json!({"lines": 3, "path": "a", "by": "x", "action": "created"}), true),
            (json!({"action": "created", "path": "a"}), true),
        ] {
            let given = object(given);
            let extra = Extra::of(given.clone(), &known);
            assert_eq!(!extra.keys.is_empty(), order, "{given:?}");
            let plain = object(json!({"path": "a", "action": "created"}));
            let whole = extra.whole(plain);
            assert!(whole.iter().eq(given.iter()), "{whole:?}");
        }
    }

    #[test]
    fn what_an_entry_has_beyond_the_protocol_is_written_only_when_there_is_something() {
        let plain = ReportedFile::new("a", FileAction::Created);
        assert_eq!(json!(plain), json!({"path": "a", "action": "created"}));
        let said = json!({"path": "a", "action": "created", "other": {"lines": 3}});
        let read: ReportedFile = serde_json::from_value(said.clone()).unwrap();
        assert_eq!((&read.more.other["lines"], json!(read)), (&json!(3), said));
    }
}
