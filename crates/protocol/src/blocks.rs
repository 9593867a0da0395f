//! Finds the places in a text where a contract may stand: fenced blocks, and objects between them.

use crate::document::{self, Fault, Node, Place};
use crate::markdown::indent;

pub(crate) const BLOCKS_MAX: usize = 50;
/// Spaces before the end of a fence that is at the margin.
const FENCE_INDENT_MAX: usize = 3;

/// The lines of a text; a byte order mark is no part of the first.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.strip_prefix('\u{feff}').unwrap_or(text).lines().collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Data,
    Unsaid,
    Other,
}

impl Language {
    /// The first word counts; what follows it may name a file.
    fn of(info: &str) -> Language {
        let is_part = |c: char| c.is_alphanumeric() || "+-#_".contains(c);
        let end = info.find(|c| !is_part(c)).unwrap_or(info.len());
        match info.get(..end).unwrap_or_default().to_ascii_lowercase().as_str() {
            "json" | "yaml" | "yml" => Language::Data,
            "" => Language::Unsaid,
            _ => Language::Other,
        }
    }
}

pub(crate) struct Block {
    pub(crate) first: usize,
    pub(crate) end: usize,
    pub(crate) language: Language,
    pub(crate) indent: usize,
}

impl Block {
    pub(crate) fn may_be_contract(&self) -> bool {
        self.language != Language::Other
    }

    pub(crate) fn is_named(&self) -> bool {
        self.language == Language::Data
    }

    pub(crate) fn lines<'l>(&self, lines: &'l [&'l str]) -> &'l [&'l str] {
        lines.get(self.first..self.end).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.end.saturating_sub(self.first)
    }

    pub(crate) fn has(&self, line: usize) -> bool {
        (self.first..self.end).contains(&line)
    }

    /// Reads the block. The places of the result are those of the whole text.
    pub(crate) fn read(&self, lines: &[&str]) -> Result<Node, Fault> {
        let above = u32::try_from(self.first).unwrap_or(u32::MAX);
        let below = |at: Place| Place { line: at.line.saturating_add(above), ..at };
        match document::read(&self.lines(lines).join("\n")) {
            Ok(mut tree) => {
                tree.move_places(&below);
                Ok(tree)
            }
            Err(fault) => Err(Fault { at: below(fault.at), ..fault }),
        }
    }
}

struct Fence<'l> {
    mark: &'l str,
    block: Block,
    /// The indentation of the keys, if the block begins like a YAML map.
    keys: Option<usize>,
    is_empty: bool,
    /// The block had a line that may close the fence, unless that line belongs to a YAML text.
    may_have_ended: bool,
}

impl<'l> Fence<'l> {
    fn opened_by(line: &'l str, number: usize) -> Option<Fence<'l>> {
        let (mark, info) = fence_of(line)?;
        let (first, language) = (number + 1, Language::of(info));
        let block = Block { first, end: first, language, indent: indent(line) };
        Some(Fence { mark, block, keys: None, is_empty: true, may_have_ended: false })
    }

    fn take(&mut self, line: &str) {
        if self.is_empty && !line.trim().is_empty() {
            self.is_empty = false;
            self.keys = begins_yaml(line, self.block.language).then(|| indent(line));
        }
        self.may_have_ended |= self.looks_closed_by(line);
    }

    /// In YAML every line of a text has more indentation than the keys, so such a line does not close the fence. A block
    /// that is not YAML ends where Markdown ends it.
    fn is_closed_by(&self, line: &str) -> bool {
        let is_in_text = |keys: usize| indent(line) > keys.min(self.block.indent);
        self.looks_closed_by(line) && !self.keys.is_some_and(is_in_text)
    }

    fn looks_closed_by(&self, line: &str) -> bool {
        let closes = |(mark, info): (&str, &str)| mark.starts_with(self.mark) && info.is_empty();
        indent(line) <= self.block.indent.max(FENCE_INDENT_MAX)
            && fence_of(line).is_some_and(closes)
    }

    /// A fence that opens at the margin of the keys, after a line that may have closed this one, is no part of the YAML.
    fn is_left_by(&self, line: &str) -> bool {
        let opens = |(mark, info): (&str, &str)| mark.starts_with(self.mark) && !info.is_empty();
        self.may_have_ended
            && self.keys.is_some_and(|keys| indent(line) <= keys)
            && fence_of(line).is_some_and(opens)
    }

    fn closed(self, end: usize) -> Block {
        Block { end, ..self.block }
    }
}

fn begins_yaml(line: &str, language: Language) -> bool {
    let text = line.trim_start();
    let is_key = |(key, _): (&str, &str)| !key.contains([' ', '{', '(']);
    match language {
        Language::Data => !text.starts_with(['{', '[']),
        Language::Unsaid => {
            text.starts_with(['#', '-']) || text.split_once(':').is_some_and(is_key)
        }
        Language::Other => false,
    }
}

fn fence_of(line: &str) -> Option<(&str, &str)> {
    let text = line.trim();
    let with = text.chars().next().filter(|c| *c == '`' || *c == '~')?;
    let (mark, info) = text.split_at(text.len() - text.trim_start_matches(with).len());
    // Back-ticks after back-ticks are code inside a line.
    (mark.len() >= 3 && !(with == '`' && info.contains('`'))).then(|| (mark, info.trim()))
}

/// Fenced blocks of any language, and objects between them that begin a line, in the order of the text. A fence that
/// is never closed ends with the text.
pub(crate) fn of(lines: &[&str]) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    let mut after = 0;
    let mut unclosed = 0;
    for (number, line) in lines.iter().enumerate() {
        if let Some(mut fence) = open.take() {
            if fence.is_closed_by(line) {
                found.push(fence.closed(number));
                continue;
            }
            if !fence.is_left_by(line) {
                fence.take(line);
                open = Some(fence);
                continue;
            }
            found.push(fence.closed(number));
        }
        open = Fence::opened_by(line, number);
        // Each search for a missing end goes through the rest of the text.
        if open.is_none() && line.starts_with('{') && number >= after && unclosed < BLOCKS_MAX {
            match end_of_object(lines, number) {
                Some(end) => {
                    found.push(Block { first: number, end, language: Language::Unsaid, indent: 0 });
                    after = end;
                }
                None => unclosed += 1,
            }
        }
    }
    found.extend(open.map(|fence| fence.closed(lines.len())));
    found
}

/// The lines that are in none of the blocks, with their numbers from 0.
pub(crate) fn outside<'l>(
    lines: &'l [&'l str],
    blocks: impl IntoIterator<Item = &'l Block>,
) -> impl Iterator<Item = (usize, &'l str)> {
    let mut inside = vec![false; lines.len()];
    for block in blocks {
        inside.get_mut(block.first..block.end).unwrap_or_default().fill(true);
    }
    let numbered = lines.iter().copied().enumerate();
    numbered.zip(inside).filter(|(_, inside)| !inside).map(|(line, _)| line)
}

/// Returns the line after the object that begins on a line. Braces inside strings do not count.
fn end_of_object(lines: &[&str], start: usize) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (number, line) in lines.iter().enumerate().skip(start) {
        for c in line.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                '{' if !quoted => depth += 1,
                '}' if !quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            return Some(number + 1);
        }
    }
    None
}
