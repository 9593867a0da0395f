//! `board.md`: the tasks by what is going on with them.

use serde_json::{Map, Value};

const DONE_MAX: usize = 10;

pub fn board(tasks: &[Map<String, Value>], generated: &str) -> String {
    let of = |statuses: &[&str]| {
        let mut found: Vec<&Map<String, Value>> =
            tasks.iter().filter(|task| statuses.contains(&text(task, "status").as_str())).collect();
        found.sort_by_key(|task| std::cmp::Reverse(text(task, "updated_at")));
        found
    };
    let mut lines: Vec<String> = vec![
        "# Project Board".into(),
        String::new(),
        format!("Generated: {generated}"),
        String::new(),
    ];
    section("Now", &of(&["in_progress"]), &mut lines);
    section("Next", &of(&["queued", "claimed"]), &mut lines);
    let judged = ["review", "changes_requested", "blocked", "approved", "merging", "failed"];
    section("Review / Blocked", &of(&judged), &mut lines);
    let mut done = of(&["done"]);
    done.truncate(DONE_MAX);
    section("Done (recent 10)", &done, &mut lines);
    lines.join("\n") + "\n"
}

fn section(title: &str, tasks: &[&Map<String, Value>], lines: &mut Vec<String>) {
    lines.push(format!("## {title} ({})", tasks.len()));
    lines.push(String::new());
    if tasks.is_empty() {
        lines.push("- _None_".to_owned());
    }
    for task in tasks {
        let or_dash = |key: &str| match text(task, key) {
            text if text.is_empty() => "-".to_owned(),
            text => text,
        };
        lines.push(format!(
            "- {} [{}] ({}) — {}{}",
            text(task, "id"),
            or_dash("priority"),
            or_dash("assignee"),
            text(task, "title"),
            badges(task)
        ));
    }
    lines.push(String::new());
}

fn badges(task: &Map<String, Value>) -> String {
    let outside = |provider: &str, key: &str| {
        let value = task.get("external_ids")?.get(provider)?.get(key)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (!text.is_empty()).then_some(text)
    };
    let found: Vec<String> =
        [("github", "issue", "GH#"), ("github", "pr", "PR#"), ("linear", "id", "LIN:")]
            .iter()
            .filter_map(|(provider, key, mark)| Some(format!("{mark}{}", outside(provider, key)?)))
            .collect();
    if found.is_empty() { String::new() } else { format!(" [{}]", found.join(", ")) }
}

fn text(task: &Map<String, Value>, key: &str) -> String {
    crate::one_line(task.get(key).and_then(Value::as_str).unwrap_or_default())
}
