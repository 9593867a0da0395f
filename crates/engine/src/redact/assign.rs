//! Values assigned to names: `password=…`, `"api_key": "…"`, `--token …`, `<secret>…</secret>`,
//! `Authorization: Bearer …`.

use std::ops::Range;

use super::judge;
use super::rules::{Class, SecretKind};
use super::scan::{FoundSecret, JUDGED_BYTES_MAX};

/// Bounds of what is looked at around a name, so that a hit costs a constant.
const NAME_BYTES_MAX: usize = 40;
const GAP_BYTES_MAX: usize = 8;
const TYPE_BYTES_MAX: usize = 40;
const PHRASE_BYTES_MAX: usize = 128;
const INDENT_BYTES_MAX: usize = 40;

/// What a sentence has between a password's name and the password.
const VERBS: [&[u8]; 4] = [b"is ", b"was ", b"to ", b"will be "];

/// What assigns a value; full-width signs and those that HTML escapes, too.
const SIGNS: [&str; 16] = [
    ":=", "=>", "===", "==", "=", ":", "%3D", "\u{ff1d}", "\u{ff1a}", "&#61;", "&#x3D;", "&#x3d;",
    "&equals;", "&#58;", "&#x3A;", "&colon;",
];

/// Quotes as HTML escapes them.
const ESCAPED_QUOTES: [&[u8]; 4] = [b"&quot;", b"&#34;", b"&#39;", b"&apos;"];

/// An AWS secret access key has exactly this many bytes.
const AWS_SECRET_BYTES: usize = 40;

/// What may follow the keyword and still name the secret itself. `token_count`, `secret_name`
/// or `password_policy` name something else.
const SUFFIXES: &str = "key keys access accesskey value base keybase prod production dev test staging live new \
    old current default primary secondary raw text plaintext token password secret";

/// What makes a token a position or a handle.
const HANDLES: &str = "page next continuation continue cancellation cancel cursor sync idempotency fencing \
    fence resume change";

/// Words before the credential in an `Authorization` header.
const SCHEMES: &[&str] =
    &["bearer", "basic", "token", "apikey", "api-key", "digest", "negotiate", "key"];

/// Checks the value assigned to a name at a hit of its keyword.
pub(super) fn at(bytes: &[u8], kind: SecretKind, keyword: Range<usize>) -> Option<FoundSecret> {
    let name_start = name_start(bytes, keyword.start);
    let name_end = name_end(bytes, keyword.end)?;
    let before = bytes.get(name_start..keyword.start)?;
    if kind == SecretKind::Token && HANDLES.split(' ').any(|handle| ends_with_name(before, handle))
    {
        return None;
    }
    let Some(value_at) = separator(bytes, name_start, name_end) else {
        return spoken(bytes, kind, name_start, name_end);
    };
    let value_at = match kind {
        SecretKind::Authorization => skip_scheme(bytes, value_at),
        _ => block(bytes, value_at).unwrap_or(value_at),
    };
    let Some(assigned) = value(bytes, value_at) else {
        return phrase(bytes, kind, name_start, value_at);
    };
    let found = bytes.get(assigned.start..assigned.start + assigned.length)?;
    let name = bytes.get(name_start..name_end)?;
    let id = if is_aws_secret(kind, name, found) {
        "aws-secret-key"
    } else if judge::secret_value(kind, found) {
        kind.id()
    } else {
        return None;
    };
    let end = extend(bytes, &assigned);
    let window = name_start.saturating_sub(1)..end.max(assigned.start + assigned.looked);
    Some(FoundSecret { id, span: assigned.start..end, window })
}

/// Finds a password that a sentence tells: `the password is …`.
fn spoken(
    bytes: &[u8],
    kind: SecretKind,
    name_start: usize,
    name_end: usize,
) -> Option<FoundSecret> {
    if kind != SecretKind::Password || bytes.get(name_end) != Some(&b' ') {
        return None;
    }
    let verb = skip_blanks(bytes, name_end);
    let said = VERBS.iter().find(|said| starts(bytes, verb, said))?;
    let assigned = value(bytes, skip_blanks(bytes, verb + said.len()))?;
    let end = assigned.start + assigned.length;
    let found = bytes.get(assigned.start..end)?;
    let least = kind.least();
    let secret = match assigned.quote {
        Some(_) => judge::given_password(found, least),
        None => judge::spoken_password(found),
    };
    let window = name_start.saturating_sub(1)..assigned.start + assigned.looked;
    secret.then(|| FoundSecret { id: kind.id(), span: assigned.start..end, window })
}

/// Finds a secret of several words: `passphrase = "…"`.
fn phrase(bytes: &[u8], kind: SecretKind, name_start: usize, at: usize) -> Option<FoundSecret> {
    let quote = bytes.get(at).copied().filter(|b| matches!(b, b'"' | b'\''))?;
    let rest = bytes.get(at + 1..)?;
    let end = rest.iter().take(PHRASE_BYTES_MAX).position(|b| *b == quote || *b == b'\n')?;
    let closed = rest.get(end) == Some(&quote) && kind == SecretKind::Password;
    let span = at + 1..at + 1 + end;
    let secret = closed && judge::passphrase(rest.get(..end)?);
    let window = name_start.saturating_sub(1)..span.end + 1;
    secret.then(|| FoundSecret { id: kind.id(), span, window })
}

/// Skips to the first line of a block: in `password: |` the value is on the next line.
fn block(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let sign = rest.strip_prefix(b"|").or_else(|| rest.strip_prefix(b">"))?;
    let sign = sign.strip_prefix(b"-").or_else(|| sign.strip_prefix(b"+")).unwrap_or(sign);
    let line = sign.strip_prefix(b"\r\n").or_else(|| sign.strip_prefix(b"\n"))?;
    let indent =
        line.iter().take(INDENT_BYTES_MAX).take_while(|b| matches!(b, b' ' | b'\t')).count();
    (indent > 0).then(|| bytes.len() - line.len() + indent)
}

fn name_start(bytes: &[u8], keyword_start: usize) -> usize {
    let floor = keyword_start.saturating_sub(NAME_BYTES_MAX);
    let before = bytes.get(floor..keyword_start).unwrap_or_default();
    let run = before.iter().rev().take_while(|b| Class::Dotted.has(**b)).count();
    keyword_start - run
}

/// Returns where the name ends, if its tail still names the secret itself.
fn name_end(bytes: &[u8], keyword_end: usize) -> Option<usize> {
    let rest = bytes.get(keyword_end..)?;
    let run = rest.iter().take(NAME_BYTES_MAX).take_while(|b| Class::Url.has(**b)).count();
    let tail = rest.get(..run)?;
    let known = |piece: &[u8]| {
        piece.iter().all(u8::is_ascii_digit)
            || SUFFIXES.split(' ').any(|suffix| piece.eq_ignore_ascii_case(suffix.as_bytes()))
    };
    tail.split(|b| matches!(b, b'_' | b'-')).all(known).then_some(keyword_end + run)
}

fn ends_with_name(before: &[u8], name: &str) -> bool {
    let trimmed = before.strip_suffix(b"_").or_else(|| before.strip_suffix(b"-"));
    let before = trimmed.unwrap_or(before);
    let start = before.len().checked_sub(name.len());
    start.is_some_and(|at| before[at..].eq_ignore_ascii_case(name.as_bytes()))
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take(GAP_BYTES_MAX).take_while(|b| matches!(b, b' ' | b'\t')).count()
}

fn starts(bytes: &[u8], at: usize, with: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(with))
}

/// Returns where the value begins, if the name is followed by something that assigns.
fn separator(bytes: &[u8], name_start: usize, name_end: usize) -> Option<usize> {
    let opened_by = name_start.checked_sub(1).and_then(|at| bytes.get(at));
    if opened_by == Some(&b'<') && bytes.get(name_end) == Some(&b'>') {
        return Some(name_end + 1);
    }
    if starts(bytes, name_start, b"--") && bytes.get(name_end) == Some(&b' ') {
        let value = skip_blanks(bytes, name_end);
        return (bytes.get(value) != Some(&b'-')).then_some(value);
    }
    let mut at = name_end;
    // The name may itself be quoted, perhaps inside an escaped string: `\"password\": …`.
    at += usize::from(starts(bytes, at, b"\\"));
    at += usize::from(matches!(bytes.get(at), Some(b'"' | b'\'' | b'`')));
    at = skip_escaped_quote(bytes, at);
    at += usize::from(starts(bytes, at, b"]"));
    at = skip_blanks(bytes, at);
    for sign in SIGNS.map(str::as_bytes) {
        if starts(bytes, at, sign) {
            // `//token:…@host` names the user of a URL, whose password has its own rule;
            // `Token::Number2` is a path.
            let user = opened_by == Some(&b'/');
            if sign == b":" && (user || starts(bytes, at, b"::")) {
                return None;
            }
            let value = skip_blanks(bytes, at + sign.len());
            let typed = if sign == b":" { after_type(bytes, value) } else { None };
            return Some(typed.unwrap_or(value));
        }
    }
    None
}

fn skip_escaped_quote(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at) != Some(&b'&') {
        return at;
    }
    let quote = ESCAPED_QUOTES.iter().find(|quote| starts(bytes, at, quote));
    at + quote.map_or(0, |quote| quote.len())
}

/// Skips a type: in `key: &str = "…"` the value comes after the second sign.
fn after_type(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let is_type = |b: &u8| b.is_ascii_alphanumeric() || b"_&<>:[]. ".contains(b);
    let run = rest.iter().take(TYPE_BYTES_MAX).take_while(|b| is_type(b)).count();
    // `a: b = c` is typed; a base64 value that ends in `=` has no blank before it.
    let assigns = run > 1 && rest.get(run - 1) == Some(&b' ') && rest.get(run) == Some(&b'=');
    assigns.then(|| skip_blanks(bytes, at + run + 1))
}

fn skip_scheme(bytes: &[u8], at: usize) -> usize {
    let quoted = at + usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    for scheme in SCHEMES {
        let end = quoted + scheme.len();
        let word = bytes.get(quoted..end).unwrap_or_default();
        if word.eq_ignore_ascii_case(scheme.as_bytes()) && bytes.get(end) == Some(&b' ') {
            return skip_blanks(bytes, end);
        }
    }
    at
}

/// A value at the place where one is expected, and how much of it was looked at.
struct Assigned {
    start: usize,
    length: usize,
    looked: usize,
    quote: Option<u8>,
}

/// Reads the head of a value: all that the decision may depend on, so that a hit costs a constant.
fn value(bytes: &[u8], at: usize) -> Option<Assigned> {
    let escaped = starts(bytes, at, b"\\\"") || starts(bytes, at, b"\\'");
    let at = skip_escaped_quote(bytes, at + usize::from(escaped));
    let quote = bytes.get(at).copied().filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    let start = at + usize::from(quote.is_some());
    let rest = bytes.get(start..)?;
    let head = rest.get(..JUDGED_BYTES_MAX).unwrap_or(rest);
    let raw = head.iter().position(|b| ends(*b, quote)).unwrap_or(head.len());
    if raw == JUDGED_BYTES_MAX {
        return Some(Assigned { start, length: raw, looked: raw, quote });
    }
    let next = rest.get(raw).copied();
    let inner = head.get(..raw)?;
    let length = match quote {
        // A blank before the closing quote means prose; no quote at all means text that was cut.
        Some(_) if next.is_some() && next != quote => return None,
        Some(_) => raw - usize::from(escaped && inner.ends_with(b"\\")),
        None => {
            // A call, an index, a type or an interpolation is code, not a value.
            let tag = rest.get(raw + 1) == Some(&b'/');
            if matches!(next, Some(b'(' | b'[' | b'{')) || (next == Some(b'<') && !tag) {
                return None;
            }
            trim_dots(inner)
        }
    };
    Some(Assigned { start, length, looked: raw + usize::from(next.is_some()), quote })
}

/// Returns how far a value goes on beyond its head. It stops before anything like a marker,
/// which the decision has not seen.
fn extend(bytes: &[u8], assigned: &Assigned) -> usize {
    let head_end = assigned.start + assigned.length;
    if assigned.length < JUDGED_BYTES_MAX {
        return head_end;
    }
    let rest = bytes.get(head_end..).unwrap_or_default();
    head_end + rest.iter().take_while(|b| **b != b'[' && !ends(**b, assigned.quote)).count()
}

fn ends(b: u8, quote: Option<u8>) -> bool {
    match quote {
        Some(quote) => b == quote || b.is_ascii_whitespace() || b.is_ascii_control(),
        None => ends_bare(b),
    }
}

fn ends_bare(b: u8) -> bool {
    b.is_ascii_whitespace() || b.is_ascii_control() || b"\"'`,;&|<>(){}[]\\".contains(&b)
}

/// The full stop or colon after a value belongs to the sentence.
fn trim_dots(value: &[u8]) -> usize {
    value.len() - value.iter().rev().take_while(|b| matches!(b, b'.' | b':')).count()
}

fn is_aws_secret(kind: SecretKind, name: &[u8], value: &[u8]) -> bool {
    let named = kind == SecretKind::Secret || kind == SecretKind::Key;
    let lower = name.to_ascii_lowercase();
    let has = |part: &[u8]| lower.windows(part.len()).any(|w| w == part);
    named
        && value.len() == AWS_SECRET_BYTES
        && has(b"secret")
        && (has(b"aws") || has(b"access"))
        && value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
        && judge::tokenish(value, true)
}
