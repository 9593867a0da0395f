//! Approved work on its way into a branch: the order of the queue, and how a batch is taken apart when it is red.

use crate::task::Task;
use crate::time::Timestamp;
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// The place of approved work in the merge queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InQueue {
    /// The branch that gets the work; none is the base branch.
    pub target: Option<String>,
    pub commit: String,
    /// When it was approved.
    pub since: Timestamp,
    /// The batch that it is tested in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
}

/// Tasks that are merged and tested together, named by the place of their beginning in the log.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct BatchId(pub u64);

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "B{}", self.0)
    }
}

word_enum! {
    /// Why work left the queue without having landed.
    #[derive(JsonSchema)]
    pub enum Ejection as "reason" {
        /// It changes the same lines as the branch.
        Conflict => "conflict",
        /// A gate is red on the merged files.
        Gate => "gate",
    }
}

word_enum! {
    /// What two pieces of work are to each other.
    #[derive(JsonSchema)]
    pub enum Probe as "state" {
        Clean => "clean",
        Conflict => "conflict",
    }
}

/// Returns what the queue is ordered by: priority, then the time of approval, then number.
pub fn place(task: &Task) -> (u8, Timestamp, u64) {
    let since = task.merge.as_ref().map_or(task.updated_at, |queued| queued.since);
    (task.priority.rank(), since, task.number)
}

/// What became of an attempt to merge and test a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// All of it is merged, and the gates are green.
    Green,
    /// All of it is merged, and a gate is red.
    Red,
    /// The one at this place cannot be merged after those before it.
    Conflict(usize),
    /// The one at this place cannot be merged with the branch as it is.
    Stale(usize),
}

/// What follows from an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follows<T> {
    /// The group becomes the new tip of the branch.
    Lands(Vec<T>),
    /// The one is sent back, and what is left goes on without it.
    Ejected(T, Ejection),
    /// A smaller group is tried, or the same once more.
    TriesAgain,
}

/// A frozen batch that lands as far as one after the other would have landed. A red group is halved; one that is red alone
/// is tried again, then sent back. One that conflicts is left out: where the others are green, those before it have landed, and
/// it is sent back; where they are red, it takes its place again, since those before it may not land.
#[derive(Clone, Debug)]
pub struct Train<T> {
    /// The groups that are left, in order.
    groups: VecDeque<Vec<T>>,
    /// What was left out of the first group, and where it stood there.
    left_out: Vec<(usize, T)>,
    retries: u32,
    /// How often the first group, which is a single one, was red.
    red: u32,
}

impl<T: Clone> Train<T> {
    /// Takes the batch in the order of the queue. `retries` is how often a single red one is tried again.
    pub fn new(batch: Vec<T>, retries: u32) -> Train<T> {
        let groups = if batch.is_empty() { VecDeque::new() } else { VecDeque::from([batch]) };
        Train { groups, left_out: Vec::new(), retries, red: 0 }
    }

    /// Returns the group that is tried next, on top of whatever the branch is by then.
    pub fn next(&self) -> Option<&[T]> {
        self.groups.front().map(Vec::as_slice)
    }

    /// Goes on after an attempt with [`Train::next`].
    pub fn after(&mut self, tried: Tried) -> Follows<T> {
        let Some(mut group) = self.groups.pop_front() else { return Follows::TriesAgain };
        let red = std::mem::take(&mut self.red);
        match tried {
            Tried::Green => {
                self.go_on(Vec::new());
                Follows::Lands(group)
            }
            // Whatever lands before it, it would not merge.
            Tried::Stale(place) if place < group.len() => {
                let one = group.remove(place);
                self.go_on(group);
                Follows::Ejected(one, Ejection::Conflict)
            }
            Tried::Conflict(0) | Tried::Stale(_) => {
                let one = group.remove(0);
                self.go_on(group);
                Follows::Ejected(one, Ejection::Conflict)
            }
            Tried::Conflict(place) => {
                let place = place.min(group.len() - 1);
                self.left_out.push((place, group.remove(place)));
                self.put_back(group);
                Follows::TriesAgain
            }
            Tried::Red if group.len() > 1 || !self.left_out.is_empty() => {
                for (place, one) in std::mem::take(&mut self.left_out).into_iter().rev() {
                    group.insert(place.min(group.len()), one);
                }
                let rest = group.split_off(group.len() / 2);
                self.put_back(rest);
                self.put_back(group);
                Follows::TriesAgain
            }
            Tried::Red if red < self.retries => {
                self.red = red + 1;
                self.put_back(group);
                Follows::TriesAgain
            }
            Tried::Red => Follows::Ejected(group.remove(0), Ejection::Gate),
        }
    }

    /// Goes on with what is left of the first group, and where nothing is, with what was left out of it.
    fn go_on(&mut self, mut group: Vec<T>) {
        if group.is_empty() {
            group.extend(std::mem::take(&mut self.left_out).into_iter().map(|(_, one)| one));
        }
        self.put_back(group);
    }

    fn put_back(&mut self, group: Vec<T>) {
        if !group.is_empty() {
            self.groups.push_front(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Pieces of work as a test sees them: which are red by themselves, and which pairs conflict or are red together.
    struct Work {
        red: BTreeSet<usize>,
        conflicts: BTreeSet<(usize, usize)>,
        red_pairs: BTreeSet<(usize, usize)>,
    }

    impl Work {
        fn random(seed: &mut u64, count: usize) -> Work {
            let mut chance = |of: u64| {
                *seed ^= *seed << 13;
                *seed ^= *seed >> 7;
                *seed ^= *seed << 17;
                seed.is_multiple_of(of)
            };
            let red = (0..count).filter(|_| chance(8)).collect();
            let mut conflicts = BTreeSet::new();
            let mut red_pairs = BTreeSet::new();
            for a in 0..count {
                for b in a + 1..count {
                    if chance(10) {
                        conflicts.insert((a, b));
                    }
                    if chance(10) {
                        red_pairs.insert((a, b));
                    }
                }
            }
            Work { red, conflicts, red_pairs }
        }

        fn merges(&self, tip: &[usize], one: usize) -> bool {
            !tip.iter().any(|other| self.conflicts.contains(&(*other, one)))
        }

        fn is_red(&self, tip: &[usize]) -> bool {
            tip.iter().any(|one| {
                self.red.contains(one)
                    || tip.iter().any(|other| self.red_pairs.contains(&(*other, *one)))
            })
        }

        /// Lands one after the other.
        fn oracle(&self, count: usize) -> (Vec<usize>, Vec<(usize, Ejection)>) {
            let (mut tip, mut out) = (Vec::new(), Vec::new());
            for one in 0..count {
                let with = [&tip[..], &[one]].concat();
                if !self.merges(&tip, one) {
                    out.push((one, Ejection::Conflict));
                } else if self.is_red(&with) {
                    out.push((one, Ejection::Gate));
                } else {
                    tip = with;
                }
            }
            (tip, out)
        }

        fn tried(&self, tip: &[usize], group: &[usize]) -> Tried {
            let mut with = tip.to_vec();
            for (place, one) in group.iter().enumerate() {
                if !self.merges(tip, *one) {
                    return Tried::Stale(place);
                }
                if !self.merges(&with, *one) {
                    return Tried::Conflict(place);
                }
                with.push(*one);
            }
            if self.is_red(&with) { Tried::Red } else { Tried::Green }
        }
    }

    #[test]
    fn a_batch_lands_what_one_after_the_other_would_land_and_the_branch_is_never_red() {
        let mut seed = 0x5eed_0017;
        for round in 0..20_000_usize {
            let count = round % 9;
            let work = Work::random(&mut seed, count);
            let mut train = Train::new((0..count).collect(), 1);
            let (mut tip, mut out, mut tries) = (Vec::new(), Vec::new(), 0);
            while let Some(group) = train.next() {
                tries += 1;
                assert!(tries < 100, "it ends");
                let tried = work.tried(&tip, group);
                match train.after(tried) {
                    Follows::Lands(group) => {
                        tip.extend(group);
                        assert!(!work.is_red(&tip));
                    }
                    Follows::Ejected(one, why) => out.push((one, why)),
                    Follows::TriesAgain => {}
                }
            }
            out.sort_unstable();
            assert_eq!((tip, out), work.oracle(count));
        }
    }

    #[test]
    fn a_green_batch_with_one_that_conflicts_is_tested_once() {
        let mut train = Train::new(vec!['a', 'b', 'c', 'd'], 1);
        assert_eq!(train.after(Tried::Conflict(1)), Follows::TriesAgain);
        assert_eq!(train.next(), Some(&['a', 'c', 'd'][..]));
        assert_eq!(train.after(Tried::Green), Follows::Lands(vec!['a', 'c', 'd']));
        assert_eq!(train.after(Tried::Stale(0)), Follows::Ejected('b', Ejection::Conflict));
        assert!(train.next().is_none());
        // Where the others are red, it takes its place again: what is before it may not land.
        let mut train = Train::new(vec!['a', 'b', 'c', 'd'], 1);
        train.after(Tried::Conflict(1));
        assert_eq!(train.after(Tried::Red), Follows::TriesAgain);
        assert_eq!(train.next(), Some(&['a', 'b'][..]));
    }

    #[test]
    fn a_single_red_one_is_tried_again_and_a_green_one_needs_one_attempt() {
        let mut train = Train::new(vec!['a'], 1);
        assert_eq!(train.after(Tried::Red), Follows::TriesAgain);
        assert_eq!(train.after(Tried::Red), Follows::Ejected('a', Ejection::Gate));
        assert!(train.next().is_none());
        let mut train = Train::new(vec!['a', 'b', 'c'], 1);
        assert_eq!(train.after(Tried::Green), Follows::Lands(vec!['a', 'b', 'c']));
        assert!(train.next().is_none());
    }
}
