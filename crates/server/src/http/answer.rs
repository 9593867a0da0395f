//! Answers over HTTP: JSON, problems, and the headers that every answer has.

use axum::body::Body;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use comity_core::hint::{Argument, Call, Given, Plain, Wording};
use comity_core::refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

/// Nothing is loaded from elsewhere, nothing runs that is not a file of the server, and no page shows this one.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Seconds after which a busy server may be asked again.
const RETRY_SECONDS: &str = "1";
/// The headers of every answer.
const ALWAYS: [(&str, &str); 5] = [
    ("content-security-policy", CONTENT_POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// Adds the headers that every answer has.
pub fn guarded(mut response: Response) -> Response {
    for (name, value) in ALWAYS {
        let name = HeaderName::from_static(name);
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

pub fn with_body(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Answers with JSON that only this caller may keep.
pub fn json(status: StatusCode, body: &Value) -> Response {
    let mut response = with_body(status, "application/json", body.to_string());
    private(&mut response);
    response
}

fn private(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(VARY, HeaderValue::from_static("Cookie, Authorization"));
}

/// Adds the tag of a version.
pub fn tagged(mut response: Response, tag: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(ETAG, value);
    }
    response
}

pub fn not_modified(tag: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    private(&mut response);
    tagged(response, tag)
}

/// Answers with a refusal as a problem (RFC 9457).
pub fn problem(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.code.http_status());
    problem_with(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), refusal)
}

pub fn problem_with(status: StatusCode, refusal: &Refusal) -> Response {
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Refused"),
        "status": status.as_u16(),
        "code": refusal.code.as_str(),
        "detail": refusal.message,
        "hint": refusal.next_step().worded(&Requests),
        "details": refusal.details,
        "next": refusal.next_step(),
    });
    let mut response = with_body(status, "application/problem+json", body.to_string());
    private(&mut response);
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
    }
    response
}

/// Says that an address is there, and by which methods.
pub fn other_methods(allowed: &str) -> Response {
    let refusal = Refusal::input(format!("this address takes {allowed}"));
    let mut response = problem_with(StatusCode::METHOD_NOT_ALLOWED, &refusal);
    if let Ok(value) = HeaderValue::from_str(allowed) {
        response.headers_mut().insert(ALLOW, value);
    }
    response
}

/// Says that nothing is at an address.
pub fn no_such_address(path: &str) -> Response {
    let path = comity_core::ids::shorten(path);
    let refusal = Refusal::new(Code::NotFound, format!("nothing is at {path:?}"))
        .hint("see /api/v1/openapi.json");
    problem(&refusal)
}

/// Next steps as requests: what a program sends.
pub struct Requests;

impl Wording for Requests {
    fn call(&self, call: &Call) -> String {
        let routes = comity_api::routes();
        let id = call.arguments.iter().find(|argument| argument.name == "id");
        let of_row = |route: &&comity_api::Route| route.row.name == call.operation;
        let named = |route: &&comity_api::Route| route.path.contains("{id}") == id.is_some();
        let found = routes.iter().filter(of_row).find(named).or_else(|| routes.iter().find(of_row));
        let Some(route) = found else { return Plain.call(call) };
        let path = route.path.replace("{id}", &id.map(text).unwrap_or_default());
        let mut body = Map::new();
        let in_path = route.path.contains("{id}");
        let rest = call.arguments.iter().filter(|argument| argument.name != "id" || !in_path);
        for argument in rest {
            body.insert(argument.name.to_string(), json!(text(argument)));
        }
        let body = if body.is_empty() { String::new() } else { format!(" {}", json!(body)) };
        format!("{} /api/v1/{path}{body}", route.method.as_str())
    }

    fn argument(&self, argument: &Argument) -> String {
        Plain.argument(argument)
    }
}

fn text(argument: &Argument) -> String {
    match &argument.given {
        Given::Value(text) => text.clone(),
        Given::Placeholder(kind) => kind.to_string(),
        Given::Nothing => "true".to_owned(),
    }
}
