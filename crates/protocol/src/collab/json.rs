//! JSON as Python's `json.dumps` writes it: on one line with `", "` and `": "`, or indented by two.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::borrow::Cow;
use std::io;

/// What stands before the digits of an integer that is too large for JSON's numbers here: such a number is kept as a text
/// that begins so, and written as the number that it was. The character is for private use and in no ordinary text.
const LARGE: char = '\u{f8ff}';

/// Reads JSON without rounding large integers.
pub fn read_json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&with_large_marked(text))
}

/// Returns the digits of a large integer.
pub fn large_integer(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix(LARGE).filter(|digits| is_large(digits))
}

fn is_large(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    whole && !digits.is_empty() && text.parse::<i64>().is_err() && text.parse::<u64>().is_err()
}

fn with_large_marked(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut rest, mut copied) = (text, false);
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = if from.starts_with('"') { string_length(from) } else { number_length(from) };
        let (token, after) = from.split_at(length);
        if is_large(token) {
            copied = true;
            out.extend(['"', LARGE]);
            out.push_str(token);
            out.push('"');
        } else {
            out.push_str(token);
        }
        rest = after;
    }
    if !copied {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn string_length(text: &str) -> usize {
    let mut escaped = true;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number_length(text: &str) -> usize {
    let part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    text.find(|c| !part(c)).unwrap_or(text.len())
}

/// Writes the large integers of a JSON text as numbers again.
fn with_large_written(text: String) -> String {
    if !text.contains(LARGE) {
        return text;
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('"') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (token, after) = from.split_at(string_length(from));
        let inside = token.trim_matches('"').strip_prefix(LARGE);
        match inside.filter(|digits| is_large(digits) && !after.starts_with(':')) {
            Some(digits) => out.push_str(digits),
            None => out.push_str(token),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

pub fn line(value: &Value) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Spaced);
    // A value is always JSON, and memory is always writable.
    if value.serialize(&mut serializer).is_err() {
        return value.to_string();
    }
    with_large_written(String::from_utf8(out).unwrap_or_else(|_| value.to_string()))
}

/// Writes a document: indented by two, characters as they are, a line feed at the end.
pub fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    text.push('\n');
    with_large_written(text)
}

/// Writes a document the same way with nothing but ASCII, as `json.dumps` does unless it is told otherwise.
pub fn pretty_ascii(value: &Value) -> String {
    let mut out = String::new();
    for c in pretty(value).chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            // Only within strings is there anything else.
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_are_written_as_they_were_read() {
        let large = "99999999999999999999";
        let text = format!(
            "{{\"a\": {large}, \"b\": [-{large}, 1, 1.5e3, 18446744073709551615], \"c\": \"{large}\", \
             \"d \\\" {large}\": {{\"e\": \"\\\\\"}}}}"
        );
        let value = read_json(&text).unwrap();
        assert_eq!(large_integer(&value["a"]), Some(large));
        assert_eq!(large_integer(&value["c"]), None);
        assert_eq!(line(&value), text.replace("1.5e3", "1500.0"));
        assert_eq!(read_json(&pretty(&value)).unwrap(), value);
        for bad in ["{\"a\": 099999999999999999999}", "{\"a\": 9999999999999999999 9}", "\"9", "-"]
        {
            assert!(read_json(bad).is_err(), "{bad}");
        }
    }
}
