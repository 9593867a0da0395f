//! The hand-over file as a contract that can be checked and handed in.

use super::{HandOver, HandOverError, HandOverState};
use crate::contract::{Kind, Mode, keys_there};
use crate::document::{self, Data, Node};
use crate::problem::Problems;
use comity_core::command::{
    FileAction, IssueKind, ReportStatus, ReportedFile, ReportedIssue, ReportedLine, WorkReport,
};
use comity_core::pattern::RepoPath;
use serde_json::{Value, json};

/// What a worker leaves behind when it is through.
pub const DONE: Kind = Kind {
    name: "ace-done",
    help: "ACE: what a worker leaves behind in ACE_TASK_DONE.json",
    read: document::read,
    likeness,
    validate,
    schema,
    report: Some(report),
};

fn likeness(_given: &str, tree: Option<&Node>) -> u32 {
    let found = 2 * keys_there(tree, &["files_changed", "commands_run", "blocked_questions"]);
    if found == 0 { 0 } else { found + keys_there(tree, &["task_id", "summary"]) }
}

fn validate(root: &Node, _mode: Mode) -> Problems {
    let mut found = Problems::new();
    if !matches!(root.data, Data::Map(_)) {
        found.error(root.at, "", "the file does not hold an object");
        return found;
    }
    for key in ["task_id", "summary"] {
        if root.get(key).and_then(Node::written).is_none() {
            let at = root.place_of(key);
            found.warning(at, key, format!("{key} is missing"));
        }
    }
    for key in ["files_changed", "commands_run", "blocked_questions"] {
        let Some(value) = root.get(key) else { continue };
        let fine = match &value.data {
            Data::List(items) => items.iter().all(|item| item.written().is_some()),
            Data::Map(_) => false,
            _ => true,
        };
        if !fine {
            found.error(value.at, key, format!("{key} is not a list of texts"));
        }
    }
    for (place, item) in root.get("files_changed").map_or(&[][..], Node::items).iter().enumerate() {
        if let Some(Err(error)) = item.text().map(RepoPath::parse) {
            let path = format!("files_changed[{place}]");
            found.error(item.at, &path, format!("{path}: {error}"));
        }
    }
    if let Err(refused @ HandOverError::InstructionRefusal(_)) = HandOver::of(root.to_value()) {
        found.error(root.place_of("summary"), "summary", refused.to_string());
    }
    found
}

fn schema() -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ACE_TASK_DONE.json",
        "type": "object",
        "required": ["task_id", "summary", "files_changed", "commands_run"],
        "properties": {
            "task_id": {"type": "string", "description": "The worker's name for it, such as task-1."},
            "summary": {"type": "string"},
            "files_changed": texts,
            "commands_run": texts,
            "status": {"type": "string", "description": "blocked or failed, when it is not done."},
            "blocked": {"type": ["boolean", "string"]},
            "blocked_questions": texts,
        },
    })
}

/// Returns what a valid hand-over reports. Its task id is the worker's own and names no task of comity.
fn report(root: &Node) -> WorkReport {
    let read = HandOver::of(root.to_value()).unwrap_or_default();
    let file = |name: &String| ReportedFile {
        path: RepoPath::parse(name).map_or_else(|_| name.clone(), |path| path.as_str().to_owned()),
        action: FileAction::Changed,
    };
    let line =
        |message: String| ReportedLine { level: "info".to_owned(), message, timestamp: None };
    let said = Some(read.summary.clone()).filter(|text| !text.trim().is_empty());
    let ran = read.commands_run.iter().map(|command| format!("ran: {command}"));
    let (status, questions) = match read.state {
        HandOverState::Done => (ReportStatus::Completed, Vec::new()),
        HandOverState::Failed => (ReportStatus::Failed, Vec::new()),
        HandOverState::Blocked(questions) => (ReportStatus::Blocked, questions),
    };
    let asked = questions.into_iter().filter(|question| !question.trim().is_empty());
    WorkReport {
        contract: "ace-done".to_owned(),
        task_id: None,
        status,
        files_modified: read.files_changed.iter().map(file).collect(),
        log: said.into_iter().chain(ran).map(line).collect(),
        issues: asked
            .map(|description| ReportedIssue { kind: IssueKind::Question, description })
            .collect(),
        completed_at: None,
        pr: None,
        evidence: Vec::new(),
        other: read.other,
    }
}
