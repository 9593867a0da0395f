//! A work tree for each, merged by whoever is done: as soon as it merges, or tested on the merged files under a lock.

use super::code::{Place, Task, Tree, lost, merge};
use super::time::{Agenda, COMMIT, EDIT, MERGE, READ, Sums, TEST, think, think_about};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Idle,
    Edits,
    Tested,
    Mends,
    Merges,
    Pushes,
}

struct Agent {
    phase: Phase,
    task: usize,
    began: f64,
    round: u32,
    base: Tree,
    tree: Tree,
    /// The edits that are to be made.
    open: Vec<usize>,
}

struct Crew<'t> {
    seed: u64,
    tasks: &'t [Task],
    /// Who merges tests the merged files first, and nobody else merges meanwhile.
    tested: bool,
    main: Tree,
    next: usize,
    merging: Option<usize>,
    waiting: VecDeque<usize>,
    agenda: Agenda,
    sums: Sums,
}

pub fn run(seed: u64, tasks: &[Task], agents: usize, tested: bool) -> Sums {
    let main = Tree::new();
    let mut crew = Crew {
        seed,
        tasks,
        tested,
        main: main.clone(),
        next: 0,
        merging: None,
        waiting: VecDeque::new(),
        agenda: Agenda::default(),
        sums: Sums::default(),
    };
    let idle = || Agent {
        phase: Phase::Idle,
        task: 0,
        began: 0.0,
        round: 0,
        base: main.clone(),
        tree: main.clone(),
        open: Vec::new(),
    };
    let mut all: Vec<Agent> = (0..agents).map(|_| idle()).collect();
    (0..agents).for_each(|who| crew.agenda.wake(0.0, who));
    while let Some((now, who)) = crew.agenda.next() {
        if let Some(agent) = all.get_mut(who) {
            crew.step(now, who, agent);
        }
    }
    let end = crew.sums.end();
    crew.sums.colour(end, false);
    crew.sums.lost = lost(&crew.main, tasks);
    crew.sums
}

/// Returns the edits of a task at these places. Of one that renames, all of it where none is.
pub fn edits_at(task: &Task, places: &[Place]) -> Vec<usize> {
    let here = |at: &usize| places.contains(&task.edits[*at].place);
    let found: Vec<usize> = (0..task.edits.len()).filter(here).collect();
    if found.is_empty() { vec![0] } else { found }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of edits")]
pub fn edit_time(edits: usize) -> f64 {
    EDIT * edits as f64
}

impl Crew<'_> {
    fn wake(&mut self, at: f64, who: usize, agent: &mut Agent, phase: Phase) {
        agent.phase = phase;
        self.agenda.wake(at, who);
    }

    fn step(&mut self, now: f64, who: usize, agent: &mut Agent) {
        let tasks = self.tasks;
        match agent.phase {
            Phase::Idle => {
                let Some(task) = tasks.get(self.next) else { return };
                (agent.task, agent.began, agent.round) = (self.next, now, 0);
                self.next += 1;
                (agent.base, agent.tree) = (self.main.clone(), self.main.clone());
                agent.open = (0..task.edits.len()).collect();
                self.wake(now + READ + think(self.seed, task, 0), who, agent, Phase::Edits);
            }
            Phase::Edits => {
                let task = &tasks[agent.task];
                let open = std::mem::take(&mut agent.open);
                self.sums.made += open.len();
                open.iter().for_each(|at| agent.tree.edit(task.id, task.edits[*at]));
                self.wake(now + edit_time(open.len()) + TEST, who, agent, Phase::Tested);
            }
            Phase::Tested if agent.tree.undefined().is_empty() => {
                self.wake(now + COMMIT + MERGE, who, agent, Phase::Merges);
            }
            Phase::Tested => self.red(now, who, agent),
            Phase::Mends => {
                // What others merged is taken in first: it may be mended already.
                let (merged, conflicts) = merge(&agent.base, &self.main, &agent.tree);
                (agent.base, agent.tree) = (self.main.clone(), merged);
                let task = &tasks[agent.task];
                let mut made = 0;
                if !conflicts.is_empty() {
                    let open = edits_at(task, &conflicts);
                    open.iter().for_each(|at| agent.tree.edit(task.id, task.edits[*at]));
                    made = open.len();
                    self.sums.dropped += made;
                }
                made += agent.tree.mend(tasks);
                self.sums.made += made;
                self.wake(now + edit_time(made) + TEST, who, agent, Phase::Tested);
            }
            Phase::Merges => self.merge(now, who, agent),
            Phase::Pushes => {
                if agent.tree.undefined().is_empty() {
                    self.push(now, who, agent);
                } else {
                    self.red(now, who, agent);
                }
                self.free(now);
            }
        }
    }

    /// A red test has to be understood, whoever made it red.
    fn red(&mut self, now: f64, who: usize, agent: &mut Agent) {
        agent.round += 1;
        let time = READ + think_about(self.seed, &self.tasks[agent.task], agent.round, 1);
        self.sums.wasted += time + TEST;
        self.wake(now + time, who, agent, Phase::Mends);
    }

    fn free(&mut self, now: f64) {
        self.merging = None;
        if let Some(next) = self.waiting.pop_front() {
            self.agenda.wake(now, next);
        }
    }

    fn merge(&mut self, now: f64, who: usize, agent: &mut Agent) {
        if self.tested && self.merging.is_some_and(|other| other != who) {
            self.waiting.push_back(who);
            return;
        }
        let (merged, conflicts) = merge(&agent.base, &self.main, &agent.tree);
        (agent.base, agent.tree) = (self.main.clone(), merged);
        if conflicts.is_empty() {
            if self.tested {
                self.merging = Some(who);
                self.wake(now + TEST, who, agent, Phase::Pushes);
            } else {
                self.push(now, who, agent);
            }
            return;
        }
        let task = &self.tasks[agent.task];
        agent.round += 1;
        agent.open = edits_at(task, &conflicts);
        self.sums.conflicts += 1;
        self.sums.dropped += agent.open.len();
        let time = READ + think_about(self.seed, task, agent.round, agent.open.len());
        self.sums.wasted += time + edit_time(agent.open.len()) + TEST + COMMIT + MERGE;
        self.wake(now + time, who, agent, Phase::Edits);
        if self.tested && self.merging.is_none() {
            self.free(now);
        }
    }

    fn push(&mut self, now: f64, who: usize, agent: &mut Agent) {
        self.main = agent.tree.clone();
        self.sums.colour(now, !self.main.undefined().is_empty());
        self.sums.merged(now, agent.began);
        self.wake(now, who, agent, Phase::Idle);
    }
}
