//! YAML, as the values that JSON has.

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

/// How deep a document may be nested.
const DEPTH_MAX: usize = 64;

/// A collection that is not yet complete.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

/// Reads the documents of a text; all that is no collection is text. None when it does not read, or has references, which could
/// stand for anything.
pub(super) fn read(text: &str) -> Option<Vec<Value>> {
    let mut open: Vec<Open> = Vec::new();
    let mut documents = Vec::new();
    for event in Parser::new_from_str(text) {
        let done = match event.ok()?.0 {
            Event::Scalar(text, ..) => Value::String(text.into_owned()),
            Event::SequenceStart(..) if open.len() < DEPTH_MAX => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) if open.len() < DEPTH_MAX => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop()? {
                Open::List(items) => Value::Array(items),
                Open::Map(entries, _) => Value::Object(entries),
            },
            Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..) => return None,
            _ => continue,
        };
        match open.last_mut() {
            Some(Open::List(items)) => items.push(done),
            Some(Open::Map(entries, key)) => match key.take() {
                Some(name) => {
                    entries.insert(name, done);
                }
                None => *key = Some(done.as_str()?.to_owned()),
            },
            None => documents.push(done),
        }
    }
    Some(documents)
}
