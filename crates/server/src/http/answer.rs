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

/// The code of a refusal, for whoever counts them.
#[derive(Clone, Copy)]
pub struct Refused(pub Code);

/// Answers with a refusal as a problem (RFC 9457).
pub fn problem(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.code.http_status());
    problem_with(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), refusal)
}

pub fn problem_with(status: StatusCode, refusal: &Refusal) -> Response {
    let next = refusal.next_step();
    let links: Vec<Value> = next.calls().filter_map(link).collect();
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Refused"),
        "status": status.as_u16(),
        "code": refusal.code.as_str(),
        "detail": refusal.message,
        "hint": next.worded(&Requests),
        "details": refusal.details,
        "next": next,
        "links": links,
    });
    let mut response = with_body(status, "application/problem+json", body.to_string());
    response.extensions_mut().insert(Refused(refusal.code));
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

/// A call as a request: the method, the address and the fields of the body. None where HTTP has no such operation.
fn request(call: &Call) -> Option<(&'static str, String, Map<String, Value>)> {
    let routes = comity_api::routes();
    let id = call.arguments.iter().find(|argument| argument.name == "id");
    let of_row = |route: &&comity_api::Route| route.row.name == call.operation;
    let named = |route: &&comity_api::Route| route.path.contains("{id}") == id.is_some();
    let found = routes.iter().filter(of_row).find(named).or_else(|| routes.iter().find(of_row));
    let route = found?;
    let path = route.path.replace("{id}", &id.map(text).unwrap_or_default());
    let in_path = route.path.contains("{id}");
    let rest = call.arguments.iter().filter(|argument| argument.name != "id" || !in_path);
    let body = rest.map(|argument| (argument.name.to_string(), json!(text(argument))));
    Some((route.method.as_str(), format!("/api/v1/{path}"), body.collect()))
}

/// A call as a link: the operation is its relation. Fields that the caller fills in stand in the body by their kind.
fn link(call: &Call) -> Option<Value> {
    let (method, href, body) = request(call)?;
    Some(json!({"rel": call.operation, "method": method, "href": href, "body": body}))
}

impl Wording for Requests {
    fn call(&self, call: &Call) -> String {
        let Some((method, address, body)) = request(call) else { return Plain.call(call) };
        let body = if body.is_empty() { String::new() } else { format!(" {}", json!(body)) };
        format!("{method} {address}{body}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use comity_core::hint::{op, say};

    #[test]
    fn a_next_step_over_http_is_a_link_whose_relation_is_the_operation() {
        let approve = op("task.approve").id("T1").arg("reason", "read it");
        let (link, hint) = (link(&approve), Requests.call(&approve));
        let wanted = json!({"rel": "task.approve", "method": "POST", "href": "/api/v1/tasks/T1/approve",
            "body": {"reason": "read it"}});
        assert_eq!(link, Some(wanted));
        assert_eq!(hint, r#"POST /api/v1/tasks/T1/approve {"reason":"read it"}"#);
        let hint = say("see ").call(op("task.list")).say(", or ").call(op("doctor"));
        let links: Vec<Value> = hint.calls().filter_map(super::link).collect();
        let list =
            json!({"rel": "task.list", "method": "GET", "href": "/api/v1/tasks", "body": {}});
        assert_eq!(links, [list], "what HTTP cannot do is no link");
    }
}
