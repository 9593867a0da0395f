//! Landing: approved work becomes part of a branch, is checked there, and its task is done.
//!
//! Each step can be repeated after a crash. The commit is made from objects, and refs keep it; a record in the store names it,
//! with the gates that passed, before the branch moves; the branch moves by compare-and-swap; and one command of the rules
//! finishes the task. Whoever runs it again finds by the record whether the branch has the commit already, and goes on from
//! there. One task is a queue of one: `group` is the engine of both.

mod branch;
mod changelog;
mod group;
mod merge;
mod queue;
mod record;
mod release;

use crate::gates::{Runner, keyed};
use crate::git::{Git, push};
use branch::Branch;
use comity_api::{LandAnswer, LandTask, LandedGate, SettingsFrom};
use comity_core::command::Command;
use comity_core::merging::Ejection;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::view::TaskView;
use comity_engine::{Answered, Caller};
use comity_project::store::Access;
use group::{Engine, Entry, Tried};
use record::Record;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often work is merged anew because the branch moved meanwhile.
const TRIES_MAX: usize = 5;
/// How often a landing that waits for another looks again.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is merged, and where.
struct Landed {
    branch: Branch,
    /// The commit that has each piece of work, in order.
    merged: Vec<String>,
    /// What was written down of each before the branch moved.
    records: Vec<Record>,
    gates: Vec<LandedGate>,
}

impl Landed {
    fn tip(&self) -> &str {
        self.merged.last().unwrap_or(&self.branch.tip)
    }
}

impl Runner {
    pub(crate) fn land(
        &self,
        caller: &Caller,
        input: &LandTask,
    ) -> Result<Answered<LandAnswer>, Refusal> {
        let tree = self.tree()?;
        merge::check_version(input.strategy)?;
        let service = self.context.service(Access::Write)?;
        let LandTask { id, into, strategy, push } = input;
        let keyed = keyed(caller, &format!("task.land {id} {into:?} {strategy:?} {push}"))?;
        if let Some(keyed) = &keyed
            && let Some(first) = service.remembered::<LandAnswer>(keyed)?
        {
            return Ok(Answered::from(first));
        }
        let _turn = self.turn()?;
        let engine = Engine {
            runner: self,
            service: &service,
            caller: Caller { key: None, ..caller.clone() },
            git: merge::as_user(Git::at(tree), self.context.environment()),
            tree,
            strategy: *strategy,
            changelog: self.context.config.merging()?.changelog,
        };
        let entry = engine.entry(id)?;
        let answered = engine.land_one(&entry, input)?;
        match keyed {
            Some(keyed) => {
                let output = service.remember(&keyed, answered.output)?;
                Ok(Answered { output, remarks: answered.remarks })
            }
            None => Ok(answered),
        }
    }

    /// Waits until no other landing in this repository is under way. A process that dies gives its turn up.
    fn turn(&self) -> Result<File, Refusal> {
        let dir = self.context.beside_store();
        let path = dir.join("landing.lock");
        let failed = |error: std::io::Error| {
            Refusal::new(Code::StoreReadOnly, format!("cannot write {}: {error}", path.display()))
        };
        let file = std::fs::create_dir_all(&dir).and_then(|()| File::create(&path));
        let file = file.map_err(failed)?;
        let mut is_said = false;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            self.not_stopped()?;
            if !is_said {
                (self.say)("another task is landing; waiting for it");
                is_said = true;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(file)
    }

    fn not_stopped(&self) -> Result<(), Refusal> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Refusal::new(Code::CouldNotRun, "it was stopped; nothing has landed")
                .hint("run it again")),
            false => Ok(()),
        }
    }
}

impl Engine<'_> {
    fn land_one(&self, entry: &Entry, input: &LandTask) -> Result<Answered<LandAnswer>, Refusal> {
        let set = entry.settings.base.as_deref();
        let branch = Branch::find(&self.git, input.into.as_deref(), set)?;
        let mut remarks = Vec::new();
        let landed = match self.begun(entry, &branch)? {
            Some(landed) => landed,
            None => {
                // Whoever may not do it, or whose work must not land, hears so before anything is merged.
                self.service.would_run(&self.caller, entry.finish(&entry.work))?;
                self.merge_one(entry, &branch.name, &mut remarks)?
            }
        };
        let merged = landed.tip().to_owned();
        let task = match entry.task.status {
            Status::Done => self.shown(&entry.task)?,
            _ => {
                let answered = self.finished(entry, landed.records.first())?;
                remarks.extend(answered.remarks);
                answered.output.take::<comity_api::TaskAnswer>()?.task
            }
        };
        remarks.extend(landed.branch.followed(&self.git, &merged));
        if input.push {
            self.push(&entry.task, &landed)?;
        }
        self.forget(entry);
        let output = LandAnswer {
            task,
            branch: landed.branch.name,
            base: landed.branch.tip,
            merged,
            strategy: input.strategy,
            gates: landed.gates,
            settings: SettingsFrom::clone(&entry.settings.from),
            pushed: input.push,
        };
        Ok(Answered { output, remarks })
    }

    fn shown(&self, task: &Task) -> Result<TaskView, Refusal> {
        let id = task.id.to_string();
        let shown =
            self.service.call::<comity_api::op::TaskShow>(&self.caller, comity_api::ById { id })?;
        Ok(shown.task)
    }

    /// Merges, checks and moves the branch. Work that does not merge or is red when merged is sent back.
    fn merge_one(
        &self,
        entry: &Entry,
        into: &str,
        remarks: &mut Vec<String>,
    ) -> Result<Landed, Refusal> {
        let group = std::slice::from_ref(entry);
        match self.attempt(group, into, remarks)? {
            Tried::Landed(landed) => Ok(landed),
            Tried::Conflict { branch, paths, .. } | Tried::Stale { branch, paths, .. } => {
                let refusal = group::conflict(&branch, &paths);
                let with = branch.tip.clone();
                Err(self.sent_back(entry, None, (Ejection::Conflict, &branch.name, with), refusal))
            }
            Tried::Red { branch, red } => {
                let with = branch.tip.clone();
                Err(self.sent_back(entry, None, (Ejection::Gate, &branch.name, with), red))
            }
        }
    }

    fn push(&self, task: &Task, landed: &Landed) -> Result<(), Refusal> {
        let name = &landed.branch.name;
        let remote = self.git.users_setting(&format!("branch.{name}.remote"));
        let remote = remote.unwrap_or_else(|| "origin".to_owned());
        (self.runner.say)(&format!("pushing {name} to {remote}"));
        push(self.tree, &remote, name).map_err(|said| {
            let id = &task.id;
            let message = format!("{id} has landed on {name} here, but the push failed: {said}");
            Refusal::new(Code::CouldNotRun, message)
                .hint("push the branch by hand, or land the task again to repeat the push")
                .detail("task", id.as_str())
                .detail("merged", landed.tip())
        })
    }
}

impl Entry {
    fn finish(&self, merged: &str) -> Command {
        let (id, merged) = (self.task.id.to_string(), merged.to_owned());
        Command::Land { id, merged, reason: None }
    }
}
