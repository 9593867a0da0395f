//! comity as a crew sees it, and a copy of its rules that is fast enough for many crews: which task a claim picks, what a brief
//! tells, and the order of the merge queue.

use super::code::{Place, Task};
use crate::Outcome;
use comity_core::merging::Ejection;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub trait Office {
    /// The clock goes on.
    fn pass(&mut self, now: f64);
    /// Gives an agent its own work that was sent back, else the best ready task.
    fn claim(&mut self, who: usize) -> Outcome<Option<usize>>;
    fn log_end(&mut self) -> Outcome<u64>;
    /// Tells whoever works on a file that a function of it is about to be renamed.
    fn announce(&mut self, who: usize, task: usize, file: usize) -> Outcome<()>;
    /// Tells whether something landed in these files, or was announced about them, after that place in the log.
    fn is_told(&mut self, who: usize, files: &[usize], since: u64) -> Outcome<bool>;
    /// Hands work in, which a critic approves.
    fn submit(&mut self, who: usize, task: usize) -> Outcome<()>;
    /// Freezes the next batch of the queue.
    fn start_batch(&mut self, most: usize) -> Outcome<Vec<usize>>;
    fn land(&mut self, task: usize) -> Outcome<()>;
    fn eject(&mut self, task: usize, reason: Ejection, places: &[Place]) -> Outcome<()>;
}

/// How many more tasks a claim looks at for one that shares less.
const LOOKAHEAD: usize = 8;

/// A copy of the rules.
pub struct Copied<'t> {
    tasks: &'t [Task],
    queued: Vec<usize>,
    /// How many hold a file.
    held: BTreeMap<usize, usize>,
    /// Work that was sent back, and whose it is.
    back: Vec<(usize, usize)>,
    workers: BTreeMap<usize, usize>,
    approved: VecDeque<usize>,
    /// What landed or was announced: the place in the log, and the files.
    changes: Vec<(u64, BTreeSet<usize>)>,
    log: u64,
}

impl<'t> Copied<'t> {
    pub fn new(tasks: &'t [Task]) -> Copied<'t> {
        Copied {
            tasks,
            queued: (0..tasks.len()).collect(),
            held: BTreeMap::new(),
            back: Vec::new(),
            workers: BTreeMap::new(),
            approved: VecDeque::new(),
            changes: Vec::new(),
            log: 0,
        }
    }

    fn files(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        self.tasks[task].edits.iter().map(|edit| edit.place.0)
    }

    /// Counts the leases of others that the files of a task would be shared with.
    fn shared_with(&self, task: usize) -> usize {
        self.files(task).map(|file| self.held.get(&file).copied().unwrap_or(0)).sum()
    }

    fn hold(&mut self, task: usize) {
        let files: Vec<usize> = self.files(task).collect();
        files.into_iter().for_each(|file| *self.held.entry(file).or_default() += 1);
    }
}

impl Office for Copied<'_> {
    fn pass(&mut self, _: f64) {}

    fn claim(&mut self, who: usize) -> Outcome<Option<usize>> {
        self.log += 1;
        let own = self.back.iter().enumerate().filter(|(_, (owner, _))| *owner == who);
        if let Some((at, (_, task))) = own.min_by_key(|(_, (_, task))| *task) {
            let task = *task;
            self.back.remove(at);
            self.hold(task);
            return Ok(Some(task));
        }
        let mut best: Option<(usize, usize)> = None;
        let mut rivals = 0;
        for (at, task) in self.queued.iter().enumerate() {
            rivals += usize::from(best.is_some());
            let shared = self.shared_with(*task);
            if best.is_none_or(|(least, _)| shared < least) {
                best = Some((shared, at));
            }
            if best.is_some_and(|(least, _)| least == 0) || rivals >= LOOKAHEAD {
                break;
            }
        }
        let Some((_, at)) = best else { return Ok(None) };
        let task = self.queued.remove(at);
        self.workers.insert(task, who);
        self.hold(task);
        Ok(Some(task))
    }

    fn log_end(&mut self) -> Outcome<u64> {
        Ok(self.log)
    }

    fn announce(&mut self, _: usize, _: usize, file: usize) -> Outcome<()> {
        self.log += 1;
        self.changes.push((self.log, BTreeSet::from([file])));
        Ok(())
    }

    fn is_told(&mut self, _: usize, files: &[usize], since: u64) -> Outcome<bool> {
        let near =
            |(_, changed): &&(u64, BTreeSet<usize>)| files.iter().any(|f| changed.contains(f));
        let mut after = self.changes.iter().rev().take_while(|(seq, _)| *seq > since);
        Ok(after.any(|one| near(&one)))
    }

    fn submit(&mut self, _: usize, task: usize) -> Outcome<()> {
        self.log += 1;
        let files: Vec<usize> = self.files(task).collect();
        for file in files {
            if let Some(count) = self.held.get_mut(&file) {
                *count = count.saturating_sub(1);
            }
        }
        self.approved.push_back(task);
        Ok(())
    }

    fn start_batch(&mut self, most: usize) -> Outcome<Vec<usize>> {
        let count = most.min(self.approved.len());
        Ok(self.approved.drain(..count).collect())
    }

    fn land(&mut self, task: usize) -> Outcome<()> {
        self.log += 1;
        let files = self.files(task).collect();
        self.changes.push((self.log, files));
        Ok(())
    }

    fn eject(&mut self, task: usize, _: Ejection, _: &[Place]) -> Outcome<()> {
        self.log += 1;
        let who = self.workers.get(&task).copied().unwrap_or(0);
        self.back.push((who, task));
        Ok(())
    }
}
