//! `external_ids`: references to other systems, which are texts here and anything there.

use super::large_integer;
use comity_core::event::TaskLinked;
use serde_json::{Map, Value};

/// The key of the references in a record, and of what is kept of them in the extras.
pub(super) const REFERENCES: &str = "external_ids";

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct References {
    pub(super) links: Vec<TaskLinked>,
    /// What of them is not a text, as it was given.
    pub(super) kept: Option<Value>,
    given: Map<String, Value>,
}

impl References {
    pub(super) fn read(value: &Value) -> Result<References, (&'static str, String)> {
        let given = match value {
            Value::Null => {
                return Ok(References { kept: Some(Value::Null), ..References::default() });
            }
            Value::Object(given) => given,
            _ => return Err((REFERENCES, "must be an object".to_owned())),
        };
        let mut links = Vec::new();
        let mut kept = Map::new();
        for (provider, value) in given {
            let Some(keys) = value.as_object().filter(|keys| !keys.is_empty()) else {
                kept.insert(provider.clone(), value.clone());
                continue;
            };
            let mut other = Map::new();
            for (key, value) in keys {
                let (provider, key) = (provider.clone(), key.clone());
                if !value.is_string() || large_integer(value).is_some() {
                    other.insert(key.clone(), value.clone());
                }
                links.extend(text_of(value).map(|value| TaskLinked { provider, key, value }));
            }
            if !other.is_empty() {
                kept.insert(provider.clone(), Value::Object(other));
            }
        }
        let bare = kept.is_empty() && !given.is_empty();
        let kept = (!bare).then_some(Value::Object(kept));
        Ok(References { links, kept, given: given.clone() })
    }

    /// Returns the references of a task as they were given, as long as that is still what they are.
    pub(super) fn shown(linked: &Map<String, Value>, kept: Option<&Value>) -> Option<Value> {
        let mut out = linked.clone();
        let Some(kept) = kept else {
            return (!out.is_empty()).then_some(Value::Object(out));
        };
        let Some(kept) = kept.as_object() else {
            return Some(if out.is_empty() { kept.clone() } else { Value::Object(out) });
        };
        for (provider, value) in kept {
            let Some(keys) = value.as_object() else {
                out.entry(provider.clone()).or_insert_with(|| value.clone());
                continue;
            };
            let slot = out.entry(provider.clone()).or_insert_with(|| Value::Object(Map::new()));
            let Some(slot) = slot.as_object_mut() else { continue };
            for (key, value) in keys {
                if slot.get(key).and_then(Value::as_str) == text_of(value).as_deref() {
                    slot.insert(key.clone(), value.clone());
                }
            }
        }
        Some(Value::Object(out))
    }

    pub(super) fn lacks(&self, linked: &Map<String, Value>) -> Vec<String> {
        let mut out = Vec::new();
        for (provider, keys) in linked {
            for key in keys.as_object().into_iter().flat_map(Map::keys) {
                let given = self.given.get(provider).and_then(|given| given.get(key));
                if given.is_none_or(|given| text_of(given).is_none()) {
                    out.push(format!("{provider}.{key}"));
                }
            }
        }
        out
    }
}

/// The reference as a text; what is neither text nor number is none.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(large_integer(value).unwrap_or(text).to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
