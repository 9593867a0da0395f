//! A stuck task in words: what was wanted, what happened last, what is wrong, what is asked.

use super::words::{BOLD, list as items, paint, text};
use super::{Screen, event, task};
use serde_json::Value;

pub(super) fn full(answer: &Value, screen: &Screen) -> String {
    let mut out = task::line(answer, screen);
    section(&mut out, "Contract", text(answer, "contract"));
    let events: String =
        items(answer, "events").iter().map(|entry| event::line(entry, screen)).collect();
    section(&mut out, "Last entries of the log", &events);
    section(&mut out, "Error report", text(answer, "error"));
    let question = |decision: &Value| {
        let state = match text(decision, "state") {
            "open" => String::new(),
            state => format!(" ({state})"),
        };
        format!("{}  {}{state}\n", text(decision, "id"), text(decision, "question"))
    };
    let questions: String = items(answer, "questions").iter().map(question).collect();
    section(&mut out, "Questions", &questions);
    let id = answer.pointer("/task/id").and_then(Value::as_str).unwrap_or("ID");
    out.push_str(&format!("\nLet it go on with: comity task intervene {id} --feedback TEXT\n"));
    out
}

fn section(out: &mut String, heading: &str, body: &str) {
    if body.trim().is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", paint(BOLD, heading)));
    for line in body.trim_end().lines() {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
}
