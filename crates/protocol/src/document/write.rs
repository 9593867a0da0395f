//! YAML as people write it: block style, quotes only where they are needed, long text as blocks.

use super::{Data, looks_like_time, scalar};
use serde_json::{Map, Value};

const FOLD_AT: usize = 80;
/// Longest key that may stand before its colon; YAML allows 1024 characters.
const KEY_MAX: usize = 1000;
/// Words that other readers take for truth values.
const TRUTHS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];

/// How single values are written; each is named by its path (`context.goal`, items as `[]`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Style<'a> {
    /// Texts written as a `|` block even when they have one line.
    pub literal: &'a [&'a str],
    pub folded: &'a [&'a str],
    /// Texts written in double quotes, as the published examples have them.
    pub quoted: &'a [&'a str],
}

/// Writes a value as YAML, with a line break at the end. Reading it gives the same value again.
pub fn to_yaml(value: &Value, style: &Style<'_>) -> String {
    let mut writer = Writer { out: String::new(), style, path: String::new() };
    match value {
        Value::Object(map) if !map.is_empty() => writer.map(map, 0, false),
        Value::Array(items) if !items.is_empty() => writer.list(items, 0, false),
        scalar => {
            writer.scalar(scalar, 0);
            if !writer.out.ends_with('\n') {
                writer.out.push('\n');
            }
        }
    }
    writer.out.trim_start_matches(' ').to_owned()
}

struct Writer<'a> {
    out: String,
    style: &'a Style<'a>,
    path: String,
}

impl Writer<'_> {
    fn indent(&mut self, level: usize) {
        self.out.extend(std::iter::repeat_n("  ", level));
    }

    /// Writes a map; `inline` when its first key goes on after a dash.
    fn map(&mut self, map: &Map<String, Value>, level: usize, inline: bool) {
        for (place, (key, value)) in map.iter().enumerate() {
            if !(inline && place == 0) {
                self.indent(level);
            }
            let name = flow_text(key);
            if name.len() > KEY_MAX {
                self.out.push_str(&format!("? {name}\n"));
                self.indent(level);
            } else {
                self.out.push_str(&name);
            }
            self.out.push(':');
            let length = self.path.len();
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(key);
            self.value(value, level);
            self.path.truncate(length);
        }
    }

    fn list(&mut self, items: &[Value], level: usize, inline: bool) {
        let length = self.path.len();
        self.path.push_str("[]");
        for (place, item) in items.iter().enumerate() {
            if !(inline && place == 0) {
                self.indent(level);
            }
            self.out.push('-');
            match item {
                Value::Object(map) if !map.is_empty() => {
                    self.out.push(' ');
                    self.map(map, level + 1, true);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.out.push(' ');
                    self.list(items, level + 1, true);
                }
                scalar => self.line(scalar, level),
            }
        }
        self.path.truncate(length);
    }

    /// Writes what comes after `key:`.
    fn value(&mut self, value: &Value, level: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                self.out.push('\n');
                self.map(map, level + 1, false);
            }
            Value::Array(items) if !items.is_empty() => {
                self.out.push('\n');
                self.list(items, level + 1, false);
            }
            scalar => self.line(scalar, level),
        }
    }

    fn line(&mut self, value: &Value, level: usize) {
        self.scalar(value, level);
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn scalar(&mut self, value: &Value, level: usize) {
        self.out.push(' ');
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => self.out.push_str(&number.to_string()),
            Value::Array(_) => self.out.push_str("[]"),
            Value::Object(_) => self.out.push_str("{}"),
            Value::String(text) => self.text(text, level),
        }
    }

    fn text(&mut self, text: &str, level: usize) {
        let listed = |paths: &[&str]| paths.contains(&self.path.as_str());
        let (folded, literal) = (listed(self.style.folded), listed(self.style.literal));
        if listed(self.style.quoted) {
            self.out.push_str(&double_quoted(text));
        } else if folded && let Some(lines) = fold(text) {
            self.block('>', text, &lines, level);
        } else if (literal || folded || text.trim_end_matches('\n').contains('\n'))
            && fits_a_block(text)
        {
            let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
            self.block('|', text, &lines, level);
        } else {
            self.out.push_str(&flow_text(text));
        }
    }

    fn block(&mut self, mark: char, text: &str, lines: &[&str], level: usize) {
        self.out.push(mark);
        let ends = text.len() - text.trim_end_matches('\n').len();
        match ends {
            0 => self.out.push('-'),
            1 => {}
            _ => self.out.push('+'),
        }
        self.out.push('\n');
        let more = std::iter::repeat_n(&"", ends.saturating_sub(1));
        for line in lines.iter().chain(more) {
            if !line.is_empty() {
                self.indent(level + 1);
            }
            self.out.push_str(line);
            self.out.push('\n');
        }
    }
}

/// Whether a text can stand in a block as it is.
fn fits_a_block(text: &str) -> bool {
    let first = text.trim_end_matches('\n');
    !first.is_empty()
        && !first.starts_with(char::is_whitespace)
        && text.chars().all(|c| c == '\n' || c == '\t' || is_printable(c))
        // A line of blanks only would be taken for an empty one at the end.
        && text.split('\n').all(|line| line.is_empty() || !line.trim().is_empty())
}

/// Breaks a text so that folding gives it back; none when folding cannot say it.
fn fold(text: &str) -> Option<Vec<&str>> {
    let plain = |line: &str| !line.starts_with([' ', '\t']) && !line.ends_with([' ', '\t']);
    if !fits_a_block(text) || !text.split('\n').all(plain) {
        return None;
    }
    let mut lines = Vec::new();
    let mut breaks = 0;
    for (place, line) in text.trim_end_matches('\n').split('\n').enumerate() {
        breaks += usize::from(place > 0);
        if !line.is_empty() {
            // Between two lines, n line breaks are written as n empty lines.
            lines.extend(std::iter::repeat_n("", breaks));
            breaks = 0;
            fold_line(line, &mut lines);
        }
    }
    Some(lines)
}

fn fold_line<'a>(line: &'a str, lines: &mut Vec<&'a str>) {
    let mut rest = line;
    while rest.chars().count() > FOLD_AT {
        let limit = rest.char_indices().nth(FOLD_AT).map_or(rest.len(), |(place, _)| place);
        let single = |place: &usize| {
            let before = rest.get(..*place).unwrap_or("");
            let after = rest.get(*place + 1..).unwrap_or("");
            !before.is_empty() && !before.ends_with([' ', '\t']) && !after.starts_with([' ', '\t'])
        };
        let spaces = || rest.match_indices(' ').map(|(place, _)| place).filter(single);
        let Some(place) = spaces().take_while(|place| *place <= limit).last().or(spaces().next())
        else {
            break;
        };
        lines.push(rest.get(..place).unwrap_or(""));
        rest = rest.get(place + 1..).unwrap_or("");
    }
    lines.push(rest);
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A text on one line: plain where that is safe, else quoted.
fn flow_text(text: &str) -> String {
    if is_safe_plain(text) {
        return text.to_owned();
    }
    if text.chars().all(is_printable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    double_quoted(text)
}

fn is_safe_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let lower = text.to_ascii_lowercase();
    text.chars().all(is_printable)
        && text.trim() == text
        && !"-?:,[]{}#&*!|>'\"%@`=<~".contains(first)
        && !text.starts_with("...")
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.contains('\t')
        && matches!(scalar::resolve(text), Data::Text(_))
        && !looks_like_time(text)
        && !TRUTHS.contains(&lower.as_str())
        && !looks_like_an_old_number(text)
}

/// `1:30`, `0777`, `1,000`: numbers to readers of YAML 1.1.
fn looks_like_an_old_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+.".contains(c))
        && text.chars().all(|c| c.is_ascii_digit() || "+-.:,_eE".contains(c))
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c => match u32::from(c) {
                code @ 0..=0xFF => out.push_str(&format!("\\x{code:02X}")),
                code => out.push_str(&format!("\\u{code:04X}")),
            },
        }
    }
    out.push('"');
    out
}
