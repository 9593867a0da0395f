//! Finds secrets: one pass for the keywords, a bounded check at each hit, one rewrite.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt::Write;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::judge;
use super::rules::{Edge, Length, NAMES, OTHER_IDS, SPECIALS, SecretKind, Special, TOKENS, Token};
use super::{assign, free, special};

/// How every marker starts.
pub(super) const MARKER_OPEN: &str = "[redacted:";

/// A length needs no more digits than `u32::MAX`; more would let a forged marker carry a secret.
const MARKER_DIGITS_MAX: usize = 10;

/// A decision looks at no more of a body than this, so that a hit costs a constant.
pub(super) const JUDGED_BYTES_MAX: usize = 256;

/// What a token has at least that follows a letter.
const GLUED_PREFIX_MIN: usize = 4;
const GLUED_BODY_MIN: usize = 16;
const GLUED_DIGITS_MIN: usize = 2;

/// A colour sequence such as `[1;31m` is at most this long.
const COLOUR_BYTES_MAX: usize = 12;

#[derive(Debug, Clone)]
pub(super) struct FoundSecret {
    pub(super) id: &'static str,
    pub(super) span: Range<usize>,
    pub(super) window: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub(super) id: Cow<'static, str>,
    pub(super) span: Range<usize>,
}

/// What a keyword wakes.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Token(&'static Token),
    Name(SecretKind),
    Special(Special),
}

fn keywords() -> impl Iterator<Item = (&'static str, Rule)> {
    let tokens = TOKENS.iter().map(|token| (Rule::Token(token), token.prefixes));
    let names = NAMES.iter().map(|&(kind, words)| (Rule::Name(kind), words));
    let specials = SPECIALS.iter().map(|&(special, words)| (Rule::Special(special), words));
    let rules = tokens.chain(names).chain(specials);
    rules.flat_map(|(rule, words)| words.iter().map(move |word| (*word, rule)))
}

/// From this length on a text is searched by the automaton. It takes longer to build than a short text
/// takes to be searched without it, and a process often sees a few short texts and ends.
const LONG_BYTES: usize = 8 * 1024;

/// Calls back with each keyword in a text: its number, its rule and where it stands, by the end.
fn for_each_keyword(text: &str, mut hit: impl FnMut(usize, Rule, Range<usize>)) {
    static LONG: OnceLock<Option<(AhoCorasick, Vec<Rule>)>> = OnceLock::new();
    let long = if text.len() < LONG_BYTES { None } else { LONG.get_or_init(automaton).as_ref() };
    let Some((automaton, rules)) = long else {
        for (at, rule) in short_search(text) {
            hit(at.number, rule, at.span());
        }
        return;
    };
    for found in automaton.find_overlapping_iter(text) {
        let number = found.pattern().as_usize();
        if let Some(&rule) = rules.get(number) {
            hit(number, rule, found.range());
        }
    }
}

/// The plainest automaton is chosen: it scans slower than the others but is built in half the time.
/// None only if the crate refuses its input, which a test rules out.
fn automaton() -> Option<(AhoCorasick, Vec<Rule>)> {
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::NoncontiguousNFA))
        .prefilter(false)
        .dense_depth(1)
        .build(keywords().map(|(word, _)| word));
    Some((automaton.ok()?, keywords().map(|(_, rule)| rule).collect()))
}

/// Where a keyword was found; in the order of the automaton.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    end: usize,
    number: usize,
    start: usize,
}

impl At {
    fn span(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A keyword: its number, its text, and what it wakes.
type Keyword = (usize, &'static str, Rule);

/// Looks at each place for the keywords that begin with its byte.
fn short_search(text: &str) -> Vec<(At, Rule)> {
    static BY_FIRST_BYTE: OnceLock<Vec<Vec<Keyword>>> = OnceLock::new();
    let by_first_byte = BY_FIRST_BYTE.get_or_init(|| {
        let mut table = vec![Vec::new(); 256];
        for (number, (word, rule)) in keywords().enumerate() {
            let first = word.bytes().next().and_then(|byte| table.get_mut(usize::from(byte)));
            first.into_iter().for_each(|words| words.push((number, word, rule)));
        }
        table
    });
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for (start, byte) in bytes.iter().enumerate() {
        let words = by_first_byte.get(usize::from(*byte)).into_iter().flatten();
        let rest = bytes.get(start..).unwrap_or_default();
        for (number, word, rule) in words.filter(|(_, word, _)| rest.starts_with(word.as_bytes())) {
            found.push((At { end: start + word.len(), number: *number, start }, *rule));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found
}

#[cfg(test)]
pub(super) fn prefilter_builds() -> bool {
    automaton().is_some()
}

/// Replaces every secret; borrows where there is none.
pub fn secrets(text: &str) -> Cow<'_, str> {
    let mut scan = Scan::new(text);
    for_each_keyword(text, |number, rule, span| scan.hit(number, rule, span));
    rewrite(text, scan.cuts())
}

struct Scan<'t> {
    text: &'t str,
    markers: OnceCell<Vec<Range<usize>>>,
    /// By keyword: where its last secret ended. Hits before that add nothing, and following
    /// them again would make a long run cost its square.
    done: Vec<usize>,
    found: Vec<FoundSecret>,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, markers: OnceCell::new(), done: Vec::new(), found: Vec::new() }
    }

    fn hit(&mut self, number: usize, rule: Rule, keyword: Range<usize>) {
        if self.done.get(number).is_some_and(|&done| keyword.start < done) {
            return;
        }
        let bytes = self.text.as_bytes();
        let found = match rule {
            Rule::Token(token) => token_at(bytes, token, keyword),
            Rule::Name(kind) => assign::at(bytes, kind, keyword),
            Rule::Special(which) => special::at(bytes, which, keyword),
        };
        let Some(found) = found else { return };
        let markers = self.markers.get_or_init(|| markers(self.text));
        if touches(markers, &found.window) {
            return;
        }
        if self.done.len() <= number {
            self.done.resize(number + 1, 0);
        }
        if let Some(done) = self.done.get_mut(number) {
            *done = found.span.end;
        }
        self.found.push(found);
    }

    fn cuts(mut self) -> Vec<Cut> {
        // At the same place the format of a vendor says more than the shape of the text, and
        // that more than the name of a variable.
        self.found.sort_by_key(|f| {
            let named = NAMES.iter().any(|(kind, _)| kind.id() == f.id);
            (f.span.start, named, OTHER_IDS.contains(&f.id))
        });
        let cuts = self.found.into_iter();
        cuts.map(|f| Cut { id: Cow::Borrowed(f.id), span: f.span }).collect()
    }
}

/// Checks one token format at a hit of its prefix.
fn token_at(bytes: &[u8], token: &Token, keyword: Range<usize>) -> Option<FoundSecret> {
    let window_start = edge_before(bytes, keyword.start, token.edge)
        .or_else(|| glued(bytes, token, &keyword).then_some(keyword.start))?;
    let body = bytes.get(keyword.end..)?;
    let has = |b: &&u8| token.class.has(**b);
    let (length, next) = match token.length {
        Length::Least(least) => {
            let short = body.iter().take(least).take_while(has).count() < least;
            if short || !judge::tokenish(body.get(..least)?, token.random) {
                return None;
            }
            (body.iter().take_while(has).count(), 0)
        }
        Length::Exact(exact) => {
            let run = body.iter().take(exact).take_while(has).count();
            let goes_on = body.get(exact).is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_');
            if run < exact || goes_on || !judge::tokenish(body.get(..exact)?, token.random) {
                return None;
            }
            (exact, usize::from(body.len() > exact))
        }
    };
    let end = keyword.end + length;
    let start = if token.keep_prefix { keyword.end } else { keyword.start };
    Some(FoundSecret { id: token.id, span: start..end, window: window_start..end + next })
}

/// Says whether a token that follows a letter or a digit is one all the same: its prefix is its vendor's own, and what
/// follows is long and random.
fn glued(bytes: &[u8], token: &Token, keyword: &Range<usize>) -> bool {
    let (Length::Least(length) | Length::Exact(length)) = token.length;
    let body = bytes.get(keyword.end..keyword.end + length).unwrap_or_default();
    let digits = body.iter().filter(|b| b.is_ascii_digit()).count();
    token.edge == Edge::Loose
        && keyword.len() >= GLUED_PREFIX_MIN
        && length >= GLUED_BODY_MIN
        && digits >= GLUED_DIGITS_MIN
        && judge::random_value(body)
}

/// Returns the start of the window if a token may begin at `at`.
///
/// In logs a token often follows an escape (`\n`, `%3D`, a colour) whose last byte is a letter.
pub(super) fn edge_before(bytes: &[u8], at: usize, edge: Edge) -> Option<usize> {
    let Some(last) = at.checked_sub(1) else { return Some(at) };
    let prev = *bytes.get(last)?;
    let inside = match edge {
        Edge::Open => return Some(at),
        Edge::Loose => prev.is_ascii_alphanumeric(),
        Edge::Strict => prev.is_ascii_alphanumeric() || matches!(prev, b'_' | b'-' | b'.'),
    };
    if !inside {
        return Some(last);
    }
    let escaped = matches!(prev, b'n' | b'r' | b't') && before(bytes, last, 1) == Some(b'\\');
    if escaped {
        return Some(last - 1);
    }
    let percent = prev.is_ascii_hexdigit()
        && before(bytes, last, 1).is_some_and(|b| b.is_ascii_hexdigit())
        && before(bytes, last, 2) == Some(b'%');
    if percent {
        return Some(last - 2);
    }
    let digits = bytes.get(last.saturating_sub(COLOUR_BYTES_MAX)..last)?;
    let run = digits.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b';').count();
    let colour = prev == b'm' && before(bytes, last, run + 1) == Some(b'[');
    colour.then(|| last - run - 1)
}

fn before(bytes: &[u8], at: usize, steps: usize) -> Option<u8> {
    bytes.get(at.checked_sub(steps)?).copied()
}

/// Finds the markers that earlier redactions left in a text, in order.
pub(super) fn markers(text: &str) -> Vec<Range<usize>> {
    let ends = text.match_indices(MARKER_OPEN).filter_map(|(start, open)| {
        let rest = text.as_bytes().get(start + open.len()..)?;
        let id_length = rest.iter().position(|&b| !(b.is_ascii_alphanumeric() || b == b'-'))?;
        let tail = rest.get(id_length..)?.strip_prefix(b":")?;
        let digits = tail.iter().take(MARKER_DIGITS_MAX).take_while(|b| b.is_ascii_digit()).count();
        let closed = digits > 0 && tail.get(digits) == Some(&b']');
        let known = closed && known_id(rest.get(..id_length)?);
        known.then(|| start..start + open.len() + id_length + 1 + digits + 1)
    });
    ends.collect()
}

fn known_id(id: &[u8]) -> bool {
    let is = |known: &str| known.as_bytes() == id;
    OTHER_IDS.iter().any(|known| is(known))
        || NAMES.iter().any(|(kind, _)| is(kind.id()))
        || TOKENS.iter().any(|token| is(token.id))
        || free::is_pattern_id(id)
}

/// Says whether a range overlaps one of the sorted markers.
pub(super) fn touches(markers: &[Range<usize>], range: &Range<usize>) -> bool {
    let next = markers.partition_point(|marker| marker.end <= range.start);
    markers.get(next).is_some_and(|marker| marker.start < range.end)
}

/// Joins cuts that overlap, so that none leaves a rest; they must be sorted by start.
pub(super) fn merge(cuts: Vec<Cut>) -> Vec<Cut> {
    let mut merged: Vec<Cut> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match merged.last_mut() {
            Some(last) if cut.span.start < last.span.end => {
                last.span.end = last.span.end.max(cut.span.end);
            }
            _ => merged.push(cut),
        }
    }
    merged
}

/// Replaces the cuts, which must be sorted by start.
pub(super) fn rewrite(text: &str, cuts: Vec<Cut>) -> Cow<'_, str> {
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for Cut { id, span } in merge(cuts) {
        // Rules cut at ASCII bytes; widening keeps this total should one ever not.
        let boundary = |at: &usize| text.is_char_boundary(*at);
        let start = (0..=span.start).rev().find(boundary).unwrap_or(0).max(copied);
        let end = (span.end..text.len()).find(boundary).unwrap_or(text.len()).max(start);
        out.push_str(text.get(copied..start).unwrap_or_default());
        push_marker(&mut out, &id, end - start);
        copied = end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

pub(super) fn push_marker(out: &mut String, id: &str, length: usize) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{MARKER_OPEN}{id}:{length}]");
}
