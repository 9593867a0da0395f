//! What the tools take. The names are those of `tools.json`; a test compares both.

use comity_core::decision::{Addressee, DecisionOption, DecisionType};
use comity_core::memory::MemoryType;
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::task::{Deliverable, Priority};
use comity_core::time::Millis;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads the arguments of a tool. A key whose value is null counts as left out.
pub fn read<T: DeserializeOwned>(tool: &str, mut given: Map<String, Value>) -> Result<T, Refusal> {
    given.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(given)).map_err(|error| {
        let text = error.to_string();
        Refusal::input(format!("{tool}: {text}")).hint("see the input schema of the tool")
    })
}

macro_rules! arguments {
    ($($name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* })*) => {
        $(#[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$meta])* pub $field: $type,)* })*
    };
}

fn yes() -> bool {
    true
}

arguments! {
    ClaimTask {
        id: Option<String>,
        role: Option<Role>,
        #[serde(default, with = "comity_core::time::written")]
        ttl: Option<Millis>,
        #[serde(default = "yes")]
        start: bool,
        key: Option<String>,
    }
    LeaseFiles {
        paths: Vec<String>,
        task: Option<String>,
        #[serde(default)]
        shared: bool,
        wait_seconds: Option<i64>,
        key: Option<String>,
    }
    Release {
        task: Option<String>,
        #[serde(default)]
        leases: Vec<String>,
        reason: String,
        fence: Option<u64>,
        key: Option<String>,
    }
    Record {
        task: Option<String>,
        kind: RecordKind,
        text: Option<String>,
        #[serde(default)]
        paths: Vec<String>,
        to: Option<String>,
        gate: Option<String>,
        passed: Option<bool>,
        fence: Option<u64>,
        key: Option<String>,
    }
    SubmitWork {
        task: String,
        outcome: Outcome,
        summary: String,
        result: Option<String>,
        commit: Option<String>,
        branch: Option<String>,
        pr: Option<String>,
        needs: Option<String>,
        #[serde(default)]
        questions: Vec<String>,
        fence: Option<u64>,
        key: Option<String>,
    }
    ReviewTask {
        task: String,
        verdict: Verdict,
        reason: Option<String>,
        key: Option<String>,
    }
    Ask {
        question: String,
        #[serde(default)]
        options: Vec<String>,
        #[serde(rename = "type")]
        kind: Option<DecisionType>,
        context: Option<String>,
        default: Option<String>,
        #[serde(default, with = "comity_core::time::written")]
        expires: Option<Millis>,
        to: Option<Addressee>,
        task: Option<String>,
        wait_seconds: Option<i64>,
        key: Option<String>,
    }
    LookUp {
        what: What,
        id: Option<String>,
        query: Option<String>,
        #[serde(default)]
        paths: Vec<String>,
        #[serde(default)]
        ready: bool,
        limit: Option<usize>,
        after: Option<String>,
    }
    CreateTask {
        title: String,
        #[serde(default)]
        description: String,
        #[serde(default)]
        files: Vec<String>,
        #[serde(default)]
        depends_on: Vec<String>,
        priority: Option<Priority>,
        #[serde(default)]
        deliverable: Deliverable,
        #[serde(default)]
        gates: Vec<String>,
        #[serde(default)]
        checklist: Vec<String>,
        parent: Option<String>,
        key: Option<String>,
    }
    Remember {
        text: String,
        #[serde(rename = "type")]
        kind: Remembered,
        scope: Option<String>,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(default, with = "comity_core::time::written")]
        expires: Option<Millis>,
        key: Option<String>,
    }
}

macro_rules! words {
    ($($name:ident { $($variant:ident,)* })*) => {
        $(#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant,)* })*
    };
}

words! {
    RecordKind {
        Heartbeat, Start, Progress, Discovery, Milestone, StepStarted, StepDone, ItemMet, Gate,
        Change, Message,
    }
    Remembered { Fact, Procedure, Feedback, Focus, Pad, }
    Outcome { Completed, Blocked, Failed, }
    Verdict { Take, Approve, RequestChanges, }
    What {
        Status, Tasks, Task, Why, Leases, Paths, Decisions, Decision, Memories, Agents, Events,
        Pad, Interface, Brief,
    }
}

impl RecordKind {
    /// Tells whether a caller who names no task means the one that it holds.
    pub fn is_about_own_task(self) -> bool {
        match self {
            RecordKind::Progress
            | RecordKind::Discovery
            | RecordKind::Milestone
            | RecordKind::StepStarted
            | RecordKind::StepDone
            | RecordKind::ItemMet
            | RecordKind::Gate => true,
            RecordKind::Heartbeat
            | RecordKind::Start
            | RecordKind::Change
            | RecordKind::Message => false,
        }
    }
}

impl Remembered {
    /// Returns the type of a memory; a pad is none.
    pub fn memory(self) -> Option<MemoryType> {
        match self {
            Remembered::Fact => Some(MemoryType::Fact),
            Remembered::Procedure => Some(MemoryType::Procedure),
            Remembered::Feedback => Some(MemoryType::Feedback),
            Remembered::Focus => Some(MemoryType::Focus),
            Remembered::Pad => None,
        }
    }
}

/// Reads `KEY` or `KEY:label`.
pub fn option(text: &str) -> DecisionOption {
    let (key, label) = match text.split_once(':') {
        Some((key, label)) => (key.trim(), Some(label.trim().to_owned())),
        None => (text.trim(), None),
    };
    let label = label.filter(|label| !label.is_empty());
    DecisionOption { key: key.to_owned(), label, description: None }
}
