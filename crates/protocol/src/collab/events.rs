//! Lines of `events.jsonl`: the event first, then its own fields, `ts` last.

use super::legacy::UNNAMED;
use super::locks::{lock_id, parse_lock_id};
use super::seconds;
use comity_core::time::Timestamp;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Etags {
    pub prev: String,
    pub new: String,
}

fn state_of(event: &str) -> Option<super::StateFile> {
    match event {
        "task_created" | "task_updated" | "task_linked" | "status_changed" | "task_claimed"
        | "task_assigned" => Some(super::StateFile::Tasks),
        "file_locked" | "lease_released" | "lease_renewed" | "locks_reclaimed" => {
            Some(super::StateFile::Locks)
        }
        "agent_registered" | "agent_updated" | "agent_described" => Some(super::StateFile::Agents),
        _ => None,
    }
}

const HEADER: [&str; 15] = [
    "seq",
    "ts",
    "event",
    "v",
    "repo",
    "agent",
    "task",
    "prev",
    "hash",
    "reported",
    "reported_ts",
    "reported_agent",
    "reported_task",
    UNNAMED,
    ORIGIN_LINE,
];

/// The field of a reported event that says which line it was read from: the first digits of its hash. So a line is
/// known again, wherever it stands.
pub const ORIGIN_LINE: &str = "origin_line";

/// Returns what stands for a line under [`ORIGIN_LINE`].
pub fn line_mark(event: &Map<String, Value>) -> String {
    let text = super::line(&Value::Object(event.clone()));
    super::etag(text.as_bytes()).chars().take(16).collect()
}

const AGENT_UPDATED: &str = "agent_updated";

/// Says whether a line, which is not our own, is about what somebody reported only.
pub(super) fn is_reported(event: &Map<String, Value>) -> bool {
    event.get("reported") == Some(&Value::Bool(true))
}

/// Makes the line of an event as `comity event list` shows it. `seq` says which one it is, so that a line is never
/// taken for one that another tool wrote.
pub fn event_line(
    event: &Value,
    etags: &dyn Fn(super::StateFile) -> Option<Etags>,
) -> Map<String, Value> {
    let name = event.get("event").and_then(Value::as_str).unwrap_or_default();
    let reported = event.get("reported") == Some(&Value::Bool(true));
    let mut out = Map::new();
    let about = agent_event(event, name).filter(|_| !reported);
    if event.get(UNNAMED).is_none() {
        let name = if about.is_some() { AGENT_UPDATED } else { name };
        out.insert("event".to_owned(), json!(name));
    }
    out.extend(about.map(pair("agent")));
    let task = event.get("task").filter(|task| !task.is_null());
    let task = task.or_else(|| event.get("reported_task")).cloned();
    if name != "file_locked" || reported {
        out.extend(task.map(|task| ("task".to_owned(), task)));
    }
    let empty = Map::new();
    let fields = event.as_object().unwrap_or(&empty);
    match name {
        "file_locked" if !reported => lock_fields(fields, &mut out),
        "task_created" if !reported => {
            out.extend(fields.get("assignee").filter(|a| !a.is_null()).map(pair("assignee")));
        }
        _ => own_fields(fields, &mut out, reported),
    }
    if let Some(tags) = state_of(name).filter(|_| !reported).and_then(etags) {
        out.insert("prev_etag".to_owned(), json!(tags.prev));
        out.insert("new_etag".to_owned(), json!(tags.new));
    }
    if reported {
        out.insert("reported".to_owned(), json!(true));
    }
    // What a caller said of itself stands where its own tool would have written it.
    let agent = event.get("reported_agent").or_else(|| event.get("agent"));
    out.extend(agent.map(pair(if about.is_some() { "actor" } else { "agent" })));
    out.extend(event.get("seq").map(pair("seq")));
    let own_time = event.get("ts").and_then(Value::as_str).and_then(Timestamp::parse).map(seconds);
    let time = event.get("reported_ts").cloned().unwrap_or_else(|| json!(own_time));
    out.shift_remove("ts");
    out.insert("ts".to_owned(), time);
    out
}

/// The agent that an event is about, where it is one of those that its own tools call `agent_updated`. Who comes for
/// the first time has registered itself, which they have no word for.
fn agent_event<'e>(event: &'e Value, name: &str) -> Option<&'e Value> {
    let whom = event.get("id")?;
    match name {
        "agent_updated" | "agent_described" => Some(whom),
        "agent_registered" if event.get("agent") != Some(whom) => Some(whom),
        _ => None,
    }
}

fn pair(key: &'static str) -> impl Fn(&Value) -> (String, Value) {
    move |value| (key.to_owned(), value.clone())
}

/// The purpose of a lease is a task for these tools.
fn lock_fields(fields: &Map<String, Value>, out: &mut Map<String, Value>) {
    out.extend(fields.get("path").map(pair("path")));
    out.extend(fields.get("lock_id").map(|id| ("lock_id".to_owned(), lock(id))));
    out.extend(fields.get("owner").map(pair("owner")));
    let purpose = fields.get("purpose").filter(|text| !text.is_null());
    out.insert("task".to_owned(), purpose.cloned().unwrap_or_else(|| json!("")));
    let ttl = fields.get("ttl").and_then(Value::as_i64).map(|ms| ms / 1000);
    out.extend(ttl.map(|ttl| ("ttl".to_owned(), json!(ttl))));
}

fn own_fields(fields: &Map<String, Value>, out: &mut Map<String, Value>, reported: bool) {
    for (key, value) in fields {
        let header = HEADER.contains(&key.as_str());
        let empty = value.is_null() && !reported && key != "reason";
        if header || empty {
            continue;
        }
        let value = match key.as_str() {
            "lock_id" if !reported => lock(value),
            "ttl" if !reported => json!(value.as_i64().map(|ms| ms / 1000)),
            "locks" if !reported => locks(value),
            _ => value.clone(),
        };
        out.insert(key.clone(), value);
    }
}

fn lock(id: &Value) -> Value {
    let known = id.as_str().and_then(parse_lock_id);
    known.map_or_else(|| id.clone(), |id| json!(lock_id(id)))
}

fn locks(list: &Value) -> Value {
    let mut list = list.clone();
    for entry in list.as_array_mut().into_iter().flatten() {
        if let Some(id) = entry.get_mut("lock_id") {
            *id = lock(id);
        }
    }
    list
}
