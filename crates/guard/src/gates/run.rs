//! Running gates on one commit.

use super::built_in::Checked;
use super::clone::Clone;
use super::keep::KeptDirs;
use super::{Runner, config_hash};
use crate::child::{self, End, Output, Spec};
use comity_api::GateRun;
use comity_core::chain::Hash;
use comity_core::decide::BuiltIn;
use comity_core::observed::{RunReport, TreeSeen};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::GateView;
use comity_project::{GateCommand, GateRuns};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How much of the output is kept.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// How often somebody who looks hears that a command still runs.
const SAID_EVERY: Duration = Duration::from_secs(15);
/// How much of a line is said.
const SAID_CHARS_MAX: usize = 100;
/// What a shell answers for a command that cannot be run, and for one that is not there.
const NOT_RUN: [i32; 2] = [126, 127];

/// Variables that a command gets as they are.
const PASSED: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ"];
/// Where tools keep what can be fetched or made again.
const CACHES: [&str; 18] = [
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOCACHE",
    "GOMODCACHE",
    "XDG_CACHE_HOME",
    "npm_config_cache",
    "YARN_CACHE_FOLDER",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "POETRY_CACHE_DIR",
    "GRADLE_USER_HOME",
    "CCACHE_DIR",
    "SCCACHE_DIR",
    "BUNDLE_PATH",
];

/// A gate that is to be run.
pub(crate) struct Job {
    pub name: String,
    pub what: What,
}

pub(crate) enum What {
    Command(GateCommand),
    BuiltIn(BuiltIn),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Result {
    Pass,
    Fail,
    CouldNotRun,
}

impl Result {
    pub fn as_str(self) -> &'static str {
        match self {
            Result::Pass => "pass",
            Result::Fail => "fail",
            Result::CouldNotRun => "could-not-run",
        }
    }
}

/// How the run of a gate went.
pub(crate) struct Ran {
    pub name: String,
    pub command: String,
    pub config_hash: String,
    pub result: Result,
    /// None when it did not come to its end.
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub text: String,
    pub left_out: u64,
    pub tree: TreeSeen,
    /// Why it could not be run.
    pub problem: Option<String>,
}

impl Ran {
    /// Returns what the log keeps of the run.
    pub fn report(&self, exit_code: i32) -> RunReport {
        RunReport {
            exit_code,
            duration_ms: self.duration_ms,
            command: self.command.clone(),
            config_hash: self.config_hash.clone(),
            output_tail: self.text.clone(),
        }
    }

    /// Joins a gate as it stands now with how its run went.
    pub fn shown(self, gate: GateView) -> GateRun {
        GateRun {
            gate,
            result: self.result.as_str().to_owned(),
            exit_code: self.exit_code,
            duration_ms: self.duration_ms,
            output_tail: self.text,
            problem: self.problem,
        }
    }
}

impl Runner {
    /// Runs gates, several at a time if the settings say so. They come back in their order.
    pub(crate) fn run_all(
        &self,
        checked: &Checked<'_>,
        jobs: Vec<Job>,
        remarks: &mut Vec<String>,
    ) -> std::result::Result<Vec<Ran>, Refusal> {
        let runs = self.context.config.gate_runs()?;
        let at_once = if runs.keep.is_empty() { runs.jobs } else { 1 };
        let waiting = Mutex::new(jobs.into_iter().enumerate().rev().collect::<Vec<_>>());
        let done = Mutex::new((Vec::new(), Vec::new()));
        std::thread::scope(|scope| {
            let work = || {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let Some((place, job)) = next else { return };
                    let mut said = Vec::new();
                    let ran = self.run_one(checked, &job, &runs, &mut said);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.0.push((place, ran));
                    done.1.extend(said);
                }
            };
            for _ in 1..at_once {
                scope.spawn(work);
            }
            work();
        });
        let (mut ran, said) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        for text in said.into_iter().map(|text| format!("note: {text}")) {
            if !remarks.contains(&text) {
                remarks.push(text);
            }
        }
        ran.sort_by_key(|(place, _)| *place);
        ran.into_iter().map(|(_, ran)| ran).collect()
    }

    fn run_one(
        &self,
        checked: &Checked<'_>,
        job: &Job,
        runs: &GateRuns,
        remarks: &mut Vec<String>,
    ) -> std::result::Result<Ran, Refusal> {
        let ran = match &job.what {
            What::BuiltIn(gate) => look(checked, *gate)?,
            What::Command(gate) => {
                (self.say)(&format!("gate {}: {}", gate.name, gate.command));
                match self.run_command(checked, gate, runs, remarks) {
                    Err(refusal) if refusal.code == Code::CouldNotRun => {
                        could_not_run(gate, runs, refusal.message)
                    }
                    ran => ran?,
                }
            }
        };
        let seconds = Duration::from_millis(ran.duration_ms).as_secs_f32();
        (self.say)(&format!("gate {}: {} after {seconds:.1} s", ran.name, ran.result.as_str()));
        Ok(ran)
    }

    fn run_command(
        &self,
        checked: &Checked<'_>,
        gate: &GateCommand,
        runs: &GateRuns,
        remarks: &mut Vec<String>,
    ) -> std::result::Result<Ran, Refusal> {
        let cache = self.cache()?;
        let common = self.context.root.git.as_ref().map(|git| git.common_dir.clone());
        let common = common
            .ok_or_else(|| Refusal::new(Code::Unobserved, "there is no git repository here"))?;
        let kept = match runs.keep.is_empty() {
            true => None,
            false => Some(KeptDirs::take(&cache, &runs.keep)?),
        };
        let clone = Clone::of(&common, checked.commit, &cache)?;
        remarks.extend(clone.remarks.iter().cloned());
        let tree = clone.tree();
        if let Some(kept) = &kept {
            kept.lend(&tree);
        }
        let spec = Spec {
            program: self.program.clone(),
            words: ["sh", "-c", &gate.command].map(OsString::from).to_vec(),
            dir: tree.clone(),
            env: self.environment(gate, &clone.temporary()),
            timeout: Duration::from_millis(u64::try_from(gate.timeout.ms()).unwrap_or(0)),
            output_max: OUTPUT_BYTES_MAX,
        };
        let mut said = Instant::now();
        let mut tick = |took: Duration, output: &Output| {
            if said.elapsed() >= SAID_EVERY {
                said = Instant::now();
                let last = output.last_line().unwrap_or_default();
                let last: String = last.chars().take(SAID_CHARS_MAX).collect();
                (self.say)(&format!("gate {}: {} s: {last}", gate.name, took.as_secs()));
            }
        };
        let ended = child::run(&spec, &self.stop, &mut tick)
            .map_err(|error| Refusal::new(Code::CouldNotRun, error.to_string()));
        if let Some(kept) = &kept {
            kept.take_back(&tree);
        }
        let ended = ended?;
        let (result, exit_code, problem) = judged(ended.end, gate);
        let (text, left_out) = ended.output.text();
        let fresh = if kept.is_none() { TreeSeen::Fresh } else { TreeSeen::Clean };
        Ok(Ran {
            name: gate.name.clone(),
            command: gate.command.clone(),
            config_hash: config_hash(gate, &runs.keep),
            result,
            exit_code,
            duration_ms: millis(ended.took),
            text,
            left_out,
            tree: fresh,
            problem,
        })
    }

    /// Returns the directory for clones of this repository.
    fn cache(&self) -> std::result::Result<PathBuf, Refusal> {
        let cache = self.context.cache().ok_or_else(|| {
            Refusal::new(Code::CouldNotRun, "there is no directory for clones")
                .hint("set HOME or XDG_CACHE_HOME to a directory of yours")
        })?;
        let root = Hash::of(self.context.root.dir.as_os_str().as_encoded_bytes()).to_string();
        Ok(cache.join(root.get(..16).unwrap_or(&root)))
    }

    /// Returns the whole environment of a command.
    fn environment(&self, gate: &GateCommand, temporary: &Path) -> Vec<(OsString, OsString)> {
        let own = self.context.environment();
        let names = PASSED.iter().chain(&CACHES).copied();
        let names = names.chain(gate.passed.iter().map(String::as_str));
        let mut all: Vec<(OsString, OsString)> =
            names.filter_map(|name| Some((name.into(), own.own(name)?.into()))).collect();
        all.push(("TMPDIR".into(), temporary.into()));
        all.push(("CI".into(), "1".into()));
        all.extend(gate.set.iter().map(|(name, value)| (name.into(), value.into())));
        all
    }
}

/// Judges how a command ended. One that a shell could not run says nothing about the work, nor does one that took too long.
fn judged(end: End, gate: &GateCommand) -> (Result, Option<i32>, Option<String>) {
    let not_run = |why: String| (Result::CouldNotRun, None, Some(why));
    match end {
        End::Exited(0) => (Result::Pass, Some(0), None),
        End::Exited(code) if NOT_RUN.contains(&code) => {
            not_run(format!("the shell could not run the command (exit {code})"))
        }
        End::Exited(code) => (Result::Fail, Some(code), None),
        End::TimedOut => not_run(format!("it took longer than {}", gate.timeout)),
        End::Stopped => not_run("it was stopped".to_owned()),
    }
}

fn could_not_run(gate: &GateCommand, runs: &GateRuns, problem: String) -> Ran {
    Ran {
        name: gate.name.clone(),
        command: gate.command.clone(),
        config_hash: config_hash(gate, &runs.keep),
        result: Result::CouldNotRun,
        exit_code: None,
        duration_ms: 0,
        text: String::new(),
        left_out: 0,
        tree: TreeSeen::Unknown,
        problem: Some(problem),
    }
}

/// Runs a check that is built in. It reads commits alone, so that there is nothing that could be unclean.
fn look(checked: &Checked<'_>, gate: BuiltIn) -> std::result::Result<Ran, Refusal> {
    let began = Instant::now();
    let found = checked.run(gate)?;
    let passes = found.is_empty();
    let command = format!("comity: {gate}");
    Ok(Ran {
        name: gate.as_str().to_owned(),
        config_hash: Hash::of(command.as_bytes()).to_string(),
        command,
        result: if passes { Result::Pass } else { Result::Fail },
        exit_code: Some(i32::from(!passes)),
        duration_ms: millis(began.elapsed()),
        text: found.into_iter().map(|line| line + "\n").collect(),
        left_out: 0,
        tree: TreeSeen::Fresh,
        problem: None,
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
