//! The contract of a task: what an agent is to do.

use super::check::{list, unknown};
use super::envelope;
use crate::contract::{Mode, SURE, keys_there};
use crate::document::{Node, Style, to_yaml};
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, check_paths, may, must, should};
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
const TEXTS: Shape = Shape::OneOrMore(&Shape::Scalar);
const CONTEXT: &[Field] = &[
    may("epic_issue", Shape::Any, "the number of the epic"),
    may("files", TEXTS, "the files to look at"),
    may("knowledge_base_refs", TEXTS, "the documents to know"),
];
const FIELDS: &[Field] = &[
    should("version", Shape::VersionOne, "1.0"),
    should("type", Shape::AnyScalar, "the kind of work, such as implementation"),
    should("role", Shape::Role, "who should do it: pm, dev or qa"),
    must("goal", Shape::Scalar, "what is wanted"),
    may("context", Shape::Open(CONTEXT), "what one must know to do it"),
    must("requirements", TEXTS, "what the result must satisfy"),
];
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
    let mut found = shape::check(root, FIELDS);
    let files = root.get("context").and_then(|context| context.get("files"));
    check_paths(&mut found, "context.files", files, Pattern::parse);
    // A task has each requirement once, so it could not be made.
    let items = root.items_of("requirements");
    let said: Vec<Option<String>> = items.iter().map(Node::written).collect();
    for (place, (item, text)) in items.iter().zip(&said).enumerate() {
        let first = said.iter().position(|other| other == text).filter(|_| text.is_some());
        if let Some(first) = first.filter(|first| *first < place) {
            let path = format!("requirements[{place}]");
            let message = format!("{path} is requirements[{first}] again");
            found.error(item.at, &path, message);
        }
    }
    found
}

pub(super) fn schema() -> Value {
    shape::schema("Task contract", "Neo.mjs Agent Task Protocol v1.0", FIELDS)
}

impl TaskContract {
    pub fn of(root: &Node) -> TaskContract {
        let entries = root.get("context").map_or(&[][..], Node::entries);
        let context = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value()));
        TaskContract {
            kind: root.said("type"),
            role: root.said("role"),
            goal: root.text_of("goal").trim_end().to_owned(),
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

pub(crate) fn title_of(text: &str) -> String {
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
