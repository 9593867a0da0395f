//! Events in words: one line each.

use super::Screen;
use super::words::{BOLD, DIM, count, cut, more, paint, width};
use comity_api::{EventAnswer, EventView, EventsPage};
use serde_json::Value;

/// What is worth saying first, whatever the event.
const TELLING: [&str; 20] = [
    "new_status",
    "memory",
    "directive",
    "by",
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

pub fn list(answer: &EventsPage, screen: &Screen) -> String {
    if answer.events.is_empty() && screen.terminal {
        return "No events.\n".to_owned();
    }
    let lines: String = answer.events.iter().map(|event| line(event, screen)).collect();
    lines + &more(answer.next.as_ref(), screen)
}

pub fn one(answer: &EventAnswer, screen: &Screen) -> String {
    line(&answer.event, screen)
}

pub fn line(event: &EventView, screen: &Screen) -> String {
    let (seq, ts) = (event.seq, event.ts.to_string());
    let (name, agent) = (&event.event, &event.agent);
    let task = event.task.as_deref().unwrap_or("-");
    let says = says(event);
    if !screen.terminal {
        return format!("{seq}\t{ts}\t{name}\t{task}\t{agent}\t{says}\n");
    }
    // The day is known from the context; the time of day tells events apart.
    let clock = ts.get(11..19).unwrap_or(&ts);
    let front = format!("{seq:>5}  {clock}  {name:<18}  {task:<6}  {agent:<10}");
    let room = screen.columns.saturating_sub(width(&front) + 2);
    let tail = if room > 8 { cut(&says, room) } else { String::new() };
    let seq = paint(DIM, &format!("{seq:>5}  {clock}"));
    let name = paint(BOLD, &format!("{name:<18}"));
    let line = format!("{seq}  {name}  {task:<6}  {agent:<10}  {}", paint(DIM, &tail));
    format!("{}\n", line.trim_end())
}

/// The telling fields, in one line.
fn says(event: &EventView) -> String {
    let fields = &event.fields;
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
    let other = fields.iter().filter(|(_, value)| !value.is_null() && !value.is_object());
    let other: Vec<String> = other.map(|(key, value)| format!("{key}={}", show(value))).collect();
    other.join("  ")
}
