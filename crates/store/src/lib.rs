//! One small interface to a database, and its implementations: SQLite, PostgreSQL, and the model in
//! memory.
//!
//! A store loads facts, appends events and writes projected rows, all in one transaction. It knows
//! no rule: it may hand over too many candidates, never too few. Nothing outside this crate names
//! SQL.

mod clock;
pub mod conformance;
mod error;
mod listing;
pub mod memory;
mod moment;
pub mod neo;
pub mod postgres;
mod recent;
pub mod sqlite;
mod words;

pub use clock::{Clock, Reading, SystemClock};
pub use error::StoreError;

use comity_core::chain::{Head, Stored};
use comity_core::decision::Decision;
use comity_core::directive::Directive;
use comity_core::facts::{Entity, Facts, Moment, Need, Presence, Saved};
use comity_core::ids::{
    AgentId, DecisionId, DirectiveId, Fence, LeaseId, MemoryId, RepoName, Seq, TaskId,
};
use comity_core::lease::Lease;
use comity_core::memory::{Memory, MemoryFilter};
use comity_core::role::Role;
use comity_core::search::Term;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A database that keeps the log, the projected state, and what stays outside the log.
pub trait Store: Send {
    /// Begins to write. Waits for other writers, in this process or another, for a bounded time.
    fn write(&mut self) -> Result<Box<dyn WriteTx + '_>, StoreError>;

    /// Begins to read one consistent snapshot. Never waits for a writer.
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError>;

    /// Takes the facts of the transaction that this store has just committed, and may keep them to
    /// read less in the next one.
    fn keep(&mut self, facts: Facts) {
        drop(facts);
    }

    /// Returns a watch that wakes when any process commits.
    fn watch(&self) -> Result<Box<dyn Watch>, StoreError>;

    /// Closes the store: every writer of any process is refused with this reason from now on, readers are
    /// not. None opens it again.
    fn close(&mut self, reason: Option<&str>) -> Result<(), StoreError>;

    /// Runs the database's own integrity check; an empty answer is a healthy one.
    fn integrity(&mut self) -> Result<Vec<String>, StoreError>;

    /// Returns the URL that opens this store.
    fn url(&self) -> String;
}

/// Wakes when something was committed.
pub trait Watch: Send {
    /// Waits until something was committed since the last call, or the time is up; tells which.
    fn wait(&mut self, timeout: Duration) -> Result<bool, StoreError>;
}

/// A consistent view of the store.
pub trait ReadTx {
    /// Returns the time of this transaction by the store's clock.
    fn moment(&mut self) -> Result<Moment, StoreError>;

    /// Returns the end of the log.
    fn head(&mut self) -> Result<Head, StoreError>;

    /// Answers needs by putting entities into the facts.
    fn load(&mut self, needs: &[Need], facts: &mut Facts) -> Result<(), StoreError>;

    /// Returns keys of entities whose time may be up, the earliest first. Too many, never too few.
    fn due(&mut self, now: Timestamp, limit: usize) -> Result<Vec<Key>, StoreError>;

    /// Returns tasks by number.
    fn tasks(&mut self, query: &TaskQuery) -> Result<Vec<Task>, StoreError>;

    /// Returns live leases by number.
    fn leases(&mut self, query: &LeaseQuery) -> Result<Vec<Lease>, StoreError>;

    /// Returns decisions by number.
    fn decisions(&mut self, query: &DecisionQuery) -> Result<Vec<Decision>, StoreError>;

    /// Returns memories by number.
    fn memories(&mut self, query: &MemoryQuery) -> Result<Vec<Memory>, StoreError>;

    /// Returns the memories that may have every one of these terms, the newest first. Too many, never too
    /// few but for the limit; none when there is no term.
    fn memories_with(
        &mut self,
        repo: &RepoName,
        terms: &[Term],
        limit: usize,
    ) -> Result<Vec<MemoryId>, StoreError>;

    /// Returns directives by number.
    fn directives(&mut self, query: &DirectiveQuery) -> Result<Vec<Directive>, StoreError>;

    /// Returns agents by id, with their signs of life.
    fn agents(
        &mut self,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<(comity_core::agent::Agent, Presence)>, StoreError>;

    /// Returns the tasks that an agent holds, in any repository.
    fn held_by(
        &mut self,
        agent: &AgentId,
        limit: usize,
    ) -> Result<Vec<(RepoName, TaskId)>, StoreError>;

    /// Returns events by seq.
    fn events(&mut self, query: &EventQuery) -> Result<Vec<Stored>, StoreError>;

    /// Returns the answers that are still remembered, by actor and key.
    fn saved(
        &mut self,
        after: Option<&(AgentId, String)>,
        limit: usize,
    ) -> Result<Vec<(AgentId, String, Saved)>, StoreError>;

    /// Counts the tasks of a repository by stored status.
    fn status_counts(&mut self, repo: &RepoName) -> Result<BTreeMap<Status, u64>, StoreError>;

    /// Returns projected entities in the order of their keys, for comparison with the log.
    fn entities(
        &mut self,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entity)>, StoreError>;

    /// Says where what rows are found by differs from what they hold; a store that keeps nothing twice
    /// has no such place. A rebuild mends it.
    fn mismatches(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}

/// A transaction that may change the store. Dropped without commit, it changes nothing.
pub trait WriteTx: ReadTx {
    /// Writes the changes and makes them durable. Only after this returns may anything be
    /// acknowledged.
    fn commit(self: Box<Self>, changes: Changes<'_>) -> Result<(), StoreError>;

    /// Forgets every projected row, so that they can be written anew from the log.
    fn clear_projections(&mut self) -> Result<(), StoreError>;

    /// Writes projected rows before the commit, for a rebuild that does not fit in memory.
    fn write_rows(&mut self, rows: &Rows<'_>) -> Result<(), StoreError>;
}

/// Projected rows to be written: for each dirty key what the facts say, absent meaning deleted.
pub struct Rows<'a> {
    /// Where the entities are.
    pub facts: &'a Facts,
    /// Which of them changed.
    pub dirty: &'a BTreeSet<Key>,
    /// When the time of an entity may be up; also for entities that did not change otherwise.
    pub due: &'a BTreeMap<Key, Option<Timestamp>>,
}

/// Everything that one transaction changes.
pub struct Changes<'a> {
    /// Events to append, sealed and in order.
    pub events: &'a [Stored],
    /// Projected rows.
    pub rows: Rows<'a>,
    /// Signs of life, with the fence when they count for one grant only.
    pub presence: &'a [(AgentId, Option<Fence>, Timestamp)],
    /// Answers to remember.
    pub saved: &'a [(AgentId, String, Saved)],
}

/// How long a sign of life for one grant is kept; longer than any grant lives without one.
pub(crate) const PRESENCE_LIFE: Millis = Millis::from_secs(8 * 86_400);

/// Refuses events that would leave a gap in the log or break its chain.
pub(crate) fn check_append(head: &Head, events: &[Stored]) -> Result<(), StoreError> {
    let mut end = *head;
    for event in events {
        if event.seq.0 != end.seq.0 + 1 || event.prev != end.hash {
            let text = format!("event {} does not follow event {}", event.seq, end.seq);
            return Err(StoreError::other("cannot append", text));
        }
        end = event.head();
    }
    Ok(())
}

/// Which tasks to list.
#[derive(Clone, Debug)]
pub struct TaskQuery {
    /// Of this repository.
    pub repo: RepoName,
    /// In one of these states; empty means any.
    pub statuses: Vec<Status>,
    /// Of this assignee.
    pub assignee: Option<AgentId>,
    /// With all of these labels.
    pub labels: Vec<String>,
    /// Of this role.
    pub role: Option<Role>,
    /// Of this initiative.
    pub initiative: Option<String>,
    /// Only queued ones without open dependencies.
    pub unblocked_only: bool,
    /// After this number.
    pub after: u64,
    /// At most so many.
    pub limit: usize,
}

impl TaskQuery {
    /// Asks for every task of a repository, from the first, a page of so many.
    pub fn of(repo: RepoName, limit: usize) -> TaskQuery {
        TaskQuery {
            repo,
            statuses: Vec::new(),
            assignee: None,
            labels: Vec::new(),
            role: None,
            initiative: None,
            unblocked_only: false,
            after: 0,
            limit,
        }
    }
}

/// Which leases to list.
#[derive(Clone, Debug)]
pub struct LeaseQuery {
    /// Of this repository.
    pub repo: RepoName,
    /// Of this owner.
    pub owner: Option<AgentId>,
    /// After this one.
    pub after: Option<LeaseId>,
    /// At most so many.
    pub limit: usize,
}

/// Which decisions to list.
#[derive(Clone, Debug)]
pub struct DecisionQuery {
    /// Of this repository.
    pub repo: RepoName,
    /// Only open ones.
    pub open_only: bool,
    /// After this one.
    pub after: Option<DecisionId>,
    /// At most so many.
    pub limit: usize,
}

/// Which memories to list.
#[derive(Clone, Debug)]
pub struct MemoryQuery {
    /// Of this repository.
    pub repo: RepoName,
    /// Only these.
    pub filter: MemoryFilter,
    /// After this one.
    pub after: Option<MemoryId>,
    /// At most so many.
    pub limit: usize,
}

/// Which directives to list.
#[derive(Clone, Debug)]
pub struct DirectiveQuery {
    /// Of this repository.
    pub repo: RepoName,
    /// After this one.
    pub after: Option<DirectiveId>,
    /// At most so many.
    pub limit: usize,
}

/// Which events to list.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// Of this repository.
    pub repo: Option<RepoName>,
    /// About this task.
    pub task: Option<TaskId>,
    /// Of this name.
    pub event: Option<String>,
    /// After this place.
    pub after: Seq,
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
}
