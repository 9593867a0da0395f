//! What a developer reports: one task (direct mode) or the tasks of a plan.

use crate::contract::{Mode, ended, keys_there};
use crate::document::{Data, Node};
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, may, must, said};
use crate::test_claims;
use comity_core::command::{
    IssueKind, ReportStatus, ReportedEvidence, ReportedIssue, ReportedLine, WorkReport,
};
use serde_json::{Map, Value, json};

/// How a developer's work may end, the gravest last.
const STATUSES: &[&str] = &["DONE", "DONE_WITH_CONCERNS", "NEEDS_CONTEXT", "BLOCKED"];
const OPTIONS: &[&str] = &["push", "pr", "keep", "discard"];
/// Counts and words that no document fixes, as they usually are.
const COUNT: Shape = Shape::Whole(0, i64::MAX);
const TEXT: Shape = Shape::AnyText;
const OPTION: Shape = Shape::Word(OPTIONS);
const TESTS: &str = "tests";

const EVIDENCE: &[Field] = &[
    must("command", Shape::Text, "the command that was run"),
    must("exit_code", Shape::Whole(-(1 << 31), (1 << 32) - 1), "its exit status"),
    may("summary", Shape::AnyText, "what it said"),
];

const COMPLETION: &[Field] = &[
    must("branch", Shape::Text, "the branch of the work"),
    may("commits", Shape::Usually(&COUNT), "how many commits it has"),
    may("tests", Shape::Usually(&TEXT), "how the tests ended"),
    may("options", Shape::List(&OPTION), "what could be done with it"),
    may("recommendation", Shape::Usually(&OPTION), "what should be done with it"),
    may("reason", Shape::AnyText, "why"),
];

const STEP: &[Field] = &[
    must("task_id", Shape::Text, "the task of the plan"),
    must("status", Shape::Word(STATUSES), "how it ended"),
    may("concerns", Shape::List(&Shape::AnyText), "doubts, questions, what is missing"),
    may("evidence", Shape::Object(EVIDENCE), "the check that was run last"),
    may("commit", Shape::AnyText, "its commit"),
    may("commit_message", Shape::AnyText, "the message of the commit"),
    may("files_changed", Shape::Usually(&COUNT), "how many files"),
    may("insertions", Shape::Usually(&COUNT), "how many lines came"),
    may("deletions", Shape::Usually(&COUNT), "how many lines went"),
    may("tests", Shape::Usually(&TEXT), "how the tests ended"),
    may("notes", Shape::AnyText, "remarks for later tasks"),
];

const FIELDS: &[Field] = &[
    may("task_id", Shape::AnyText, "the task"),
    may("status", Shape::Word(STATUSES), "how the work ended; in plan mode each task says so"),
    may("concerns", Shape::List(&Shape::AnyText), "doubts, questions, what is missing"),
    may("evidence", Shape::Object(EVIDENCE), "the check that was run last"),
    may("commit", Shape::AnyText, "the commit"),
    may("commit_message", Shape::AnyText, "the message of the commit"),
    may("files_changed", Shape::Usually(&COUNT), "how many files"),
    may("insertions", Shape::Usually(&COUNT), "how many lines came"),
    may("deletions", Shape::Usually(&COUNT), "how many lines went"),
    may("tests", Shape::Usually(&TEXT), "how the tests ended"),
    may("notes", Shape::AnyText, "remarks for later tasks"),
    may("tasks", Shape::Some(&Shape::Object(STEP)), "the tasks of a plan"),
    may("branch_completion", Shape::Object(COMPLETION), "what should become of the branch"),
    may("pr_url", Shape::AnyText, "the pull request"),
];

/// Counts the marks of a developer's report. A status in capitals is one, also when it is none of the words.
pub fn marks(_: &str, tree: Option<&Node>) -> u32 {
    let own =
        ["branch_completion", "concerns", "commit_message", "insertions", "deletions", "tests"];
    let get = |key: &str| tree.and_then(|tree| tree.get(key));
    let tasks = get("tasks").map_or(&[][..], Node::items);
    let steps = tasks.iter().any(|task| in_capitals(task.get("status")));
    let counted = get("files_changed").is_some_and(|node| matches!(node.data, Data::Number(_)));
    let ran = keys_there(get("evidence"), &["command", "exit_code"]) > 0;
    let flags = [in_capitals(get("status")), steps, counted, ran];
    keys_there(tree, &own) + flags.into_iter().map(u32::from).sum::<u32>()
}

fn in_capitals(status: Option<&Node>) -> bool {
    let text = status.and_then(Node::text).unwrap_or_default();
    text.contains(|c: char| c.is_ascii_uppercase()) && !text.contains(char::is_lowercase)
}

pub fn validate(root: &Node, _: Mode) -> Problems {
    let mut found = shape::check(root, FIELDS);
    if !matches!(root.data, Data::Map(_)) {
        return found;
    }
    let is_there = |key: &str| root.get(key).is_some_and(|value| value.data != Data::Null);
    if !is_there("status") && !is_there("tasks") {
        found.error(root.place_of("status"), "status", "status is missing: how the work ended");
        return found;
    }
    // What follows from the status can only be said when it is one.
    let Some(status) = known_status(root) else { return found };
    let stopped = matches!(status, "BLOCKED" | "NEEDS_CONTEXT");
    if status == "DONE_WITH_CONCERNS" && concerns(root).is_empty() {
        let at = root.place_of("status");
        found.warning(at, "concerns", "DONE_WITH_CONCERNS should list its concerns");
    }
    if stopped && concerns(root).is_empty() && text(root, "notes").is_empty() {
        let at = root.place_of("status");
        let message = format!("{status} must say in concerns or notes what is needed");
        found.error(at, "concerns", message);
    }
    failed_evidence(root, status, "", &mut found);
    for (place, task) in root.items_of("tasks").iter().enumerate() {
        let status = task.get("status").and_then(Node::text).unwrap_or_default();
        failed_evidence(task, status, &format!("tasks[{place}]."), &mut found);
    }
    let advice = root.get("branch_completion").map(|node| text(node, "recommendation"));
    if exit_code(root).is_some_and(|code| code != 0)
        && advice.is_some_and(|word| !word.is_empty() && word != "keep")
    {
        let at = root.place_of("branch_completion.recommendation");
        let message = "a branch with failing tests can only be kept";
        found.warning(at, "branch_completion.recommendation", message);
    }
    found
}

/// Work that is done has no evidence that failed.
fn failed_evidence(node: &Node, status: &str, before: &str, found: &mut Problems) {
    let done = matches!(status, "DONE" | "DONE_WITH_CONCERNS");
    let Some(code) = exit_code(node).filter(|code| *code != 0 && done) else { return };
    let at = node.place_of("evidence.exit_code");
    let message =
        format!("{status} contradicts the evidence: the command failed with exit code {code}");
    found.error(at, format!("{before}evidence.exit_code"), message);
}

pub fn schema() -> Value {
    let mut schema = shape::schema("Developer report", "What a developer reports.", FIELDS);
    if let Value::Object(map) = &mut schema {
        map.insert("anyOf".to_owned(), json!([said("status"), said("tasks")]));
    }
    schema
}

fn text(node: &Node, key: &str) -> String {
    node.text_of(key).trim().to_owned()
}

/// How the work ended; a plan ended as its worst task.
fn known_status(root: &Node) -> Option<&'static str> {
    let rank = |node: &Node| {
        let word = node.get("status").and_then(Node::text)?;
        STATUSES.iter().position(|status| *status == word)
    };
    let worst = root.items_of("tasks").iter().filter_map(rank).chain(rank(root)).max();
    worst.and_then(|place| STATUSES.get(place)).copied()
}

/// Every concern, those of a plan's tasks with the task's name before them.
fn concerns(root: &Node) -> Vec<String> {
    let list = |node: &Node| -> Vec<String> {
        let items = node.items_of("concerns");
        items.iter().filter_map(Node::written).filter(|text| !text.trim().is_empty()).collect()
    };
    let mut all = list(root);
    for task in root.items_of("tasks") {
        let name = text(task, "task_id");
        all.extend(list(task).into_iter().map(|concern| format!("{name}: {concern}")));
        let note = text(task, "notes");
        let stopped = matches!(text(task, "status").as_str(), "BLOCKED" | "NEEDS_CONTEXT");
        if stopped && list(task).is_empty() && !note.is_empty() {
            all.push(format!("{name}: {note}"));
        }
    }
    all
}

fn exit_code(root: &Node) -> Option<i64> {
    match &root.get("evidence")?.get("exit_code")?.data {
        Data::Number(numeral) => numeral.whole(),
        _ => None,
    }
}

/// Everything that a report says about tests, and whether they passed: for the whole, for the branch, and for each
/// task of a plan. What was run counts more than words; words that are unclear claim nothing.
fn tests_of(root: &Node) -> Vec<(bool, String)> {
    let of = |node: &Node| {
        let words = text(node, "tests");
        let ran = exit_code(node).zip(node.get("evidence")).map(|(code, evidence)| {
            let (command, summary) = (text(evidence, "command"), text(evidence, "summary"));
            (code == 0, format!("{command} (exit {code}) {summary}").trim().to_owned())
        });
        ran.or_else(|| Some((test_claims::claim(&words)?, words)))
    };
    let named = |task: &Node| {
        let (pass, words) = of(task)?;
        Some((pass, format!("{}: {words}", text(task, "task_id"))))
    };
    let branch = root.get("branch_completion").and_then(of);
    of(root)
        .into_iter()
        .chain(root.items_of("tasks").iter().filter_map(named))
        .chain(branch)
        .collect()
}

/// What all of it claims for the gate: one that failed is enough to fail.
fn claimed(said: &[(bool, String)]) -> Option<ReportedEvidence> {
    let pass = said.iter().all(|(pass, _)| *pass);
    let (_, words) = said.iter().find(|(passed, _)| *passed == pass)?;
    Some(ReportedEvidence { gate: TESTS.to_owned(), pass, report: Some(crate::one_line(words)) })
}

pub fn report(root: &Node) -> WorkReport {
    let word = known_status(root).unwrap_or("BLOCKED");
    let status = match word {
        "DONE" | "DONE_WITH_CONCERNS" => ReportStatus::Completed,
        _ => ReportStatus::Blocked,
    };
    let kind = match word {
        "BLOCKED" => IssueKind::Blocker,
        "NEEDS_CONTEXT" => IssueKind::Question,
        _ => IssueKind::Concern,
    };
    let mut said = concerns(root);
    let notes = text(root, "notes");
    if said.is_empty() && status == ReportStatus::Blocked {
        said.push(notes.clone());
    }
    let line = |level: &str, message: String| ReportedLine::new(level, message);
    let mut log = Vec::new();
    for task in root.items_of("tasks") {
        let (name, ended) = (text(task, "task_id"), text(task, "status"));
        let commit = match text(task, "commit") {
            commit if commit.is_empty() => String::new(),
            commit => format!(" — commit {commit}"),
        };
        log.push(line("info", format!("{name} {ended}{commit}")));
    }
    let tests = tests_of(root);
    for (pass, words) in &tests {
        log.push(line(if *pass { "info" } else { "error" }, words.clone()));
    }
    if !notes.is_empty() {
        log.push(line("info", notes));
    }
    let mut other: Map<String, Value> = Map::new();
    for entry in root.entries() {
        if !matches!(entry.key.as_str(), "status" | "concerns" | "notes") {
            other.insert(entry.key.clone(), entry.value.to_value());
        }
    }
    WorkReport {
        task_id: root.said("task_id").map(|id| id.trim().to_owned()),
        log,
        issues: said.into_iter().map(|text| ReportedIssue::new(kind, text)).collect(),
        pr: root.said("pr_url").map(|url| url.trim().to_owned()),
        evidence: claimed(&tests).into_iter().collect(),
        other,
        ..ended("developer", status)
    }
}
