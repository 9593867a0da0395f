//! Services over every store, with a clock that the test moves.

use comity_api::{ById, Operation, op};
use comity_core::command::{ClaimWish, Command, ConstraintChanges, NewTask, Request, Submission};
use comity_core::event::TaskUpdated;
use comity_core::ids::{AgentId, Fence, RepoName};
use comity_core::observed::Observed;
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Role;
use comity_engine::{Caller, Handler, Service, Settings};
use comity_store::memory::MemoryStore;
use comity_store::postgres::{OpenOptions as PgOptions, PgStore};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::test_server::empty_store;
use comity_store::{Clock, Reading, Store};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A clock that stands still until it is moved.
pub struct TestClock(AtomicI64);

impl TestClock {
    fn new() -> Arc<TestClock> {
        Arc::new(TestClock(AtomicI64::new(1_700_000_000_000)))
    }
}

impl Clock for TestClock {
    fn read(&self) -> Reading {
        let ms = self.0.load(Ordering::SeqCst);
        Reading { wall_ms: ms, boot_ms: ms, slept_ms: 0, boot_id: "test".to_owned() }
    }
}

pub struct World {
    pub engine: Service,
    pub clock: Arc<TestClock>,
    /// What the service runs over, and how.
    pub name: String,
    dir: Option<tempfile::TempDir>,
}

/// How a service runs: inline, or started.
type Run = fn(Box<dyn Store>, Settings) -> Result<Service, Refusal>;
const RUNS: [(&str, Run); 2] = [("inline", Service::inline), ("started", Service::start)];

impl World {
    pub fn memory() -> World {
        World::over_memory(RUNS[0])
    }

    pub fn sqlite() -> World {
        World::over_sqlite(RUNS[0])
    }

    /// Every store, with a service before it that runs inline and with one that was started. The model in memory comes
    /// first.
    pub fn all() -> Vec<World> {
        let over =
            |run| [World::over_memory(run), World::over_sqlite(run), World::over_postgres(run)];
        RUNS.into_iter().flat_map(over).collect()
    }

    fn over_memory(run: (&str, Run)) -> World {
        let clock = TestClock::new();
        let store = MemoryStore::new(clock.clone());
        World::over("memory", run, Box::new(store), clock, None)
    }

    fn over_sqlite(run: (&str, Run)) -> World {
        let clock = TestClock::new();
        let dir = tempfile::tempdir().unwrap();
        let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
        let store = SqliteStore::open(&dir.path().join("comity.db"), options).unwrap();
        World::over("SQLite", run, Box::new(store), clock, Some(dir))
    }

    fn over_postgres(run: (&str, Run)) -> World {
        let clock = TestClock::new();
        let options = PgOptions { clock: Some(clock.clone()), ..PgOptions::default() };
        let store = PgStore::open(&empty_store(), options, &|_| None).unwrap();
        World::over("PostgreSQL", run, Box::new(store), clock, None)
    }

    fn over(
        store_name: &str,
        (how, run): (&str, Run),
        store: Box<dyn Store>,
        clock: Arc<TestClock>,
        dir: Option<tempfile::TempDir>,
    ) -> World {
        let engine = run(store, without_git()).unwrap();
        World { engine, clock, name: format!("{store_name}, {how}"), dir }
    }

    pub fn path(&self) -> Option<std::path::PathBuf> {
        self.dir.as_ref().map(|dir| dir.path().join("comity.db"))
    }

    pub fn sleep(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    pub fn request(&self, actor: &str, command: Command) -> Request {
        request(actor, command)
    }

    pub fn try_as(&mut self, actor: &str, command: Command) -> Result<Value, Refusal> {
        let request = self.request(actor, command);
        self.engine.execute(request)?.into_json()
    }

    pub fn run(&mut self, actor: &str, command: Command) -> Value {
        self.try_as(actor, command).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    pub fn refused(&mut self, actor: &str, command: Command, code: Code) -> Refusal {
        let refusal = self.try_as(actor, command).expect_err("it should be refused");
        assert_eq!(refusal.code, code, "{refusal}");
        refusal
    }

    pub fn with_fence(
        &mut self,
        actor: &str,
        fence: u64,
        command: Command,
    ) -> Result<Value, Refusal> {
        let mut request = self.request(actor, command);
        request.fence = Fence::new(fence);
        self.engine.execute(request)?.into_json()
    }

    pub fn ask<O: Operation>(&self, actor: &str, input: O::Input) -> Value
    where
        Service: Handler<O>,
        O::Output: serde::Serialize,
    {
        self.try_ask::<O>(actor, input).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    pub fn try_ask<O: Operation>(&self, actor: &str, input: O::Input) -> Result<Value, Refusal>
    where
        Service: Handler<O>,
        O::Output: serde::Serialize,
    {
        let answer = self.engine.call::<O>(&caller(actor), input)?;
        Ok(serde_json::to_value(answer).unwrap())
    }

    pub fn head(&self) -> Value {
        self.ask::<op::LogHead>("human:ann", comity_api::Nothing {})
    }

    pub fn create(&mut self, title: &str, change: impl FnOnce(&mut NewTask)) -> String {
        let mut new = NewTask { title: title.to_owned(), ..NewTask::default() };
        change(&mut new);
        let answer = self.run("human:ann", Command::CreateTask(Box::new(new)));
        answer["task"]["id"].as_str().unwrap().to_owned()
    }

    pub fn register(&mut self, id: &str, role: Role) {
        let id = AgentId::parse(id).unwrap();
        self.run("human:ann", Command::AgentRegister { id, roles: vec![role], skills: vec![] });
    }

    pub fn status(&mut self, id: &str) -> String {
        let answer = self.ask::<op::TaskShow>("human:ann", by_id(id));
        answer["task"]["status"].as_str().unwrap().to_owned()
    }

    pub fn assert_log_is_sound(&mut self) {
        let report = self.engine.verify().unwrap();
        assert!(report.ok, "{report:?}");
    }
}

pub fn by_id(id: &str) -> ById {
    ById { id: id.to_owned() }
}

pub fn caller(actor: &str) -> Caller {
    Caller::new(AgentId::parse(actor).unwrap(), RepoName::parse("acme/app").unwrap())
}

pub fn claim_best() -> Command {
    Command::Claim(ClaimWish::default())
}

pub fn claim(id: &str) -> Command {
    Command::Claim(ClaimWish { id: Some(id.to_owned()), ..ClaimWish::default() })
}

pub fn start(id: &str) -> Command {
    Command::Start { id: id.to_owned(), ttl: None, reason: None }
}

pub fn retitle(id: &str, title: &str) -> Command {
    Command::UpdateTask {
        id: id.to_owned(),
        changes: Box::new(TaskUpdated { title: Some(title.to_owned()), ..TaskUpdated::default() }),
        constraints: ConstraintChanges::default(),
        if_match: None,
    }
}

pub fn submit(id: &str, commit: &str) -> Command {
    Command::Submit(Submission {
        id: id.to_owned(),
        commit: Some(commit.to_owned()),
        ..Submission::default()
    })
}

pub fn request(actor: &str, command: Command) -> Request {
    Request {
        actor: AgentId::parse(actor).unwrap(),
        repo: RepoName::parse("acme/app").unwrap(),
        fence: None,
        key: None,
        via: comity_core::via::Via {
            host: Some("host-1".to_owned()),
            ..comity_core::via::Via::default()
        },
        workspace: None,
        command,
        observed: Observed::default(),
    }
}

/// Settings of a project without git: nothing is looked at before a command is decided.
pub fn without_git() -> Settings {
    let policy = Policy { has_git: false, ..Policy::default() };
    Settings { policy, ..Settings::default() }
}

/// Streams every event from a place in the log on.
pub(crate) fn tail(
    service: &Service,
    from: u64,
    stop: &comity_engine::Stop,
    sink: impl FnMut(&comity_api::EventView) -> bool + Send + 'static,
) -> Result<(), Refusal> {
    let input = comity_api::TailEvents { from: Some(from) };
    comity_engine::StreamHandler::<op::EventTail>::stream(
        service,
        &caller("agent-1"),
        input,
        Box::new(sink),
        stop,
    )
}
