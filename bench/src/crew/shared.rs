//! One work tree for all: without any agreement, and with advisory locks on files.

use super::code::{Change, File, Task, Tree, lost};
use super::time::{Agenda, COMMIT, EDIT, READ, Sums, TEST, think, think_about};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Idle,
    /// Writes the file of this edit next.
    Write(usize),
    Tested,
    Mended,
    Commits,
}

struct Agent {
    phase: Phase,
    task: usize,
    began: f64,
    round: u32,
    /// Its files as it read them.
    read: Vec<File>,
}

struct Crew<'t> {
    seed: u64,
    tasks: &'t [Task],
    locks: bool,
    tree: Tree,
    queue: Vec<usize>,
    held: BTreeSet<usize>,
    waiting: Vec<usize>,
    agenda: Agenda,
    sums: Sums,
}

pub fn run(seed: u64, tasks: &[Task], agents: usize, locks: bool) -> Sums {
    let mut crew = Crew {
        seed,
        tasks,
        locks,
        tree: Tree::new(),
        queue: (0..tasks.len()).collect(),
        held: BTreeSet::new(),
        waiting: Vec::new(),
        agenda: Agenda::default(),
        sums: Sums::default(),
    };
    let idle = || Agent { phase: Phase::Idle, task: 0, began: 0.0, round: 0, read: Vec::new() };
    let mut all: Vec<Agent> = (0..agents).map(|_| idle()).collect();
    (0..agents).for_each(|who| crew.agenda.wake(0.0, who));
    while let Some((now, who)) = crew.agenda.next() {
        if let Some(agent) = all.get_mut(who) {
            crew.step(now, who, agent);
        }
    }
    let end = crew.sums.end();
    crew.sums.colour(end, false);
    crew.sums.lost = lost(&crew.tree, tasks);
    crew.sums
}

impl Crew<'_> {
    fn step(&mut self, now: f64, who: usize, agent: &mut Agent) {
        match agent.phase {
            Phase::Idle => self.take(now, who, agent),
            Phase::Write(at) => self.write(now, who, agent, at),
            Phase::Tested => {
                if self.tree.undefined().is_empty() {
                    agent.phase = Phase::Commits;
                    self.agenda.wake(now + COMMIT, who);
                } else {
                    // Somebody's half-done work, or a name that is no more: it has to be understood first.
                    agent.round += 1;
                    agent.phase = Phase::Mended;
                    let task = &self.tasks[agent.task];
                    let time = READ + think_about(self.seed, task, agent.round, 1);
                    self.sums.wasted += time + TEST;
                    self.agenda.wake(now + time, who);
                }
            }
            Phase::Mended => {
                let mended = self.tree.mend(self.tasks);
                self.sums.made += mended;
                agent.phase = Phase::Tested;
                #[expect(clippy::cast_precision_loss, reason = "a handful of edits")]
                let edits = EDIT * mended as f64;
                self.agenda.wake(now + edits + TEST, who);
            }
            Phase::Commits => {
                let is_red = !self.tree.undefined().is_empty();
                self.sums.colour(now, is_red);
                self.sums.merged(now, agent.began);
                for edit in &self.tasks[agent.task].edits {
                    self.held.remove(&edit.place.0);
                }
                for other in std::mem::take(&mut self.waiting) {
                    self.agenda.wake(now, other);
                }
                agent.phase = Phase::Idle;
                self.agenda.wake(now, who);
            }
        }
    }

    /// Takes the next task; with locks, the first whose files are all free.
    fn take(&mut self, now: f64, who: usize, agent: &mut Agent) {
        let is_free = |at: &usize| {
            !self.locks
                || self.tasks[*at].edits.iter().all(|edit| !self.held.contains(&edit.place.0))
        };
        let Some(place) = self.queue.iter().position(is_free) else {
            if !self.queue.is_empty() {
                self.waiting.push(who);
            }
            return;
        };
        agent.task = self.queue.remove(place);
        let task = &self.tasks[agent.task];
        (agent.began, agent.round) = (now, 0);
        agent.read = task.edits.iter().map(|edit| self.tree.0[edit.place.0].clone()).collect();
        if self.locks {
            self.held.extend(task.edits.iter().map(|edit| edit.place.0));
        }
        agent.phase = Phase::Write(0);
        self.agenda.wake(now + READ + think(self.seed, task, 0) + EDIT, who);
    }

    /// Writes a whole file as it was read, with the edit: what others did to it since is gone.
    fn write(&mut self, now: f64, who: usize, agent: &mut Agent, at: usize) {
        let task = &self.tasks[agent.task];
        let edit = task.edits[at];
        let file = edit.place.0;
        let before = self.tree.0[file].clone();
        let read = &agent.read[at];
        let count = |file: &File| file.iter().map(|function| function.body.len()).sum::<usize>();
        self.sums.dropped += count(&before).saturating_sub(count(read));
        self.tree.0[file] = read.clone();
        self.tree.edit(task.id, edit);
        self.sums.made += 1;
        if edit.change == Change::Rename {
            // The callers that it knows are in the files as they are now.
            let old = read[edit.place.1].name;
            let new = self.tree.at(edit.place).name;
            self.sums.made += usize::from(old != new);
        }
        agent.phase = if at + 1 < task.edits.len() { Phase::Write(at + 1) } else { Phase::Tested };
        let next = if at + 1 < task.edits.len() { EDIT } else { TEST };
        self.agenda.wake(now + next, who);
    }
}
