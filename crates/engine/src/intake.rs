//! The door of a command: its form is checked and its secrets are taken out before anything else sees it.

use crate::redact::{RedactOptions, Redactor};
use comity_core::chain::Hash;
use comity_core::command::{Command, Request};
use comity_core::decide::check_input;
use comity_core::refusal::{Code, Refusal};
use serde_json::Value;
use std::borrow::Cow;

/// Fields of commands that hold free text, where e-mail addresses and configured patterns go too.
const FREE_TEXT: [&str; 20] = [
    "title",
    "body",
    "description",
    "requirements",
    "dod",
    "needs",
    "questions",
    "reason",
    "text",
    "message",
    "question",
    "answer",
    "default",
    "label",
    "context",
    "blockers",
    "purpose",
    "report",
    "notes",
    "value",
];

/// A request that is ready to be decided.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The request, without secrets.
    pub request: Request,
    /// The digest of its input, when it has an idempotency key.
    pub input: Option<Hash>,
}

/// Checks and redacts requests.
pub struct Intake {
    redactor: Redactor,
}

impl Intake {
    /// Makes one for a project's settings.
    pub fn new(options: RedactOptions) -> Result<Intake, Refusal> {
        let redactor = Redactor::new(options)
            .map_err(|bad| Refusal::input(format!("[redact] patterns: {bad}")))?;
        Ok(Intake { redactor })
    }

    /// Prepares a request, or says what is wrong with its form.
    pub fn prepare(&self, mut request: Request) -> Result<Prepared, Refusal> {
        check_input(&request)?;
        self.check_names(&request)?;
        let mut value = to_value(&request.command)?;
        // The key stands for what the caller sent, so the digest is taken before anything is removed.
        let input = match &request.key {
            Some(_) => Some(digest(&request, &value)?),
            None => None,
        };
        if self.clean(&mut value, "") {
            request.command = serde_json::from_value(value).map_err(|error| {
                Refusal::input(format!("the command holds a secret where none can be: {error}"))
            })?;
        }
        for text in [&mut request.host, &mut request.workspace].into_iter().flatten() {
            *text = self.redactor.text(text).into_owned();
        }
        Ok(Prepared { request, input })
    }

    /// Names are compared, so nothing can be taken out of them: one that would have to be is refused.
    fn check_names(&self, request: &Request) -> Result<(), Refusal> {
        for (what, name) in
            [("agent's id", request.actor.as_str()), ("repository's name", request.repo.as_str())]
        {
            if matches!(self.redactor.text(name), Cow::Owned(_)) {
                return Err(Refusal::input(format!("the {what} looks like a secret")));
            }
        }
        let asked = match &request.command {
            Command::TakeOver(adoption) => {
                if matches!(self.redactor.text(&adoption.origin.item), Cow::Owned(_)) {
                    return Err(Refusal::input("the id that it has there looks like a secret"));
                }
                adoption.made.as_ref()
            }
            command => command,
        };
        let Command::DecisionAsk(question) = asked else { return Ok(()) };
        for option in &question.options {
            if matches!(self.redactor.free_text(&option.key), Cow::Owned(_)) {
                return Err(Refusal::input(
                    "an option's key looks like a secret or an e-mail address",
                )
                .hint("give it a short key and say what it means beside it: --option KEY:LABEL"));
            }
        }
        Ok(())
    }

    /// Takes secrets out of a value; tells whether there were any.
    fn clean(&self, value: &mut Value, key: &str) -> bool {
        match value {
            Value::String(text) => {
                let clean = if FREE_TEXT.contains(&key) {
                    self.redactor.free_text(text)
                } else {
                    self.redactor.text(text)
                };
                if let Cow::Owned(clean) = clean {
                    *text = clean;
                    return true;
                }
                false
            }
            Value::Array(items) => {
                items.iter_mut().fold(false, |changed, item| self.clean(item, key) | changed)
            }
            Value::Object(fields) if ["context", "event", "other"].contains(&key) => {
                let before = Value::Object(fields.clone());
                let mut after = before.clone();
                self.redactor.value(&mut after);
                self.free_strings(&mut after);
                let changed = after != before;
                *value = after;
                changed
            }
            Value::Object(fields) => {
                let mut changed = false;
                for (name, field) in fields.iter_mut() {
                    changed |= self.clean(field, name);
                }
                changed
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// What a caller reports or adds as context is free text all through.
    fn free_strings(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.redactor.free_text(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.free_strings(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.free_strings(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn digest(request: &Request, whole: &Value) -> Result<Hash, Refusal> {
    let text = match request.command.as_given() {
        Cow::Borrowed(_) => format!("{}\n{whole}", request.repo),
        Cow::Owned(given) => format!("{}\n{}", request.repo, to_value(&given)?),
    };
    Ok(Hash::of(text.as_bytes()))
}

fn to_value(command: &Command) -> Result<Value, Refusal> {
    serde_json::to_value(command).map_err(|error| {
        Refusal::new(Code::Internal, format!("the command cannot be encoded: {error}"))
    })
}
