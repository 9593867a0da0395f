//! Sets of characters that one position of a glob accepts.
//!
//! Only characters that a path may hold are kept, so every member can stand in a witness.

use std::sync::LazyLock;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::is_nfc;

use super::CaseRule;
use super::path::{fold_char, is_folded};

/// Printable ASCII without the separator and the backslash.
pub(super) const ASCII_VALID: u128 = ((1 << 0x7F) - (1 << 0x20)) & !(1 << b'/') & !(1 << b'\\');
const ASCII_DOT: u128 = 1 << b'.';
const ASCII_LOWER: u128 = ((1 << 26) - 1) << b'a';
const ASCII_UPPER: u128 = ((1 << 26) - 1) << b'A';
const ASCII_DIGITS: u128 = ((1 << 10) - 1) << b'0';
/// Everything above ASCII except C1 controls and surrogates.
pub(super) const WIDE_VALID: [Range; 2] = [(0xA0, 0xD7FF), (0xE000, 0x10_FFFF)];
/// No script has a longer run of upper-case letters (Cherokee: 86), so a scan this long finds a
/// folded member of a range if there is one.
const SCAN_MAX: usize = 256;
/// The last code point that folding changes (Adlam) lies below this.
const CASED_END: u32 = 0x1_E944;

type Range = (u32, u32);

/// Every character that folding changes, in order, with what it becomes.
static CASED: LazyLock<Vec<Range>> = LazyLock::new(|| {
    let changed = |c: char| (!is_folded(c)).then(|| (u32::from(c), u32::from(fold_char(c))));
    (0..CASED_END).filter_map(char::from_u32).filter_map(changed).collect()
});

/// A set of path characters: a bit per ASCII character, sorted ranges above.
#[derive(Clone, Debug)]
pub(super) struct CharClass {
    ascii: u128,
    wide: Vec<Range>,
}

/// What two sets have in common, as far as a path cares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Common {
    /// Both accept a dot.
    pub(super) dot: bool,
    /// A readable character both accept, other than a dot.
    pub(super) other: Option<char>,
}

impl Common {
    /// Returns the meeting of a set with the one character it was found to hold.
    pub(super) fn one(c: char) -> Self {
        if c == '.' { Self { dot: true, other: None } } else { Self { dot: false, other: Some(c) } }
    }
}

/// Tells whether a class must be complemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polarity {
    Listed,
    Negated,
}

impl CharClass {
    /// Builds the set from inclusive ranges.
    pub(super) fn new(ranges: &[(char, char)], polarity: Polarity, rule: CaseRule) -> Self {
        let mut list: Vec<Range> =
            ranges.iter().map(|&(lo, hi)| (u32::from(lo), u32::from(hi))).collect();
        if rule == CaseRule::Insensitive {
            add_folded(&mut list);
        }
        let (mut ascii, mut wide) = (ascii_bits(&list), merge(list));
        if polarity == Polarity::Negated {
            (ascii, wide) = (!ascii, complement(&wide));
        }
        ascii &= ASCII_VALID;
        if rule == CaseRule::Insensitive {
            ascii &= !ASCII_UPPER;
        }
        Self { ascii, wide: intersect(&wide, &WIDE_VALID).collect() }
    }

    pub(super) fn contains(&self, c: char) -> bool {
        let code = u32::from(c);
        if code < 128 {
            return self.ascii >> code & 1 == 1;
        }
        let at = self.wide.partition_point(|&(_, hi)| hi < code);
        self.wide.get(at).is_some_and(|&(lo, _)| lo <= code)
    }

    /// Returns what this set has in common with another one, or with any character.
    pub(super) fn common(&self, other: Option<&Self>, rule: CaseRule) -> Common {
        let (ascii, wide) = other
            .map_or((ASCII_VALID, WIDE_VALID.as_slice()), |set| (set.ascii, set.wide.as_slice()));
        let mut ascii = self.ascii & ascii;
        if rule == CaseRule::Insensitive {
            ascii &= !ASCII_UPPER;
        }
        let plain = readable_ascii(ascii & !ASCII_DOT);
        Common {
            dot: ascii & ASCII_DOT != 0,
            other: plain.or_else(|| readable_wide(&self.wide, wide, rule)),
        }
    }
}

fn add_folded(list: &mut Vec<Range>) {
    let written = list.len();
    for index in 0..written {
        let Some(&(lo, hi)) = list.get(index) else { break };
        let from = CASED.partition_point(|&(written, _)| written < lo);
        let folded = CASED.iter().skip(from).take_while(|&&(written, _)| written <= hi);
        list.extend(folded.map(|&(_, folded)| (folded, folded)));
    }
}

fn ascii_bits(list: &[Range]) -> u128 {
    let mut bits = 0;
    for &(lo, hi) in list {
        for code in lo..=hi.min(127) {
            bits |= 1 << code;
        }
    }
    bits
}

fn merge(mut list: Vec<Range>) -> Vec<Range> {
    list.sort_unstable();
    let mut merged: Vec<Range> = Vec::with_capacity(list.len());
    for (lo, hi) in list {
        match merged.last_mut() {
            Some(last) if lo <= last.1.saturating_add(1) => last.1 = last.1.max(hi),
            _ => merged.push((lo, hi)),
        }
    }
    merged
}

fn complement(merged: &[Range]) -> Vec<Range> {
    let mut gaps = Vec::with_capacity(merged.len() + 1);
    let mut from = 0;
    for &(lo, hi) in merged {
        if lo > from {
            gaps.push((from, lo - 1));
        }
        from = hi.saturating_add(1);
    }
    gaps.push((from, u32::from(char::MAX)));
    gaps.retain(|&(lo, hi)| lo <= hi);
    gaps
}

/// Walks two sorted lists once, so that hostile classes cost no more than their length.
fn intersect<'s>(a: &'s [Range], b: &'s [Range]) -> impl Iterator<Item = Range> + 's {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        while let (Some(&(a_lo, a_hi)), Some(&(b_lo, b_hi))) = (a.get(i), b.get(j)) {
            if a_hi <= b_hi {
                i += 1;
            } else {
                j += 1;
            }
            let (lo, hi) = (a_lo.max(b_lo), a_hi.min(b_hi));
            if lo <= hi {
                return Some((lo, hi));
            }
        }
        None
    })
}

fn readable_ascii(bits: u128) -> Option<char> {
    let pick = [ASCII_LOWER, ASCII_DIGITS, ASCII_UPPER, u128::MAX]
        .into_iter()
        .map(|wanted| bits & wanted)
        .find(|found| *found != 0)?;
    char::from_u32(pick.trailing_zeros())
}

/// Finds a member that stands alone in a normalised path, and otherwise any member: answering
/// with a doubtful witness is safe, answering that two patterns are free is not.
fn readable_wide(a: &[Range], b: &[Range], rule: CaseRule) -> Option<char> {
    let folds = |c: char| rule == CaseRule::Sensitive || is_folded(c);
    let mut fallback = None;
    let mut scanned = 0;
    for (lo, hi) in intersect(a, b) {
        for c in (lo..=hi).filter_map(char::from_u32) {
            if folds(c) {
                if canonical_combining_class(c) == 0 && is_nfc(c.encode_utf8(&mut [0; 4])) {
                    return Some(c);
                }
                fallback = fallback.or(Some(c));
            }
            scanned += 1;
            if scanned >= SCAN_MAX {
                return fallback.or(Some(c));
            }
        }
    }
    fallback
}
