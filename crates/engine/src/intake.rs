//! The door of a command: its form is checked and its secrets are taken out before anything else sees it.

use crate::redact::{RedactOptions, Redactor, secrets};
use crate::strings::{self, Part};
use comity_core::chain::Hash;
use comity_core::command::{Command, Made, Request};
use comity_core::decide::check_input;
use comity_core::hint::say;
use comity_core::observed::Observed;
use comity_core::refusal::{Code, Refusal};
use comity_core::via::Via;
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

/// Fields whose objects are free in form: their keys say what a secret is, and all their text is free.
const FREE_FORM: [&str; 3] = ["context", "event", "other"];

#[derive(Clone, Debug)]
pub struct Prepared {
    pub request: Request,
    /// The digest of its input, when it has an idempotency key or may get one.
    pub input: Option<Hash>,
}

/// Returns the key to store: of one that looks like a secret its digest, since keys are only compared.
pub(crate) fn safe_key(key: String) -> String {
    match secrets(&key) {
        Cow::Owned(_) => format!("sha256:{}", Hash::of(key.as_bytes())),
        Cow::Borrowed(_) => key,
    }
}

pub struct Intake {
    redactor: Redactor,
    /// Whether the batch may give a command a key that has none.
    may_make_keys: bool,
}

impl Intake {
    pub fn new(options: RedactOptions) -> Result<Intake, Refusal> {
        let redactor = Redactor::new(options)
            .map_err(|bad| Refusal::input(format!("[redact] patterns: {bad}")))?;
        Ok(Intake { redactor, may_make_keys: false })
    }

    /// Says whether the batch may give keys to commands that have none.
    #[must_use]
    pub(crate) fn making_keys(self, may_make_keys: bool) -> Intake {
        Intake { may_make_keys, ..self }
    }

    /// Prepares a request, or says what is wrong with its form.
    pub fn prepare(&self, mut request: Request) -> Result<Prepared, Refusal> {
        check_input(&request)?;
        self.check_names(&request)?;
        request.key = request.key.map(safe_key);
        let mut input = None;
        let keyed = request.key.is_some() || self.may_make_keys;
        if keyed || self.may_hold_secrets(&request.command) {
            let mut value = to_value(&request.command)?;
            if keyed {
                // The key stands for what the caller sent, so the digest is taken before anything is removed.
                input = Some(digest(&request, &value)?);
            }
            if self.clean(&mut value, "") {
                request.command = serde_json::from_value(value).map_err(|error| {
                    Refusal::input(format!(
                        "the command has a secret in a field that cannot be redacted: {error}"
                    ))
                })?;
            }
        }
        if let Some(text) = &mut request.workspace {
            *text = self.redactor.text(text).into_owned();
        }
        request.via = self.clean_via(request.via);
        self.clean_observed(&mut request.observed);
        Ok(Prepared { request, input })
    }

    /// Takes secrets out of what a door saw: names of files and branches, and what a commit says.
    fn clean_observed(&self, observed: &mut Observed) {
        let clean = |text: &mut String| *text = self.redactor.text(text).into_owned();
        if let Some(work) = &mut observed.work {
            let paths =
                work.files.iter_mut().flat_map(|f| [Some(&mut f.path), f.moved_from.as_mut()]);
            paths.flatten().chain(work.branch.as_mut()).for_each(clean);
        }
        if let Some(merge) = &mut observed.merge {
            merge.files.iter_mut().chain(&mut merge.subject).for_each(clean);
        }
        observed.steps.iter_mut().for_each(|step| self.clean_observed(step));
    }

    /// Returns the `via` of a request as the log gets it.
    pub(crate) fn clean_via(&self, via: Via) -> Via {
        via.cleaned(|text| self.redactor.text(text))
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
        if let Command::TakeOver(adoption) = &request.command
            && matches!(self.redactor.text(&adoption.origin.item), Cow::Owned(_))
        {
            return Err(Refusal::input("the id in the other system looks like a secret"));
        }
        let question = match &request.command {
            Command::DecisionAsk(question) => question,
            Command::TakeOver(adoption) => match &adoption.made {
                Made::Decision(question) => question,
                Made::Memory(_) | Made::Directive(_) => return Ok(()),
            },
            _ => return Ok(()),
        };
        for option in &question.options {
            if matches!(self.redactor.free_text(&option.key), Cow::Owned(_)) {
                return Err(Refusal::input(
                    "an option's key looks like a secret or an e-mail address",
                )
                .hint(say("use a short key and a label: ").ask("option", "KEY:LABEL")));
            }
        }
        Ok(())
    }

    /// Looks whether anything might have to be taken out, without making JSON of the command, which takes longer than
    /// to decide it.
    fn may_hold_secrets(&self, command: &Command) -> bool {
        strings::any(command, &|key, part| self.is_suspect(key, &part))
    }

    fn is_suspect(&self, key: &str, part: &Part<'_>) -> bool {
        match part {
            Part::Text(text) => matches!(self.clean_text(text, key), Cow::Owned(_)),
            Part::Field => FREE_FORM.contains(&key),
        }
    }

    fn clean_text<'t>(&self, text: &'t str, key: &str) -> Cow<'t, str> {
        match FREE_TEXT.contains(&key) {
            true => self.redactor.free_text(text),
            false => self.redactor.text(text),
        }
    }

    /// Takes secrets out of a value; tells whether there were any.
    fn clean(&self, value: &mut Value, key: &str) -> bool {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.clean_text(text, key) {
                    *text = clean;
                    return true;
                }
                false
            }
            Value::Array(items) => {
                items.iter_mut().fold(false, |changed, item| self.clean(item, key) | changed)
            }
            Value::Object(fields) if FREE_FORM.contains(&key) => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!(7)),
            Just(json!("plain words")),
            Just(json!("ann@example.org")),
            Just(json!("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")),
        ];
        let key =
            prop::sample::select(vec!["title", "id", "context", "event", "value", "password"]);
        leaf.prop_recursive(5, 24, 3, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(key.clone(), inner, 0..3).prop_map(|map| {
                    map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_quick_look_never_misses_what_has_to_go(value in value()) {
            let intake = Intake::new(RedactOptions::default()).unwrap();
            let found = strings::any(&value, &|key, part| intake.is_suspect(key, &part));
            let mut cleaned = value.clone();
            let changed = intake.clean(&mut cleaned, "");
            prop_assert_eq!(changed, cleaned != value);
            prop_assert!(found || !changed, "{}", value);
            // Nothing else is suspect but what is free in form.
            let free = FREE_FORM.iter().any(|key| value.to_string().contains(key));
            prop_assert!(free || found == changed, "{}", value);
        }
    }

    #[test]
    fn the_quick_look_meets_variants_and_maps_as_json_has_them() {
        #[derive(serde::Serialize)]
        enum Kind {
            Unit,
            New(&'static str),
            Pair(&'static str, u8),
            Fields { title: &'static str },
        }
        fn met(value: &impl serde::Serialize) -> Vec<String> {
            let parts = std::cell::RefCell::new(Vec::new());
            strings::any(value, &|key, part| {
                parts.borrow_mut().push(match part {
                    Part::Text(text) => format!("{key} {text}"),
                    Part::Field => key.to_owned(),
                });
                false
            });
            parts.into_inner()
        }
        assert_eq!(met(&Kind::Unit), [" Unit"]);
        assert_eq!(met(&Kind::New("a")), ["", "New a"]);
        assert_eq!(met(&Kind::Pair("a", 1)), ["", "Pair a"]);
        assert_eq!(met(&Kind::Fields { title: "a" }), ["", "Fields", "title a"]);
        assert_eq!(met(&std::collections::BTreeMap::from([("k", ["a", "b"])])), ["", "k a", "k b"]);
        assert_eq!(met(&std::collections::BTreeMap::from([(1, 'c')])), ["", "1 c"]);
    }
}
