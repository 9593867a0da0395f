//! A group of approved tasks merged one after the other, checked once, and landed together.

use super::branch::{Branch, Journal};
use super::changelog;
use super::merge::{Merge, Merged};
use super::record::Record;
use super::{Landed, TRIES_MAX};
use crate::gates::built_in::Checked;
use crate::gates::run::{Job, Ran, Result as RunResult, What};
use crate::gates::{About, CheckSettings, Runner, job};
use crate::git::{Containment, Git, containment};
use comity_api::{LandedGate, Strategy};
use comity_core::command::{Command, Eject, MergeStep};
use comity_core::decide::{REVIEW_GATE, required_gates};
use comity_core::merging::{BatchId, Ejection};
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;
use comity_engine::{Answered, Caller, Reply, Service};
use std::path::Path;

/// Paths that the reason of a conflict names.
const PATHS_SAID_MAX: usize = 50;

/// Everything that landing needs.
pub(super) struct Engine<'a> {
    pub runner: &'a Runner,
    pub service: &'a Service,
    pub caller: Caller,
    pub git: Git,
    pub tree: &'a Path,
    pub strategy: Strategy,
    /// The file that gets a line for each task.
    pub changelog: Option<String>,
}

/// A task whose work is to land.
pub(super) struct Entry {
    pub task: Task,
    /// The submitted commit.
    pub work: String,
    pub journal: Journal,
    /// What judges this work.
    pub settings: CheckSettings,
    policy: Policy,
    /// Runs gates by these settings.
    runner: Runner,
}

/// What became of an attempt to land a group.
pub(super) enum Tried {
    Landed(Landed),
    /// The work at this place changes the same lines as what is before it.
    Conflict {
        place: usize,
        branch: Branch,
        paths: Vec<String>,
    },
    /// The work at this place changes the same lines as the branch itself.
    Stale {
        place: usize,
        branch: Branch,
        paths: Vec<String>,
    },
    /// A gate is red on the merged files.
    Red {
        branch: Branch,
        red: Refusal,
    },
}

/// The commits of a group on top of the branch, or the place and the paths of the first conflict.
type Chain = Result<Vec<String>, (usize, Vec<String>)>;

impl Engine<'_> {
    /// Reads a task and what judges its work.
    pub fn entry(&self, id: &str) -> Result<Entry, Refusal> {
        let task = self.service.task(&self.caller, id)?;
        let named = task.commit.as_deref().ok_or_else(|| {
            Refusal::new(Code::NotReady, format!("{} has no submitted commit to land", task.id))
                .detail("status", task.status.as_str())
        })?;
        let work = self.git.commit(named).ok_or_else(|| {
            let message = format!("git knows no commit {named} here; fetch it first");
            Refusal::new(Code::Unobserved, message)
        })?;
        let about = About { task: Some(&task), work: Some(&work) };
        let (runner, settings) = self.runner.checking(self.tree, about)?;
        let policy = settings.policy(&self.service.settings().policy)?;
        Ok(Entry { journal: Journal::of(&task.id), task, work, settings, policy, runner })
    }

    /// Finds a landing that was interrupted after the branch had moved.
    pub fn begun(&self, entry: &Entry, branch: &Branch) -> Result<Option<Landed>, Refusal> {
        let Some(record) = self.record_of(entry)? else { return Ok(None) };
        let Record { base, merged, gates, .. } = record.clone();
        let has = self.git.does(&["merge-base", "--is-ancestor", &merged, &branch.tip]);
        Ok((has && merged != base).then(|| Landed {
            branch: Branch { tip: base, name: branch.name.clone() },
            merged: vec![merged],
            records: vec![record],
            gates,
        }))
    }

    /// Finishes a task whose work the branch has now, by the settings that judged it when the landing began. The event of the
    /// merge says what passed on the merged files.
    pub fn finished(
        &self,
        entry: &Entry,
        record: Option<&Record>,
    ) -> Result<Answered<Reply>, Refusal> {
        let record = record.ok_or_else(|| Refusal::new(Code::Internal, "BUG: no record"))?;
        self.service.run(&self.landing(record), entry.finish(&record.merged))
    }

    fn landing(&self, record: &Record) -> Caller {
        let (merge_gates, landing) = (record.passed.clone(), Some(record.seen()));
        Caller { merge_gates, landing, ..self.caller.clone() }
    }

    /// Says what a landing is about to do.
    fn records(
        &self,
        branch: &Branch,
        group: &[Entry],
        merged: &[String],
        gates: &[LandedGate],
    ) -> Vec<Record> {
        let bases = std::iter::once(&branch.tip).chain(merged);
        // The gates run once, on the files of the whole group.
        let passed = merged.last().map(|tip| self.runner.passed.on(tip)).unwrap_or_default();
        let each = group.iter().zip(bases).zip(merged);
        let record = |((entry, base), merged): ((&Entry, &String), &String)| Record {
            work: entry.work.clone(),
            base: base.clone(),
            merged: merged.clone(),
            judged_by: entry.settings.from.commit.clone(),
            passed: passed.clone(),
            gates: gates.to_vec(),
        };
        each.map(record).collect()
    }

    /// Merges, checks and moves the branch; again where somebody else moved it meanwhile. The tasks are not finished yet.
    pub fn attempt(
        &self,
        group: &[Entry],
        into: &str,
        remarks: &mut Vec<String>,
    ) -> Result<Tried, Refusal> {
        for _ in 0..TRIES_MAX {
            let branch = Branch::find(&self.git, Some(into), None)?;
            let merged = match self.chain(&branch, group)? {
                Ok(merged) => merged,
                Err((place, paths)) => return self.conflicts(branch, group, place, paths),
            };
            let tip = merged.last().unwrap_or(&branch.tip).clone();
            branch.can_follow(&self.git, &tip)?;
            self.note(&branch, group, &merged)?;
            let gates = match self.check(&branch, group, &tip, remarks)? {
                Ok(gates) => gates,
                Err(red) => return Ok(Tried::Red { branch, red }),
            };
            self.runner.not_stopped()?;
            let records = self.records(&branch, group, &merged, &gates);
            for (entry, record) in group.iter().zip(&records) {
                self.service.would_run(&self.landing(record), entry.finish(&record.merged))?;
            }
            branch.can_follow(&self.git, &tip)?;
            self.remember(group, &records)?;
            if branch.moved(&self.git, &named(group), &tip)? {
                return Ok(Tried::Landed(Landed { branch, merged, records, gates }));
            }
            (self.runner.say)(&format!("{} moved meanwhile; merging again", branch.name));
        }
        let message = format!("the branch moved {TRIES_MAX} times while {} landed", named(group));
        Err(Refusal::new(Code::CouldNotRun, message).hint("run it again"))
    }

    /// Tells whether work conflicts with the branch itself, or only with what is before it and may not land.
    fn conflicts(
        &self,
        branch: Branch,
        group: &[Entry],
        place: usize,
        paths: Vec<String>,
    ) -> Result<Tried, Refusal> {
        let alone = group.get(place..=place).unwrap_or_default();
        match self.chain(&branch, alone)? {
            Err((_, paths)) => Ok(Tried::Stale { place, branch, paths }),
            Ok(_) => Ok(Tried::Conflict { place, branch, paths }),
        }
    }

    fn note(&self, branch: &Branch, group: &[Entry], merged: &[String]) -> Result<(), Refusal> {
        let mut base = &branch.tip;
        for (entry, merged) in group.iter().zip(merged) {
            entry.journal.write(&self.git, base, &entry.work, merged)?;
            base = merged;
        }
        Ok(())
    }

    /// Makes the commits that have the work, each on top of the one before. Work that the branch has already is there as it
    /// is.
    fn chain(&self, branch: &Branch, group: &[Entry]) -> Result<Chain, Refusal> {
        let mut made: Vec<String> = Vec::new();
        for (place, entry) in group.iter().enumerate() {
            let base = made.last().unwrap_or(&branch.tip).clone();
            if containment(self.tree, &entry.work, &base) == Containment::Contained {
                made.push(base);
                continue;
            }
            let merge = Merge {
                git: self.git.clone(),
                task: &entry.task,
                base: &base,
                work: &entry.work,
                branch: &branch.name,
            };
            match merge.make(self.strategy)? {
                Merged::Commit(commit) => {
                    made.push(match &self.changelog {
                        Some(file) => changelog::with_line(&self.git, &commit, file, &entry.task)?,
                        None => commit,
                    });
                }
                Merged::Conflict(paths) => return Ok(Err((place, paths))),
            }
        }
        Ok(Ok(made))
    }

    /// Runs the required gates on the merged commit: commands once, checks that are built in for each piece of work. The
    /// inner refusal is what a red one says.
    fn check(
        &self,
        branch: &Branch,
        group: &[Entry],
        tip: &str,
        remarks: &mut Vec<String>,
    ) -> Result<Result<Vec<LandedGate>, Refusal>, Refusal> {
        let mut seen: Vec<(String, String)> = Vec::new();
        let (mut shown, mut bad) = (Vec::new(), Vec::new());
        for entry in group.iter().rev() {
            let mut jobs = jobs(entry, remarks);
            jobs.retain(|job| match &job.what {
                What::Command(gate) => {
                    let command = (job.name.clone(), gate.power());
                    let is_new = !seen.contains(&command);
                    seen.push(command);
                    is_new
                }
                What::BuiltIn(_) => true,
            });
            entry.runner.trusted(&jobs)?;
            let checked = Checked {
                service: self.service,
                caller: &self.caller,
                observer: &self.runner.observer,
                policy: &entry.policy,
                task: &entry.task,
                tree: self.tree,
                work: &entry.work,
                commit: tip,
            };
            for mut ran in entry.runner.run_all(&checked, jobs, remarks)? {
                entry.runner.keep_output(self.service, &entry.task, tip, &mut ran)?;
                shown.push(landed_gate(&ran));
                if ran.result != RunResult::Pass {
                    bad.push(ran);
                }
            }
        }
        self.judge(branch, group, shown, &bad)
    }

    fn judge(
        &self,
        branch: &Branch,
        group: &[Entry],
        shown: Vec<LandedGate>,
        bad: &[Ran],
    ) -> Result<Result<Vec<LandedGate>, Refusal>, Refusal> {
        let Some(first) = bad.iter().find(|ran| ran.result == RunResult::Fail).or(bad.first())
        else {
            return Ok(Ok(shown));
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
        if is_red {
            return Ok(Err(refusal.detail("gate", first.name.as_str())));
        }
        group.iter().for_each(|entry| self.forget(entry));
        Err(refusal)
    }

    /// Sends the work back to whoever did it, with the reason. Returns the refusal, which says what became of the task.
    pub fn sent_back(
        &self,
        entry: &Entry,
        batch: Option<BatchId>,
        (reason, target, with): (Ejection, &str, String),
        mut refusal: Refusal,
    ) -> Refusal {
        self.forget(entry);
        let id = entry.task.id.to_string();
        let output = red_output(&refusal);
        let list = |name: &str| -> Vec<String> {
            let found = refusal.details.get(name).and_then(|paths| paths.as_array());
            let texts = found.into_iter().flatten().filter_map(|path| path.as_str());
            texts.take(PATHS_SAID_MAX).map(str::to_owned).collect()
        };
        let gate = refusal.details.get("gate").and_then(|gate| gate.as_str());
        let eject = Eject {
            id: id.clone(),
            batch,
            target: target.to_owned(),
            reason,
            with,
            paths: list("paths"),
            gate: gate.map(str::to_owned),
            output_tail: (!output.is_empty()).then(|| output.clone()),
            words: format!("{}{output}", refusal.message),
        };
        let command = Command::MergeStep(MergeStep::Eject(Box::new(eject)));
        refusal.message = match self.service.run(&self.caller, command) {
            Ok(_) => format!("{id} was sent back: {}", refusal.message),
            Err(other) => {
                format!("{}; {id} could not be sent back: {}", refusal.message, other.message)
            }
        };
        refusal.detail("task", id)
    }
}

/// Lists the required gates that comity can check. One that somebody waived is not asked again.
fn jobs(Entry { task, policy, settings, .. }: &Entry, remarks: &mut Vec<String>) -> Vec<Job> {
    let mut jobs = Vec::new();
    for name in required_gates(task, policy) {
        let is_waived = task.gate(&name).is_some_and(|gate| gate.waiver.is_some());
        if name == REVIEW_GATE || is_waived {
            continue;
        }
        match job(&name, &settings.commands) {
            Some(job) => jobs.push(job),
            None => {
                let remark = format!(
                    "note: gate {name} has no command; comity did not check it on the merged files"
                );
                if !remarks.contains(&remark) {
                    remarks.push(remark);
                }
            }
        }
    }
    jobs
}

/// Returns what the red gates of a refusal printed.
fn red_output(refusal: &Refusal) -> String {
    let gates = refusal.details.get("gates").and_then(|gates| gates.as_array());
    let red = gates.into_iter().flatten().filter(|gate| gate["result"] == "fail");
    let text =
        |gate: &serde_json::Value, key: &str| gate[key].as_str().unwrap_or_default().to_owned();
    red.map(|gate| format!("\n\n{}:\n{}", text(gate, "name"), text(gate, "output_tail"))).collect()
}

/// Words a conflict with what the branch has.
pub(super) fn conflict(branch: &Branch, paths: &[String]) -> Refusal {
    let place = place(branch);
    let said: Vec<&str> = paths.iter().take(PATHS_SAID_MAX).map(String::as_str).collect();
    let message = format!("conflicts with {place} in: {}", said.join(", "));
    Refusal::new(Code::MergeConflict, message).detail("paths", paths.to_vec())
}

fn named(group: &[Entry]) -> String {
    group.iter().map(|entry| entry.task.id.as_str()).collect::<Vec<_>>().join(" ")
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
