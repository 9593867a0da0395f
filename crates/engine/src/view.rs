//! Events in the shape of the interface.

use comity_api::EventView;
use comity_core::chain::Stored;
use serde_json::{Map, Value};

/// Fields of the header and of the chain, which a body cannot replace.
const OUTER: [&str; 9] = ["seq", "ts", "event", "v", "repo", "agent", "task", "prev", "hash"];

/// Shows an event. One whose body was purged says so.
pub(crate) fn event(stored: &Stored) -> EventView {
    let body = stored.body.as_deref().and_then(|body| serde_json::from_slice(body).ok());
    let fields = match body {
        Some(Value::Object(mut fields)) => {
            for name in OUTER {
                fields.shift_remove(name);
            }
            fields
        }
        _ => Map::from_iter([("purged".to_owned(), Value::Bool(true))]),
    };
    EventView {
        seq: stored.seq.0,
        ts: stored.ts,
        event: stored.event.clone(),
        v: stored.v,
        repo: stored.repo.clone(),
        agent: stored.agent.clone(),
        task: stored.task.clone(),
        fields,
        prev: stored.prev.to_string(),
        hash: stored.hash.to_string(),
    }
}
