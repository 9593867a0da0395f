//! Answers as a model reads them: short tasks, nothing that is absent, and never more than it can take in.

use super::wording::Tools;
use comity_core::refusal::Refusal;
use serde_json::{Map, Value, json};

/// The longest line of an answer.
const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// The longest page of a list.
const PAGE_BYTES_MAX: usize = 12 * 1024;
/// Texts that are shorter than this are never cut.
const TEXT_BYTES_MIN: usize = 256;

/// The fields of a task that every answer has; `look_up task` has all.
const SHORT: [&str; 11] = [
    "id", "title", "status", "priority", "assignee", "files", "branch", "fence", "gates", "needs",
    "feedback",
];

/// Leaves out of an answer what its reader does not need.
pub fn short(mut answer: Value) -> Value {
    if let Some(task) = answer.get_mut("task").and_then(Value::as_object_mut) {
        shorten(task);
    }
    let tasks = answer.get_mut("tasks").and_then(Value::as_array_mut);
    tasks.into_iter().flatten().filter_map(Value::as_object_mut).for_each(shorten);
    answer
}

fn shorten(task: &mut Map<String, Value>) {
    task.retain(|key, _| SHORT.contains(&key.as_str()));
}

/// Leaves out what is absent: a null does not fit the schemas that some clients check answers against.
pub fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub fn refused(refusal: &Refusal) -> Value {
    refusal.to_json(&Tools)
}

/// Tells whether a page of a list is short enough; there is room left for news.
pub fn page_fits(answer: &Value) -> bool {
    answer.to_string().len() <= PAGE_BYTES_MAX
}

fn fits(answer: &Value) -> bool {
    answer.to_string().len() <= ANSWER_BYTES_MAX
}

/// Returns an answer and its line, which is never too long.
pub fn bounded(answer: Value) -> (Value, String) {
    let line = answer.to_string();
    if line.len() <= ANSWER_BYTES_MAX {
        return (answer, line);
    }
    let whole = super::catalogue::whole(&answer);
    let answer = cut(answer, &whole);
    let line = answer.to_string();
    (answer, line)
}

/// Cuts the longest texts of an answer, then its longest lists, until it is short enough, and says where the whole is.
pub fn cut(mut answer: Value, whole: &str) -> Value {
    while !fits(&answer) {
        let over = answer.to_string().len().saturating_sub(ANSWER_BYTES_MAX);
        if let Some(text) = longest(&mut answer) {
            // A character may take several bytes in JSON; what is still too long is cut again.
            let written = json!(text).to_string().len();
            let left = written.saturating_sub(over + TEXT_BYTES_MIN);
            let keep = (text.len() * left / written).max(TEXT_BYTES_MIN / 2);
            let end = (0..=keep).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
            text.push_str("… (cut)");
        } else if let Some(list) = longest_list(&mut answer) {
            list.truncate(list.len() / 2);
        } else {
            break;
        }
        // A list that goes on has its own place to go on from.
        if let Some(fields) = answer.as_object_mut() {
            fields.entry("next").or_insert_with(|| json!(whole));
        }
    }
    answer
}

/// Finds the list with the most entries.
fn longest_list(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value {
        Value::Array(items) => match items.len() {
            0 | 1 => items.iter_mut().find_map(longest_list),
            _ => Some(items),
        },
        Value::Object(fields) => {
            fields.values_mut().filter_map(longest_list).max_by_key(|list| list.len())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Finds the longest text that may be cut.
fn longest(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => (text.len() > TEXT_BYTES_MIN).then_some(text),
        Value::Array(items) => items.iter_mut().filter_map(longest).max_by_key(|text| text.len()),
        Value::Object(fields) => {
            fields.values_mut().filter_map(longest).max_by_key(|text| text.len())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_short_tasks_and_no_nulls() {
        let task = json!({"id": "T1", "number": 1, "branch": null, "title": "a", "context": {}});
        let mut answer = short(json!({"task": task, "tasks": [task], "fence": null}));
        without_nulls(&mut answer);
        let task = json!({"id": "T1", "title": "a"});
        assert_eq!(answer, json!({"task": task, "tasks": [task]}));
    }

    #[test]
    fn a_long_answer_is_cut_at_its_longest_texts_and_says_where_the_whole_is() {
        let text = "ä\"\n".repeat(20_000);
        let answer = json!({"task": {"id": "T1", "description": text, "title": "short"}});
        let answer = cut(answer, "comity://task/T1");
        assert!(fits(&answer));
        assert_eq!(answer["next"], "comity://task/T1");
        assert_eq!(answer["task"]["title"], "short");
        let left = answer["task"]["description"].as_str().unwrap();
        assert!(left.ends_with("… (cut)") && left.len() > 4_000, "{}", left.len());
    }

    #[test]
    fn a_long_list_is_cut_and_keeps_its_own_place_to_go_on_from() {
        let leases: Vec<Value> = (0..2_000).map(|n| json!({"path": n.to_string()})).collect();
        let answer = cut(json!({"leases": leases, "next": "L9"}), "comity://board");
        assert!(fits(&answer));
        assert_eq!(answer["next"], "L9");
        assert!(answer["leases"].as_array().unwrap().len() > 200);
    }
}
