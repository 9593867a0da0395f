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
        for raw in below(getpid()) {
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

/// Lists the processes below one. Where the kernel lists the children of a process, no other process is looked at.
fn below(top: Pid) -> Vec<i32> {
    let top_raw = top.as_raw_nonzero().get();
    let Some(mut found) = children(top_raw) else {
        let all = comity_guard::child::below(top);
        return all.into_iter().map(|pid| pid.as_raw_nonzero().get()).collect();
    };
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(children(pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// Lists the children of all threads of a process; none where the kernel does not say.
fn children(pid: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let text = std::fs::read_to_string(thread.path().join("children")).ok()?;
        found.extend(text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(found)
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
