//! Starting a run: the dispatch first, then the keeper that takes it.

use crate::agents;
use crate::elsewhere;
use crate::keeper::{Job, WORD};
use crate::launch;
use crate::place::{RunPlace, failed, write_private};
use crate::process;
use crate::prompt::{self, Told};
use crate::resume::{self, Resumed};
use crate::sandbox;
use crate::workspace::base_commit;
use comity_api::{AgentDefinition, ById, ListMemories, RunAnswer, StartRun, op};
use comity_core::chain::Hash;
use comity_core::command::{Command, NewRun, NewTask, RunChange, RunEnd, Supervision};
use comity_core::hint::say;
use comity_core::limits::TEXT_BYTES_MAX;
use comity_core::money::Usd;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::{GitStrategy, RunError, RunFault, RunState, Stage, Tokens};
use comity_core::task::{Deliverable, Priority};
use comity_core::time::Millis;
use comity_core::view::{RunView, TaskView};
use comity_engine::{Caller, Service};
use comity_project::Context;
use comity_project::fleet::{AgentSettings, Driver, DriverKind};
use serde_json::{Map, Value};
use std::path::Path;

/// What the caller wants.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub agent: String,
    pub prompt: Option<String>,
    pub task: Option<String>,
    pub branch: Option<String>,
    pub base: Option<String>,
    pub stage: Option<Stage>,
    pub meta: Map<String, Value>,
    pub driver: Option<String>,
    pub model: Option<String>,
    pub budget: Option<Usd>,
    pub max_turns: Option<u32>,
    /// How long it may work; else as the settings say.
    pub timeout: Option<Millis>,
    /// What a worker must offer to take it; without any, those of the settings count.
    pub labels: Vec<String>,
    /// The task to be made where none is named, in other words than the prompt.
    pub new_task: Option<Box<NewTask>>,
    /// The run that starts it.
    pub parent: Option<String>,
    /// Whether the agent of a run that goes on begins a new session in any case.
    pub fresh: bool,
    /// Why a person starts without the plan that was begun.
    pub skip_design: Option<String>,
    /// How far the work goes when it is handed in.
    pub git_strategy: Option<GitStrategy>,
    /// The run that failed, and that this one goes on with.
    pub resumed_from: Option<String>,
    /// The step of the supervisor that starts it.
    pub by: Option<Box<By>>,
}

/// Whoever starts a run as a step of the supervisor.
#[derive(Clone)]
pub struct By {
    /// The supervisor, with the fence of its seat.
    pub caller: Caller,
    pub step: Supervision,
    /// The key under which the step happens once.
    pub key: String,
    /// The question that the run answers.
    pub answers: Option<String>,
}

impl From<StartRun> for Asked {
    fn from(wanted: StartRun) -> Asked {
        let StartRun {
            agent, prompt, task, branch, base, stage, meta, driver, model, budget, ..
        } = wanted;
        let StartRun { max_turns, timeout, labels, skip_design, git_strategy, .. } = wanted;
        Asked {
            agent,
            prompt,
            task,
            branch,
            base,
            stage,
            meta,
            driver,
            model,
            budget,
            max_turns,
            timeout,
            labels,
            skip_design,
            git_strategy,
            ..Asked::default()
        }
    }
}

impl std::fmt::Debug for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("By").field("step", &self.step).field("key", &self.key).finish()
    }
}

impl By {
    /// Returns the dispatch as a part of the step, and who asks for it.
    fn command(&self, new: NewRun) -> (Caller, Command) {
        let mut step = self.step.clone();
        let mut new = Box::new(new);
        new.rule = Some(step.rule.clone());
        step.steps.push(Command::RunDispatch(new));
        let caller = Caller { key: Some(self.key.clone()), ..self.caller.clone() };
        (caller, Command::Supervise(Box::new(step)))
    }
}

pub struct Started {
    pub run: RunView,
    /// The process of its keeper; none where a worker takes it.
    pub pid: Option<u32>,
}

/// Says in the facts of a run how many turns its agent may take, where another host starts it.
pub(crate) const MAX_TURNS: &str = "maxTurns";
/// Says in the facts of a run how long it may work.
const TIMEOUT: &str = "timeout";
/// Longest title that is made of a prompt, in characters.
const TITLE_CHARS_MAX: usize = 100;
/// Characters of the mark around texts of others.
const MARK_CHARS: usize = 16;

/// What a run is made of, before it is dispatched.
pub(crate) struct Plan {
    pub(crate) agent: AgentDefinition,
    pub(crate) driver: Driver,
    caller: Caller,
    resumed: Option<Resumed>,
    new: NewRun,
}

/// Dispatches a run and starts its keeper, which is `program` again.
pub fn start(
    context: &Context,
    service: &Service,
    caller: &Caller,
    program: &Path,
    asked: &Asked,
) -> Result<Started, Refusal> {
    let Plan { agent, driver, caller, resumed, new } = plan(context, service, caller, asked)?;
    let elsewhere = !new.labels.is_empty();
    if elsewhere {
        elsewhere::keep_words(context, service, &new.prompt_sha256, asked.prompt.as_deref())?;
    }
    let (asks, command) = match &asked.by {
        Some(by) => by.command(new),
        None => (caller.clone(), Command::RunDispatch(Box::new(new))),
    };
    let run = service.run_command::<RunAnswer>(&asks, command)?.run;
    let resumed = resumed.as_ref();
    let about = About { agent: &agent, driver: &driver, asked, resumed, worker: None };
    let started = if elsewhere {
        elsewhere::publish(context, &run).map(|()| None)
    } else {
        let kept = prepare(context, service, &caller, &run, &about);
        kept.and_then(|place| keep(context, program, &place)).map(Some)
    };
    match started {
        Ok(pid) => Ok(Started { run, pid }),
        Err(refusal) => {
            give_up(service, &caller, &run, &refusal);
            Err(refusal)
        }
    }
}

/// Says what a run would be, and refuses what could not be started.
pub(crate) fn plan(
    context: &Context,
    service: &Service,
    caller: &Caller,
    asked: &Asked,
) -> Result<Plan, Refusal> {
    let agent = agents::find(&context.root.dir, &asked.agent)?;
    let settings = context.config.agent(&agent.name)?;
    let named = asked.driver.as_ref().or(agent.driver.as_ref()).or(settings.driver.as_ref());
    let driver = driver(context, named)?;
    let model = asked.model.clone().or(settings.model.clone()).or(agent.model.clone());
    let labels = if asked.labels.is_empty() { &settings.labels } else { &asked.labels };
    // What another host lets start is for that host to say.
    let sandbox = if labels.is_empty() {
        can_start(context, &driver, &settings, model.as_deref())?;
        Some(sandbox::walls(context)?.kind.as_str().to_owned())
    } else {
        None
    };
    let caller = match &asked.by {
        Some(by) => Caller { fence: None, key: None, ..by.caller.clone() },
        None => caller.clone(),
    };
    let resumed = match &asked.resumed_from {
        Some(id) => Some(resume::taken_up(context, service, &caller, id, asked.fresh)?),
        None => None,
    };
    let known = match &asked.task {
        Some(id) => Some(service.call::<op::TaskShow>(&caller, ById { id: id.clone() })?.task),
        None => None,
    };
    let stage = asked.stage.unwrap_or(agent.stage);
    if let Some(task) = &known {
        elsewhere::catch_up(context, service, &caller, Some(&task.id))?;
        prompt::complete(stage, task)?;
    }
    // A review is about what was handed in.
    let handed_in = known.as_ref().filter(|_| stage == Stage::Review);
    let handed_in = handed_in.and_then(|task| task.commit.clone());
    let base = base_commit(context, asked.base.as_deref().or(handed_in.as_deref()))?;
    let answers = asked.by.as_ref().and_then(|by| by.answers.clone());
    let new_task = match (&known, &asked.new_task) {
        (Some(_), _) => None,
        (None, Some(new)) => Some(new.clone()),
        (None, None) => Some(new_task(&agent, asked, answers)?),
    };
    let words = asked.prompt.as_deref().unwrap_or_default();
    let meta = facts(asked, resumed.as_ref(), &settings, !labels.is_empty());
    let new = NewRun {
        agent: agent.name.clone(),
        task: known.as_ref().map(|task| task.id.clone()),
        new_task,
        stage,
        writable: agent.writable,
        driver: driver.name.clone(),
        model,
        branch: asked.branch.clone(),
        base: Some(base),
        meta,
        prompt_sha256: Hash::of(words.as_bytes()).to_string(),
        prompt_bytes: words.len() as u64,
        sandbox,
        labels: labels.clone(),
        resumed_from: resumed.as_ref().map(|resumed| resumed.from.clone()),
        parent: asked.parent.clone(),
        rule: None,
        max_cost: asked.budget.or(settings.max_cost).or(agent.max_cost),
        skip_design: asked.skip_design.clone(),
    };
    Ok(Plan { agent, driver, caller, resumed, new })
}

/// Returns the facts of a run: those of the caller, what it goes on from, and how far it may go. What a worker has to know stands
/// there, too.
fn facts(
    asked: &Asked,
    resumed: Option<&Resumed>,
    settings: &AgentSettings,
    elsewhere: bool,
) -> Map<String, Value> {
    let mut meta = resumed.map_or_else(|| asked.meta.clone(), |one| one.meta(&asked.meta));
    if let (Some(turns), true) = (asked.max_turns, elsewhere) {
        meta.insert(MAX_TURNS.to_owned(), turns.into());
    }
    if let Some(timeout) = asked.timeout {
        meta.insert(TIMEOUT.to_owned(), timeout.to_string().into());
    }
    if let Some(strategy) = asked.git_strategy.or(settings.git_strategy) {
        meta.insert(GitStrategy::META.to_owned(), strategy.as_str().into());
    }
    meta
}

/// Returns how long a run may work, as whoever started it said.
fn told_timeout(run: &RunView) -> Option<Millis> {
    run.meta.get(TIMEOUT).and_then(Value::as_str).and_then(Millis::parse)
}

/// Refuses, before anything is reserved, what could not be started or paid for.
pub(crate) fn can_start(
    context: &Context,
    driver: &Driver,
    settings: &AgentSettings,
    model: Option<&str>,
) -> Result<(), Refusal> {
    if driver.is_set {
        context.require_trust(&driver.key(), &driver.power())?;
    }
    let environment = context.environment();
    let program = driver.command.first().map(String::as_str).unwrap_or_default();
    if !launch::program_exists(environment, &context.root.dir, program) {
        let message = format!("there is no program {program:?} for the driver {}", driver.name);
        return Err(Refusal::new(Code::CouldNotRun, message).hint(format!(
            "install it, or set [drivers.{}] command in .comity/config.toml",
            driver.name
        )));
    }
    launch::credentials(environment, driver, &settings.env_pass)?;
    launch::server_of_its_own(&context.root.dir, driver)?;
    // Claude Code and commands say what they cost; the price list counts for Codex alone.
    if driver.kind == DriverKind::Codex && !context.config.allows_unpriced()? {
        let model = model.unwrap_or("the default model");
        if context.config.price(model, Tokens::default()).is_none() {
            let message = format!("nobody knows the price of {model}");
            return Err(Refusal::new(Code::UnpricedModel, message).detail("model", model));
        }
    }
    Ok(())
}

/// Starts the keeper of a run whose files are there.
pub(crate) fn keep(context: &Context, program: &Path, place: &RunPlace) -> Result<u32, Refusal> {
    let (job, log) = (place.job(), place.keeper_log());
    process::start_keeper(program, WORD, &job, &context.root.dir, &log)
}

pub(crate) fn driver(context: &Context, named: Option<&String>) -> Result<Driver, Refusal> {
    let all = context.config.drivers()?;
    let names = || all.iter().map(|driver| driver.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(name) = named else {
        return Err(Refusal::new(Code::UnknownName, "no driver is named for the agent").hint(
            say("name one with ").mention("driver").say(format!(
                ", or set [fleet] driver in .comity/config.toml (drivers there: {})",
                names()
            )),
        ));
    };
    all.iter().find(|driver| driver.name == *name).cloned().ok_or_else(|| {
        Refusal::new(Code::UnknownName, format!("there is no driver {name:?}")).hint(format!(
            "set [drivers.{name}] command in .comity/config.toml (drivers there: {})",
            names()
        ))
    })
}

/// Makes the task of a run that names none.
fn new_task(
    agent: &AgentDefinition,
    asked: &Asked,
    answers: Option<String>,
) -> Result<Box<NewTask>, Refusal> {
    let prompt =
        asked.prompt.as_deref().map(str::trim).filter(|text| !text.is_empty()).ok_or_else(
            || {
                Refusal::input("a run needs a task or a prompt")
                    .hint("name a task, or say what is to be done")
            },
        )?;
    let title: String =
        prompt.lines().next().unwrap_or(prompt).chars().take(TITLE_CHARS_MAX).collect();
    let deliverable = if agent.writable { Deliverable::Code } else { Deliverable::None };
    Ok(Box::new(NewTask {
        title,
        // neo's callers say there how urgent it is.
        priority: asked.meta.get("priority").and_then(|text| Priority::parse(text.as_str()?).ok()),
        description: prompt::cut(prompt, TEXT_BYTES_MAX),
        deliverable,
        context: answers.map(|id| ("answers".to_owned(), id.into())).into_iter().collect(),
        ..NewTask::default()
    }))
}

/// What the files of a run are made of.
pub(crate) struct About<'a> {
    pub(crate) agent: &'a AgentDefinition,
    pub(crate) driver: &'a Driver,
    pub(crate) asked: &'a Asked,
    pub(crate) resumed: Option<&'a Resumed>,
    /// The worker that has it, where another host asked for it.
    pub(crate) worker: Option<String>,
}

pub(crate) fn prepare(
    context: &Context,
    service: &Service,
    caller: &Caller,
    run: &RunView,
    about: &About<'_>,
) -> Result<RunPlace, Refusal> {
    let About { agent, driver, asked, resumed, worker } = about;
    let id = run.id.clone().unwrap_or_default();
    let task = run.task.clone().unwrap_or_default();
    let place = RunPlace::of(context, &id)?;
    place.make()?;
    let task: TaskView = service.call::<op::TaskShow>(caller, ById { id: task })?.task;
    resumed.map_or(Ok(()), |resumed| resumed.hand_over(&place))?;
    let mark: String =
        format!("text-{}", launch::random()?.chars().take(MARK_CHARS).collect::<String>());
    let wanted = ListMemories { limit: Some(context.config.memories()), ..ListMemories::default() };
    let memories = service.call::<op::MemoryList>(caller, wanted)?.memories;
    let text = prompt::prompt(&Told {
        agent,
        task: &task,
        stage: run.stage,
        given: asked.prompt.as_deref(),
        header: resumed.map(|resumed| resumed.header.as_str()),
        memories: &memories,
        root: &context.root.dir,
        base: run.base.as_deref().unwrap_or("HEAD"),
        branch: run.branch.as_deref().unwrap_or("that is checked out"),
        mark: &mark,
    });
    let write = |path: &Path, bytes: &[u8]| {
        write_private(path, bytes).map_err(|error| failed(path, &error))
    };
    write(&place.prompt(), text.as_bytes())?;
    let settings = context.config.agent(&agent.name)?;
    let job = Job {
        root: context.root.dir.to_string_lossy().into_owned(),
        store: context.store_url(),
        repo: context.repo.to_string(),
        run: id,
        identity: run.identity.clone().unwrap_or_default(),
        kind: driver.kind,
        argv: driver.command.clone(),
        env: driver.env.clone(),
        env_pass: settings.env_pass,
        allow: settings.allow,
        max_turns: asked.max_turns.or(agent.max_turns),
        timeout: asked.timeout.or_else(|| told_timeout(run)),
        resume: resumed.and_then(|resumed| resumed.session.clone()),
        asked: asked.prompt.clone(),
        agent: (*agent).clone(),
        worker: worker.clone(),
    };
    let json = serde_json::to_vec_pretty(&job)
        .map_err(|error| Refusal::new(Code::Internal, format!("a job: {error}")))?;
    write(&place.job(), &json)?;
    Ok(place)
}

/// A run without a keeper ends at once, and lets go of its task.
fn give_up(service: &Service, caller: &Caller, run: &RunView, refusal: &Refusal) {
    let end = RunEnd {
        state: RunState::Failed,
        reason: None,
        error: Some(RunError::new(RunFault::Spawn, &refusal.message)),
        exit: None,
        head: None,
        wip: None,
        report_kind: None,
        steps: Vec::new(),
        said: Map::new(),
    };
    let change = RunChange::End(Box::new(end));
    let Some(id) = run.id.clone() else { return };
    let actor =
        run.identity.as_deref().and_then(|name| comity_core::ids::AgentId::parse(name).ok());
    let Some(actor) = actor else { return };
    // If this fails, too, the run is lost after a while by itself.
    let _ = service.run(&Caller { actor, ..caller.clone() }, Command::RunChange { id, change });
}
