//! How long a directive counts, in the words that people write.

use comity_core::directive_duration::{DirectiveDuration, End};
use comity_core::time::{Millis, Timestamp};

const MS_PER_DAY: i64 = 86_400_000;

/// The local time of a place that never sets its clocks, by its distance to UTC.
pub(super) fn fixed_offset(offset_ms: i64) -> impl Fn(Timestamp, i64, i64) -> [Timestamp; 2] {
    move |at, days, time| {
        let day = (at.ms() + offset_ms).div_euclid(MS_PER_DAY) + days;
        [Timestamp::from_ms(day * MS_PER_DAY + time - offset_ms); 2]
    }
}

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
        assert_eq!(DirectiveDuration::parse(text).unwrap(), DirectiveDuration::Forever, "{text}");
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
    assert_eq!(until("until 01:00", "2026-03-04T22:30:00Z", 2 * HOUR), "2026-03-04T23:00:00.000Z");
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
