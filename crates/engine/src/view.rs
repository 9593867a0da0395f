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

#[cfg(test)]
mod tests {
    use super::event;
    use comity_core::chain::{Hash, Stored};
    use comity_core::ids::Seq;
    use comity_core::time::Timestamp;
    use serde_json::json;

    fn stored(body: Option<&str>) -> Stored {
        Stored {
            seq: Seq(7),
            ts: Timestamp::from_ms(0),
            event: "deployed".to_owned(),
            v: 1,
            repo: "acme/app".to_owned(),
            agent: "ann".to_owned(),
            task: None,
            body: body.map(|body| body.as_bytes().to_vec()),
            body_hash: Hash::GENESIS,
            prev: Hash::GENESIS,
            hash: Hash::GENESIS,
        }
    }

    #[test]
    fn rule_5_1_an_event_shows_header_own_fields_and_chain() {
        let body = r#"{"reported":true,"seq":9,"agent":"impostor","via":{"host":"h"}}"#;
        let shown = json!(event(&stored(Some(body))));
        let keys: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            ["seq", "ts", "event", "v", "repo", "agent", "task", "reported", "via", "prev", "hash"]
        );
        assert_eq!((&shown["seq"], &shown["agent"]), (&json!(7), &json!("ann")));
        assert_eq!(shown["via"], json!({"host": "h"}));
    }

    #[test]
    fn rule_5_1_an_event_whose_body_was_purged_says_so() {
        assert_eq!(json!(event(&stored(None)))["purged"], true);
    }
}
