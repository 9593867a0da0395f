//! The log's health in words.

use super::Screen;
use super::words::{BAD, GOOD, ago, list, paint, text, texts, time};
use serde_json::Value;

fn number(answer: &Value, key: &str) -> String {
    answer.get(key).map(ToString::to_string).unwrap_or_default()
}

pub(super) fn head(answer: &Value, screen: &Screen) -> String {
    let (seq, hash) = (number(answer, "seq"), text(answer, "hash"));
    if !screen.terminal {
        return format!("{seq}\t{hash}\t{}\n", text(answer, "ts"));
    }
    let when = time(answer, "ts").map(|at| format!("  {}", ago(at, screen))).unwrap_or_default();
    format!("{seq}  {hash}{}\n", if seq == "0" { "  (empty)" } else { when.as_str() })
}

pub(super) fn verify(answer: &Value) -> String {
    let events = number(answer, "events");
    if answer.get("ok").and_then(Value::as_bool) == Some(true) {
        let head = text(answer, "head");
        return format!("{} {events} events, head {head}\n", paint(GOOD, "ok"));
    }
    let mut out = format!("{} {events} events\n", paint(BAD, "damaged"));
    for problem in list(answer, "problems") {
        let said = problem.as_str().map_or_else(|| problem_text(problem), str::to_owned);
        out.push_str(&format!("  - {said}\n"));
    }
    out
}

fn problem_text(problem: &Value) -> String {
    let message = text(problem, "message");
    match (problem.get("seq").and_then(Value::as_u64), message.is_empty()) {
        (Some(seq), false) => format!("event {seq}: {message}"),
        (None, false) => message.to_owned(),
        (_, true) => problem.to_string(),
    }
}

pub(super) fn rebuild(answer: &Value) -> String {
    let empty = serde_json::Map::new();
    let rebuilt = answer.get("rebuilt").and_then(Value::as_object).unwrap_or(&empty);
    let parts: Vec<String> = rebuilt.iter().map(|(name, n)| format!("{n} {name}")).collect();
    format!("Rebuilt {} from {} events\n", parts.join(", "), number(answer, "events"))
}

pub(super) fn sweep(answer: &Value) -> String {
    let reclaimed = answer.get("reclaimed").unwrap_or(&Value::Null);
    let mut out = String::new();
    for (key, word) in [
        ("tasks", "task"),
        ("leases", "lease"),
        ("decisions", "decision"),
        ("memories", "memory"),
        ("directives", "directive"),
    ] {
        for id in texts(reclaimed, key) {
            out.push_str(&format!("Reclaimed {word} {id}\n"));
        }
    }
    if out.is_empty() { "Nothing has expired.\n".to_owned() } else { out }
}
