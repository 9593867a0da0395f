//! `comity mcp` with a server in the place of a store: each message of the client goes to the server's own MCP door, and what
//! the server says comes back. The token names the agent.

use comity_project::Server;
use serde_json::{Value, json};
use std::io::{BufRead, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Messages that are under way at once; further ones wait for their turn.
const AT_ONCE_MAX: usize = 64;
/// JSON-RPC's code for a failure of the server itself.
const INTERNAL: i64 = -32603;
const NOT_JSON: i64 = -32700;
const VERSION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// Carries messages, one a line, until the client has no more. `say` writes one for the client.
pub fn forward(server: &Server, mut input: impl BufRead, say: impl Fn(&Value) + Sync) {
    let wire = Wire { server, say, version: Mutex::new(None) };
    let under_way = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        loop {
            let mut line = String::new();
            let most = u64::try_from(super::LINE_BYTES_MAX).unwrap_or(u64::MAX);
            let read = input.by_ref().take(most).read_line(&mut line);
            if read.map_or(true, |count| count == 0) {
                return;
            }
            let (wire, under_way) = (&wire, &under_way);
            let carry = move || {
                wire.carry(&line);
                under_way.fetch_sub(1, Ordering::SeqCst);
            };
            // A client that has not said hello yet waits for the answer before it goes on.
            if under_way.fetch_add(1, Ordering::SeqCst) < AT_ONCE_MAX {
                scope.spawn(carry);
            } else {
                carry();
            }
        }
    });
}

struct Wire<'a, S> {
    server: &'a Server,
    say: S,
    /// The version that the server and a client of the older era agreed on.
    version: Mutex<Option<String>>,
}

impl<S: Fn(&Value) + Sync> Wire<'_, S> {
    fn carry(&self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return (self.say)(&error(&Value::Null, NOT_JSON, "the message is not JSON"));
        };
        let id = message.get("id").cloned();
        let answer = self.server.post("/mcp", &self.headers(&message), line.trim());
        match (answer, id) {
            (Ok(answers), _) if !answers.is_empty() => {
                for text in answers {
                    self.heard(&message, &text);
                }
            }
            (Err(refusal), Some(id)) => (self.say)(&error(&id, INTERNAL, &refusal.message)),
            (Ok(_), Some(id)) => (self.say)(&error(&id, INTERNAL, "the server said nothing")),
            // Nobody waits for an answer to a notification.
            (_, None) => {}
        }
    }

    /// Says in headers what the message says: the newer protocol demands it, and the older one its version.
    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let params = message.get("params").unwrap_or(&Value::Null);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let named = text(params.get("name").or_else(|| params.get("uri")));
        let version = text(params.pointer(VERSION))
            .or_else(|| self.version.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let all = [
            ("Accept", Some("application/json, text/event-stream".to_owned())),
            ("MCP-Protocol-Version", version),
            ("Mcp-Method", text(message.get("method"))),
            ("Mcp-Name", named),
        ];
        let is_plain = |value: &String| value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        all.into_iter().filter_map(|(name, value)| Some((name, value.filter(is_plain)?))).collect()
    }

    fn heard(&self, asked: &Value, text: &str) {
        let Ok(answer) = serde_json::from_str::<Value>(text) else { return };
        if asked.get("method").and_then(Value::as_str) == Some("initialize") {
            let agreed = answer.pointer("/result/protocolVersion").and_then(Value::as_str);
            let mut version = self.version.lock().unwrap_or_else(PoisonError::into_inner);
            *version = agreed.map(str::to_owned);
        }
        (self.say)(&answer);
    }
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
