//! Events in words: one line each.

use super::Screen;
use super::words::{BOLD, DIM, count, cut, list as items, more, paint, text, width};
use serde_json::Value;

/// Fields that every event has; the rest is what it says.
const HEADER: [&str; 9] = ["seq", "ts", "event", "v", "repo", "agent", "task", "prev", "hash"];
/// What is worth saying first, whatever the event.
const TELLING: [&str; 17] = [
    "new_status",
    "title",
    "path",
    "question",
    "answer",
    "gate",
    "result",
    "type",
    "text",
    "notes",
    "reason",
    "decision",
    "lock_id",
    "commit",
    "sha",
    "pr",
    "branch",
];

pub(super) fn list(answer: &Value, screen: &Screen) -> String {
    let events = items(answer, "events");
    if events.is_empty() && screen.terminal {
        return "No events.\n".to_owned();
    }
    let lines: String = events.iter().map(|event| line(event, screen)).collect();
    lines + &if screen.terminal { more(answer) } else { String::new() }
}

pub(super) fn one(answer: &Value, screen: &Screen) -> String {
    line(answer.get("event").unwrap_or(&Value::Null), screen)
}

/// One event, one line.
pub fn line(event: &Value, screen: &Screen) -> String {
    let event = super::words::clean(event.clone());
    let event = &event;
    let seq = event.get("seq").map(ToString::to_string).unwrap_or_default();
    let (ts, name, agent) = (text(event, "ts"), text(event, "event"), text(event, "agent"));
    let task = Some(text(event, "task")).filter(|task| !task.is_empty()).unwrap_or("-");
    let says = says(event);
    if !screen.terminal {
        return format!("{seq}\t{ts}\t{name}\t{task}\t{agent}\t{says}\n");
    }
    // The day is known from the context; the time of day tells events apart.
    let clock = ts.get(11..19).unwrap_or(ts);
    let front = format!("{seq:>5}  {clock}  {name:<18}  {task:<6}  {agent:<10}");
    let room = screen.columns.saturating_sub(width(&front) + 2);
    let tail = if room > 8 { cut(&says, room) } else { String::new() };
    let seq = paint(DIM, &format!("{seq:>5}  {clock}"));
    let name = paint(BOLD, &format!("{name:<18}"));
    let line = format!("{seq}  {name}  {task:<6}  {agent:<10}  {}", paint(DIM, &tail));
    format!("{}\n", line.trim_end())
}

/// The telling fields, in one line.
fn says(event: &Value) -> String {
    let Some(fields) = event.as_object() else { return String::new() };
    let show = |value: &Value| match value {
        Value::String(text) => text.replace('\n', " "),
        other => other.to_string(),
    };
    if let (Some(old), Some(new)) = (fields.get("old_status"), fields.get("new_status")) {
        let why = fields.get("reason").filter(|why| !why.is_null());
        let why = why.map(|why| format!(": {}", show(why))).unwrap_or_default();
        return format!("{} → {}{why}", show(old), show(new));
    }
    if let (Some(contract), Some(status), Some(files)) =
        (fields.get("contract"), fields.get("status"), fields.get("files_modified"))
    {
        let files = files.as_array().map_or(0, Vec::len);
        let files = count(files, "file", "files");
        let issues = fields.get("issues").and_then(Value::as_array).map_or(0, Vec::len);
        let issues = count(issues, "issue", "issues");
        return format!("{} {}, {files}, {issues}", show(contract), show(status));
    }
    let told: Vec<String> = TELLING
        .iter()
        .filter_map(|key| fields.get(*key))
        .filter(|value| !value.is_null())
        .map(show)
        .collect();
    if !told.is_empty() {
        return told.join("  ");
    }
    let other = fields.iter().filter(|(key, value)| {
        !HEADER.contains(&key.as_str()) && !value.is_null() && !value.is_object()
    });
    let other: Vec<String> = other.map(|(key, value)| format!("{key}={}", show(value))).collect();
    other.join("  ")
}
