//! How the command line of the tree lists tasks.

use serde_json::Value;

pub fn task_lines(tasks: &Value) -> String {
    let list = tasks.as_array().map(Vec::as_slice).unwrap_or_default();
    let cell = |task: &Value, key: &str| {
        crate::one_line(task.get(key).and_then(Value::as_str).unwrap_or_default())
    };
    let mut out = format!("# tasks (v1) — {} items\n", list.len());
    for task in list {
        let assignee = match cell(task, "assignee") {
            nobody if nobody.is_empty() => "-".to_owned(),
            agent => agent,
        };
        out.push_str(&format!(
            "- {:>8} | {} | {} | {assignee} | {}\n",
            cell(task, "id"),
            cell(task, "status"),
            cell(task, "priority"),
            cell(task, "title")
        ));
    }
    out
}
