//! The process that a request came through: which client and session, whose login, on which host and terminal.
//!
//! A door observes it; no caller can say it. So `Via` is written into every event and is part of no command: it cannot be
//! deserialised. In an event's body it is the last key, `"via":{…}`, and it is left out where nothing is known.

use crate::limits::WORD_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The key of an event's body that comity alone writes.
pub const VIA_FIELD: &str = "via";
/// The raw bytes occur nowhere inside a JSON string, where both quotes would be escaped.
const KEY: &[u8] = b"\"via\":{";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Via {
    /// The agent client, such as `claude-code`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The client's session, whole: an agent's id has only its last characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// What caused it in another system, such as a comment: nothing is caused twice by the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The same as it is read back from an event. It is private, so that no command can hold one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    client: Option<String>,
    session: Option<String>,
    login: Option<String>,
    host: Option<String>,
    terminal: Option<String>,
    source: Option<String>,
}

impl Via {
    /// Names the client session, where the process runs in one.
    pub fn session_key(&self) -> Option<String> {
        let session = self.session.as_deref()?;
        Some(format!("{}/{session}", self.client.as_deref().unwrap_or_default()))
    }

    pub fn is_empty(&self) -> bool {
        *self == Via::default()
    }

    fn texts_mut(&mut self) -> [&mut Option<String>; 6] {
        let Via { client, session, login, host, terminal, source } = self;
        [client, session, login, host, terminal, source]
    }

    /// Passes every text through `clean` and brings it into bounds: one line, at most [`WORD_BYTES_MAX`] bytes.
    #[must_use]
    pub fn cleaned(mut self, clean: impl Fn(&str) -> Cow<'_, str>) -> Via {
        for text in self.texts_mut() {
            *text = text.take().map(|text| bounded(&clean(&text))).filter(|text| !text.is_empty());
        }
        self
    }

    /// Writes this as the last key of a body, which is a JSON object.
    pub(crate) fn append_to(&self, body: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        if self.is_empty() || body.pop_if(|last| *last == b'}').is_none() {
            return Ok(());
        }
        if body.as_slice() != b"{" {
            body.push(b',');
        }
        body.extend_from_slice(b"\"via\":");
        serde_json::to_writer(&mut *body, self)?;
        body.push(b'}');
        Ok(())
    }

    /// Reads the `via` of a body; nothing is known of an event that an older comity wrote.
    pub fn of_body(body: &[u8]) -> Via {
        split(body).map(|(_, via)| via).unwrap_or_default()
    }
}

/// Returns the body as it was before `via` was written into it.
pub(crate) fn without_via(body: &[u8]) -> Cow<'_, [u8]> {
    match split(body) {
        Some((fields, _)) => Cow::Owned([fields, b"}"].concat()),
        None => Cow::Borrowed(body),
    }
}

/// Splits a body into its other fields, without the closing brace, and its `via`.
///
/// The value must be a whole object with one closing brace after it, so a `via` deeper inside is not taken for ours.
fn split(body: &[u8]) -> Option<(&[u8], Via)> {
    let at = body.windows(KEY.len()).rposition(|window| window == KEY)?;
    let value = body.strip_suffix(b"}")?.get(at + KEY.len() - 1..)?;
    let written: Written = serde_json::from_slice(value).ok()?;
    let before = body.get(..at)?;
    let fields = match before.strip_suffix(b",") {
        Some(fields) => fields,
        None if before == b"{" => before,
        None => return None,
    };
    let Written { client, session, login, host, terminal, source } = written;
    Some((fields, Via { client, session, login, host, terminal, source }))
}

fn bounded(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim().chars().filter(|c| !c.is_control()) {
        if out.len() + c.len_utf8() > WORD_BYTES_MAX {
            break;
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn via() -> Via {
        let host = Some("a \"b\",\"via\":{".to_owned());
        Via { client: Some("codex-cli".to_owned()), host, ..Via::default() }
    }

    fn with(body: &str, via: &Via) -> String {
        let mut bytes = body.as_bytes().to_vec();
        via.append_to(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn rule_1_6_via_is_the_last_key_and_is_read_back() {
        for body in [r"{}", r#"{"a":1}"#, r#"{"reported":true,"x":{"via":{"client":"me"}}}"#] {
            let written = with(body, &via());
            let end = r#""via":{"client":"codex-cli","host":"a \"b\",\"via\":{"}}"#;
            assert!(written.ends_with(end), "{written}");
            assert!(serde_json::from_str::<serde_json::Value>(&written).is_ok(), "{written}");
            assert_eq!(Via::of_body(written.as_bytes()), via());
            assert_eq!(&*without_via(written.as_bytes()), body.as_bytes());
        }
    }

    #[test]
    fn where_nothing_is_known_nothing_is_written() {
        assert_eq!(with(r#"{"a":1}"#, &Via::default()), r#"{"a":1}"#);
    }

    #[test]
    fn a_body_without_via_stays_as_it_is() {
        for body in [
            "",
            "{}",
            "}",
            r#"{"via":"x"}"#,
            r#"{"a":{"via":{"client":"x"}}}"#,
            r#"{"a":[{"b":1,"via":{"client":"x"}}]}"#,
            r#"{"a":"\"via\":{"}"#,
            r#""via":{}"#,
        ] {
            assert!(Via::of_body(body.as_bytes()).is_empty(), "{body}");
            assert_eq!(&*without_via(body.as_bytes()), body.as_bytes());
        }
    }

    #[test]
    fn a_key_of_a_newer_comity_is_no_obstacle() {
        let body = br#"{"a":1,"via":{"client":"x","moon":3}}"#;
        assert_eq!(Via::of_body(body).client.as_deref(), Some("x"));
    }

    #[test]
    fn texts_are_cleaned_and_bounded() {
        let long = "ü".repeat(WORD_BYTES_MAX);
        let via = Via {
            host: Some(format!(" a\n{long}")),
            login: Some("\t".to_owned()),
            ..Via::default()
        };
        let clean = via.cleaned(|text| text.replace('a', "b").into());
        let host = clean.host.unwrap();
        assert!(host.starts_with("bü") && host.len() == WORD_BYTES_MAX - 1, "{host}");
        assert_eq!(clean.login, None);
    }
}
