//! Any agent that speaks the Agent Client Protocol, version 1: JSON-RPC, one session.

use super::rpc::{self, Message};
use super::{Happened, Heard, Opening, Permission, api_fault, count, object, text};
use comity_core::money::Usd;
use comity_core::run::{RunFault, Tokens};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const INITIALIZE: u64 = 1;
const SESSION: u64 = 2;
const FIRST_TURN: u64 = 10;
const VERSION: u64 = 1;

/// The talk with an agent over ACP.
#[derive(Debug)]
pub struct Acp {
    opening: Opening,
    next: u64,
    session: Option<String>,
    /// The prompt that is being answered.
    turn: Option<u64>,
    /// What is said when the turn has ended.
    waiting: Vec<String>,
    /// A message comes in pieces.
    message: String,
    model: Option<String>,
    tools: BTreeMap<String, String>,
}

impl Acp {
    pub fn new(opening: &Opening) -> Acp {
        Acp {
            waiting: vec![opening.prompt.clone()],
            opening: opening.clone(),
            next: FIRST_TURN,
            session: None,
            turn: None,
            message: String::new(),
            model: None,
            tools: BTreeMap::new(),
        }
    }

    pub(super) fn begin(&mut self) -> Vec<String> {
        let files = json!({"readTextFile": false, "writeTextFile": false});
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": files, "terminal": false},
            "clientInfo": {"name": "comity", "title": "comity", "version": env!("CARGO_PKG_VERSION")},
        });
        vec![rpc::request(INITIALIZE, "initialize", &params)]
    }

    pub(super) fn say(&mut self, text: &str) -> Vec<String> {
        self.waiting.push(text.to_owned());
        self.prompt()
    }

    /// Sends what waits to be said, where the agent listens.
    fn prompt(&mut self) -> Vec<String> {
        let Some(session) = self.session.clone().filter(|_| self.turn.is_none()) else {
            return Vec::new();
        };
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let text = std::mem::take(&mut self.waiting).join("\n\n");
        self.next += 1;
        self.turn = Some(self.next);
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        vec![rpc::request(self.next, "session/prompt", &params)]
    }

    pub(super) fn interrupt(&mut self) -> Vec<String> {
        let session = self.session.iter().filter(|_| self.turn.is_some());
        session.map(|id| rpc::notice("session/cancel", &json!({"sessionId": id}))).collect()
    }

    pub fn read(&mut self, line: &str) -> Heard {
        let value = match object(line) {
            Ok(value) => value,
            Err(text) => return Heard::of(text),
        };
        match rpc::read(&value) {
            Message::Answer { id, result } => self.answered(id, result),
            Message::Notice { method: "session/update", params } => {
                Heard::of(self.update(params.get("update").unwrap_or(&Value::Null)))
            }
            Message::Request { id, method: "session/request_permission", params } => {
                let mut happened = self.message_ended();
                happened.extend(permission(id, params).map(Happened::Permission));
                Heard::of(happened)
            }
            Message::Request { id, method, .. } => {
                Heard { happened: Vec::new(), write: vec![rpc::no_such_method(id, method)] }
            }
            Message::Notice { .. } | Message::Other => Heard::default(),
        }
    }

    fn answered(&mut self, id: u64, result: Result<&Value, &Value>) -> Heard {
        match (id, result) {
            (INITIALIZE, Ok(_)) => {
                let mcp = self.opening.mcp.iter().map(|server| {
                    let env = server.env.iter();
                    let env: Vec<Value> =
                        env.map(|(name, value)| json!({"name": name, "value": value})).collect();
                    let (command, args) = (&server.command, &server.args);
                    json!({"name": "comity", "command": command, "args": args, "env": env})
                });
                let mcp: Vec<Value> = mcp.collect();
                let params = json!({"cwd": self.opening.dir, "mcpServers": mcp});
                let write = vec![rpc::request(SESSION, "session/new", &params)];
                Heard { happened: Vec::new(), write }
            }
            (SESSION, Ok(result)) => {
                let Some(session) = text(result, "sessionId") else { return Heard::default() };
                self.session = Some(session.to_owned());
                let happened = vec![Happened::Session(session.to_owned())];
                Heard { happened, write: self.prompt() }
            }
            (INITIALIZE | SESSION, Err(error)) => {
                let message = rpc::message(error);
                Heard::of(vec![Happened::Failed { kind: RunFault::Spawn, message }])
            }
            (id, result) if self.turn == Some(id) => {
                self.turn = None;
                let mut happened = self.message_ended();
                happened.extend(match result {
                    Ok(result) => self.turn_ended(id, result),
                    Err(error) => vec![fault(error), Happened::Turn],
                });
                Heard { happened, write: self.prompt() }
            }
            _ => Heard::default(),
        }
    }

    fn turn_ended(&mut self, id: u64, result: &Value) -> Vec<Happened> {
        let mut all: Vec<Happened> = used(result)
            .map(|tokens| Happened::Usage {
                call: format!("turn-{id}"),
                model: self.model.clone(),
                tokens,
            })
            .into_iter()
            .collect();
        let failed = |kind, message: &str| Happened::Failed { kind, message: message.to_owned() };
        match text(result, "stopReason").unwrap_or_default() {
            "max_turn_requests" => {
                all.push(failed(RunFault::MaxTurns, "the agent used up its turns"));
            }
            "refusal" => all.push(failed(RunFault::Crash, "the agent refused to go on")),
            _ => {}
        }
        all.push(Happened::Turn);
        all
    }

    fn update(&mut self, update: &Value) -> Vec<Happened> {
        let kind = text(update, "sessionUpdate").unwrap_or_default();
        if kind == "agent_message_chunk" {
            let piece = update.get("content").and_then(|content| text(content, "text"));
            self.message.push_str(piece.unwrap_or_default());
            return Vec::new();
        }
        let mut all = match kind {
            // These come in the middle of a message, too.
            "usage_update" | "agent_thought_chunk" => Vec::new(),
            _ => self.message_ended(),
        };
        match kind {
            "tool_call" | "tool_call_update" => all.extend(self.tool(update)),
            "usage_update" => {
                let model = update.get("_meta").and_then(|meta| text(meta, "_claude/model"));
                self.model = model.map(str::to_owned).or(self.model.take());
                let cost = update.get("cost").filter(|cost| text(cost, "currency") == Some("USD"));
                let amount = cost.and_then(|cost| cost.get("amount")).and_then(Value::as_f64);
                all.extend(amount.and_then(Usd::from_dollars).map(Happened::Total));
            }
            _ => {}
        }
        all
    }

    fn tool(&mut self, update: &Value) -> Option<Happened> {
        let id = text(update, "toolCallId")?.to_owned();
        let is_new = !self.tools.contains_key(&id);
        if is_new {
            self.tools.insert(id.clone(), tool_name(update));
        }
        let ended = matches!(text(update, "status"), Some("completed" | "failed"));
        if !is_new && !ended {
            return None;
        }
        let name = match ended {
            true => self.tools.remove(&id)?,
            false => self.tools.get(&id)?.clone(),
        };
        let input = update.get("rawInput").filter(|_| !ended).map(Value::to_string);
        Some(Happened::Tool { id, name, input, ended })
    }

    fn message_ended(&mut self) -> Vec<Happened> {
        let message = std::mem::take(&mut self.message);
        if message.is_empty() { Vec::new() } else { vec![Happened::Text(message)] }
    }
}

pub(super) fn answer(asked: &Permission, allow: bool) -> String {
    let (yes, no) = &asked.words;
    let option = if allow { yes } else { no };
    let outcome = match option.is_empty() {
        true => json!({"outcome": "cancelled"}),
        false => json!({"outcome": "selected", "optionId": option}),
    };
    rpc::answer(&asked.id, &json!({"outcome": outcome}))
}

/// Names of options differ from agent to agent; their kinds do not.
fn permission(id: &Value, params: &Value) -> Option<Permission> {
    let call = params.get("toolCall")?;
    let options = params.get("options").and_then(Value::as_array);
    let option = |kinds: [&str; 2]| {
        let of = |kind: &&str| {
            let mut all = options.into_iter().flatten();
            all.find(|option| text(option, "kind") == Some(kind))
        };
        let found = kinds.iter().find_map(of).and_then(|option| text(option, "optionId"));
        found.unwrap_or_default().to_owned()
    };
    let words = (option(["allow_once", "allow_always"]), option(["reject_once", "reject_always"]));
    let input = call.get("rawInput").or(call.get("title")).cloned().unwrap_or(Value::Null);
    Some(Permission { id: id.clone(), tool: tool_name(call), input, words })
}

/// Returns the name of a tool: the agent's own, else that of the kind.
fn tool_name(call: &Value) -> String {
    let of_kind = match text(call, "kind").unwrap_or_default() {
        "execute" => Some("Bash"),
        "edit" | "delete" | "move" => Some("Edit"),
        "read" => Some("Read"),
        "search" => Some("Grep"),
        "fetch" => Some("WebFetch"),
        _ => None,
    };
    text(call, "name").or(of_kind).or(text(call, "title")).unwrap_or("tool").to_owned()
}

fn used(result: &Value) -> Option<Tokens> {
    let quota = || result.get("_meta")?.get("quota")?.get("token_count");
    let usage = result.get("usage").filter(|usage| usage.is_object()).or_else(quota)?;
    let any = |keys: &[&str]| keys.iter().map(|key| count(usage, key)).max().unwrap_or_default();
    Some(Tokens {
        input: any(&["inputTokens", "input_tokens"]),
        cached: any(&["cachedReadTokens", "cached_tokens"]),
        cache_write: any(&["cachedWriteTokens"]),
        output: any(&["outputTokens", "output_tokens"]),
    })
}

fn fault(error: &Value) -> Happened {
    let message = rpc::message(error);
    let details = error.get("data").map(Value::to_string).unwrap_or_default();
    let said = format!("{message} {details}");
    let status = [429, 401, 403, 529, 500, 503].into_iter().find(|status| {
        let digits = status.to_string();
        let mut words = said.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| word == digits)
    });
    match error.get("code").and_then(Value::as_i64) {
        Some(-32000) => Happened::Failed { kind: RunFault::Auth, message },
        _ => api_fault(status, &message),
    }
}
