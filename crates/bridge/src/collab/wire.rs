//! Lines of JSON-RPC: read with a bound, written as the tree's own server writes them.

use super::methods::Failure;
use super::rpc::Failing;
use comity_protocol::collab::{line, read_json};
use serde_json::{Map, Value, json};
use std::io::{self, BufRead};

/// The longest request; above what the rules allow in one command.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

pub enum Line {
    Text(Vec<u8>),
    /// A line that is too long; the rest of it was passed over.
    TooLong,
    End,
}

pub fn read_line(input: &mut impl BufRead) -> io::Result<Line> {
    let mut bytes = Vec::new();
    let mut long = false;
    loop {
        let part = input.fill_buf()?;
        if part.is_empty() {
            let nothing = bytes.is_empty() && !long;
            return Ok(match (nothing, long) {
                (true, _) => Line::End,
                (_, true) => Line::TooLong,
                (_, false) => Line::Text(bytes),
            });
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(part.len(), |at| at + 1);
        long |= bytes.len() + taken > LINE_BYTES_MAX;
        if !long {
            bytes.extend_from_slice(part.get(..taken).unwrap_or_default());
        }
        input.consume(taken);
        if end.is_some() {
            return Ok(if long { Line::TooLong } else { Line::Text(bytes) });
        }
    }
}

pub struct Call {
    pub id: Value,
    pub method: String,
    pub params: Map<String, Value>,
}

/// Reads a request. An error comes with the id where there is one.
pub fn read_call(bytes: &[u8]) -> Result<Call, (Value, String)> {
    let none = |message: String| (Value::Null, message);
    let text = std::str::from_utf8(bytes)
        .map_err(|error| none(format!("the request is not UTF-8: {error}")))?;
    let value =
        read_json(text).map_err(|error| none(format!("the request is not JSON: {error}")))?;
    let Value::Object(mut request) = value else {
        return Err(none("a request is one JSON object on one line".to_owned()));
    };
    let id = request.shift_remove("id").unwrap_or_default();
    // A method that is none is not found, in the words of the tree's own server.
    let method = match request.shift_remove("method").unwrap_or_default() {
        Value::String(method) => method,
        Value::Null => "None".to_owned(),
        other => other.to_string(),
    };
    match request.shift_remove("params") {
        None | Some(Value::Null) => Ok(Call { id, method, params: Map::new() }),
        Some(Value::Object(params)) => Ok(Call { id, method, params }),
        Some(_) => Err((id, "params is not an object".to_owned())),
    }
}

pub fn result(id: &Value, result: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

pub fn unknown_method(id: &Value, method: &str) -> String {
    let error = json!({"code": -32601, "message": format!("Method not found: {method}")});
    line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// Writes a failure. The code of the refusal and what to do next come beside the words of the tree's own server.
pub fn failure(id: &Value, failure: &Failure, failing: &Failing<'_>) -> String {
    let mut error = Map::new();
    error.insert("code".to_owned(), json!(-32603));
    error.insert("message".to_owned(), json!(failure.message));
    let mut data = Map::new();
    if let Some(refusal) = &failure.refusal {
        let said = refusal.to_json(failing.wording);
        data = said.get("error").and_then(Value::as_object).cloned().unwrap_or_default();
    }
    if failing.traceback {
        data.insert("traceback".to_owned(), json!(format!("{failure:?}")));
    }
    if !data.is_empty() {
        error.insert("data".to_owned(), Value::Object(data));
    }
    line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}
