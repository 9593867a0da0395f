//! `log.md`, made from the lines of `events.jsonl`.

use super::events::is_reported;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    pub status: String,
    pub assignee: Option<String>,
    pub branch: Option<String>,
}

/// Writes the log: a section a task in the order of their first events, each with its timeline by time. Anybody may
/// write a line; what is known of a task counts more.
pub fn log(
    events: &[Map<String, Value>],
    generated: &str,
    known: &BTreeMap<String, Known>,
) -> String {
    let mut order: Vec<String> = Vec::new();
    let mut groups: BTreeMap<String, Vec<&Map<String, Value>>> = BTreeMap::new();
    for event in events {
        let task = text(event, "task").filter(|task| !task.is_empty());
        let task = task.unwrap_or_else(|| "(none)".to_owned());
        if !groups.contains_key(&task) {
            order.push(task.clone());
        }
        groups.entry(task).or_default().push(event);
    }
    let mut lines: Vec<String> = vec![
        "# Collaboration Log".into(),
        String::new(),
        format!("Generated: {generated}"),
        String::new(),
    ];
    for task in order {
        let mut events = groups.remove(&task).unwrap_or_default();
        events.sort_by_key(|event| text(event, "ts"));
        section(&task, &events, known.get(&task), &mut lines);
    }
    lines.join("\n") + "\n"
}

fn section(
    task: &str,
    events: &[&Map<String, Value>],
    known: Option<&Known>,
    lines: &mut Vec<String>,
) {
    let last = |wanted: Option<&str>, key: &str| {
        let fits = |event: &&&Map<String, Value>| {
            !is_reported(event)
                && wanted.is_none_or(|name| text(event, "event").as_deref() == Some(name))
        };
        let mut values = events.iter().filter(fits).filter_map(|event| text(event, key));
        values.rfind(|value| !value.is_empty())
    };
    lines.push(format!("## {task}"));
    lines.push(String::new());
    let facts = match known {
        Some(known) => [Some(known.status.clone()), known.assignee.clone(), known.branch.clone()],
        None => [
            last(Some("status_changed"), "new_status"),
            last(None, "assignee"),
            last(None, "branch"),
        ],
    };
    for (name, value) in ["Status", "Assignee", "Branch"].into_iter().zip(facts) {
        lines.extend(value.map(|value| format!("- {name}: {value}")));
    }
    lines.push(String::new());
    lines.push("### Timeline".to_owned());
    for event in events {
        let mut line = format!(
            "- {} {}",
            text(event, "ts").unwrap_or_default(),
            text(event, "event").unwrap_or_default()
        );
        if let Some(notes) = text(event, "notes").filter(|notes| !notes.is_empty()) {
            line.push_str(&format!(": {notes}"));
        }
        if is_reported(event) {
            line.push_str(" (reported)");
        }
        lines.push(line);
    }
    lines.push(String::new());
}

/// What is said comes from agents: it stays on its line and cannot open a heading or a list.
fn text(event: &Map<String, Value>, key: &str) -> Option<String> {
    Some(crate::one_line(event.get(key)?.as_str()?))
}
