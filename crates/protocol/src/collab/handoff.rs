//! The context-reset snippet: what a fresh context needs for the next subtask, and nothing else.

use crate::one_line;
use comity_core::view::TaskView;

pub fn handoff(task: &TaskView, subtask: Option<&str>, plan: &[String]) -> String {
    let next = subtask.map_or_else(|| next_step(task), |text| named_step(task, text));
    let mut lines = vec![
        "Context Reset: New subtask".to_owned(),
        format!("Task: {} — {}", task.id, task.title),
        format!("Subtask: {} — {}", next.0, one_line(&next.1)),
    ];
    let dod: Vec<&str> = task.dod.iter().map(|item| item.text.as_str()).collect();
    let dod =
        if dod.is_empty() { task.requirements.iter().map(String::as_str).collect() } else { dod };
    lines.push(listed("DoD", &dod));
    lines.push("Constraints: small diff, tests updated, no secrets, follow agents.md".to_owned());
    lines.push(listed("Plan", &plan.iter().map(String::as_str).collect::<Vec<_>>()));
    lines.push(
        "Output: code changes only; summarize what changed and next subtask suggestion".to_owned(),
    );
    lines.join("\n") + "\n"
}

fn listed(name: &str, items: &[&str]) -> String {
    match items {
        [] => format!("{name}:"),
        items => {
            let lines: Vec<String> =
                items.iter().map(|item| format!("- {}", one_line(item))).collect();
            format!("{name}:\n{}", lines.join("\n"))
        }
    }
}

fn named_step(task: &TaskView, text: &str) -> (String, String) {
    match task.subtasks.iter().find(|step| step.id == text || step.text == text) {
        Some(step) => (step.id.clone(), step.text.clone()),
        None => (fresh_id(task), text.to_owned()),
    }
}

fn next_step(task: &TaskView) -> (String, String) {
    match task.subtasks.iter().find(|step| !step.complete) {
        Some(step) => (step.id.clone(), step.text.clone()),
        None => (fresh_id(task), task.title.clone()),
    }
}

fn fresh_id(task: &TaskView) -> String {
    format!("{}-{:02}", task.id, task.subtasks.len() + 1)
}
