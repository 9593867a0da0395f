//! Reading as strict as writing: what is otherwise only remarked, or kept without a word, is an error.

use crate::document::{Data, Node};
use crate::problem::Problems;
use crate::shape::join;
use serde_json::Value;

/// Keys that the schema does not name. An object that is open by design says so with `additionalProperties`.
pub(super) fn unknown(node: &Node, schema: &Value, path: &str) -> Problems {
    let mut found = Problems::new();
    let forms: Vec<&Value> = schema
        .get("anyOf")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter(|form| form.get("properties").or(form.get("items")).is_some())
        .collect();
    // Of several forms the one that fits best is meant.
    let in_forms = forms.into_iter().map(|form| unknown(node, form, path));
    if let Some(best) = in_forms.min_by_key(|problems| problems.iter().count()) {
        found.extend(best);
    }
    match &node.data {
        Data::Map(entries) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return each_of(node, schema, path, found);
            };
            let open = schema.get("additionalProperties").is_some();
            for entry in entries {
                let full = join(path, &entry.key);
                match properties.get(&entry.key) {
                    Some(inner) => found.extend(unknown(&entry.value, inner, &full)),
                    None if open => {}
                    None => {
                        let name = comity_core::ids::shorten(&full);
                        let message = format!("{name} is not a key of this contract");
                        found.error(entry.key_at, full, message);
                    }
                }
            }
        }
        Data::List(items) => {
            if let Some(inner) = schema.get("items") {
                for (place, item) in items.iter().enumerate() {
                    found.extend(unknown(item, inner, &format!("{path}[{place}]")));
                }
            }
        }
        Data::Null | Data::Bool(_) | Data::Number(_) | Data::Text(_) => {}
    }
    found
}

/// An object whose keys are free and whose values are not.
fn each_of(node: &Node, schema: &Value, path: &str, mut found: Problems) -> Problems {
    if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
        for entry in node.entries() {
            found.extend(unknown(&entry.value, inner, &join(path, &entry.key)));
        }
    }
    found
}
