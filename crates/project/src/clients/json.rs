//! comity's own entries in JSON files that belong to others. Every other byte stays as it is.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// One thing that comity writes into a JSON file.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// This value, below this path of keys.
    Key(&'static [&'static str], Value),
    /// This value, unless the key has one already.
    Default(&'static [&'static str], Value),
    /// This element, once, of the array at this path.
    Item(&'static [&'static str], Value),
    /// This value, if there is one. It goes when comity's other entries go, whatever it is then; alone it is not comity's.
    Beside(&'static [&'static str], Option<Value>),
}

impl Entry {
    fn path(&self) -> &'static [&'static str] {
        match self {
            Entry::Key(path, _)
            | Entry::Default(path, _)
            | Entry::Item(path, _)
            | Entry::Beside(path, _) => path,
        }
    }
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_extended_string_escapes: false,
        allow_non_finite_numbers: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| error.to_string())
}

/// Puts the entries in. An entry that is there already, exactly once, changes nothing.
pub(super) fn put_in(text: &str, entries: &[Entry]) -> Result<String, String> {
    let root = parse(text)?;
    let top = root.object_value_or_create().ok_or("its top is not an object")?;
    for entry in entries.iter().filter(|entry| !matches!(entry, Entry::Beside(_, None))) {
        let path = entry.path();
        let (Some(last), inner) = (path.last(), path.len().saturating_sub(1)) else { continue };
        let mut object = top.clone();
        for name in path.iter().take(inner) {
            object = object
                .object_value_or_create(name)
                .ok_or_else(|| format!("its key {name:?} is not an object"))?;
        }
        match entry {
            Entry::Key(_, value) | Entry::Beside(_, Some(value)) => set(&object, last, value),
            Entry::Default(_, value) if object.get(last).is_none() => set(&object, last, value),
            Entry::Default(..) | Entry::Beside(_, None) => {}
            Entry::Item(_, value) => {
                let array = object
                    .array_value_or_create(last)
                    .ok_or_else(|| format!("its key {last:?} is not an array"))?;
                add(&array, value);
            }
        }
    }
    Ok(root.to_string())
}

fn set(object: &CstObject, name: &str, value: &Value) {
    match object.get(name) {
        Some(found)
            if found.value().and_then(|node| node.to_serde_value()).as_ref() == Some(value) => {}
        Some(found) => found.set_value(input(value)),
        None => drop(object.append(name, input(value))),
    }
}

fn add(array: &CstArray, value: &Value) {
    let own: Vec<CstNode> = array.elements().into_iter().filter(is_own(value)).collect();
    let is_there = own.iter().filter(|node| node.to_serde_value().as_ref() == Some(value)).count();
    if is_there == 1 && own.len() == 1 {
        return;
    }
    own.into_iter().for_each(take_from_array);
    array.append(input(value));
}

/// Takes the entries out again, with the objects and arrays that are empty without them; a file that has none of them stays
/// as it is. Returns nothing when nothing is left.
pub(super) fn take_out(text: &str, entries: &[Entry]) -> Result<Option<String>, String> {
    let root = parse(text)?;
    let Some(top) = root.object_value() else { return Ok(Some(text.to_owned())) };
    let (beside, own): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| matches!(entry, Entry::Beside(..)));
    let taken = own.into_iter().filter(|entry| take(&top, entry)).count();
    if taken == 0 {
        return Ok(Some(text.to_owned()));
    }
    for entry in beside {
        take(&top, entry);
    }
    if top.properties().is_empty() {
        return Ok(None);
    }
    Ok(Some(root.to_string()))
}

/// Takes one entry out, with what is empty without it. Tells whether it was there.
fn take(top: &CstObject, entry: &Entry) -> bool {
    let path = entry.path();
    let (Some(last), inner) = (path.last(), path.len().saturating_sub(1)) else { return false };
    let mut objects = vec![top.clone()];
    for name in path.iter().take(inner) {
        let Some(next) = objects.last().and_then(|object| object.object_value(name)) else {
            return false;
        };
        objects.push(next);
    }
    let Some(found) = objects.get(inner).and_then(|holder| holder.get(last)) else { return false };
    match entry {
        Entry::Key(..) | Entry::Beside(..) => found.remove(),
        Entry::Default(_, value) => {
            let is_ours = |node: CstNode| node.to_serde_value().as_ref() == Some(value);
            if !found.value().is_some_and(is_ours) {
                return false;
            }
            found.remove();
        }
        Entry::Item(_, value) => {
            let Some(array) = found.array_value() else { return false };
            let own: Vec<CstNode> = array.elements().into_iter().filter(is_own(value)).collect();
            if own.is_empty() {
                return false;
            }
            own.into_iter().for_each(take_from_array);
            if array.elements().is_empty() {
                found.remove();
            }
        }
    }
    for (depth, name) in path.iter().take(inner).enumerate().rev() {
        let is_empty = objects.get(depth + 1).is_some_and(|object| object.properties().is_empty());
        if is_empty && let Some(found) = objects.get(depth).and_then(|object| object.get(name)) {
            found.remove();
        }
    }
    true
}

/// Returns the text at a path of keys.
pub(super) fn read(text: &str, path: &[&str]) -> Option<String> {
    let value = parse(text).ok()?.value()?.to_serde_value()?;
    let found = path.iter().try_fold(&value, |value, key| value.get(key))?;
    found.as_str().map(str::to_owned)
}

/// Tells comity's elements of an array from others'. A text is comity's when it is the same; an object, when it runs comity.
fn is_own(value: &Value) -> impl Fn(&CstNode) -> bool {
    let text = value.as_str().map(str::to_owned);
    move |node| match (&text, node.to_serde_value()) {
        (Some(text), Some(found)) => found.as_str() == Some(text.as_str()),
        (None, Some(found)) => runs_comity(&found),
        (_, None) => false,
    }
}

/// Tells whether a hook, or a group of hooks, runs one of comity's hook commands.
fn runs_comity(value: &Value) -> bool {
    if let Some(hooks) = value.get("hooks").and_then(Value::as_array) {
        return hooks.iter().any(runs_comity);
    }
    let command = value.get("command").and_then(Value::as_str).unwrap_or_default();
    let args = value.get("args").and_then(Value::as_array).into_iter().flatten();
    let line = std::iter::once(command)
        .chain(args.filter_map(Value::as_str))
        .collect::<Vec<_>>()
        .join(" ");
    ["comity guard hook", "comity prime"].iter().any(|own| line.starts_with(own))
}

/// Takes comity's hook out of a group; a group that has no other goes with it.
fn take_from_array(node: CstNode) {
    let hooks = node.as_object().and_then(|group| group.array_value("hooks"));
    if let Some(hooks) = hooks {
        let runs = |hook: &CstNode| hook.to_serde_value().as_ref().is_some_and(runs_comity);
        let own: Vec<CstNode> = hooks.elements().into_iter().filter(runs).collect();
        if own.len() < hooks.elements().len() {
            return own.into_iter().for_each(CstNode::remove);
        }
    }
    node.remove();
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}
