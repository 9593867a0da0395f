//! Cuts texts of other trackers to the bounds that comity has, and reports every cut.

use super::{LeftOut, short};
use comity_core::limits::{LIST_ENTRIES_MAX, STEPS_MAX, TEXT_BYTES_MAX, TITLE_CHARS_MAX};

pub fn title(item: &str, text: &str, left_out: &mut Vec<LeftOut>) -> String {
    let line = joined(item, "the title", text, left_out);
    if line.is_empty() {
        return "(no title)".to_owned();
    }
    if line.chars().count() <= TITLE_CHARS_MAX {
        return line;
    }
    let why = format!("a title has at most {TITLE_CHARS_MAX} characters");
    left_out.push(LeftOut::new(item, "the end of the title", why));
    line.chars().take(TITLE_CHARS_MAX).collect()
}

/// Writes a short text on one line; nothing is left of an empty one.
pub fn one_line(item: &str, what: &str, text: &str, left_out: &mut Vec<LeftOut>) -> Option<String> {
    let line = joined(item, what, text, left_out);
    Some(bounded(item, what, line, left_out)).filter(|line| !line.is_empty())
}

fn joined(item: &str, what: &str, text: &str, left_out: &mut Vec<LeftOut>) -> String {
    if text.trim().contains(['\n', '\r']) {
        let why = "it is one line here; a space is in their place";
        left_out.push(LeftOut::new(item, format!("the line breaks of {what}"), why));
    }
    plain(item, what, crate::one_line(text), left_out)
}

pub fn bounded(item: &str, what: &str, text: String, left_out: &mut Vec<LeftOut>) -> String {
    let mut text = plain(item, what, text, left_out);
    if text.len() <= TEXT_BYTES_MAX {
        return text;
    }
    let mut end = TEXT_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    let why = format!("a text has at most {TEXT_BYTES_MAX} bytes");
    left_out.push(LeftOut::new(item, format!("the end of {what}"), why));
    text
}

fn plain(item: &str, what: &str, text: String, left_out: &mut Vec<LeftOut>) -> String {
    let bad = |c: char| c.is_control() && !"\n\r\t".contains(c);
    let count = text.chars().filter(|c| bad(*c)).count();
    if count == 0 {
        return text;
    }
    let why = "texts have no control characters but line breaks and tabs";
    left_out.push(LeftOut::new(item, format!("{count} control characters of {what}"), why));
    text.chars().filter(|c| !bad(*c)).collect()
}

/// Divides requirements that were written as text; each is kept once and within its bound.
pub fn requirements(item: &str, text: &str, left_out: &mut Vec<LeftOut>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for entry in listed(text) {
        let entry = bounded(item, "the acceptance criteria", entry, left_out);
        if !entry.trim().is_empty() && !kept.contains(&entry) {
            kept.push(entry);
        }
    }
    kept
}

/// Divides a list that was written as text; prose stays in one piece.
fn listed(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let entries: Option<Vec<String>> = lines.iter().map(|line| bullet(line)).collect();
    match entries {
        Some(entries) if entries.len() <= LIST_ENTRIES_MAX => entries,
        _ if text.trim().is_empty() => Vec::new(),
        _ => vec![text.trim().to_owned()],
    }
}

fn bullet(line: &str) -> Option<String> {
    let rest = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(|| {
        let (number, rest) = line.split_once(['.', ')'])?;
        let counted = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        counted.then_some(rest).filter(|rest| rest.starts_with(' '))
    })?;
    let rest = rest.trim();
    let rest = rest.strip_prefix("[ ] ").or_else(|| rest.strip_prefix("[x] ")).unwrap_or(rest);
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// Keeps as many notes as one task is imported with, each within its bound; names the others.
pub fn notes(item: &str, given: Vec<String>, left_out: &mut Vec<LeftOut>) -> Vec<String> {
    let mut kept = Vec::new();
    for (place, text) in given.into_iter().enumerate() {
        if place < STEPS_MAX {
            kept.push(bounded(item, &format!("comment {}", place + 1), text, left_out));
            continue;
        }
        let what = format!("comment {}: {}", place + 1, short(&text));
        let why = format!("a task is imported with at most {STEPS_MAX} comments");
        left_out.push(LeftOut::new(item, what, why));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_list_is_divided_and_prose_is_not() {
        assert_eq!(listed("- one\n- [ ] two\n\n3. three"), ["one", "two", "three"]);
        assert_eq!(listed("It works.\nAlways."), ["It works.\nAlways."]);
        assert!(listed(" \n").is_empty());
    }

    #[test]
    fn what_is_cut_is_said() {
        let mut left = Vec::new();
        assert_eq!(title("a", " one  two\n", &mut left), "one two");
        assert!(left.is_empty());
        assert_eq!(title("a", &"é".repeat(501), &mut left).chars().count(), 500);
        let cut = bounded("a", "the notes", "é".repeat(TEXT_BYTES_MAX), &mut left);
        assert_eq!(cut.len(), TEXT_BYTES_MAX);
        assert_eq!(left.len(), 2);
    }

    #[test]
    fn control_characters_go_and_that_is_said() {
        let mut left = Vec::new();
        assert_eq!(bounded("a", "the log", "\u{1b}[31mred\n".into(), &mut left), "[31mred\n");
        assert_eq!(title("a", "\u{7}", &mut left), "(no title)");
        assert_eq!(one_line("a", "the type", " a\n b\u{0}", &mut left).as_deref(), Some("a b"));
        assert_eq!(left.len(), 4);
        assert_eq!(left[0].what, "1 control characters of the log");
    }

    #[test]
    fn line_breaks_that_become_spaces_are_said() {
        let mut left = Vec::new();
        assert_eq!(title("a", "one\n two\r\nthree", &mut left), "one two three");
        assert_eq!(one_line("a", "owner", "\nann", &mut left).as_deref(), Some("ann"));
        let what: Vec<&str> = left.iter().map(|left| left.what.as_str()).collect();
        assert_eq!(what, ["the line breaks of the title"]);
    }

    #[test]
    fn requirements_are_bounded_one_by_one_and_each_is_kept_once() {
        let mut left = Vec::new();
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        let text = format!("- one\n- {long}\n- one");
        let kept = requirements("a", &text, &mut left);
        assert_eq!(kept.len(), 2);
        assert_eq!(kept[1].len(), TEXT_BYTES_MAX);
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn comments_beyond_the_bound_are_named_one_by_one() {
        let mut left = Vec::new();
        let given = (0..STEPS_MAX + 2).map(|n| format!("said {n}")).collect();
        assert_eq!(notes("a", given, &mut left).len(), STEPS_MAX);
        assert_eq!(left.len(), 2);
        assert_eq!(left[1].what, "comment 1002: said 1001");
    }
}
