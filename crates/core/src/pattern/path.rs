//! Paths relative to the repository root, in one spelling only.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::PatternError;

/// The longest path accepted, in bytes: the usual `PATH_MAX`, so no real file is refused.
pub const PATH_BYTES_MAX: usize = 4096;

/// Whether upper and lower case are different names; a property of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CaseRule {
    /// `A` and `a` are two names.
    #[default]
    Sensitive,
    /// `A` and `a` are one name; everything is compared in lower case.
    Insensitive,
}

/// A normalised path to something below the repository root.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(String);

impl RepoPath {
    /// Normalises `.`, `..`, `//` and Unicode (NFC), and refuses what is not a path below the root.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > PATH_BYTES_MAX {
            return Err(PatternError::PathTooLong);
        }
        check_characters(text)?;
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
        Ok(Self(path))
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
pub(super) fn fold(text: &str, rule: CaseRule) -> Cow<'_, str> {
    if rule == CaseRule::Sensitive || text.chars().all(is_folded) {
        return Cow::Borrowed(text);
    }
    // Character by character, not `str::to_lowercase`: its final-sigma rule depends on the
    // neighbours, which a glob does not know.
    let lower: String = text.chars().flat_map(char::to_lowercase).collect();
    Cow::Owned(nfc(&lower).into_owned())
}

/// Tells whether folding leaves this character as it is.
pub(super) fn is_folded(c: char) -> bool {
    if c.is_ascii() { !c.is_ascii_uppercase() } else { c.to_lowercase().eq([c]) }
}
