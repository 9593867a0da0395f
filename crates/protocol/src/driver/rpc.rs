//! JSON-RPC, one message a line.

use serde_json::{Value, json};

/// The code for a method that is not offered.
const NO_METHOD: i64 = -32601;

/// A message of the other side.
pub(super) enum Message<'v> {
    /// The answer to one of our requests.
    Answer {
        id: u64,
        result: Result<&'v Value, &'v Value>,
    },
    /// It wants an answer.
    Request {
        id: &'v Value,
        method: &'v str,
        params: &'v Value,
    },
    Notice {
        method: &'v str,
        params: &'v Value,
    },
    Other,
}

pub(super) fn read(value: &Value) -> Message<'_> {
    let params = value.get("params").unwrap_or(&Value::Null);
    let method = value.get("method").and_then(Value::as_str);
    let id = value.get("id").filter(|id| !id.is_null());
    match (method, id) {
        (Some(method), Some(id)) => Message::Request { id, method, params },
        (Some(method), None) => Message::Notice { method, params },
        (None, Some(id)) => {
            let result = match value.get("error") {
                Some(error) => Err(error),
                None => Ok(value.get("result").unwrap_or(&Value::Null)),
            };
            id.as_u64().map_or(Message::Other, |id| Message::Answer { id, result })
        }
        (None, None) => Message::Other,
    }
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub(super) fn notice(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

pub(super) fn answer(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// Answers a request that is not offered.
pub(super) fn no_such_method(id: &Value, method: &str) -> String {
    let message = format!("{method} is not offered");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": NO_METHOD, "message": message}})
        .to_string()
}

/// Returns the message of an error.
pub(super) fn message(error: &Value) -> String {
    let text = error.get("message").and_then(Value::as_str);
    text.map_or_else(|| error.to_string(), str::to_owned)
}
