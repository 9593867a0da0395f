//! What a thing brought along from neo and has no field for: its id, its time, unknown keys. It is kept as
//! the last line of a text of the thing, so that an export can write it back.

use super::records::Record;
use serde_json::Value;

/// What the line begins with.
const MARK: &str = "neo: {";

/// The kept part of a text.
pub struct Kept;

impl Kept {
    /// Divides a text into what people wrote and what is kept.
    pub fn of(text: &str) -> (&str, Record) {
        let start = match text.rfind('\n') {
            Some(place) => place + 1,
            None => 0,
        };
        let (before, last) = text.split_at(start);
        if !last.starts_with(MARK) {
            return (text, Record::new());
        }
        match serde_json::from_str::<Value>(last.trim_start_matches("neo: ")) {
            Ok(Value::Object(map)) => (before.trim_end_matches('\n'), Record::from_map(map)),
            _ => (text, Record::new()),
        }
    }

    /// Puts the two together again; nothing to keep leaves the text alone.
    pub fn with(text: Option<&str>, kept: &Record) -> Option<String> {
        if kept.map().is_empty() {
            return text.map(str::to_owned);
        }
        let line = format!("neo: {}", Value::Object(kept.map().clone()));
        Some(match text.filter(|text| !text.is_empty()) {
            Some(text) => format!("{text}\n\n{line}"),
            None => line,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_the_text_with_it() {
        let kept = Record::new().with("id", "dec_1").with("colour", "blue\nish");
        for text in [None, Some("Ten users"), Some("two\n\nparts")] {
            let whole = Kept::with(text, &kept).unwrap();
            let (before, back) = Kept::of(&whole);
            assert_eq!((before, back), (text.unwrap_or_default(), kept.clone()));
        }
        assert_eq!(Kept::with(Some("a"), &Record::new()), Some("a".to_owned()));
        for plain in ["", "neo: {", "neo: {oops}", "a\nneo: said so"] {
            assert_eq!(Kept::of(plain).0, plain);
        }
    }
}
