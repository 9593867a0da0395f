//! Paths relative to the repository root, in one spelling only.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::PatternError;

/// The longest path accepted, in bytes: the usual `PATH_MAX`, so no real file is refused.
pub const PATH_BYTES_MAX: usize = 4096;

/// Whether upper and lower case are different names; a property of a repository in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CaseRule {
    /// `A` and `a` are two names.
    #[default]
    Sensitive,
    /// `A` and `a` are one name: characters with the same upper case are the same.
    Insensitive,
}

impl CaseRule {
    #[must_use]
    pub fn folding(folds: bool) -> CaseRule {
        if folds { CaseRule::Insensitive } else { CaseRule::Sensitive }
    }
}

/// A normalised path to something below the repository root.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(String);

impl RepoPath {
    /// Normalises `.`, `..`, `//` and Unicode (NFC), and refuses what is not a path below the root.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        check_length(text)?;
        check_characters(text)?;
        normalised(text).map(Self)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text by which paths are compared under a case rule.
    #[must_use]
    pub fn folded(&self, rule: CaseRule) -> Cow<'_, str> {
        fold(&self.0, rule)
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for RepoPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

pub(super) fn check_length(text: &str) -> Result<(), PatternError> {
    match text.len() {
        0 => Err(PatternError::Empty),
        length if length > PATH_BYTES_MAX => Err(PatternError::PathTooLong),
        _ => Ok(()),
    }
}

/// Normalises `.`, `..`, `//` and Unicode (NFC).
pub(super) fn normalised(text: &str) -> Result<String, PatternError> {
    if text.starts_with('/') {
        return Err(PatternError::Absolute);
    }
    let text = nfc(text);
    let mut kept: Vec<&str> = Vec::new();
    for segment in text.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop().ok_or(PatternError::OutsideRoot)?;
            }
            name => kept.push(name),
        }
    }
    let path = kept.join("/");
    if path.is_empty() {
        return Err(PatternError::Root);
    }
    // Composition can lengthen a text, and a normalised path must parse again.
    if path.len() > PATH_BYTES_MAX {
        return Err(PatternError::PathTooLong);
    }
    Ok(path)
}

/// Refuses characters that no path or pattern may hold.
pub(super) fn check_characters(text: &str) -> Result<(), PatternError> {
    for c in text.chars() {
        if c.is_control() {
            return Err(PatternError::ControlCharacter(c));
        }
        if c == '\\' {
            return Err(PatternError::Backslash);
        }
    }
    Ok(())
}

/// Composes the text (NFC), borrowing when it is composed already.
pub(super) fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// Folds composed text to its comparison form.
pub fn fold(text: &str, rule: CaseRule) -> Cow<'_, str> {
    if rule == CaseRule::Sensitive || text.chars().all(is_folded) {
        return Cow::Borrowed(text);
    }
    let folded: String = text.chars().map(fold_char).collect();
    Cow::Owned(nfc(&folded).into_owned())
}

/// Tells whether folding leaves this character as it is.
pub(super) fn is_folded(c: char) -> bool {
    fold_char(c) == c
}

/// Folds one character. Two characters are the same name if their simple upper case is the same, as on file systems
/// that fold case; they are written in lower case, where that has this upper case.
pub(super) fn fold_char(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let upper = simple_upper(c);
    let lower = single(upper.to_lowercase()).unwrap_or(upper);
    if simple_upper(lower) == upper { lower } else { upper }
}

/// Returns the upper case that is one character. The library knows the full one, which has several for some: `ß` then
/// has none of its own, and Greek letters with an iota below have one in the same block.
fn simple_upper(c: char) -> char {
    let capital = match u32::from(c) {
        code @ (0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7) => code + 8,
        code @ (0x1FB3 | 0x1FC3 | 0x1FF3) => code + 9,
        _ => return single(c.to_uppercase()).unwrap_or(c),
    };
    char::from_u32(capital).unwrap_or(c)
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}
