//! A clock that only the simulation moves, with the sleeps and jumps of a real host.

use comity_store::{Clock, Reading};
use std::sync::Mutex;

pub(crate) struct SimClock(Mutex<Reading>);

impl SimClock {
    pub(crate) fn new() -> SimClock {
        SimClock(Mutex::new(Reading {
            wall_ms: 1_700_000_000_000,
            boot_ms: 1_000_000,
            slept_ms: 0,
            boot_id: "simulated".to_owned(),
        }))
    }

    fn change(&self, change: impl FnOnce(&mut Reading)) {
        if let Ok(mut reading) = self.0.lock() {
            change(&mut reading);
        }
    }

    /// Time goes by.
    pub(crate) fn pass(&self, ms: i64) {
        self.change(|reading| {
            reading.wall_ms += ms;
            reading.boot_ms += ms;
        });
    }

    /// The host sleeps: time goes by, and nobody can say anything.
    pub(crate) fn sleep(&self, ms: i64) {
        self.change(|reading| {
            reading.wall_ms += ms;
            reading.boot_ms += ms;
            reading.slept_ms += ms;
        });
    }

    /// The wall clock is set, forwards or backwards.
    pub(crate) fn jump(&self, ms: i64) {
        self.change(|reading| reading.wall_ms += ms);
    }
}

impl Clock for SimClock {
    fn read(&self) -> Reading {
        self.0.lock().map(|reading| reading.clone()).unwrap_or_default()
    }
}
