//! Landing: approved work becomes part of a branch, is checked there, and its task is done.
//!
//! Each step can be repeated after a crash. The commit is made from objects; a journal of refs names it before the branch
//! moves; the branch moves by compare-and-swap; and one command of the rules finishes the task. Whoever runs it again finds
//! by the journal whether the branch has the commit already, and goes on from there.

mod branch;
mod merge;

pub(crate) use branch::Journal;

use crate::gates::built_in::Checked;
use crate::gates::run::{Job, Ran, Result as RunResult};
use crate::gates::{CheckSettings, Runner, job, keyed};
use crate::git::{Containment, Git, containment, push};
use branch::Branch;
use comity_api::{LandAnswer, LandTask, LandedGate, SettingsFrom, Strategy};
use comity_core::command::{Command, TaskVerb};
use comity_core::decide::{REVIEW_GATE, required_gates};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::view::TaskView;
use comity_engine::{Answered, Caller, Service};
use comity_project::store::Access;
use merge::{Merge, Merged};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often work is merged anew because the branch moved meanwhile.
const TRIES_MAX: usize = 5;
/// How often a landing that waits for another looks again.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Paths that the reason of a conflict names.
const PATHS_SAID_MAX: usize = 50;

/// Everything that one landing needs.
struct Landing<'a> {
    runner: &'a Runner,
    service: &'a Service,
    caller: Caller,
    settings: &'a CheckSettings,
    git: Git,
    tree: &'a Path,
    task: Task,
    /// The submitted commit.
    work: String,
    journal: Journal,
}

/// What is merged, and where.
struct Landed {
    branch: Branch,
    merged: String,
    gates: Vec<LandedGate>,
}

impl Runner {
    pub(crate) fn land(
        &self,
        caller: &Caller,
        input: &LandTask,
    ) -> Result<Answered<LandAnswer>, Refusal> {
        let tree = self.tree()?;
        merge::check_version(input.strategy)?;
        let (runner, settings) = self.checking(tree)?;
        let service = runner.context.service(Access::Write)?;
        let LandTask { id, into, strategy, push } = input;
        let keyed = keyed(caller, &format!("task.land {id} {into:?} {strategy:?} {push}"))?;
        if let Some(keyed) = &keyed
            && let Some(first) = service.remembered::<LandAnswer>(keyed)?
        {
            return Ok(Answered::from(first));
        }
        let _turn = runner.turn()?;
        let task = service.task(caller, id)?;
        let git = merge::as_user(Git::at(tree), runner.context.environment());
        let work = submitted(&git, &task)?;
        let landing = Landing {
            runner: &runner,
            service: &service,
            caller: Caller { key: None, ..caller.clone() },
            settings: &settings,
            git,
            tree,
            journal: Journal::of(&task.id),
            task,
            work,
        };
        let answered = landing.run(input)?;
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

/// Returns the submitted commit.
fn submitted(git: &Git, task: &Task) -> Result<String, Refusal> {
    let named = task.commit.as_deref().ok_or_else(|| {
        Refusal::new(Code::NotReady, format!("{} has no submitted commit to land", task.id))
            .detail("status", task.status.as_str())
    })?;
    git.commit(named).ok_or_else(|| {
        let message = format!("git knows no commit {named} here; fetch it first");
        Refusal::new(Code::Unobserved, message)
    })
}

impl Landing<'_> {
    fn run(&self, input: &LandTask) -> Result<Answered<LandAnswer>, Refusal> {
        let set = self.settings.config.base_branch();
        let into = input.into.as_deref();
        let mut remarks = Vec::new();
        let landed = match self.begun(Branch::find(&self.git, into, set)?) {
            Some(landed) => landed,
            None => {
                // Whoever may not do it, or whose work must not land, hears so before anything is merged.
                self.service.would_run(&self.caller, self.finish(&self.work))?;
                self.merge(input, &mut remarks)?
            }
        };
        let task = match self.task.status {
            Status::Done => self.shown()?,
            _ => {
                // The event of the merge says what passed on the merged files.
                let merge_gates = self.runner.passed.on(&landed.merged);
                let caller = Caller { merge_gates, ..self.caller.clone() };
                let answered = self.service.run(&caller, self.finish(&landed.merged))?;
                remarks.extend(answered.remarks);
                answered.output.take::<comity_api::TaskAnswer>()?.task
            }
        };
        remarks.extend(landed.branch.followed(&self.git, &landed.merged));
        if input.push {
            self.push(&landed)?;
        }
        self.journal.clear(&self.git);
        let output = LandAnswer {
            task,
            branch: landed.branch.name,
            base: landed.branch.tip,
            merged: landed.merged,
            strategy: input.strategy,
            gates: landed.gates,
            settings: SettingsFrom::clone(&self.settings.from),
            pushed: input.push,
        };
        Ok(Answered { output, remarks })
    }

    /// Finds a landing that was interrupted after the branch had moved.
    fn begun(&self, branch: Branch) -> Option<Landed> {
        let (base, merged) = self.journal.read(&self.git, &self.work)?;
        let has = self.git.does(&["merge-base", "--is-ancestor", &merged, &branch.tip]);
        (has && merged != base).then(|| Landed {
            branch: Branch { tip: base, ..branch },
            merged,
            gates: Vec::new(),
        })
    }

    fn finish(&self, merged: &str) -> Command {
        let (id, merged) = (self.task.id.to_string(), merged.to_owned());
        Command::Land { id, merged, reason: None }
    }

    fn shown(&self) -> Result<TaskView, Refusal> {
        let id = self.task.id.to_string();
        let shown =
            self.service.call::<comity_api::op::TaskShow>(&self.caller, comity_api::ById { id })?;
        Ok(shown.task)
    }

    /// Merges, checks and moves the branch; again where somebody else moved it meanwhile.
    fn merge(&self, input: &LandTask, remarks: &mut Vec<String>) -> Result<Landed, Refusal> {
        let set = self.settings.config.base_branch();
        for _ in 0..TRIES_MAX {
            let branch = Branch::find(&self.git, input.into.as_deref(), set)?;
            let merged = self.merged(&branch, input.strategy)?;
            branch.can_follow(&self.git, &merged)?;
            self.journal.write(&self.git, &branch.tip, &self.work, &merged)?;
            let gates = self.check(&branch, &merged, remarks)?;
            self.runner.not_stopped()?;
            self.service.would_run(&self.caller, self.finish(&merged))?;
            branch.can_follow(&self.git, &merged)?;
            if branch.moved(&self.git, &self.task.id, &merged)? {
                return Ok(Landed { branch, merged, gates });
            }
            (self.runner.say)(&format!("{} moved meanwhile; merging again", branch.name));
        }
        let message = format!("the branch moved {TRIES_MAX} times while {} landed", self.task.id);
        Err(Refusal::new(Code::CouldNotRun, message).hint("run it again"))
    }

    /// Makes the commit that has the work. Work that the branch has already is there as it is.
    fn merged(&self, branch: &Branch, strategy: Strategy) -> Result<String, Refusal> {
        if containment(self.tree, &self.work, &branch.tip) == Containment::Contained {
            return Ok(branch.tip.clone());
        }
        let merge = Merge {
            git: self.git.clone(),
            task: &self.task,
            base: &branch.tip,
            work: &self.work,
            branch: &branch.name,
        };
        match merge.make(strategy)? {
            Merged::Commit(commit) => Ok(commit),
            Merged::Conflict(paths) => {
                let place = place(branch);
                let said: Vec<&str> =
                    paths.iter().take(PATHS_SAID_MAX).map(String::as_str).collect();
                let message = format!("conflicts with {place} in: {}", said.join(", "));
                let refusal = Refusal::new(Code::MergeConflict, message).detail("paths", paths);
                Err(self.sent_back(refusal, ""))
            }
        }
    }

    /// Runs the required gates on the merged commit. A gate that fails sends the work back.
    fn check(
        &self,
        branch: &Branch,
        merged: &str,
        remarks: &mut Vec<String>,
    ) -> Result<Vec<LandedGate>, Refusal> {
        let policy = &self.service.settings().policy;
        let jobs = self.jobs(remarks);
        self.runner.trusted(&jobs)?;
        let checked = Checked {
            service: self.service,
            caller: &self.caller,
            observer: &self.runner.observer,
            policy,
            task: &self.task,
            tree: self.tree,
            work: &self.work,
            commit: merged,
        };
        let mut shown = Vec::new();
        let mut bad: Vec<Ran> = Vec::new();
        for mut ran in self.runner.run_all(&checked, jobs, remarks)? {
            self.runner.keep_output(self.service, &self.task, merged, &mut ran)?;
            shown.push(landed_gate(&ran));
            if ran.result != RunResult::Pass {
                bad.push(ran);
            }
        }
        let Some(first) = bad.iter().find(|ran| ran.result == RunResult::Fail).or(bad.first())
        else {
            return Ok(shown);
        };
        let place = place(branch);
        let words = match &first.problem {
            Some(problem) => format!("gate {} could not run: {problem}", first.name),
            None => {
                let exit = first.exit_code.unwrap_or(1);
                format!("gate {} failed on the merge with {place} (exit {exit})", first.name)
            }
        };
        let is_red = first.result == RunResult::Fail;
        let code = if is_red { Code::GateFailed } else { Code::CouldNotRun };
        let gates = serde_json::to_value(&shown).unwrap_or_default();
        let refusal = Refusal::new(code, words).detail("gates", gates);
        if !is_red {
            self.journal.clear(&self.git);
            return Err(refusal);
        }
        let failed = bad.iter().filter(|ran| ran.result == RunResult::Fail);
        let output: String = failed.map(|ran| format!("\n\n{}:\n{}", ran.name, ran.text)).collect();
        Err(self.sent_back(refusal, &output))
    }

    /// Lists the required gates that comity can check. One that somebody waived is not asked again.
    fn jobs(&self, remarks: &mut Vec<String>) -> Vec<Job> {
        let mut jobs = Vec::new();
        for name in required_gates(&self.task, &self.service.settings().policy) {
            let is_waived = self.task.gate(&name).is_some_and(|gate| gate.waiver.is_some());
            if name == REVIEW_GATE || is_waived {
                continue;
            }
            match job(&name, &self.settings.commands) {
                Some(job) => jobs.push(job),
                None => remarks.push(format!(
                    "note: gate {name} has no command; comity did not check it on the merged files"
                )),
            }
        }
        jobs
    }

    /// Sends the work back to whoever did it, with the reason. Returns the refusal, which says what became of the task.
    fn sent_back(&self, mut refusal: Refusal, output: &str) -> Refusal {
        self.journal.clear(&self.git);
        let id = self.task.id.to_string();
        let reason = format!("{}{output}", refusal.message);
        let command = TaskVerb::RequestChanges.on(&id, Some(reason));
        refusal.message = match self.service.run(&self.caller, command) {
            Ok(_) => format!("{id} was sent back: {}", refusal.message),
            Err(other) => {
                format!("{}; {id} could not be sent back: {}", refusal.message, other.message)
            }
        };
        refusal.detail("task", id)
    }

    fn push(&self, landed: &Landed) -> Result<(), Refusal> {
        let name = &landed.branch.name;
        let remote = self.git.users_setting(&format!("branch.{name}.remote"));
        let remote = remote.unwrap_or_else(|| "origin".to_owned());
        (self.runner.say)(&format!("pushing {name} to {remote}"));
        push(self.tree, &remote, name).map_err(|said| {
            let id = &self.task.id;
            let message = format!("{id} has landed on {name} here, but the push failed: {said}");
            Refusal::new(Code::CouldNotRun, message)
                .hint("push the branch by hand, or land the task again to repeat the push")
                .detail("task", id.as_str())
                .detail("merged", landed.merged.as_str())
        })
    }
}

fn place(branch: &Branch) -> String {
    format!("{} at {}", branch.name, branch.tip.get(..10).unwrap_or(&branch.tip))
}

fn landed_gate(ran: &Ran) -> LandedGate {
    LandedGate {
        name: ran.name.clone(),
        result: ran.result.as_str().to_owned(),
        exit_code: ran.exit_code,
        duration_ms: ran.duration_ms,
        output_tail: ran.text.clone(),
    }
}
