//! What an unquoted scalar means: as the reader of the original tools (js-yaml) resolves it.

use super::{Data, Numeral};
use serde_json::Number;

/// Gives an unquoted scalar its type.
pub(super) fn resolve(text: &str) -> Data {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Data::Null,
        "true" | "True" | "TRUE" => Data::Bool(true),
        "false" | "False" | "FALSE" => Data::Bool(false),
        _ => match number(text) {
            Some(value) => Data::Number(Numeral { text: text.to_owned(), value: value.json() }),
            None => Data::Text(text.to_owned()),
        },
    }
}

enum Parsed {
    Whole(i128),
    Real(f64),
}

impl Parsed {
    fn json(&self) -> Option<Number> {
        match self {
            Parsed::Whole(n) => match (i64::try_from(*n), u64::try_from(*n)) {
                (Ok(n), _) => Some(Number::from(n)),
                (_, Ok(n)) => Some(Number::from(n)),
                #[expect(clippy::cast_precision_loss, reason = "as the original reader does")]
                _ => Number::from_f64(*n as f64),
            },
            Parsed::Real(n) => Number::from_f64(*n),
        }
    }
}

fn number(text: &str) -> Option<Parsed> {
    let first = text.bytes().next()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) || text.ends_with('_') {
        return None;
    }
    whole(text).map(Parsed::Whole).or_else(|| real(text).map(Parsed::Real))
}

fn whole(text: &str) -> Option<i128> {
    let (sign, radix, plain) = digits(text)?;
    i128::from_str_radix(&plain, radix).ok().map(|n| sign * n)
}

/// Takes a whole number apart, however large it is: sign, base and digits.
fn digits(text: &str) -> Option<(i128, u32, String)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0b") => (2, digits.get(2..)?),
        Some("0o") => (8, digits.get(2..)?),
        Some("0x") => (16, digits.get(2..)?),
        _ => (10, digits),
    };
    if digits.ends_with('_') || (radix == 10 && digits.starts_with('_')) {
        return None;
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    let is_number = !plain.is_empty() && plain.chars().all(|c| c.is_digit(radix));
    is_number.then_some((sign, radix, plain))
}

/// Tells whether a text may be tagged `!!int`.
pub(super) fn is_int(text: &str) -> bool {
    digits(text).is_some()
}

/// Tells whether a text may be tagged `!!float`: in base ten.
pub(super) fn is_float(text: &str) -> bool {
    !text.ends_with('_') && real(text).is_some()
}

fn real(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match rest {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if rest.len() == text.len() => return Some(f64::NAN),
        _ => {}
    }
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(place) => (rest.get(..place)?, rest.get(place + 1..)),
        None => (rest, None),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let starts = before.bytes().next().or(after.bytes().next())?;
    // A sign stands before digits only: `-.5` is a text.
    let is_bare = before.is_empty() && rest.len() < text.len();
    if is_bare || !digits(before) || !digits(after) || !starts.is_ascii_digit() {
        return None;
    }
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    let plain: String = rest.chars().filter(|c| *c != '_').collect();
    plain.parse::<f64>().ok().map(|n| sign * n)
}

/// Tells whether an unquoted text is one that many readers turn into a date: `2025-01-15` or
/// `2025-01-15T10:30:00Z`.
pub fn looks_like_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let dated = is(0..4) && bytes.get(4) == Some(&b'-');
    if !dated {
        return false;
    }
    if text.len() == 10 {
        return is(5..7) && bytes.get(7) == Some(&b'-') && is(8..10);
    }
    let (date, rest) = match text.find(['T', 't', ' ', '\t']) {
        Some(place) => (text.get(..place).unwrap_or(""), text.get(place + 1..).unwrap_or("")),
        None => return false,
    };
    let parts: Vec<&str> = date.split('-').collect();
    let short =
        |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let clock = rest.trim_start_matches([' ', '\t']);
    parts.len() == 3
        && parts.iter().skip(1).all(short)
        && clock.split(':').count() >= 3
        && clock.bytes().next().is_some_and(|b| b.is_ascii_digit())
        && clock.bytes().all(|b| b.is_ascii_digit() || b":.zZ+- \t".contains(&b))
}
