//! `/api/v1/session`: the key of a link is changed for a cookie.

use super::access::{Who, cookie, text};
use super::answer::{json, other_methods, problem};
use super::api::Ask;
use super::hall::{Hall, Root};
use crate::sessions::Session;
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use comity_api::{FoundClient, SessionAnswer};
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use comity_project::clients::{AgentClient, find, registered};
use serde::Deserialize;

/// The body of a request for a session.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    key: String,
}

impl Hall {
    pub fn session(&self, ask: &Ask) -> Response {
        let done = match ask.method {
            Method::GET | Method::HEAD => self.show_session(ask),
            Method::POST => self.open_session(ask),
            Method::DELETE => self.close_session(ask),
            _ => return other_methods("GET, POST, DELETE"),
        };
        done.unwrap_or_else(|refusal| problem(&refusal))
    }

    fn show_session(&self, ask: &Ask) -> Result<Response, Refusal> {
        let (root, _) = self.root_of(ask)?;
        let answer = match self.who(ask, root)? {
            Who::Session(session) => self.of_session(root, session),
            Who::Token(holder) => self.of(root, Some(holder.agent.to_string())),
            Who::Run(caller) => self.of(root, Some(caller.actor.to_string())),
            Who::Reader => self.of(root, None),
            who @ Who::Nobody => return who.may_read().and(Err(unreachable())),
        };
        told(&answer)
    }

    /// Says who asks, and what there is for a page to show.
    fn of(&self, root: &Root, me: Option<String>) -> SessionAnswer {
        SessionAnswer {
            csrf: None,
            me,
            expires_at: None,
            repos: self.roots.iter().map(|root| root.served.context.repo.to_string()).collect(),
            repo: Some(root.served.context.repo.to_string()),
            clients: clients(&root.served.context),
        }
    }

    fn of_session(&self, root: &Root, session: Session) -> SessionAnswer {
        SessionAnswer {
            csrf: Some(session.csrf),
            expires_at: Some(session.expires_at),
            ..self.of(root, Some(session.person.to_string()))
        }
    }

    fn open_session(&self, ask: &Ask) -> Result<Response, Refusal> {
        let (root, _) = self.root_of(ask)?;
        let client = self.names.client(ask.peer, &ask.headers);
        self.rates.check(&format!("client/{client}"))?;
        let kind = text(&ask.headers, CONTENT_TYPE.as_str()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(Refusal::input("the body of a request is application/json"));
        }
        let Key { key } = serde_json::from_slice(&ask.body)
            .map_err(|error| Refusal::input(format!("a session wants {{\"key\": …}}: {error}")))?;
        let now = root.served.service.store_time()?;
        let (cookie, session) = self.sessions.open(&key, now)?;
        let seconds = session.expires_at.since(now).secs_ceil();
        self.with_cookie(told(&self.of_session(root, session))?, Some(&cookie), seconds)
    }

    /// Finds out who asks for a change that no row has, and refuses who may not change anything.
    pub fn changing(&self, ask: &Ask, root: &Root) -> Result<Who, Refusal> {
        let row = comity_api::row("agent.heartbeat")
            .ok_or_else(|| Refusal::new(Code::Internal, "BUG: no such row"))?;
        let who = self.who(ask, root)?;
        who.may(row, &serde_json::Value::Null, &ask.headers)?;
        Ok(who)
    }

    fn close_session(&self, ask: &Ask) -> Result<Response, Refusal> {
        let (root, _) = self.root_of(ask)?;
        // Ending a session is a change: only its own page may.
        self.changing(ask, root)?;
        if let Some(value) = cookie(&ask.headers, &self.names.cookie()) {
            self.sessions.close(value)?;
        }
        let nobody = SessionAnswer {
            csrf: None,
            me: None,
            expires_at: None,
            repos: Vec::new(),
            repo: None,
            clients: Vec::new(),
        };
        self.with_cookie(told(&nobody)?, None, 0)
    }

    fn with_cookie(
        &self,
        mut response: Response,
        value: Option<&str>,
        seconds: i64,
    ) -> Result<Response, Refusal> {
        let cookie = HeaderValue::from_str(&self.names.set_cookie(value, seconds))
            .map_err(|error| Refusal::new(Code::Internal, format!("a cookie: {error}")))?;
        response.headers_mut().insert(SET_COOKIE, cookie);
        Ok(response)
    }
}

/// Finds the agent clients that could work here. What cannot be read is not registered.
fn clients(context: &Context) -> Vec<FoundClient> {
    let root = &context.root.dir;
    let registered = registered(root, &context.beside_store()).unwrap_or_default();
    let one = |client: AgentClient| FoundClient {
        name: client.name().to_owned(),
        registered: registered.iter().any(|known| known.client == client),
    };
    find(root, context.environment()).into_iter().map(one).collect()
}

fn unreachable() -> Refusal {
    Refusal::new(Code::Internal, "BUG: nobody may read")
}

fn told(answer: &SessionAnswer) -> Result<Response, Refusal> {
    let answer = serde_json::to_value(answer)
        .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))?;
    Ok(json(StatusCode::OK, &answer))
}
