//! The keeper of one run: takes it, starts the agent, listens, pays, keeps snapshots, and ends it.
//!
//! A keeper outlives whoever started it. When it dies, the process below it ends the agent with all its processes, and
//! the run is lost when its time is up.

use crate::bill::{Bill, Says};
use crate::elsewhere::Pusher;
use crate::fault::fault;
use crate::launch::{Line, Setting};
use crate::listen::{Ended, Seen};
use crate::log::Log;
use crate::place::RunPlace;
use crate::process::{self, Agent, Launch, lead};
use crate::report;
use crate::sandbox::{self, Walls};
use crate::session::Session;
use crate::workspace::Workspace;
use comity_api::{AgentDefinition, ById, RunAnswer, RunGates, op};
use comity_core::command::{Command, ModelCall, RunChange, RunEnd, RunProgress};
use comity_core::decide::REVIEW_GATE;
use comity_core::ids::{AgentId, Fence};
use comity_core::money::Usd;
use comity_core::progress::Progress;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::{RunError, RunFault, RunState, Stage};
use comity_core::time::{Millis, Timestamp};
use comity_core::view::{GateView, RunView};
use comity_engine::{Caller, Handler, Service};
use comity_guard::{GitObserver, Passed, Runner};
use comity_project::Context;
use comity_project::fleet::{Confinement, DriverKind};
use comity_protocol::driver::Talk;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The hidden command of the binary that is the keeper of a run.
pub const WORD: &str = "__keeper";

/// How often a keeper looks whether somebody stopped or paused its run.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// How long a keeper waits for a store that is away.
const AWAY_MOST: Duration = Duration::from_secs(600);
/// How often a keeper of a paused run says that it lives.
const PAUSED_BEAT: Duration = Duration::from_secs(10);
/// How long a vendor that does not say when it serves again is left alone at first and at most.
const LIMIT_FIRST: Millis = Millis::from_secs(300);
const LIMIT_MOST: Millis = Millis::from_secs(3_600);
/// How often a run waits for its vendor before it fails.
const LIMITS_MAX: u32 = 6;
/// What an agent is told whose session goes on.
const GO_ON: &str = "You were interrupted. Go on where you stopped.";

/// What a keeper is told by whoever started it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub root: String,
    pub store: String,
    pub repo: String,
    pub run: String,
    pub identity: String,
    pub kind: DriverKind,
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub env_pass: Vec<String>,
    pub agent: AgentDefinition,
    /// Tools that it may use without a question, beside its own.
    pub allow: Vec<String>,
    pub max_turns: Option<u32>,
    /// How long the agent may work; else as the settings say.
    #[serde(default)]
    pub timeout: Option<Millis>,
    /// The session of an earlier run to go on with.
    pub resume: Option<String>,
    /// What the caller asked for, in its own words.
    pub asked: Option<String>,
    /// The worker that has it, where another host asked for it.
    #[serde(default)]
    pub worker: Option<String>,
}

impl Job {
    pub fn read(path: &Path) -> Result<Job, Refusal> {
        let wrong =
            |text: String| Refusal::new(Code::Internal, format!("{}: {text}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
    }
}

/// Opens a door for a caller on a socket; it is open until what is returned is dropped.
pub type OpenDoor<'a> = dyn Fn(&Path, Caller) -> Result<Box<dyn Any>, Refusal> + 'a;

/// What a keeper gets from the door that it belongs to.
pub struct Surroundings<'a> {
    /// comity itself.
    pub program: &'a Path,
    /// What looks at the work tree of the run.
    pub observer: &'a dyn Fn(&Path) -> GitObserver,
    /// Opens the door of the run.
    pub door: &'a OpenDoor<'a>,
}

pub(crate) struct Keeper<'a> {
    pub(crate) context: &'a Context,
    pub(crate) service: &'a Service,
    pub(crate) caller: Caller,
    pub(crate) job: &'a Job,
    program: &'a Path,
    pub(crate) run: RunView,
    pub(crate) place: RunPlace,
    log: Log,
    pub(crate) walls: Confinement,
    socket: Option<PathBuf>,
    pub(crate) said: String,
    pub(crate) bill: Bill,
    /// Calls that are to be settled.
    pub(crate) unsettled: Vec<ModelCall>,
    pub(crate) session: Session,
    pub(crate) seen: Seen,
    pub(crate) repairs: u32,
    /// Where the next words to the agent begin.
    pub(crate) steered: u64,
    /// The last commit that was told.
    pub(crate) told: Option<String>,
    /// How often the vendor served no more.
    limits: u32,
    /// What the report says that rules go by.
    reported: Map<String, Value>,
    /// Whether the agent gets on, and the question that was asked because it does not.
    pub(crate) progress: Progress,
    pub(crate) asked_to_go_on: Option<String>,
    /// Carries the work to where other hosts find it.
    pub(crate) pusher: Option<Pusher>,
}

/// Keeps one run from its start to its end.
pub fn keep(
    context: &Context,
    service: &Service,
    job: &Job,
    around: &Surroundings<'_>,
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
    let session = Session::read(&place.session());
    let says = match job.kind {
        DriverKind::Claude | DriverKind::Acp => Says::Totals,
        DriverKind::Command | DriverKind::Codex => Says::Calls,
    };
    let pusher = job.worker.as_ref().map(|_| Pusher::new(context, &run)).transpose()?;
    let before = job.resume.as_ref().map_or(Usd::ZERO, |_| session.total);
    let mut keeper = Keeper {
        context,
        service,
        caller,
        job,
        program: around.program,
        run,
        place,
        log,
        walls: Confinement::None,
        socket: None,
        said: String::new(),
        bill: Bill::new(says, before),
        unsettled: Vec::new(),
        session,
        seen: Seen::default(),
        repairs: context.config.run_times()?.repair_turns,
        steered: 0,
        told: None,
        limits: 0,
        reported: Map::new(),
        progress: Progress::default(),
        asked_to_go_on: None,
        pusher,
    };
    match keeper.work(around) {
        Ok(()) => Ok(()),
        Err(refusal) => {
            keeper.note("event", &format!("the keeper stops: {refusal}"));
            // A run that was ended elsewhere is no failure of its own.
            if refusal.code != Code::StaleFence {
                let kind = match refusal.code {
                    Code::SandboxUnavailable => RunFault::Sandbox,
                    _ => RunFault::Spawn,
                };
                let error = RunError::new(kind, &refusal.message);
                keeper.end(RunState::Failed, Some(error), None, None, Vec::new(), None)?;
            }
            Err(refusal)
        }
    }
}

impl Keeper<'_> {
    fn work(&mut self, around: &Surroundings<'_>) -> Result<(), Refusal> {
        let _place = self.wait_for_place()?;
        let mut space = self.prepare(around)?;
        // The door closes when the run is over, and not before.
        let socket = self.place.socket(self.context)?;
        let door = (around.door)(&socket, self.caller.clone())?;
        self.socket = Some(socket);
        let (ended, exit) = self.run_agent(&mut space)?;
        self.keep_files(&mut space);
        self.insist(|keeper| keeper.checkpoint(&space))?;
        if self.job.agent.writable
            && let Some(remark) = space.bring_home()?
        {
            self.note("event", &remark);
        }
        self.push_last();
        let done = self.finish(&ended, exit, &space, around);
        drop(door);
        done
    }

    /// Makes the work tree and the walls, and takes the run.
    fn prepare(&mut self, around: &Surroundings<'_>) -> Result<Workspace, Refusal> {
        let Walls { kind, why } = sandbox::walls(self.context)?;
        self.walls = kind;
        let task = self.run.task.clone().unwrap_or_default();
        let branch = self.run.branch.clone().unwrap_or_else(|| format!("run/{}", self.job.run));
        let base = self.run.base.clone().unwrap_or_else(|| "HEAD".to_owned());
        // What reads alone gets a tree that nobody goes on with.
        let name = match self.job.agent.writable {
            true => branch,
            false => format!("{}-{branch}", self.job.run),
        };
        let space = Workspace::make(self.context, &self.job.run, &task, &name, &base)?;
        self.run.resumed_from.iter().for_each(|run| space.take_over(run));
        self.told = space.head();
        self.caller.workspace = Some(space.tree.to_string_lossy().into_owned());
        self.caller.observer = Some(Arc::new((around.observer)(&space.tree)));
        let path = self.context.environment().own("PATH").unwrap_or_default();
        let says = matches!(self.job.kind, DriverKind::Claude | DriverKind::Codex);
        let client = self.job.argv.first().filter(|_| says);
        let driver_version = client.and_then(|program| process::version(program, &path));
        let worker = self.job.worker.as_deref().map(AgentId::parse).transpose()?;
        self.take(&RunChange::Take {
            worker,
            workspace: self.caller.workspace.clone(),
            driver_version,
            sandbox: Some(kind.as_str().to_owned()),
            session: self.job.resume.clone(),
        })?;
        if let (Confinement::None, Some(why)) = (kind, why) {
            self.note("event", &format!("nothing shuts the agent in: {why}"));
        }
        Ok(space)
    }

    /// Runs the agent, as often as it is paused and goes on.
    fn run_agent(&mut self, space: &mut Workspace) -> Result<(Ended, Option<i32>), Refusal> {
        let whole = std::fs::read_to_string(self.place.prompt()).unwrap_or_default();
        let (mut prompt, mut resume) = (whole.clone(), self.job.resume.clone());
        loop {
            let (agent, talk) = self.launch(space, &prompt, resume.clone())?;
            let resumes = talk.caps().resume;
            self.change(&RunChange::Progress(Box::default()))?;
            let (ended, exit) = self.listen(agent, talk, space)?;
            if resume.is_some() && self.lost_session(&ended) {
                self.note("event", "the session is gone; a new one begins");
                (prompt, resume) = (whole.clone(), None);
                continue;
            }
            let until = match &ended {
                Ended::Paused => None,
                Ended::Limited(until) if self.limits < LIMITS_MAX => Some(self.limited(*until)),
                _ => return Ok((ended, exit)),
            };
            self.keep_files(space);
            self.note("event", &format!("paused, exit {exit:?}"));
            if let Some(until) = until {
                let reason = Some("the vendor serves no more for now".to_owned());
                self.change(&RunChange::Pause { reason, until: Some(until), decision: None })?;
            }
            if !self.wait_for_resume(until)? {
                return Ok((Ended::Elsewhere, None));
            }
            self.note("event", "goes on");
            resume = self.session.id.clone().filter(|_| resumes);
            prompt = if resume.is_some() { GO_ON.to_owned() } else { whole.clone() };
        }
    }

    /// Tells whether a client that was to go on ended before it did anything: whoever killed it did so before it kept its session.
    fn lost_session(&self, ended: &Ended) -> bool {
        let ended = matches!(ended, Ended::Silent | Ended::Exited(_) | Ended::Done);
        ended && self.seen.failed.is_some() && !self.seen.worked
    }

    /// Returns until when the vendor is left alone: as it says itself, else for longer each time.
    fn limited(&mut self, until: Option<Timestamp>) -> Timestamp {
        let wait = (0..self.limits).fold(LIMIT_FIRST.ms(), |ms, _| ms.saturating_mul(2));
        self.limits += 1;
        let now = now();
        let guess = now.plus(Millis::from_ms(wait.min(LIMIT_MOST.ms())));
        until.filter(|until| *until > now).unwrap_or(guess)
    }

    pub(crate) fn note(&mut self, kind: &str, text: &str) {
        self.log.write(now(), kind, text);
    }

    /// Changes the run; where the store is away, as soon as it is there again.
    pub(crate) fn change(&mut self, change: &RunChange) -> Result<(), Refusal> {
        self.insist(|keeper| keeper.change_now(change.clone()))
    }

    /// Does something as soon as the store is there. It may be away for a while, or its disk full.
    pub(crate) fn insist<T>(
        &mut self,
        mut does: impl FnMut(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let began = Instant::now();
        loop {
            match does(self) {
                Err(refusal) if is_away(&refusal) && began.elapsed() < AWAY_MOST => {
                    std::thread::sleep(LOOK);
                }
                done => return done,
            }
        }
    }

    pub(crate) fn change_now(&mut self, change: RunChange) -> Result<(), Refusal> {
        let command = Command::RunChange { id: self.job.run.clone(), change };
        let answer = self.service.run_command::<RunAnswer>(&self.caller, command)?;
        self.run = answer.run;
        Ok(())
    }

    pub(crate) fn state(&mut self) -> Result<RunState, Refusal> {
        let id = ById { id: self.job.run.clone() };
        self.run = self.service.call::<op::RunShow>(&self.caller, id)?.run;
        Ok(self.run.state)
    }

    fn launch(
        &mut self,
        space: &Workspace,
        prompt: &str,
        resume: Option<String>,
    ) -> Result<(Agent, Talk), Refusal> {
        let setting = Setting {
            context: self.context,
            job: self.job,
            run: &self.run,
            place: &self.place,
            tree: &space.tree,
            program: self.program,
            socket: self.socket.as_deref(),
            confined: self.walls != Confinement::None,
            resume,
            prompt: prompt.to_owned(),
        };
        let Line { argv, env, mut talk, stdin } = setting.line()?;
        let launch = Launch {
            program: self.program.to_owned(),
            argv,
            dir: space.tree.clone(),
            env: env
                .into_iter()
                .map(|(name, value)| (name.into(), OsString::from(value)))
                .collect(),
            walls: self.walls,
            writable: self.writable(space)?,
        };
        let mut agent = Agent::start(launch).map_err(|error| {
            Refusal::new(Code::CouldNotRun, format!("cannot start the agent: {error}"))
        })?;
        if let Some(text) = stdin {
            agent.write(text);
            agent.close();
        }
        for line in talk.begin() {
            agent.write(format!("{line}\n"));
        }
        self.seen = Seen::default();
        Ok((agent, talk))
    }

    /// Lists where the agent may write.
    fn writable(&self, space: &Workspace) -> Result<Vec<PathBuf>, Refusal> {
        let own =
            [space.tree.clone(), self.place.temporary(), self.place.client(), self.place.cache()];
        let home = self.context.environment().own("HOME").map(PathBuf::from);
        let caches = self.context.config.sandbox()?.caches;
        let caches = caches.iter().filter_map(|dir| Some(home.as_ref()?.join(dir)));
        Ok(own.into_iter().chain(caches.filter(|dir| dir.is_dir())).collect())
    }

    /// Waits while the run is paused; tells whether it goes on. A pause that ends by itself is ended here.
    fn wait_for_resume(&mut self, until: Option<Timestamp>) -> Result<bool, Refusal> {
        let mut heard = Instant::now();
        loop {
            match self.state()? {
                RunState::Paused => {}
                state => return Ok(state == RunState::Running),
            }
            self.follow_answer()?;
            if until.is_some_and(|until| now() >= until) {
                self.change(&RunChange::Resume { fresh: false })?;
                continue;
            }
            std::thread::sleep(LOOK);
            if heard.elapsed() >= PAUSED_BEAT {
                heard = Instant::now();
                self.service.run(&self.caller, Command::Heartbeat)?;
            }
        }
    }

    /// Settles every call once. What pauses the run is seen with the next look.
    pub(crate) fn settle(&mut self) -> Result<(), Refusal> {
        let config = &self.context.config;
        let due = self.bill.due(|model, tokens| config.price(model, tokens));
        self.unsettled.extend(due);
        if self.unsettled.is_empty() {
            return Ok(());
        }
        let turn = Some(self.run.turns + 1);
        let calls = self.unsettled.clone();
        let progress = RunProgress { turn, calls, ..RunProgress::default() };
        self.change_now(RunChange::Progress(Box::new(progress)))?;
        self.unsettled.clear();
        Ok(())
    }

    /// Tells each commit that the agent made since the last time.
    pub(crate) fn checkpoint(&mut self, space: &Workspace) -> Result<(), Refusal> {
        if !self.job.agent.writable || !self.run.state.is_live() {
            return Ok(());
        }
        for (sha, subject) in space.commits_since(self.told.as_deref()) {
            self.change_now(RunChange::Checkpoint { sha: sha.clone(), subject, step: None })?;
            self.told = Some(sha);
        }
        Ok(())
    }

    fn finish(
        &mut self,
        ended: &Ended,
        exit: Option<i32>,
        space: &Workspace,
        around: &Surroundings<'_>,
    ) -> Result<(), Refusal> {
        let place = Some((space.head(), space.wip()));
        let task = self.run.task.clone().unwrap_or_default();
        let found = report::find(&self.said, self.run.stage, &task);
        let is_there = matches!(&found, Ok(Some(_)));
        let Some(error) = fault(ended, self.seen.failed.clone(), is_there) else { return Ok(()) };
        if error.is_some() {
            return self.end(RunState::Failed, error, exit, None, Vec::new(), place);
        }
        let failed = |kind, message: &str| Some(RunError::new(kind, message));
        if let Some(file) = self.out_of_bounds(space) {
            let error =
                failed(RunFault::Scope, &format!("{} may not change {file}", self.run.agent));
            return self.end(RunState::Failed, error, exit, None, Vec::new(), place);
        }
        let (kind, steps, said) = found?
            .map_or_else(Default::default, |found| (Some(found.kind), found.steps, found.said));
        self.reported = said;
        if steps.iter().any(|step| matches!(step, Command::Submit(_))) {
            self.check(space, around);
        }
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

    /// Runs the required gates on what is about to be handed in. Whoever reviews it finds what they said, and where one is red,
    /// the work goes back instead.
    fn check(&mut self, space: &Workspace, around: &Surroundings<'_>) {
        let id = self.run.task.clone().unwrap_or_default();
        let gates = self.service.call::<op::GateList>(&self.caller, ById { id: id.clone() });
        let asked = |gate: &GateView| gate.required && gate.name != REVIEW_GATE;
        if !gates.is_ok_and(|answer| answer.gates.iter().any(asked)) {
            return;
        }
        let runner = Runner {
            context: self.context.clone(),
            observer: Arc::new((around.observer)(&space.tree)),
            program: around.program.to_owned(),
            stop: Arc::default(),
            say: Arc::new(|_| {}),
            passed: Passed::default(),
        };
        let wanted = RunGates { id, gates: Vec::new() };
        match Handler::<op::GateRun>::handle(&runner, &self.caller, wanted) {
            Ok(_) => self.note("event", "the gates are green"),
            Err(refusal) => self.note("event", &format!("the gates: {refusal}")),
        }
    }

    /// Names a file that the agent changed and may not: whoever only reads changes none, and whoever plans writes plans.
    fn out_of_bounds(&self, space: &Workspace) -> Option<String> {
        let changed = space.changed();
        let agent = &self.job.agent;
        match (agent.writable, self.run.stage) {
            (false, _) => changed.into_iter().next(),
            (true, Stage::Plan) => {
                let plans = |file: &String| agent.spec_dirs.iter().any(|dir| file.starts_with(dir));
                changed.into_iter().find(|file| !plans(file))
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
        self.change(&RunChange::End(Box::new(end)))?;
        let said = format!("{} ended: {}", self.job.run, self.run.state);
        self.note("event", &said);
        Ok(())
    }
}

/// Tells whether the store may be there again after a while.
pub(crate) fn is_away(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::StoreUnavailable | Code::StorageFull)
}

/// Takes a store that cannot be reached now for no answer.
pub(crate) fn patiently<T>(done: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match done {
        Ok(answer) => Ok(Some(answer)),
        Err(refusal) if is_away(&refusal) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lines of an agent are dated by this host's clock"
)]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or_default())
}
