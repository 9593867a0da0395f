//! The public face: options in, redacted text out.

use std::borrow::Cow;

use serde_json::Value;

use super::free::{self, BadPattern, Patterns};
use super::{scan, value};

/// Says what is redacted in free text, besides secrets, which always are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactOptions {
    /// Redacts e-mail addresses in free text.
    pub emails: bool,
    /// Regular expressions of the user, applied to free text.
    pub extra_patterns: Vec<String>,
}

impl Default for RedactOptions {
    fn default() -> Self {
        Self { emails: true, extra_patterns: Vec::new() }
    }
}

/// Replaces secrets by `[redacted:<rule-id>:<length in bytes>]`.
#[derive(Debug)]
pub struct Redactor {
    emails: bool,
    patterns: Patterns,
}

impl Redactor {
    /// Checks the options; does no other work, so that a short-lived process pays nothing.
    ///
    /// # Errors
    /// Names the first configured pattern that is too long, too many, or does not compile.
    pub fn new(options: RedactOptions) -> Result<Self, BadPattern> {
        let RedactOptions { emails, extra_patterns } = options;
        Ok(Self { emails, patterns: Patterns::new(&extra_patterns)? })
    }

    /// Redacts secrets; borrows when there are none.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        scan::secrets(text)
    }

    /// Redacts secrets, and as configured e-mail addresses and the user's patterns.
    #[must_use]
    pub fn free_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = scan::secrets(text);
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
