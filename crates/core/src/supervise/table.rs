//! The table of the supervisor as data: rows with triggers, conditions and actions, each from a closed list.

use super::triage::Triage;
use crate::word_enum::word_enum;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The built-in table, and every setting with its default.
pub const BUILT_IN: &str = include_str!("rules.toml");

/// Most rows of a table.
pub const ROWS_MAX: usize = 500;
/// Longest expression that a text is matched with, in characters.
const MATCHES_CHARS_MAX: usize = 200;

word_enum! {
    /// What a row looks at.
    pub enum Trigger as "trigger" {
        /// A run of any stage is about to be dispatched.
        DispatchAny => "dispatch.*",
        DispatchPlan => "dispatch.plan",
        DispatchDevelop => "dispatch.develop",
        DispatchReview => "dispatch.review",
        DispatchScout => "dispatch.scout",
        /// A run that goes on where another one failed.
        DispatchResume => "dispatch.resume",
        /// The first run that develops a task, and whatever a person said yes to.
        DispatchFirst => "dispatch.first",
        TaskReady => "task.ready",
        TaskReview => "task.review",
        TaskChangesRequested => "task.changes_requested",
        TaskApproved => "task.approved",
        ReportArchitect => "report.architect",
        ReportDeveloper => "report.developer",
        ReportBranch => "report.branch",
        ReportReviewer => "report.reviewer",
        DecisionOpen => "decision.open",
        DecisionFinding => "decision.finding",
        DecisionDesign => "decision.design",
        RunSucceeded => "run.succeeded",
        RunFailed => "run.failed",
        PersonText => "person.text",
        Directive => "directive",
    }
}

/// Everything that a condition may ask for.
pub const FIELDS: [&str; 33] = [
    "task.id",
    "task.title",
    "task.type",
    "task.status",
    "task.priority",
    "task.complexity",
    "task.deliverable",
    "task.deletion",
    "task.scope",
    "task.vague",
    "task.ci",
    "task.reviewer_run",
    "run.id",
    "run.agent",
    "run.stage",
    "run.attempt",
    "run.error.type",
    "run.diverged",
    "report.status",
    "report.concerns",
    "report.recommendation",
    "report.notes",
    "decision.answer",
    "decision.type",
    "decision.to",
    "decision.design_checks",
    "finding.effort",
    "directive.text",
    "config.auto_decide",
    "slot.free",
    "count.sent_back",
    "count.same_error",
    "count.similar",
];
/// Further counts, which are looked up only where a row asks for them.
pub const COUNTS: [&str; 2] = ["count.same_error_in_repo", "count.same_issue"];

#[derive(Clone, Debug)]
pub enum Test {
    Is(Value),
    IsNot(Value),
    Below(f64),
    AtLeast(f64),
    /// One of these words.
    In(Vec<String>),
    /// Has one of these words, or another form of it.
    Has(Vec<String>),
    Matches(Regex),
    Exists(bool),
}

#[derive(Clone, Debug)]
pub struct Condition {
    pub field: String,
    pub test: Test,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Start this agent; `same` is the one that ran last.
    Dispatch(String),
    Decide,
    Approve,
    Submit,
    Answer,
    Note,
    Memory,
    Block,
    Skip,
    Task,
    Gate,
    Merge,
    /// Push the branch of a run, and open its pull request.
    Push,
}

impl Action {
    fn parse(text: &str) -> Result<Action, String> {
        if let Some(agent) = text.strip_prefix("dispatch ") {
            return crate::run::check_name(agent.trim())
                .map(|()| Action::Dispatch(agent.trim().to_owned()))
                .map_err(|refusal| refusal.message);
        }
        Ok(match text {
            "decide" => Action::Decide,
            "approve" => Action::Approve,
            "submit" => Action::Submit,
            "answer" => Action::Answer,
            "note" => Action::Note,
            "memory" => Action::Memory,
            "block" => Action::Block,
            "skip" => Action::Skip,
            "task" => Action::Task,
            "gate" => Action::Gate,
            "merge" => Action::Merge,
            "push" => Action::Push,
            _ => return Err(format!("there is no action {text:?}")),
        })
    }
}

#[derive(Clone, Debug)]
pub struct Row {
    pub id: String,
    pub on: Trigger,
    pub when: Vec<Condition>,
    pub action: Action,
    /// The action as the table words it.
    pub words: String,
    pub args: Map<String, Value>,
    pub because: Option<String>,
}

impl Row {
    pub fn arg(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str)
    }

    pub fn list(&self, name: &str) -> Vec<String> {
        let all = self.args.get(name).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

#[derive(Clone, Debug)]
pub struct Table {
    pub rows: Vec<Row>,
    pub triage: Triage,
    /// Files whose content nobody has to remember.
    pub never: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowText {
    id: String,
    on: String,
    #[serde(default)]
    when: Vec<(String, String, Value)>,
    #[serde(rename = "do")]
    action: String,
    #[serde(default)]
    args: Map<String, Value>,
    because: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryText {
    never: Option<NeverText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NeverText {
    files: Vec<String>,
}

/// What a project's own file may hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    #[serde(default)]
    rule: Vec<RowText>,
    triage: Option<toml::Table>,
    memory: Option<MemoryText>,
}

/// The built-in file, which has the settings beside the table.
#[derive(Deserialize)]
struct Whole {
    rule: Vec<RowText>,
    triage: toml::Table,
    memory: MemoryText,
}

impl Table {
    /// Returns the built-in table.
    pub fn built_in() -> Result<Table, String> {
        let whole: Whole = toml::from_str(BUILT_IN).map_err(|error| error.to_string())?;
        let rows = whole.rule.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
        let never = whole.memory.never.map(|never| never.files).unwrap_or_default();
        Ok(Table { rows, triage: Triage::read(whole.triage)?, never })
    }

    /// Returns the built-in table with a project's own rows: the same id replaces a row, a new one goes first.
    pub fn with_own(text: &str) -> Result<Table, String> {
        let mut table = Table::built_in()?;
        let own: Own = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut first = Vec::new();
        for given in own.rule {
            let new = row(given)?;
            if first.iter().any(|known: &Row| known.id == new.id) {
                return Err(format!("there are two rules {:?}", new.id));
            }
            match table.rows.iter_mut().find(|known| known.id == new.id) {
                Some(known) => *known = new,
                None => first.push(new),
            }
        }
        first.append(&mut table.rows);
        if first.len() > ROWS_MAX {
            return Err(format!("{} rules are more than {ROWS_MAX}", first.len()));
        }
        table.rows = first;
        if let Some(changed) = own.triage {
            let whole: Whole = toml::from_str(BUILT_IN).map_err(|error| error.to_string())?;
            let mut triage = whole.triage;
            merge(&mut triage, changed);
            table.triage = Triage::read(triage)?;
        }
        if let Some(never) = own.memory.and_then(|memory| memory.never) {
            table.never = never.files;
        }
        Ok(table)
    }

    /// Returns the rows of a trigger, in order.
    pub fn on(&self, trigger: Trigger) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.on == trigger)
    }
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(known)), toml::Value::Table(new)) => merge(known, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

fn row(given: RowText) -> Result<Row, String> {
    let wrong = |why: String| format!("rule {:?}: {why}", given.id);
    if given.id.is_empty() || given.id.chars().any(|c| c.is_whitespace() || c == ':') {
        return Err(wrong("an id is one word without a colon".to_owned()));
    }
    let on = Trigger::parse(&given.on).map_err(|refusal| wrong(refusal.message))?;
    let when = given.when.iter().map(condition).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let action = Action::parse(&given.action).map_err(wrong)?;
    let RowText { id, action: words, args, because, .. } = given;
    Ok(Row { id, on, when, action, words, args, because })
}

fn condition((field, op, value): &(String, String, Value)) -> Result<Condition, String> {
    if !FIELDS.contains(&field.as_str()) && !COUNTS.contains(&field.as_str()) {
        return Err(format!("there is no field {field:?}"));
    }
    let number = || value.as_f64().ok_or_else(|| format!("{field} {op} needs a number"));
    let text = || value.as_str().ok_or_else(|| format!("{field} {op} needs a text"));
    let words = || Ok::<_, String>(text()?.split_whitespace().map(str::to_owned).collect());
    let test = match op.as_str() {
        "=" => Test::Is(value.clone()),
        "!=" => Test::IsNot(value.clone()),
        "<" => Test::Below(number()?),
        ">=" => Test::AtLeast(number()?),
        "in" => Test::In(words()?),
        "has" => Test::Has(words()?),
        "matches" => {
            let text = text()?;
            if text.chars().count() > MATCHES_CHARS_MAX {
                return Err(format!("{field} matches more than {MATCHES_CHARS_MAX} characters"));
            }
            Test::Matches(Regex::new(text).map_err(|error| error.to_string())?)
        }
        "exists" => Test::Exists(value.as_bool().unwrap_or(true)),
        _ => return Err(format!("there is no comparison {op:?}")),
    };
    Ok(Condition { field: field.clone(), test })
}

impl Test {
    /// Tells whether a value passes. A field that has none passes nothing but what says so.
    pub fn passes(&self, value: &Value) -> bool {
        let words = || match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
        };
        if value.is_null() {
            return matches!(self, Test::Exists(false) | Test::IsNot(_));
        }
        match self {
            Test::Is(wanted) => value == wanted || words() == text_of(wanted),
            Test::IsNot(wanted) => value != wanted && words() != text_of(wanted),
            Test::Below(most) => value.as_f64().is_some_and(|number| number < *most),
            Test::AtLeast(least) => value.as_f64().is_some_and(|number| number >= *least),
            Test::In(all) => all.contains(&words()),
            Test::Has(all) => super::triage::has_word(&words(), all),
            Test::Matches(regex) => regex.is_match(&words()),
            Test::Exists(wanted) => *wanted,
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
