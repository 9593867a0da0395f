//! A store that fails in the middle of a command: the command is not stored and refused at once.

use crate::support::request;
use comity_core::budget::{Budget, Scope};
use comity_core::chain::{Head, Stored};
use comity_core::command::{Command, NewTask};
use comity_core::decision::Decision;
use comity_core::directive::Directive;
use comity_core::facts::{Entity, Facts, Moment, Need, Presence};
use comity_core::ids::{AgentId, MemoryId, RepoName, Seq, TaskId};
use comity_core::lease::Lease;
use comity_core::memory::Memory;
use comity_core::post::PostId;
use comity_core::refusal::Code;
use comity_core::run::Run;
use comity_core::search::Term;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use comity_engine::{Service, Settings};
use comity_store::memory::MemoryStore;
use comity_store::{
    Changes, DecisionQuery, DirectiveQuery, EventQuery, LeaseQuery, MemoryQuery, PostsFrom, ReadTx,
    Reader, Rows, RunQuery, Store, StoreError, SystemClock, TaskQuery, Watch, WriteTx,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Got<T> = Result<T, StoreError>;

struct Failing {
    inner: MemoryStore,
    fails: Arc<AtomicBool>,
}

struct FailingTx<'s> {
    inner: Box<dyn WriteTx + 's>,
    fails: bool,
}

impl Reader for Failing {
    fn read(&mut self) -> Got<Box<dyn ReadTx + '_>> {
        self.inner.read()
    }
}

impl Store for Failing {
    fn reader(&self) -> Got<Box<dyn Reader>> {
        self.inner.reader()
    }
    fn write(&mut self) -> Got<Box<dyn WriteTx + '_>> {
        let fails = self.fails.load(Ordering::SeqCst);
        Ok(Box::new(FailingTx { inner: self.inner.write()?, fails }))
    }
    fn watch(&self) -> Got<Box<dyn Watch>> {
        self.inner.watch()
    }
    fn close(&mut self, reason: Option<&str>) -> Got<()> {
        self.inner.close(reason)
    }
    fn integrity(&mut self) -> Got<Vec<String>> {
        self.inner.integrity()
    }
    fn url(&self) -> String {
        self.inner.url()
    }
}

impl ReadTx for FailingTx<'_> {
    fn moment(&mut self) -> Got<Moment> {
        self.inner.moment()
    }
    fn head(&mut self) -> Got<Head> {
        self.inner.head()
    }
    fn load(&mut self, needs: &[Need], facts: &mut Facts) -> Got<()> {
        self.inner.load(needs, facts)
    }
    fn due(&mut self, now: Timestamp, limit: usize) -> Got<Vec<Key>> {
        self.inner.due(now, limit)
    }
    fn tasks(&mut self, query: &TaskQuery) -> Got<Vec<Task>> {
        self.inner.tasks(query)
    }
    fn leases(&mut self, query: &LeaseQuery) -> Got<Vec<Lease>> {
        self.inner.leases(query)
    }
    fn leases_below(&mut self, repo: &RepoName, dir: &str, limit: usize) -> Got<Vec<Lease>> {
        self.inner.leases_below(repo, dir, limit)
    }
    fn posts_at(
        &mut self,
        repo: &RepoName,
        places: &[String],
        from: PostsFrom,
        limit: usize,
    ) -> Result<Vec<(Seq, PostId)>, StoreError> {
        self.inner.posts_at(repo, places, from, limit)
    }

    fn posts_before(
        &mut self,
        repo: &RepoName,
        before: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, PostId)>, StoreError> {
        self.inner.posts_before(repo, before, limit)
    }
    fn decisions(&mut self, query: &DecisionQuery) -> Got<Vec<Decision>> {
        self.inner.decisions(query)
    }
    fn memories(&mut self, query: &MemoryQuery) -> Got<Vec<Memory>> {
        self.inner.memories(query)
    }
    fn memories_with(
        &mut self,
        repo: &RepoName,
        terms: &[Term],
        limit: usize,
    ) -> Got<Vec<MemoryId>> {
        self.inner.memories_with(repo, terms, limit)
    }
    fn directives(&mut self, query: &DirectiveQuery) -> Got<Vec<Directive>> {
        self.inner.directives(query)
    }
    fn runs(&mut self, query: &RunQuery) -> Result<Vec<Run>, StoreError> {
        self.inner.runs(query)
    }

    fn budgets(
        &mut self,
        repo: &RepoName,
        after: Option<&Scope>,
        limit: usize,
    ) -> Result<Vec<Budget>, StoreError> {
        self.inner.budgets(repo, after, limit)
    }

    fn agents(
        &mut self,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Got<Vec<(comity_core::agent::Agent, Presence)>> {
        self.inner.agents(after, limit)
    }
    /// What the answer to a registration is made of: asked for after the event is applied.
    fn held_by(&mut self, agent: &AgentId, limit: usize) -> Got<Vec<(RepoName, TaskId)>> {
        if self.fails {
            return Err(StoreError::Full);
        }
        self.inner.held_by(agent, limit)
    }
    fn events(&mut self, query: &EventQuery) -> Got<Vec<Stored>> {
        self.inner.events(query)
    }
    fn saved(
        &mut self,
        after: Option<&(AgentId, String)>,
        limit: usize,
    ) -> Got<Vec<(AgentId, String, comity_core::facts::Saved)>> {
        self.inner.saved(after, limit)
    }
    fn kept_rows(
        &mut self,
        after: Option<&(String, String)>,
        limit: usize,
    ) -> Got<Vec<comity_store::KeptRow>> {
        self.inner.kept_rows(after, limit)
    }
    fn status_counts(&mut self, repo: &RepoName) -> Got<BTreeMap<Status, u64>> {
        self.inner.status_counts(repo)
    }
    fn entities(&mut self, after: Option<&Key>, limit: usize) -> Got<Vec<(Key, Entity)>> {
        self.inner.entities(after, limit)
    }
}

impl WriteTx for FailingTx<'_> {
    fn commit(self: Box<Self>, changes: Changes<'_>) -> Got<()> {
        self.inner.commit(changes)
    }
    fn clear_projections(&mut self) -> Got<()> {
        self.inner.clear_projections()
    }
    fn write_rows(&mut self, rows: &Rows<'_>) -> Got<()> {
        self.inner.write_rows(rows)
    }
}

#[test]
fn what_fails_after_its_first_event_is_not_stored() {
    let fails = Arc::new(AtomicBool::new(false));
    let inner = MemoryStore::new(Arc::new(SystemClock));
    let store = Failing { inner, fails: fails.clone() };
    let engine = Service::inline(Box::new(store), Settings::default()).unwrap();
    let new = NewTask { title: "one".to_owned(), ..NewTask::default() };
    engine.execute(request("human:ann", Command::CreateTask(Box::new(new)))).unwrap();
    let before = engine.verify().unwrap();
    let id = AgentId::parse("bob").unwrap();
    let register = Command::AgentRegister { id, roles: Vec::new(), skills: Vec::new() };
    fails.store(true, Ordering::SeqCst);
    let refusal = engine.execute(request("human:ann", register.clone())).unwrap_err();
    assert_eq!(refusal.code, Code::StorageFull);
    assert_eq!(engine.verify().unwrap(), before);
    fails.store(false, Ordering::SeqCst);
    engine.execute(request("human:ann", register)).unwrap();
    assert!(engine.verify().unwrap().ok);
}
