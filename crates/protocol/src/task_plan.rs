//! A plan in comity's own words: a list of tasks with the words of `task create` in snake case.
//!
//! Nothing is dropped: a key that is not known is refused with its place.

use crate::document::{self, Data, Entry, Node, Place};
use crate::mission::check_context;
use crate::problem::Problems;
use crate::shape::{count, shown};
use comity_core::command::{NewTask, PlannedTask};
use comity_core::ids::AgentId;
use comity_core::pattern::Pattern;
use comity_core::role::Role;
use comity_core::task::{Constraints, Deliverable, Priority};
use comity_core::time::Millis;

/// Every key of a task.
pub const KEYS: [&str; 27] = [
    "key",
    "id",
    "title",
    "description",
    "priority",
    "labels",
    "role",
    "depends_on",
    "files",
    "requires",
    "dod",
    "gates",
    "blockers",
    "context",
    "constraints",
    "max_files",
    "no_git_commit",
    "no_new_deps",
    "allow_delete",
    "timeout",
    "deliverable",
    "type",
    "complexity",
    "epic",
    "prd",
    "initiative",
    "parent",
];
/// Also a key, apart from those that say what the work is.
const ASSIGNEE: &str = "assignee";
/// Keys of the object `constraints`, which may also stand in the task itself.
const CONSTRAINTS: [&str; 4] = ["max_files", "no_git_commit", "no_new_deps", "allow_delete"];
/// Keys of a plan that is an object.
const WHOLE: [&str; 2] = ["tasks", "epic"];
/// The key that only a contract of Neo.mjs has, and each of them.
const OF_CONTRACTS: &str = "goal";

/// Tells whether a text is a plan in comity's own words, and not a list of contracts.
pub fn is_own(text: &str) -> bool {
    let Ok(root) = document::read(text) else { return false };
    let items = tasks(&root).map_or(&[][..], Node::items);
    !items.is_empty() && items.iter().all(|item| item.get(OF_CONTRACTS).is_none())
}

/// Lists the words of a plan that would mean nothing in a contract, each with its place.
pub fn misplaced(item: &Node) -> impl Iterator<Item = &Entry> {
    const HERE_ONLY: [&str; 9] = [
        "description",
        "files",
        "requires",
        "dod",
        "gates",
        "blockers",
        "constraints",
        "deliverable",
        "parent",
    ];
    item.entries().iter().filter(|entry| HERE_ONLY.contains(&entry.key.as_str()))
}

fn tasks(root: &Node) -> Option<&Node> {
    match &root.data {
        Data::List(_) => Some(root),
        _ => root.get("tasks"),
    }
}

/// Reads a plan; everything wrong with it is said at once.
pub fn read(text: &str) -> Result<Vec<PlannedTask>, Problems> {
    let root = document::read(text)?;
    let mut problems = Problems::new();
    for entry in root.entries().iter().filter(|entry| !WHOLE.contains(&entry.key.as_str())) {
        unknown(entry, "", &WHOLE, &mut problems);
    }
    let Some(list) = tasks(&root).filter(|list| !list.items().is_empty()) else {
        problems.error(root.at, "tasks", "a plan is a list of tasks, or has a list tasks");
        return Err(problems);
    };
    let prefix = if list.at == root.at && root.entries().is_empty() { "" } else { "tasks" };
    let mut plan: Vec<PlannedTask> = Vec::new();
    for (place, item) in list.items().iter().enumerate() {
        let path = format!("{prefix}[{place}]");
        let mut planned = Reading { path, problems: &mut problems }.task(item);
        planned.task.epic = planned.task.epic.or_else(|| root.said("epic"));
        let same = |other: &PlannedTask| planned.key.is_some() && other.key == planned.key;
        if let Some(first) = plan.iter().position(same) {
            let key = planned.key.as_deref().unwrap_or_default();
            let message = format!("{prefix}[{place}]: {prefix}[{first}] has the key {key:?}, too");
            problems.error(item.at, format!("{prefix}[{place}].key"), message);
        }
        plan.push(planned);
    }
    if problems.is_valid() { Ok(plan) } else { Err(problems) }
}

fn unknown(entry: &Entry, path: &str, known: &[&str], problems: &mut Problems) {
    let Entry { key, key_at, .. } = entry;
    let at = if path.is_empty() { String::new() } else { format!("{path}: ") };
    let message = format!("{at}the key {key:?} is not known; use one of: {}", known.join(", "));
    problems.error(*key_at, crate::shape::join(path, key), message);
}

/// Reads one task.
struct Reading<'p> {
    path: String,
    problems: &'p mut Problems,
}

impl Reading<'_> {
    fn wrong(&mut self, at: Place, key: &str, message: &str) {
        let text = format!("{}: {key}: {message}", self.path);
        self.problems.error(at, format!("{}.{key}", self.path), text);
    }

    fn task(&mut self, item: &Node) -> PlannedTask {
        let mut task = NewTask::default();
        let mut key = None;
        if !matches!(item.data, Data::Map(_)) {
            let message = format!("{} must be a task, not {}", self.path, shown(item));
            self.problems.error(item.at, &self.path, message);
            return PlannedTask { key, task };
        }
        for entry in item.entries().iter().filter(|entry| entry.value.data != Data::Null) {
            match entry.key.as_str() {
                "key" => key = self.text(entry),
                "constraints" => self.constraints(entry, &mut task.constraints),
                name if CONSTRAINTS.contains(&name) => {
                    self.constraint(entry, &mut task.constraints);
                }
                _ => self.field(entry, &mut task),
            }
        }
        if task.title.trim().is_empty() {
            self.wrong(item.at, "title", "a task needs a title, in one line");
        }
        PlannedTask { key: key.or_else(|| task.id.clone()), task }
    }

    fn field(&mut self, entry: &Entry, task: &mut NewTask) {
        match entry.key.as_str() {
            "id" => task.id = self.text(entry),
            "title" => task.title = self.text(entry).unwrap_or_default(),
            "description" => task.description = self.text(entry).unwrap_or_default(),
            "type" => task.kind = self.text(entry),
            "epic" => task.epic = self.text(entry),
            "prd" => task.prd = self.text(entry),
            "initiative" => task.initiative = self.text(entry),
            "parent" => task.parent = self.text(entry),
            "labels" => task.labels = self.texts(entry),
            "depends_on" => task.depends_on = self.texts(entry),
            "files" => task.files = self.paths(entry),
            "requires" => task.requirements = self.texts(entry),
            "dod" => task.dod = self.texts(entry),
            "gates" => task.gates = self.texts(entry),
            "blockers" => task.blockers = self.texts(entry),
            "complexity" => task.complexity = self.count(entry),
            "priority" => task.priority = self.parsed(entry, |word| said(Priority::parse(word))),
            "role" => task.role = self.parsed(entry, |word| said(Role::parse(word))),
            "deliverable" => {
                let word = self.parsed(entry, |word| said(Deliverable::parse(word)));
                task.deliverable = word.unwrap_or_default();
            }
            "timeout" => {
                let how = || "write a duration such as 90s, 15m or 2h".to_owned();
                task.timeout = self.parsed(entry, |word| Millis::parse(word).ok_or_else(how));
            }
            ASSIGNEE => task.assignee = self.parsed(entry, |word| said(AgentId::parse(word))),
            "context" => match &entry.value.data {
                Data::Map(_) => {
                    let pairs = entry.value.entries().iter();
                    task.context = pairs.map(|e| (e.key.clone(), e.value.to_value())).collect();
                    if let Err(refusal) = check_context(&task.context) {
                        self.wrong(entry.value.at, "context", &refusal.message);
                    }
                }
                _ => self.not(entry, "an object"),
            },
            _ => {
                let known = [KEYS.as_slice(), &[ASSIGNEE]].concat();
                unknown(entry, &self.path, &known, self.problems);
            }
        }
    }

    fn constraints(&mut self, entry: &Entry, constraints: &mut Constraints) {
        if !matches!(entry.value.data, Data::Map(_)) {
            return self.not(entry, "an object");
        }
        for inner in entry.value.entries() {
            if CONSTRAINTS.contains(&inner.key.as_str()) {
                self.constraint(inner, constraints);
            } else {
                unknown(inner, &format!("{}.constraints", self.path), &CONSTRAINTS, self.problems);
            }
        }
    }

    fn constraint(&mut self, entry: &Entry, constraints: &mut Constraints) {
        match entry.key.as_str() {
            "max_files" => constraints.max_files = self.count(entry),
            "no_git_commit" => constraints.no_git_commit = self.flag(entry),
            "no_new_deps" => constraints.no_new_deps = self.flag(entry),
            _ => constraints.allow_delete = self.paths(entry),
        }
    }

    fn not(&mut self, entry: &Entry, wanted: &str) {
        let message = format!("must be {wanted}, not {}", shown(&entry.value));
        self.wrong(entry.value.at, &entry.key, &message);
    }

    fn text(&mut self, entry: &Entry) -> Option<String> {
        let text = entry.value.written();
        if text.is_none() {
            self.not(entry, "a text");
        }
        text
    }

    /// A list of texts; one text is a list of one.
    fn texts(&mut self, entry: &Entry) -> Vec<String> {
        let one = std::slice::from_ref(&entry.value);
        let items =
            if matches!(entry.value.data, Data::List(_)) { entry.value.items() } else { one };
        let texts: Option<Vec<String>> = items.iter().map(Node::written).collect();
        if texts.is_none() {
            self.not(entry, "a list of texts");
        }
        texts.unwrap_or_default()
    }

    fn paths(&mut self, entry: &Entry) -> Vec<String> {
        let paths = self.texts(entry);
        for path in &paths {
            if let Err(error) = Pattern::parse(path) {
                self.wrong(entry.value.at, &entry.key, &format!("{path:?}: {error}"));
            }
        }
        paths
    }

    fn count(&mut self, entry: &Entry) -> Option<u32> {
        let number = count(&entry.value);
        if number.is_none() {
            self.not(entry, "a count");
        }
        number
    }

    fn flag(&mut self, entry: &Entry) -> bool {
        if let Data::Bool(value) = entry.value.data {
            return value;
        }
        self.not(entry, "true or false");
        false
    }

    fn parsed<T>(&mut self, entry: &Entry, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let word = self.text(entry)?;
        parse(word.trim()).map_err(|why| self.wrong(entry.value.at, &entry.key, &why)).ok()
    }
}

fn said<T>(parsed: Result<T, comity_core::refusal::Refusal>) -> Result<T, String> {
    parsed.map_err(|refusal| refusal.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_plan_reaches_the_task() {
        let plan = read(
            "tasks:\n\
             - {key: parse, title: Parse dates, description: All of them, priority: high}\n\
             - title: Print dates\n  id: T9\n  depends_on: parse\n  files: [src/print.rs, 'docs/**']\n  \
               requires: [fast]\n  dod: [documented]\n  gates: [tests]\n  labels: [rust]\n  role: qa\n  \
               deliverable: document\n  type: feature\n  complexity: 3\n  timeout: 2h\n  \
               context: {api: v2}\n  constraints: {max_files: 3, no_new_deps: true}\n  \
               no_git_commit: true\n  allow_delete: [old/**]\n  blockers: [the server]\n  epic: E1\n  \
               prd: P1\n  initiative: I1\n  parent: T1\n  assignee: ada\n\
             epic: E9\n",
        )
        .unwrap();
        let [first, second] = plan.as_slice() else { panic!("two tasks") };
        assert_eq!(first.key.as_deref(), Some("parse"));
        assert_eq!(first.task.epic.as_deref(), Some("E9"));
        assert_eq!(first.task.priority, Some(Priority::parse("P1").unwrap()));
        let task = &second.task;
        assert_eq!((second.key.as_deref(), task.epic.as_deref()), (Some("T9"), Some("E1")));
        assert_eq!(
            (&*task.depends_on, &*task.files),
            (&["parse".into()][..], &["src/print.rs".into(), "docs/**".into()][..])
        );
        assert_eq!(
            (&*task.gates, &*task.dod, &*task.requirements),
            (&["tests".into()][..], &["documented".into()][..], &["fast".into()][..])
        );
        assert_eq!((task.complexity, task.timeout), (Some(3), Millis::parse("2h")));
        assert_eq!((task.role, task.deliverable), (Some(Role::Critic), Deliverable::Document));
        let constraints = &task.constraints;
        assert_eq!(
            (constraints.max_files, &*constraints.allow_delete),
            (Some(3), &["old/**".into()][..])
        );
        assert!(constraints.no_git_commit && constraints.no_new_deps);
        assert_eq!(task.assignee.as_ref().unwrap().as_str(), "ada");
        assert_eq!(task.context["api"], "v2");
        assert_eq!((task.blockers.len(), task.parent.as_deref()), (1, Some("T1")));
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_place() {
        let problems =
            read("- title: Parse dates\n  gate: tests\n- priority: urgent\n").unwrap_err();
        let found: Vec<(u32, u32, &str)> =
            problems.iter().map(|p| (p.line, p.column, p.path.as_str())).collect();
        assert_eq!(found, [(2, 3, "[0].gate"), (3, 13, "[1].priority"), (3, 3, "[1].title")]);
        for bad in [
            "tasks: []",
            "title: x",
            "- x",
            "- {title: x, files: {a: b}}",
            "- {title: x, no_git_commit: 1}",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let twice = read("- {key: a, title: x}\n- {key: a, title: y}").unwrap_err();
        assert!(twice.errors()[0].contains("has the key \"a\", too"), "{:?}", twice.errors());
    }

    #[test]
    fn a_list_of_contracts_is_told_from_a_plan() {
        assert!(is_own("- title: x"));
        assert!(!is_own("- {title: x, goal: y, requirements: [z]}"));
        assert!(!is_own("tasks: []") && !is_own("a: [") && !is_own("x"));
    }
}
