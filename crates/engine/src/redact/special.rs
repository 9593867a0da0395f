//! Secrets with an inner structure: JSON web tokens, PEM keys, URL passwords, bot tokens.

use std::ops::Range;

use super::rules::{Class, Edge, SecretKind, Special};
use super::scan::{FoundSecret, edge_before};
use super::{command_line, judge};

/// The shortest part of a JSON web token worth hiding.
const JWT_PART_MIN: usize = 8;

const PEM_LABEL_MAX: usize = 48;
const PEM_BODY_MIN: usize = 16;
/// Body lines are 64 or 76 long; a shorter run that is not the last is prose.
const PEM_RUN_MIN: usize = 20;
const PEM_HEADER_BYTES_MAX: usize = 128;
const PEM_HEADERS_MAX: usize = 6;
const PEM_GAP_MAX: usize = 128;

const URL_USERINFO_MAX: usize = 1024;

const TELEGRAM_DIGITS: Range<usize> = 8..11;
const TELEGRAM_BODY: usize = 35;

const AZURE_HEAD: usize = 4;
const AZURE_BODY_MIN: usize = 31;

const DISCORD_ID: Range<usize> = 23..29;
const DISCORD_TIME: usize = 6;
const DISCORD_MAC_MIN: usize = 27;

const BEARER_MIN: usize = 16;

/// Runs one special check at a hit of its keyword.
pub(super) fn at(bytes: &[u8], which: Special, keyword: Range<usize>) -> Option<FoundSecret> {
    match which {
        Special::Jwt => jwt(bytes, keyword.start),
        Special::Pem => pem(bytes, keyword),
        Special::UrlPassword => url_password(bytes, keyword),
        Special::Bearer => bearer(bytes, keyword),
        Special::Telegram => telegram(bytes, keyword.start),
        Special::AzureClient => azure_client(bytes, keyword),
        Special::Discord => discord(bytes, keyword.start),
        Special::Cookie => command_line::cookies(bytes, keyword),
        Special::Netrc => command_line::netrc(bytes, keyword),
        Special::Curl => command_line::behind_flag(bytes, command_line::CURL, keyword),
        Special::Sshpass => command_line::behind_flag(bytes, command_line::SSHPASS, keyword),
        Special::Mysql => command_line::behind_flag(bytes, command_line::MYSQL, keyword),
        Special::Redis => command_line::behind_flag(bytes, command_line::REDIS, keyword),
        Special::Docker => command_line::behind_flag(bytes, command_line::DOCKER, keyword),
    }
}

fn run(bytes: &[u8], at: usize, class: Class) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|b| class.has(**b)).count()
}

/// As [`run`], but gives up counting at a limit.
fn run_max(bytes: &[u8], at: usize, class: Class, most: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take(most).take_while(|b| class.has(**b)).count()
}

fn jwt(bytes: &[u8], start: usize) -> Option<FoundSecret> {
    // A dash or underscore before would make this the middle of another run: looking at every
    // such place again would cost the square of the run.
    let window_start = edge_before(bytes, start, Edge::Strict)?;
    let header = run(bytes, start, Class::Url);
    let dot = start + header;
    if header < JWT_PART_MIN || bytes.get(dot) != Some(&b'.') {
        return None;
    }
    let payload = run(bytes, dot + 1, Class::Url);
    let second = dot + 1 + payload;
    if payload < JWT_PART_MIN || !judge::tokenish(bytes.get(start..dot)?, true) {
        return None;
    }
    // The signature, if the text was not cut before it.
    let signed = bytes.get(second) == Some(&b'.');
    let end = if signed { second + run(bytes, second, Class::Dotted) } else { second };
    let end = end - usize::from(bytes.get(end - 1) == Some(&b'.'));
    let two_parts = bytes.get(dot + 1..)?.starts_with(b"eyJ");
    let found = FoundSecret { id: "jwt", span: start..end, window: window_start..end };
    (signed || two_parts).then_some(found)
}

fn pem(bytes: &[u8], keyword: Range<usize>) -> Option<FoundSecret> {
    let rest = bytes.get(keyword.end..)?;
    let is_label = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b' ';
    let length = rest.iter().take(PEM_LABEL_MAX).take_while(|b| is_label(b)).count();
    let label = rest.get(..length)?;
    let private = label.windows(11).any(|w| w == b"PRIVATE KEY");
    if !private || !rest.get(length..)?.starts_with(b"-----") {
        return None;
    }
    let (end, body) = pem_body(bytes, keyword.end + length + 5);
    let span = keyword.start..end;
    (body >= PEM_BODY_MIN).then(|| FoundSecret { id: "private-key", window: span.clone(), span })
}

/// Follows the body to its end, or as far as it looks like one; returns the end and its size.
fn pem_body(bytes: &[u8], start: usize) -> (usize, usize) {
    let (mut end, mut body, mut headers) = (start, 0, 0);
    loop {
        let at = pem_gap(bytes, end);
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.starts_with(b"-----END") {
            let tail = rest.iter().skip(8).take(PEM_LABEL_MAX);
            let label = 8 + tail.take_while(|b| **b == b' ' || b.is_ascii_uppercase()).count();
            let dashes = rest.iter().skip(label).take(5).take_while(|b| **b == b'-').count();
            return (at + label + dashes, body);
        }
        let is_body = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
        let length = rest.iter().take_while(is_body).count();
        let padded = rest.first() == Some(&b'=') || (length > 0 && rest[length - 1] == b'=');
        let after = pem_gap(bytes, at + length);
        let last = bytes.get(after..).is_some_and(|rest| rest.starts_with(b"-----END"));
        if length >= PEM_RUN_MIN || (length > 0 && (padded || last)) {
            body += length;
            end = at + length;
        } else if headers < PEM_HEADERS_MAX && body == 0 && is_pem_header(rest) {
            headers += 1;
            let line = rest.iter().take(PEM_HEADER_BYTES_MAX);
            end = at + line.take_while(|b| !matches!(b, b'\n' | b'\\')).count();
        } else {
            return (end, body);
        }
    }
}

fn is_pem_header(rest: &[u8]) -> bool {
    let names = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:"];
    names.iter().any(|name| rest.starts_with(name.as_bytes()))
}

/// Skips what stands between two lines of a key: line ends, also escaped ones, and the marks of
/// diffs, quotes and string literals.
fn pem_gap(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at - start < PEM_GAP_MAX {
        let rest = bytes.get(at..).unwrap_or_default();
        at += match rest {
            _ if rest.starts_with(b"-----END") => return at,
            [b'\\', b'n' | b'r' | b't', ..] => 2,
            [b'\\' | b'"' | b'\'' | b',' | b'>' | b'|' | b'#' | b'*' | b'-', ..] => 1,
            [b, ..] if b.is_ascii_whitespace() => 1,
            _ => return at,
        };
    }
    at
}

/// Hides the password of `scheme://user:password@host`, keeping user and host.
fn url_password(bytes: &[u8], keyword: Range<usize>) -> Option<FoundSecret> {
    let scheme = keyword.start.checked_sub(1).and_then(|at| bytes.get(at));
    if !scheme.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let rest = bytes.get(keyword.end..)?;
    let ends =
        |b: &u8| b.is_ascii_whitespace() || b.is_ascii_control() || b"/?#\"'`<>\\|,;()".contains(b);
    let userinfo = rest.iter().take(URL_USERINFO_MAX).take_while(|b| !ends(b));
    let authority = rest.get(..userinfo.count())?;
    let sign = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority.get(..sign)?.iter().position(|b| *b == b':')?;
    let password = authority.get(colon + 1..sign)?;
    let reference = matches!(password.first(), None | Some(b'$' | b'{' | b'*' | b'['));
    let format = password.starts_with(b"%s") || password.starts_with(b"xxx");
    if reference || format {
        return None;
    }
    let span = keyword.end + colon + 1..keyword.end + sign;
    let window = keyword.start - 1..span.end + 1;
    Some(FoundSecret { id: "url-password", span, window })
}

fn bearer(bytes: &[u8], keyword: Range<usize>) -> Option<FoundSecret> {
    let window_start = edge_before(bytes, keyword.start, Edge::Loose)?;
    let rest = bytes.get(keyword.end..)?;
    let is_token = |b: &&u8| Class::Dotted.has(**b) || b"~+/=".contains(b);
    let body = rest.iter().take(BEARER_MIN).take_while(is_token).count();
    let head = rest.get(..body)?;
    let likely = body == BEARER_MIN && !judge::wordy(head) && judge::tokenish(head, true);
    if !likely || judge::placeholder(head) {
        return None;
    }
    let end = keyword.end + rest.iter().take_while(is_token).count();
    let id = SecretKind::Authorization.id();
    Some(FoundSecret { id, span: keyword.end..end, window: window_start..end })
}

/// `<8 to 10 digits>:AA<33 more>`.
fn telegram(bytes: &[u8], colon: usize) -> Option<FoundSecret> {
    let floor = colon.saturating_sub(TELEGRAM_DIGITS.end);
    let digits = bytes.get(floor..colon)?;
    let digits = digits.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let start = colon - digits;
    let body = run_max(bytes, colon + 1, Class::Url, TELEGRAM_BODY + 1);
    if !TELEGRAM_DIGITS.contains(&digits) || body != TELEGRAM_BODY {
        return None;
    }
    // The API puts the token into a path right after the word `bot`.
    let bot = start.checked_sub(3).and_then(|at| bytes.get(at..start)) == Some(b"bot");
    let window_start = if bot { start - 3 } else { edge_before(bytes, start, Edge::Strict)? };
    let end = colon + 1 + body;
    judge::tokenish(bytes.get(colon + 1..end)?, true).then(|| FoundSecret {
        id: "telegram-token",
        span: start..end,
        window: window_start..(end + 1).min(bytes.len()),
    })
}

/// `abc8Q~<31 to 34 more>`.
fn azure_client(bytes: &[u8], keyword: Range<usize>) -> Option<FoundSecret> {
    let start = keyword.start.checked_sub(AZURE_HEAD)?;
    let is_body = |b: &&u8| Class::Dotted.has(**b) || **b == b'~';
    let head = bytes.get(start..keyword.start)?;
    let fits = head.iter().all(|b| is_body(&b));
    let numbered = head.last().is_some_and(u8::is_ascii_digit);
    let rest = bytes.get(keyword.end..)?;
    let short = rest.iter().take(AZURE_BODY_MIN).take_while(is_body).count() < AZURE_BODY_MIN;
    if !fits || !numbered || short || !judge::tokenish(rest.get(..AZURE_BODY_MIN)?, true) {
        return None;
    }
    let end = keyword.end + rest.iter().take_while(is_body).count();
    Some(FoundSecret { id: "azure-client-secret", span: start..end, window: start..end })
}

/// `<base64 of a user id>.<6>.<27 or more>`.
fn discord(bytes: &[u8], start: usize) -> Option<FoundSecret> {
    let window_start = edge_before(bytes, start, Edge::Strict)?;
    let id = run_max(bytes, start, Class::Alnum, DISCORD_ID.end);
    let time_at = start + id + 1;
    let time = run_max(bytes, time_at, Class::Url, DISCORD_TIME + 1);
    let mac_at = time_at + time + 1;
    let dots = bytes.get(time_at - 1) == Some(&b'.') && bytes.get(mac_at - 1) == Some(&b'.');
    if !DISCORD_ID.contains(&id) || time != DISCORD_TIME || !dots {
        return None;
    }
    let short = run_max(bytes, mac_at, Class::Url, DISCORD_MAC_MIN) < DISCORD_MAC_MIN;
    if short || !judge::tokenish(bytes.get(start..start + id)?, true) {
        return None;
    }
    let end = mac_at + run(bytes, mac_at, Class::Url);
    Some(FoundSecret { id: "discord-token", span: start..end, window: window_start..end })
}
