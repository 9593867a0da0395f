//! YAML and JSON text as one ordered tree in which every node and key knows its place.
//!
//! Reading is bounded: size, depth and number of nodes, those that aliases copy included. Key order and
//! unknown keys are kept; a key given twice is refused, because one of the two would be lost.

mod flaws;
mod json;
mod scalar;
mod write;
mod yaml;

#[cfg(test)]
mod tests;

pub(crate) use flaws::{Flaw, FlawKind, flaws};
pub use scalar::looks_like_time;
pub use write::{Style, to_yaml};

use serde_json::{Map, Number, Value};
use std::fmt;

/// Largest text that is read. A contract is a few kilobytes; this leaves room for long logs.
pub const BYTES_MAX: usize = 1 << 20;
/// Deepest nesting. The deepest format has five levels.
pub const DEPTH_MAX: usize = 64;
/// Most nodes, those that aliases copy included.
pub const NODES_MAX: usize = 100_000;
/// Most bytes of text, those that aliases copy included.
pub const TEXT_MAX: usize = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Place {
    pub const START: Place = Place { line: 1, column: 1 };

    pub fn after(text: &str) -> Place {
        text.chars().fold(Place::START, Place::next)
    }

    /// Line and column, from 1.
    pub fn numbers(self) -> (usize, usize) {
        let number = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        (number(self.line), number(self.column))
    }

    fn next(self, c: char) -> Place {
        match c {
            '\n' => Place { line: self.line + 1, column: 1 },
            _ => Place { column: self.column + 1, ..self },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub message: String,
    pub at: Place,
}

impl Fault {
    fn new(at: Place, message: impl Into<String>) -> Fault {
        Fault { message: message.into(), at }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.at.line, self.at.column, self.message)
    }
}

/// A number, with the text that it was written as: `1.0` and `1` are equal numbers and different
/// versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numeral {
    pub text: String,
    /// Its value; none for what JSON cannot say (infinities, not a number).
    pub value: Option<Number>,
}

impl Numeral {
    /// Returns the number when it is a whole one, however it is written: `10`, `10.0`, `1e1`.
    pub fn whole(&self) -> Option<i64> {
        let number = self.value.as_ref()?;
        let real = || {
            let real = number.as_f64().filter(|real| real.fract() == 0.0)?;
            // Beyond this not every whole number can be told from its neighbours.
            format!("{real:.0}").parse().ok().filter(|whole: &i64| whole.abs() < 1 << 53)
        };
        number.as_i64().or_else(real)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// No value.
    Null,
    Bool(bool),
    Number(Numeral),
    Text(String),
    List(Vec<Node>),
    /// Keys and values in the order of the text; no key twice.
    Map(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub data: Data,
    pub at: Place,
    /// Whether it was written without quotes.
    pub plain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub key_at: Place,
    pub value: Node,
}

pub fn read(text: &str) -> Result<Node, Fault> {
    if text.len() > BYTES_MAX {
        let message =
            format!("the document has {} bytes; at most {BYTES_MAX} are read", text.len());
        return Err(Fault::new(Place::START, message));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    refuse_control_characters(text)?;
    if !text.trim_start().starts_with(['{', '[']) {
        return yaml::read(text);
    }
    // Most of JSON is YAML, but not all of it; what is not JSON may still be YAML.
    json::read(text).or_else(|fault| yaml::read(text).map_err(|other| later(fault, other)))
}

/// Reads a JSON file that `serde_json` has accepted, to know the places of what is in it. A key that is given twice is
/// there twice.
pub(crate) fn read_file(text: &str) -> Option<Node> {
    json::read_file(text).ok()
}

/// The reader that got further says more about what the writer meant.
fn later(json: Fault, yaml: Fault) -> Fault {
    let json_further = (json.at.line, json.at.column) >= (yaml.at.line, yaml.at.column);
    if json_further { json } else { yaml }
}

fn refuse_control_characters(text: &str) -> Result<(), Fault> {
    let mut at = Place::START;
    for c in text.chars() {
        let fine = matches!(c, '\t' | '\n' | '\r' | '\u{85}') || !c.is_control();
        if !fine || matches!(c, '\u{fffe}' | '\u{ffff}') {
            let message = format!("the control character U+{:04X} is not allowed", u32::from(c));
            return Err(Fault::new(at, message));
        }
        at = at.next(c);
    }
    Ok(())
}

/// Counts what has been read, so that aliases cannot multiply a small text into a large tree.
#[derive(Default)]
struct Budget {
    nodes: usize,
    text: usize,
}

impl Budget {
    fn take(&mut self, nodes: usize, text: usize, at: Place) -> Result<(), Fault> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.text = self.text.saturating_add(text);
        if self.nodes > NODES_MAX {
            return Err(Fault::new(at, format!("the document has more than {NODES_MAX} values")));
        }
        if self.text > TEXT_MAX {
            let message = format!("the document grows beyond {TEXT_MAX} bytes by its aliases");
            return Err(Fault::new(at, message));
        }
        Ok(())
    }
}

fn too_deep(at: Place) -> Fault {
    Fault::new(at, format!("the document is nested deeper than {DEPTH_MAX} levels"))
}

fn twice(key: &str, at: Place, first: Place) -> Fault {
    let key: String = key.chars().take(60).collect();
    Fault::new(at, format!("the key {key:?} is given twice; first on line {}", first.line))
}

impl Node {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns a key with its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// Returns the keys and values of a map; nothing for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list; nothing for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the items of the list under a key; nothing for anything else.
    pub fn items_of(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::items)
    }

    /// Returns the scalar under a key as it was written; an empty text for anything else.
    pub fn text_of(&self, key: &str) -> String {
        self.get(key).and_then(Node::written).unwrap_or_default()
    }

    /// Returns the scalar under a key as it was written, if it says something.
    pub fn said(&self, key: &str) -> Option<String> {
        Some(self.text_of(key)).filter(|text| !text.trim().is_empty())
    }

    /// Returns the text; none for anything else.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a scalar as it was written; none for lists, maps and null.
    pub fn written(&self) -> Option<String> {
        match &self.data {
            Data::Text(text) => Some(text.clone()),
            Data::Number(number) => Some(number.text.clone()),
            Data::Bool(value) => Some(value.to_string()),
            Data::Null | Data::List(_) | Data::Map(_) => None,
        }
    }

    /// Returns the node as JSON; a number that JSON cannot say becomes its text.
    pub fn to_value(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Text(text) => Value::String(text.clone()),
            Data::Number(numeral) => match &numeral.value {
                Some(number) => Value::Number(number.clone()),
                None => Value::String(numeral.text.clone()),
            },
            Data::List(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Data::Map(entries) => {
                let pair = |entry: &Entry| (entry.key.clone(), entry.value.to_value());
                Value::Object(entries.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }

    /// Moves every place of the tree.
    pub(crate) fn move_places(&mut self, to: &impl Fn(Place) -> Place) {
        self.at = to(self.at);
        match &mut self.data {
            Data::List(items) => items.iter_mut().for_each(|item| item.move_places(to)),
            Data::Map(entries) => {
                for entry in entries {
                    entry.key_at = to(entry.key_at);
                    entry.value.move_places(to);
                }
            }
            Data::Null | Data::Bool(_) | Data::Number(_) | Data::Text(_) => {}
        }
    }

    /// Returns a value as a tree in which everything is at one place.
    pub(crate) fn of_value(value: &Value, at: Place) -> Node {
        let node = |value: &Value| Node::of_value(value, at);
        let entry =
            |(key, value): (&String, _)| Entry { key: key.clone(), key_at: at, value: node(value) };
        let data = match value {
            Value::Null => Data::Null,
            Value::Bool(value) => Data::Bool(*value),
            Value::Number(number) => {
                Data::Number(Numeral { text: number.to_string(), value: Some(number.clone()) })
            }
            Value::String(text) => Data::Text(text.clone()),
            Value::Array(items) => Data::List(items.iter().map(node).collect()),
            Value::Object(map) => Data::Map(map.iter().map(entry).collect()),
        };
        Node { data, at, plain: true }
    }

    /// Returns the place of what a path such as `log[1].level` names, or of the deepest part of it that
    /// is there.
    pub fn place_of(&self, path: &str) -> Place {
        let mut node = self;
        for part in path.split(['.', '[']).filter(|part| !part.is_empty()) {
            let next = match part.strip_suffix(']') {
                Some(index) => index.parse().ok().and_then(|i: usize| node.items().get(i)),
                None => node.get(part),
            };
            match next {
                Some(found) => node = found,
                None => break,
            }
        }
        node.at
    }

    /// Counts the nodes and the bytes of text of the tree.
    fn size(&self) -> (usize, usize) {
        match &self.data {
            Data::Null | Data::Bool(_) => (1, 0),
            Data::Number(numeral) => (1, numeral.text.len()),
            Data::Text(text) => (1, text.len()),
            Data::List(items) => items.iter().map(Node::size).fold((1, 0), add),
            Data::Map(entries) => {
                let sizes = entries.iter().map(|e| add(e.value.size(), (1, e.key.len())));
                sizes.fold((1, 0), add)
            }
        }
    }
}

fn add(a: (usize, usize), b: (usize, usize)) -> (usize, usize) {
    (a.0 + b.0, a.1 + b.1)
}

pub(crate) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}
