//! What is around a contract: front matter, the line that names the agent, quotation marks, icons, a fence. All of
//! it is taken off, and places still are those of the text as it was given.

use crate::document::{self, Fault, Node, Place};
use crate::markdown::indent;
use std::ops::Range;

/// Spaces before a quotation mark; more make it code.
const QUOTE_INDENT_MAX: usize = 3;

struct Opened {
    /// As many lines as the text; those around the contract are empty.
    text: String,
    taken: Vec<u32>,
    /// The lines that may be the contract, counted from 0: the first one and the one after the last.
    lines: Range<usize>,
}

pub(super) fn read(text: &str) -> Result<Node, Fault> {
    let opened = open(text);
    match document::read(&opened.text) {
        Ok(mut node) => {
            node.move_places(&|at| opened.place(at));
            Ok(node)
        }
        Err(mut fault) => {
            fault.at = opened.place(fault.at);
            Err(fault)
        }
    }
}

/// Tells whether a text has the comment that heads a contract: before its first key, so that the same words inside
/// a text do not count.
pub(super) fn has_header(text: &str, header: &str) -> bool {
    let opened = open(text);
    let before_keys = |line: &&str| line.is_empty() || line.starts_with('#') || *line == "---";
    let mut head = opened.text.lines().map(str::trim).take_while(before_keys);
    head.any(|line| line.eq_ignore_ascii_case(header))
}

/// Returns the title that the front matter of an issue gives.
pub fn front_title(text: &str) -> Option<String> {
    front(text)?.get("title")?.written().filter(|title| !title.trim().is_empty())
}

/// Reads the front matter of an issue's file; its places are those of the text.
pub(super) fn front(text: &str) -> Option<Node> {
    let lines = front_lines(text);
    let front = text.lines().take(lines.end).skip(lines.start);
    // One empty line stands for the mark above.
    let front: String = std::iter::once("").chain(front).map(|line| format!("{line}\n")).collect();
    (!lines.is_empty()).then(|| document::read(&front).ok())?
}

pub(super) fn front_lines(text: &str) -> Range<usize> {
    1..front_matter(text.strip_prefix('\u{feff}').unwrap_or(text)).saturating_sub(1).max(1)
}

pub(super) fn contract_lines(text: &str) -> Range<usize> {
    open(text).lines
}

pub(super) fn contract_in(text: &str) -> String {
    let opened = open(text);
    format!("{}\n", opened.text.trim_start_matches('\n').trim_end())
}

/// Tells whether the contract itself is quoted, as in a comment that repeats it.
pub(super) fn is_quoted(text: &str) -> bool {
    let opened = open(text);
    opened.taken.iter().any(|taken| *taken > 0)
}

/// Takes the quotation marks off a comment that the original's tools have wrapped; counts the characters that are
/// gone from each line. Other comments stay as they are: what they quote, somebody else has said.
pub(super) fn unwrapped(text: &str) -> (String, Vec<u32>) {
    let wrapped = text.lines().find(|line| !line.trim().is_empty()).is_some_and(names_agent);
    let lines = if wrapped { unquoted_lines(text) } else { text.lines().map(|l| (l, 0)).collect() };
    let text = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    (text, lines.iter().map(|(_, taken)| *taken).collect())
}

impl Opened {
    fn place(&self, at: Place) -> Place {
        let line = usize::try_from(at.line).unwrap_or(usize::MAX).saturating_sub(1);
        let taken = self.taken.get(line).copied().unwrap_or_default();
        Place { column: at.column.saturating_add(taken), ..at }
    }
}

fn open(text: &str) -> Opened {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = unquoted_lines(text);
    let front = front_matter(text);
    blank(&mut lines, |place, _| place < front);
    let range = match first_fence(&lines) {
        Some((first, last)) => {
            blank(&mut lines, |place, _| place <= first || place >= last);
            first + 1..last
        }
        // Without one of its own, the whole text is the contract; fences and the agent's name are not part of it.
        None => {
            blank(&mut lines, |_, line| is_fence(line) || names_agent(line));
            front..lines.len()
        }
    };
    let taken = lines.iter().map(|(_, taken)| *taken).collect();
    let mut text = String::new();
    for (line, _) in lines {
        text.push_str(line);
        text.push('\n');
    }
    Opened { text, taken, lines: range }
}

fn blank(lines: &mut [(&str, u32)], outside: impl Fn(usize, &str) -> bool) {
    for (place, (line, taken)) in lines.iter_mut().enumerate() {
        if outside(place, line) {
            (*line, *taken) = ("", 0);
        }
    }
}

/// Lines of front matter: from a first line `---` to the second one, when something follows them.
fn front_matter(text: &str) -> usize {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return 0;
    }
    let Some(place) = lines.position(|line| line.trim_end() == "---") else { return 0 };
    let more = lines.any(|line| !line.trim().is_empty());
    if more { place + 2 } else { 0 }
}

/// Takes the quotation marks off all lines. Marks that are indented count only when every line has them: in a
/// contract they are part of a text.
fn unquoted_lines(text: &str) -> Vec<(&str, u32)> {
    let mut said = text.lines().filter(|line| !line.trim().is_empty() && !names_agent(line));
    let all = said.all(|line| {
        indent(line) <= QUOTE_INDENT_MAX && line.trim_start_matches(' ').starts_with('>')
    });
    text.lines()
        .map(|line| {
            let rest = if all { line.trim_start_matches(' ') } else { line };
            let rest = unquoted(rest);
            let taken = line.chars().count() - rest.chars().count();
            (rest, u32::try_from(taken).unwrap_or_default())
        })
        .collect()
}

fn unquoted(line: &str) -> &str {
    let mut line = line;
    while let Some(rest) = line.strip_prefix('>') {
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        let is_icon = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace();
        let without = rest.trim_start_matches(is_icon);
        line = match without.strip_prefix(' ') {
            Some(without) if without.len() + 1 < rest.len() => without,
            _ if without.is_empty() => without,
            _ => rest,
        };
    }
    line
}

fn first_fence(lines: &[(&str, u32)]) -> Option<(usize, usize)> {
    let language = |line: &str| -> Option<usize> {
        let text = line.trim();
        let ticks = text.chars().take_while(|c| *c == '`' || *c == '~').count();
        let info = text.get(ticks..)?.split_whitespace().next()?.to_ascii_lowercase();
        (is_fence(line) && (info == "yaml" || info == "yml")).then_some(ticks)
    };
    let (first, ticks) =
        lines.iter().enumerate().find_map(|(place, (line, _))| Some((place, language(line)?)))?;
    let closes = |line: &str| {
        let text = line.trim();
        text.len() >= ticks && is_fence(line) && text.chars().all(|c| c == '`' || c == '~')
    };
    let length = lines.iter().skip(first + 1).position(|(line, _)| closes(line));
    Some((first, length.map_or(lines.len(), |length| first + 1 + length)))
}

/// A fence around a contract is at the margin; one that is indented is part of a text inside it.
pub(super) fn is_fence(line: &str) -> bool {
    let text = line.trim_start();
    indent(line) <= 1 && (text.starts_with("```") || text.starts_with("~~~"))
}

fn names_agent(line: &str) -> bool {
    let text = line.trim();
    text.starts_with("**Input from ") && text.ends_with(":**")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_a_contract_is_taken_off_and_places_stay() {
        for (text, line, column) in [
            ("a: 1", 1, 4),
            ("Words: of the issue.\n\n```yaml\na: 1\n```\nmore: words\n", 4, 4),
            ("```\na: 1\n```", 2, 4),
            ("~~~yml\na: 1", 2, 4),
            ("**Input from gemini:**\n\n> ✦ a: 1\n> ✦ b: 2\n", 3, 8),
            ("**Input from x:**\n\n> ✦\n> ```yaml\n> a: 1\n> ```\n", 5, 6),
            ("---\nid: 7\ntitle: a --- b\n---\n\na: 1\n", 6, 4),
            ("---\na: 1\n", 2, 4),
            ("> > a: 1\n> > b: 2\n", 1, 8),
            (" > a: 1\n > b: 2\n", 1, 7),
            ("**Input from x:**\n\n> ✦ > a: 1\n> > b: 2\n", 3, 10),
        ] {
            let node = read(text).unwrap();
            let found = node.get("a").unwrap();
            assert_eq!(found.written().as_deref(), Some("1"), "{text}");
            assert_eq!(found.at, Place { line, column }, "{text}");
        }
        let block = read("a: 1\nb: |\n  > said\n   > more\n").unwrap();
        assert_eq!(block.get("b").unwrap().text(), Some("> said\n > more\n"));
        let fault = read("> ✦ a: 1\n> ✦ a: 2\n").unwrap_err();
        assert_eq!(fault.at, Place { line: 2, column: 5 }, "{fault}");
    }
}
