//! Words, widths, times and colours.

#![expect(clippy::disallowed_methods, reason = "words such as \"5 minutes ago\" count from now")]

use super::Screen;
use crate::terminal::{Ink, neutral};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(super) const PLAIN: Ink = Ink::Plain;
pub(super) const BOLD: Ink = Ink::Bold;
pub(super) const DIM: Ink = Ink::Dim;
pub(super) const GOOD: Ink = Ink::Good;
pub(super) const WARN: Ink = Ink::Warn;
pub(super) const BAD: Ink = Ink::Bad;
pub(super) const BUSY: Ink = Ink::Busy;

/// Returns the time by this machine's clock; only what people see depends on it.
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ms = since.map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    Timestamp::from_ms(ms.unwrap_or(0))
}

pub(super) fn status_style(status: Status) -> Ink {
    match status {
        Status::Queued => PLAIN,
        Status::Claimed | Status::InProgress => BUSY,
        Status::Review | Status::ChangesRequested => WARN,
        Status::Approved | Status::Merging | Status::Done => GOOD,
        Status::Blocked | Status::Failed => BAD,
        Status::Abandoned => DIM,
    }
}

pub(super) fn clean(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(neutral(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(clean).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(k, v)| (neutral(&k), clean(v))).collect())
        }
        other => other,
    }
}

pub(super) use crate::terminal::paint;

pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts text to a width, with … where something is missing.
pub fn cut(text: &str, columns: usize) -> String {
    let text = text.lines().next().unwrap_or_default();
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        out.push(c);
    }
    let kept = out.trim_end().len();
    out.truncate(kept);
    out.push('…');
    out
}

/// Breaks text into lines of a width, at spaces, each with the same indent.
pub(super) fn wrap(text: &str, indent: &str, columns: usize) -> String {
    let room = columns.saturating_sub(width(indent)).max(20);
    let mut out = String::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && width(&line) + 1 + width(word) > room {
                out.push_str(&format!("{indent}{}\n", line.trim_end()));
                line.clear();
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        out.push_str(format!("{indent}{line}").trim_end());
        out.push('\n');
    }
    out
}

pub fn ago(time: Timestamp, screen: &Screen) -> String {
    match screen.now.since(time) {
        length if length < Millis::from_secs(5) => "just now".to_owned(),
        length => format!("{} ago", rough(length)),
    }
}

pub fn left(time: Timestamp, screen: &Screen) -> String {
    match time.since(screen.now) {
        length if length.ms() == 0 => "now".to_owned(),
        length => format!("in {}", rough(length)),
    }
}

/// A length of time in its largest unit.
fn rough(length: Millis) -> String {
    match length.secs_ceil() {
        secs if secs < 90 => format!("{secs}s"),
        secs if secs < 90 * 60 => format!("{}m", (secs + 30) / 60),
        secs if secs < 36 * 3600 => format!("{}h", (secs + 1800) / 3600),
        secs => format!("{}d", (secs + 43_200) / 86_400),
    }
}

pub(super) fn short_sha(sha: &str) -> &str {
    let hex = sha.len() >= 40 && sha.bytes().all(|b| b.is_ascii_hexdigit());
    if hex { sha.get(..10).unwrap_or(sha) } else { sha }
}

/// Says no, why, and what to do next.
pub fn refusal(refusal: &Refusal) -> String {
    let code = paint(Ink::Error, &format!("error[{}]", refusal.code));
    let hint = paint(BUSY, "hint");
    let message = neutral(&refusal.message);
    let next = neutral(&crate::wording::next_step(refusal));
    // A brief that came with it counts as given.
    let brief = refusal.details.get("brief").cloned().map(super::post::beside);
    format!("{code}: {message}\n  {hint}: {next}\n{}", brief.unwrap_or_default())
}

/// Says one, or several.
pub fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// Tells a person how to see the next page, when there is one.
pub(super) fn more(next: Option<&String>, screen: &Screen) -> String {
    match next.filter(|_| screen.terminal) {
        Some(next) => paint(DIM, &format!("more: --after {next}")) + "\n",
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_what_is_seen() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("日本語日本語", 6), "日本…");
        assert_eq!(cut("a\nb", 6), "a");
    }

    #[test]
    fn long_text_is_wrapped_with_its_indent() {
        let text = "one two three four five six seven\n\neight";
        assert_eq!(wrap(text, "  ", 22), "  one two three four\n  five six seven\n\n  eight\n");
    }
}
