//! What a service has committed since it started: how many transactions, how long they took, and for how many commands.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts commits. A figure for people: the three numbers need not be of the same instant.
#[derive(Default)]
pub(crate) struct Commits {
    count: AtomicU64,
    micros: AtomicU64,
    commands: AtomicU64,
}

/// What was committed since the start of a service.
#[derive(Clone, Copy, Debug, Default)]
pub struct Committed {
    pub commits: u64,
    /// Time from the first row written to the sync to disk.
    pub time: Duration,
    /// Commands that were accepted.
    pub commands: u64,
}

impl Commits {
    pub(crate) fn add(&self, took: Duration, commands: usize) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.commands.fetch_add(commands as u64, Ordering::Relaxed);
    }

    pub(crate) fn seen(&self) -> Committed {
        Committed {
            commits: self.count.load(Ordering::Relaxed),
            time: Duration::from_micros(self.micros.load(Ordering::Relaxed)),
            commands: self.commands.load(Ordering::Relaxed),
        }
    }
}
