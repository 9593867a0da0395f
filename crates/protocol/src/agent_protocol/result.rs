//! Checking a result, and what it reports.

use super::checker::{Checker, is_object};
use super::in_prose;
pub use super::schema::result as schema;
use crate::contract::{Mode, ended, keys_there, says};
use crate::document::{self, Data, Node, Style};
use crate::problem::Problems;
use comity_core::command::{
    Extra, FileAction, IssueKind, ReportStatus, ReportedFile, ReportedIssue, ReportedLine,
    WorkReport,
};
use comity_core::pattern::listed_path;
use serde_json::{Value, json};
use std::collections::HashMap;

const STATUSES: [&str; 3] = ["completed", "failed", "blocked"];
const ACTIONS: [&str; 3] = ["created", "modified", "deleted"];
const LEVELS: [&str; 5] = ["info", "tip", "warn", "error", "critical"];
const ISSUES: [&str; 3] = ["blocker", "question", "concern"];
const LOG_MIN: usize = 2;
const FILE: [&str; 2] = ["path", "action"];
const LINE: [&str; 3] = ["level", "message", "timestamp"];
const ISSUE: [&str; 2] = ["type", "description"];
const KNOWN: [&str; 7] =
    ["version", "task_id", "status", "files_modified", "log", "issues", "completed_at"];

/// Counts the marks of a result. No other protocol has both a version and a task in what it hands in.
pub fn marks(text: &str, tree: Option<&Node>) -> u32 {
    if tree.is_none() {
        return u32::from(in_prose::is_meant(text, &in_prose::RESULT));
    }
    let files = tree.and_then(|tree| tree.get("files_modified")).map_or(&[][..], Node::items);
    keys_there(tree, &["log", "completed_at"])
        + u32::from(says(tree, "status", &STATUSES))
        + u32::from(keys_there(tree, &["version", "task_id"]) == 2)
        + u32::from(files.iter().any(|file| matches!(file.data, Data::Map(_))))
}

pub fn validate(root: &Node, mode: Mode) -> Problems {
    let mut check = Checker::new(root, mode);
    if !is_object(root, mode) {
        check.error(root.at, "", "Result must be an object");
        return check.found;
    }
    check.version();
    check.id("task_id", "T", "TNNN");
    status(&mut check);
    lists(&mut check);
    check.required("completed_at");
    if mode != Mode::Compat {
        further(&mut check);
    }
    check.found
}

fn status(check: &mut Checker<'_>) {
    let Some(value) = check.required("status") else { return };
    if !value.text().is_some_and(|text| STATUSES.contains(&text)) {
        let known = STATUSES.join(", ");
        let message = format!("Invalid status: {} (expected: {known})", check.shown(value));
        check.error(value.at, "status", message);
    }
}

fn lists(check: &mut Checker<'_>) {
    if let Some(files) = check.required_list("files_modified") {
        check.each("files_modified", files, &[("path", &[]), ("action", &ACTIONS)]);
    }
    if let Some(log) = check.required_list("log") {
        if log.len() < LOG_MIN {
            let at = check.root.place_of("log");
            check.error(at, "log", "Log must contain at least 2 entries");
        }
        check.each("log", log, &[("level", &LEVELS), ("message", &[]), ("timestamp", &[])]);
    }
    if let Some(value) = check.root.get("issues")
        && let Some(issues) = check.list("issues", value)
    {
        check.each("issues", issues, &[("type", &ISSUES), ("description", &[])]);
    }
}

fn further(check: &mut Checker<'_>) {
    let root = check.root;
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (place, item) in root.items_of("files_modified").iter().enumerate() {
        let path = format!("files_modified[{place}].path");
        let Some(value) = super::checker::truthy(item, "path") else { continue };
        let Some(name) = check.path(&path, value, listed_path) else { continue };
        let first = *seen.entry(name).or_insert(place);
        if first != place {
            let message = format!(
                "files_modified[{place}]: '{}' is listed already, as files_modified[{first}]",
                check.shown(value)
            );
            check.error(value.at, &path, message);
        }
    }
    for (place, item) in root.items_of("log").iter().enumerate() {
        let path = format!("log[{place}]");
        check.says_something(&path, item, "message");
        check.time(&path, item, "timestamp");
    }
    for (place, item) in root.items_of("issues").iter().enumerate() {
        let path = format!("issues[{place}]");
        check.says_something(&path, item, "description");
    }
    check.time("", root, "completed_at");
    if says(Some(root), "status", &["blocked"]) && root.items_of("issues").is_empty() {
        let at = root.place_of("status");
        check.found.warning(at, "issues", "a blocked result should say in issues what it needs");
    }
}

pub fn report(root: &Node) -> WorkReport {
    let file = |item: &Node| ReportedFile {
        // One spelling of each path, so that it can be compared with what git says.
        path: listed_path(&item.text_of("path")).unwrap_or_else(|_| item.text_of("path")),
        action: match item.text_of("action").as_str() {
            "created" => FileAction::Created,
            "deleted" => FileAction::Deleted,
            _ => FileAction::Modified,
        },
        more: beyond(item, &FILE),
    };
    let line = |item: &Node| ReportedLine {
        level: item.text_of("level"),
        message: item.text_of("message"),
        timestamp: item.get("timestamp").and_then(Node::written),
        more: beyond(item, &LINE),
    };
    let issue = |item: &Node| ReportedIssue {
        kind: match item.text_of("type").as_str() {
            "blocker" => IssueKind::Blocker,
            "question" => IssueKind::Question,
            _ => IssueKind::Concern,
        },
        description: item.text_of("description"),
        more: beyond(item, &ISSUE),
    };
    let Extra { other, keys } = beyond(root, &KNOWN);
    let status = match root.text_of("status").as_str() {
        "completed" => ReportStatus::Completed,
        "blocked" => ReportStatus::Blocked,
        _ => ReportStatus::Failed,
    };
    WorkReport {
        task_id: root.get("task_id").and_then(Node::text).map(str::to_owned),
        files_modified: root.items_of("files_modified").iter().map(file).collect(),
        lists_files: true,
        log: root.items_of("log").iter().map(line).collect(),
        issues: root.items_of("issues").iter().map(issue).collect(),
        completed_at: root.get("completed_at").and_then(Node::written),
        other,
        keys,
        ..ended("result", status)
    }
}

/// What an object has beyond the keys that the protocol knows, and the order of all of them.
fn beyond(node: &Node, known: &[&str]) -> Extra {
    match node.to_value() {
        Value::Object(given) => Extra::of(given, known),
        _ => Extra::default(),
    }
}

fn object<const N: usize>(more: &Extra, fields: [(&str, Value); N]) -> Value {
    let known = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
    Value::Object(more.whole(known.collect()))
}

/// Writes a report as a result: in the order that it had, else in that of the protocol with unknown fields last.
pub fn to_value(report: &WorkReport) -> Value {
    let file = |file: &ReportedFile| {
        object(&file.more, [("path", json!(file.path)), ("action", json!(file.action))])
    };
    let line = |line: &ReportedLine| {
        let ReportedLine { level, message, timestamp, more } = line;
        let fields =
            [("level", json!(level)), ("message", json!(message)), ("timestamp", json!(timestamp))];
        object(more, fields)
    };
    let issue = |issue: &ReportedIssue| {
        let fields = [("type", json!(issue.kind)), ("description", json!(issue.description))];
        object(&issue.more, fields)
    };
    let more = Extra { other: report.other.clone(), keys: report.keys.clone() };
    let fields = [
        ("version", json!("1")),
        ("task_id", json!(report.task_id.clone().unwrap_or_default())),
        ("status", json!(report.status.as_str())),
        ("files_modified", report.files_modified.iter().map(file).collect()),
        ("log", report.log.iter().map(line).collect()),
        ("issues", report.issues.iter().map(issue).collect()),
        ("completed_at", json!(report.completed_at.clone().unwrap_or_default())),
    ];
    object(&more, fields)
}

pub fn to_yaml(report: &WorkReport) -> String {
    document::to_yaml(&to_value(report), &Style::default())
}
