//! Tokens over HTTP: a person in a browser lists, makes and revokes them.

use super::access::text;
use super::answer::{json, no_such_address, other_methods, problem};
use super::api::Ask;
use super::hall::Hall;
use crate::tokens::{NewToken, NewTokenInput, Scope, person};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use comity_core::refusal::{Code, Refusal};
use serde::Serialize;

/// The address of all tokens, and the beginning of that of one.
const ALL: &str = "tokens";

/// Tells whether a path is about tokens.
pub fn is_about_tokens(path: &str) -> bool {
    path.strip_prefix(ALL).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Hall {
    pub fn token(&self, ask: &Ask) -> Response {
        let rest = ask.path.strip_prefix(ALL).unwrap_or_default();
        let one = rest.strip_prefix('/').and_then(|rest| rest.strip_suffix("/revoke"));
        let answer = match (one, ask.method == Method::GET, ask.method == Method::POST) {
            (None, true, _) if rest.is_empty() => self.tokens(ask),
            (None, _, true) if rest.is_empty() => self.make_token(ask),
            (None, _, _) if rest.is_empty() => return other_methods("GET, POST"),
            (Some(id), _, true) if !id.contains('/') => self.revoke_token(ask, id),
            (Some(id), _, false) if !id.contains('/') => return other_methods("POST"),
            _ => return no_such_address(&ask.path),
        };
        answer.unwrap_or_else(|refusal| problem(&refusal))
    }

    fn tokens(&self, ask: &Ask) -> Result<Response, Refusal> {
        let (root, _) = self.root_of(ask)?;
        let who = self.who(ask, root)?;
        who.may_read()?;
        told(&root.tokens.list(&who.caller(&root.served))?)
    }

    fn make_token(&self, ask: &Ask) -> Result<Response, Refusal> {
        let (root, _) = self.root_of(ask)?;
        let caller = self.changing(ask, root)?.caller(&root.served);
        person(&caller, "handles tokens")?;
        let kind = text(&ask.headers, CONTENT_TYPE.as_str()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(Refusal::input("the body of a request is application/json"));
        }
        let input: NewTokenInput = serde_json::from_slice(&ask.body)
            .map_err(|error| Refusal::input(format!("a new token: {error}")))?;
        let NewTokenInput { agent, roles, task, verbs, expires } = input;
        let new = NewToken { agent, roles, expires, scope: Scope { task, verbs } };
        told(&root.tokens.create(&root.served.service, &caller, new)?)
    }

    fn revoke_token(&self, ask: &Ask, id: &str) -> Result<Response, Refusal> {
        let (root, _) = self.root_of(ask)?;
        let caller = self.changing(ask, root)?.caller(&root.served);
        told(&root.tokens.revoke(&root.served.service, &caller, id)?)
    }
}

fn told(answer: &impl Serialize) -> Result<Response, Refusal> {
    let answer = serde_json::to_value(answer)
        .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))?;
    Ok(json(StatusCode::OK, &answer))
}
