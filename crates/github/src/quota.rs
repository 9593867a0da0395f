//! The ledger of an account: how much was written, what GitHub says is left, and how long to wait.

use comity_api::GithubQuota;
use comity_core::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const MINUTE: Millis = Millis::from_secs(60);
const HOUR: Millis = Millis::from_secs(3600);
/// GitHub allows 80 writes a minute and 500 an hour; agents of the same account need some of them.
const WRITES_A_MINUTE: usize = 60;
const WRITES_AN_HOUR: usize = 400;
/// Something new takes so many times the pace of another write, as GitHub's own client has it.
const CREATION_PACES: i64 = 3;
/// Below this part of the hour nothing is written.
const FLOOR_PERCENT: u64 = 10;
/// What a pass waits for at most; longer waits end it.
pub const WAIT_MAX: Millis = Millis::from_secs(10);
/// Where GitHub asks to wait and does not say how long.
const STRIKE: Millis = Millis::from_secs(60);
const STRIKE_MAX: Millis = Millis::from_secs(15 * 60);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// When something was written within the last hour.
    pub writes: Vec<i64>,
    pub last_creation: i64,
    pub remaining: Option<u64>,
    pub limit: Option<u64>,
    pub reset: Option<i64>,
    pub wait_until: Option<i64>,
    /// How often in a row GitHub asked to wait without saying how long.
    pub strikes: u32,
}

/// How fast an account writes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub between: Millis,
    /// Whether GitHub's own limits apply.
    pub floors: bool,
}

impl Ledger {
    /// Returns how long the next write has to wait.
    pub fn wait(&self, now: Timestamp, pace: Pace, creates: bool) -> Millis {
        let last = self.writes.last().copied();
        let mut at = last.map_or(0, |last| last + pace.between.ms());
        if creates && self.last_creation > 0 {
            at = at.max(self.last_creation + CREATION_PACES * pace.between.ms());
        }
        at = at.max(self.wait_until.unwrap_or(0));
        if pace.floors {
            for (span, most) in [(MINUTE, WRITES_A_MINUTE), (HOUR, WRITES_AN_HOUR)] {
                let place = self.writes.len().checked_sub(most);
                at = at.max(place.map_or(0, |place| self.writes[place] + span.ms()));
            }
        }
        if let (Some(remaining), Some(limit), Some(reset)) =
            (self.remaining, self.limit, self.reset)
            && remaining * 100 < limit * FLOOR_PERCENT
        {
            at = at.max(reset + 1_000);
        }
        Millis::from_ms((at - now.ms()).max(0))
    }

    /// Returns how long the next question has to wait.
    pub fn wait_to_read(&self, now: Timestamp) -> Millis {
        Millis::from_ms((self.wait_until.unwrap_or(0) - now.ms()).max(0))
    }

    /// Takes the next write, if it may be done now; otherwise returns how long it has to wait.
    pub fn take(&mut self, now: Timestamp, pace: Pace, creates: bool) -> Millis {
        let wait = self.wait(now, pace, creates);
        if wait.ms() == 0 {
            self.wrote(now, creates);
        }
        wait
    }

    /// Puts together what two processes of the same account know: every write counts, and so does the stricter limit.
    #[must_use]
    pub fn with(mut self, other: &Ledger) -> Ledger {
        let own: BTreeSet<i64> = self.writes.iter().chain(&other.writes).copied().collect();
        self.writes = own.into_iter().collect();
        self.last_creation = self.last_creation.max(other.last_creation);
        if other.reset > self.reset {
            (self.remaining, self.limit, self.reset) = (other.remaining, other.limit, other.reset);
        } else if other.reset == self.reset {
            let least = [self.remaining, other.remaining].into_iter().flatten().min();
            self.remaining = least;
        }
        if other.wait_until > self.wait_until {
            (self.wait_until, self.strikes) = (other.wait_until, other.strikes);
        } else if other.wait_until == self.wait_until {
            self.strikes = self.strikes.min(other.strikes);
        }
        self
    }

    pub fn wrote(&mut self, now: Timestamp, creates: bool) {
        self.writes.retain(|at| now.ms() - at < HOUR.ms());
        self.writes.push(now.ms());
        if creates {
            self.last_creation = now.ms();
        }
    }

    /// Notes what an answer says about the hour.
    pub fn told(&mut self, remaining: Option<u64>, limit: Option<u64>, reset: Option<u64>) {
        if let (Some(remaining), Some(limit)) = (remaining, limit) {
            self.remaining = Some(remaining);
            self.limit = Some(limit);
            self.reset = reset.and_then(|at| i64::try_from(at).ok()).map(|at| at * 1_000);
        }
    }

    /// Notes that GitHub asks to wait: as long as it says, else until the hour is over, else longer each time.
    pub fn asked_to_wait(&mut self, now: Timestamp, retry_after: Option<u64>, reset: Option<u64>) {
        let said = retry_after.map(|secs| now.ms() + i64::try_from(secs).unwrap_or(0) * 1_000);
        let reset = reset.and_then(|at| i64::try_from(at).ok()).map(|at| at * 1_000 + 1_000);
        let until = match said.or(reset).filter(|at| *at > now.ms()) {
            Some(until) => until,
            None => {
                let wait = STRIKE.ms() << self.strikes.min(8);
                self.strikes += 1;
                now.ms() + wait.min(STRIKE_MAX.ms())
            }
        };
        self.wait_until = Some(until);
    }

    pub fn went_well(&mut self) {
        self.strikes = 0;
    }

    pub fn view(&self, account: Option<String>, now: Timestamp) -> GithubQuota {
        let within = |span: Millis| {
            self.writes.iter().filter(|at| now.ms() - **at < span.ms()).count() as u64
        };
        GithubQuota {
            account,
            remaining: self.remaining,
            limit: self.limit,
            reset: self.reset.map(Timestamp::from_ms),
            writes_minute: within(MINUTE),
            writes_hour: within(HOUR),
            wait_until: self.wait_until.filter(|at| *at > now.ms()).map(Timestamp::from_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { between: Millis::from_secs(1), floors: true };

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(1_000_000_000 + ms)
    }

    #[test]
    fn writes_keep_their_distance_and_creations_a_larger_one() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.wait(at(0), PACE, true).ms(), 0);
        ledger.wrote(at(0), true);
        assert_eq!(ledger.wait(at(200), PACE, false).ms(), 800);
        assert_eq!(ledger.wait(at(200), PACE, true).ms(), 2_800);
        assert_eq!(ledger.wait(at(3_000), PACE, true).ms(), 0);
    }

    #[test]
    fn two_processes_of_an_account_keep_the_distance_of_one() {
        let (mut one, mut two) = (Ledger::default(), Ledger::default());
        assert_eq!(one.take(at(0), PACE, true).ms(), 0);
        one.told(Some(90), Some(5_000), Some(2_000_000));
        two.told(Some(95), Some(5_000), Some(2_000_000));
        assert_eq!(two.take(at(100), PACE, false).ms(), 1_000_000_900, "the hour is nearly over");
        two.remaining = Some(4_000);
        let mut both = two.with(&one);
        assert_eq!((both.writes.len(), both.remaining), (1, Some(90)));
        both.remaining = Some(4_000);
        assert_eq!(both.take(at(100), PACE, false).ms(), 900, "the other one wrote just now");
        assert_eq!(both.take(at(1_000), PACE, true).ms(), 2_000, "and made something");
        one.asked_to_wait(at(0), None, None);
        assert_eq!((both.clone().with(&one).strikes, one.clone().with(&both).strikes), (1, 1));
        let mut well = one.clone();
        well.went_well();
        assert_eq!(well.with(&one).strikes, 0, "what went well ends the strikes");
    }

    #[test]
    fn a_minute_has_sixty_writes_and_an_hour_four_hundred() {
        let mut ledger = Ledger::default();
        (0..60).for_each(|n| ledger.wrote(at(n * 500), false));
        assert_eq!(ledger.wait(at(31_000), PACE, false).ms(), 29_000);
        (60..400).for_each(|n| ledger.wrote(at(n * 2_000), false));
        assert_eq!(ledger.wait(at(900_000), PACE, false).ms(), 3_600_000 - 900_000);
        let own = Pace { floors: false, ..PACE };
        assert_eq!(ledger.wait(at(900_000), own, false).ms(), 0, "another server has its own");
    }

    #[test]
    fn below_a_tenth_of_the_hour_nothing_is_written() {
        let mut ledger = Ledger::default();
        ledger.told(Some(499), Some(5_000), Some(1_000_100));
        assert_eq!(ledger.wait(at(0), PACE, false).ms(), 101_000);
        ledger.told(Some(500), Some(5_000), Some(1_000_100));
        assert_eq!(ledger.wait(at(0), PACE, false).ms(), 0);
    }

    #[test]
    fn a_request_to_wait_is_obeyed_and_one_without_a_time_grows() {
        let mut ledger = Ledger::default();
        ledger.asked_to_wait(at(0), Some(72), None);
        assert_eq!(ledger.wait_to_read(at(0)).ms(), 72_000);
        let mut ledger = Ledger::default();
        // A reset in the past says nothing.
        for wanted in [60_000, 120_000, 240_000, 480_000, 900_000, 900_000] {
            ledger.asked_to_wait(at(0), None, Some(999_000));
            assert_eq!(ledger.wait_to_read(at(0)).ms(), wanted);
        }
        ledger.went_well();
        ledger.asked_to_wait(at(0), None, None);
        assert_eq!(ledger.wait_to_read(at(0)).ms(), 60_000);
    }
}
