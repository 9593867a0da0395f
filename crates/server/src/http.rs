//! HTTP: `/mcp` and `/healthz` on a loopback address, for callers with a token.

use crate::Served;
use crate::mcp::{Callers, Door};
use crate::runtime::{blocking, failed, run, told_to_end};
use crate::tokens::Tokens;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use comity_api::{Nothing, op};
use comity_core::hint::Plain;
use comity_core::refusal::{Code, Refusal};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// The largest body of a request.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// The largest head of a request.
const HEAD_BYTES_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 64;
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections at once; more wait to be accepted.
const CONNECTIONS_MAX: usize = 256;
/// How long requests may take to finish when the server is told to end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server pauses when it cannot accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The hosts under which a server on a loopback address is called.
const OWN_HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Where the server listens.
pub struct Listening {
    pub url: String,
}

#[derive(Clone)]
struct Gate {
    served: Served,
    tokens: Tokens,
    port: u16,
    open_read: bool,
}

/// Serves until the process is told to end. `began` is called once, when the server listens.
pub fn serve(
    served: Served,
    listen: SocketAddr,
    began: impl FnOnce(&Listening),
) -> Result<(), Refusal> {
    if !listen.ip().is_loopback() {
        return Err(Refusal::input(format!("{listen} is not a loopback address"))
            .hint("listen on 127.0.0.1 or [::1]; comity has no TLS of its own yet"));
    }
    let service = served.service.clone();
    let done = run(async move {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            let message = format!("comity cannot listen on {listen}: {error}");
            Refusal::new(Code::StoreUnavailable, message).hint("choose another address or port")
        })?;
        let address = listener.local_addr().map_err(|error| failed("listen", &error))?;
        let end = told_to_end()?;
        began(&Listening { url: format!("http://{address}") });
        accept(listener, app(served, address.port()), end).await;
        Ok(())
    });
    service.stop();
    done
}

fn app(served: Served, port: u16) -> Router {
    let own = OWN_HOSTS.map(|host| format!("http://{host}:{port}"));
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_allowed_origins(own)
        .enforce_origin_validation();
    let door = Door::new(served.clone(), Callers::OfTokens);
    let mcp = StreamableHttpService::new(
        move || Ok(door.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let (tokens, open_read) =
        (Tokens::of(&served.context), served.context.config.serves_open_reads());
    let gate = Gate { served, tokens, port, open_read };
    Router::new()
        .nest_service("/mcp", mcp)
        .layer(middleware::from_fn_with_state(gate.clone(), authenticate))
        .route("/healthz", get(healthz).with_state(gate.clone()))
        .layer(middleware::from_fn_with_state(gate, check_names))
}

async fn accept(listener: TcpListener, app: Router, end: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    tokio::pin!(end);
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_headers(HEADERS_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let watched = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that breaks off is no failure of the server.
            drop(watched.await);
            drop(place);
        });
    }
    drop(listener);
    // What is not finished by then was not acknowledged.
    drop(tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await);
}

/// Lets in only requests that name this server: a page of another site cannot reach it under a name of its own.
async fn check_names(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = text(headers, HOST.as_str()).unwrap_or_default();
    let is_own = |name: &str| {
        OWN_HOSTS.iter().any(|own| name == *own || name == format!("{own}:{}", gate.port))
    };
    let origin = text(headers, ORIGIN.as_str());
    let from_own = |origin: &str| origin.strip_prefix("http://").is_some_and(is_own);
    if !is_own(host) || (headers.contains_key(ORIGIN) && !origin.is_some_and(from_own)) {
        let refusal = Refusal::new(Code::RoleForbidden, "this server has another name");
        let hint = format!("call http://127.0.0.1:{} from this host", gate.port);
        return refused(StatusCode::FORBIDDEN, &refusal.hint(hint));
    }
    next.run(request).await
}

/// Finds out who calls. Without a token nobody gets in, unless the project lets everybody on this host read.
async fn authenticate(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let bearer = text(request.headers(), AUTHORIZATION.as_str());
    let secret = bearer.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
    let Some(secret) = secret else {
        if gate.open_read {
            return next.run(request).await;
        }
        return unauthorised("this server wants a token");
    };
    let found = blocking(move || {
        let now = gate.served.service.store_time()?;
        gate.tokens.holder(&secret, now)
    });
    match found.await {
        Ok(Some(holder)) => {
            request.extensions_mut().insert(holder);
            next.run(request).await
        }
        Ok(None) => unauthorised("the token is unknown, revoked or too old"),
        Err(refusal) => {
            let status = StatusCode::from_u16(refusal.code.http_status());
            refused(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), &refusal)
        }
    }
}

async fn healthz(State(gate): State<Gate>) -> Response {
    let served = gate.served;
    let head =
        blocking(move || served.service.call::<op::LogHead>(&served.context.caller(), Nothing {}));
    match head.await {
        Ok(head) => answer(StatusCode::OK, &json!({"ok": true, "head": head.seq})),
        Err(refusal) => refused(StatusCode::SERVICE_UNAVAILABLE, &refusal),
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn unauthorised(message: &str) -> Response {
    let refusal = Refusal::new(Code::RoleForbidden, message)
        .hint("a person makes one; send it in the header Authorization, after the word Bearer");
    let mut response = refused(StatusCode::UNAUTHORIZED, &refusal);
    response.headers_mut().insert(WWW_AUTHENTICATE, axum::http::HeaderValue::from_static("Bearer"));
    response
}

fn refused(status: StatusCode, refusal: &Refusal) -> Response {
    answer(status, &refusal.to_json(&Plain))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let json = axum::http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
