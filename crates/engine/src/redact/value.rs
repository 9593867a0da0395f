//! Walks JSON values.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::judge;
use super::rules::SecretKind;
use super::scan::{markers, push_marker, secrets};

/// As deep as `serde_json` parses; deeper values were built by hand and are hidden as a whole.
const DEPTH_MAX: usize = 128;

/// Longer keys are not names.
const KEY_BYTES_MAX: usize = 64;

/// Ends of key names, in lower case without separators.
const ENDS: &[(&str, SecretKind)] = &[
    ("password", SecretKind::Password),
    ("passwd", SecretKind::Password),
    ("passphrase", SecretKind::Password),
    ("pwd", SecretKind::Password),
    ("secret", SecretKind::Secret),
    ("secretkey", SecretKind::Secret),
    ("secretaccesskey", SecretKind::Secret),
    ("secretkeybase", SecretKind::Secret),
    ("apikey", SecretKind::Key),
    ("accesskey", SecretKind::Key),
    ("privatekey", SecretKind::Key),
    ("signingkey", SecretKind::Key),
    ("encryptionkey", SecretKind::Key),
    ("accountkey", SecretKind::Key),
    ("authorization", SecretKind::Authorization),
    ("token", SecretKind::Token),
];

/// Tokens that are positions or handles.
const HANDLES: &[&str] = &[
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "cancellationtoken",
    "canceltoken",
    "idempotencytoken",
    "fencingtoken",
    "fencetoken",
    "cursortoken",
    "synctoken",
    "resumetoken",
];

/// Redacts secrets in every string and key, in place.
pub fn redact(value: &mut Value) {
    walk(value, None, 0);
}

fn walk(value: &mut Value, named: Option<SecretKind>, depth: usize) {
    match value {
        Value::String(text) => string(text, named),
        Value::Array(_) | Value::Object(_) if depth >= DEPTH_MAX => {
            let mut marker = String::new();
            push_marker(&mut marker, "too-deep", 0);
            *value = Value::String(marker);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, named, depth + 1)),
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                walk(field, kind_of(key), depth + 1);
            }
            keys(fields);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn string(text: &mut String, named: Option<SecretKind>) {
    let whole = named.is_some_and(|kind| judge::secret_field(kind, text));
    if whole && markers(text).is_empty() {
        let mut marker = String::new();
        push_marker(&mut marker, "secret-field", text.len());
        *text = marker;
    } else if let Cow::Owned(changed) = secrets(text) {
        *text = changed;
    }
}

/// Renames keys that carry a secret, keeping their order and keeping them apart.
fn keys(fields: &mut Map<String, Value>) {
    if !fields.keys().any(|key| matches!(secrets(key), Cow::Owned(_))) {
        return;
    }
    let mut renamed = Map::with_capacity(fields.len());
    let mut copies: HashMap<String, usize> = HashMap::new();
    for (key, field) in std::mem::take(fields) {
        let clean = secrets(&key).into_owned();
        let mut unique = clean.clone();
        while renamed.contains_key(&unique) {
            let copy = copies.entry(clean.clone()).or_insert(1);
            *copy += 1;
            unique = format!("{clean}-{copy}");
        }
        renamed.insert(unique, field);
    }
    *fields = renamed;
}

fn kind_of(key: &str) -> Option<SecretKind> {
    if key.len() > KEY_BYTES_MAX {
        return None;
    }
    let name: String =
        key.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
    if HANDLES.iter().any(|handle| name.ends_with(handle)) {
        return None;
    }
    ENDS.iter().find(|(end, _)| name.ends_with(end)).map(|&(_, kind)| kind)
}
