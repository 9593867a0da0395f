//! A stage for a scene: a store whose clock is set by hand, and steps that are played at their times.
//!
//! The steps are commands of the rules, as every door sends them. What git would say of the work is made up: the scene is
//! there to be looked at.

use comity_api::{RecordGate, op};
use comity_core::command::{Command, FileAction};
use comity_core::ids::{AgentId, RepoName};
use comity_core::observed::{
    ClaimSeen, FileChange, MergeSeen, Observed, RulesSeen, RunReport, RunSeen, TreeSeen, WorkSeen,
};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_engine::{Caller, Handlers, Look, Observer, Seen, Service, Settings};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::{Clock, Reading, SystemClock};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A step of a scene: so many seconds before its end, somebody does something.
pub(super) struct Step {
    pub(super) ago: i64,
    pub(super) who: String,
    pub(super) what: What,
}

pub(super) enum What {
    /// An operation with its input; a rule may refuse it only where that is said.
    Call(&'static str, Value),
    /// Evidence for a gate: how far it can be trusted, and whether it passed.
    Gate { task: String, gate: &'static str, trust: Trust, pass: bool, tail: &'static str },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    Claimed,
    Observed,
    Verified,
}

/// Until so long before its end, a scene has a host that sleeps between its steps, so that nothing expires there. After that it is
/// awake, and who gives no sign of life is silent.
const AWAKE_MS: i64 = 12 * 60_000;

/// The system's clock, set back.
struct SetBack(AtomicI64);

impl Clock for SetBack {
    fn read(&self) -> Reading {
        let now = SystemClock.read();
        let back = self.0.load(Ordering::SeqCst);
        Reading { wall_ms: now.wall_ms - back, boot_ms: now.boot_ms - back.min(AWAKE_MS), ..now }
    }
}

pub(super) struct Stage {
    service: Service,
    handlers: Handlers,
    clock: Arc<SetBack>,
    eyes: Arc<Eyes>,
    repo: RepoName,
}

impl Stage {
    pub(super) fn new(store: &Path, repo: &str, eyes: Eyes) -> Result<Stage, Refusal> {
        let clock = Arc::new(SetBack(AtomicI64::new(0)));
        let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
        let store = SqliteStore::open(store, options).map_err(Refusal::from)?;
        let service = Service::inline(Box::new(store), Settings::default())?;
        let mut handlers = Handlers::default();
        comity_engine::register(&service, &mut handlers);
        let repo = RepoName::parse(repo)?;
        Ok(Stage { service, handlers, clock, eyes: Arc::new(eyes), repo })
    }

    /// Plays steps in the order of their times; returns how many there were.
    pub(super) fn play(&self, mut steps: Vec<Step>) -> Result<usize, Refusal> {
        steps.sort_by_key(|step| std::cmp::Reverse(step.ago));
        let count = steps.len();
        for step in steps {
            self.clock.0.store(step.ago * 1_000, Ordering::SeqCst);
            self.take(&step)?;
        }
        Ok(count)
    }

    fn take(&self, step: &Step) -> Result<(), Refusal> {
        let mut caller = Caller::new(AgentId::parse(&step.who)?, self.repo.clone());
        caller.observer = Some(self.eyes.clone());
        let done = match &step.what {
            What::Call(name, input) => self.handlers.call(name, &caller, input.clone()).map(drop),
            What::Gate { task, gate, trust, pass, tail } => {
                let input = RecordGate {
                    id: task.clone(),
                    gate: (*gate).to_owned(),
                    pass: *pass,
                    report: None,
                    commit: Some(self.eyes.commit_of(task).to_owned()),
                    new: false,
                };
                caller.ran = self.eyes.run(*trust, *pass, tail);
                self.service.run(&caller, Command::from(input)).map(drop)
            }
        };
        done.map_err(|refusal| {
            let what = match &step.what {
                What::Call(name, input) => format!("{name} {input}"),
                What::Gate { task, gate, .. } => format!("{gate} of {task}"),
            };
            let words = format!("the scene breaks off at {} {what}: {}", step.who, refusal.message);
            Refusal::new(Code::Internal, words)
        })
    }

    /// Returns how many events the scene has.
    pub(super) fn events(&self) -> Result<u64, Refusal> {
        let caller = Caller::new(AgentId::parse("human:you")?, self.repo.clone());
        Ok(self.service.call::<op::LogHead>(&caller, comity_api::Nothing {})?.seq)
    }
}

/// Sees what the scene wants to be seen: every task changed the files that it declared, in one commit. One task has a change of its
/// own in git.
pub(super) struct Eyes {
    pub(super) commit: String,
    pub(super) change: (&'static str, String),
}

impl Eyes {
    fn commit_of(&self, task: &str) -> &str {
        if self.change.0 == task { &self.change.1 } else { &self.commit }
    }

    fn run(&self, trust: Trust, pass: bool, tail: &str) -> Option<RunSeen> {
        let tree = match trust {
            Trust::Claimed => return None,
            Trust::Observed => TreeSeen::Clean,
            Trust::Verified => TreeSeen::Fresh,
        };
        let report = RunReport {
            exit_code: i32::from(!pass),
            duration_ms: 41_200,
            command: "cargo test -p ledger".to_owned(),
            config_hash: self.commit.clone(),
            output_tail: tail.to_owned(),
        };
        let report = (trust == Trust::Verified).then_some(report);
        Some(RunSeen { is_other_command: false, tree, report })
    }
}

impl Observer for Eyes {
    fn observe(&self, look: &Look<'_>) -> Result<Seen, Refusal> {
        let version = look.task.map_or(0, |task| task.version);
        let files: Vec<String> = look
            .task
            .map(|task| task.files.iter().map(ToString::to_string).collect())
            .unwrap_or_default();
        let changed = |path: &String| FileChange {
            path: path.clone(),
            action: FileAction::Modified,
            moved_from: None,
        };
        let commit =
            look.task.map_or(self.commit.as_str(), |task| self.commit_of(task.id.as_str()));
        let work = WorkSeen {
            task_version: version,
            commit: commit.to_owned(),
            branch: look.task.and_then(|task| task.branch.clone()),
            base: self.commit.clone(),
            files: files.iter().map(changed).collect(),
            is_on_branch: true,
            ..WorkSeen::default()
        };
        let merge = MergeSeen {
            task_version: version,
            merged: self.commit.clone(),
            contains: true,
            subject: None,
            added: Vec::new(),
            files,
        };
        let claim = ClaimSeen { base: self.commit.clone(), head: Some(self.commit.clone()) };
        let wanted = &look.wanted;
        let observed = Observed {
            claim: wanted.claim.then_some(claim),
            work: wanted.work.is_some().then_some(work),
            merge: wanted.merge.is_some().then_some(merge),
            rules: wanted.rules.then_some(RulesSeen::NoneThere),
            ..Observed::default()
        };
        Ok(Seen { observed, remarks: Vec::new() })
    }

    fn accepted(&self, _: &Look<'_>, _: &Observed, _: Option<&TaskView>) -> Vec<String> {
        Vec::new()
    }

    fn refused(&self, _: &Look<'_>, _: &Observed) {}
}
