//! The shape of a contract, said once: it is checked against, and it is the JSON Schema.

use crate::document::{Data, Node, Numeral};
use crate::problem::Problems;
use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Text,
    AnyText,
    Whole(i64, i64),
    Amount,
    /// True; a contract that says false does not hold.
    True,
    Word(&'static [&'static str]),
    List(&'static Shape),
    Some(&'static Shape),
    /// An object with known fields; others are kept.
    Object(&'static [Field]),
    /// An object of objects of one shape.
    Named(&'static [Field]),
    /// What is usually of a shape, though no document says so: anything else is remarked and taken. Only for a
    /// field that may be missing, and of what it holds nothing is checked.
    Usually(&'static Shape),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) shape: Shape,
    pub(super) required: bool,
    pub(super) help: &'static str,
}

pub(super) const fn must(key: &'static str, shape: Shape, help: &'static str) -> Field {
    Field { key, shape, required: true, help }
}

pub(super) const fn may(key: &'static str, shape: Shape, help: &'static str) -> Field {
    Field { key, shape, required: false, help }
}

pub(super) fn check(root: &Node, fields: &'static [Field]) -> Problems {
    let mut problems = Problems::new();
    if matches!(root.data, Data::Map(_)) {
        object(root, "", fields, &mut problems);
    } else {
        problems.error(root.at, "", "the contract must be an object");
    }
    problems
}

fn object(node: &Node, path: &str, fields: &'static [Field], problems: &mut Problems) {
    for field in fields {
        let full = join(path, field.key);
        match node.get(field.key).filter(|value| value.data != Data::Null) {
            Some(value) => fits(value, &full, field.shape, problems),
            None if field.required => {
                let at = node.get(field.key).map_or(node.at, |value| value.at);
                problems.error(at, full.clone(), format!("{full} is missing: {}", field.help));
            }
            None => {}
        }
    }
}

fn join(path: &str, key: &str) -> String {
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
        (Shape::Text, Data::Text(text)) if text.trim().is_empty() => {
            problems.error(node.at, path, format!("{path} is blank"));
        }
        (Shape::List(inner) | Shape::Some(inner), Data::List(items)) => {
            if items.is_empty() && matches!(shape, Shape::Some(_)) {
                problems.error(node.at, path, format!("{path} must not be empty"));
            }
            for (place, item) in items.iter().enumerate() {
                fits(item, &format!("{path}[{place}]"), *inner, problems);
            }
        }
        (Shape::Object(fields), Data::Map(_)) => object(node, path, fields, problems),
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
        Shape::Text | Shape::AnyText => (node.text().is_some(), "a text".to_owned()),
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
            (is_so, format!("one of {}", words.join(", ")))
        }
        Shape::Usually(inner) => return unlike(node, *inner),
        Shape::List(_) | Shape::Some(_) => {
            (matches!(node.data, Data::List(_)), "a list".to_owned())
        }
        Shape::Object(_) | Shape::Named(_) => {
            (matches!(node.data, Data::Map(_)), "an object".to_owned())
        }
    };
    (!is_so).then_some(wanted)
}

pub(super) fn shown(node: &Node) -> String {
    match &node.data {
        Data::Null => "null".to_owned(),
        Data::List(_) => "a list".to_owned(),
        Data::Map(_) => "an object".to_owned(),
        Data::Text(text) => format!("{:?}", comity_core::ids::shorten(text)),
        Data::Bool(_) | Data::Number(_) => node.written().unwrap_or_default(),
    }
}

pub(super) fn schema(title: &str, about: &str, fields: &'static [Field]) -> Value {
    let mut out = Map::new();
    out.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    out.insert("title".to_owned(), json!(title));
    out.insert("description".to_owned(), json!(about));
    if let Value::Object(body) = object_schema(fields) {
        out.extend(body);
    }
    Value::Object(out)
}

fn object_schema(fields: &'static [Field]) -> Value {
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.key).collect();
    let mut properties = Map::new();
    for field in fields {
        let mut value = shape_schema(field.shape);
        if !field.required {
            or_null(&mut value);
        }
        if let Value::Object(map) = &mut value
            && !field.help.is_empty()
        {
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
    if let Some(kind) = map.get_mut("type") {
        *kind = json!([kind.clone(), "null"]);
    }
}

fn shape_schema(shape: Shape) -> Value {
    match shape {
        Shape::Text => json!({"type": "string", "pattern": "\\S"}),
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
