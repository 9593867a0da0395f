//! The older `state.json`: `{overall_goal, tasks, file_locks}`.

use super::parsed::{Parsed, utf8};
use super::{Patch, Problem};
use comity_core::status::Status;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct V1 {
    pub goal: Option<String>,
    pub tasks: Vec<(String, Patch)>,
    pub locks: Vec<V1Lock>,
    pub agents: Vec<V1Agent>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct V1Lock {
    pub path: String,
    pub owner: String,
    pub purpose: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct V1Agent {
    pub id: String,
    pub record: Map<String, Value>,
}

pub fn read_v1(bytes: &[u8]) -> Result<V1, Vec<Problem>> {
    let parsed = Parsed::read(utf8(bytes)?)?;
    let Some(top) = parsed.value.as_object() else {
        return Err(vec![parsed.problem("", "must be an object")]);
    };
    let mut out = V1 { goal: word(top, "overall_goal"), ..V1::default() };
    let mut problems = parsed.lossy();
    let list = top.get("tasks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if top.get("tasks").is_some_and(|tasks| !tasks.is_array() && !tasks.is_null()) {
        problems.push(parsed.problem("tasks", "must be a list"));
    }
    for (n, entry) in list.iter().enumerate() {
        let mut complain = |key: &str, message: String| {
            problems.push(parsed.problem(format!("tasks[{n}].{key}"), message));
        };
        match entry.as_object() {
            None => complain("id", "must be an object".to_owned()),
            Some(entry) => read_task(entry, &mut out, &mut complain),
        }
    }
    read_locks(top.get("file_locks"), &mut out);
    read_agents(top.get("agents"), &mut out);
    for key in top.keys() {
        if !["overall_goal", "tasks", "file_locks", "agents"].contains(&key.as_str()) {
            out.notes.push(format!("comity does not take over {key}"));
        }
    }
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

fn word(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

fn read_task(entry: &Map<String, Value>, out: &mut V1, complain: &mut dyn FnMut(&str, String)) {
    let Some(id) = entry.get("id").and_then(|id| match id {
        Value::String(text) if !text.is_empty() => Some(numbered(text)),
        // The older form numbered its tasks.
        Value::Number(number) => Some(numbered(&number.to_string())),
        _ => None,
    }) else {
        return complain("id", "id is missing".to_owned());
    };
    let mut record = entry.clone();
    let description = word(entry, "description").unwrap_or_default();
    if word(entry, "title").is_none() {
        let first = description.lines().next().unwrap_or_default();
        let title: String = first.chars().take(comity_core::limits::TITLE_CHARS_MAX).collect();
        record.insert("title".to_owned(), json!(if title.is_empty() { &id } else { &title }));
    }
    let said = word(entry, "status").unwrap_or_else(|| "queued".to_owned());
    let status = status(&said);
    if status.is_none() {
        out.notes
            .push(format!("{id}: comity does not know the status {said:?} and queues the task"));
        record.insert("v1_status".to_owned(), json!(said));
    }
    record.insert("status".to_owned(), json!(status.unwrap_or(Status::Queued)));
    if let Some(Value::Array(list)) = record.get_mut("dependencies") {
        for on in list.iter_mut() {
            match on {
                Value::Number(number) => *on = json!(numbered(&number.to_string())),
                Value::String(text) => *on = json!(numbered(text)),
                _ => {}
            }
        }
    }
    if let Some(agent) = word(entry, "assignee") {
        name_agent(out, &agent);
    }
    match Patch::read(&record) {
        Ok(patch) => out.tasks.push((id, patch)),
        Err(problems) => problems.into_iter().for_each(|(key, message)| complain(&key, message)),
    }
}

fn numbered(text: &str) -> String {
    text.parse::<u64>().map_or_else(|_| text.to_owned(), |number| format!("task-{number:03}"))
}

fn status(word: &str) -> Option<Status> {
    let plain = word.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    if let Ok(status) = Status::parse(&plain) {
        return Some(status);
    }
    match plain.as_str() {
        "pending" | "todo" | "to_do" | "open" | "ready" | "new" | "backlog" | "not_started"
        | "unassigned" => Some(Status::Queued),
        "assigned" => Some(Status::Claimed),
        "doing" | "active" | "started" | "wip" | "working" => Some(Status::InProgress),
        "in_review" | "reviewing" | "needs_review" => Some(Status::Review),
        "complete" | "completed" | "finished" | "merged" | "closed" => Some(Status::Done),
        "waiting" | "on_hold" | "paused" => Some(Status::Blocked),
        "error" | "failure" => Some(Status::Failed),
        "cancelled" | "canceled" | "wontfix" | "dropped" => Some(Status::Abandoned),
        _ => None,
    }
}

fn name_agent(out: &mut V1, id: &str) {
    if !out.agents.iter().any(|agent| agent.id == id) {
        out.agents.push(V1Agent { id: id.to_owned(), record: Map::new() });
    }
}

/// A lock is a path with its owner, or with an object that names one.
fn read_locks(locks: Option<&Value>, out: &mut V1) {
    if let Some(other) = locks.filter(|locks| !locks.is_object() && !is_empty(locks)) {
        out.notes
            .push(format!("comity does not take over file_locks, which names no owners: {other}"));
    }
    for (path, value) in locks.and_then(Value::as_object).into_iter().flatten() {
        let (owner, purpose) = match value {
            Value::String(owner) => (Some(owner.clone()), None),
            Value::Object(lock) => {
                let owner = ["owner", "agent", "locked_by", "assignee"];
                let purpose = ["purpose", "task", "task_id"];
                let first = |keys: &[&str]| keys.iter().find_map(|key| word(lock, key));
                (first(&owner), first(&purpose))
            }
            _ => (None, None),
        };
        match owner.filter(|owner| !owner.is_empty()) {
            Some(owner) => {
                name_agent(out, &owner);
                out.locks.push(V1Lock { path: path.clone(), owner, purpose });
            }
            None => {
                out.notes.push(format!(
                    "comity does not take over the lock on {path}, which names no owner"
                ));
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn read_agents(agents: Option<&Value>, out: &mut V1) {
    for entry in agents.and_then(Value::as_array).into_iter().flatten() {
        let (id, record) = match entry {
            Value::String(id) => (Some(id.clone()), Map::new()),
            Value::Object(entry) => {
                (word(entry, "id").or_else(|| word(entry, "name")), entry.clone())
            }
            _ => (None, Map::new()),
        };
        let Some(id) = id else {
            out.notes.push("comity does not take over an agent without an id".to_owned());
            continue;
        };
        out.agents.retain(|agent| agent.id != id);
        out.agents.push(V1Agent { id, record });
    }
}
