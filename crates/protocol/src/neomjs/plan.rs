//! A plan: several task contracts in one document, which may wait for each other.

use super::check::list;
use super::{TaskContract, envelope, task};
use crate::contract::Mode;
use crate::document::{Data, Node};
use crate::problem::{Level, Problems};
use crate::shape::{self, Field, Shape, may};
use crate::task_plan;
use comity_core::command::{NewTask, PlannedTask};
use comity_core::task::Priority;

const TEXTS: Shape = Shape::OneOrMore(&Shape::AnyScalar);
const PLANNING: &[Field] = &[
    may("key", Shape::AnyScalar, "its name in this plan"),
    may("id", Shape::AnyScalar, "the id of the task"),
    may("title", Shape::AnyScalar, "its title"),
    may("depends_on", TEXTS, "what it waits for"),
    may("priority", Shape::AnyScalar, "its priority"),
    may("labels", TEXTS, "its labels"),
];
const WHOLE: &[Field] = &[
    may("epic", Shape::AnyScalar, "the epic of all tasks"),
    may("epic_issue", Shape::AnyScalar, "the epic of all tasks"),
];

#[derive(Clone, Debug, PartialEq)]
pub struct PlanItem {
    pub key: Option<String>,
    pub id: Option<String>,
    pub title: Option<String>,
    /// What it waits for: keys of this plan, or ids of tasks.
    pub depends_on: Vec<String>,
    pub priority: Option<Priority>,
    pub labels: Vec<String>,
    /// The epic of the whole plan, when the contract names none.
    pub epic: Option<String>,
    pub contract: TaskContract,
}

/// Reads a plan: a list of contracts, or a document with a list `tasks`; everything wrong with it is said at once.
pub fn read_plan(text: &str) -> Result<Vec<PlanItem>, Problems> {
    let root = envelope::read(text).map_err(Problems::from)?;
    let mut problems = Problems::new();
    let (items, path) = match (&root.data, root.get("tasks").map(|tasks| &tasks.data)) {
        (Data::List(items), _) => (items, ""),
        (_, Some(Data::List(items))) => (items, "tasks"),
        _ => {
            problems.error(root.at, "tasks", "a plan is a list of contracts, or has a list tasks");
            return Err(problems);
        }
    };
    if matches!(root.data, Data::Map(_)) {
        problems.extend(shape::check(&root, WHOLE));
    }
    let epic = ["epic", "epic_issue"].iter().find_map(|key| root.get(key)?.written());
    let mut plan: Vec<PlanItem> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let (list, path) = (path, format!("{path}[{place}]"));
        let mut found = task::validate(item, Mode::Full);
        if matches!(item.data, Data::Map(_)) {
            found.extend(shape::check(item, PLANNING));
        }
        for entry in task_plan::misplaced(item) {
            let text = "this word belongs to a plan of tasks with a title and no goal; a contract has \
                        context.files and requirements";
            let path = format!("{path}.{}", entry.key);
            problems.error(entry.key_at, &path, format!("{path}: {text}"));
        }
        for problem in found.iter() {
            let at = item.place_of(&problem.path);
            let inner = if problem.path.is_empty() { "" } else { "." };
            let full = format!("{path}{inner}{}", problem.path);
            let message = format!("{path}: {}", problem.message);
            match problem.level {
                Level::Error => problems.error(at, full, message),
                Level::Warning => problems.warning(at, full, message),
            }
        }
        let planned = plan_item(item, &path, epic.as_ref(), &mut problems);
        let same = |other: &PlanItem| planned.key.is_some() && other.key == planned.key;
        if let Some(first) = plan.iter().position(same) {
            let key = if item.get("key").is_some() { "key" } else { "id" };
            let message = format!("{path}: {list}[{first}] has the same {key}");
            problems.error(item.place_of(key), format!("{path}.{key}"), message);
        }
        plan.push(planned);
    }
    if items.is_empty() {
        problems.error(root.at, "tasks", "the plan has no task");
    }
    if problems.is_valid() { Ok(plan) } else { Err(problems) }
}

fn plan_item(item: &Node, path: &str, epic: Option<&String>, problems: &mut Problems) -> PlanItem {
    let word = |key: &str| item.get(key).and_then(Node::written).filter(|text| !text.is_empty());
    let priority = word("priority").and_then(|text| match Priority::parse(&text) {
        Ok(priority) => Some(priority),
        Err(refusal) => {
            let message = format!("{path}: {}", refusal.message);
            problems.error(item.place_of("priority"), format!("{path}.priority"), message);
            None
        }
    });
    let mut contract = TaskContract::of(item);
    contract.other.retain(|key, _| !shape::knows(PLANNING, key));
    PlanItem {
        key: word("key").or_else(|| word("id")),
        id: word("id"),
        title: word("title"),
        depends_on: list(item.get("depends_on")),
        priority,
        labels: list(item.get("labels")),
        epic: epic.cloned(),
        contract,
    }
}

impl PlanItem {
    pub fn planned(&self) -> PlannedTask {
        let new = self.contract.new_task(self.title.as_deref());
        let task = NewTask {
            id: self.id.clone(),
            depends_on: self.depends_on.clone(),
            priority: self.priority,
            labels: self.labels.clone(),
            epic: new.epic.clone().or_else(|| self.epic.clone()),
            body: Some(self.contract.render()),
            ..new
        };
        PlannedTask { key: self.key.clone(), task }
    }
}
