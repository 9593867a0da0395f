//! The time of a transaction, and whether the host slept or its clock jumped since the last look.

use crate::clock::Reading;
use comity_core::facts::Moment;
use comity_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A reading is noted at most so often, and often enough to tell a sleep from ordinary drift.
const NOTE_EVERY_MS: i64 = 10_000;
/// When clocks differ by more than this, one was set or the host slept.
const JUMP_MS: i64 = 5_000;

/// The last noted look at the clocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClockNote {
    wall_ms: i64,
    boot_ms: i64,
    slept_ms: i64,
    boot_id: String,
    woke_at: Option<i64>,
}

impl ClockNote {
    pub(crate) fn of(reading: &Reading, woke_at: Option<Timestamp>) -> ClockNote {
        ClockNote {
            wall_ms: reading.wall_ms,
            boot_ms: reading.boot_ms,
            slept_ms: reading.slept_ms,
            boot_id: reading.boot_id.clone(),
            woke_at: woke_at.map(Timestamp::ms),
        }
    }

    /// On a host that does not name its boots, an uptime that goes back means a new boot.
    fn same_boot(&self, reading: &Reading) -> bool {
        self.boot_id == reading.boot_id && self.boot_ms <= reading.boot_ms
    }

    fn woke_before(&self, reading: &Reading) -> bool {
        let passed_ms = reading.boot_ms - self.boot_ms;
        self.same_boot(reading)
            && (reading.slept_ms - self.slept_ms > JUMP_MS
                || reading.wall_ms - self.wall_ms - passed_ms > JUMP_MS)
    }

    fn is_old(&self, reading: &Reading) -> bool {
        !self.same_boot(reading) || reading.boot_ms - self.boot_ms >= NOTE_EVERY_MS
    }
}

/// Returns the time of a transaction, and the note to write with its commit.
pub(crate) fn transaction_time(
    head_ts: Timestamp,
    noted: Option<&ClockNote>,
    reading: &Reading,
) -> (Moment, Option<ClockNote>) {
    let clock = Timestamp::from_ms(reading.wall_ms);
    let now = clock.max(head_ts);
    let Some(noted) = noted else {
        return (Moment { now, woke_at: None, clock }, Some(ClockNote::of(reading, None)));
    };
    if noted.woke_before(reading) {
        let note = ClockNote::of(reading, Some(now));
        return (Moment { now, woke_at: Some(now), clock }, Some(note));
    }
    let woke_at = noted.woke_at.map(Timestamp::from_ms);
    let to_note = noted.is_old(reading).then(|| ClockNote::of(reading, woke_at));
    (Moment { now, woke_at, clock }, to_note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(wall_ms: i64, boot_ms: i64, slept_ms: i64) -> Reading {
        Reading { wall_ms, boot_ms, slept_ms, boot_id: "a".to_owned() }
    }

    fn noted(reading: &Reading) -> ClockNote {
        transaction_time(Timestamp::default(), None, reading).1.unwrap()
    }

    #[test]
    fn time_never_runs_behind_the_last_event() {
        let head = Timestamp::from_ms(5_000);
        assert_eq!(transaction_time(head, None, &at(1_000, 0, 0)).0.now, head);
        assert_eq!(transaction_time(head, None, &at(9_000, 0, 0)).0.now, Timestamp::from_ms(9_000));
    }

    #[test]
    fn rule_4_a_sleep_of_the_host_is_noticed_and_noted() {
        let before = noted(&at(100_000, 50_000, 0));
        let (moment_then, note) =
            transaction_time(Timestamp::default(), Some(&before), &at(700_000, 650_000, 590_000));
        assert_eq!(moment_then.woke_at, Some(Timestamp::from_ms(700_000)));
        let later =
            transaction_time(Timestamp::default(), note.as_ref(), &at(703_000, 653_000, 590_000));
        assert_eq!(later.0.woke_at, Some(Timestamp::from_ms(700_000)), "it is remembered");
        assert_eq!(later.1, None, "and not noted again at once");
    }

    #[test]
    fn a_clock_that_jumps_ahead_counts_as_waking() {
        let before = noted(&at(100_000, 50_000, 0));
        let (moment, note) =
            transaction_time(Timestamp::default(), Some(&before), &at(200_000, 51_000, 0));
        assert_eq!(moment.woke_at, Some(Timestamp::from_ms(200_000)));
        assert!(note.is_some());
    }

    #[test]
    fn ordinary_time_small_drift_and_a_clock_set_back_are_no_waking() {
        let before = noted(&at(100_000, 50_000, 0));
        for later in [at(109_000, 59_000, 0), at(164_000, 110_000, 4_000), at(10_000, 51_000, 0)] {
            assert_eq!(
                transaction_time(Timestamp::default(), Some(&before), &later).0.woke_at,
                None
            );
        }
    }

    #[test]
    fn a_reboot_is_no_sleep_even_when_boots_have_no_name() {
        let before = noted(&at(100_000, 50_000, 0));
        let other = Reading { boot_id: "b".to_owned(), ..at(900_000, 1_000, 0) };
        assert_eq!(transaction_time(Timestamp::default(), Some(&before), &other).0.woke_at, None);
        let unnamed = at(900_000, 1_000, 0);
        let (moment, note) = transaction_time(Timestamp::default(), Some(&before), &unnamed);
        assert_eq!(moment.woke_at, None);
        assert!(note.is_some(), "the new boot is noted");
    }

    #[test]
    fn a_reading_is_noted_every_ten_seconds_at_most() {
        let before = noted(&at(100_000, 50_000, 0));
        let note = |boot_ms: i64| {
            transaction_time(Timestamp::default(), Some(&before), &at(50_000 + boot_ms, boot_ms, 0))
                .1
        };
        assert!(note(59_999).is_none());
        assert!(note(60_000).is_some());
    }
}
