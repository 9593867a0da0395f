//! Codex as `app-server`: JSON-RPC, one thread with many turns.

use super::claude::less;
use super::rpc::{self, Message};
use super::{Happened, Heard, Opening, Permission, api_fault, count, object, text};
use comity_core::run::{RunFault, Tokens};
use comity_core::time::Timestamp;
use serde_json::{Value, json};

const INITIALIZE: u64 = 1;
const CANARY: u64 = 2;
const THREAD: u64 = 3;
/// Later requests are counted from here.
const FIRST_TURN: u64 = 10;

/// The talk with Codex.
#[derive(Debug)]
pub struct Codex {
    opening: Opening,
    next: u64,
    thread: Option<String>,
    turn: Option<String>,
    model: Option<String>,
    used: Tokens,
    calls: u64,
    /// What is said once the thread is there.
    waiting: Vec<String>,
}

impl Codex {
    pub fn new(opening: &Opening) -> Codex {
        Codex {
            waiting: vec![opening.prompt.clone()],
            opening: opening.clone(),
            next: FIRST_TURN,
            thread: None,
            turn: None,
            model: None,
            used: Tokens::default(),
            calls: 0,
        }
    }

    pub(super) fn begin(&mut self) -> Vec<String> {
        let info =
            json!({"name": "comity", "title": "comity", "version": env!("CARGO_PKG_VERSION")});
        vec![rpc::request(INITIALIZE, "initialize", &json!({"clientInfo": info}))]
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn say(&mut self, text: &str) -> Vec<String> {
        let Some(thread) = self.thread.clone() else {
            self.waiting.push(text.to_owned());
            return Vec::new();
        };
        let input = json!([{"type": "text", "text": text}]);
        let id = self.id();
        vec![match &self.turn {
            Some(turn) => {
                let params = json!({"threadId": thread, "expectedTurnId": turn, "input": input});
                rpc::request(id, "turn/steer", &params)
            }
            None => rpc::request(id, "turn/start", &json!({"threadId": thread, "input": input})),
        }]
    }

    pub(super) fn interrupt(&mut self) -> Vec<String> {
        let (Some(thread), Some(turn)) = (self.thread.clone(), self.turn.clone()) else {
            return Vec::new();
        };
        let id = self.id();
        vec![rpc::request(id, "turn/interrupt", &json!({"threadId": thread, "turnId": turn}))]
    }

    pub fn read(&mut self, line: &str) -> Heard {
        let value = match object(line) {
            Ok(value) => value,
            Err(text) => return Heard::of(text),
        };
        match rpc::read(&value) {
            Message::Answer { id, result } => self.answered(id, result),
            Message::Notice { method, params } => Heard::of(self.told(method, params)),
            Message::Request { id, method, params } => asked(id, method, params),
            Message::Other => Heard::default(),
        }
    }

    fn answered(&mut self, id: u64, result: Result<&Value, &Value>) -> Heard {
        let failed = |kind, message: String| Heard::of(vec![Happened::Failed { kind, message }]);
        match (id, result) {
            (INITIALIZE, Ok(_)) => self.open(),
            (THREAD, Ok(result)) => self.thread_is_there(result),
            (INITIALIZE | THREAD, Err(error)) => failed(RunFault::Spawn, rpc::message(error)),
            // Where commands cannot run, Codex ends its turns as if all were well.
            (CANARY, Ok(result)) if result.get("exitCode").and_then(Value::as_i64) == Some(0) => {
                Heard::default()
            }
            (CANARY, Ok(result)) => {
                let said = text(result, "stderr").unwrap_or_default();
                failed(RunFault::Sandbox, format!("Codex cannot run commands here: {said}"))
            }
            (CANARY, Err(error)) => {
                let said = rpc::message(error);
                failed(RunFault::Sandbox, format!("Codex cannot run commands here: {said}"))
            }
            (_, Ok(_)) => Heard::default(),
            // A turn that ended meanwhile takes no more words: they begin the next one.
            (_, Err(error)) => failed(RunFault::Crash, rpc::message(error)),
        }
    }

    fn open(&self) -> Heard {
        let dir = &self.opening.dir;
        let canary =
            json!({"command": ["true"], "cwd": dir, "sandboxPolicy": {"type": "dangerFullAccess"}});
        let mut thread =
            json!({"cwd": dir, "approvalPolicy": "on-request", "sandbox": "danger-full-access"});
        if let (Some(model), Some(fields)) = (&self.opening.model, thread.as_object_mut()) {
            fields.insert("model".to_owned(), json!(model));
        }
        let mut method = "thread/start";
        if let (Some(id), Some(fields)) = (&self.opening.resume, thread.as_object_mut()) {
            method = "thread/resume";
            fields.insert("threadId".to_owned(), json!(id));
        }
        let write = vec![
            rpc::notice("initialized", &json!({})),
            rpc::request(CANARY, "command/exec", &canary),
            rpc::request(THREAD, method, &thread),
        ];
        Heard { happened: Vec::new(), write }
    }

    fn thread_is_there(&mut self, result: &Value) -> Heard {
        let thread = result.get("thread").unwrap_or(&Value::Null);
        let Some(id) = text(thread, "id") else { return Heard::default() };
        self.thread = Some(id.to_owned());
        self.model = text(result, "model").or(text(thread, "model")).map(str::to_owned);
        let texts = std::mem::take(&mut self.waiting);
        let write = self.say(&texts.join("\n\n"));
        Heard { happened: vec![Happened::Session(id.to_owned())], write }
    }

    fn told(&mut self, method: &str, params: &Value) -> Vec<Happened> {
        let nothing = Value::Null;
        let item = params.get("item").unwrap_or(&nothing);
        match method {
            "turn/started" => {
                self.turn = params.get("turn").and_then(|turn| text(turn, "id")).map(str::to_owned);
                Vec::new()
            }
            "turn/completed" => {
                self.turn = None;
                let turn = params.get("turn").unwrap_or(&nothing);
                let failed = (text(turn, "status") == Some("failed"))
                    .then(|| fault(turn.get("error").unwrap_or(&nothing)));
                failed.into_iter().chain([Happened::Turn]).collect()
            }
            "item/started" | "item/completed" => {
                item_told(item, method == "item/completed").into_iter().collect()
            }
            "thread/tokenUsage/updated" => self.usage(params).into_iter().collect(),
            "error" if params.get("willRetry").and_then(Value::as_bool) == Some(true) => {
                let error = params.get("error").unwrap_or(&nothing);
                vec![Happened::Retry { status: status(error) }]
            }
            "account/rateLimits/updated" => limited(params).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The counts of a thread only grow; each update is one call.
    fn usage(&mut self, params: &Value) -> Option<Happened> {
        let total = params.get("tokenUsage")?.get("total")?;
        let cached = count(total, "cachedInputTokens");
        let cache_write = count(total, "cacheWriteInputTokens");
        let now = Tokens {
            input: count(total, "inputTokens").saturating_sub(cached).saturating_sub(cache_write),
            cached,
            cache_write,
            output: count(total, "outputTokens"),
        };
        let tokens = less(now, self.used);
        if tokens == Tokens::default() {
            return None;
        }
        // The first counts of a thread that was taken up again are those of its earlier processes.
        let is_old = self.opening.resume.is_some() && self.calls == 0 && self.turn.is_none();
        self.used = now;
        self.calls += 1;
        if is_old {
            return None;
        }
        let turn = text(params, "turnId").unwrap_or_default();
        let call = format!("{turn}-{}", self.calls);
        Some(Happened::Usage { call, model: self.model.clone(), tokens })
    }
}

pub(super) fn answer(asked: &Permission, allow: bool) -> String {
    let (yes, no) = &asked.words;
    rpc::answer(&asked.id, &json!({"decision": if allow { yes } else { no }}))
}

fn asked(id: &Value, method: &str, params: &Value) -> Heard {
    let tool = match method {
        "item/commandExecution/requestApproval" => "Bash",
        "item/fileChange/requestApproval" => "Edit",
        _ => {
            let write = vec![rpc::no_such_method(id, method)];
            return Heard { happened: Vec::new(), write };
        }
    };
    let field = |key: &str| params.get(key).cloned().unwrap_or(Value::Null);
    let input =
        json!({"command": field("command"), "cwd": field("cwd"), "reason": field("reason")});
    let words = ("accept".to_owned(), "decline".to_owned());
    let permission = Permission { id: id.clone(), tool: tool.to_owned(), input, words };
    Heard::of(vec![Happened::Permission(permission)])
}

fn item_told(item: &Value, ended: bool) -> Option<Happened> {
    let name = match text(item, "type")? {
        "agentMessage" if ended => {
            return Some(Happened::Text(text(item, "text").unwrap_or_default().to_owned()));
        }
        "commandExecution" => "Bash",
        "fileChange" => "Edit",
        "mcpToolCall" => text(item, "tool").unwrap_or("mcp"),
        "webSearch" => "WebSearch",
        _ => return None,
    };
    let (id, name) = (text(item, "id")?.to_owned(), name.to_owned());
    let said = ["command", "arguments", "query", "changes"].iter().find_map(|key| item.get(key));
    let input = said.filter(|_| !ended).map(Value::to_string);
    Some(Happened::Tool { id, name, input, ended })
}

fn limited(params: &Value) -> Option<Happened> {
    let limits = params.get("rateLimits")?;
    text(limits, "rateLimitReachedType")?;
    let resets = |name: &str| limits.get(name)?.get("resetsAt")?.as_i64();
    let until = resets("primary").or_else(|| resets("secondary"));
    let until = until.and_then(|seconds| seconds.checked_mul(1_000)).map(Timestamp::from_ms);
    Some(Happened::Limited { until })
}

/// Finds the status of the vendor's API in an error, wherever the error has it.
fn status(error: &Value) -> Option<u64> {
    let about = error.get("codexErrorInfo")?;
    match about.as_str() {
        Some("usageLimitExceeded") => return Some(429),
        Some("unauthorized") => return Some(401),
        Some("serverOverloaded" | "internalServerError") => return Some(500),
        Some(_) => return None,
        None => {}
    }
    let mut inner = about.as_object()?.values();
    inner.find_map(|value| value.get("httpStatusCode").and_then(Value::as_u64))
}

fn fault(error: &Value) -> Happened {
    let message = text(error, "message").unwrap_or("the turn failed");
    // A stream that breaks off is the vendor's failure, too.
    let broken = error.get("codexErrorInfo").is_some_and(|about| {
        about.get("responseStreamDisconnected").is_some()
            || about.get("httpConnectionFailed").is_some()
            || about.get("responseStreamConnectionFailed").is_some()
    });
    // After its last try the client calls it "other", and only its words tell.
    let broken = broken || message.starts_with("stream disconnected before completion");
    match status(error) {
        None if broken => Happened::Failed { kind: RunFault::Api, message: message.to_owned() },
        status => api_fault(status, message),
    }
}
