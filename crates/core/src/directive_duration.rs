//! How long a directive counts, in the words that people write.

use crate::ids::shorten;
use crate::refusal::Refusal;
use crate::time::{Millis, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MS_PER_DAY: i64 = 86_400_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveDuration {
    Forever,
    For(Millis),
    /// Until the local clock shows this time of day, in milliseconds since midnight.
    Until(i64),
}

/// When something ends, as far as it is known without the clock of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It counts until somebody removes it.
    #[default]
    Never,
    /// So long after now, by the clock of the store.
    After(Millis),
    At(Timestamp),
}

impl End {
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
