//! The public face: options in, redacted text out.

use std::borrow::Cow;

use serde_json::Value;

use super::free::{self, BadPattern, Patterns};
use super::scan::{Cut, markers, touches};
use super::{scan, value};

/// Says what is redacted in free text, besides secrets, which always are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactOptions {
    /// Redacts e-mail addresses in free text.
    pub emails: bool,
    /// Regular expressions of the user, applied to free text.
    pub extra_patterns: Vec<String>,
    /// Secrets that are known by their text, such as the token of this process.
    pub known: KnownSecrets,
}

/// A shorter text would be found in ordinary words.
const KNOWN_BYTES_MIN: usize = 8;

/// Texts that are secret whatever they look like. They are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KnownSecrets(Vec<String>);

impl KnownSecrets {
    /// Takes what is long enough to be a secret.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let texts = texts.into_iter().map(|text| text.trim().to_owned());
        Self(texts.filter(|text| text.len() >= KNOWN_BYTES_MIN).collect())
    }

    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut cuts = Vec::new();
        for secret in &self.0 {
            cuts.extend(text.match_indices(secret.as_str()).map(|(start, found)| Cut {
                id: Cow::Borrowed("known-secret"),
                span: start..start + found.len(),
            }));
        }
        if cuts.is_empty() {
            return Cow::Borrowed(text);
        }
        let marked = markers(text);
        cuts.retain(|cut| !touches(&marked, &cut.span));
        cuts.sort_by_key(|cut| cut.span.start);
        scan::rewrite(text, cuts)
    }
}

impl std::fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KnownSecrets({})", self.0.len())
    }
}

impl Default for RedactOptions {
    fn default() -> Self {
        Self { emails: true, extra_patterns: Vec::new(), known: KnownSecrets::default() }
    }
}

/// Replaces secrets by `[redacted:<rule-id>:<length in bytes>]`.
#[derive(Debug)]
pub struct Redactor {
    emails: bool,
    patterns: Patterns,
    known: KnownSecrets,
}

impl Redactor {
    /// Checks the options; does no other work, so that a short-lived process pays nothing.
    ///
    /// # Errors
    /// Names the first configured pattern that is too long, too many, or does not compile.
    pub fn new(options: RedactOptions) -> Result<Self, BadPattern> {
        let RedactOptions { emails, extra_patterns, known } = options;
        Ok(Self { emails, patterns: Patterns::new(&extra_patterns)?, known })
    }

    /// Redacts secrets; borrows when there are none.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        chain(self.known.redact(text), scan::secrets)
    }

    /// Redacts secrets, and as configured e-mail addresses and the user's patterns.
    #[must_use]
    pub fn free_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = self.text(text);
        if self.emails {
            out = chain(out, free::emails);
        }
        chain(out, |text| self.patterns.redact(text))
    }

    /// Redacts secrets in every string and key of a JSON value, in place.
    ///
    /// A string under a key named like a secret is replaced as a whole.
    pub fn value(&self, value: &mut Value) {
        value::redact(value);
    }
}

/// Runs one more stage, keeping the borrow when neither stage changed anything.
fn chain<'t>(text: Cow<'t, str>, stage: impl Fn(&str) -> Cow<'_, str>) -> Cow<'t, str> {
    match text {
        Cow::Borrowed(plain) => stage(plain),
        Cow::Owned(owned) => match stage(&owned) {
            Cow::Borrowed(_) => Cow::Owned(owned),
            Cow::Owned(changed) => Cow::Owned(changed),
        },
    }
}
