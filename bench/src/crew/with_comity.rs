//! A work tree for each, and comity: who gets which task, who is told what, and what lands when. `Office` is comity as far as a crew
//! sees it; the real rules answer, or a copy of them that is fast enough for many crews.

use super::apart::{edit_time, edits_at};
use super::code::{Change, Edit, FILES, Place, Task, Tree, lost, merge};
use super::office::Office;
use super::time::{
    Agenda, COMMAND, COMMIT, MERGE, QUEUE_MERGE, READ, Sums, TEST, think, think_about,
};
use crate::Outcome;
use comity_core::merging::{Ejection, Follows, Train, Tried};
use std::collections::BTreeMap;

/// Tasks that are merged and tested together, as the settings have it.
const BATCH: usize = 8;
/// How long an agent waits at most for a rename that was announced, and how often it looks.
const RENAME_WAIT: f64 = 60.0;
const LOOK_AGAIN: f64 = 5.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Idle,
    /// Has thought, and looks what it was told meanwhile.
    Looks,
    Tested,
    Submits,
}

struct Agent {
    phase: Phase,
    task: usize,
    /// Where the log was when it read the code.
    read_at: u64,
    open: Vec<usize>,
    /// When it began to think about its edits, and how long it thinks about each.
    thinks: (f64, f64),
    base: Tree,
    tree: Tree,
    /// What it has to mend beside its edits.
    mends: bool,
    /// Until when it waits for renames that were announced, once it waits.
    waits_until: Option<f64>,
}

/// Work that was handed in, or has to be done again.
#[derive(Clone)]
struct Work {
    base: Tree,
    tree: Tree,
    began: f64,
    round: u32,
    /// The places where it has to be done again; none where only names have to be mended.
    again: Option<Vec<Place>>,
}

/// What the queue is at.
struct Batch {
    train: Train<usize>,
    /// What comes of the attempt that is under way.
    tried: Tried,
    result: Vec<Tree>,
    conflicts: Vec<Place>,
}

struct Crew<'t> {
    seed: u64,
    tasks: &'t [Task],
    briefs: bool,
    office: &'t mut dyn Office,
    main: Tree,
    works: BTreeMap<usize, Work>,
    /// When a function was last changed on the branch.
    landed_at: BTreeMap<Place, f64>,
    /// Renames that were announced and have not landed: the task and the function, in the order of the announcements.
    announced: Vec<(usize, Place)>,
    batch: Option<Batch>,
    waiting: Vec<usize>,
    agenda: Agenda,
    sums: Sums,
}

/// Whoever wakes with this number is the queue.
const QUEUE: usize = usize::MAX;

/// Lets a crew work. Without briefs nobody announces a rename, and nobody looks at what others changed or are about to
/// rename before it edits.
pub fn run(
    seed: u64,
    tasks: &[Task],
    agents: usize,
    briefs: bool,
    office: &mut dyn Office,
) -> Outcome<Sums> {
    let main = Tree::new();
    let mut crew = Crew {
        seed,
        tasks,
        briefs,
        office,
        main: main.clone(),
        works: BTreeMap::new(),
        landed_at: BTreeMap::new(),
        announced: Vec::new(),
        batch: None,
        waiting: Vec::new(),
        agenda: Agenda::default(),
        sums: Sums::default(),
    };
    let mut all = Vec::new();
    for number in 0..agents {
        all.push(Agent {
            phase: Phase::Idle,
            task: 0,
            read_at: 0,
            open: Vec::new(),
            thinks: (0.0, 0.0),
            base: main.clone(),
            tree: main.clone(),
            mends: false,
            waits_until: None,
        });
        crew.agenda.wake(0.0, number);
    }
    while let Some((now, who)) = crew.agenda.next() {
        crew.office.pass(now);
        match all.get_mut(who) {
            Some(agent) => crew.step(now, who, agent)?,
            None => crew.merge(now)?,
        }
    }
    crew.sums.lost = lost(&crew.main, tasks);
    Ok(crew.sums)
}

/// The files whose changes a task has to know: its own, and those that it calls into. Whoever renames has to know all callers.
fn files_of(task: &Task) -> Vec<usize> {
    if task.edits.iter().any(|edit| edit.change == Change::Rename) {
        return (0..FILES).collect();
    }
    let called = task.edits.iter().filter_map(|edit| match edit.change {
        Change::Call(place) => Some(place.0),
        Change::Body | Change::Rename => None,
    });
    task.edits.iter().map(|edit| edit.place.0).chain(called).collect()
}

impl Crew<'_> {
    fn wake(&mut self, at: f64, who: usize, agent: &mut Agent, phase: Phase) {
        agent.phase = phase;
        self.agenda.wake(at, who);
    }

    fn step(&mut self, now: f64, who: usize, agent: &mut Agent) -> Outcome<()> {
        match agent.phase {
            Phase::Idle => self.claim(now, who, agent),
            Phase::Looks => self.look(now, who, agent),
            Phase::Tested => {
                // The branch is green, so what is red is the agent's own.
                let made = agent.tree.mend(self.tasks);
                if made == 0 {
                    self.wake(now + COMMIT + 2.0 * COMMAND, who, agent, Phase::Submits);
                } else {
                    self.sums.made += made;
                    let time = edit_time(made) + TEST;
                    self.sums.wasted += time;
                    self.wake(now + time, who, agent, Phase::Tested);
                }
                Ok(())
            }
            Phase::Submits => self.submit(now, who, agent),
        }
    }

    fn claim(&mut self, now: f64, who: usize, agent: &mut Agent) -> Outcome<()> {
        let Some(claimed) = self.office.claim(who)? else {
            self.waiting.push(who);
            return Ok(());
        };
        agent.task = claimed;
        agent.read_at = self.office.log_end()?;
        let task = &self.tasks[agent.task];
        let work = self.works.get(&agent.task).cloned();
        (agent.mends, agent.waits_until) = (false, None);
        let mut time = match work {
            None => {
                let (base, tree) = (self.main.clone(), self.main.clone());
                (agent.base, agent.tree) = (base.clone(), tree.clone());
                agent.open = (0..task.edits.len()).collect();
                let work = Work { base, tree, began: now, round: 0, again: None };
                self.works.insert(agent.task, work);
                READ + think(self.seed, task, 0)
            }
            Some(mut work) => {
                // What was sent back goes on from the branch as it is now.
                work.round += 1;
                let (tree, conflicts) = merge(&work.base, &self.main, &work.tree);
                (agent.base, agent.tree) = (self.main.clone(), tree);
                let mut places = work.again.clone().unwrap_or_default();
                places.extend(conflicts);
                agent.mends = places.is_empty();
                agent.open = if agent.mends { Vec::new() } else { edits_at(task, &places) };
                let count = agent.open.len().max(1);
                let time = READ + think_about(self.seed, task, work.round, count);
                self.sums.wasted += time + edit_time(count) + TEST + COMMIT + 2.0 * COMMAND;
                self.works.insert(agent.task, work);
                time
            }
        };
        if self.briefs && self.announces(who, agent.task)? {
            time += COMMAND;
        }
        #[expect(clippy::cast_precision_loss, reason = "a handful of edits")]
        let each = (time - READ) / agent.open.len().max(1) as f64;
        agent.thinks = (now + COMMAND + READ, each);
        self.wake(now + COMMAND + time, who, agent, Phase::Looks);
        Ok(())
    }

    /// Whoever is about to rename a function says so before it thinks about it; tells whether there was one to announce.
    fn announces(&mut self, who: usize, task: usize) -> Outcome<bool> {
        let renames = |edit: &&Edit| edit.change == Change::Rename;
        let Some(edit) = self.tasks[task].edits.iter().find(renames) else { return Ok(false) };
        if self.announced.iter().any(|(known, _)| *known == task) {
            return Ok(false);
        }
        self.announced.push((task, edit.place));
        self.office.announce(who, task, edit.place.0)?;
        Ok(true)
    }

    /// Tells whether a task touches a function that another is about to rename. Of two that rename, the later waits.
    fn is_renamed_soon(&self, task: usize) -> bool {
        let touched = |place: &Place| {
            self.tasks[task]
                .edits
                .iter()
                .any(|edit| edit.place == *place || edit.change == Change::Call(*place))
        };
        let mut before = self.announced.iter().take_while(|(other, _)| *other != task);
        before.any(|(_, place)| touched(place))
    }

    /// Right before it edits, an agent asks what was changed meanwhile near its files and near what it calls, and takes it in.
    fn look(&mut self, now: f64, who: usize, agent: &mut Agent) -> Outcome<()> {
        let task = &self.tasks[agent.task];
        if self.briefs && self.is_renamed_soon(agent.task) {
            let until = *agent.waits_until.get_or_insert(now + RENAME_WAIT);
            if now < until {
                self.sums.wasted += LOOK_AGAIN;
                self.agenda.wake(now + LOOK_AGAIN, who);
                return Ok(());
            }
        }
        if self.briefs && self.office.is_told(who, &files_of(task), agent.read_at)? {
            agent.read_at = self.office.log_end()?;
            // It hears of a change while it thinks. What changed before it thought about that function costs nothing.
            let (since, each) = agent.thinks;
            let too_late = |(order, at): &(usize, &usize)| {
                let place = task.edits[**at].place;
                #[expect(clippy::cast_precision_loss, reason = "a handful of edits")]
                let thought_at = since + each * *order as f64;
                self.landed_at.get(&place).is_some_and(|landed| *landed > thought_at)
            };
            let changed = agent.open.iter().enumerate().filter(too_late).count();
            let (tree, conflicts) = merge(&agent.base, &self.main, &agent.tree);
            (agent.base, agent.tree) = (self.main.clone(), tree);
            if !conflicts.is_empty() {
                agent.open.extend(edits_at(task, &conflicts));
                agent.open.sort_unstable();
                agent.open.dedup();
            }
            if changed > 0 {
                // Its plan for these functions was made for other code.
                let round = 100 + u32::try_from(agent.read_at % 1_000).unwrap_or(0);
                let time = COMMAND + MERGE + READ + think_about(self.seed, task, round, changed);
                self.sums.wasted += time;
                agent.thinks = (now, 0.0);
                self.agenda.wake(now + time, who);
                return Ok(());
            }
        }
        let open = std::mem::take(&mut agent.open);
        open.iter().for_each(|at| agent.tree.edit(task.id, task.edits[*at]));
        let mut made = open.len();
        if agent.mends {
            made += agent.tree.mend(self.tasks).max(1);
        }
        self.sums.made += made;
        self.wake(now + COMMAND + edit_time(made) + TEST, who, agent, Phase::Tested);
        Ok(())
    }

    fn submit(&mut self, now: f64, who: usize, agent: &mut Agent) -> Outcome<()> {
        let work = self.works.get_mut(&agent.task).ok_or("work without a claim")?;
        (work.base, work.tree) = (agent.base.clone(), agent.tree.clone());
        work.again = None;
        self.office.submit(who, agent.task)?;
        if self.batch.is_none() {
            self.start_batch(now)?;
        }
        self.wake(now, who, agent, Phase::Idle);
        Ok(())
    }

    fn start_batch(&mut self, now: f64) -> Outcome<()> {
        let tasks = self.office.start_batch(BATCH)?;
        if tasks.is_empty() {
            return Ok(());
        }
        let train = Train::new(tasks, 1);
        let batch = Batch { train, tried: Tried::Green, result: Vec::new(), conflicts: Vec::new() };
        self.batch = Some(batch);
        self.attempt(now + COMMAND);
        Ok(())
    }

    /// Merges and tests the next group of the batch; what comes of it is known when that is over.
    fn attempt(&mut self, now: f64) {
        let Some(batch) = &mut self.batch else { return };
        let Some(group) = batch.train.next() else { return };
        let mut time = 0.0;
        let mut tip = self.main.clone();
        batch.result.clear();
        batch.tried = Tried::Green;
        for (place, task) in group.iter().enumerate() {
            time += QUEUE_MERGE;
            let Some(work) = self.works.get(task) else { continue };
            let (merged, conflicts) = merge(&work.base, &tip, &work.tree);
            if !conflicts.is_empty() {
                let alone = merge(&work.base, &self.main, &work.tree).1;
                time += QUEUE_MERGE;
                batch.tried =
                    if alone.is_empty() { Tried::Conflict(place) } else { Tried::Stale(place) };
                batch.conflicts = conflicts;
                break;
            }
            tip = merged;
            batch.result.push(tip.clone());
        }
        if batch.tried == Tried::Green {
            time += TEST;
            if !tip.undefined().is_empty() {
                batch.tried = Tried::Red;
            }
        }
        self.agenda.wake(now + time, QUEUE);
    }

    /// Goes on after an attempt.
    fn merge(&mut self, now: f64) -> Outcome<()> {
        let Some(mut batch) = self.batch.take() else { return Ok(()) };
        match batch.train.after(batch.tried) {
            Follows::Lands(group) => self.land(now, &batch, &group)?,
            Follows::Ejected(task, reason) => self.eject(now, &batch, task, reason)?,
            Follows::TriesAgain => {}
        }
        if batch.train.next().is_some() {
            self.batch = Some(batch);
            self.attempt(now);
            return Ok(());
        }
        self.start_batch(now)
    }

    fn land(&mut self, now: f64, batch: &Batch, group: &[usize]) -> Outcome<()> {
        for task in group {
            self.office.land(*task)?;
            self.announced.retain(|(known, _)| known != task);
            let began = self.works.get(task).map_or(now, |work| work.began);
            self.sums.merged(now, began);
            for edit in &self.tasks[*task].edits {
                self.landed_at.insert(edit.place, now);
            }
        }
        if let Some(tip) = batch.result.last() {
            self.main = tip.clone();
        }
        self.sums.colour(now, !self.main.undefined().is_empty());
        self.wake_all(now);
        Ok(())
    }

    fn eject(&mut self, now: f64, batch: &Batch, task: usize, reason: Ejection) -> Outcome<()> {
        let of = &self.tasks[task];
        let dropped = match reason {
            Ejection::Conflict => {
                self.sums.conflicts += 1;
                edits_at(of, &batch.conflicts).len()
            }
            Ejection::Gate => 1,
        };
        self.sums.dropped += dropped;
        if let Some(work) = self.works.get_mut(&task) {
            work.again = (reason == Ejection::Conflict).then(|| batch.conflicts.clone());
        }
        self.office.eject(task, reason, &batch.conflicts)?;
        self.wake_all(now);
        Ok(())
    }

    /// Those who found nothing to do look again.
    fn wake_all(&mut self, now: f64) {
        for who in std::mem::take(&mut self.waiting) {
            self.agenda.wake(now, who);
        }
    }
}
