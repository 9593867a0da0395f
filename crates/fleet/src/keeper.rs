//! The keeper of one run: takes it, starts the agent, listens, pays, keeps snapshots, and ends it.
//!
//! A keeper outlives whoever started it. When it dies, the process below it ends the agent with all its processes, and
//! the run is lost when its time is up.

use crate::log::Log;
use crate::place::RunPlace;
use crate::process::{Agent, Launch, Said, lead};
use crate::report::{self, TAIL_BYTES};
use crate::workspace::Workspace;
use comity_api::{ById, RunAnswer, op};
use comity_core::command::{Command, ModelCall, RunChange, RunEnd, RunProgress};
use comity_core::ids::Fence;
use comity_core::money::Usd;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::{CostBasis, RunError, RunFault, RunState, Stage, Tokens};
use comity_core::time::Timestamp;
use comity_core::view::RunView;
use comity_engine::{Caller, Service};
use comity_guard::GitObserver;
use comity_project::Context;
use comity_protocol::driver::{CommandLines, Happened};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant, SystemTime};

/// The hidden command of the binary that is the keeper of a run.
pub const WORD: &str = "__keeper";

/// How often a keeper looks whether somebody stopped or paused its run.
const LOOK: Duration = Duration::from_millis(500);
/// How often the files are kept at most.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(5);
/// A keeper gives so many signs of life in the life of its run.
const BEATS: u32 = 3;

/// Variables that every agent gets as they are.
const PASSED: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TERM"];

/// Where plans are written.
const SPEC_DIRS: [&str; 2] = [".comity/specs/", ".neo/specs/"];

/// What a keeper is told by whoever started it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub root: String,
    pub store: String,
    pub repo: String,
    pub run: String,
    pub identity: String,
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub env_pass: Vec<String>,
    pub writable: bool,
}

impl Job {
    pub fn read(path: &Path) -> Result<Job, Refusal> {
        let wrong =
            |text: String| Refusal::new(Code::Internal, format!("{}: {text}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
    }
}

/// How the agent came to its end.
enum Ended {
    Exited(i32),
    TimedOut,
    /// Somebody ended the run in the store.
    Elsewhere,
    /// The run was paused: its agent is ended, and starts again when the run goes on.
    Paused,
}

struct Keeper<'a> {
    context: &'a Context,
    service: &'a Service,
    caller: Caller,
    job: &'a Job,
    run: RunView,
    place: RunPlace,
    log: Log,
    reader: CommandLines,
    said: String,
    /// Calls that are used and not settled yet.
    calls: BTreeMap<String, (Option<Tokens>, Option<Usd>)>,
    settled: Vec<String>,
    limited: bool,
    /// What the report says that rules go by.
    reported: Map<String, Value>,
}

/// Keeps one run from its start to its end. `is_comitys` tells which files of a work tree comity itself writes.
pub fn keep(
    context: &Context,
    service: &Service,
    job: &Job,
    program: &Path,
    observer: impl FnOnce(&Path) -> GitObserver,
) -> Result<(), Refusal> {
    lead();
    let shown = context.ask::<op::RunShow>(ById { id: job.run.clone() })?;
    let run = shown.run;
    let mut caller = context.caller();
    caller.fence = run.fence.and_then(Fence::new);
    caller.via.client = Some(run.driver.clone());
    caller.via.session = Some(job.run.clone());
    caller.observer = None;
    let place = RunPlace::of(context, &job.run)?;
    let log = Log::open(&place.log());
    let mut keeper = Keeper {
        context,
        service,
        caller,
        job,
        run,
        place,
        log,
        reader: CommandLines::default(),
        said: String::new(),
        calls: BTreeMap::new(),
        settled: Vec::new(),
        limited: false,
        reported: Map::new(),
    };
    match keeper.work(program, observer) {
        Ok(()) => Ok(()),
        Err(refusal) => {
            keeper.note("event", &format!("the keeper stops: {refusal}"));
            // A run that was ended elsewhere is no failure of its own.
            if refusal.code != Code::StaleFence {
                let error = RunError::new(RunFault::Spawn, &refusal.message);
                keeper.end(RunState::Failed, Some(error), None, None, Vec::new(), None)?;
            }
            Err(refusal)
        }
    }
}

impl Keeper<'_> {
    fn work(
        &mut self,
        program: &Path,
        observer: impl FnOnce(&Path) -> GitObserver,
    ) -> Result<(), Refusal> {
        let task = self.run.task.clone().unwrap_or_default();
        let branch = self.run.branch.clone().unwrap_or_else(|| format!("run/{}", self.job.run));
        let base = self.run.base.clone().unwrap_or_else(|| "HEAD".to_owned());
        // What reads alone gets a tree that nobody goes on with.
        let name = if self.job.writable { branch } else { format!("{}-{branch}", self.job.run) };
        let mut space = Workspace::make(self.context, &self.job.run, &task, &name, &base)?;
        self.caller.workspace = Some(space.tree.to_string_lossy().into_owned());
        self.caller.observer = Some(Arc::new(observer(&space.tree)));
        self.change(RunChange::Take {
            workspace: self.caller.workspace.clone(),
            driver_version: None,
            sandbox: Some("none".to_owned()),
            session: None,
        })?;
        let (ended, exit) = loop {
            let agent = self.launch(program, &space)?;
            self.change(RunChange::Progress(Box::default()))?;
            match self.listen(agent, &mut space)? {
                // By now somebody may have let it go on already.
                (Ended::Paused, exit) => {
                    space.snapshot();
                    self.note("event", &format!("paused, exit {exit:?}"));
                    if !self.wait_for_resume()? {
                        break (Ended::Elsewhere, None);
                    }
                    self.note("event", "goes on");
                }
                (ended, exit) => break (ended, exit),
            }
        };
        space.snapshot();
        if self.job.writable
            && let Some(remark) = space.bring_home()?
        {
            self.note("event", &remark);
        }
        self.finish(&ended, exit, &space)
    }

    fn note(&mut self, kind: &str, text: &str) {
        self.log.write(now(), kind, text);
    }

    fn change(&mut self, change: RunChange) -> Result<(), Refusal> {
        let command = Command::RunChange { id: self.job.run.clone(), change };
        let answer = self.service.run_command::<RunAnswer>(&self.caller, command)?;
        self.run = answer.run;
        Ok(())
    }

    fn state(&mut self) -> Result<RunState, Refusal> {
        let id = ById { id: self.job.run.clone() };
        self.run = self.service.call::<op::RunShow>(&self.caller, id)?.run;
        Ok(self.run.state)
    }

    fn launch(&self, program: &Path, space: &Workspace) -> Result<Agent, Refusal> {
        let prompt = std::fs::read_to_string(self.place.prompt()).unwrap_or_default();
        let environment = self.context.environment();
        let passed = PASSED.iter().copied().chain(self.job.env_pass.iter().map(String::as_str));
        let passed = passed.filter_map(|name| Some((name.to_owned(), environment.own(name)?)));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let own = [
            ("COMITY_AGENT", self.job.identity.clone()),
            ("COMITY_RUN", self.job.run.clone()),
            ("COMITY_TASK", self.run.task.clone().unwrap_or_default()),
            ("COMITY_FENCE", self.run.fence.unwrap_or_default().to_string()),
            ("COMITY_ROOT", self.job.root.clone()),
            ("COMITY_STORE", self.job.store.clone()),
            ("COMITY_REPO", self.job.repo.clone()),
            ("COMITY_PROMPT_FILE", text(&self.place.prompt())),
            ("NEO_AGENT_NAME", self.run.agent.clone()),
            ("NEO_RUN_ID", self.job.run.clone()),
            ("NEO_REPOSITORY", self.job.root.clone()),
            ("TMPDIR", text(&self.place.temporary())),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let all = passed.chain(self.job.env.clone()).chain(own);
        let launch = Launch {
            program: program.to_owned(),
            argv: self.job.argv.clone(),
            dir: space.tree.clone(),
            env: all.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect(),
            stdin: prompt,
        };
        Agent::start(launch).map_err(|error| {
            Refusal::new(Code::CouldNotRun, format!("cannot start the agent: {error}"))
        })
    }

    /// Listens to the agent until it has ended. Whoever ends or pauses the run in the store ends the process, too.
    fn listen(
        &mut self,
        mut agent: Agent,
        space: &mut Workspace,
    ) -> Result<(Ended, Option<i32>), Refusal> {
        let began = Instant::now();
        let most = self.context.config.max_duration()?;
        let most = Duration::from_millis(u64::try_from(most.ms()).unwrap_or(u64::MAX));
        let ttl = self.context.config.settings()?.policy.fleet.ttl;
        let beat = Duration::from_millis(u64::try_from(ttl.ms()).unwrap_or(0)) / BEATS;
        let (mut looked, mut heard, mut kept) = (began, began, began);
        let mut fresh = false;
        let mut why = None;
        loop {
            match agent.lines.recv_timeout(LOOK) {
                Ok(said) => {
                    fresh = true;
                    self.hear(said);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK / 10),
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                patiently(self.settle())?;
                // A store that is away for a while ends no run.
                let stopped = patiently(self.state())?.and_then(|state| match state {
                    RunState::Starting | RunState::Running | RunState::Waiting => None,
                    RunState::Paused => Some(Ended::Paused),
                    _ => Some(Ended::Elsewhere),
                });
                if why.is_none() && stopped.is_some() {
                    why = stopped;
                    agent.end();
                } else if why.is_none() && began.elapsed() > most {
                    why = Some(Ended::TimedOut);
                    agent.end();
                }
            }
            if heard.elapsed() >= beat {
                heard = Instant::now();
                patiently(self.service.run(&self.caller, Command::Heartbeat))?;
            }
            if fresh && kept.elapsed() >= SNAPSHOT_EVERY {
                (fresh, kept) = (false, Instant::now());
                space.snapshot();
            }
            if let Some(exit) = agent.ended() {
                while let Ok(said) = agent.lines.recv_timeout(LOOK / 10) {
                    self.hear(said);
                }
                if !matches!(why, Some(Ended::Elsewhere | Ended::Paused)) {
                    self.settle()?;
                }
                return Ok((why.unwrap_or(Ended::Exited(exit)), Some(exit)));
            }
        }
    }

    fn hear(&mut self, said: Said) {
        let line = match said {
            Said::Out(line) => line,
            Said::Err(line) => return self.note("stderr", &line),
        };
        match self.reader.read(&line) {
            Happened::Text(text) => {
                self.said.push_str(&text);
                self.said.push('\n');
                if self.said.len() > 2 * TAIL_BYTES {
                    let mut from = self.said.len() - TAIL_BYTES;
                    while !self.said.is_char_boundary(from) {
                        from += 1;
                    }
                    self.said.drain(..from);
                }
                self.note("text", &text);
            }
            Happened::Tool { name, ended, .. } => {
                let state = if ended { "ended" } else { "began" };
                self.note("tool", &format!("{name} {state}"));
            }
            Happened::Usage { call, tokens, .. } => {
                self.note("usage", &line);
                self.calls.entry(call).or_default().0 = Some(tokens);
            }
            Happened::Cost { call, usd } => {
                self.note("usage", &line);
                self.calls.entry(call).or_default().1 = Some(usd);
            }
            Happened::Limited { .. } => {
                self.limited = true;
                self.note("event", &line);
            }
            Happened::Session(_) | Happened::Failed { .. } => self.note("event", &line),
        }
    }

    /// Settles every call once. What pauses the run is seen with the next look.
    fn settle(&mut self) -> Result<(), Refusal> {
        let calls: Vec<ModelCall> = self
            .calls
            .iter()
            .filter(|(call, _)| !self.settled.contains(call))
            .map(|(call, used)| (call.clone(), *used))
            .map(|(call, (tokens, usd))| ModelCall {
                call,
                tokens: tokens.unwrap_or_default(),
                usd,
                basis: if usd.is_some() { CostBasis::Reported } else { CostBasis::Unpriced },
            })
            .collect();
        if calls.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = calls.iter().map(|call| call.call.clone()).collect();
        let turn = Some(self.run.turns + 1);
        let progress = RunProgress { turn, calls, ..RunProgress::default() };
        self.change(RunChange::Progress(Box::new(progress)))?;
        self.calls.retain(|call, _| !names.contains(call));
        self.settled.extend(names);
        Ok(())
    }

    /// Waits while the run is paused; tells whether it goes on.
    fn wait_for_resume(&mut self) -> Result<bool, Refusal> {
        let mut heard = Instant::now();
        loop {
            match self.state()? {
                RunState::Paused => {}
                state => return Ok(state == RunState::Running),
            }
            std::thread::sleep(LOOK);
            if heard.elapsed() >= Duration::from_secs(10) {
                heard = Instant::now();
                self.service.run(&self.caller, Command::Heartbeat)?;
            }
        }
    }

    fn finish(
        &mut self,
        ended: &Ended,
        exit: Option<i32>,
        space: &Workspace,
    ) -> Result<(), Refusal> {
        let (head, wip) = (space.head(), space.wip());
        let failed = |kind, message: &str| Some(RunError::new(kind, message));
        let error = match ended {
            Ended::Elsewhere | Ended::Paused => return Ok(()),
            Ended::TimedOut => failed(RunFault::Timeout, "the run took too long"),
            Ended::Exited(0) => None,
            Ended::Exited(_) if self.limited => {
                failed(RunFault::RateLimit, "the vendor serves no more for now")
            }
            Ended::Exited(code) => failed(RunFault::Crash, &format!("the agent ended with {code}")),
        };
        if error.is_some() {
            return self.end(RunState::Failed, error, exit, None, Vec::new(), Some((head, wip)));
        }
        if let Some(file) = self.out_of_bounds(space) {
            let error =
                failed(RunFault::Scope, &format!("{} may not change {file}", self.run.agent));
            return self.end(RunState::Failed, error, exit, None, Vec::new(), Some((head, wip)));
        }
        let task = self.run.task.clone().unwrap_or_default();
        let found = report::find(&self.said, self.run.stage, &task)?;
        let (kind, steps, said) = found
            .map_or_else(Default::default, |found| (Some(found.kind), found.steps, found.said));
        self.reported = said;
        let place = Some((head, wip));
        let done = self.end(RunState::Succeeded, None, exit, kind.clone(), steps, place.clone());
        match done {
            Err(refusal) if refusal.code != Code::StaleFence => {
                self.note("event", &format!("the report was refused: {refusal}"));
                let error = failed(RunFault::BadReport, &refusal.message);
                self.end(RunState::Failed, error, exit, kind, Vec::new(), place)
            }
            done => done,
        }
    }

    /// Names a file that the agent changed and may not: whoever only reads changes none, and whoever plans writes plans.
    fn out_of_bounds(&self, space: &Workspace) -> Option<String> {
        let changed = space.changed();
        match (self.job.writable, self.run.stage) {
            (false, _) => changed.into_iter().next(),
            (true, Stage::Plan) => {
                changed.into_iter().find(|file| !SPEC_DIRS.iter().any(|dir| file.starts_with(dir)))
            }
            (true, Stage::Develop | Stage::Review | Stage::Scout) => None,
        }
    }

    fn end(
        &mut self,
        state: RunState,
        error: Option<RunError>,
        exit: Option<i32>,
        report_kind: Option<String>,
        steps: Vec<Command>,
        place: Option<(Option<String>, Option<String>)>,
    ) -> Result<(), Refusal> {
        let (head, wip) = place.unwrap_or_default();
        let said = std::mem::take(&mut self.reported);
        let end = RunEnd { state, reason: None, error, exit, head, wip, report_kind, steps, said };
        self.change(RunChange::End(Box::new(end)))?;
        let said = format!("{} ended: {}", self.job.run, self.run.state);
        self.note("event", &said);
        Ok(())
    }
}

/// Takes a store that cannot be reached now for no answer.
fn patiently<T>(done: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match done {
        Ok(answer) => Ok(Some(answer)),
        Err(refusal) if refusal.code == Code::StoreUnavailable => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lines of an agent are dated by this host's clock"
)]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or_default())
}
