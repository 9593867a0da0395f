//! An issue as a task, and back. Its text is kept as it came; what the task says otherwise by now is set in its
//! place, and everything else stays.

use super::check::list;
use super::in_place::Inside;
use super::task::{goal_of, number_or_text, role_word, scalar, title_of};
use super::{TaskContract, envelope, task};
use crate::contract::Mode;
use crate::document::{Node, to_yaml};
use crate::labels::{Dialect, Issue};
use comity_core::command::NewTask;
use comity_core::event::TaskLinked;
use comity_core::limits;
use comity_core::pattern::{CaseRule, Pattern};
use comity_core::status::Status;
use comity_core::task::Task;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub text: String,
    pub contract: String,
}

/// Makes a task of an issue whose contract is valid. The front matter of its file gives title, role, labels and
/// the issue's number; the contract counts more than its labels.
pub fn new_task(text: &str, tree: &Node, title: Option<&str>) -> NewTask {
    let front = envelope::front(text);
    let beside = envelope::front_title(text);
    let new = TaskContract::of(tree).new_task(title.or(beside.as_deref()));
    let labels = list(front.as_ref().and_then(|front| front.get("labels")));
    let number = front.as_ref().and_then(|front| front.get("id")?.written());
    let number = number.filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()));
    let link = |value| TaskLinked { provider: "github".into(), key: "issue".into(), value };
    NewTask {
        role: new.role.or_else(|| Dialect::neo().role(&labels)),
        labels: free_words(labels),
        links: number.map(link).into_iter().collect(),
        // A comment that quotes a contract is no body; of it the contract is kept.
        body: Some(if envelope::is_quoted(text) {
            envelope::contract_in(text)
        } else {
            text.to_owned()
        }),
        ..new
    }
}

/// Returns the state that the front matter of an issue's file tells: whether it is closed, and why, and its label.
pub fn status_there(text: &str) -> Option<Status> {
    let front = envelope::front(text)?;
    let labels = list(front.get("labels"));
    let says = |keys: &[&str], words: &[&str]| {
        let said = keys.iter().find_map(|key| front.get(key)?.written());
        said.is_some_and(|said| words.iter().any(|word| word.eq_ignore_ascii_case(said.trim())))
    };
    let issue = match says(&["state"], &["closed"]) {
        true if says(&["stateReason", "state_reason"], &["not_planned", "duplicate"]) => {
            Issue::NotPlanned
        }
        true => Issue::Completed,
        false => Issue::Open,
    };
    let dialect = Dialect::neo();
    dialect.status(dialect.states_in(&labels).first().copied(), issue)
}

/// Labels that say neither state nor role, which a task has fields for.
fn free_words(labels: Vec<String>) -> Vec<String> {
    let dialect = Dialect::neo();
    let mut seen = BTreeSet::new();
    let is_free = |label: &String| {
        let one = std::slice::from_ref(label);
        let fits = label.len() <= limits::WORD_BYTES_MAX && !label.chars().any(char::is_control);
        let says = !dialect.states_in(one).is_empty() || dialect.role(one).is_some();
        fits && !says && !label.trim().is_empty()
    };
    let free = labels.into_iter().filter(is_free).filter(|label| seen.insert(label.clone()));
    free.take(limits::LIST_ENTRIES_MAX).collect()
}

/// Writes a task as the issue that it was made of, or as a contract where there is none.
pub fn written(task: &Task, body: Option<&str>) -> Written {
    let Some((text, tree)) = body.and_then(|body| Some((body, read(body)?))) else {
        let contract = TaskContract::of_task(task).render();
        return Written { text: with_labels(task, contract.clone()), contract };
    };
    let text = brought_up_to_date(task, text)
        .unwrap_or_else(|| with_contract(text, &contract_now(task, &tree)));
    Written { contract: envelope::contract_in(&text), text: with_labels(task, text) }
}

/// The labels of a task stand in front of a text that has no front matter of its own.
fn with_labels(task: &Task, text: String) -> String {
    if task.labels.is_empty() || envelope::front(&text).is_some() {
        return text;
    }
    format!("---\n{}---\n{text}", to_yaml(&json!({"labels": task.labels}), &task::STYLE))
}

fn read(text: &str) -> Option<Node> {
    let tree = envelope::read(text).ok()?;
    task::validate(&tree, Mode::Full).is_valid().then_some(tree)
}

struct Change {
    front: bool,
    within: Option<&'static str>,
    key: String,
    value: Option<Value>,
}

/// Sets what differs where it stands; none where the text is not written line by line.
fn brought_up_to_date(task: &Task, text: &str) -> Option<String> {
    let mut now = text.to_owned();
    for change in changes(task, text, &read(text)?) {
        let (root, end) = match change.front {
            true => (envelope::front(&now)?, envelope::front_lines(&now).end),
            false => (envelope::read(&now).ok()?, envelope::contract_lines(&now).end),
        };
        let inside = Inside { text: &now, root: &root, end };
        now = inside.set(change.within, &change.key, change.value.as_ref())?;
    }
    changes(task, &now, &read(&now)?).is_empty().then_some(now)
}

fn contract_now(task: &Task, tree: &Node) -> TaskContract {
    let mut other = TaskContract::of(tree).other;
    if other.contains_key("title") {
        other.insert("title".to_owned(), json!(task.title));
    }
    TaskContract { other, ..TaskContract::of_task(task) }
}

fn with_contract(text: &str, contract: &TaskContract) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let range = envelope::contract_lines(text);
    let before = lines.get(..range.start).unwrap_or_default().concat();
    let after = lines.get(range.end..).unwrap_or_default().concat();
    format!("{before}{}{after}", contract.render())
}

fn changes(task: &Task, text: &str, tree: &Node) -> Vec<Change> {
    let stated = TaskContract::of(tree);
    let made = new_task(text, tree, None);
    let mut out = Vec::new();
    let mut set = |within: Option<&'static str>, key: &str, value: Option<Value>| {
        out.push(Change { front: false, within, key: key.to_owned(), value });
    };
    let titled = stated.other.get("title").and_then(Value::as_str);
    if titled.is_some_and(|title| title_of(title) != task.title) && made.title != task.title {
        set(None, "title", Some(json!(task.title)));
    }
    if task.kind != stated.kind {
        set(None, "type", task.kind.as_ref().map(|kind| json!(kind)));
    }
    // A label that names a role cannot be taken back by the contract.
    if task.role != made.role && (task.role.is_some() || stated.role.is_some()) {
        set(None, "role", task.role.map(|role| json!(role_word(role))));
    }
    if goal_of(task) != stated.goal {
        set(None, "goal", Some(json!(format!("{}\n", goal_of(task)))));
    }
    if task.requirements != stated.requirements {
        set(None, "requirements", Some(json!(task.requirements)));
    }
    if !same_files(&made.files, &task.files) {
        let files = Some(json!(task.files)).filter(|_| !task.files.is_empty());
        set(Some("context"), "files", files);
    }
    let mut keys: Vec<&String> = made.context.keys().chain(task.context.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys.into_iter().filter(|key| !["files", "epic_issue"].contains(&key.as_str())) {
        if made.context.get(key) != task.context.get(key) {
            set(Some("context"), key, task.context.get(key).cloned());
        }
    }
    let epic = task.epic.clone().or_else(|| task.context.get("epic_issue").and_then(scalar));
    if epic != made.epic {
        set(Some("context"), "epic_issue", epic.as_ref().map(|epic| number_or_text(epic)));
    }
    if envelope::front_title(text).is_some_and(|title| title_of(&title) != task.title) {
        let (key, value) = ("title".to_owned(), Some(json!(task.title)));
        out.push(Change { front: true, within: None, key, value });
    }
    if let Some(front) = envelope::front(text) {
        let there = list(front.get("labels"));
        let free = free_words(there.clone());
        if free != task.labels {
            let kept = there.into_iter().filter(|label| !free.contains(label));
            let labels: Vec<String> = kept.chain(task.labels.iter().cloned()).collect();
            let (key, value) = ("labels".to_owned(), Some(json!(labels)));
            out.push(Change { front: true, within: None, key, value });
        }
    }
    out
}

/// A contract may write a path in many ways; a task has one.
fn same_files(stated: &[String], files: &[String]) -> bool {
    let normal = |rule: CaseRule| {
        let mut normal: Vec<String> = Vec::new();
        for text in stated {
            let pattern =
                Pattern::parse_with(text, rule).map(|pattern| pattern.as_str().to_owned());
            let pattern = pattern.unwrap_or_else(|_| text.clone());
            if !normal.contains(&pattern) {
                normal.push(pattern);
            }
        }
        normal
    };
    normal(CaseRule::Sensitive) == files || normal(CaseRule::Insensitive) == files
}
