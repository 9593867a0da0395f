//! Comments as people and agents write them: which lines are plain text, and which are code, quotes or hidden.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line<'a> {
    pub text: &'a str,
    /// Whether it is text that its author says: not code, not a quotation, not an HTML comment.
    pub plain: bool,
    /// The indentation of the fence that it is in, or is an end of.
    pub fence: Option<usize>,
}

/// Spaces before a word that still stands at the start of its line.
const INDENT_MAX: usize = 1;
/// Spaces before a fence; more make it indented code.
const FENCE_INDENT_MAX: usize = 3;

pub fn lines(text: &str) -> Vec<Line<'_>> {
    let mut out = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut hidden = false;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for text in text.lines() {
        let line = match (&fence, Fence::opened_by(text)) {
            (Some(open), _) => {
                let line = Line { text, plain: false, fence: Some(open.indent) };
                if open.is_closed_by(text) {
                    fence = None;
                }
                line
            }
            (None, Some(open)) if !hidden => {
                fence = Some(open);
                Line { text, plain: false, fence: Some(open.indent) }
            }
            _ => {
                let covered = hidden || text.trim_start().starts_with("<!--");
                hidden = stays_hidden(text, hidden);
                let plain = !covered && !text.trim_start().starts_with('>') && indent(text) < 4;
                Line { text, plain, fence: None }
            }
        };
        out.push(line);
    }
    mark_code_spans(&mut out);
    out
}

pub fn after_word<'a>(line: &Line<'a>, word: &str) -> Option<&'a str> {
    if !line.plain || indent(line.text) > INDENT_MAX {
        return None;
    }
    line.text.trim_start_matches(' ').strip_prefix(word)
}

/// Counts the spaces before the first other character; a tab counts as four.
pub fn indent(text: &str) -> usize {
    let mut width = 0;
    for c in text.chars() {
        match c {
            ' ' => width += 1,
            '\t' => width += 4,
            _ => break,
        }
    }
    width
}

/// Returns a fence that no line of the text can close.
pub fn fence_for(text: &str) -> String {
    let longest = text
        .lines()
        .map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count())
        .max()
        .unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn stays_hidden(text: &str, mut hidden: bool) -> bool {
    let mut rest = text;
    loop {
        let end = if hidden { "-->" } else { "<!--" };
        match rest.split_once(end) {
            Some((_, after)) => {
                hidden = !hidden;
                rest = after;
            }
            None => return hidden,
        }
    }
}

#[derive(Clone, Copy)]
struct Fence {
    with: char,
    length: usize,
    indent: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Fence> {
        let indent = indent(line);
        if indent > FENCE_INDENT_MAX {
            return None;
        }
        let text = line.trim_start();
        let with = text.chars().next().filter(|c| *c == '`' || *c == '~')?;
        let length = text.chars().take_while(|c| *c == with).count();
        let info = text.get(length..).unwrap_or_default();
        // Back-ticks after back-ticks are code inside a line.
        let opens = length >= 3 && !(with == '`' && info.contains('`'));
        opens.then_some(Fence { with, length, indent })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let text = line.trim();
        indent(line) <= FENCE_INDENT_MAX
            && text.len() >= self.length
            && text.chars().all(|c| c == self.with)
    }
}

/// A code span may begin on one line of a paragraph and end on a later one.
fn mark_code_spans(lines: &mut [Line<'_>]) {
    let mut start = 0;
    while start < lines.len() {
        let paragraph =
            lines.iter().skip(start).take_while(|l| l.plain && !l.text.trim().is_empty());
        let end = start + paragraph.count();
        if let Some(lines) = lines.get_mut(start..end) {
            mark_spans_of(lines);
        }
        start = end.max(start) + 1;
    }
}

fn mark_spans_of(lines: &mut [Line<'_>]) {
    let runs: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .flat_map(|(row, line)| ticks(line.text).into_iter().map(move |length| (row, length)))
        .collect();
    let mut next = 0;
    while let Some((row, length)) = runs.get(next).copied() {
        let close = runs.iter().skip(next + 1).position(|(_, other)| *other == length);
        let Some(distance) = close else {
            next += 1;
            continue;
        };
        let closing = next + 1 + distance;
        let last = runs.get(closing).map_or(row, |(row, _)| *row);
        for line in lines.iter_mut().take(last + 1).skip(row + 1) {
            line.plain = false;
        }
        next = closing + 1;
    }
}

fn ticks(text: &str) -> Vec<usize> {
    text.split(|c| c != '`').map(str::len).filter(|length| *length > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<&str> {
        lines(text).into_iter().filter(|line| line.plain).map(|line| line.text).collect()
    }

    #[test]
    fn code_quotes_and_hidden_text_are_not_plain() {
        assert_eq!(plain("a\n```\nb\n```\nc"), ["a", "c"]);
        assert_eq!(plain("~~~\nb\n```\n~~~~\nc"), ["c"]);
        assert_eq!(plain("> a\nb\n    c"), ["b"]);
        assert_eq!(plain("<!-- a\nb\n-->\nc"), ["c"]);
        assert_eq!(plain("say `x\ny` z\n\nw"), ["say `x", "", "w"]);
        assert_eq!(plain("an open ` tick\nw"), ["an open ` tick", "w"]);
        assert_eq!(plain("```\nnever closed"), [] as [&str; 0]);
    }

    #[test]
    fn a_word_counts_at_the_start_of_a_line_only() {
        let found = |text: &str| lines(text).iter().any(|line| after_word(line, "W:").is_some());
        assert!(found("a\nW: x"));
        assert!(found(" W: x"));
        assert!(!found("a W: x"));
        assert!(!found("`W:` x"));
        assert!(!found("  W: x"));
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence_for("a"), "```");
        assert_eq!(fence_for("```\na"), "````");
    }
}
