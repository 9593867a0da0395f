//! `/api/v1`: every operation of the table by one handler.

use super::access::{Peer, Who, text};
use super::answer::{
    Requests, json, no_such_address, not_modified, other_methods, problem, problem_with, tagged,
};
use super::hall::{Hall, Root};
use super::routes::{Address, AtPath, query};
use super::together::asks_for_all;
use crate::Served;
use axum::body::Bytes;
use axum::http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use comity_api::{Claim, Kind, LeasesAnswer, Nothing, WaitForDecision, op};
use comity_core::command::{ClaimWish, Command};
use comity_core::hint::Hint;
use comity_core::ids::Fence;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Answered, Caller, Moment};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

/// The header with the number of a grant.
const FENCE_HEADER: &str = "comity-fence";
const KEY_HEADER: &str = "idempotency-key";
/// The header of callers that word next steps themselves.
const CLIENT_HEADER: &str = "comity-client";
/// The header with what a caller should know beside the answer, as a list in JSON.
pub const REMARKS_HEADER: &str = "comity-remarks";

/// A request that was read.
pub struct Ask {
    pub method: Method,
    /// The path after `/api/v1/`.
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub peer: Peer,
}

/// What an answer is made of.
type Told = Result<Answered<Value>, Refusal>;

/// An answer, or the promise of one: nobody who waits holds a thread.
pub enum Outcome {
    Now(Response),
    Later(oneshot::Receiver<Told>),
}

/// A request whose operation, input and caller are known.
struct Call<'h> {
    root: &'h Root,
    address: &'h Address,
    input: Map<String, Value>,
    caller: Caller,
    at: Option<Moment>,
    dry_run: bool,
    /// The tag that the caller has already.
    seen: Option<String>,
    /// Whether the caller words next steps itself.
    words: bool,
    /// Whether answers bring what is new for the caller: an agent's do, a page shows it anyway.
    told: bool,
}

impl Hall {
    /// Answers a request for an operation.
    pub fn answer(&self, ask: &Ask) -> Outcome {
        let (address, id) = match self.routes.find(ask.method.as_str(), &ask.path) {
            AtPath::Address(address, id) => (address, id),
            AtPath::OtherMethods(methods) => {
                return Outcome::Now(other_methods(&methods.join(", ")));
            }
            AtPath::Nothing => return Outcome::Now(no_such_address(&ask.path)),
        };
        let outcome = match address.row.name == "inbox" && asks_for_all(ask) {
            true => self.inboxes(ask, address).map(Outcome::Now),
            false => self.prepared(ask, address, id).and_then(|call| call.run()),
        };
        let told = match outcome {
            Ok(outcome) => outcome,
            Err(refusal) => Outcome::Now(problem(&refusal)),
        };
        if let Outcome::Now(response) = &told {
            self.metrics.count(address.row.name, response.status().as_u16());
        }
        told
    }

    fn prepared<'h>(
        &'h self,
        ask: &Ask,
        address: &'h Address,
        id: Option<String>,
    ) -> Result<Call<'h>, Refusal> {
        let params = query(&ask.query)?;
        let param = |name: &str| {
            params.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
        };
        let (root, repo) = self.root_of(ask)?;
        let who = self.who(ask, root)?;
        let mut input = match address.is_get() {
            true => address.input(&params)?,
            false => body(&ask.headers, &ask.body)?,
        };
        if let Some(id) = id {
            input.insert("id".to_owned(), Value::String(id));
        }
        let shown = Value::Object(input);
        who.may(address.row, &shown, &ask.headers)?;
        let Value::Object(mut input) = shown else { return Err(Refusal::input("no object")) };
        let mut caller = who.caller(&root.served);
        caller.repo = repo.unwrap_or(caller.repo);
        if address.row.kind == Kind::Write {
            caller.key = text(&ask.headers, KEY_HEADER).map(str::to_owned);
            if !matches!(who, Who::Run(_)) {
                caller.fence = fence(&ask.headers)?;
            }
            self.check_match(ask, root, &caller, address, &mut input)?;
        }
        let at = param("at").map(Moment::parse).transpose()?;
        let dry_run = matches!(param("dry_run"), Some("" | "1" | "true"));
        if at.is_some() && address.row.kind == Kind::Write {
            return Err(Refusal::input("the past cannot be changed").hint("leave `at` out"));
        }
        let seen = text(&ask.headers, IF_NONE_MATCH.as_str()).map(str::to_owned);
        let words = ask.headers.contains_key(CLIENT_HEADER);
        let told = matches!(who, Who::Token(_)) && at.is_none() && !dry_run;
        if told && root.served.service.has_offers(&caller) {
            // Who asks again has the answer before. What cannot be noted is told again, and says so.
            drop(root.served.service.delivered(&caller));
        }
        Ok(Call { root, address, input, caller, at, dry_run, seen, words, told })
    }

    /// Finds out who asks, and counts the request.
    pub fn who(&self, ask: &Ask, root: &Root) -> Result<Who, Refusal> {
        let now = root.served.service.recent_time()?;
        let client = self.names.client(ask.peer, &ask.headers);
        match Who::of(&ask.headers, ask.peer, &self.keys(root), now) {
            Ok(who) => self.rates.check(&who.counted_as(&client)).map(|()| who),
            Err(refusal) => self.rates.check(&format!("client/{client}")).and(Err(refusal)),
        }
    }

    /// Refuses a change of a task that is not as the caller has seen it.
    fn check_match(
        &self,
        ask: &Ask,
        root: &Root,
        caller: &Caller,
        address: &Address,
        input: &mut Map<String, Value>,
    ) -> Result<(), Refusal> {
        let Some(tag) = text(&ask.headers, IF_MATCH.as_str()) else { return Ok(()) };
        let version: u64 = tag.trim_matches('"').parse().map_err(|_| {
            Refusal::new(Code::VersionMismatch, format!("{tag} is not the version of a task"))
        })?;
        if address.takes("if_match") {
            input.insert("if_match".to_owned(), version.into());
            return Ok(());
        }
        let id = input.get("id").and_then(Value::as_str);
        let Some(id) = id.filter(|_| address.row.name.starts_with("task.")) else { return Ok(()) };
        let now = root.served.service.task(caller, id)?.version;
        match now == version {
            true => Ok(()),
            false => {
                let message = format!("{id} has version {now}, not {version}");
                Err(Refusal::new(Code::VersionMismatch, message).detail("version", now))
            }
        }
    }
}

impl Call<'_> {
    fn run(self) -> Result<Outcome, Refusal> {
        let row = self.address.row;
        if row.kind == Kind::Write {
            if self.dry_run {
                let done = self.root.rehearsal()?.call(
                    row.name,
                    &self.caller,
                    Value::Object(self.input),
                )?;
                return Ok(Outcome::Now(answered(done, self.words)));
            }
            let waits = self.input.get("wait").is_some_and(|wait| !wait.is_null());
            return match (row.name, waits) {
                ("task.claim", true) => self.claim_later().map(Outcome::Later),
                ("lease.acquire", true) => self.lease_later().map(Outcome::Later),
                _ => {
                    let input = Value::Object(self.input);
                    let mut done = self.root.handlers.call(row.name, &self.caller, input)?;
                    let news = news(self.root, &self.caller, self.told);
                    add_news(news, &mut done.output);
                    Ok(Outcome::Now(answered(done, self.words)))
                }
            };
        }
        if row.name == "decision.wait" {
            return self.settled_later().map(Outcome::Later);
        }
        self.read().map(Outcome::Now)
    }

    fn read(self) -> Result<Response, Refusal> {
        let row = self.address.row;
        let past = self.at.map(|at| self.root.at(at)).transpose()?;
        let service = past.as_ref().map_or(&self.root.served.service, |past| &past.service);
        let handlers = past.as_ref().map_or(&self.root.handlers, |past| &past.handlers);
        // Whoever has news gets an answer that can carry them.
        let news = news(self.root, &self.caller, self.told);
        let is_seen = |tag: &str| news.is_none() && self.seen.as_deref() == Some(tag);
        // A task has a version of its own; everything else is as old as the log.
        let of_version = row.name == "task.show";
        let tag = match of_version {
            true => String::new(),
            false => {
                let head = service.call::<op::LogHead>(&self.caller, Nothing {})?.seq;
                format!("\"{head}\"")
            }
        };
        if !of_version && is_seen(&tag) {
            return Ok(not_modified(&tag));
        }
        let done = handlers.call(row.name, &self.caller, Value::Object(self.input))?;
        let Answered { mut output, .. } = done;
        if row.name == "status" {
            add_place(&mut output, &self.root.served, &self.caller);
        }
        if let (Some(at), Some(fields)) = (service.moment(), output.as_object_mut()) {
            fields.insert("at".to_owned(), serde_json::to_value(at).unwrap_or_default());
        }
        if !self.words {
            reword(&mut output);
        }
        let version = output.pointer("/task/version").filter(|_| of_version);
        let tag = version.map_or(tag, |version| format!("\"{version}\""));
        if is_seen(&tag) {
            return Ok(not_modified(&tag));
        }
        add_news(news, &mut output);
        Ok(tagged(json(StatusCode::OK, &output), &tag))
    }

    fn claim_later(self) -> Result<oneshot::Receiver<Told>, Refusal> {
        let (done, answer) = oneshot::channel();
        let input: Claim = read(self.address.row.name, self.input)?;
        let (wait, wish) = (input.wait.unwrap_or_default(), ClaimWish::from(input));
        let tell = Box::new(move |outcome: Result<Answered<comity_engine::Reply>, Refusal>| {
            let told = outcome.and_then(|answered| {
                let Answered { output, remarks } = answered;
                Ok(Answered { output: output.into_json()?, remarks })
            });
            drop(done.send(told));
        });
        self.root.served.service.claim_later(&self.caller, &wish, wait, tell)?;
        Ok(answer)
    }

    fn lease_later(self) -> Result<oneshot::Receiver<Told>, Refusal> {
        let (done, answer) = oneshot::channel();
        let input: comity_api::AcquireLeases = read(self.address.row.name, self.input)?;
        let wait = input.wait.unwrap_or_default();
        let request = self.caller.request(Command::from(input));
        let tell = Box::new(move |outcome: Result<comity_engine::Reply, Refusal>| {
            let told = outcome.and_then(|reply| value(&reply.take::<LeasesAnswer>()?));
            drop(done.send(told.map(Answered::from)));
        });
        let observer = self.caller.observer.clone();
        self.root.served.service.submit_waiting(request, observer, wait, tell)?;
        Ok(answer)
    }

    fn settled_later(self) -> Result<oneshot::Receiver<Told>, Refusal> {
        let (done, answer) = oneshot::channel();
        let input: WaitForDecision = read(self.address.row.name, self.input)?;
        let tell = Box::new(move |outcome: Result<comity_api::DecisionAnswer, Refusal>| {
            let told = outcome.and_then(|decision| value(&decision));
            drop(done.send(told.map(Answered::from)));
        });
        let service = &self.root.served.service;
        self.root.served.waits_for(&self.caller, &input.id);
        service.when_settled(&self.caller, &input.id, input.timeout, tell)?;
        Ok(answer)
    }
}

/// Makes the answer of somebody who waited.
pub fn told(told: Result<Told, oneshot::error::RecvError>) -> Response {
    let ended = || Refusal::new(Code::StoreUnavailable, "the server ends");
    match told.unwrap_or_else(|_| Err(ended())) {
        Ok(done) => answered(done, true),
        Err(refusal) => problem(&refusal),
    }
}

fn answered(done: Answered<Value>, words: bool) -> Response {
    let Answered { mut output, remarks } = done;
    if !words {
        reword(&mut output);
    }
    let mut response = json(StatusCode::OK, &output);
    if !remarks.is_empty() {
        let remarks = ascii(&serde_json::json!(remarks).to_string());
        if let Ok(value) = HeaderValue::from_str(&remarks) {
            response.headers_mut().insert(REMARKS_HEADER, value);
        }
    }
    let version = output.pointer("/task/version").map(|version| format!("\"{version}\""));
    match version {
        Some(tag) => tagged(response, &tag),
        None => response,
    }
}

/// Writes JSON without characters that a header cannot have.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for unit in json.encode_utf16() {
        match u8::try_from(unit).ok().filter(|byte| (b' '..=b'~').contains(byte)) {
            Some(byte) => out.push(char::from(byte)),
            None => out.push_str(&format!("\\u{unit:04x}")),
        }
    }
    out
}

fn read<T: DeserializeOwned>(name: &str, input: Map<String, Value>) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(input))
        .map_err(|error| Refusal::input(format!("{name}: {error}")))
}

fn value(output: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(output)
        .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))
}

/// Reads the body of a request: one object, or nothing.
fn body(headers: &HeaderMap, bytes: &Bytes) -> Result<Map<String, Value>, Refusal> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let kind = text(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(Refusal::input("the body of a request is application/json"));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Refusal::input("the body of a request is one object")),
        Err(error) => Err(Refusal::input(format!("the body is not JSON: {error}"))),
    }
}

fn fence(headers: &HeaderMap) -> Result<Option<Fence>, Refusal> {
    let Some(text) = text(headers, FENCE_HEADER) else { return Ok(None) };
    let fence = text.parse().ok().and_then(Fence::new);
    fence.map(Some).ok_or_else(|| Refusal::input("a fence is a number from 1 up"))
}

/// Says where and for whom the status was asked.
fn add_place(output: &mut Value, served: &Served, caller: &Caller) {
    let Some(fields) = output.as_object_mut() else { return };
    let context = &served.context;
    let place = [
        ("root", context.root.dir.display().to_string()),
        ("store", context.store_url()),
        ("repo", caller.repo.to_string()),
        ("me", caller.actor.to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    fields.extend(place.map(|(name, value)| (name.to_owned(), Value::String(value))));
    fields.insert("at".to_owned(), Value::Null);
}

/// Returns what is new for an agent, if anything is. No answer fails for want of news.
fn news(root: &Root, caller: &Caller, told: bool) -> Option<Value> {
    let news = told.then(|| root.served.service.news(caller))?;
    let news = news.ok().filter(|news| !news.is_empty())?;
    serde_json::to_value(news).ok()
}

/// Adds what is new for an agent to its answer.
fn add_news(news: Option<Value>, output: &mut Value) {
    if let (Some(news), Some(fields)) = (news, output.as_object_mut()) {
        fields.insert("news".to_owned(), news);
    }
}

/// Words the next steps of an answer as requests.
pub fn reword(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let is_hint = name == "next" && inner.is_array();
                let hint = is_hint.then(|| serde_json::from_value::<Hint>(inner.clone()));
                match hint {
                    Some(Ok(hint)) => *inner = Value::String(hint.worded(&Requests)),
                    _ => reword(inner),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(reword),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Says that a body is too long.
pub fn too_large() -> Response {
    let refusal = Refusal::new(Code::LimitExceeded, "the body is longer than 1 MiB");
    problem_with(StatusCode::PAYLOAD_TOO_LARGE, &refusal.hint("send less at once"))
}
