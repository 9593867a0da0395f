//! Lists in comments: questions and answers, numbered or not, over one line or several.

use crate::markdown::{Line, indent};

/// Spaces before an item that is not part of another one.
const ITEM_INDENT_MAX: usize = 1;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) number: Option<u32>,
    /// Its text; lines after the first without the indentation of the list.
    pub(super) text: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Listed {
    pub(super) before: String,
    pub(super) items: Vec<Item>,
    pub(super) after: String,
}

/// Reads the first list of a text; `labelled` tells of a line without a bullet that begins an item all the same.
pub(super) fn read(first: &str, rest: &[Line<'_>], labelled: fn(&str) -> bool) -> Listed {
    let mut out = Listed::default();
    let mut blank = 0;
    let head = Line { text: first.trim_start(), plain: true, fence: None };
    for line in std::iter::once(&head).chain(rest) {
        let text = line.text;
        // A fence that is indented belongs to its item; one at the margin shields what is in it.
        let shielded = line.fence.is_some_and(|indent| indent <= ITEM_INDENT_MAX);
        match begin(text, labelled).filter(|_| !shielded && out.after.is_empty()) {
            Some(item) => out.items.push(item),
            None if text.trim().is_empty() => {
                blank += 1;
                continue;
            }
            None => {
                let ended = blank > 0 && indent(text) < 2 && !shielded;
                match out.items.last_mut() {
                    Some(_) if ended || !out.after.is_empty() => join(&mut out.after, text, blank),
                    Some(item) => {
                        let width = width_of(item.number);
                        join(&mut item.text, dedent(text, width), blank);
                    }
                    None => join(&mut out.before, text, blank),
                }
            }
        }
        blank = 0;
    }
    out
}

pub(super) fn write(out: &mut String, bullet: &str, number: Option<u32>, text: &str) {
    let pad = " ".repeat(width_of(number));
    out.push_str(bullet);
    for (row, line) in text.split('\n').enumerate() {
        if row > 0 {
            out.push('\n');
            if !line.is_empty() {
                out.push_str(&pad);
            }
        }
        out.push_str(line);
    }
    out.push('\n');
}

fn width_of(number: Option<u32>) -> usize {
    number.map_or(2, |number| number.to_string().len() + 2)
}

fn join(out: &mut String, text: &str, blank: usize) {
    if !out.is_empty() {
        out.push_str(&"\n".repeat(blank + 1));
    }
    out.push_str(text);
}

fn dedent(text: &str, most: usize) -> &str {
    let spaces = text.bytes().take_while(|byte| *byte == b' ').count();
    text.get(spaces.min(most)..).unwrap_or_default()
}

fn begin(line: &str, labelled: fn(&str) -> bool) -> Option<Item> {
    if indent(line) > ITEM_INDENT_MAX {
        return None;
    }
    let text = line.trim_start_matches(' ');
    for bullet in ["- ", "* ", "+ "] {
        if let Some(rest) = text.strip_prefix(bullet) {
            return Some(Item { number: None, text: rest.trim_start().to_owned() });
        }
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    if let Ok(number) = number.parse::<u32>()
        && let Some(rest) = rest.strip_prefix(['.', ')'])
        && rest.starts_with(' ')
    {
        return Some(Item { number: Some(number), text: rest.trim_start().to_owned() });
    }
    labelled(text).then(|| Item { number: None, text: text.to_owned() })
}

/// Splits `Question 2: text` (any of the words, without regard to case) into number and text.
pub(super) fn label<'a>(text: &'a str, words: &[&str]) -> Option<(u32, &'a str)> {
    for word in words {
        let Some(head) = text.get(..word.len()) else { continue };
        if !head.eq_ignore_ascii_case(word) {
            continue;
        }
        let rest = text.get(word.len()..).unwrap_or_default().trim_start_matches([' ', '#']);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = rest.split_at(digits);
        if let (Ok(number), Some(rest)) = (number.parse(), rest.trim_start().strip_prefix(':')) {
            return Some((number, rest.strip_prefix(' ').unwrap_or(rest)));
        }
    }
    None
}
