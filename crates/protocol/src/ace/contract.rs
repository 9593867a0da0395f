//! The hand-over file as a contract that can be checked and handed in.

use super::{HandOver, HandOverError, HandOverState};
use crate::contract::{ContractKind, Mode, keys_there};
use crate::document::{self, Data, Node};
use crate::problem::Problems;
use comity_core::command::{
    FileAction, IssueKind, ReportStatus, ReportedFile, ReportedIssue, ReportedLine, WorkReport,
};
use comity_core::pattern::RepoPath;
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

const LISTS: [&str; 3] = ["files_changed", "commands_run", "blocked_questions"];
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
    let mut found = Problems::new();
    if !matches!(root.data, Data::Map(_)) {
        found.error(root.at, "", "the file does not hold an object");
        return found;
    }
    if keys_there(Some(root), &["summary", "blocked"]) + keys_there(Some(root), &LISTS) == 0 {
        found.error(root.at, "summary", "nothing is said of what was done");
    }
    for key in ["task_id", "summary"] {
        let value = root.get(key).filter(|value| value.data != Data::Null);
        match value.map(|value| matches!(value.data, Data::Text(_) | Data::Number(_))) {
            None => found.warning(root.place_of(key), key, format!("{key} is missing")),
            Some(false) => found.error(root.place_of(key), key, format!("{key} is not a text")),
            Some(true) => {}
        }
    }
    state(root, &mut found);
    for key in LISTS {
        let Some(value) = root.get(key) else { continue };
        match &value.data {
            Data::Null => {}
            Data::List(items) if items.iter().all(|item| item.text().is_some()) => {}
            Data::Text(_) => {
                let message =
                    format!("{key} is one text, not a list; it is taken as a list of one");
                found.warning(value.at, key, message);
            }
            _ => found.error(value.at, key, format!("{key} is not a list of texts")),
        }
    }
    let files = root.get("files_changed");
    let single = files.filter(|files| files.text().is_some());
    for (place, item) in files.map_or(&[][..], Node::items).iter().chain(single).enumerate() {
        let named = item.text().filter(|name| !name.is_empty());
        if let Some(Err(error)) = named.map(RepoPath::parse) {
            let path = format!("files_changed[{place}]");
            found.error(item.at, &path, format!("{path}: {error}"));
        }
    }
    if let Err(refused @ HandOverError::InstructionRefusal(_)) = HandOver::of(root.to_value()) {
        found.error(root.place_of("summary"), "summary", refused.to_string());
    }
    found
}

/// How it ended, in the keys that are tolerated: a word that is not known must not pass for done.
fn state(root: &Node, found: &mut Problems) {
    for key in ["status", "state"] {
        let Some(value) = root.get(key).filter(|value| value.data != Data::Null) else { continue };
        if !value.text().is_some_and(|word| STATES.contains(&word.to_lowercase().as_str())) {
            let shown = comity_core::ids::shorten(&value.written().unwrap_or_default());
            let known = STATES.join(", ");
            let message = format!("{key} {shown:?} is not known; one of: {known}");
            found.error(value.at, key, message);
        }
    }
    if let Some(value) = root.get("blocked")
        && !matches!(value.data, Data::Null | Data::Bool(_) | Data::Text(_))
    {
        found.error(value.at, "blocked", "blocked is neither true nor false nor a text");
    }
}

fn schema() -> Value {
    let texts = json!({"type": ["array", "string", "null"], "items": {"type": "string"}});
    let scalar = ["string", "number", "null"];
    let words: Vec<String> = STATES.iter().map(|word| any_case(word)).collect();
    let state = json!({
        "type": ["string", "null"],
        "pattern": format!("^({})$", words.join("|")),
        "description": "blocked or failed, when it is not done.",
    });
    let said = ["summary", "blocked"].into_iter().chain(LISTS);
    let something: Vec<Value> = said.map(|key| json!({"required": [key]})).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ACE_TASK_DONE.json",
        "type": "object",
        "anyOf": something,
        "properties": {
            "task_id": {"type": scalar, "description": "The worker's name for it, such as task-1."},
            "summary": {"type": scalar},
            "files_changed": texts,
            "commands_run": texts,
            "status": state,
            "state": state,
            "blocked": {"type": ["boolean", "string", "null"]},
            "blocked_questions": texts,
        },
    })
}

fn any_case(word: &str) -> String {
    word.chars().map(|c| format!("[{c}{}]", c.to_ascii_uppercase())).collect()
}

/// Returns what a valid hand-over reports. Its task id is mostly the worker's own and names no task of comity.
fn report(root: &Node) -> WorkReport {
    let read = HandOver::of(root.to_value()).unwrap_or_default();
    let file = |name: &String| {
        let path = RepoPath::parse(name);
        let path = path.map_or_else(|_| name.clone(), |path| path.as_str().to_owned());
        ReportedFile::new(path, FileAction::Changed)
    };
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
        contract: "ace-done".to_owned(),
        task_id: None,
        status,
        files_modified: read.files_changed.iter().map(file).collect(),
        lists_files: root
            .get("files_changed")
            .is_some_and(|files| matches!(files.data, Data::List(_))),
        log: said.into_iter().chain(ran).map(line).collect(),
        issues: asked.map(|question| ReportedIssue::new(IssueKind::Question, question)).collect(),
        completed_at: None,
        pr: None,
        evidence: Vec::new(),
        other: read.other,
        keys: Vec::new(),
    }
}
