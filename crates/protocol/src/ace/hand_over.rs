//! `ACE_TASK_DONE.json`: how a worker of the second generation says that it is through.

use serde_json::{Map, Value};
use std::fmt;

pub const DONE_FILE: &str = "ACE_TASK_DONE.json";

const REFUSALS: [&str; 4] = ["refused", "i'm sorry", "i’m sorry", "i am sorry"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandOver {
    pub task_id: Option<String>,
    pub summary: String,
    pub files_changed: Vec<String>,
    pub commands_run: Vec<String>,
    pub state: HandOverState,
    /// Keys that the protocol does not know, as they were.
    pub other: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum HandOverState {
    #[default]
    Done,
    Blocked(Vec<String>),
    Failed,
}

/// Why there is no result. The names are the protocol's own.
#[derive(Clone, Debug, PartialEq)]
pub enum HandOverError {
    MissingDoneFile,
    TaskWaitTimeout,
    /// The model would not do it; this is what it said.
    InstructionRefusal(String),
}

impl HandOverError {
    pub fn as_str(&self) -> &'static str {
        match self {
            HandOverError::MissingDoneFile => "missing_done_file",
            HandOverError::TaskWaitTimeout => "task_wait_timeout",
            HandOverError::InstructionRefusal(_) => "instruction_refusal",
        }
    }
}

impl fmt::Display for HandOverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandOverError::InstructionRefusal(said) => write!(f, "{}: {said}", self.as_str()),
            _ => f.write_str(self.as_str()),
        }
    }
}

impl HandOver {
    /// Reads what the file holds; keys may be missing, lists may be single values, and several words say that it is
    /// blocked.
    pub fn of(value: &Value) -> Result<HandOver, HandOverError> {
        let mut fields = value.as_object().cloned().unwrap_or_default();
        let task_id = fields.remove("task_id").as_ref().and_then(word);
        let summary = fields.remove("summary").as_ref().and_then(word).unwrap_or_default();
        let files_changed = list(fields.remove("files_changed"));
        let commands_run = list(fields.remove("commands_run"));
        let mut state = state(&mut fields, &summary);
        // Who did nothing and says that it is blocked is not through.
        if state == HandOverState::Done && files_changed.is_empty() && commands_run.is_empty() {
            let asked = blocked_by(&summary).map(|asked| HandOverState::Blocked(vec![asked]));
            state = asked.unwrap_or(state);
        }
        let other = fields;
        let read = HandOver { task_id, summary, files_changed, commands_run, state, other };
        match read.refusal() {
            Some(said) => Err(HandOverError::InstructionRefusal(said)),
            None => Ok(read),
        }
    }

    /// What a model said instead of working. Who changed files has not refused, whatever the summary says.
    fn refusal(&self) -> Option<String> {
        let said = self.summary.to_lowercase();
        let refused = self.files_changed.is_empty()
            && self.state == HandOverState::Done
            && REFUSALS.iter().any(|words| said.contains(words));
        refused.then(|| self.summary.clone())
    }
}

fn state(fields: &mut Map<String, Value>, summary: &str) -> HandOverState {
    let questions = list(fields.remove("blocked_questions"));
    let status = fields.remove("status").as_ref().and_then(word);
    let status = status.or_else(|| fields.remove("state").as_ref().and_then(word));
    let status = status.unwrap_or_default().trim().to_lowercase();
    let flag = fields.remove("blocked");
    let flagged = match &flag {
        Some(Value::Bool(blocked)) => *blocked,
        Some(Value::String(text)) => !matches!(text.trim(), "" | "false" | "no"),
        _ => false,
    };
    if status == "failed" || status == "error" {
        return HandOverState::Failed;
    }
    if status != "blocked" && !flagged && questions.is_empty() {
        return HandOverState::Done;
    }
    if !questions.is_empty() {
        return HandOverState::Blocked(questions);
    }
    // Blocked without a question: what it says is the question.
    let said = flag.as_ref().and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    HandOverState::Blocked(vec![said.unwrap_or(summary).to_owned()])
}

/// What a summary says that the worker waits for: `Blocked: …`.
fn blocked_by(summary: &str) -> Option<String> {
    let said = summary.trim();
    let (word, rest) = said.split_at_checked("blocked".len())?;
    let rest = rest.trim_start();
    let named = word.eq_ignore_ascii_case("blocked") && rest.starts_with([':', '-', '–', '—']);
    let asked = rest.trim_start_matches([':', '-', '–', '—']).trim();
    named.then(|| if asked.is_empty() { said } else { asked }.to_owned())
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn list(value: Option<Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(word).collect(),
        Some(single) => word(&single).filter(|text| !text.is_empty()).into_iter().collect(),
        None => Vec::new(),
    }
}
