//! The kinds of contract that can be read, checked and handed in: one row each.

use crate::ace;
use crate::agent_protocol::{in_prose, mission_check, result};
use crate::document::{self, Fault, Node, Place};
use crate::neomjs;
use crate::neotx::{agent, architect, developer, resume, reviewer, scout, supervisor, wrapped};
use crate::problem::Problems;
use comity_core::command::{FileAction, ReportStatus, ReportedFile, WorkReport};
use comity_core::pattern::listed_path;
use recognise::{Purpose, Recognised};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

mod contradictions;
mod recognise;
mod strict;

/// How strictly a contract is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// comity checks everything that the text shows.
    #[default]
    Full,
    /// comity checks exactly what the original tool checks.
    Compat,
    /// As `Full`, and comity also refuses what it would not write itself: unknown keys, and everything it only remarks.
    Strict,
}

pub struct ContractKind {
    pub name: &'static str,
    pub help: &'static str,
    /// Reads the text. Other text may stand around the contract, except in `Mode::Compat`.
    pub read: fn(&str, Mode) -> Result<Node, Fault>,
    /// Counts the marks of this kind: words or keys that only contracts of this kind have. 0 means that the text is of another
    /// kind.
    pub marks: fn(&str, Option<&Node>) -> u32,
    pub validate: fn(&Node, Mode) -> Problems,
    pub schema: fn() -> Value,
    /// Returns what a valid contract reports, for kinds that end a piece of work.
    pub report: Option<fn(&Node) -> Option<WorkReport>>,
}

impl fmt::Debug for ContractKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// One row: the module of a kind has its marks, its check and its schema, and what it reports if it ends work.
macro_rules! row {
    ($name:literal, $help:literal, $read:expr, $module:ident) => {
        ContractKind {
            name: $name,
            help: $help,
            read: $read,
            marks: $module::marks,
            validate: $module::validate,
            schema: $module::schema,
            report: None,
        }
    };
    ($name:literal, $help:literal, $read:expr, $module:ident, reports) => {
        ContractKind {
            report: Some(|tree| Some($module::report(tree))),
            ..$crate::contract::row!($name, $help, $read, $module)
        }
    };
}
pub(crate) use row;

fn in_message(text: &str, _: Mode) -> Result<Node, Fault> {
    wrapped::read(text)
}

pub const KINDS: &[ContractKind] = &[
    row!("mission", "Agent Protocol v1: what an agent is to do", in_prose::mission, mission_check),
    row!("result", "Agent Protocol v1: what came of it", in_prose::result, result, reports),
    neomjs::TASK,
    neomjs::RESULT,
    neomjs::ERROR,
    row!("developer", "neo: what a developer reports", in_message, developer, reports),
    row!("reviewer", "neo: what a reviewer found", in_message, reviewer),
    row!("scout", "neo: what a scout found", in_message, scout),
    row!("architect", "neo: where the plan is", in_message, architect),
    row!("supervisor", "neo: what a focused supervisor ends with", in_message, supervisor, reports),
    row!("agent", "neo: the definition of an agent", |text, _| document::read(text), agent),
    row!("resume", "neo: where to go on after a crash", |text, _| resume::read(text), resume),
    ace::DONE,
    ace::COMMENT,
];

pub fn kind(name: &str) -> Option<&'static ContractKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// A contract with this many marks is of that kind for sure, for example because of its header.
pub const SURE: u32 = 100;

/// Finds the kind of a contract by its content; none when the content fits no kind or several.
pub fn recognise(text: &str) -> Option<&'static ContractKind> {
    match recognise::look(text, Purpose::Check) {
        Recognised::One(kind) => Some(kind),
        Recognised::Several(_) | Recognised::Contradictory(_) | Recognised::Nothing => None,
    }
}

pub struct Checked {
    pub kind: Option<&'static ContractKind>,
    pub tree: Option<Node>,
    pub problems: Problems,
}

impl Checked {
    pub fn is_valid(&self) -> bool {
        self.tree.is_some() && self.kind.is_some() && self.problems.is_valid()
    }
}

/// Reads and checks a contract of the given kind, or of the kind that its content shows.
pub fn check(text: &str, given: Option<&'static ContractKind>, mode: Mode) -> Checked {
    look(text, given, mode, Purpose::Check)
}

/// Reads and checks what an agent hands in. The text may repeat the mission that the agent was given.
pub fn check_handed_in(text: &str, given: Option<&'static ContractKind>) -> Checked {
    look(text, given, Mode::Full, Purpose::HandIn)
}

fn look(text: &str, given: Option<&'static ContractKind>, mode: Mode, purpose: Purpose) -> Checked {
    let seen = given.map_or_else(|| recognise::look(text, purpose), Recognised::One);
    match seen {
        Recognised::One(kind) => of_kind(text, kind, mode),
        Recognised::Several(kinds) => undecided(text, &kinds, mode),
        Recognised::Contradictory(fault) => {
            Checked { kind: None, tree: None, problems: fault.into() }
        }
        Recognised::Nothing => match document::read(text) {
            Ok(tree) => unknown(tree, mode),
            Err(fault) => {
                let mut problems = Problems::from(fault);
                problems.error(Place::START, "", untold());
                Checked { kind: None, tree: None, problems }
            }
        },
    }
}

fn untold() -> String {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    format!("the content of this contract fits no kind; name the kind ({})", names.join(", "))
}

fn of_kind(text: &str, kind: &'static ContractKind, mode: Mode) -> Checked {
    match (kind.read)(text, mode) {
        Err(fault) => Checked { kind: Some(kind), tree: None, problems: fault.into() },
        Ok(tree) => {
            let problems = problems_of(&tree, kind, mode);
            Checked { kind: Some(kind), tree: Some(tree), problems }
        }
    }
}

fn problems_of(tree: &Node, kind: &ContractKind, mode: Mode) -> Problems {
    let mut problems = (kind.validate)(tree, mode);
    if mode == Mode::Strict {
        problems.all_errors();
        problems.extend(strict::unknown(tree, &(kind.schema)(), ""));
    }
    problems
}

fn undecided(text: &str, kinds: &[&'static ContractKind], mode: Mode) -> Checked {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let message = format!(
        "the content of this contract fits several kinds ({}); name the kind",
        names.join(", ")
    );
    let mut problems = Problems::new();
    problems.error(Place::START, "", message);
    let mut tree = None;
    for kind in kinds {
        let checked = of_kind(text, kind, mode);
        problems.extend(checked.problems.seen_as(kind.name));
        tree = tree.or(checked.tree);
    }
    Checked { kind: None, tree, problems }
}

fn unknown(tree: Node, mode: Mode) -> Checked {
    let mut problems = Problems::new();
    problems.error(tree.at, "", untold());
    if let Some(near) = recognise::nearest(&tree) {
        problems.extend(problems_of(&tree, near, mode).seen_as(near.name));
    }
    Checked { kind: None, tree: Some(tree), problems }
}

/// Returns what a valid contract reports, for kinds that end a piece of work. If the contract names a task, the report
/// is about that task.
pub fn report(kind: &ContractKind, tree: &Node) -> Option<WorkReport> {
    let mut report = kind.report.and_then(|report| report(tree))?;
    let named = tree.get("task_id").and_then(Node::written);
    let named = named.filter(|id| !id.trim().is_empty() && !ace::is_workers_own(id));
    report.task_id = report.task_id.or(named);
    Some(report)
}

/// A report that says nothing yet but how the work ended.
pub(crate) fn ended(contract: &str, status: ReportStatus) -> WorkReport {
    WorkReport {
        contract: contract.to_owned(),
        task_id: None,
        status,
        files_modified: Vec::new(),
        lists_files: false,
        log: Vec::new(),
        issues: Vec::new(),
        completed_at: None,
        pr: None,
        evidence: Vec::new(),
        other: serde_json::Map::new(),
        keys: Vec::new(),
    }
}

/// A file that was changed, in the one spelling that can be compared with what git says.
pub(crate) fn changed_file(name: &str) -> ReportedFile {
    let path = listed_path(name).unwrap_or_else(|_| name.to_owned());
    ReportedFile::new(path, FileAction::Changed)
}

pub fn keys_there(tree: Option<&Node>, keys: &[&str]) -> u32 {
    let Some(tree) = tree else { return 0 };
    keys.iter().map(|key| u32::from(tree.entry(key).is_some())).sum()
}

pub fn says(tree: Option<&Node>, key: &str, words: &[&str]) -> bool {
    let text = tree.and_then(|tree| tree.get(key)).and_then(Node::text);
    text.is_some_and(|text| words.contains(&text))
}

#[cfg(test)]
mod tests;
