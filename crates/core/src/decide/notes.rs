//! What callers say for the record: notes, and events of their own.

use super::{Answer, Rule};
use crate::event::{Event, Note, REPORTED_FIELD, Reported, Verdict};
use crate::facts::{Halt, Ruling};
use crate::ids::TaskId;
use crate::role::Verb;
use crate::task::Task;
use crate::via::VIA_FIELD;
use serde_json::{Map, Value};

/// Fields of the log itself, which a caller cannot set.
const HEADER_FIELDS: [&str; 8] =
    ["event", "seq", "v", "repo", "task", "prev", "hash", REPORTED_FIELD];
/// Gate of a reported `tests_run` that names none.
const DEFAULT_GATE: &str = "tests";

impl Rule<'_> {
    pub(super) fn note(&mut self, kind: &str, text: &str, task: Option<&String>) -> Ruling<Answer> {
        let task = task.map(|text| self.task(text)).transpose()?;
        self.require(Verb::Note)?;
        let place = self.events.len();
        let body = Note { kind: kind.to_owned(), text: text.to_owned() };
        self.push(task.map(|task| &task.id), Event::Note(body));
        Ok(Answer::Event(place))
    }

    /// Appends what a caller reports. It is never projected; a `tests_run` also counts as claimed
    /// evidence, which is an event of its own.
    pub(super) fn emit(&mut self, given: &Map<String, Value>) -> Ruling<Answer> {
        let name = given.get("event").and_then(Value::as_str).unwrap_or_default().to_owned();
        let task_text = given.get("task").and_then(Value::as_str);
        // A report may be about a task of another system, so that only a whole id means a task here.
        let task = match task_text.map(TaskId::parse) {
            Some(Ok(id)) => self.facts.task(&self.request.repo, &id)?,
            Some(Err(_)) | None => None,
        };
        self.require(Verb::Emit)?;
        let place = self.events.len();
        let fields = reported_fields(given, task.is_none());
        let id: Option<TaskId> = task.map(|task| task.id.clone());
        self.push(id.as_ref(), Event::Reported(Reported { name: name.clone(), fields }));
        if name == "tests_run"
            && let Some(task) = task
            && !task.status.is_finished()
            && let Some(verdict) = verdict(given)
            && let gate = given.get("gate").and_then(Value::as_str).unwrap_or(DEFAULT_GATE)
            && gate != super::gates::REVIEW_GATE
            && self.has_gate(task, gate)
            && self.counts_as_evidence(task)?
        {
            let text = |key: &str| given.get(key).and_then(Value::as_str).map(str::to_owned);
            let (report, commit) = (text("report"), text("commit"));
            self.push_evidence(task, gate, verdict, report.as_ref(), commit.as_ref())?;
        }
        Ok(Answer::Event(place))
    }
}

impl Rule<'_> {
    /// A report counts as evidence when its caller could have recorded it as such.
    fn counts_as_evidence(&self, task: &Task) -> Ruling<bool> {
        match self.may_record(task) {
            Ok(()) => Ok(true),
            Err(Halt::Refuse(_)) => Ok(false),
            Err(need) => Err(need),
        }
    }
}

fn reported_fields(given: &Map<String, Value>, keep_task: bool) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert(REPORTED_FIELD.to_owned(), Value::Bool(true));
    for (key, value) in given {
        match key.as_str() {
            // The log has these itself; what the caller says of them is kept beside.
            "ts" | "agent" | "seq" | "v" | "repo" | "prev" | "hash" | VIA_FIELD => {
                fields.insert(format!("reported_{key}"), value.clone());
            }
            "task" if keep_task => {
                fields.insert("reported_task".to_owned(), value.clone());
            }
            key if HEADER_FIELDS.contains(&key) => {}
            key => {
                fields.insert(key.to_owned(), value.clone());
            }
        }
    }
    fields
}

fn verdict(given: &Map<String, Value>) -> Option<Verdict> {
    let result = given.get("result").or_else(|| given.get("status"))?;
    match result {
        Value::Bool(true) => Some(Verdict::Pass),
        Value::Bool(false) => Some(Verdict::Fail),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "pass" | "passed" | "ok" | "success" | "green" => Some(Verdict::Pass),
            "fail" | "failed" | "error" | "failure" | "red" => Some(Verdict::Fail),
            _ => None,
        },
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
