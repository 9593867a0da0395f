//! What a focused supervisor ends with: `supervisor_complete` or `supervisor_blocked`.

use super::shape::{self, Field, Shape, may, must};
use crate::contract::{Mode, keys_there};
use crate::document::{Data, Node};
use crate::problem::Problems;
use comity_core::command::{IssueKind, ReportStatus, ReportedIssue, ReportedLine, WorkReport};
use serde_json::{Value, json};

const CRITERION: &[Field] = &[
    must("criterion", Shape::Text, "the criterion"),
    must("met", Shape::Flag, "whether it is met"),
    must("evidence", Shape::Text, "how one can see it"),
];

const COMPLETE: &[Field] = &[
    must("summary", Shape::Text, "what was accomplished"),
    must("evidence", Shape::Some(&Shape::Text), "links and outputs; at least one"),
    may("branch", Shape::AnyText, "the branch"),
    must("criteriaResults", Shape::List(&Shape::Object(CRITERION)), "each criterion"),
];

const BLOCKED: &[Field] = &[
    must("reason", Shape::Text, "why it cannot go on"),
    must("question", Shape::Text, "the decision that is needed"),
    may("context", Shape::AnyText, "what one must know to decide"),
    must("urgency", Shape::Word(&["low", "high"]), "how urgent it is"),
];

/// Tells which of the two it is.
pub fn is_blocked(root: &Node) -> bool {
    root.get("question").is_some() && root.get("criteriaResults").is_none()
}

/// Counts the marks of a supervisor's report.
pub fn marks(_: &str, tree: Option<&Node>) -> u32 {
    let listed = tree.and_then(|tree| tree.get("evidence"));
    keys_there(tree, &["criteriaResults"])
        + u32::from(listed.is_some_and(|node| matches!(node.data, Data::List(_))))
        + u32::from(keys_there(tree, &["reason", "question", "urgency"]) >= 2)
}

/// Finds everything that is wrong.
pub fn validate(root: &Node, _: Mode) -> Problems {
    if is_blocked(root) {
        return shape::check(root, BLOCKED);
    }
    let mut found = shape::check(root, COMPLETE);
    for (place, item) in root.get("criteriaResults").map_or(&[][..], Node::items).iter().enumerate()
    {
        if item.get("met").is_some_and(|met| met.data == Data::Bool(false)) {
            let path = format!("criteriaResults[{place}].met");
            let message = format!("{path}: nothing is complete while a criterion is not met");
            found.error(root.place_of(&path), path, message);
        }
    }
    found
}

/// The JSON Schema.
pub fn schema() -> Value {
    let complete =
        shape::schema("supervisor_complete", "Everything is done, with evidence.", COMPLETE);
    let blocked = shape::schema("supervisor_blocked", "A decision is needed.", BLOCKED);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Supervisor report",
        "description": "What a focused supervisor ends with.",
        "anyOf": [complete, blocked],
    })
}

/// What a valid report says, in the words of the rules.
pub fn report(root: &Node) -> WorkReport {
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::written).unwrap_or_default();
    let line = |message: String| ReportedLine::new("info", message);
    let mut report = WorkReport {
        contract: "supervisor".to_owned(),
        task_id: None,
        status: ReportStatus::Completed,
        files_modified: Vec::new(),
        lists_files: false,
        log: Vec::new(),
        issues: Vec::new(),
        completed_at: None,
        pr: None,
        evidence: Vec::new(),
        other: root.entries().iter().map(|e| (e.key.clone(), e.value.to_value())).collect(),
        keys: Vec::new(),
    };
    if is_blocked(root) {
        let context = text(root, "context");
        let beside = if context.is_empty() { String::new() } else { format!("\n\n{context}") };
        report.status = ReportStatus::Blocked;
        let asked = format!("{}{beside}", text(root, "question"));
        report.issues = vec![ReportedIssue::new(IssueKind::Question, asked)];
        report.log = vec![line(text(root, "reason"))];
        return report;
    }
    report.log = vec![line(text(root, "summary"))];
    for item in root.get("criteriaResults").map_or(&[][..], Node::items) {
        report.log.push(line(format!("{}: {}", text(item, "criterion"), text(item, "evidence"))));
    }
    let evidence = root.get("evidence").map_or(&[][..], Node::items);
    report.log.extend(evidence.iter().filter_map(Node::written).map(line));
    report
}
