//! What the processes of an agent do: how much they worked and wrote. Nothing else tells an agent that thinks from one that hangs.

use rustix::process::{Pid, getpid};
use std::collections::BTreeMap;

/// What all processes below this one did so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Doing {
    /// Ticks of the processor, by process.
    cpu: BTreeMap<i32, u64>,
    /// Bytes handed to the system, by process.
    written: BTreeMap<i32, u64>,
}

impl Doing {
    /// Looks at the processes below this one.
    pub(crate) fn now() -> Doing {
        let mut doing = Doing::default();
        for pid in comity_guard::child::below(getpid()) {
            let pid: Pid = pid;
            let raw = pid.as_raw_nonzero().get();
            doing.cpu.insert(raw, ticks(raw).unwrap_or_default());
            doing.written.insert(raw, written(raw).unwrap_or_default());
        }
        doing
    }

    /// Tells whether a processor worked since. A process more or less is work, too.
    pub(crate) fn worked_since(&self, before: &Doing) -> bool {
        self.cpu != before.cpu
    }

    pub(crate) fn wrote_since(&self, before: &Doing) -> bool {
        self.written != before.written
    }
}

/// Fields of `/proc/PID/stat`, counted after the name of the program.
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;

fn ticks(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some(number(USER_TICKS)? + number(SYSTEM_TICKS)?)
}

fn written(pid: i32) -> Option<u64> {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    io.lines().find_map(|line| line.strip_prefix("wchar: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_writing_are_told_apart() {
        let doing = |cpu: u64, written: u64| Doing {
            cpu: BTreeMap::from([(7, cpu)]),
            written: BTreeMap::from([(7, written)]),
        };
        let before = doing(1, 1);
        assert!(!doing(1, 1).worked_since(&before) && !doing(1, 1).wrote_since(&before));
        assert!(doing(2, 1).worked_since(&before) && !doing(2, 1).wrote_since(&before));
        assert!(doing(1, 2).wrote_since(&before));
        assert!(Doing::default().worked_since(&before), "one that ended did something");
    }
}
