//! What is hidden in free text only: e-mail addresses and the user's patterns.

use std::borrow::Cow;
use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::scan::{self, Cut, markers, rewrite, touches};

/// The most patterns a user may configure; each is one more pass over every free text.
pub const PATTERNS_MAX: usize = 64;

/// The longest pattern a user may configure, in bytes.
pub const PATTERN_BYTES_MAX: usize = 512;

/// Bounds the memory, and thereby the compile time, of one pattern.
const PATTERN_SIZE_MAX: usize = 1 << 18;

/// After that many rounds a piece that still matches is hidden as a whole. See
/// [`Patterns::redact`].
const ROUNDS_MAX: usize = 8;

const PATTERN_ID: &str = "pattern-";

/// Limits of RFC 5321.
const LOCAL_BYTES_MAX: usize = 64;
const DOMAIN_BYTES_MAX: usize = 253;
const TLD_BYTES: Range<usize> = 2..25;

/// Endings that make `name@part.end` a file or a unit, not an address.
const FILE_ENDINGS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "cjs", "ts", "tsx", "jsx",
    "css", "html", "rs", "py", "go", "md", "json", "toml", "yaml", "yml", "lock", "txt", "log",
    "gz", "tgz", "zip", "tar", "sock", "service", "socket", "timer", "target", "mount", "slice",
    "map", "xml", "patch", "diff", "tmp", "conf",
];

/// Says which configured pattern cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[error("pattern {number} (`{shown}`) cannot be used: {reason}")]
pub struct BadPattern {
    /// The place of the pattern in the configuration, from 1.
    pub number: usize,
    pub shown: String,
    #[source]
    pub reason: BadPatternReason,
}

/// Says what is wrong with a configured pattern.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BadPatternReason {
    /// It is longer than [`PATTERN_BYTES_MAX`].
    #[error("it has {bytes} bytes; at most {PATTERN_BYTES_MAX} are allowed")]
    TooLong { bytes: usize },
    /// There are more than [`PATTERNS_MAX`].
    #[error("at most {PATTERNS_MAX} patterns are allowed")]
    TooMany,
    /// It matches the empty text, and so would match everywhere.
    #[error("it matches the empty text")]
    MatchesEmpty,
    /// It is not a regular expression, or one that grows too large.
    #[error("{0}")]
    Invalid(#[source] regex::Error),
}

/// The user's patterns. They are compiled when configured, because only that tells whether they
/// are sound; without any this costs nothing.
#[derive(Debug)]
pub(super) struct Patterns(Vec<Regex>);

impl Patterns {
    pub(super) fn new(sources: &[String]) -> Result<Self, BadPattern> {
        let compiled = sources.iter().enumerate().map(|(index, source)| {
            compile(index, source).map_err(|reason| BadPattern {
                number: index + 1,
                shown: source.chars().take(LOCAL_BYTES_MAX).collect(),
                reason,
            })
        });
        Ok(Self(compiled.collect::<Result<_, _>>()?))
    }

    /// Hides the matches of all patterns.
    ///
    /// A pattern may look at anything (`$`, `\b`, `.*`), so hiding one match can make another
    /// appear beside it. The text is therefore cut at its markers and each piece is searched
    /// alone, until nothing matches; what still matches after some rounds is hidden as a whole.
    /// That ends, costs a constant number of passes, and a second run finds nothing.
    pub(super) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut pieces = gaps(0..text.len(), markers(text).iter());
        let mut cuts = Vec::new();
        for round in 1..=ROUNDS_MAX {
            let mut next = Vec::new();
            for piece in pieces {
                let found = self.matches(text, &piece);
                if found.is_empty() {
                    continue;
                }
                if round == ROUNDS_MAX {
                    cuts.extend(
                        found.into_iter().take(1).map(|c| Cut { span: piece.clone(), ..c }),
                    );
                    continue;
                }
                next.extend(gaps(piece, found.iter().map(|cut| &cut.span)));
                cuts.extend(found);
            }
            pieces = next;
        }
        cuts.sort_by_key(|cut| cut.span.start);
        rewrite(text, cuts)
    }

    /// Finds the matches of all patterns inside one piece, merged where they overlap.
    fn matches(&self, text: &str, piece: &Range<usize>) -> Vec<Cut> {
        let Some(part) = text.get(piece.clone()) else { return Vec::new() };
        let mut found = Vec::new();
        for (index, regex) in self.0.iter().enumerate() {
            let spans = regex.find_iter(part).filter(|hit| !hit.is_empty());
            found.extend(spans.map(|hit| Cut {
                id: Cow::Owned(format!("{PATTERN_ID}{}", index + 1)),
                span: piece.start + hit.start()..piece.start + hit.end(),
            }));
        }
        found.sort_by_key(|cut| cut.span.start);
        scan::merge(found)
    }
}

fn compile(index: usize, source: &str) -> Result<Regex, BadPatternReason> {
    if index >= PATTERNS_MAX {
        return Err(BadPatternReason::TooMany);
    }
    if source.len() > PATTERN_BYTES_MAX {
        return Err(BadPatternReason::TooLong { bytes: source.len() });
    }
    let mut builder = RegexBuilder::new(source);
    let regex = builder.size_limit(PATTERN_SIZE_MAX).dfa_size_limit(PATTERN_SIZE_MAX).build();
    match regex {
        Ok(regex) if regex.is_match("") => Err(BadPatternReason::MatchesEmpty),
        Ok(regex) => Ok(regex),
        Err(error) => Err(BadPatternReason::Invalid(error)),
    }
}

/// Returns what is left of a range between sorted spans inside it.
fn gaps<'s>(
    range: Range<usize>,
    spans: impl Iterator<Item = &'s Range<usize>>,
) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    let mut start = range.start;
    for span in spans {
        left.push(start..span.start);
        start = span.end;
    }
    left.push(start..range.end);
    left.retain(|gap| gap.start < gap.end);
    left
}

/// Says whether an id belongs to a configured pattern.
pub(super) fn is_pattern_id(id: &[u8]) -> bool {
    let number = id.strip_prefix(PATTERN_ID.as_bytes());
    number.is_some_and(|n| matches!(n.len(), 1..=2) && n.iter().all(u8::is_ascii_digit))
}

pub(super) fn emails(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut cuts: Vec<Cut> = Vec::new();
    let mut marked = None;
    for (at, _) in text.match_indices('@') {
        let Some((span, window)) = email(bytes, at) else { continue };
        if !touches(marked.get_or_insert_with(|| markers(text)), &window) {
            cuts.push(Cut { id: Cow::Borrowed("email"), span });
        }
    }
    rewrite(text, cuts)
}

/// Returns the span of the address around an `@`, and what was looked at.
fn email(bytes: &[u8], at: usize) -> Option<(Range<usize>, Range<usize>)> {
    let is_local = |b: &&u8| b.is_ascii_alphanumeric() || b"._%+-".contains(b);
    let floor = at.saturating_sub(LOCAL_BYTES_MAX);
    let run = bytes.get(floor..at)?.iter().rev().take_while(is_local).count();
    let start = at - run;
    let local = bytes.get(start..at)?;
    let is_domain = |b: &&u8| b.is_ascii_alphanumeric() || b".-".contains(b);
    let rest = bytes.get(at + 1..)?;
    let reach = rest.iter().take(DOMAIN_BYTES_MAX).take_while(is_domain).count();
    let domain = rest.get(..reach)?;
    let trailing = domain.iter().rev().take_while(|b| matches!(b, b'.' | b'-')).count();
    let domain = domain.get(..reach - trailing)?;
    let end = at + 1 + domain.len();
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    // `//user@host` is a URL, `/name@1.x` a package, `@scope@…` neither an address.
    let part_of_path = matches!(before, Some(b'/' | b'@'));
    // `user@host:path` is a place to fetch from; before prose a blank follows the colon.
    let remote = trailing == 0
        && bytes.get(end) == Some(&b':')
        && bytes.get(end + 1).is_some_and(|b| b.is_ascii_alphanumeric() || b"/~._".contains(b));
    let unfit = local.is_empty() || local == b"git" || part_of_path || remote;
    if unfit || bytes.get(end) == Some(&b'@') || !is_mail_domain(domain) {
        return None;
    }
    let window = start.saturating_sub(1)..(at + 1 + reach + 2).min(bytes.len());
    Some((start..end, window))
}

fn is_mail_domain(domain: &[u8]) -> bool {
    let Some(dot) = domain.iter().rposition(|b| *b == b'.') else { return false };
    let tld = domain.get(dot + 1..).unwrap_or_default();
    let letters = TLD_BYTES.contains(&tld.len()) && tld.iter().all(u8::is_ascii_alphabetic);
    let file = FILE_ENDINGS.iter().any(|end| tld.eq_ignore_ascii_case(end.as_bytes()));
    let labels = domain.split(|b| *b == b'.').all(|label| !label.is_empty());
    // `v1.2` and `1.2` begin a version.
    let number = domain.strip_prefix(b"v").unwrap_or(domain);
    let digits = number.iter().take_while(|b| b.is_ascii_digit()).count();
    let version = digits > 0
        && number.get(digits) == Some(&b'.')
        && number.get(digits + 1).is_some_and(|b| b.is_ascii_digit() || matches!(b, b'x' | b'*'));
    letters && labels && !file && !version
}
