//! Simulated time: what steps take, what happens next, and what is added up.

use super::code::{Chance, Task};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Seconds that steps take.
pub const READ: f64 = 1.0;
pub const THINK: f64 = 20.0;
/// For each function.
pub const EDIT: f64 = 0.5;
pub const TEST: f64 = 2.0;
pub const COMMIT: f64 = 0.1;
pub const MERGE: f64 = 0.2;
/// A merge from objects, as the queue makes it.
pub const QUEUE_MERGE: f64 = 0.05;
/// A command of comity.
pub const COMMAND: f64 = 0.05;

/// What happens next, in order.
#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    seq: u64,
}

impl Agenda {
    /// Whoever it is wakes at this second.
    pub fn wake(&mut self, at: f64, who: usize) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "microseconds of hours fit"
        )]
        let micros = (at * 1_000_000.0) as u64;
        self.seq += 1;
        self.heap.push(Reverse((micros, self.seq, who)));
    }

    pub fn next(&mut self) -> Option<(f64, usize)> {
        let Reverse((micros, _, who)) = self.heap.pop()?;
        #[expect(clippy::cast_precision_loss, reason = "microseconds of hours fit")]
        let at = micros as f64 / 1_000_000.0;
        Some((at, who))
    }
}

/// How long an agent thinks about a task, the first time and again: the same in every way of working.
pub fn think(seed: u64, task: &Task, round: u32) -> f64 {
    let mut chance =
        Chance::new(seed ^ (u64::from(task.id) << 20) ^ (u64::from(round) << 50) ^ 0x7419);
    chance.next();
    -chance.part().ln() * THINK
}

/// Thinking about some of a task's edits takes that part of the time.
pub fn think_about(seed: u64, task: &Task, round: u32, edits: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a handful of edits")]
    let part = edits as f64 / task.edits.len().max(1) as f64;
    think(seed, task, round) * part.min(1.0)
}

/// What came of a crew's work.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    pub merged_at: Vec<f64>,
    pub lead: Vec<f64>,
    pub made: usize,
    pub dropped: usize,
    pub conflicts: usize,
    pub wasted: f64,
    pub lost: usize,
    /// How often the branch became red, and for how long it was.
    pub red: usize,
    pub red_for: f64,
    red_since: Option<f64>,
}

impl Sums {
    pub fn merged(&mut self, now: f64, began: f64) {
        self.merged_at.push(now);
        self.lead.push(now - began);
    }

    /// Notes whether the branch is red now.
    pub fn colour(&mut self, now: f64, is_red: bool) {
        match (self.red_since, is_red) {
            (None, true) => {
                self.red += 1;
                self.red_since = Some(now);
            }
            (Some(since), false) => {
                self.red_for += now - since;
                self.red_since = None;
            }
            _ => {}
        }
    }

    /// Tasks an hour, until nine tenths are merged: what comes after that is too few tasks for the crew.
    pub fn an_hour(&self) -> f64 {
        let most = self.merged_at.len() * 9 / 10;
        let Some(end) = self.merged_at.get(most.saturating_sub(1)) else { return 0.0 };
        #[expect(clippy::cast_precision_loss, reason = "hundreds of tasks")]
        let tasks = most as f64;
        tasks * 3600.0 / end
    }

    pub fn end(&self) -> f64 {
        self.merged_at.last().copied().unwrap_or(0.0)
    }

    pub fn rework(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "thousands of edits")]
        let part = self.dropped as f64 / self.made.max(1) as f64;
        part
    }

    pub fn lead_p95(&self) -> f64 {
        let mut all = self.lead.clone();
        all.sort_by(f64::total_cmp);
        all.get((all.len() * 95 / 100).min(all.len().saturating_sub(1))).copied().unwrap_or(0.0)
    }
}
