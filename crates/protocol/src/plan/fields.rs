//! Reading the fields of a JSON object with every problem noted, and what nobody asked for left over.

use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub message: String,
    pub path: String,
    pub line: Option<usize>,
    pub column: Option<usize>,
}

impl Problem {
    pub fn new(path: &str, line: Option<usize>, message: impl Into<String>) -> Problem {
        Problem { message: message.into(), path: path.to_owned(), line, column: None }
    }

    pub fn json(error: &serde_json::Error, first_line: usize) -> Problem {
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
        Problem {
            message: format!("not valid JSON: {message}"),
            path: String::new(),
            line: Some(first_line + error.line().saturating_sub(1)),
            // The reader counts what it has read of the line, which is nothing on an empty one.
            column: Some(error.column().max(1)),
        }
    }
}

pub struct Fields<'p> {
    map: Map<String, Value>,
    path: String,
    line: Option<usize>,
    problems: &'p mut Vec<Problem>,
}

impl<'p> Fields<'p> {
    pub fn new(
        map: Map<String, Value>,
        path: impl Into<String>,
        line: Option<usize>,
        problems: &'p mut Vec<Problem>,
    ) -> Fields<'p> {
        Fields { map, path: path.into(), line, problems }
    }

    pub fn problem(&mut self, field: &str, message: impl Into<String>) {
        let path = match (self.path.is_empty(), field.is_empty()) {
            (true, _) => field.to_owned(),
            (_, true) => self.path.clone(),
            _ => format!("{}.{field}", self.path),
        };
        self.problems.push(Problem::new(&path, self.line, message));
    }

    /// Takes a field as it is; null counts as absent.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        self.map.shift_remove(field).filter(|value| !value.is_null())
    }

    fn must_be(&mut self, field: &str, wanted: &str, value: &Value) {
        self.problem(field, format!("must be {wanted}, not {}", kind(value)));
    }

    /// Takes a text; an empty one counts as absent.
    pub fn text(&mut self, field: &str) -> Option<String> {
        match self.take(field)? {
            Value::String(text) => Some(text).filter(|text| !text.trim().is_empty()),
            other => {
                self.must_be(field, "a text", &other);
                None
            }
        }
    }

    pub fn required(&mut self, field: &str) -> Option<String> {
        let there = self.map.get(field).is_some_and(|value| !value.is_null() && !value.is_string());
        let text = self.text(field);
        if text.is_none() && !there {
            self.problem(field, format!("{field} is missing"));
        }
        text
    }

    pub fn id(&mut self, field: &str) -> Option<String> {
        match self.take(field) {
            Some(Value::String(text)) if !text.trim().is_empty() => {
                return Some(text.trim().to_owned());
            }
            Some(Value::Number(number)) => return Some(number.to_string()),
            None | Some(Value::String(_)) => self.problem(field, format!("{field} is missing")),
            Some(other) => self.must_be(field, "a number or a text", &other),
        }
        None
    }

    /// Takes a list; null and absence are the empty one.
    pub fn list(&mut self, field: &str) -> Vec<Value> {
        match self.take(field) {
            None => return Vec::new(),
            Some(Value::Array(values)) => return values,
            Some(other) => self.must_be(field, "a list", &other),
        }
        Vec::new()
    }

    pub fn texts(&mut self, field: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for (place, value) in self.list(field).into_iter().enumerate() {
            match value {
                Value::String(text) => texts.push(text),
                other => self.must_be(&format!("{field}[{place}]"), "a text", &other),
            }
        }
        texts
    }

    /// Ends the reading; returns what nobody took, without what is empty.
    pub fn rest(self) -> Vec<(String, Value)> {
        let empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(values) => values.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::Bool(set) => !set,
            Value::Number(number) => number.as_f64() == Some(0.0),
        };
        self.map.into_iter().filter(|(_, value)| !empty(value)).collect()
    }
}

pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
