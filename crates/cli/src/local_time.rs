//! The local clock: where the words of a duration depend on it.

use comity_core::directive_duration::{DirectiveDuration, End};
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use jiff::ToSpan;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;

/// Reads how long something counts, in the words that people write, by the local clock.
pub fn end_of(duration: &str) -> Result<End, Refusal> {
    let zone = TimeZone::system();
    Ok(DirectiveDuration::parse(duration)?
        .end(crate::human::now(), &|at, days, time| instants(&zone, at, days, time)))
}

/// Returns the local date and time to the minute, such as `2026-01-31 18:05`.
pub fn date_and_time(at: Timestamp) -> String {
    in_zone(&TimeZone::system(), at)
}

fn in_zone(zone: &TimeZone, at: Timestamp) -> String {
    let Ok(instant) = jiff::Timestamp::from_millisecond(at.ms()) else { return at.to_string() };
    let local = zone.to_datetime(instant);
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}",
        local.year(),
        local.month(),
        local.day(),
        local.hour(),
        local.minute()
    )
}

/// Returns the local time of day as neo writes it, such as `6:05:09 PM`.
pub fn clock_in_words(at: Timestamp) -> String {
    let Ok(at) = jiff::Timestamp::from_millisecond(at.ms()) else { return String::new() };
    let time = TimeZone::system().to_datetime(at).time();
    let (hour, half) = (time.hour(), if time.hour() < 12 { "AM" } else { "PM" });
    let hour = if hour % 12 == 0 { 12 } else { hour % 12 };
    format!("{hour}:{:02}:{:02} {half}", time.minute(), time.second())
}

/// Returns when the clocks of a place show a time of day, on a day counted from the one of `at`: twice where
/// clocks are set back, and the first time after the gap where they are set forward.
fn instants(zone: &TimeZone, at: Timestamp, days: i64, time: i64) -> [Timestamp; 2] {
    // A year so late that it cannot be counted in is as good as never.
    found(zone, at, days, time).unwrap_or([Timestamp::from_ms(i64::MAX); 2])
}

fn found(
    zone: &TimeZone,
    at: Timestamp,
    days: i64,
    time: i64,
) -> Result<[Timestamp; 2], jiff::Error> {
    let now = jiff::Timestamp::from_millisecond(at.ms())?;
    let day = zone.to_datetime(now).date().checked_add(days.days())?;
    let wanted = DateTime::from_parts(day, Time::midnight()).checked_add(time.milliseconds())?;
    let seen = |at: jiff::Timestamp| Timestamp::from_ms(at.as_millisecond());
    let first = zone.to_ambiguous_timestamp(wanted).compatible()?;
    let second = zone.to_ambiguous_timestamp(wanted).later()?;
    Ok([seen(first), seen(second)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clocks go forward at 02:00 on 29 March 2026 and back at 03:00 on 25 October.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    #[track_caller]
    fn until(text: &str, now: &str, wanted: &str) {
        let zone = berlin();
        let now = Timestamp::parse(now).unwrap();
        let lasting = DirectiveDuration::parse(text).unwrap();
        let end = lasting.end(now, &|at, days, time| instants(&zone, at, days, time));
        let End::At(end) = end else { panic!("{text}: {end:?}") };
        assert_eq!(end.to_string(), wanted, "{text}");
    }

    #[test]
    fn a_date_is_by_the_local_clock() {
        let at = Timestamp::parse("2026-07-15T22:30:00Z").unwrap();
        assert_eq!(in_zone(&berlin(), at), "2026-07-16 00:30");
    }

    #[test]
    fn until_a_time_is_by_the_local_clock_of_its_own_day() {
        until("until 18:00", "2026-01-15T10:00:00Z", "2026-01-15T17:00:00.000Z");
        until("until 18:00", "2026-07-15T10:00:00Z", "2026-07-15T16:00:00.000Z");
        until("until 18:00", "2026-07-15T16:30:00Z", "2026-07-16T16:00:00.000Z");
        // Half past midnight, local time, on the day that has begun there already.
        until("until midnight", "2026-07-15T22:30:00Z", "2026-07-16T21:59:59.999Z");
        until("until 00:15", "2026-07-15T21:50:00Z", "2026-07-15T22:15:00.000Z");
    }

    #[test]
    fn the_night_when_clocks_go_forward_is_an_hour_shorter() {
        until("until 08:00", "2026-03-28T20:00:00Z", "2026-03-29T06:00:00.000Z");
        until("until midnight", "2026-03-29T00:30:00Z", "2026-03-29T21:59:59.999Z");
        // No clock shows 02:30: it is over when half an hour has passed after the gap.
        until("until 02:30", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00.000Z");
        until("until 02:30", "2026-03-29T01:45:00Z", "2026-03-30T00:30:00.000Z");
    }

    #[test]
    fn the_night_when_clocks_go_back_shows_an_hour_twice() {
        until("until 08:00", "2026-10-24T20:00:00Z", "2026-10-25T07:00:00.000Z");
        until("until midnight", "2026-10-24T22:30:00Z", "2026-10-25T22:59:59.999Z");
        until("until 02:30", "2026-10-25T00:10:00Z", "2026-10-25T00:30:00.000Z");
        until("until 02:30", "2026-10-25T00:45:00Z", "2026-10-25T01:30:00.000Z");
        until("until 02:30", "2026-10-25T01:45:00Z", "2026-10-26T01:30:00.000Z");
    }
}
