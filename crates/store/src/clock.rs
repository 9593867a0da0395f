//! The clock that a store decides expiry by, and how it notices that the host slept.

use std::sync::OnceLock;

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
            wall_ms: ms(ClockId::Realtime),
            boot_ms,
            slept_ms: boot_ms - ms(ClockId::Monotonic),
            boot_id: boot_id(),
        }
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
