//! Events of the older form `{kind, action}`, as the command line of the tree rewrites them.

use serde_json::{Map, Value, json};

pub(super) const UNNAMED: &str = "unnamed";

#[derive(Clone, Debug, PartialEq)]
pub enum Legacy {
    Fine(Map<String, Value>),
    Rewritten(Map<String, Value>),
    /// It has neither; it is kept as it is under the name `unknown`.
    Unknown(Map<String, Value>),
}

impl Legacy {
    pub fn into_event(self) -> Map<String, Value> {
        match self {
            Legacy::Fine(event) | Legacy::Rewritten(event) | Legacy::Unknown(event) => event,
        }
    }
}

pub fn normal_event(event: Map<String, Value>) -> Legacy {
    if event.get("event").is_some_and(Value::is_string) {
        return Legacy::Fine(event);
    }
    let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let value = |key: &str, otherwise: Value| event.get(key).cloned().unwrap_or(otherwise);
    let (name, own, actor): (&str, Vec<(&str, Value)>, &str) = match (word("kind"), word("action"))
    {
        ("task", "in_progress") => (
            "status_changed",
            vec![("old_status", json!("queued")), ("new_status", json!("in_progress"))],
            "unknown",
        ),
        ("pr", "opened") => (
            "pr_opened",
            vec![("pr", value("pr_number", Value::Null)), ("url", value("url", json!("")))],
            "unknown",
        ),
        ("test", "completed") => {
            ("tests_run", vec![("status", value("result", json!("unknown")))], "ci")
        }
        ("review", "requested") => ("review_requested", Vec::new(), "ci"),
        ("review", "approved") => ("approved", Vec::new(), "critic"),
        ("merge", "completed") => ("merged", Vec::new(), "integrator"),
        _ => {
            let unnamed = (UNNAMED.to_owned(), json!(true));
            let mut kept = Map::from_iter([("event".to_owned(), json!("unknown")), unnamed]);
            kept.extend(event.into_iter().filter(|(key, _)| key != "event"));
            return Legacy::Unknown(kept);
        }
    };
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("event", json!(name));
    put("task", value("task", Value::Null));
    for (key, value) in own {
        put(key, value);
    }
    put("actor", value("actor", json!(actor)));
    put("notes", value("message", json!("")));
    if let Some(ts) = event.get("ts") {
        put("ts", ts.clone());
    }
    Legacy::Rewritten(out)
}
