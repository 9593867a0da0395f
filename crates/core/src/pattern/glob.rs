//! Lease patterns: normalisation, quick facts about them, and what they cover.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::alternatives::settled;
use super::automaton::Nfa;
use super::parse::{Node, render, tokens};
use super::path::{check_characters, fold, nfc};
use super::{CaseRule, PatternError, RepoPath};

/// The longest pattern accepted, in bytes; with it the cost of one overlap is bounded.
pub const PATTERN_BYTES_MAX: usize = 1024;

/// A normalised lease pattern.
///
/// A literal covers itself and all below it; with a trailing slash, all below it; a glob exactly
/// what it matches; a glob with a trailing slash, all below what it matches; `.` everything.
/// Braces mean the union of what the written-out alternatives match, each of them read as if it had been written alone.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    rule: CaseRule,
    shape: Shape,
}

/// What a pattern means.
#[derive(Clone)]
pub(super) enum Shape {
    Literal(Literal),
    Glob { automaton: Nfa, prefix: String, tail: String },
}

/// A path without globs; the empty path is the root.
#[derive(Clone)]
pub(super) struct Literal {
    pub(super) path: String,
    pub(super) scope: Scope,
}

/// Whether a literal covers its own path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    ItselfAndBelow,
    Below,
}

impl Pattern {
    /// Reads a pattern in which upper and lower case differ.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Self::parse_with(text, CaseRule::Sensitive)
    }

    /// Reads a pattern under the case rule of the store.
    pub fn parse_with(text: &str, rule: CaseRule) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err(PatternError::PatternTooLong);
        }
        check_characters(text)?;
        if text.starts_with('/') {
            return Err(PatternError::Absolute);
        }
        let nodes = tokens(&nfc(text), rule)?;
        let scope = if text.ends_with('/') { Scope::Below } else { Scope::ItselfAndBelow };
        let segments = resolve(&nodes)?;
        // In `{a/,b}/.` the dot would go and leave `a/`, which says something else.
        if matches!(nodes.rsplit(is_slash).next(), Some([Node::Char('.')]))
            && segments.last().is_some_and(|last| has_group(last))
        {
            return Err(PatternError::DotSegmentInBraces);
        }
        Self::from_segments(&segments, scope, rule)
    }

    fn from_segments(
        segments: &[&[Node]],
        scope: Scope,
        rule: CaseRule,
    ) -> Result<Self, PatternError> {
        if segments.is_empty() {
            let root = Literal { path: String::new(), scope: Scope::Below };
            return Ok(Self { text: ".".to_owned(), rule, shape: Shape::Literal(root) });
        }
        let leading = segments.iter().take_while(|segment| is_literal(segment)).count();
        let prefix = plain_text(&segments.get(..leading).unwrap_or_default().join(&Node::Slash));
        let all_literal = leading == segments.len();
        let (literal, rest) = segments.split_at_checked(leading).unwrap_or((segments, &[]));
        let mut nodes = literal.join(&Node::Slash);
        let mut rest = rest.join(&Node::Slash);
        if scope == Scope::Below {
            rest.push(Node::Slash);
        }
        if leading > 0 && !all_literal {
            nodes.push(Node::Slash);
        }
        // A separator composes with nothing, so the literal segments in front stay as they are.
        nodes.extend(settled(rest, rule)?);
        let mut text = String::new();
        render(&nodes, &mut text);
        if text.len() > PATTERN_BYTES_MAX {
            return Err(PatternError::PatternTooLong);
        }
        if all_literal {
            let shape = Shape::Literal(Literal { path: prefix, scope });
            return Ok(Self { text, rule, shape });
        }
        if may_be_empty(&nodes) {
            return Err(PatternError::EmptyAlternative);
        }
        let tail = tail_of(&nodes);
        let automaton = Nfa::compile(nodes).ok_or(PatternError::TooComplex)?;
        Ok(Self { text, rule, shape: Shape::Glob { automaton, prefix, tail } })
    }

    /// Returns the normalised text, which parses to the same pattern under the same rule.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn case_rule(&self) -> CaseRule {
        self.rule
    }

    /// Returns the [literal prefix](Self::literal_prefix) of a pattern. The usual ones, names and whole-segment stars,
    /// are read without being compiled.
    pub fn prefix_of(text: &str) -> Result<String, PatternError> {
        let is_star = |segment: &str| segment == "*" || segment == "**";
        if text.len() > PATTERN_BYTES_MAX || !text.split('/').all(|it| is_star(it) || is_name(it)) {
            return Self::parse(text).map(|pattern| pattern.literal_prefix().to_owned());
        }
        let mut end = 0;
        for name in text.split('/').take_while(|segment| !is_star(segment)) {
            end += name.len() + 1;
        }
        Ok(text.get(..end.saturating_sub(1)).unwrap_or_default().to_owned())
    }

    /// Returns the complete leading segments without a glob: every covered path is that path or
    /// lies below it.
    #[must_use]
    pub fn literal_prefix(&self) -> &str {
        match &self.shape {
            Shape::Literal(literal) => &literal.path,
            Shape::Glob { prefix, .. } => prefix,
        }
    }

    /// Returns the literal end of every path a glob covers, or nothing if there is none.
    #[must_use]
    pub fn literal_tail(&self) -> &str {
        match &self.shape {
            Shape::Literal(_) => "",
            Shape::Glob { tail, .. } => tail,
        }
    }

    #[must_use]
    pub fn covers(&self, path: &RepoPath) -> bool {
        self.covers_text(&fold(path.as_str(), self.rule))
    }

    /// Tells whether the pattern covers a normalised, folded path.
    pub(super) fn covers_text(&self, path: &str) -> bool {
        match &self.shape {
            Shape::Literal(literal) => match strip_segments(path, &literal.path) {
                Some("") => literal.scope == Scope::ItselfAndBelow,
                Some(_) => true,
                None => false,
            },
            Shape::Glob { automaton, prefix, tail } => {
                strip_segments(path, prefix).is_some()
                    && path.ends_with(tail.as_str())
                    && automaton.accepts(path)
            }
        }
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Literal {
    /// Returns the automaton, needed only against a glob.
    pub(super) fn automaton(&self) -> Option<Nfa> {
        let mut nodes: Vec<Node> = literal_nodes(&self.path).collect();
        match self.scope {
            // As an alternative "path or path/", the compiler gives both their meaning.
            Scope::ItselfAndBelow => nodes.push(Node::Group(vec![vec![], vec![Node::Slash]])),
            Scope::Below => nodes.push(Node::Slash),
        }
        Nfa::compile(nodes)
    }
}

/// Returns what follows a leading path, segment-wise: nothing for the path itself.
pub(super) fn strip_segments<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    if prefix.is_empty() {
        return Some(path);
    }
    let rest = path.strip_prefix(prefix)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

fn literal_nodes(path: &str) -> impl Iterator<Item = Node> {
    path.chars().map(|c| if c == '/' { Node::Slash } else { Node::Char(c) })
}

/// Splits at the outer separators and resolves `.`, `..` and `//`.
fn resolve(nodes: &[Node]) -> Result<Vec<&[Node]>, PatternError> {
    let mut kept: Vec<&[Node]> = Vec::new();
    for segment in nodes.split(is_slash) {
        match segment {
            [] | [Node::Char('.')] => {}
            [Node::Char('.'), Node::Char('.')] => {
                if !kept.iter().all(|segment| is_literal(segment)) {
                    return Err(PatternError::ParentAfterGlob);
                }
                kept.pop().ok_or(PatternError::OutsideRoot)?;
            }
            // `**/**` means `**`, and each one would cost states.
            [Node::DoubleStar] if matches!(kept.last(), Some([Node::DoubleStar])) => {}
            _ => kept.push(segment),
        }
    }
    Ok(kept)
}

/// Tells whether a segment is surely the name of a file or directory and nothing else.
fn is_name(segment: &str) -> bool {
    segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && !segment.bytes().all(|b| b == b'.')
}

fn is_slash(node: &Node) -> bool {
    matches!(node, Node::Slash)
}

pub(super) fn has_group(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| matches!(node, Node::Group(_)))
}

fn is_literal(segment: &[Node]) -> bool {
    segment.iter().all(|node| matches!(node, Node::Char(_)))
}

/// Tells whether some choice of alternatives leaves nothing, which would mean the whole repository.
fn may_be_empty(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| match node {
        Node::Slash => true,
        Node::Group(branches) => branches.iter().any(|branch| may_be_empty(branch)),
        Node::Char(_)
        | Node::Any
        | Node::Star
        | Node::DoubleStar
        | Node::ManyStars
        | Node::Class(..) => false,
    })
}

fn plain_text(nodes: &[Node]) -> String {
    nodes
        .iter()
        .filter_map(|node| match node {
            Node::Char(c) => Some(*c),
            Node::Slash => Some('/'),
            Node::Any
            | Node::Star
            | Node::DoubleStar
            | Node::ManyStars
            | Node::Class(..)
            | Node::Group(_) => None,
        })
        .collect()
}

fn tail_of(nodes: &[Node]) -> String {
    let run = nodes.iter().rev().take_while(|node| matches!(node, Node::Char(_))).count();
    plain_text(nodes.get(nodes.len() - run..).unwrap_or_default())
}

// Text and rule determine the rest, so they alone are compared, hashed and shown.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.rule == other.rule
    }
}

impl Eq for Pattern {}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
        self.rule.hash(state);
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern").field("text", &self.text).field("rule", &self.rule).finish()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
