//! Claude Code with `stream-json` both ways: one object a line.
//!
//! A result ends a turn and not the process: a task in the background begins another turn when it is done.

use super::{Happened, Opening, Permission, api_fault, count, object, text};
use comity_core::money::Usd;
use comity_core::run::{RunFault, Tokens};
use comity_core::time::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The client's word for a message that it made itself.
const SYNTHETIC: &str = "<synthetic>";

/// The talk with Claude Code.
#[derive(Debug, Default)]
pub struct Claude {
    prompt: String,
    session: Option<String>,
    /// The message that each speaker is in: the agent itself, or a subagent by the call that started it.
    open: BTreeMap<String, Message>,
    /// What was told of each message already. A message may come again with more.
    told: BTreeMap<String, (Tokens, u32)>,
    /// Tools that were begun, by the id of the call.
    tools: BTreeMap<String, String>,
    interrupts: u64,
    /// The turn was ended by us.
    interrupted: bool,
}

#[derive(Debug)]
struct Message {
    id: String,
    model: Option<String>,
    tokens: Tokens,
}

impl Claude {
    pub fn new(opening: &Opening) -> Claude {
        Claude { prompt: opening.prompt.clone(), ..Claude::default() }
    }

    pub(super) fn begin(&mut self) -> Vec<String> {
        vec![user(&self.prompt)]
    }

    pub(super) fn interrupt(&mut self) -> String {
        self.interrupts += 1;
        self.interrupted = true;
        let id = format!("interrupt-{}", self.interrupts);
        json!({"type": "control_request", "request_id": id, "request": {"subtype": "interrupt"}})
            .to_string()
    }

    pub fn read(&mut self, line: &str) -> Vec<Happened> {
        let value = match object(line) {
            Ok(value) => value,
            Err(text) => return text,
        };
        match text(&value, "type").unwrap_or_default() {
            "system" => self.system(&value),
            "assistant" => self.assistant(&value),
            "user" => self.tool_results(&value),
            "result" => self.result(&value),
            "control_request" => permission(&value).map(Happened::Permission).into_iter().collect(),
            "rate_limit_event" => limited(&value).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn system(&mut self, value: &Value) -> Vec<Happened> {
        match text(value, "subtype").unwrap_or_default() {
            "init" => {
                let Some(session) = text(value, "session_id") else { return Vec::new() };
                if self.session.as_deref() == Some(session) {
                    return Vec::new();
                }
                self.session = Some(session.to_owned());
                vec![Happened::Session(session.to_owned())]
            }
            "background_tasks_changed" => {
                let tasks = value.get("tasks").and_then(Value::as_array);
                vec![Happened::Background { open: tasks.is_some_and(|tasks| !tasks.is_empty()) }]
            }
            "api_retry" => {
                let status = value.get("error_status").and_then(Value::as_u64);
                vec![Happened::Retry { status }]
            }
            _ => Vec::new(),
        }
    }

    fn assistant(&mut self, value: &Value) -> Vec<Happened> {
        let Some(message) = value.get("message") else { return Vec::new() };
        let speaker = text(value, "parent_tool_use_id").unwrap_or_default().to_owned();
        let mut all = Vec::new();
        let model = text(message, "model");
        if let (Some(id), Some(usage)) = (text(message, "id"), message.get("usage"))
            && model != Some(SYNTHETIC)
        {
            if self.open.get(&speaker).is_some_and(|open| open.id != id) {
                all.extend(self.close(&speaker));
            }
            let open = self.open.entry(speaker.clone()).or_insert_with(|| Message {
                id: id.to_owned(),
                model: model.map(str::to_owned),
                tokens: Tokens::default(),
            });
            open.tokens = highest(open.tokens, tokens(usage));
        }
        let blocks = message.get("content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            match text(block, "type").unwrap_or_default() {
                // What a subagent says is no report of the agent.
                "text" if speaker.is_empty() => {
                    all.push(Happened::Text(text(block, "text").unwrap_or_default().to_owned()));
                }
                "tool_use" => {
                    let named = (text(block, "id"), text(block, "name"));
                    let (Some(id), Some(name)) = named else { continue };
                    self.tools.insert(id.to_owned(), name.to_owned());
                    let (id, name) = (id.to_owned(), name.to_owned());
                    let input = block.get("input").map(Value::to_string);
                    all.push(Happened::Tool { id, name, input, ended: false });
                }
                _ => {}
            }
        }
        all
    }

    fn tool_results(&mut self, value: &Value) -> Vec<Happened> {
        let speaker = text(value, "parent_tool_use_id").unwrap_or_default();
        let mut all: Vec<Happened> = self.close(speaker).into_iter().collect();
        let blocks = value.get("message").and_then(|message| message.get("content"));
        for block in blocks.and_then(Value::as_array).into_iter().flatten() {
            let Some(id) = text(block, "tool_use_id") else { continue };
            let name = self.tools.remove(id).unwrap_or_default();
            all.push(Happened::Tool { id: id.to_owned(), name, input: None, ended: true });
        }
        all
    }

    fn result(&mut self, value: &Value) -> Vec<Happened> {
        let mut all = self.ended();
        let total = value.get("total_cost_usd").and_then(Value::as_f64);
        all.extend(total.and_then(Usd::from_dollars).map(Happened::Total));
        let interrupted = std::mem::take(&mut self.interrupted);
        let is_error = value.get("is_error").and_then(Value::as_bool).unwrap_or_default();
        if is_error && !interrupted {
            all.push(fault(value));
        }
        all.push(Happened::Turn);
        all
    }

    /// Tells what a message used, once it is whole: the highest of each count, less what was told of it before.
    fn close(&mut self, speaker: &str) -> Option<Happened> {
        let Message { id, model, tokens } = self.open.remove(speaker)?;
        let (before, times) = self.told.get(&id).copied().unwrap_or_default();
        let now = highest(before, tokens);
        if now == before {
            return None;
        }
        self.told.insert(id.clone(), (now, times + 1));
        let call = if times == 0 { id } else { format!("{id}#{}", times + 1) };
        Some(Happened::Usage { call, model, tokens: less(now, before) })
    }

    pub(super) fn ended(&mut self) -> Vec<Happened> {
        let speakers: Vec<String> = self.open.keys().cloned().collect();
        speakers.iter().filter_map(|speaker| self.close(speaker)).collect()
    }
}

/// Writes what a user says.
pub(super) fn user(text: &str) -> String {
    json!({"type": "user", "message": {"role": "user", "content": text}}).to_string()
}

pub(super) fn answer(asked: &Permission, allow: bool, why: &str) -> String {
    let response = match allow {
        true => json!({"behavior": "allow", "updatedInput": asked.input}),
        false => json!({"behavior": "deny", "message": why}),
    };
    let response = json!({"subtype": "success", "request_id": asked.id, "response": response});
    json!({"type": "control_response", "response": response}).to_string()
}

fn permission(value: &Value) -> Option<Permission> {
    let request = value.get("request")?;
    if text(request, "subtype") != Some("can_use_tool") {
        return None;
    }
    Some(Permission {
        id: value.get("request_id")?.clone(),
        tool: text(request, "tool_name")?.to_owned(),
        input: request.get("input").cloned().unwrap_or(Value::Null),
        words: Default::default(),
    })
}

fn limited(value: &Value) -> Option<Happened> {
    let about = value.get("rate_limit_info")?;
    if text(about, "status") != Some("rejected") {
        return None;
    }
    let until = about.get("resetsAt").and_then(Value::as_i64);
    let until = until.and_then(|seconds| seconds.checked_mul(1_000)).map(Timestamp::from_ms);
    Some(Happened::Limited { until })
}

fn fault(value: &Value) -> Happened {
    let errors = value.get("errors").and_then(Value::as_array);
    let first = errors.and_then(|errors| errors.first()).and_then(Value::as_str);
    let message = text(value, "result").or(first).unwrap_or("the client reports a failure");
    let failed = |kind| Happened::Failed { kind, message: message.to_owned() };
    match text(value, "subtype").unwrap_or_default() {
        "error_max_turns" => failed(RunFault::MaxTurns),
        "error_max_budget_usd" => failed(RunFault::Budget),
        "error_during_execution" => failed(RunFault::Crash),
        _ => api_fault(value.get("api_error_status").and_then(Value::as_u64), message),
    }
}

fn tokens(usage: &Value) -> Tokens {
    Tokens {
        input: count(usage, "input_tokens"),
        cached: count(usage, "cache_read_input_tokens"),
        cache_write: count(usage, "cache_creation_input_tokens"),
        output: count(usage, "output_tokens"),
    }
}

fn highest(one: Tokens, other: Tokens) -> Tokens {
    Tokens {
        input: one.input.max(other.input),
        cached: one.cached.max(other.cached),
        cache_write: one.cache_write.max(other.cache_write),
        output: one.output.max(other.output),
    }
}

pub(super) fn less(all: Tokens, before: Tokens) -> Tokens {
    Tokens {
        input: all.input.saturating_sub(before.input),
        cached: all.cached.saturating_sub(before.cached),
        cache_write: all.cache_write.saturating_sub(before.cache_write),
        output: all.output.saturating_sub(before.output),
    }
}
