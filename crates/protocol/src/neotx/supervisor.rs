//! What a focused supervisor ends with: `supervisor_complete` or `supervisor_blocked`, or the message that tells its
//! parent so, which has a `type`: complete, blocked or failed.

use crate::ace::pull_request_number;
use crate::contract::{Mode, ended, keys_there, says};
use crate::document::{Data, Node};
use crate::problem::Problems;
use crate::shape::{self, DIALECT, Field, Shape, may, must, said};
use comity_core::command::{IssueKind, ReportStatus, ReportedIssue, ReportedLine, WorkReport};
use serde_json::{Value, json};

const CRITERION: &[Field] = &[
    must("criterion", Shape::Text, "the criterion"),
    must("met", Shape::True, "that it is met: nothing is complete before"),
    must("evidence", Shape::Text, "how one can see it"),
];

const SENDER: Field = may("supervisorId", Shape::AnyText, "who sends it");

const COMPLETE: &[Field] = &[
    may("type", Shape::Word(&["complete"]), "the word of a message"),
    SENDER,
    must("summary", Shape::Text, "what was accomplished"),
    must("evidence", Shape::Some(&Shape::Text), "links and outputs; at least one"),
    may("branch", Shape::AnyText, "the branch"),
    may("pr_url", Shape::AnyText, "the pull request"),
    may("criteriaResults", Shape::List(&Shape::Object(CRITERION)), "each criterion"),
];

const BLOCKED: &[Field] = &[
    may("type", Shape::Word(&["blocked"]), "the word of a message"),
    SENDER,
    must("reason", Shape::Text, "why it cannot go on"),
    must("question", Shape::Text, "the decision that is needed"),
    may("context", Shape::AnyText, "what one must know to decide"),
    must("urgency", Shape::Word(&["low", "high"]), "how urgent it is"),
];

const FAILED: &[Field] = &[
    must("type", Shape::Word(&["failed"]), "the word of a message"),
    SENDER,
    must("error", Shape::Text, "what went wrong"),
];

/// Words of messages that end nothing, and are no contract.
const UNDER_WAY: &[&str] = &["progress", "session"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Complete,
    Blocked,
    Failed,
}

impl Form {
    /// Tells which form is meant. A message says so itself; none when its word is not known.
    fn of(root: &Node) -> Option<Form> {
        let Some(word) = root.get("type").filter(|word| word.data != Data::Null) else {
            let asks = root.get("question").is_some() && root.get("criteriaResults").is_none();
            return Some(if asks { Form::Blocked } else { Form::Complete });
        };
        match word.text()? {
            "complete" => Some(Form::Complete),
            "blocked" => Some(Form::Blocked),
            "failed" => Some(Form::Failed),
            _ => None,
        }
    }

    fn fields(self) -> &'static [Field] {
        match self {
            Form::Complete => COMPLETE,
            Form::Blocked => BLOCKED,
            Form::Failed => FAILED,
        }
    }
}

pub fn marks(_: &str, tree: Option<&Node>) -> u32 {
    let listed = tree.and_then(|tree| tree.get("evidence"));
    let sent = says(tree, "type", &["complete", "blocked", "failed"]);
    let sender = keys_there(tree, &["supervisorId"]);
    keys_there(tree, &["criteriaResults"])
        + sender
        + u32::from(sent && (sender > 0 || keys_there(tree, &["summary", "reason", "error"]) > 0))
        + u32::from(listed.is_some_and(|node| matches!(node.data, Data::List(_))))
        + u32::from(keys_there(tree, &["reason", "question", "urgency"]) >= 2)
}

pub fn validate(root: &Node, _: Mode) -> Problems {
    let Some(form) = Form::of(root) else { return unknown_message(root) };
    let mut found = shape::check(root, form.fields());
    // Who sends a message has been asked for the criteria before.
    if form == Form::Complete && !is_there(root, "type") && !is_there(root, "criteriaResults") {
        let at = root.place_of("criteriaResults");
        found.error(at, "criteriaResults", "criteriaResults is missing: each criterion");
    }
    found
}

fn is_there(root: &Node, key: &str) -> bool {
    root.get(key).is_some_and(|value| value.data != Data::Null)
}

fn unknown_message(root: &Node) -> Problems {
    let given = root.get("type").map(shape::shown).unwrap_or_default();
    let under_way = says(Some(root), "type", UNDER_WAY);
    let why = if under_way { ", which ends nothing" } else { "" };
    let mut found = Problems::new();
    let message = format!("type must be one of complete, blocked, failed, not {given}{why}");
    found.error(root.place_of("type"), "type", message);
    found
}

pub fn schema() -> Value {
    let form = |name: &str, about: &str, form: Form| shape::schema(name, about, form.fields());
    let mut complete = form("complete", "Everything is done, with evidence.", Form::Complete);
    if let Value::Object(map) = &mut complete {
        map.insert("anyOf".to_owned(), json!([said("type"), said("criteriaResults")]));
    }
    json!({
        "$schema": DIALECT,
        "title": "Supervisor report",
        "description": "What a focused supervisor ends with, and how it tells its parent.",
        "anyOf": [
            complete,
            form("blocked", "A decision is needed.", Form::Blocked),
            form("failed", "The attempt failed.", Form::Failed),
        ],
    })
}

pub fn report(root: &Node) -> WorkReport {
    let mut report = ended("supervisor", ReportStatus::Completed);
    report.other = root.entries().iter().map(|e| (e.key.clone(), e.value.to_value())).collect();
    match Form::of(root) {
        Some(Form::Complete) => completed(root, &mut report),
        Some(Form::Blocked) => {
            // Reason and context stay apart from the question: they are what one must know to answer it.
            report.status = ReportStatus::Blocked;
            report.issues = vec![ReportedIssue::new(IssueKind::Question, root.text_of("question"))];
            report.log = vec![ReportedLine::new("info", root.text_of("reason"))];
        }
        Some(Form::Failed) | None => {
            report.status = ReportStatus::Failed;
            report.log = vec![ReportedLine::new("error", root.text_of("error"))];
        }
    }
    report
}

fn completed(root: &Node, report: &mut WorkReport) {
    let line = |message: String| ReportedLine::new("info", message);
    report.log = vec![line(root.text_of("summary"))];
    for item in root.items_of("criteriaResults") {
        report.log.push(line(format!(
            "{}: {}",
            item.text_of("criterion"),
            item.text_of("evidence")
        )));
    }
    let evidence = root.items_of("evidence");
    let evidence: Vec<String> = evidence.iter().filter_map(Node::written).collect();
    let named = root.said("pr_url");
    let is_pull_request = |said: &&String| {
        said.starts_with("http") && !said.contains(' ') && pull_request_number(said).is_some()
    };
    report.pr = named.or_else(|| evidence.iter().find(is_pull_request).cloned());
    report.log.extend(evidence.into_iter().map(line));
}
