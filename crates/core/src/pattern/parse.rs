//! Reads the text of a glob into tokens and writes tokens back as text.

use std::str::Chars;

use super::class::{CharClass, Polarity};
use super::path::fold;
use super::{CaseRule, PatternError};

/// The deepest nesting of braces: bounds the recursion here and in the compiler.
pub const PATTERN_DEPTH_MAX: usize = 8;

/// Characters whose one-member class is an escape: `[*]` is a plain star, not a glob.
const ESCAPABLE: [char; 7] = ['*', '?', '[', ']', '{', '}', ','];

/// One token of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One character that stands for itself.
    Char(char),
    Slash,
    /// `?`.
    Any,
    /// `*`: any run within one segment.
    Star,
    /// `**`: whole segments where it is a whole segment, otherwise like `*`.
    DoubleStar,
    /// Three or more stars are no globstar in any dialect; they mean one star. Beside other stars they still count.
    ManyStars,
    /// `[…]`, with its text.
    Class(String, CharClass),
    /// `{…,…}`.
    Group(Vec<Vec<Node>>),
}

/// Reads composed text into tokens; literal text is folded by the rule.
pub(super) fn tokens(text: &str, rule: CaseRule) -> Result<Vec<Node>, PatternError> {
    let mut parser = Parser { chars: text.chars(), rule };
    parser.sequence(0).map(|(nodes, _)| nodes)
}

/// Writes tokens in the spelling that reads back as the same tokens.
pub(super) fn render(nodes: &[Node], out: &mut String) {
    render_at(nodes, 0, out);
}

fn render_at(nodes: &[Node], depth: usize, out: &mut String) {
    for node in nodes {
        match node {
            Node::Char(c @ ('*' | '?' | '[' | '{' | '}')) => out.extend(['[', *c, ']']),
            Node::Char(',') if depth > 0 => out.push_str("[,]"),
            Node::Char(c) => out.push(*c),
            Node::Slash => out.push('/'),
            Node::Any => out.push('?'),
            Node::Star => out.push('*'),
            Node::DoubleStar => out.push_str("**"),
            Node::ManyStars => out.push_str("***"),
            Node::Class(text, _) => out.push_str(text),
            Node::Group(branches) => {
                for (index, branch) in branches.iter().enumerate() {
                    out.push(if index == 0 { '{' } else { ',' });
                    render_at(branch, depth + 1, out);
                }
                out.push('}');
            }
        }
    }
}

/// What ended a sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Text,
    Comma,
    Brace,
}

struct Parser<'t> {
    chars: Chars<'t>,
    rule: CaseRule,
}

impl Parser<'_> {
    fn sequence(&mut self, depth: usize) -> Result<(Vec<Node>, Stop), PatternError> {
        let mut nodes = Vec::new();
        // Literal text is folded a run at a time because folding can compose neighbours.
        let mut run = String::new();
        let stop = loop {
            let Some(c) = self.chars.next() else { break Stop::Text };
            let node = match c {
                ',' if depth > 0 => break Stop::Comma,
                '}' if depth > 0 => break Stop::Brace,
                '}' => return Err(PatternError::UnopenedBrace),
                '/' => Node::Slash,
                '?' => Node::Any,
                '*' => self.stars(),
                '[' => self.class()?,
                '{' => self.group(depth + 1)?,
                plain => Node::Char(plain),
            };
            if let Node::Char(plain) = node {
                run.push(plain);
            } else {
                self.flush(&mut run, &mut nodes);
                nodes.push(node);
            }
        };
        self.flush(&mut run, &mut nodes);
        if depth > 0 && stop == Stop::Text {
            return Err(PatternError::UnclosedBrace);
        }
        Ok((nodes, stop))
    }

    fn flush(&self, run: &mut String, nodes: &mut Vec<Node>) {
        nodes.extend(fold(run, self.rule).chars().map(Node::Char));
        run.clear();
    }

    fn stars(&mut self) -> Node {
        let mut count = 1;
        while let Some(rest) = self.chars.as_str().strip_prefix('*') {
            self.chars = rest.chars();
            count += 1;
        }
        match count {
            1 => Node::Star,
            2 => Node::DoubleStar,
            _ => Node::ManyStars,
        }
    }

    fn group(&mut self, depth: usize) -> Result<Node, PatternError> {
        if depth > PATTERN_DEPTH_MAX {
            return Err(PatternError::TooDeep);
        }
        let mut branches = Vec::new();
        loop {
            let (branch, stop) = self.sequence(depth)?;
            branches.push(branch);
            if stop != Stop::Comma {
                return Ok(Node::Group(branches));
            }
        }
    }

    fn class(&mut self) -> Result<Node, PatternError> {
        let rest = self.chars.as_str();
        let listed = rest.strip_prefix(['!', '^']);
        let polarity = if listed.is_some() { Polarity::Negated } else { Polarity::Listed };
        let listed = listed.unwrap_or(rest);
        // A ']' in first place is a member, as in POSIX, if another one closes the class.
        let missing = if listed.starts_with(']') {
            PatternError::EmptyClass
        } else {
            PatternError::UnclosedClass
        };
        let (end, _) =
            listed.char_indices().skip(1).find(|&(_, c)| c == ']' || c == '/').ok_or(missing)?;
        let (body, tail) = listed.split_at(end);
        // A class never matches '/', so one written inside can only be a missing ']'.
        let Some(tail) = tail.strip_prefix(']').filter(|_| !body.starts_with('/')) else {
            return Err(missing);
        };
        self.chars = tail.chars();
        let members: Vec<char> = body.chars().collect();
        if let (Polarity::Listed, [c]) = (polarity, members.as_slice())
            && ESCAPABLE.contains(c)
        {
            return Ok(Node::Char(*c));
        }
        let set = CharClass::new(&ranges(&members)?, polarity, self.rule);
        let mark = if polarity == Polarity::Negated { "!" } else { "" };
        Ok(Node::Class(format!("[{mark}{body}]"), set))
    }
}

fn ranges(members: &[char]) -> Result<Vec<(char, char)>, PatternError> {
    let mut found = Vec::with_capacity(members.len());
    let mut rest = members;
    loop {
        rest = match rest {
            [] => return Ok(found),
            [lo, '-', hi, tail @ ..] => {
                if lo > hi {
                    return Err(PatternError::ReversedRange(*lo, *hi));
                }
                found.push((*lo, *hi));
                tail
            }
            [one, tail @ ..] => {
                found.push((*one, *one));
                tail
            }
        };
    }
}
