//! The run: time goes by, agents act, things go wrong, the auditor looks.

use crate::audit::{Auditor, Violation, check_rows, violation};
use crate::chance::Chance;
use crate::crew::{Belief, Member, crew};
use crate::wishes::{Sight, seen, wish};
use comity_core::command::{Command, Request, TaskVerb};
use comity_core::ids::{AgentId, Fence, RepoName};
use comity_core::observed::Observed;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use comity_core::via::Via;
use comity_engine::{Intake, Prepared, Reply, Service, Settings, run_batch};
use comity_store::memory::MemoryStore;
use comity_store::postgres::{OpenOptions as PgOptions, PgStore};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::{Clock, DecisionQuery, LeaseQuery, ManualClock, Reader, Store, TaskQuery};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Plan {
    /// Where all chance comes from.
    pub seed: u64,
    pub agents: usize,
    /// How many steps; a step is one batch of commands.
    pub steps: u64,
    pub beside: Beside,
}

/// A real store that is run beside the model and compared with it at every step.
#[derive(Clone, Debug, PartialEq)]
pub enum Beside {
    /// None: the model alone.
    Nothing,
    /// SQLite in a file of its own.
    Sqlite,
    /// PostgreSQL: the URL of an empty store.
    Postgres(String),
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Commands sent, lost ones not counted.
    pub commands: u64,
    pub accepted: u64,
    pub events: u64,
    pub simulated_ms: i64,
    /// Agents × simulated time.
    pub agent_hours: f64,
}

/// Which faults this run has; each seed switches on its own subset.
struct Faults {
    lost: bool,
    doubled: bool,
    late: bool,
    crash: bool,
    pause: bool,
    jump: bool,
    sleep: bool,
}

impl Faults {
    fn of(chance: &mut Chance) -> Faults {
        Faults {
            lost: chance.percent(60),
            doubled: chance.percent(60),
            late: chance.percent(60),
            crash: chance.percent(60),
            pause: chance.percent(60),
            jump: chance.percent(40),
            sleep: chance.percent(40),
        }
    }
}

/// A command on its way.
struct Letter {
    due_step: u64,
    member: usize,
    request: Request,
    /// The sender crashed meanwhile, or never waited: the answer reaches nobody.
    unread: bool,
}

/// A store, and the directory that ends with it.
type Mirror = (Box<dyn Store>, Option<tempfile::TempDir>);

struct World {
    chance: Chance,
    clock: Arc<ManualClock>,
    model: MemoryStore,
    mirror: Option<Mirror>,
    settings: Settings,
    intake: Intake,
    crew: Vec<Member>,
    faults: Faults,
    post: Vec<Letter>,
    auditor: Auditor,
    report: Report,
    repo: RepoName,
}

/// Runs a plan; a property that does not hold ends it.
pub fn run(plan: &Plan) -> Result<Report, Violation> {
    let mut world = World::new(plan)?;
    world.introduce()?;
    for step in 0..plan.steps {
        world.step(step).map_err(|found| violation(format!("step {step}: {found}")))?;
    }
    world.finish(plan)
}

/// A person gives everybody their role.
pub(crate) fn introductions(crew: &[Member], repo: &RepoName) -> Result<Vec<Request>, Violation> {
    let person = AgentId::parse("human:sim").map_err(|error| refused(&error))?;
    let members = crew.iter().filter(|member| !member.id.is_person());
    let request = |member: &Member| Request {
        actor: person.clone(),
        repo: repo.clone(),
        fence: None,
        key: None,
        via: Via::default(),
        observed: Observed::default(),
        workspace: None,
        command: Command::AgentRegister {
            id: member.id.clone(),
            roles: vec![member.role],
            skills: Vec::new(),
        },
    };
    Ok(members.map(request).collect())
}

/// Makes what a member sends next.
pub(crate) fn next_request(
    member: &mut Member,
    repo: &RepoName,
    sight: &Sight,
    chance: &mut Chance,
) -> Request {
    let (command, fenced) = wish(member, sight, chance);
    member.sent += 1;
    let keyed = chance.percent(50);
    Request {
        actor: member.id.clone(),
        repo: repo.clone(),
        fence: member.belief.as_ref().and_then(|belief| belief.fence).filter(|_| fenced),
        key: keyed.then(|| format!("{}-{}", member.id, member.sent)),
        via: Via::default(),
        workspace: None,
        observed: seen(&command, sight, chance),
        command,
    }
}

pub(crate) fn refused(refusal: &Refusal) -> Violation {
    violation(format!("{}: {}", refusal.code, refusal.message))
}

impl World {
    fn new(plan: &Plan) -> Result<World, Violation> {
        let mut chance = Chance::new(plan.seed);
        let clock = ManualClock::new();
        let shared: Arc<dyn Clock> = clock.clone();
        let mirror = match &plan.beside {
            Beside::Nothing => None,
            Beside::Sqlite => Some(open_sqlite(&shared)?),
            Beside::Postgres(url) => Some(open_postgres(url, &shared)?),
        };
        let settings = Settings::default();
        let faults = Faults::of(&mut chance);
        let crew = crew(plan.agents, &mut chance);
        Ok(World {
            model: MemoryStore::new(shared),
            mirror,
            intake: Intake::new(settings.redact.clone()).map_err(|error| refused(&error))?,
            settings,
            crew,
            faults,
            chance,
            clock,
            post: Vec::new(),
            auditor: Auditor::default(),
            report: Report::default(),
            repo: RepoName::parse("sim/app").map_err(|error| refused(&error))?,
        })
    }

    fn introduce(&mut self) -> Result<(), Violation> {
        for request in introductions(&self.crew, &self.repo)? {
            self.deliver(vec![(None, request, false)])?;
        }
        Ok(())
    }

    fn wall(&self) -> i64 {
        self.clock.read().wall_ms
    }

    fn step(&mut self, step: u64) -> Result<(), Violation> {
        self.pass_time();
        let now = Timestamp::from_ms(self.wall());
        let sight = look(&mut self.model, &self.repo, now)?;
        let mut batch = Vec::new();
        let (ready, waiting): (Vec<Letter>, Vec<Letter>) =
            std::mem::take(&mut self.post).into_iter().partition(|letter| letter.due_step <= step);
        self.post = waiting;
        for letter in ready {
            batch.push((Some(letter.member), letter.request, letter.unread));
        }
        for _ in 0..=self.chance.below(6) {
            self.act(step, &sight, &mut batch);
        }
        self.deliver(batch)?;
        if step.is_multiple_of(16) {
            self.audit()?;
        }
        Ok(())
    }

    fn pass_time(&mut self) {
        let before = self.wall();
        let which = self.chance.below(40);
        let mut between = |low, high| self.chance.between(low, high);
        match which {
            0 => self.clock.pass(Millis::from_ms(between(60_000, 1_200_000))),
            1 if self.faults.sleep => {
                self.clock.sleep(Millis::from_ms(between(10_000, 20_000_000)));
            }
            2 if self.faults.jump => {
                let jump = between(-3_600_000, 3_600_000);
                self.clock.set(|reading| reading.wall_ms += jump);
            }
            _ => self.clock.pass(Millis::from_ms(between(0, 5_000))),
        }
        self.report.simulated_ms += (self.wall() - before).max(0);
    }

    /// One member does something, and something may go wrong with it.
    fn act(&mut self, step: u64, sight: &Sight, batch: &mut Vec<(Option<usize>, Request, bool)>) {
        let place = usize::try_from(self.chance.below(self.crew.len() as u64)).unwrap_or(0);
        let wall = self.wall();
        let Some(member) = self.crew.get_mut(place) else { return };
        if member.silent_until_ms > wall {
            return;
        }
        if self.faults.crash && self.chance.percent(1) {
            // It comes back with the same name and no memory.
            member.belief = None;
            member.silent_until_ms = wall + self.chance.between(1_000, 4_000_000);
            return;
        }
        if self.faults.pause && self.chance.percent(1) {
            // It comes back and believes that it still holds what it held.
            member.silent_until_ms = wall + self.chance.between(1_000, 4_000_000);
            return;
        }
        let request = next_request(member, &self.repo, sight, &mut self.chance);
        if self.faults.lost && self.chance.percent(3) {
            return;
        }
        if self.faults.doubled && self.chance.percent(3) {
            let due_step = step + self.chance.below(20);
            self.post.push(Letter {
                due_step,
                member: place,
                request: request.clone(),
                unread: true,
            });
        }
        if self.faults.late && self.chance.percent(5) {
            let due_step = step + 1 + self.chance.below(200);
            let unread = self.chance.percent(50);
            self.post.push(Letter { due_step, member: place, request, unread });
            return;
        }
        batch.push((Some(place), request, false));
    }

    fn deliver(&mut self, batch: Vec<(Option<usize>, Request, bool)>) -> Result<(), Violation> {
        let mut prepared: Vec<Prepared> = Vec::new();
        let mut senders = Vec::new();
        for (member, request, unread) in batch {
            if let Ok(ready) = self.intake.prepare(request) {
                prepared.push(ready);
                senders.push((member, unread));
            }
        }
        if prepared.is_empty() {
            return Ok(());
        }
        let fences = self.auditor.live_fences();
        let answers = answers_of(&mut self.model, &self.settings, &prepared);
        if let Some((mirror, _)) = &mut self.mirror {
            let same = answers_of(mirror.as_mut(), &self.settings, &prepared);
            compare(&prepared, &answers, &same)?;
            let (a, b) = (self.model.read()?.head()?, mirror.read()?.head()?);
            if a != b {
                return Err(violation(format!(
                    "the logs differ: {} {} and {} {}",
                    a.seq, a.hash, b.seq, b.hash
                )));
            }
        }
        self.auditor.read_log(self.model.read()?.as_mut())?;
        for ((ready, (member, unread)), answer) in prepared.iter().zip(senders).zip(&answers) {
            self.report.commands += 1;
            self.check_answer(ready, answer)?;
            self.check_fence(&fences, ready, answer)?;
            if let Some(member) = member.filter(|_| !unread).and_then(|at| self.crew.get_mut(at)) {
                learn(member, &ready.request.command, answer);
            }
        }
        Ok(())
    }

    fn check_answer(
        &mut self,
        ready: &Prepared,
        answer: &Result<Value, Refusal>,
    ) -> Result<(), Violation> {
        match answer {
            Ok(value) => {
                self.report.accepted += 1;
                if let Command::CreateTask(_) = ready.request.command {
                    let id = value["task"]["id"].as_str().unwrap_or_default();
                    self.auditor.acknowledged.insert(id.to_owned());
                }
                Ok(())
            }
            Err(refusal) if refusal.code == Code::Internal => Err(refused(refusal)),
            Err(_) => Ok(()),
        }
    }

    fn check_fence(
        &self,
        before: &BTreeMap<String, u64>,
        ready: &Prepared,
        answer: &Result<Value, Refusal>,
    ) -> Result<(), Violation> {
        let request = &ready.request;
        // Only the verbs that need the holder look at a fence, and a remembered answer is given whatever became of it.
        let needs_holder = matches!(
            request.command,
            Command::Start { .. }
                | Command::Submit(_)
                | Command::Block { .. }
                | Command::Subtask { .. }
                | Command::Move { verb: TaskVerb::Fail | TaskVerb::Release, .. }
        );
        let exempt = !needs_holder || request.key.is_some();
        match (request.fence, request.command.task_ref(), answer) {
            (Some(fence), Some(task), Ok(_)) if !exempt => {
                self.auditor.was_live(before, task, fence.get())
            }
            _ => Ok(()),
        }
    }

    fn audit(&mut self) -> Result<(), Violation> {
        check_rows(self.model.read()?.as_mut())?;
        if let Some((mirror, _)) = &mut self.mirror {
            check_rows(mirror.read()?.as_mut())?;
        }
        Ok(())
    }

    fn finish(mut self, plan: &Plan) -> Result<Report, Violation> {
        self.audit()?;
        self.auditor.all_there()?;
        let head = self.model.read()?.head()?;
        self.report.events = head.seq.0;
        let hours = self.report.simulated_ms as f64 / 3_600_000.0;
        self.report.agent_hours = hours * plan.agents as f64;
        let model: Box<dyn Store> = Box::new(self.model);
        prove(model, &self.settings)?;
        if let Some((mirror, _dir)) = self.mirror {
            prove(mirror, &self.settings)?;
        }
        Ok(self.report)
    }
}

/// What everybody can see; a look at a store, at most a page of each.
pub(crate) fn look(
    reader: &mut dyn Reader,
    repo: &RepoName,
    now: Timestamp,
) -> Result<Sight, Violation> {
    let mut sight = Sight { now, ..Sight::default() };
    let mut tx = reader.read()?;
    for status in Status::ALL {
        let query = TaskQuery { statuses: vec![status], ..TaskQuery::of(repo.clone(), 20) };
        let tasks = tx.tasks(&query)?.into_iter();
        sight.tasks.extend(tasks.map(|task| (task.id.to_string(), status)));
    }
    let query = DecisionQuery { repo: repo.clone(), open_only: true, after: None, limit: 20 };
    let decisions = tx.decisions(&query)?.into_iter();
    sight.decisions.extend(decisions.map(|d| (d.id.to_string(), d.options.is_empty())));
    let query = LeaseQuery { repo: repo.clone(), owner: None, after: None, limit: 50 };
    sight.leases.extend(tx.leases(&query)?.into_iter().map(|lease| lease.id.to_string()));
    Ok(sight)
}

/// The log must verify, and its replay must give the rows that are there.
pub(crate) fn prove(store: Box<dyn Store>, settings: &Settings) -> Result<(), Violation> {
    let service = Service::inline(store, settings.clone()).map_err(|error| refused(&error))?;
    let report = service.verify().map_err(|error| refused(&error))?;
    if report.ok {
        return Ok(());
    }
    Err(violation(format!("the log does not verify: {:?}", report.problems)))
}

fn answers_of(
    store: &mut dyn Store,
    settings: &Settings,
    prepared: &[Prepared],
) -> Vec<Result<Value, Refusal>> {
    let answers = run_batch(store, settings, prepared).into_iter();
    answers.map(|answer| answer.and_then(Reply::into_json)).collect()
}

fn open_postgres(url: &str, clock: &Arc<dyn Clock>) -> Result<Mirror, Violation> {
    let options = PgOptions { clock: Some(clock.clone()), ..PgOptions::default() };
    Ok((Box::new(PgStore::open(url, options, &|_| None)?), None))
}

pub(crate) fn open_sqlite(clock: &Arc<dyn Clock>) -> Result<Mirror, Violation> {
    let dir = tempfile::tempdir().map_err(|error| violation(format!("no directory: {error}")))?;
    let path: &Path = dir.path();
    let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
    let store = SqliteStore::open(&path.join("comity.db"), options)?;
    Ok((Box::new(store), Some(dir)))
}

fn compare(
    prepared: &[Prepared],
    model: &[Result<Value, Refusal>],
    mirror: &[Result<Value, Refusal>],
) -> Result<(), Violation> {
    for ((ready, a), b) in prepared.iter().zip(model).zip(mirror) {
        if a != b {
            return Err(violation(format!(
                "the stores answer {:?} of {} differently:\n  model {a:?}\n  store {b:?}",
                ready.request.command, ready.request.actor
            )));
        }
    }
    Ok(())
}

/// What a member believes after an answer.
pub(crate) fn learn(member: &mut Member, command: &Command, answer: &Result<Value, Refusal>) {
    match (command, answer) {
        (Command::Claim(_), Ok(value)) => {
            member.belief = Some(Belief {
                task: value["task"]["id"].as_str().unwrap_or_default().to_owned(),
                fence: value["fence"].as_u64().and_then(Fence::new),
                started: value["task"]["status"] == "in_progress",
            });
        }
        (Command::Start { .. }, Ok(value)) => {
            member.belief = Some(Belief {
                task: value["task"]["id"].as_str().unwrap_or_default().to_owned(),
                fence: value["task"]["fence"].as_u64().and_then(Fence::new),
                started: true,
            });
        }
        (
            Command::Submit(_)
            | Command::Block { .. }
            | Command::Move { verb: TaskVerb::Fail | TaskVerb::Release, .. },
            Ok(_),
        ) => member.belief = None,
        (_, Err(refusal))
            if matches!(
                refusal.code,
                Code::StaleFence | Code::NotHolder | Code::InvalidTransition
            ) =>
        {
            member.belief = None;
        }
        _ => {}
    }
}
