//! Secrets where no sign assigns them: behind a flag of a program that takes a password there, in a `netrc`, in cookies.

use std::ops::Range;

use super::judge;
use super::scan::FoundSecret;

/// Bounds of what is looked at after a keyword, so that a hit costs a constant.
const LINE_BYTES_MAX: usize = 512;
const COOKIES_BYTES_MAX: usize = 4096;
/// The shortest value behind a flag that is taken for a password.
const FLAG_VALUE_MIN: usize = 6;
/// The shortest value of a cookie that is taken for a session.
const COOKIE_MIN: usize = 16;

/// A flag that takes a password.
pub(super) struct Flag {
    name: &'static [u8],
    /// Whether the value may follow without a blank.
    glued: bool,
    /// Whether the value may be the next word.
    apart: bool,
    /// What stands before the password in the value, such as the user and a colon.
    after: Option<u8>,
}

const fn flag(name: &'static str, glued: bool, apart: bool, after: Option<u8>) -> Flag {
    Flag { name: name.as_bytes(), glued, apart, after }
}

pub(super) const CURL: &[Flag] = &[
    flag("-u", true, true, Some(b':')),
    flag("--user", true, true, Some(b':')),
    flag("--proxy-user", true, true, Some(b':')),
    flag("-b", true, true, Some(b'=')),
    flag("--cookie", true, true, Some(b'=')),
];
pub(super) const SSHPASS: &[Flag] = &[flag("-p", true, true, None)];
/// A blank after `-p` makes mysql ask, and what follows is the database; people write it all the same.
pub(super) const MYSQL: &[Flag] = &[flag("-p", true, true, None)];
pub(super) const REDIS: &[Flag] = &[flag("-a", false, true, None)];
pub(super) const DOCKER: &[Flag] = &[flag("-p", true, true, None)];

fn blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t')
}

fn quote_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied().filter(|b| matches!(b, b'"' | b'\'' | b'`'))
}

/// Returns where a word begins and ends; a quoted one without its quotes.
fn word(bytes: &[u8], at: usize) -> Range<usize> {
    let quote = quote_at(bytes, at);
    let start = at + usize::from(quote.is_some());
    let rest = bytes.get(start..).unwrap_or_default();
    let ends = |b: &u8| match quote {
        Some(quote) => *b == quote || *b == b'\n',
        None => b.is_ascii_whitespace() || b"\"'`|;<>()\\".contains(b),
    };
    let length = rest.iter().take(LINE_BYTES_MAX).position(ends);
    start..start + length.unwrap_or_else(|| rest.len().min(LINE_BYTES_MAX))
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take(LINE_BYTES_MAX).take_while(|b| blank(**b)).count()
}

/// Finds the password behind a flag on the rest of a command line.
pub(super) fn behind_flag(
    bytes: &[u8],
    flags: &[Flag],
    keyword: Range<usize>,
) -> Option<FoundSecret> {
    let rest = bytes.get(keyword.end..)?;
    let line = rest.iter().take(LINE_BYTES_MAX).position(|b| *b == b'\n');
    let end = keyword.end + line.unwrap_or_else(|| rest.len().min(LINE_BYTES_MAX));
    let mut at = keyword.end;
    while at < end {
        let begins =
            at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(|b| blank(*b));
        if begins && bytes.get(at) == Some(&b'-') {
            let found = flags.iter().find_map(|flag| value_of(bytes, flag, at));
            if let Some(span) = found.filter(|span| span.end <= end) {
                return Some(FoundSecret {
                    id: "password",
                    window: keyword.start..span.end + 1,
                    span,
                });
            }
        }
        at += 1;
    }
    None
}

fn value_of(bytes: &[u8], flag: &Flag, at: usize) -> Option<Range<usize>> {
    let after = at + flag.name.len();
    if !bytes.get(at..)?.starts_with(flag.name) {
        return None;
    }
    let value = match bytes.get(after)? {
        b if blank(*b) && flag.apart => skip_blanks(bytes, after),
        b'=' if flag.glued => after + 1,
        b if flag.glued && !blank(*b) && *b != b'-' => after,
        _ => return None,
    };
    let mut span = word(bytes, value);
    let text = bytes.get(span.clone())?;
    if text.starts_with(b"-") {
        return None;
    }
    if let Some(sign) = flag.after {
        span.start += text.iter().position(|b| *b == sign).filter(|at| *at > 0)? + 1;
    }
    judge::given_password(bytes.get(span.clone())?, FLAG_VALUE_MIN).then_some(span)
}

/// Finds the password of a `netrc`, after `login`: `login ann password …`, on one line or on two.
pub(super) fn netrc(bytes: &[u8], keyword: Range<usize>) -> Option<FoundSecret> {
    let skip = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        let space = |b: &&u8| b.is_ascii_whitespace();
        at + rest.iter().take(LINE_BYTES_MAX).take_while(space).count()
    };
    let user = word(bytes, skip(keyword.end));
    let named = skip(user.end);
    let value = bytes.get(named..)?.strip_prefix(b"password")?.first()?.is_ascii_whitespace();
    let span = word(bytes, skip(named + b"password".len()));
    let secret = value && !user.is_empty() && span.len() >= FLAG_VALUE_MIN;
    let secret = secret && !judge::placeholder(bytes.get(span.clone())?);
    secret.then(|| FoundSecret { id: "password", window: keyword.start..span.end + 1, span })
}

/// Finds the first cookie that looks like a session; what follows on its line goes with it.
pub(super) fn cookies(bytes: &[u8], keyword: Range<usize>) -> Option<FoundSecret> {
    let before = keyword.start.checked_sub(1).and_then(|at| bytes.get(at));
    if before.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        return None;
    }
    let rest = bytes.get(keyword.end..)?;
    let head = rest.get(..COOKIES_BYTES_MAX).unwrap_or(rest);
    let ends = |b: &u8| b.is_ascii_control() || matches!(b, b'"' | b'\'' | b'`' | b'[' | b'\\');
    let length = head.iter().position(ends).unwrap_or(head.len());
    let mut at = 0;
    for cookie in head.get(..length)?.split(|b| *b == b';') {
        let sign = cookie.iter().position(|b| *b == b'=');
        if let Some(sign) = sign.filter(|sign| {
            let value = cookie.get(sign + 1..).unwrap_or_default();
            value.len() >= COOKIE_MIN && !value.contains(&b' ') && judge::random_value(value)
        }) {
            let span = keyword.end + at + sign + 1..keyword.end + length;
            return Some(FoundSecret {
                id: "cookie",
                window: keyword.start.saturating_sub(1)..span.end + 1,
                span,
            });
        }
        at += cookie.len() + 1;
    }
    None
}
