//! How long a directive counts, in the words that people write.

use crate::ids::shorten;
use crate::refusal::Refusal;
use crate::time::{Millis, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MS_PER_DAY: i64 = 86_400_000;

/// How long something counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveDuration {
    /// Without end.
    Forever,
    /// So long from now.
    For(Millis),
    /// Until the local clock shows this time of day, in milliseconds since midnight.
    Until(i64),
}

/// When something ends, as far as it is known without the clock of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Never.
    #[default]
    Never,
    /// So long after now, by the clock of the store.
    After(Millis),
    /// Then.
    At(Timestamp),
}

impl End {
    /// Returns when that is.
    pub fn seen_from(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            End::Never => None,
            End::After(length) => Some(now.plus(length)),
            End::At(time) => Some(time),
        }
    }
}

/// Tells the local time: the instants at which the local clock shows a time of day (in milliseconds since
/// midnight) on the day that many days after the local day of an instant. Both are the same but where clocks are
/// set back; where they are set forward past it, both are the first instant after the gap or later.
pub type LocalTime<'l> = &'l dyn Fn(Timestamp, i64, i64) -> [Timestamp; 2];

impl DirectiveDuration {
    /// Reads `2h`, `for 2 hours`, `until 18:00`, `until midnight`, `indefinitely`.
    pub fn parse(text: &str) -> Result<DirectiveDuration, Refusal> {
        let lower = text.trim().to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let read = match words.as_slice() {
            ["indefinitely" | "forever" | "indefinite"] => Some(DirectiveDuration::Forever),
            ["until", "midnight"] => Some(DirectiveDuration::Until(MS_PER_DAY - 1)),
            ["until", time] => time_of_day(time).map(DirectiveDuration::Until),
            ["for", length] | [length] => short(length).map(DirectiveDuration::For),
            ["for", number, unit] | [number, unit] => {
                long(number, unit).map(DirectiveDuration::For)
            }
            _ => None,
        };
        match read {
            Some(DirectiveDuration::For(length)) if length == Millis::default() => {
                Err(Refusal::input("the duration is zero")
                    .hint("use at least a second, such as 90s"))
            }
            Some(lasting) => Ok(lasting),
            None => Err(Refusal::input(format!("duration {:?} is not understood", shorten(text)))
                .hint(
                    "use one of: 90s, 30m, 2h, 7d, 'for 2 hours', 'until 18:00', 'until midnight', \
                     indefinitely",
                )),
        }
    }

    /// Returns when that ends, with the local clock at hand.
    pub fn end(self, now: Timestamp, local: LocalTime<'_>) -> End {
        match self {
            DirectiveDuration::Forever => End::Never,
            DirectiveDuration::For(length) => End::After(length),
            DirectiveDuration::Until(time) => {
                let coming = |days: i64| local(now, days, time).into_iter().find(|at| *at > now);
                // Where no clock shows it twice, the day after tomorrow is never needed.
                let end = coming(0).or_else(|| coming(1)).or_else(|| coming(2));
                End::At(end.unwrap_or_else(|| now.plus(Millis::from_ms(MS_PER_DAY))))
            }
        }
    }
}

/// Reads a length of time in one word.
fn short(text: &str) -> Option<Millis> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    // A bare number could be anything.
    if unit.is_empty() { None } else { Millis::parse(text).or_else(|| joined(text, unit)) }
}

/// Reads `2hours`.
fn joined(text: &str, unit: &str) -> Option<Millis> {
    long(text.strip_suffix(unit)?, unit)
}

fn long(number: &str, unit: &str) -> Option<Millis> {
    let seconds = match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600,
        "d" | "day" | "days" => 86_400,
        "week" | "weeks" => 7 * 86_400,
        _ => return None,
    };
    let number: i64 = if matches!(number, "a" | "an" | "one") {
        1
    } else if number.bytes().all(|b| b.is_ascii_digit()) {
        number.parse().ok()?
    } else {
        return None;
    };
    number.checked_mul(seconds)?.checked_mul(1000).map(Millis::from_ms)
}

/// Reads `18:00` or `9:05` as milliseconds since midnight.
fn time_of_day(text: &str) -> Option<i64> {
    let (hour, minute) = text.split_once(':')?;
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !(1..=2).contains(&hour.len()) || minute.len() != 2 || !digits(hour) || !digits(minute) {
        return None;
    }
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60).then_some((hour * 60 + minute) * 60_000)
}

/// The local time of a place that never sets its clocks, by its distance to UTC.
pub fn fixed_offset(offset_ms: i64) -> impl Fn(Timestamp, i64, i64) -> [Timestamp; 2] {
    move |at, days, time| {
        let day = (at.ms() + offset_ms).div_euclid(MS_PER_DAY) + days;
        [Timestamp::from_ms(day * MS_PER_DAY + time - offset_ms); 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn until(text: &str, now: &str, offset_ms: i64) -> String {
        let local = fixed_offset(offset_ms);
        let end = DirectiveDuration::parse(text).unwrap().end(at(now), &local);
        let End::At(time) = end else { panic!("{text}: {end:?}") };
        time.to_string()
    }

    #[test]
    fn lengths_of_time_are_read_in_every_form() {
        let minutes = |n: i64| DirectiveDuration::For(Millis::from_secs(n * 60));
        for (text, wanted) in [
            ("2h", minutes(120)),
            ("30m", minutes(30)),
            ("7d", minutes(7 * 1440)),
            ("90s", DirectiveDuration::For(Millis::from_secs(90))),
            ("for 2 hours", minutes(120)),
            ("for 1 hour", minutes(60)),
            ("For 8 Hours", minutes(480)),
            ("for 45 minutes", minutes(45)),
            ("for 1 minute", minutes(1)),
            ("for 5 min", minutes(5)),
            ("for 2 hr", minutes(120)),
            ("for 3 days", minutes(3 * 1440)),
            ("for 1 day", minutes(1440)),
            ("for 2h", minutes(120)),
            ("2 hours", minutes(120)),
            ("2hours", minutes(120)),
            ("for an hour", minutes(60)),
            ("  for   2   hours ", minutes(120)),
        ] {
            assert_eq!(DirectiveDuration::parse(text).unwrap(), wanted, "{text}");
        }
        for text in ["indefinitely", "forever", " Forever "] {
            assert_eq!(
                DirectiveDuration::parse(text).unwrap(),
                DirectiveDuration::Forever,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_length_of_time_is_refused_with_the_forms_that_are() {
        for text in [
            "",
            "2",
            "for",
            "for two moons",
            "0h",
            "for 0 minutes",
            "-2h",
            "until",
            "until noon",
            "until 24:00",
            "until 9:5",
            "until 12:60",
            "until 1:000",
            "until +9:00",
            "2h 30m",
            "99999999999999999999d",
            "for 9223372036854775807 days",
            "until 18:00 tomorrow",
            "é",
        ] {
            let refusal = DirectiveDuration::parse(text).unwrap_err();
            assert_eq!(refusal.code.exit_status(), 2, "{text}");
        }
    }

    #[test]
    fn until_midnight_is_the_last_moment_of_the_local_day() {
        assert_eq!(until("until midnight", "2026-03-04T10:00:00Z", 0), "2026-03-04T23:59:59.999Z");
        // In Tokyo it is the next day already.
        assert_eq!(
            until("until midnight", "2026-03-04T20:00:00Z", 9 * HOUR),
            "2026-03-05T14:59:59.999Z"
        );
        assert_eq!(
            until("until midnight", "2026-03-04T02:00:00Z", -5 * HOUR),
            "2026-03-04T04:59:59.999Z"
        );
    }

    #[test]
    fn until_a_time_of_day_is_today_or_else_tomorrow() {
        assert_eq!(until("until 18:00", "2026-03-04T10:00:00Z", 0), "2026-03-04T18:00:00.000Z");
        assert_eq!(until("until 9:05", "2026-03-04T10:00:00Z", 0), "2026-03-05T09:05:00.000Z");
        assert_eq!(until("until 10:00", "2026-03-04T10:00:00Z", 0), "2026-03-05T10:00:00.000Z");
        // Across midnight, the month and the year.
        assert_eq!(until("until 00:30", "2026-12-31T23:45:00Z", 0), "2027-01-01T00:30:00.000Z");
        assert_eq!(until("until 00:00", "2026-02-28T23:45:00Z", 0), "2026-03-01T00:00:00.000Z");
        assert_eq!(
            until("until 01:00", "2026-03-04T22:30:00Z", 2 * HOUR),
            "2026-03-04T23:00:00.000Z"
        );
    }

    #[test]
    fn where_clocks_are_set_back_the_second_showing_counts_once_the_first_is_past() {
        // Clocks go from 03:00 back to 02:00 at 01:00 UTC: 02:30 is shown at 00:30 and 01:30 UTC.
        let local = |_: Timestamp, days: i64, _: i64| {
            let first = at("2026-10-25T00:30:00Z").plus(Millis::from_ms(days * MS_PER_DAY));
            let second = if days == 0 { at("2026-10-25T01:30:00Z") } else { first };
            [first, second]
        };
        let lasting = DirectiveDuration::parse("until 02:30").unwrap();
        for (now, wanted) in [
            ("2026-10-25T00:10:00Z", "2026-10-25T00:30:00Z"),
            ("2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z"),
            ("2026-10-25T02:10:00Z", "2026-10-26T00:30:00Z"),
        ] {
            assert_eq!(lasting.end(at(now), &local), End::At(at(wanted)), "{now}");
        }
    }
}
