//! Points in time and lengths of time, as plain numbers. The clock itself is an argument everywhere.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

const MS_PER_DAY: i64 = 86_400_000;
/// The last instant RFC 3339 can write: the end of the year 9999.
const MAX_MS: i64 = 253_402_300_799_999;

/// Milliseconds since 1970-01-01T00:00:00Z, never negative and never after the year 9999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Counts the days in UTC since 1970.
    pub fn day(self) -> i64 {
        self.0.div_euclid(MS_PER_DAY)
    }

    /// Counts the months in UTC since the year 0.
    pub fn month(self) -> i64 {
        let (year, month, _) = civil_from_days(self.day());
        year * 12 + month - 1
    }

    /// Makes a timestamp, clamped into the range that RFC 3339 can write.
    pub fn from_ms(ms: i64) -> Timestamp {
        Timestamp(ms.clamp(0, MAX_MS))
    }

    pub fn ms(self) -> i64 {
        self.0
    }

    /// Returns this instant moved forward, saturating at the end of the year 9999.
    pub fn plus(self, length: Millis) -> Timestamp {
        Timestamp::from_ms(self.0.saturating_add(length.0))
    }

    /// Returns this instant moved back, saturating at the beginning of time.
    pub fn minus(self, length: Millis) -> Timestamp {
        Timestamp::from_ms(self.0.saturating_sub(length.0))
    }

    /// Returns how long it is from `earlier` to this instant, zero when it is not later.
    pub fn since(self, earlier: Timestamp) -> Millis {
        Millis(self.0.saturating_sub(earlier.0).max(0))
    }

    /// Reads an RFC 3339 time; the offset may be `Z` or numeric, the fraction of any length.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Option<i64> {
            let part = bytes.get(from..to)?;
            if !part.iter().all(u8::is_ascii_digit) {
                return None;
            }
            std::str::from_utf8(part).ok()?.parse().ok()
        };
        let sep = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|b| wanted.contains(b));
        if !(sep(4, b"-") && sep(7, b"-") && sep(10, b"Tt ") && sep(13, b":") && sep(16, b":")) {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let (fraction_ms, rest) = parse_fraction(text.get(19..)?)?;
        let offset_ms = parse_offset(rest)?;
        let day_ms = (hour * 3600 + minute * 60 + second.min(59)) * 1000 + fraction_ms;
        let ms = days_from_civil(year, month, day) * MS_PER_DAY + day_ms - offset_ms;
        (0..=MAX_MS).contains(&ms).then_some(Timestamp(ms))
    }
}

fn parse_fraction(rest: &str) -> Option<(i64, &str)> {
    let Some(tail) = rest.strip_prefix('.') else { return Some((0, rest)) };
    let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let (fraction, after) = tail.split_at(digits);
    let padded: String = fraction.chars().chain("000".chars()).take(3).collect();
    Some((padded.parse().ok()?, after))
}

fn parse_offset(rest: &str) -> Option<i64> {
    if rest == "Z" || rest == "z" {
        return Some(0);
    }
    let sign = match rest.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, minutes) = rest.get(1..)?.split_once(':')?;
    // A number may carry a sign of its own; these must not.
    let two_digits = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
    if !two_digits(hours) || !two_digits(minutes) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes) * 60_000)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar, counted from March so that the
/// leap day is the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(MS_PER_DAY));
        let ms = self.0.rem_euclid(MS_PER_DAY);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        let fraction = ms % 1000;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Timestamp::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
    }
}

impl schemars::JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "RFC 3339, in UTC"})
    }
}

/// Lengths of time as callers write them: `90s`, `15m`, `24h`, `7d`, or a number of seconds.
pub mod written {
    use super::Millis;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a length of time so that nothing of it is lost.
    pub fn serialize<S: Serializer>(time: &Option<Millis>, to: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => to.collect_str(&format_args!("{}ms", time.ms())),
            None => to.serialize_none(),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Text(String),
        Seconds(i64),
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Millis>, D::Error> {
        let wrong = || serde::de::Error::custom("not a length of time such as 90s, 15m, 24h or 7d");
        match Option::<Given>::deserialize(from)? {
            None => Ok(None),
            Some(Given::Text(text)) => Millis::parse(&text).map(Some).ok_or_else(wrong),
            Some(Given::Seconds(seconds)) if seconds >= 0 => Ok(Some(Millis::from_secs(seconds))),
            Some(Given::Seconds(_)) => Err(wrong()),
        }
    }
}

/// A length of time in milliseconds, never negative.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
pub struct Millis(i64);

impl Millis {
    /// Makes a length of time from milliseconds; negative ones become zero.
    pub const fn from_ms(ms: i64) -> Millis {
        Millis(if ms < 0 { 0 } else { ms })
    }

    pub const fn from_secs(secs: i64) -> Millis {
        Millis::from_ms(secs.saturating_mul(1000))
    }

    pub const fn ms(self) -> i64 {
        self.0
    }

    /// Returns the seconds, rounded up, so that a live lease never shows a life of zero.
    pub const fn secs_ceil(self) -> i64 {
        self.0.saturating_add(999) / 1000
    }

    /// Reads `90s`, `15m`, `24h`, `7d`, `500ms` or bare seconds.
    pub fn parse(text: &str) -> Option<Millis> {
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let factor = match unit {
            "ms" => 1,
            "" | "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => MS_PER_DAY,
            _ => return None,
        };
        number.parse::<i64>().ok()?.checked_mul(factor).map(Millis)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.secs_ceil();
        match secs {
            s if s >= 86_400 && s % 86_400 == 0 => write!(f, "{}d", s / 86_400),
            s if s >= 3600 && s % 3600 == 0 => write!(f, "{}h", s / 3600),
            s if s >= 86_400 => write!(f, "{}d {}h", s / 86_400, s % 86_400 / 3600),
            s if s >= 3600 => write!(f, "{}h {}m", s / 3600, s % 3600 / 60),
            s if s >= 60 && s % 60 == 0 => write!(f, "{}m", s / 60),
            s if s >= 60 => write!(f, "{}m {}s", s / 60, s % 60),
            s => write!(f, "{s}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_and_read_back_unchanged() {
        for text in
            ["1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "9999-12-31T23:59:59.999Z"]
        {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Timestamp::parse("2025-09-03T12:41:00+02:00").unwrap().to_string(),
            "2025-09-03T10:41:00.000Z"
        );
    }

    #[test]
    fn a_malformed_time_is_refused() {
        for text in [
            "",
            "2025",
            "2025-13-01T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2025-01-01T24:00:00Z",
            "2025-01-01T00:00:00",
            "2025-01-01T00:00:00.Z",
            "1969-12-31T23:59:59Z",
            "é025-01-01T00:00:00Z",
            "2025-01-15T10:30:00+-1:-5",
            "2025-01-15T10:30:00++1:00",
            "2025-01-15T10:30:00-+1:+5",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn durations_take_the_units_of_the_interface() {
        assert_eq!(Millis::parse("90s"), Some(Millis::from_secs(90)));
        assert_eq!(Millis::parse("15m"), Some(Millis::from_secs(900)));
        assert_eq!(Millis::parse("24h"), Some(Millis::from_secs(86_400)));
        assert_eq!(Millis::parse("7d"), Some(Millis::from_secs(604_800)));
        for bad in ["", "s", "-1s", "1 s", "1w", "99999999999999999999d", "9223372036854775807d"] {
            assert_eq!(Millis::parse(bad), None, "{bad}");
        }
        assert_eq!(Millis::from_secs(905).to_string(), "15m 5s");
    }
}
