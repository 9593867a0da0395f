//! Gates that comity runs itself: each in a clean clone of the commit, with an environment that has no secrets.

pub(crate) mod built_in;
mod clone;
mod evidence;
mod keep;
pub(crate) mod run;
mod settings;

pub use settings::{About, CheckSettings};
pub(crate) use settings::{Began, base_config, checked_by};

use crate::git::{self, Git};
use crate::observer::GitObserver;
use built_in::Checked;
use comity_api::{GateRun, RecordGate, RunGates, RunGatesAnswer};
use comity_core::chain::Hash;
use comity_core::decide::{BuiltIn, REVIEW_GATE, known_gate, required_gates};
use comity_core::ids::Fence;
use comity_core::observed::{GateSeen, RunSeen};
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;
use comity_core::view;
use comity_engine::redact::Redactor;
use comity_engine::{Answered, Caller, Keyed, Service};
use comity_project::store::Access;
use comity_project::{Context, GateCommand, detect};
use run::{Job, Ran, Result as RunResult, What};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

/// The handlers of operations that run commands of the project.
#[derive(Clone)]
pub struct Runner {
    pub context: Context,
    pub observer: Arc<GitObserver>,
    /// The binary that keeps the processes of a command together.
    pub program: PathBuf,
    /// Raised when the caller wants it all to end.
    pub stop: Arc<AtomicBool>,
    /// Hears how far things are.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    /// The gates that passed, with the commit that each ran on.
    pub passed: Passed,
}

/// What passed so far: the event of a merge keeps what passed on its commit.
#[derive(Clone, Default)]
pub struct Passed(Arc<Mutex<Vec<(String, GateSeen)>>>);

impl Passed {
    fn note(&self, commit: &str, ran: &Ran, report: Option<String>) {
        let Some(exit_code) = ran.exit_code.filter(|_| ran.result == RunResult::Pass) else {
            return;
        };
        let tree = RunSeen { is_other_command: false, tree: ran.tree.clone(), report: None };
        let seen = GateSeen {
            gate: ran.name.clone(),
            tier: tree.tier(),
            report,
            run: ran.report(exit_code),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((commit.to_owned(), seen));
    }

    /// Returns what passed on a commit.
    pub(crate) fn on(&self, commit: &str) -> Vec<GateSeen> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(on, _)| on == commit).map(|(_, seen)| seen.clone()).collect()
    }
}

impl comity_engine::Whereabouts for Runner {}

comity_engine::handlers_of! { Runner, register {
    GateRun(runner, caller, input) => runner.run_gates(caller, &input);
    TaskLand(runner, caller, input) => runner.land(caller, &input);
    MergeRun(runner, caller, input) => runner.merge_run(caller, &input);
    Release(runner, caller, input) => runner.release(caller, &input);
} }

impl Runner {
    /// Returns the same with the settings that work is checked by.
    pub(crate) fn checking(
        &self,
        tree: &Path,
        about: About<'_>,
    ) -> Result<(Runner, CheckSettings), Refusal> {
        let settings = CheckSettings::of(&self.context, &Git::at(tree), about)?;
        let mut runner = self.clone();
        runner.context.config = settings.config.clone();
        Ok((runner, settings))
    }

    pub(crate) fn tree(&self) -> Result<&Path, Refusal> {
        self.observer
            .tree
            .as_deref()
            .ok_or_else(|| Refusal::new(Code::Unobserved, "there is no git repository here"))
    }

    fn run_gates(
        &self,
        caller: &Caller,
        input: &RunGates,
    ) -> Result<Answered<RunGatesAnswer>, Refusal> {
        let tree = self.tree()?;
        let service = self.context.service(Access::Write)?;
        let about = format!("gate.run {} {}", input.id, input.gates.join(" "));
        let keyed = keyed(caller, &about)?;
        if let Some(keyed) = &keyed
            && let Some(first) = service.remembered::<RunGatesAnswer>(keyed)?
        {
            return Ok(Answered::from(first));
        }
        let task = service.task(caller, &input.id)?;
        let subject = Subject::of(&task, caller, tree)?;
        let work = About { task: Some(&task), work: Some(&subject.commit) };
        let (runner, settings) = self.checking(tree, work)?;
        let policy = &settings.policy(&service.settings().policy)?;
        let (jobs, mut remarks) = chosen(&task, &input.gates, policy, &settings)?;
        if let Some(job) = jobs.first() {
            service.would_run(caller, evidence_of(&task, &job.name, true, None).into())?;
        }
        runner.trusted(&jobs)?;
        let checked = Checked {
            service: &service,
            caller,
            observer: &self.observer,
            policy,
            task: &task,
            tree,
            work: &subject.commit,
            commit: &subject.commit,
        };
        let ran = alive(&service, caller, &task, || runner.run_all(&checked, jobs, &mut remarks));
        let mut gates = Vec::new();
        for ran in ran? {
            gates.push(runner.record(&service, caller, &task, &subject.commit, ran)?);
        }
        let answer = RunGatesAnswer {
            task: task.id.to_string(),
            commit: subject.commit.clone(),
            settings: settings.from,
            gates,
        };
        if let Some(refusal) = verdict(&answer) {
            return Err(refusal);
        }
        let output = match keyed {
            Some(keyed) => service.remember(&keyed, answer)?,
            None => answer,
        };
        Ok(Answered { output, remarks })
    }

    /// Refuses commands of the repository that this user has not trusted. What comity finds by itself is none of them.
    pub(crate) fn trusted(&self, jobs: &[Job]) -> Result<(), Refusal> {
        for job in jobs {
            if let What::Command(gate) = &job.what
                && !detect::is_own(gate)
            {
                self.context.require_trust(&format!("gate.{}", gate.name), &gate.power())?;
            }
        }
        Ok(())
    }

    /// Records what a gate said. A gate that could not be run stays as it was.
    fn record(
        &self,
        service: &Service,
        caller: &Caller,
        task: &Task,
        commit: &str,
        ran: Ran,
    ) -> Result<GateRun, Refusal> {
        let settings = service.settings();
        let Some(exit_code) = ran.exit_code else {
            let mut task = task.clone();
            task.gate_mut(&ran.name);
            let gates = view::gates(&task, &settings.policy);
            let gate = gates.into_iter().find(|gate| gate.name == ran.name);
            let gate = gate.ok_or_else(|| Refusal::new(Code::Internal, "BUG: no gate"))?;
            return Ok(ran.shown(gate));
        };
        let mut ran = ran;
        let kept = self.keep_output(service, task, commit, &mut ran)?;
        let report = Some(ran.report(exit_code));
        let seen = RunSeen { is_other_command: false, tree: ran.tree.clone(), report };
        let passes = ran.result == RunResult::Pass;
        let mut input = evidence_of(task, &ran.name, passes, kept);
        input.commit = Some(commit.to_owned());
        let caller = Caller { key: None, ran: Some(seen), ..caller.clone() };
        let gate = service.run_command::<comity_api::GateAnswer>(&caller, input)?.gate;
        Ok(ran.shown(gate))
    }
}

impl Runner {
    /// Keeps what a run printed, and leaves the end of it, without secrets. Returns where it is.
    pub(crate) fn keep_output(
        &self,
        service: &Service,
        task: &Task,
        commit: &str,
        ran: &mut Ran,
    ) -> Result<Option<String>, Refusal> {
        let redactor = Redactor::new(service.settings().redact.clone())
            .map_err(|bad| Refusal::input(bad.to_string()))?;
        let about = (task.id.as_str(), ran.name.as_str(), commit);
        let now = service.store_time()?.ms();
        let dir = self.context.beside_store();
        let kept = evidence::keep(&dir, about, now, (&ran.text, ran.left_out), &redactor)?;
        ran.text = kept.tail;
        ran.command = redactor.free_text(&ran.command).into_owned();
        self.passed.note(commit, ran, kept.report.clone());
        Ok(kept.report)
    }
}

fn evidence_of(task: &Task, gate: &str, pass: bool, report: Option<String>) -> RecordGate {
    let (id, gate) = (task.id.to_string(), gate.to_owned());
    RecordGate { id, gate, pass, report, commit: None, new: true }
}

/// The commit that is checked. The snapshot of a work tree is held until the check is over.
struct Subject {
    commit: String,
    held_in: Option<PathBuf>,
}

impl Subject {
    /// Takes the submitted commit, else what is checked out: of a task that must not commit, the files as they are. Whoever is at
    /// work on the task again means what is checked out.
    fn of(task: &Task, caller: &Caller, tree: &Path) -> Result<Subject, Refusal> {
        let git = Git::at(tree);
        let at_work = task.claim.as_ref().is_some_and(|claim| claim.agent == caller.actor);
        if let Some(submitted) = task.commit.as_ref().filter(|_| !at_work) {
            let commit = git.commit(submitted).ok_or_else(|| {
                let message = format!("git knows no commit {submitted} here; fetch it first");
                Refusal::new(Code::Unobserved, message)
            })?;
            return Ok(Subject { commit, held_in: None });
        }
        if task.constraints.no_git_commit {
            let commit = git::snapshot(tree, task.id.as_str())?;
            git::hold(tree, task.id.as_str(), &commit)?;
            return Ok(Subject { commit, held_in: Some(tree.to_owned()) });
        }
        let head = git.commit("HEAD");
        let commit =
            head.ok_or_else(|| Refusal::new(Code::Unobserved, "nothing is committed yet"))?;
        Ok(Subject { commit, held_in: None })
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        if let Some(tree) = &self.held_in {
            git::let_go(tree, &self.commit);
        }
    }
}

/// Binds the caller's key to what was asked.
pub(crate) fn keyed(caller: &Caller, asked: &str) -> Result<Option<Keyed>, Refusal> {
    let Some(key) = &caller.key else { return Ok(None) };
    Keyed::new(caller.clone(), key, asked).map(Some)
}

/// Gives signs of life for the caller's claim while something runs.
pub(crate) fn alive<T>(
    service: &Service,
    caller: &Caller,
    task: &Task,
    work: impl FnOnce() -> T,
) -> T {
    let claim = task.claim.as_ref().filter(|claim| claim.agent == caller.actor);
    let holder = claim.map(|claim| {
        let fence: Option<Fence> = Some(claim.fence);
        Caller { fence, key: None, observer: None, ..caller.clone() }
    });
    std::thread::scope(|scope| {
        let (stop, stopped) = sync_channel(1);
        if let Some(holder) = holder {
            scope.spawn(move || service.keep_alive(&holder, &stopped));
        }
        let done = work();
        drop(stop);
        done
    })
}

/// Finds how a gate is checked: by the command of the settings, else by what is built in.
pub(crate) fn job(name: &str, commands: &[GateCommand]) -> Option<Job> {
    let command = commands.iter().find(|gate| gate.name == name).cloned().map(What::Command);
    let built_in = || BuiltIn::ALL.into_iter().find(|gate| gate.as_str() == name);
    let what = command.or_else(|| built_in().map(What::BuiltIn))?;
    Some(Job { name: name.to_owned(), what })
}

/// Chooses the gates: those that are named, else those that are required, else all that have a command. Remarks tell which
/// required ones comity cannot check.
pub(crate) fn chosen(
    task: &Task,
    named: &[String],
    policy: &Policy,
    settings: &CheckSettings,
) -> Result<(Vec<Job>, Vec<String>), Refusal> {
    let commands = &settings.commands;
    if !named.is_empty() {
        let own = task.gates.iter().map(|gate| gate.name.as_str());
        let own: Vec<&str> = own.chain(commands.iter().map(|gate| gate.name.as_str())).collect();
        let mut jobs: Vec<Job> = Vec::new();
        for name in named.iter().filter(|name| *name != REVIEW_GATE) {
            known_gate(name, own.iter().copied(), policy)?;
            let job = job(name, commands).ok_or_else(|| no_command(name))?;
            if !jobs.iter().any(|known| known.name == *name) {
                jobs.push(job);
            }
        }
        return Ok((jobs, Vec::new()));
    }
    let mut required = required_gates(task, policy);
    required.retain(|name| name != REVIEW_GATE);
    if required.is_empty() {
        let all = commands.iter().filter_map(|gate| job(&gate.name, commands)).collect();
        return Ok((all, Vec::new()));
    }
    let (mut jobs, mut remarks) = (Vec::new(), Vec::new());
    for name in required {
        match job(&name, commands) {
            Some(job) => jobs.push(job),
            None => remarks.push(format!("note: gate {name} has no command; comity cannot run it")),
        }
    }
    Ok((jobs, remarks))
}

fn no_command(name: &str) -> Refusal {
    Refusal::new(Code::CouldNotRun, format!("gate {name} has no command"))
        .hint(format!("set [gate.{name}] command in the settings of the base branch"))
}

/// Returns the refusal of a run that is no success.
fn verdict(answer: &RunGatesAnswer) -> Option<Refusal> {
    let RunGatesAnswer { task, gates, .. } = answer;
    if gates.is_empty() {
        let message = format!("{task} has no gate that comity can run");
        return Some(
            Refusal::new(Code::CouldNotRun, message)
                .hint("set [gate.NAME] command in .comity/config.toml of the base branch"),
        );
    }
    let of = |result: RunResult| gates.iter().filter(move |gate| gate.result == result.as_str());
    let words = |gate: &GateRun| match (&gate.problem, gate.exit_code) {
        (Some(problem), _) => format!("gate {} could not run: {problem}", gate.gate.name),
        (None, exit) => format!("gate {} failed (exit {})", gate.gate.name, exit.unwrap_or(1)),
    };
    let bad: Vec<String> =
        of(RunResult::Fail).chain(of(RunResult::CouldNotRun)).map(words).collect();
    let code = match of(RunResult::Fail).next() {
        Some(_) => Code::GateFailed,
        None if bad.is_empty() => return None,
        None => Code::CouldNotRun,
    };
    let refusal = Refusal::new(code, format!("{task}: {}", bad.join("; ")));
    let details = serde_json::to_value(answer).unwrap_or_default();
    let fields = details.as_object().cloned().unwrap_or_default();
    Some(fields.into_iter().fold(refusal, |refusal, (key, value)| refusal.detail(&key, value)))
}

/// Returns the hash of everything that a run depends on beside the commit.
fn config_hash(gate: &GateCommand, keep: &[String]) -> String {
    let text = format!("{}\n{}\n{}\n{keep:?}", gate.name, gate.power(), gate.timeout.ms());
    Hash::of(text.as_bytes()).to_string()
}
