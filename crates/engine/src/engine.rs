//! The engine as one process uses it: commands in, questions in, answers out.

use crate::batch::run_batch;
use crate::intake::{Intake, Prepared};
use crate::query::Query;
use crate::read::Reader;
use crate::redact::RedactOptions;
use comity_core::command::Request;
use comity_core::ids::{AgentId, RepoName};
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_store::Store;
use comity_store::memory::MemoryStore;
use serde_json::Value;

/// Most commands in one transaction of [`Engine::execute_all`].
const BATCH_MAX: usize = 256;

/// A project's settings.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What the rules depend on.
    pub policy: Policy,
    /// What must not enter the log.
    pub redact: RedactOptions,
}

/// Who asks, and about which repository.
#[derive(Clone, Debug)]
pub struct Asker {
    /// Who.
    pub actor: AgentId,
    /// Which repository.
    pub repo: RepoName,
}

/// A store with the rules before it.
pub struct Engine {
    pub(crate) store: Box<dyn Store>,
    pub(crate) settings: Settings,
    intake: Intake,
}

impl Engine {
    /// Puts the rules before a store.
    pub fn new(store: Box<dyn Store>, settings: Settings) -> Result<Engine, Refusal> {
        let intake = Intake::new(settings.redact.clone())?;
        Ok(Engine { store, settings, intake })
    }

    /// Returns a copy of what the store holds now, in memory and without the log: what is done there is thrown away with
    /// it, and is what would be done here.
    pub fn trial(&mut self) -> Result<Engine, Refusal> {
        let copy = MemoryStore::copy_of(self.store.read()?.as_mut())?;
        Engine::new(Box::new(copy), self.settings.clone())
    }

    /// Runs a command; when this returns, what was acknowledged is durable.
    pub fn execute(&mut self, request: Request) -> Result<Value, Refusal> {
        let prepared = self.intake.prepare(request)?;
        let mut answers =
            run_batch(self.store.as_mut(), &self.settings, std::slice::from_ref(&prepared));
        answers.pop().unwrap_or_else(|| Err(Refusal::new(Code::Internal, "BUG: no answer")))
    }

    /// Runs commands one after the other, in one transaction for each 256 of them. The answers
    /// come in their order; a refusal spoils nothing for the others.
    pub fn execute_all(&mut self, requests: Vec<Request>) -> Vec<Result<Value, Refusal>> {
        let mut answers = Vec::with_capacity(requests.len());
        let mut left = requests.into_iter().peekable();
        while left.peek().is_some() {
            let checked: Vec<Result<Prepared, Refusal>> =
                left.by_ref().take(BATCH_MAX).map(|request| self.intake.prepare(request)).collect();
            let good: Vec<Prepared> =
                checked.iter().filter_map(|prepared| prepared.as_ref().ok()).cloned().collect();
            let mut done = run_batch(self.store.as_mut(), &self.settings, &good).into_iter();
            let bug = || Err(Refusal::new(Code::Internal, "BUG: no answer"));
            answers.extend(checked.into_iter().map(|prepared| match prepared {
                Ok(_) => done.next().unwrap_or_else(bug),
                Err(refusal) => Err(refusal),
            }));
        }
        answers
    }

    /// Answers a question.
    pub fn query(&mut self, asker: &Asker, query: Query) -> Result<Value, Refusal> {
        let mut tx = self.store.read()?;
        Reader::open(tx.as_mut(), &self.settings.policy, asker)?.answer(query)
    }

    /// Runs the database's own integrity check; an empty answer is a healthy one.
    pub fn integrity(&mut self) -> Result<Vec<String>, Refusal> {
        Ok(self.store.integrity()?)
    }

    /// Returns what wakes when any process commits.
    pub fn watch(&self) -> Result<Box<dyn comity_store::Watch>, Refusal> {
        Ok(self.store.watch()?)
    }

    /// Returns the time by the store's clock.
    pub fn store_time(&mut self) -> Result<comity_core::time::Timestamp, Refusal> {
        let mut tx = self.store.read()?;
        Ok(tx.moment()?.now)
    }

    /// Returns the URL that opens the store.
    pub fn store_url(&self) -> String {
        self.store.url()
    }
}
