//! What a focused supervisor ends with: `supervisor_complete` or `supervisor_blocked`, or the message that tells its
//! parent so, which has a `type`: complete, blocked or failed.

use super::shape::{self, Field, Shape, may, must};
use super::wrapped::pull_request_number;
use crate::contract::{Mode, keys_there, says};
use crate::document::{Data, Node};
use crate::problem::Problems;
use comity_core::command::{IssueKind, ReportStatus, ReportedIssue, ReportedLine, WorkReport};
use serde_json::{Value, json};

const CRITERION: &[Field] = &[
    must("criterion", Shape::Text, "the criterion"),
    must("met", Shape::True, "that it is met: nothing is complete before"),
    must("evidence", Shape::Text, "how one can see it"),
];

const COMPLETE: &[Field] = &[
    must("summary", Shape::Text, "what was accomplished"),
    must("evidence", Shape::Some(&Shape::Text), "links and outputs; at least one"),
    may("branch", Shape::AnyText, "the branch"),
    may("pr_url", Shape::AnyText, "the pull request"),
    must("criteriaResults", Shape::List(&Shape::Object(CRITERION)), "each criterion"),
];

const BLOCKED: &[Field] = &[
    must("reason", Shape::Text, "why it cannot go on"),
    must("question", Shape::Text, "the decision that is needed"),
    may("context", Shape::AnyText, "what one must know to decide"),
    must("urgency", Shape::Word(&["low", "high"]), "how urgent it is"),
];

/// The messages leave out the criteria: who sends one has been asked for them before.
const COMPLETE_MESSAGE: &[Field] = &[
    must("type", Shape::Word(&["complete"]), "the word of the message"),
    SENDER,
    must("summary", Shape::Text, "what was accomplished"),
    must("evidence", Shape::Some(&Shape::Text), "links and outputs; at least one"),
    may("branch", Shape::AnyText, "the branch"),
    may("pr_url", Shape::AnyText, "the pull request"),
    may("criteriaResults", Shape::List(&Shape::Object(CRITERION)), "each criterion"),
];

const BLOCKED_MESSAGE: &[Field] = &[
    must("type", Shape::Word(&["blocked"]), "the word of the message"),
    SENDER,
    must("reason", Shape::Text, "why it cannot go on"),
    must("question", Shape::Text, "the decision that is needed"),
    may("context", Shape::AnyText, "what one must know to decide"),
    must("urgency", Shape::Word(&["low", "high"]), "how urgent it is"),
];

const FAILED_MESSAGE: &[Field] = &[
    must("type", Shape::Word(&["failed"]), "the word of the message"),
    SENDER,
    must("error", Shape::Text, "what went wrong"),
];

const SENDER: Field = may("supervisorId", Shape::AnyText, "who sends it");

/// Words of messages that end nothing, and are no contract.
const UNDER_WAY: &[&str] = &["progress", "session"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Complete,
    Blocked,
    CompleteMessage,
    BlockedMessage,
    FailedMessage,
}

impl Form {
    const ALL: [(Form, &'static str); 5] = [
        (Form::Complete, "supervisor_complete"),
        (Form::Blocked, "supervisor_blocked"),
        (Form::CompleteMessage, "complete"),
        (Form::BlockedMessage, "blocked"),
        (Form::FailedMessage, "failed"),
    ];

    /// Tells which form is meant. A message says so itself; none when its word is not known.
    fn of(root: &Node) -> Option<Form> {
        let Some(word) = root.get("type").filter(|word| word.data != Data::Null) else {
            let asks = root.get("question").is_some() && root.get("criteriaResults").is_none();
            return Some(if asks { Form::Blocked } else { Form::Complete });
        };
        let word = word.text()?;
        let messages = Form::ALL.iter().filter(|(form, _)| form.is_message());
        messages.into_iter().find(|(_, name)| *name == word).map(|(form, _)| *form)
    }

    fn is_message(self) -> bool {
        matches!(self, Form::CompleteMessage | Form::BlockedMessage | Form::FailedMessage)
    }

    fn fields(self) -> &'static [Field] {
        match self {
            Form::Complete => COMPLETE,
            Form::Blocked => BLOCKED,
            Form::CompleteMessage => COMPLETE_MESSAGE,
            Form::BlockedMessage => BLOCKED_MESSAGE,
            Form::FailedMessage => FAILED_MESSAGE,
        }
    }

    fn about(self) -> &'static str {
        match self {
            Form::Complete | Form::CompleteMessage => "Everything is done, with evidence.",
            Form::Blocked | Form::BlockedMessage => "A decision is needed.",
            Form::FailedMessage => "The attempt failed.",
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
    shape::check(root, form.fields())
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
    let form = |(form, name): &(Form, &str)| {
        let mut schema = shape::schema(name, form.about(), form.fields());
        // Null stands for what is missing: without a word it is no message.
        if !form.is_message() {
            let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
            properties.map(|map| map.insert("type".to_owned(), json!({"type": "null"})));
        }
        schema
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Supervisor report",
        "description": "What a focused supervisor ends with, and how it tells its parent.",
        "anyOf": Form::ALL.iter().map(form).collect::<Vec<Value>>(),
    })
}

fn text(node: &Node, key: &str) -> String {
    node.get(key).and_then(Node::written).unwrap_or_default()
}

pub fn report(root: &Node) -> WorkReport {
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
    match Form::of(root) {
        Some(Form::Complete | Form::CompleteMessage) => completed(root, &mut report),
        Some(Form::Blocked | Form::BlockedMessage) => {
            // Reason and context stay apart from the question: they are what one must know to answer it.
            report.status = ReportStatus::Blocked;
            report.issues = vec![ReportedIssue::new(IssueKind::Question, text(root, "question"))];
            report.log = vec![ReportedLine::new("info", text(root, "reason"))];
        }
        Some(Form::FailedMessage) | None => {
            report.status = ReportStatus::Failed;
            report.log = vec![ReportedLine::new("error", text(root, "error"))];
        }
    }
    report
}

fn completed(root: &Node, report: &mut WorkReport) {
    let line = |message: String| ReportedLine::new("info", message);
    report.log = vec![line(text(root, "summary"))];
    for item in root.get("criteriaResults").map_or(&[][..], Node::items) {
        report.log.push(line(format!("{}: {}", text(item, "criterion"), text(item, "evidence"))));
    }
    let evidence = root.get("evidence").map_or(&[][..], Node::items);
    let evidence: Vec<String> = evidence.iter().filter_map(Node::written).collect();
    let named = Some(text(root, "pr_url")).filter(|url| !url.is_empty());
    let is_pull_request = |said: &&String| {
        said.starts_with("http") && !said.contains(' ') && pull_request_number(said).is_some()
    };
    report.pr = named.or_else(|| evidence.iter().find(is_pull_request).cloned());
    report.log.extend(evidence.into_iter().map(line));
}
