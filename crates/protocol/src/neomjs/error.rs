//! The report of an error: an agent is stuck and says what it needs.

use super::check::beyond;
use super::envelope;
use crate::contract::{Mode, SURE, ended, keys_there, says};
use crate::document::{Node, Style, to_yaml};
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, count, may, must, should};
use comity_core::command::{
    Extra, IssueKind, REASON_KEY, ReportStatus, ReportedIssue, ReportedLine, WorkReport,
    grave_lines,
};
use comity_core::event::ResultReported;
use serde_json::{Map, Value, json};

const HEADER: &str = "# AGENT ERROR REPORT";
const ATTEMPTS: &str = "attempts";
const KNOWN: [&str; 5] = ["status", "reason", "error_log", "attempts", "request"];
const FIELDS: &[Field] = &[
    must("status", Shape::AnyCase(&["blocked"]), "blocked"),
    must("reason", Shape::Scalar, "what went wrong, in short"),
    may("error_log", Shape::AnyScalar, "what the tools said"),
    should("attempts", Shape::Count, "how often it was tried"),
    should("request", Shape::AnyScalar, "what is asked for"),
];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorContract {
    pub reason: String,
    pub error_log: Option<String>,
    pub attempts: Option<u32>,
    pub request: Option<String>,
    pub more: Extra,
}

pub(super) fn marks(given: &str, tree: Option<&Node>) -> u32 {
    if envelope::has_header(given, HEADER) {
        return SURE;
    }
    let stuck = u32::from(says(tree, "status", &["blocked"]));
    keys_there(tree, &["error_log", "attempts", "request"]) + stuck * keys_there(tree, &["reason"])
}

pub(super) fn validate(root: &Node, _mode: Mode) -> Problems {
    shape::check(root, FIELDS)
}

pub(super) fn schema() -> Value {
    shape::schema("Error report", "Neo.mjs Agent Task Protocol v1.0", FIELDS)
}

impl ErrorContract {
    pub fn of(root: &Node) -> ErrorContract {
        ErrorContract {
            reason: root.text_of("reason"),
            error_log: Some(root.text_of("error_log").trim_end().to_owned())
                .filter(|log| !log.is_empty()),
            attempts: root.get(ATTEMPTS).and_then(count),
            request: root.said("request"),
            more: beyond(root, &KNOWN),
        }
    }

    /// Returns the report that an agent handed in, from what the log keeps of it.
    pub fn of_report(told: &ResultReported) -> ErrorContract {
        let mut other = told.other.clone();
        let reason = other.shift_remove(REASON_KEY);
        let attempts = other.get(ATTEMPTS).and_then(Value::as_u64);
        if attempts.is_some() {
            other.shift_remove(ATTEMPTS);
        }
        let asked = told.issues.iter().find(|issue| issue.kind == IssueKind::Question);
        let log = grave_lines(&told.log).join("\n");
        ErrorContract {
            reason: reason.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
            error_log: Some(log).filter(|log| !log.is_empty()),
            attempts: attempts.and_then(|count| u32::try_from(count).ok()),
            request: asked.map(|issue| issue.description.clone()),
            more: Extra { other, keys: told.keys.clone() },
        }
    }

    pub fn render(&self) -> String {
        let mut out = Map::new();
        out.insert("status".to_owned(), json!("blocked"));
        out.insert("reason".to_owned(), json!(self.reason));
        if let Some(log) = &self.error_log {
            // A block ends with a line break, as the protocol shows it.
            out.insert("error_log".to_owned(), json!(format!("{}\n", log.trim_end())));
        }
        if let Some(attempts) = self.attempts {
            out.insert(ATTEMPTS.to_owned(), json!(attempts));
        }
        if let Some(request) = &self.request {
            out.insert("request".to_owned(), json!(request));
        }
        let out = self.more.whole(out);
        let style =
            Style { literal: &["error_log"], quoted: &["reason", "request"], ..Style::default() };
        format!("{HEADER}\n{}", to_yaml(&Value::Object(out), &style))
    }
}

/// Returns what a valid report means for the task: it waits for what is asked for.
pub(super) fn report(root: &Node) -> WorkReport {
    let error = ErrorContract::of(root);
    let log = error.error_log.iter().map(|log| ReportedLine::new("error", log));
    let mut issues = vec![ReportedIssue::new(IssueKind::Blocker, &error.reason)];
    if let Some(request) = &error.request {
        // What is asked for is the question; the reason is said with it.
        issues = vec![ReportedIssue::new(IssueKind::Question, request)];
    }
    let Extra { mut other, keys } = error.more;
    other.insert(REASON_KEY.to_owned(), json!(error.reason));
    if let Some(attempts) = error.attempts {
        other.insert(ATTEMPTS.to_owned(), json!(attempts));
    }
    WorkReport {
        log: log.collect(),
        issues,
        other,
        keys,
        ..ended("neo-error", ReportStatus::Blocked)
    }
}
