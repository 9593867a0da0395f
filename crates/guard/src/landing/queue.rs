//! The merge queue: approved tasks in order, batch by batch, until none is left that can land.

use super::branch::Branch;
use super::group::{Engine, Entry, Tried, conflict};
use super::merge;
use crate::gates::Runner;
use crate::git::Git;
use comity_api::{
    EjectedTask, EventAnswer, LandedTask, MergeBatch, MergeRunAnswer, Nothing, RunMerges,
    WaitingTask, op,
};
use comity_core::command::{Command, MergeStep};
use comity_core::hint::say;
use comity_core::merging::Tried as Outcome;
use comity_core::merging::{BatchId, Ejection, Follows, Train};
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Verb;
use comity_engine::{Answered, Caller};
use comity_project::merging::MergeSettings;
use comity_project::store::Access;

/// What the answer says of a gate that failed.
const TAIL_CHARS_MAX: usize = 2_000;

impl Runner {
    /// Works through the queue.
    pub(crate) fn merge_run(
        &self,
        caller: &Caller,
        input: &RunMerges,
    ) -> Result<Answered<MergeRunAnswer>, Refusal> {
        let tree = self.tree()?;
        let merging = self.context.config.merging()?;
        merge::check_version(merging.strategy)?;
        let service = self.context.service(Access::Write)?;
        service.may(caller, Verb::MergeQueue)?;
        let _turn = self.turn()?;
        let engine = Engine {
            runner: self,
            service: &service,
            caller: Caller { key: None, ..caller.clone() },
            git: merge::as_user(Git::at(tree), self.context.environment()),
            tree,
            strategy: merging.strategy,
            changelog: merging.changelog.clone(),
        };
        let into = input.target.clone().or_else(|| merging.target.clone());
        let mut run = QueueRun { engine, merging, into, waiting: Vec::new(), remarks: Vec::new() };
        let target = run.branch()?.name;
        let mut batches = Vec::new();
        while let Some(batch) = run.batch()? {
            batches.push(batch);
            if input.once {
                break;
            }
        }
        let output = MergeRunAnswer { target, batches, waiting: run.waiting };
        Ok(Answered { output, remarks: run.remarks })
    }
}

struct QueueRun<'a> {
    engine: Engine<'a>,
    merging: MergeSettings,
    into: Option<String>,
    /// Tasks that cannot land now, and why. They keep their place.
    waiting: Vec<WaitingTask>,
    remarks: Vec<String>,
}

impl QueueRun<'_> {
    fn branch(&self) -> Result<Branch, Refusal> {
        let set = self.engine.runner.context.config.base_branch();
        Branch::find(&self.engine.git, self.into.as_deref(), set)
    }

    /// Lands the next batch as far as it can; none when nothing is left that could land.
    fn batch(&mut self) -> Result<Option<MergeBatch>, Refusal> {
        let branch = self.branch()?;
        let entries = self.freeze(&branch)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let tasks = entries.iter().map(|entry| entry.task.id.to_string()).collect();
        let (target, base) = (branch.name.clone(), branch.tip.clone());
        let step = MergeStep::Start { target: target.clone(), base: base.clone(), tasks };
        let service = self.engine.service;
        let started =
            service.run_command::<EventAnswer>(&self.engine.caller, Command::MergeStep(step))?;
        let batch = BatchId(started.event.seq);
        let mut shown = MergeBatch {
            batch: batch.to_string(),
            target,
            base,
            landed: Vec::new(),
            ejected: Vec::new(),
        };
        // Entries are taken out when they have landed or were sent back.
        let mut left: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
        let mut train = Train::new((0..left.len()).collect(), self.merging.retries);
        while let Some(places) = train.next().map(<[usize]>::to_vec) {
            let group: Vec<Entry> = places.iter().filter_map(|at| left[*at].take()).collect();
            let tried = self.engine.attempt(&group, &branch.name, &mut self.remarks)?;
            let outcome = match &tried {
                Tried::Landed(_) => Outcome::Green,
                Tried::Red { .. } => Outcome::Red,
                Tried::Conflict { place, .. } => Outcome::Conflict(*place),
                Tried::Stale { place, .. } => Outcome::Stale(*place),
            };
            match train.after(outcome) {
                Follows::Lands(_) => self.finish(&mut shown, batch, &group, tried)?,
                Follows::Ejected(at, _) => {
                    let entry = places.iter().position(|place| *place == at);
                    if let Some(entry) = entry.and_then(|place| group.get(place)) {
                        self.eject(&mut shown, batch, entry, tried);
                    }
                }
                Follows::TriesAgain => {}
            }
            for (at, entry) in places.into_iter().zip(group) {
                left[at] = Some(entry);
            }
        }
        Ok(Some(shown))
    }

    /// Takes the next tasks of the queue. What was interrupted after the branch had it is finished first.
    fn freeze(&mut self, branch: &Branch) -> Result<Vec<Entry>, Refusal> {
        let service = self.engine.service;
        let queue = service.call::<op::MergeQueue>(&self.engine.caller, Nothing {})?;
        let mut entries = Vec::new();
        for waiting in queue.queue {
            if entries.len() >= self.merging.batch {
                break;
            }
            let id = waiting.task;
            let elsewhere = waiting.target.as_ref().is_some_and(|target| *target != branch.name);
            if elsewhere || self.waiting.iter().any(|known| known.task == id) {
                continue;
            }
            match self.entry(&id, branch) {
                Ok(entry) => entries.extend(entry),
                Err(refusal) if is_of_the_task(&refusal) => {
                    let (code, why) = (refusal.code.as_str().to_owned(), refusal.message);
                    self.waiting.push(WaitingTask { task: id, code, why });
                }
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(entries)
    }

    fn entry(&mut self, id: &str, branch: &Branch) -> Result<Option<Entry>, Refusal> {
        let engine = &self.engine;
        let entry = engine.entry(id)?;
        if let Some(landed) = engine.begun(&entry, branch)? {
            engine.finished(&entry, landed.records.first())?;
            self.remarks.extend(landed.branch.followed(&engine.git, landed.tip()));
            engine.forget(&entry);
            return Ok(None);
        }
        if self.into.is_none() {
            own_branch(engine, &entry, branch)?;
        }
        engine.service.would_run(&engine.caller, entry.finish(&entry.work))?;
        Ok(Some(entry))
    }

    /// Finishes the tasks of a group that the branch has now.
    fn finish(
        &mut self,
        shown: &mut MergeBatch,
        batch: BatchId,
        group: &[Entry],
        tried: Tried,
    ) -> Result<(), Refusal> {
        let Tried::Landed(landed) = tried else { return Ok(()) };
        let engine = &self.engine;
        for (entry, record) in group.iter().zip(&landed.records) {
            let answered = engine.finished(entry, Some(record))?;
            self.remarks.extend(answered.remarks);
            let (task, sha) = (entry.task.id.to_string(), record.merged.clone());
            shown.landed.push(LandedTask { task, sha });
        }
        let followed = landed.branch.followed(&engine.git, landed.tip());
        self.remarks.extend(followed.into_iter().filter(|text| text.contains("not brought")));
        group.iter().for_each(|entry| engine.forget(entry));
        let tasks = group.iter().map(|entry| entry.task.id.to_string()).collect();
        let (target, sha) = (landed.branch.name.clone(), landed.tip().to_owned());
        let step = MergeStep::Landed { batch, target, sha, tasks };
        engine.service.run(&engine.caller, Command::MergeStep(step))?;
        Ok(())
    }

    /// Sends one of a group back: it conflicts with the branch, or is red alone.
    fn eject(&self, shown: &mut MergeBatch, batch: BatchId, entry: &Entry, tried: Tried) {
        let (reason, branch, refusal, paths) = match tried {
            Tried::Landed(_) => return,
            Tried::Conflict { branch, paths, .. } | Tried::Stale { branch, paths, .. } => {
                let refusal = conflict(&branch, &paths);
                (Ejection::Conflict, branch, refusal, paths)
            }
            Tried::Red { branch, red } => (Ejection::Gate, branch, red, Vec::new()),
        };
        let with = branch.tip.clone();
        let refusal =
            self.engine.sent_back(entry, Some(batch), (reason, &branch.name, with), refusal);
        let gate = refusal.details.get("gate").and_then(|gate| gate.as_str()).map(str::to_owned);
        let why: String = refusal.message.chars().take(TAIL_CHARS_MAX).collect();
        let task = entry.task.id.to_string();
        shown.ejected.push(EjectedTask { task, reason, paths, gate, why });
    }
}

/// Refuses a task whose base branch is another one than the queue works on: the checkout names that one, and may be the work.
fn own_branch(engine: &Engine<'_>, entry: &Entry, branch: &Branch) -> Result<(), Refusal> {
    let own = Branch::find(&engine.git, None, entry.settings.base.as_deref())?.name;
    if own == branch.name {
        return Ok(());
    }
    let message = format!("{} lands on {own}, and this queue on {}", entry.task.id, branch.name);
    Err(Refusal::new(Code::NotReady, message)
        .hint(say("name the branch: ").ask("target", "BRANCH")))
}

/// Tells whether a refusal is about one task, so that others can land all the same.
fn is_of_the_task(refusal: &Refusal) -> bool {
    !matches!(
        refusal.code,
        Code::RoleForbidden
            | Code::HumanOnly
            | Code::Untrusted
            | Code::StaleFence
            | Code::StoreUnavailable
            | Code::StorageFull
            | Code::StoreReadOnly
            | Code::Internal
    )
}
