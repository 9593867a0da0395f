//! How the original puts values into its messages: as JavaScript turns them into text.

use super::checker::is_date;
use crate::contract::Mode;
use crate::document::{Data, Node};
use comity_core::time::Timestamp;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// From here on a number is written with an exponent.
const PLAIN_MAX: i32 = 21;
/// Zeros after the point that are still written out.
const ZEROS_MAX: i32 = 6;

pub(super) fn text_of(value: &Node, mode: Mode) -> String {
    match &value.data {
        Data::Null => "null".to_owned(),
        Data::Bool(value) => value.to_string(),
        Data::Text(text) => {
            let date = if is_date(value, mode) { date(text) } else { None };
            date.unwrap_or_else(|| text.clone())
        }
        Data::Number(numeral) => {
            match numeral.value.as_ref().and_then(serde_json::Number::as_f64) {
                Some(value) => number(value),
                None if numeral.text.to_ascii_lowercase().contains("nan") => "NaN".to_owned(),
                None if numeral.text.starts_with('-') => "-Infinity".to_owned(),
                None => "Infinity".to_owned(),
            }
        }
        Data::List(items) => {
            let item = |item: &Node| match item.data {
                Data::Null => String::new(),
                _ => text_of(item, mode),
            };
            items.iter().map(item).collect::<Vec<_>>().join(",")
        }
        Data::Map(_) => "[object Object]".to_owned(),
    }
}

/// A number by the rules of ECMAScript's `Number::toString`: the shortest digits that read back as the same number.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let point = exponent.parse::<i32>().unwrap_or(0).saturating_add(1);
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let body = if (length..=PLAIN_MAX).contains(&point) {
        format!("{digits}{}", zeros(point - length))
    } else if (1..=PLAIN_MAX).contains(&point) {
        let (before, after) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{before}.{after}")
    } else if (1 - ZEROS_MAX..=0).contains(&point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{:+}", point - 1)
    };
    format!("{sign}{body}")
}

/// A date as it is written where the clock is UTC.
fn date(text: &str) -> Option<String> {
    let read = |rest: &str| Timestamp::parse(&format!("{text}{rest}"));
    let at = read("").or_else(|| read("Z")).or_else(|| read("T00:00:00Z"))?;
    let day = usize::try_from(at.ms().div_euclid(86_400_000).saturating_add(4) % 7).ok()?;
    let written = at.to_string();
    let month: usize = written.get(5..7)?.parse().ok()?;
    Some(format!(
        "{} {} {} {} {} GMT+0000 (Coordinated Universal Time)",
        DAYS.get(day)?,
        MONTHS.get(month.checked_sub(1)?)?,
        written.get(8..10)?,
        written.get(..4)?,
        written.get(11..19)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        for (value, wanted) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (100.0, "100"),
            (0.1, "0.1"),
            (123.456, "123.456"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.000_001, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-9, "1.25e-9"),
            (12_345_678_901_234_567_890.0, "12345678901234567000"),
            (9_007_199_254_740_993.0, "9007199254740992"),
        ] {
            assert_eq!(number(value), wanted);
        }
    }

    #[test]
    fn a_date_has_its_weekday() {
        let wanted = "Wed Jan 15 2025 00:00:00 GMT+0000 (Coordinated Universal Time)";
        assert_eq!(date("2025-01-15").as_deref(), Some(wanted));
        let wanted = "Thu Jan 01 1970 01:02:03 GMT+0000 (Coordinated Universal Time)";
        assert_eq!(date("1970-01-01T01:02:03Z").as_deref(), Some(wanted));
        assert_eq!(date("soon"), None);
    }
}
