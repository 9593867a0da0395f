//! The contract of a task: what an agent is to do.

use super::check::{Check, list, shown, text, unknown};
use super::envelope;
use crate::contract::{Mode, SURE, keys_there};
use crate::document::{Data, Node, Style, to_yaml};
use crate::problem::Problems;
use comity_core::command::NewTask;
use comity_core::limits;
use comity_core::pattern::Pattern;
use comity_core::role::Role;
use comity_core::task::Task;
use serde_json::{Map, Value, json};

pub(super) const HEADER: &str = "# AGENT TASK CONTRACT";
const KNOWN: [&str; 6] = ["version", "type", "role", "goal", "context", "requirements"];
/// How single values are written, in the whole contract and one by one.
pub(super) const STYLE: Style<'static> = Style {
    literal: &[],
    folded: &["goal"],
    quoted: &[
        "context.files[]",
        "context.knowledge_base_refs[]",
        "requirements[]",
        "files[]",
        "knowledge_base_refs[]",
    ],
};
const TYPE_DEFAULT: &str = "implementation";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskContract {
    pub kind: Option<String>,
    pub role: Option<String>,
    pub goal: String,
    /// The epic, files to look at, documents to know, and whatever else.
    pub context: Map<String, Value>,
    pub requirements: Vec<String>,
    pub other: Map<String, Value>,
}

pub(super) fn marks(given: &str, tree: Option<&Node>) -> u32 {
    if envelope::has_header(given, HEADER) {
        return SURE;
    }
    keys_there(tree, &["goal", "requirements"])
}

pub(super) fn validate(root: &Node, _mode: Mode) -> Problems {
    let mut check = match Check::of(root, "task contract") {
        Ok(check) => check,
        Err(problems) => return problems,
    };
    check.version();
    check.wished("type");
    if let Some(role) = check.wished("role") {
        let word = role.written().unwrap_or_default();
        if Role::parse(&word).is_err() {
            let message = format!("role {} is not known; one of: pm, dev, qa", shown(&word));
            check.found.error(role.at, "role", message);
        }
    }
    check.needed("goal");
    context(&mut check);
    requirements(&mut check);
    check.found
}

fn context(check: &mut Check<'_>) {
    let Some(value) = check.root.get("context").filter(|value| value.data != Data::Null) else {
        return;
    };
    if !matches!(value.data, Data::Map(_)) {
        check.found.error(value.at, "context", "context is not a list of keys and values");
        return;
    }
    check.texts("context.files", value.get("files"));
    check.texts("context.knowledge_base_refs", value.get("knowledge_base_refs"));
    let files = value.get("files");
    let single = files.filter(|files| files.text().is_some());
    let items = files.map_or(&[][..], Node::items).iter().chain(single);
    for (place, item) in items.enumerate() {
        let Some(name) = item.text().filter(|name| !name.trim().is_empty()) else { continue };
        if let Err(error) = Pattern::parse(name) {
            let path = format!("context.files[{place}]");
            check.found.error(item.at, &path, format!("{path}: {}: {error}", shown(name)));
        }
    }
}

/// The original's own worker fails on a contract without requirements; here it is said.
fn requirements(check: &mut Check<'_>) {
    let value = check.root.get("requirements").filter(|value| value.data != Data::Null);
    let Some(value) = value else {
        check.found.error(check.root.at, "requirements", "requirements is missing");
        return;
    };
    if value.text().is_some() {
        let message = "requirements is one text, not a list; it is taken as a list of one";
        check.found.warning(value.at, "requirements", message);
    }
    check.texts("requirements", Some(value));
    // A task has each requirement once, so it could not be made.
    let said: Vec<Option<String>> = value.items().iter().map(Node::written).collect();
    for (place, (item, text)) in value.items().iter().zip(&said).enumerate() {
        let first = said.iter().position(|other| other == text).filter(|_| text.is_some());
        if let Some(first) = first.filter(|first| *first < place) {
            let path = format!("requirements[{place}]");
            let message = format!("{path} is requirements[{first}] again");
            check.found.error(item.at, &path, message);
        }
    }
}

impl TaskContract {
    pub fn of(root: &Node) -> TaskContract {
        let given = |key: &str| Some(text(root, key)).filter(|text| !text.trim().is_empty());
        let entries = root.get("context").map_or(&[][..], Node::entries);
        let context = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value()));
        TaskContract {
            kind: given("type"),
            role: given("role"),
            goal: text(root, "goal").trim_end().to_owned(),
            context: context.collect(),
            requirements: list(root.get("requirements")),
            other: unknown(root, &KNOWN),
        }
    }

    pub fn new_task(&self, title: Option<&str>) -> NewTask {
        let named = title.or_else(|| self.other.get("title").and_then(Value::as_str));
        let goal = self.goal.trim();
        let short = named.map_or_else(|| title_of(goal), title_of);
        let mut context = self.context.clone();
        let files = texts(context.shift_remove("files").as_ref());
        let epic = context.get("epic_issue").and_then(scalar);
        if epic.is_some() {
            context.shift_remove("epic_issue");
        }
        NewTask {
            description: if short == self.goal { String::new() } else { self.goal.clone() },
            title: short,
            kind: self.kind.clone(),
            role: self.role.as_deref().and_then(|word| Role::parse(word).ok()),
            files,
            requirements: self.requirements.clone(),
            context,
            epic,
            ..NewTask::default()
        }
    }

    pub fn of_task(task: &Task) -> TaskContract {
        let mut context = task.context.clone();
        let stated = context.get("epic_issue").and_then(scalar);
        if let Some(epic) = task.epic.as_ref().filter(|epic| stated.as_ref() != Some(*epic)) {
            context.insert("epic_issue".to_owned(), number_or_text(epic));
        }
        if !task.files.is_empty() {
            context.insert("files".to_owned(), json!(task.files));
        }
        TaskContract {
            kind: task.kind.clone(),
            role: task.role.map(|role| role_word(role).to_owned()),
            goal: goal_of(task).to_owned(),
            context,
            requirements: task.requirements.clone(),
            other: Map::new(),
        }
    }

    /// Returns the repository that it is meant for, when it names one.
    pub fn repository(&self) -> Option<&str> {
        let named = self.other.get("repository").or_else(|| self.context.get("repository"));
        named.and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty())
    }

    pub fn render(&self) -> String {
        let head = json!({
            "version": 1.0,
            "type": self.kind.as_deref().unwrap_or(TYPE_DEFAULT),
            "role": self.role.as_deref().unwrap_or("dev"),
        });
        let mut context = Map::new();
        for key in ["epic_issue", "files", "knowledge_base_refs"] {
            if let Some(value) = self.context.get(key) {
                context.insert(key.to_owned(), value.clone());
            }
        }
        for (key, value) in &self.context {
            context.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let mut parts = vec![head, json!({"goal": format!("{}\n", self.goal)})];
        if !context.is_empty() {
            parts.push(json!({"context": context}));
        }
        parts.push(json!({"requirements": self.requirements}));
        if !self.other.is_empty() {
            parts.push(Value::Object(self.other.clone()));
        }
        let parts: Vec<String> = parts.iter().map(|part| to_yaml(part, &STYLE)).collect();
        format!("{HEADER}\n{}", parts.join("\n"))
    }
}

/// What a task is for: its description, or its title where it needs no more.
pub(super) fn goal_of(task: &Task) -> &str {
    match task.description.trim_end() {
        "" => &task.title,
        description => description,
    }
}

/// The protocol's word for a role, comity's own where it has none.
pub(super) fn role_word(role: Role) -> &'static str {
    match role {
        Role::Planner => "pm",
        Role::Implementer => "dev",
        Role::Critic => "qa",
        other => other.as_str(),
    }
}

pub(super) fn title_of(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    line.chars().take(limits::TITLE_CHARS_MAX).map(plain).collect::<String>().trim().to_owned()
}

pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

pub(super) fn number_or_text(text: &str) -> Value {
    text.parse::<u64>()
        .ok()
        .filter(|n| n.to_string() == text)
        .map_or_else(|| json!(text), Value::from)
}

fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
        Some(Value::String(text)) if !text.trim().is_empty() => vec![text.clone()],
        _ => Vec::new(),
    }
}
