//! Which request goes where.

use super::access::{Peer, Who};
use super::answer::{Refused, guarded, json, no_such_address, problem, problem_with, with_body};
use super::api::{Ask, Outcome, told, too_large};
use super::hall::{Hall, Root};
use super::keys::is_about_tokens;
use super::live::May;
use super::metrics::{Gauges, OfProject};
use super::pages;
use super::routes::query;
use crate::Served;
use crate::mcp::{Callers, Door};
use crate::runtime::blocking;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::any;
use comity_api::{Nothing, op};
use comity_core::refusal::{Code, Refusal};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The largest body of a request.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long the body of a request may take: it has a place in the queue.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Puts the doors of a server together.
pub fn app(hall: Arc<Hall>) -> Router {
    let doors: Doors = hall.roots.iter().map(mcp).collect();
    Router::new()
        .route("/mcp", any(tools).with_state((hall.clone(), doors.clone())))
        .route("/mcp/", any(tools).with_state((hall.clone(), doors)))
        .fallback(other)
        .with_state(hall.clone())
        .layer(middleware::from_fn_with_state(hall, names))
}

type Mcp = StreamableHttpService<Door, NeverSessionManager>;

/// MCP for each project, in their order.
type Doors = Arc<[Mcp]>;

fn mcp(root: &Root) -> Mcp {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        // The names are checked for all doors alike, before this one.
        .disable_allowed_hosts();
    let door = Door::new(root.served.clone(), Callers::OfTokens);
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(move || Ok(door.clone()), sessions, config)
}

fn peer_of(request: &Request) -> Peer {
    let unknown = Peer::Address(std::net::Ipv4Addr::UNSPECIFIED.into());
    request.extensions().get::<Peer>().copied().unwrap_or(unknown)
}

/// Lets in only requests that name this server, and gives every answer its headers.
async fn names(State(hall): State<Arc<Hall>>, request: Request, next: Next) -> Response {
    let checked = hall.names.check(peer_of(&request), request.headers());
    let response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => problem_with(StatusCode::FORBIDDEN, &refusal),
    };
    if let Some(Refused(code)) = response.extensions().get() {
        hall.metrics.refused(*code);
    }
    guarded(response)
}

/// Finds out who calls a tool, and of which project. Without a token nobody gets in, unless the project lets everybody on
/// this host read.
async fn tools(State((hall, doors)): State<(Arc<Hall>, Doors)>, mut request: Request) -> Response {
    let ask = asked(&request, Bytes::new());
    let found = blocking(move || {
        let (root, other) = hall.root_of(&ask)?;
        if let Some(repo) = other {
            let message = format!("the tools of this server are not for the repository {repo}");
            return Err(Refusal::new(Code::NotFound, message).hint("leave repo out of the address"));
        }
        let place = hall.roots.iter().position(|known| std::ptr::eq(known, root));
        let who = hall.who(&ask, root)?;
        who.may_read().map(|()| (who, place))
    });
    let (who, place) = match found.await {
        Ok(found) => found,
        Err(refusal) => return problem(&refusal),
    };
    match who {
        Who::Token(holder) => drop(request.extensions_mut().insert(holder)),
        Who::Run(caller) => drop(request.extensions_mut().insert(*caller)),
        Who::Session(_) | Who::Reader | Who::Nobody => {}
    }
    match place.and_then(|place| doors.get(place)) {
        Some(door) => door.handle(request).await.map(Body::new),
        None => no_such_address("mcp"),
    }
}

fn asked(request: &Request, body: Bytes) -> Ask {
    let path = request.uri().path();
    Ask {
        method: request.method().clone(),
        path: path.strip_prefix("/api/v1/").unwrap_or_default().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        headers: request.headers().clone(),
        body,
        peer: peer_of(request),
    }
}

/// Everything but MCP.
async fn other(State(hall): State<Arc<Hall>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match path.as_str() {
        "/metrics" if is_read => metrics(hall, asked(&request, Bytes::new())).await,
        "/api/v1/events/stream" if is_read => stream(hall, asked(&request, Bytes::new())).await,
        path if path.starts_with("/api/v1/") && path != OPENAPI => api(hall, request).await,
        path => {
            let client = hall.names.client(peer_of(&request), request.headers());
            let headers = request.headers().clone();
            match hall.rates.check(&format!("client/{client}")) {
                Ok(()) => open(&hall, path, is_read, &headers).await,
                Err(refusal) => problem(&refusal),
            }
        }
    }
}

/// Where the document about the API is.
const OPENAPI: &str = "/api/v1/openapi.json";

/// What is there for everybody. Nobody says who they are here, so requests are counted by the client's address.
async fn open(hall: &Hall, path: &str, is_read: bool, headers: &HeaderMap) -> Response {
    match path {
        "/healthz" if is_read => healthz(hall).await,
        OPENAPI if is_read => json(StatusCode::OK, &comity_api::openapi()),
        path if is_read => pages::file(path, headers).unwrap_or_else(|| no_such_address(path)),
        path => no_such_address(path),
    }
}

async fn api(hall: Arc<Hall>, request: Request) -> Response {
    let began = Instant::now();
    let Ok(place) = hall.queue.clone().try_acquire_owned() else {
        let refusal = Refusal::new(Code::StoreUnavailable, "too many requests are at work");
        return problem(&refusal.hint("send it again in a second"));
    };
    let (parts, body) = request.into_parts();
    let bytes = match timeout(BODY_TIMEOUT, to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return too_large(),
        Err(_) => {
            let refusal = Refusal::input("the body did not come in time").hint("send it again");
            return problem_with(StatusCode::REQUEST_TIMEOUT, &refusal);
        }
    };
    let ask = asked(&Request::from_parts(parts, Body::empty()), bytes);
    let shared = hall.clone();
    let done = blocking(move || {
        Ok(match ask.path.as_str() {
            "session" => Outcome::Now(shared.session(&ask)),
            path if is_about_tokens(path) => Outcome::Now(shared.token(&ask)),
            _ => shared.answer(&ask),
        })
    });
    let response = match done.await {
        Ok(Outcome::Now(response)) => response,
        Ok(Outcome::Later(answer)) => {
            // Who waits does not keep others from being served.
            drop(place);
            told(answer.await)
        }
        Err(refusal) => problem(&refusal),
    };
    hall.metrics.took(began.elapsed());
    response
}

async fn healthz(hall: &Hall) -> Response {
    let mut heads = Vec::new();
    for root in &hall.roots {
        let service = root.served.service.clone();
        match blocking(move || service.check_end()).await {
            Ok(head) => heads.push(head),
            Err(refusal) => return problem_with(StatusCode::SERVICE_UNAVAILABLE, &refusal),
        }
    }
    let head = heads.first();
    json(StatusCode::OK, &json!({"ok": true, "head": head, "version": env!("CARGO_PKG_VERSION")}))
}

async fn metrics(hall: Arc<Hall>, ask: Ask) -> Response {
    let text = blocking(move || {
        let (root, _) = hall.root_of(&ask)?;
        hall.who(&ask, root)?.may_read()?;
        let measured = |root: &Root| {
            let Served { service, context, .. } = &root.served;
            let head = service.call::<op::LogHead>(&context.caller(), Nothing {})?.seq;
            let (repo, committed) = (context.repo.to_string(), service.committed());
            Ok(OfProject { repo, head, committed })
        };
        let gauges = Gauges {
            projects: hall.roots.iter().map(measured).collect::<Result<_, Refusal>>()?,
            streams: super::hall::STREAMS_MAX - hall.streams.available_permits(),
            queue: super::hall::QUEUE_MAX - hall.queue.available_permits(),
        };
        Ok(hall.metrics.text(&gauges))
    });
    match text.await {
        Ok(text) => with_body(StatusCode::OK, "text/plain; version=0.0.4", text),
        Err(refusal) => problem(&refusal),
    }
}

/// The header by which a browser says where its stream broke.
const LAST_EVENT_ID: &str = "last-event-id";

async fn stream(hall: Arc<Hall>, ask: Ask) -> Response {
    let shared = hall.clone();
    let found = blocking(move || {
        let params = query(&ask.query)?;
        let param = |name: &str| params.iter().find(|(known, _)| known == name).map(|(_, v)| v);
        let (root, _) = shared.root_of(&ask)?;
        shared.who(&ask, root)?.may_read()?;
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| Refusal::input("a stream begins at the seq of an event"))
        };
        let last = super::access::text(&ask.headers, LAST_EVENT_ID).map(number).transpose()?;
        let from = param("from").map(|text| number(text)).transpose()?;
        let live = root.live.clone();
        let again = shared.clone();
        let may: May = Arc::new(move || again.may_read(&ask).is_ok());
        Ok((live, last.or(from.map(|from| from.saturating_sub(1))), may))
    });
    let (live, after, may) = match found.await {
        Ok(found) => found,
        Err(refusal) => return problem(&refusal),
    };
    let Ok(permit) = hall.streams.clone().try_acquire_owned() else {
        let message = "there are as many streams as the server takes";
        return problem(&Refusal::new(Code::StoreUnavailable, message));
    };
    match live.open(after, may, permit).await {
        Ok(stream) => {
            let mut response = with_body(StatusCode::OK, "text/event-stream", Body::new(stream));
            let no_store = HeaderValue::from_static("no-store");
            response.headers_mut().insert(CACHE_CONTROL, no_store);
            response
        }
        Err(refusal) => problem(&refusal),
    }
}
