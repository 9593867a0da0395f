//! The clock that a store decides expiry by, and how it notices that the host slept.

use comity_core::time::Millis;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Wall time, in milliseconds since 1970.
    pub wall_ms: i64,
    /// Time since boot including sleep, in milliseconds.
    pub boot_ms: i64,
    /// Time that the host has slept since boot, in milliseconds.
    pub slept_ms: i64,
    /// The boot that `boot_ms` and `slept_ms` are counted from.
    pub boot_id: String,
}

/// Where the time comes from: the system, or a simulation.
pub trait Clock: Send + Sync {
    fn read(&self) -> Reading;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn read(&self) -> Reading {
        use rustix::time::{ClockId, clock_gettime};
        let ms = |id: ClockId| {
            let time = clock_gettime(id);
            time.tv_sec * 1000 + time.tv_nsec / 1_000_000
        };
        let boot_ms = ms(ClockId::Boottime);
        Reading {
            wall_ms: wall_ms(),
            boot_ms,
            slept_ms: boot_ms - ms(ClockId::Monotonic),
            boot_id: boot_id(),
        }
    }
}

/// The wall clock as every program sees it, also one that is shown another time (`faketime`).
#[expect(clippy::disallowed_methods, reason = "this is the store's clock")]
fn wall_ms() -> i64 {
    let ms = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => ms(since),
        Err(before) => -ms(before.duration()),
    }
}

/// Two boots cannot be told apart where the system does not name them; then a sleep is noticed by
/// the clocks alone. No process outlives its boot, so it is read once.
fn boot_id() -> String {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    let read = || {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default()
    };
    BOOT_ID.get_or_init(read).clone()
}

/// A clock that moves only when it is told to, for tests, simulations and copies of a store.
#[derive(Debug)]
pub struct ManualClock(Mutex<Reading>);

impl ManualClock {
    /// Starts in 2026, so that ages of days can be subtracted.
    pub fn new() -> Arc<ManualClock> {
        ManualClock::at(Reading {
            wall_ms: 1_767_225_600_000,
            boot_ms: 1_000_000,
            slept_ms: 0,
            boot_id: "boot".to_owned(),
        })
    }

    pub fn at(reading: Reading) -> Arc<ManualClock> {
        Arc::new(ManualClock(Mutex::new(reading)))
    }

    pub fn set(&self, change: impl FnOnce(&mut Reading)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub fn pass(&self, length: Millis) {
        self.set(|reading| {
            reading.wall_ms += length.ms();
            reading.boot_ms += length.ms();
        });
    }

    /// The host sleeps: time goes by, and nobody can say anything.
    pub fn sleep(&self, length: Millis) {
        self.pass(length);
        self.set(|reading| reading.slept_ms += length.ms());
    }
}

impl Clock for ManualClock {
    fn read(&self) -> Reading {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
