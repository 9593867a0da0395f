//! The hand-over file as a contract that can be checked and handed in.

use super::{DONE_FILE, HandOver, HandOverError, HandOverState};
use crate::contract::{ContractKind, Mode, changed_file, ended, keys_there};
use crate::document::{self, Data, Node};
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, check_paths, may, should};
use comity_core::command::{IssueKind, ReportStatus, ReportedIssue, ReportedLine, WorkReport};
use comity_core::pattern::listed_path;
use serde_json::{Value, json};

pub const DONE: ContractKind = ContractKind {
    name: "ace-done",
    help: "ACE: what a worker leaves behind in ACE_TASK_DONE.json",
    read: |text, _| document::read(text),
    marks,
    validate,
    schema,
    report: Some(|tree| Some(report(tree))),
};

/// A file that has none of these says nothing.
const SAID: [&str; 5] =
    ["summary", "blocked", "files_changed", "commands_run", "blocked_questions"];
const TEXTS: Shape = Shape::OneOrMore(&Shape::AnyText);
/// A word that comity does not know must not pass for done.
const FIELDS: &[Field] = &[
    should("task_id", Shape::AnyScalar, "the worker's name for it, such as task-1"),
    should("summary", Shape::AnyScalar, "what was done"),
    may("files_changed", TEXTS, "the files that were changed"),
    may("commands_run", TEXTS, "the commands that were run"),
    may("status", Shape::AnyCase(STATES), "blocked or failed, when it is not done"),
    may("state", Shape::AnyCase(STATES), "the same as status"),
    may("blocked", Shape::Flag, "whether somebody must answer first"),
    may("blocked_questions", TEXTS, "what is asked"),
];
/// Words for how it ended, in any case; a worker that is through need not say so.
const STATES: &[&str] = &[
    "done",
    "complete",
    "completed",
    "finished",
    "success",
    "succeeded",
    "ok",
    "blocked",
    "failed",
    "error",
];

/// Tells whether a task's name is the worker's own, `task-1`, and names no task of comity.
pub fn is_workers_own(id: &str) -> bool {
    let digits = id.strip_prefix("task-").unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Counts the marks of a hand-over. A count of files is another protocol's.
fn marks(_given: &str, tree: Option<&Node>) -> u32 {
    let files = tree.and_then(|tree| tree.get("files_changed"));
    let listed = files.is_some_and(|node| matches!(node.data, Data::List(_) | Data::Text(_)));
    keys_there(tree, &["commands_run", "blocked_questions", "blocked"]) + u32::from(listed)
}

fn validate(root: &Node, _mode: Mode) -> Problems {
    let mut found = shape::check(root, FIELDS);
    if matches!(root.data, Data::Map(_)) && keys_there(Some(root), &SAID) == 0 {
        found.error(root.at, "summary", "the file does not say what was done");
    }
    check_paths(&mut found, "files_changed", root.get("files_changed"), listed_path);
    if let Err(refused @ HandOverError::InstructionRefusal(_)) = HandOver::of(&root.to_value()) {
        found.error(root.place_of("summary"), "summary", refused.to_string());
    }
    found
}

fn schema() -> Value {
    let mut schema = shape::schema(DONE_FILE, "What a worker leaves behind.", FIELDS);
    if let Value::Object(map) = &mut schema {
        let something: Vec<Value> = SAID.iter().map(|key| json!({"required": [key]})).collect();
        map.insert("anyOf".to_owned(), json!(something));
    }
    schema
}

/// Returns what a valid hand-over reports. Its task id is mostly the worker's own and names no task of comity.
fn report(root: &Node) -> WorkReport {
    let read = HandOver::of(&root.to_value()).unwrap_or_default();
    let line = |message: String| ReportedLine::new("info", message);
    let said = Some(read.summary.clone()).filter(|text| !text.trim().is_empty());
    let ran = read.commands_run.iter().map(|command| format!("ran: {command}"));
    let (status, questions) = match read.state {
        HandOverState::Done => (ReportStatus::Completed, Vec::new()),
        HandOverState::Failed => (ReportStatus::Failed, Vec::new()),
        HandOverState::Blocked(questions) => (ReportStatus::Blocked, questions),
    };
    let asked = questions.into_iter().filter(|question| !question.trim().is_empty());
    WorkReport {
        files_modified: read.files_changed.iter().map(|name| changed_file(name)).collect(),
        lists_files: root
            .get("files_changed")
            .is_some_and(|files| matches!(files.data, Data::List(_))),
        log: said.into_iter().chain(ran).map(line).collect(),
        issues: asked.map(|question| ReportedIssue::new(IssueKind::Question, question)).collect(),
        other: read.other,
        ..ended("ace-done", status)
    }
}
