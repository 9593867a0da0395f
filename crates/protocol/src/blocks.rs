//! Where a contract may stand in a text: blocks in fences, and objects between them.

use crate::document::{self, Data, Fault, Node, Place};
use crate::markdown::indent;

/// Most blocks of one text that are looked at.
pub(crate) const BLOCKS_MAX: usize = 50;
/// Spaces before the end of a fence that is at the margin; a line that has more is inside of it.
const FENCE_INDENT_MAX: usize = 3;

/// Lines of a text that may be a contract.
pub(crate) struct Block {
    /// Its first line, counted from 0.
    pub(crate) first: usize,
    /// The line after its last.
    pub(crate) end: usize,
    /// Whether a fence says that it is JSON or YAML.
    pub(crate) named: bool,
    /// Spaces before its fence.
    pub(crate) indent: usize,
}

impl Block {
    /// Its lines.
    pub(crate) fn lines<'l>(&self, lines: &'l [&'l str]) -> &'l [&'l str] {
        lines.get(self.first..self.end).unwrap_or_default()
    }

    /// How many lines it has.
    pub(crate) fn len(&self) -> usize {
        self.end.saturating_sub(self.first)
    }

    /// Tells whether a line is in it.
    pub(crate) fn has(&self, line: usize) -> bool {
        (self.first..self.end).contains(&line)
    }

    /// Reads it, with the places that it has in the whole text.
    pub(crate) fn read(&self, lines: &[&str]) -> Result<Node, Fault> {
        let above = u32::try_from(self.first).unwrap_or(u32::MAX);
        match document::read(&self.lines(lines).join("\n")) {
            Ok(mut tree) => {
                move_down(&mut tree, above);
                Ok(tree)
            }
            Err(fault) => Err(Fault { at: below(fault.at, above), ..fault }),
        }
    }
}

fn below(at: Place, above: u32) -> Place {
    Place { line: at.line.saturating_add(above), ..at }
}

fn move_down(node: &mut Node, above: u32) {
    node.at = below(node.at, above);
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| move_down(item, above)),
        Data::Map(entries) => {
            for entry in entries {
                entry.key_at = below(entry.key_at, above);
                move_down(&mut entry.value, above);
            }
        }
        Data::Null | Data::Bool(_) | Data::Number(_) | Data::Text(_) => {}
    }
}

/// A fence that is open, with the block in it when it may be a contract.
struct Fence<'l> {
    mark: &'l str,
    block: Option<Block>,
    indent: usize,
}

impl<'l> Fence<'l> {
    fn opened_by(line: &'l str, number: usize) -> Option<Fence<'l>> {
        let (mark, info) = fence_of(line)?;
        let language = info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let named = matches!(language.as_str(), "json" | "yaml" | "yml");
        let indent = indent(line);
        let block = Block { first: number + 1, end: number + 1, named, indent };
        let may_be = named || language.is_empty();
        Some(Fence { mark, block: may_be.then_some(block), indent })
    }

    /// A line that is further in than a fence can be belongs to a text of the contract.
    fn is_closed_by(&self, line: &str) -> bool {
        let closes = |(mark, info): (&str, &str)| mark.starts_with(self.mark) && info.is_empty();
        indent(line) <= self.indent.max(FENCE_INDENT_MAX) && fence_of(line).is_some_and(closes)
    }

    fn closed(self, end: usize) -> Option<Block> {
        self.block.map(|block| Block { end, ..block })
    }
}

/// Splits a line that is an end of a fence into its mark and what follows it.
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let text = line.trim();
    let with = text.chars().next().filter(|c| *c == '`' || *c == '~')?;
    let (mark, info) = text.split_at(text.len() - text.trim_start_matches(with).len());
    // Back-ticks after back-ticks are code inside a line.
    (mark.len() >= 3 && !(with == '`' && info.contains('`'))).then(|| (mark, info.trim()))
}

/// Fenced blocks, and objects between them that begin a line, in the order of the text. A fence that is never closed
/// ends with the text.
pub(crate) fn of(lines: &[&str]) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    let mut after = 0;
    let mut unclosed = 0;
    for (number, line) in lines.iter().enumerate() {
        if let Some(fence) = open.take() {
            match fence.is_closed_by(line) {
                true => found.extend(fence.closed(number)),
                false => open = Some(fence),
            }
            continue;
        }
        open = Fence::opened_by(line, number);
        // Looking for an end that is not there costs the rest of the text each time.
        if open.is_none() && line.starts_with('{') && number >= after && unclosed < BLOCKS_MAX {
            match end_of_object(lines, number) {
                Some(end) => {
                    found.push(Block { first: number, end, named: false, indent: 0 });
                    after = end;
                }
                None => unclosed += 1,
            }
        }
    }
    found.extend(open.and_then(|fence| fence.closed(lines.len())));
    found
}

/// The line after the object that begins on a line: where its braces are closed, outside of texts.
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
