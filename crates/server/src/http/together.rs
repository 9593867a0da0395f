//! The inboxes of all projects that are served, as one list.

use super::answer::{json, not_modified, tagged};
use super::api::{Ask, reword};
use super::hall::Hall;
use super::routes::{Address, query};
use axum::http::StatusCode;
use axum::http::header::IF_NONE_MATCH;
use axum::response::Response;
use comity_api::{Nothing, op};
use comity_core::refusal::{Code, Refusal};
use serde_json::{Map, Value};

/// What is said instead of the name of a repository.
const ALL: &str = "*";

/// Tells whether a request is about all projects.
pub fn asks_for_all(ask: &Ask) -> bool {
    query(&ask.query).is_ok_and(|params| {
        params.iter().any(|(name, value)| name == "repo" && value == ALL)
            && !params.iter().any(|(name, _)| name == "at")
    })
}

impl Hall {
    /// Answers with what needs somebody in any project. Whoever asks has to be let into each of them.
    pub fn inboxes(&self, ask: &Ask, address: &Address) -> Result<Response, Refusal> {
        let mut callers = Vec::new();
        let mut heads = Vec::new();
        for root in &self.roots {
            let who = self.who(ask, root)?;
            who.may(address.row, &Value::Object(Map::new()), &ask.headers)?;
            let caller = who.caller(&root.served);
            heads.push(
                root.served.service.call::<op::LogHead>(&caller, Nothing {})?.seq.to_string(),
            );
            callers.push((root, caller));
        }
        let tag = format!("\"{}\"", heads.join("-"));
        if super::access::text(&ask.headers, IF_NONE_MATCH.as_str()) == Some(&tag) {
            return Ok(not_modified(&tag));
        }
        let mut all = Vec::new();
        for (root, caller) in callers {
            let inbox = root.served.service.call::<op::Inbox>(&caller, Nothing {})?;
            all.push((caller.repo.to_string(), inbox));
        }
        let one = comity_engine::one_inbox(all).map(serde_json::to_value).transpose();
        let failed = |error| Refusal::new(Code::Internal, format!("an answer: {error}"));
        let mut one = one.map_err(failed)?.unwrap_or_default();
        reword(&mut one);
        Ok(tagged(json(StatusCode::OK, &one), &tag))
    }
}
