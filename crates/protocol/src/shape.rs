//! The shape of a contract, said once: it is checked against, and it is the JSON Schema.

use crate::document::{Data, Node, Numeral};
use crate::problem::Problems;
use comity_core::ids::shorten;
use comity_core::role::Role;
use serde_json::{Map, Value, json};
use std::fmt::Display;

pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Any,
    Text,
    AnyText,
    /// A text that may be written without quotes, so that it looks like a number or a truth value.
    Scalar,
    AnyScalar,
    Url,
    Count,
    VersionOne,
    /// True, false, or a text that says why.
    Flag,
    Whole(i64, i64),
    Amount,
    /// True; a contract that says false does not hold.
    True,
    Word(&'static [&'static str]),
    AnyCase(&'static [&'static str]),
    Role,
    List(&'static Shape),
    Some(&'static Shape),
    /// A list, or one text, which is taken as a list of one.
    OneOrMore(&'static Shape),
    /// An object with known fields; others are kept.
    Object(&'static [Field]),
    /// An object with some known fields that is open to others by design.
    Open(&'static [Field]),
    Named(&'static [Field]),
    /// What is usually of a shape, though no document says so: anything else is remarked and taken. Only for a
    /// field that may be missing, and of what it holds nothing is checked.
    Usually(&'static Shape),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Must,
    Should,
    May,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    key: &'static str,
    shape: Shape,
    need: Need,
    help: &'static str,
}

pub(crate) const fn must(key: &'static str, shape: Shape, help: &'static str) -> Field {
    Field { key, shape, need: Need::Must, help }
}

pub(crate) const fn should(key: &'static str, shape: Shape, help: &'static str) -> Field {
    Field { key, shape, need: Need::Should, help }
}

pub(crate) const fn may(key: &'static str, shape: Shape, help: &'static str) -> Field {
    Field { key, shape, need: Need::May, help }
}

pub(crate) fn check(root: &Node, fields: &'static [Field]) -> Problems {
    let mut problems = Problems::new();
    if matches!(root.data, Data::Map(_)) {
        object(root, "", fields, &mut problems);
    } else {
        problems.error(root.at, "", "the contract must be an object");
    }
    problems
}

pub(crate) fn knows(fields: &[Field], key: &str) -> bool {
    fields.iter().any(|field| field.key == key)
}

fn object(node: &Node, path: &str, fields: &'static [Field], problems: &mut Problems) {
    for field in fields {
        let full = join(path, field.key);
        match node.get(field.key).filter(|value| value.data != Data::Null) {
            Some(value) => fits(value, &full, field.shape, problems),
            None => {
                let at = node.get(field.key).map_or(node.at, |value| value.at);
                let message = format!("{full} is missing: {}", field.help);
                match field.need {
                    Need::Must => problems.error(at, full, message),
                    Need::Should => problems.warning(at, full, message),
                    Need::May => {}
                }
            }
        }
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn fits(node: &Node, path: &str, shape: Shape, problems: &mut Problems) {
    match (shape, &node.data) {
        (Shape::Usually(inner), _) => {
            if let Some(usual) = unlike(node, *inner) {
                let message = format!("{path} should be {usual}, not {}", shown(node));
                problems.warning(node.at, path, message);
            }
        }
        (Shape::Text | Shape::Scalar, Data::Text(text)) if text.trim().is_empty() => {
            problems.error(node.at, path, format!("{path} is blank"));
        }
        (Shape::OneOrMore(_), Data::Text(_)) => {
            let message = format!("{path} is one text; comity takes it as a list of one");
            problems.warning(node.at, path, message);
        }
        (Shape::Scalar, Data::Map(_)) => {
            let message = format!("{path} must be a text; put it in quotes if it has a colon");
            problems.error(node.at, path, message);
        }
        (Shape::List(inner) | Shape::Some(inner) | Shape::OneOrMore(inner), Data::List(items)) => {
            if items.is_empty() && matches!(shape, Shape::Some(_)) {
                problems.error(node.at, path, format!("{path} must not be empty"));
            }
            for (place, item) in items.iter().enumerate() {
                fits(item, &format!("{path}[{place}]"), *inner, problems);
            }
        }
        (Shape::Object(fields) | Shape::Open(fields), Data::Map(_)) => {
            object(node, path, fields, problems);
        }
        (Shape::Named(fields), Data::Map(entries)) => {
            for entry in entries {
                let path = join(path, &entry.key);
                fits(&entry.value, &path, Shape::Object(fields), problems);
            }
        }
        _ => {
            if let Some(wanted) = unlike(node, shape) {
                let message = format!("{path} must be {wanted}, not {}", shown(node));
                problems.error(node.at, path, message);
            }
        }
    }
}

/// Says what a value should have been; none when it is that. What it holds is not looked at.
fn unlike(node: &Node, shape: Shape) -> Option<String> {
    let number = match &node.data {
        Data::Number(numeral) => Some(numeral),
        _ => None,
    };
    let (is_so, wanted) = match shape {
        Shape::Any => return None,
        Shape::Text | Shape::AnyText => (node.text().is_some(), "a text".to_owned()),
        Shape::Scalar | Shape::AnyScalar => (node.written().is_some(), "a text".to_owned()),
        Shape::Url => {
            let schemes = ["https://", "http://"];
            let is_url = |text: &str| schemes.iter().any(|scheme| text.starts_with(scheme));
            (node.text().is_some_and(is_url), "an http address".to_owned())
        }
        Shape::Count => (count(node).is_some(), "a count".to_owned()),
        Shape::VersionOne => {
            let written = node.written().unwrap_or_default();
            (written.trim().parse() == Ok(1.0_f64), "1.0".to_owned())
        }
        Shape::Flag => {
            let is_so = matches!(node.data, Data::Bool(_) | Data::Text(_));
            (is_so, "true, false or a text".to_owned())
        }
        Shape::Whole(least, most) => {
            let value = number.and_then(Numeral::whole);
            let up_to = if most == i64::MAX { "up".to_owned() } else { format!("to {most}") };
            let is_so = value.is_some_and(|value| (least..=most).contains(&value));
            (is_so, format!("a whole number from {least} {up_to}"))
        }
        Shape::Amount => {
            let value = number.and_then(|number| number.value.as_ref()?.as_f64());
            (value.is_some_and(|value| value >= 0.0), "a number that is not negative".to_owned())
        }
        Shape::True => (node.data == Data::Bool(true), "true".to_owned()),
        Shape::Word(words) => {
            let is_so = node.text().is_some_and(|text| words.contains(&text));
            (is_so, one_of(words))
        }
        Shape::AnyCase(words) => {
            let word = node.text().map(|text| text.trim().to_lowercase());
            let is_so = word.is_some_and(|word| words.contains(&word.as_str()));
            (is_so, one_of(words))
        }
        Shape::Role => {
            let is_so = node.text().is_some_and(|word| Role::parse(word).is_ok());
            (is_so, "pm, dev, qa or another role".to_owned())
        }
        Shape::Usually(inner) => return unlike(node, *inner),
        Shape::List(_) | Shape::Some(_) | Shape::OneOrMore(_) => {
            (matches!(node.data, Data::List(_)), "a list".to_owned())
        }
        Shape::Object(_) | Shape::Open(_) | Shape::Named(_) => {
            (matches!(node.data, Data::Map(_)), "an object".to_owned())
        }
    };
    (!is_so).then_some(wanted)
}

fn one_of(words: &[&str]) -> String {
    match words {
        [only] => (*only).to_owned(),
        _ => format!("one of {}", words.join(", ")),
    }
}

pub(crate) fn count(node: &Node) -> Option<u32> {
    match &node.data {
        Data::Number(numeral) => numeral.whole().and_then(|count| u32::try_from(count).ok()),
        _ => node.text().and_then(|text| text.trim().parse().ok()),
    }
}

/// Finds the texts of a list, or the one text in its place, that are no paths.
pub(crate) fn check_paths<P, E: Display>(
    found: &mut Problems,
    path: &str,
    value: Option<&Node>,
    parse: fn(&str) -> Result<P, E>,
) {
    let single = value.filter(|value| value.text().is_some());
    for (place, item) in value.map_or(&[][..], Node::items).iter().chain(single).enumerate() {
        let Some(name) = item.text().filter(|name| !name.trim().is_empty()) else { continue };
        if let Err(error) = parse(name) {
            let path = format!("{path}[{place}]");
            found.error(item.at, &path, format!("{path}: {:?}: {error}", shorten(name)));
        }
    }
}

pub(crate) fn shown(node: &Node) -> String {
    match &node.data {
        Data::Null => "null".to_owned(),
        Data::List(_) => "a list".to_owned(),
        Data::Map(_) => "an object".to_owned(),
        Data::Text(text) => format!("{:?}", shorten(text)),
        Data::Bool(_) | Data::Number(_) => node.written().unwrap_or_default(),
    }
}

pub(crate) fn schema(title: &str, about: &str, fields: &'static [Field]) -> Value {
    let mut out = Map::new();
    out.insert("$schema".to_owned(), json!(DIALECT));
    out.insert("title".to_owned(), json!(title));
    out.insert("description".to_owned(), json!(about));
    if let Value::Object(body) = object_schema(fields) {
        out.extend(body);
    }
    Value::Object(out)
}

/// The schema of an object that says something under a key: null stands for what is missing.
pub(crate) fn said(key: &str) -> Value {
    json!({"required": [key], "not": {"properties": {key: {"type": "null"}}}})
}

fn object_schema(fields: &'static [Field]) -> Value {
    let required: Vec<&str> =
        fields.iter().filter(|field| field.need == Need::Must).map(|field| field.key).collect();
    let mut properties = Map::new();
    for field in fields {
        let mut value = shape_schema(field.shape);
        if field.need != Need::Must {
            or_null(&mut value);
        }
        if let Value::Object(map) = &mut value {
            map.insert("description".to_owned(), json!(field.help));
        }
        properties.insert(field.key.to_owned(), value);
    }
    json!({"type": "object", "required": required, "properties": properties})
}

/// A field that may be missing may be null instead.
fn or_null(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::Array(words)) = map.get_mut("enum") {
        words.push(Value::Null);
    }
    match map.get_mut("type") {
        Some(Value::Array(kinds)) => kinds.push(json!("null")),
        Some(kind) => *kind = json!([kind.clone(), "null"]),
        None => {}
    }
}

fn shape_schema(shape: Shape) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Text => json!({"type": "string", "pattern": "\\S"}),
        Shape::Scalar => json!({"type": ["string", "number", "boolean"], "pattern": "\\S"}),
        Shape::AnyScalar => json!({"type": ["string", "number", "boolean"]}),
        Shape::Url => json!({"type": "string", "pattern": "^https?://"}),
        Shape::Count => {
            json!({"type": ["integer", "string"], "minimum": 0, "pattern": "^\\s*[0-9]+\\s*$"})
        }
        Shape::VersionOne => {
            let pattern = "^\\s*1(\\.0*)?\\s*$";
            json!({"type": ["number", "string"], "pattern": pattern, "minimum": 1, "maximum": 1})
        }
        Shape::Flag => json!({"type": ["boolean", "string"]}),
        Shape::AnyCase(words) => json!({"type": "string", "pattern": any_case(words)}),
        Shape::Role => {
            let words = Role::WORDS.map(|(word, _)| word);
            json!({"type": "string", "pattern": any_case(&words)})
        }
        Shape::OneOrMore(inner) => {
            json!({"type": ["array", "string"], "items": shape_schema(*inner)})
        }
        Shape::Open(fields) => {
            let mut open = object_schema(fields);
            if let Value::Object(map) = &mut open {
                map.insert("additionalProperties".to_owned(), json!(true));
            }
            open
        }
        Shape::AnyText => json!({"type": "string"}),
        Shape::Whole(least, i64::MAX) => json!({"type": "integer", "minimum": least}),
        Shape::Whole(least, most) => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Shape::Amount => json!({"type": "number", "minimum": 0}),
        Shape::True => json!({"enum": [true]}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::List(inner) => json!({"type": "array", "items": shape_schema(*inner)}),
        Shape::Some(inner) => {
            json!({"type": "array", "minItems": 1, "items": shape_schema(*inner)})
        }
        Shape::Object(fields) => object_schema(fields),
        Shape::Named(fields) => {
            json!({"type": "object", "additionalProperties": object_schema(fields)})
        }
        // The first form is what to write, the second what is read.
        Shape::Usually(inner) => json!({"anyOf": [shape_schema(*inner), {}]}),
    }
}

fn any_case(words: &[&str]) -> String {
    let letter = |c: char| format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase());
    let words: Vec<String> = words.iter().map(|word| word.chars().map(letter).collect()).collect();
    format!("^\\s*({})\\s*$", words.join("|"))
}
