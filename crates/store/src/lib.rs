//! One small interface to a database, and its implementations: SQLite, PostgreSQL, and the model in
//! memory.
//!
//! A store loads facts, appends events and writes projected rows, all in one transaction. It knows
//! no rule: it may hand over too many candidates, never too few. Nothing outside this crate names
//! SQL.

mod clock;
mod commit_cache;
mod error;
mod listing;
pub mod memory;
pub mod neo;
pub mod plain_file;
pub mod postgres;
mod questions;
mod rows;
pub mod sqlite;
mod term_search;
pub mod test_server;
mod transaction_time;

pub use clock::{Clock, ManualClock, Reading, SystemClock};
pub use error::{Gone, Holder, Known, StoreError, Unconfirmed};

use comity_core::budget::{Budget, Scope};
use comity_core::chain::{CLOCK_CORRECTED, Head, Stored};
use comity_core::decision::Decision;
use comity_core::directive::Directive;
use comity_core::facts::{Entity, Facts, Moment, Need, Presence, Saved};
use comity_core::ids::{
    AgentId, DecisionId, DirectiveId, Fence, LeaseId, MemoryId, RepoName, RunId, Seq, TaskId,
};
use comity_core::lease::Lease;
use comity_core::memory::{Memory, MemoryFilter};
use comity_core::post::PostId;
use comity_core::role::Role;
use comity_core::run::Run;
use comity_core::search::Term;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// A handle that reads a store and never writes to it. Each thread has its own.
pub trait Reader: Send {
    /// Begins to read one consistent snapshot. Never waits for a writer.
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError>;

    /// Returns a number that is another one as soon as anybody has committed since; numbers of different handles say nothing
    /// about each other. None where the store cannot tell without a question of its own.
    fn version(&mut self) -> Result<Option<i64>, StoreError> {
        Ok(None)
    }
}

/// A database that keeps the log, the projected state, and what stays outside the log.
pub trait Store: Reader {
    /// Begins to write. Waits for other writers, in this process or another, for a bounded time.
    fn write(&mut self) -> Result<Box<dyn WriteTx + '_>, StoreError>;

    /// Returns another handle that reads the same store, for another thread. It sees every commit that was
    /// acknowledged before its `read` began. Making it neither creates nor upgrades anything.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// Takes the facts of the transaction that this store has just committed, and may keep them to
    /// read less in the next one.
    fn keep(&mut self, facts: Facts) {
        drop(facts);
    }

    /// Returns a watch that wakes when any process commits.
    fn watch(&self) -> Result<Box<dyn Watch>, StoreError>;

    /// Closes the store: from now on every writer of any process is refused with this reason. Readers are
    /// not refused. `None` opens the store again.
    fn close(&mut self, reason: Option<&str>) -> Result<(), StoreError>;

    /// Writes the store as it is at one moment into a new SQLite file; `false` when this store cannot do so by itself.
    fn backup(&mut self, to: &Path) -> Result<bool, StoreError> {
        let _ = to;
        Ok(false)
    }

    /// Runs the database's own integrity check; an empty answer is a healthy one.
    fn integrity(&mut self) -> Result<Vec<String>, StoreError>;

    /// Tells whether commits may have to wait for a standby, and so may end without an answer.
    fn may_have_standbys(&self) -> bool {
        false
    }

    /// Returns the URL that opens this store, without a password.
    fn url(&self) -> String;
}

/// Wakes when something was committed.
pub trait Watch: Send {
    /// Waits until something was committed since the last call, or the time is up; tells which. Once the
    /// watch was stopped, it returns `false` at once.
    fn wait(&mut self, timeout: Duration) -> Result<bool, StoreError>;

    /// Returns a function that stops this watch from any thread. A wait that is under way ends at once.
    fn stopper(&self) -> Box<dyn Fn() + Send + Sync>;
}

/// A consistent view of the store. Lists come in the order of numbers, and events in the order of the log.
pub trait ReadTx {
    /// Returns the time of this transaction by the store's clock.
    fn moment(&mut self) -> Result<Moment, StoreError>;

    fn head(&mut self) -> Result<Head, StoreError>;

    /// Answers needs by putting entities into the facts.
    fn load(&mut self, needs: &[Need], facts: &mut Facts) -> Result<(), StoreError>;

    /// Returns the keys of entities whose time may be up, the earliest first: perhaps too many, never too few.
    fn due(&mut self, now: Timestamp, limit: usize) -> Result<Vec<Key>, StoreError>;

    fn tasks(&mut self, query: &TaskQuery) -> Result<Vec<Task>, StoreError>;

    fn leases(&mut self, query: &LeaseQuery) -> Result<Vec<Lease>, StoreError>;

    /// Returns leases whose literal prefix lies below a directory, so many at most.
    fn leases_below(
        &mut self,
        repo: &RepoName,
        directory: &str,
        limit: usize,
    ) -> Result<Vec<Lease>, StoreError>;

    fn decisions(&mut self, query: &DecisionQuery) -> Result<Vec<Decision>, StoreError>;

    fn memories(&mut self, query: &MemoryQuery) -> Result<Vec<Memory>, StoreError>;

    /// Returns the memories that may have all of these terms, the newest first: perhaps too many, and too few
    /// only because of the limit. Without a term there are none.
    fn memories_with(
        &mut self,
        repo: &RepoName,
        terms: &[Term],
        limit: usize,
    ) -> Result<Vec<MemoryId>, StoreError>;

    /// Returns the posts and memories at each of these places, at most so many a place: those next to an event, in the
    /// order in which they lie away from it.
    fn posts_at(
        &mut self,
        repo: &RepoName,
        places: &[String],
        from: PostsFrom,
        limit: usize,
    ) -> Result<Vec<(Seq, PostId)>, StoreError>;

    /// Returns the posts that were written before an event, wherever they lie, the newest first.
    fn posts_before(
        &mut self,
        repo: &RepoName,
        before: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, PostId)>, StoreError>;

    fn directives(&mut self, query: &DirectiveQuery) -> Result<Vec<Directive>, StoreError>;

    fn runs(&mut self, query: &RunQuery) -> Result<Vec<Run>, StoreError>;

    /// Returns the budgets of a repository, in the order of their scopes as text.
    fn budgets(
        &mut self,
        repo: &RepoName,
        after: Option<&Scope>,
        limit: usize,
    ) -> Result<Vec<Budget>, StoreError>;

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

    fn events(&mut self, query: &EventQuery) -> Result<Vec<Stored>, StoreError>;

    /// Returns the answers that are still remembered, by actor and key.
    fn saved(
        &mut self,
        after: Option<&(AgentId, String)>,
        limit: usize,
    ) -> Result<Vec<(AgentId, String, Saved)>, StoreError>;

    /// Returns what doors keep beside the log, in the order of spaces and keys, from after a place on.
    fn kept_rows(
        &mut self,
        after: Option<&(String, String)>,
        limit: usize,
    ) -> Result<Vec<KeptRow>, StoreError>;

    /// Counts the tasks of a repository by stored status.
    fn status_counts(&mut self, repo: &RepoName) -> Result<BTreeMap<Status, u64>, StoreError>;

    /// Returns projected entities in the order of their keys, for comparison with the log.
    fn entities(
        &mut self,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entity)>, StoreError>;

    /// Says where the columns that rows are found by differ from the bodies. A rebuild mends it. A store that
    /// keeps nothing twice has no such place.
    fn mismatches(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Says which events are gone from the end of the log, as far as the store can know.
    fn gone(&mut self) -> Result<Option<Gone>, StoreError> {
        Ok(None)
    }

    /// Tells whether the connection broke: nothing of this transaction was stored, and it can be run again.
    fn is_lost(&self) -> bool {
        false
    }
}

/// A transaction that may change the store. Dropped without commit, it changes nothing.
pub trait WriteTx: ReadTx {
    /// Writes the changes and makes them durable. Only after this returns may anything be
    /// acknowledged.
    fn commit(self: Box<Self>, changes: Changes<'_>) -> Result<(), StoreError>;

    /// Returns when whatever this transaction has read is as safe as what a commit of its own would have written: an
    /// answer that rests on it can be given. A store without synchronous standbys has nothing to wait for.
    fn confirm(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Tells whether commits wait for a synchronous standby, and so may end without an answer.
    fn is_replicated(&self) -> bool {
        false
    }

    /// Forgets every projected row, so that they can be written anew from the log.
    fn clear_projections(&mut self) -> Result<(), StoreError>;

    /// Writes projected rows before the commit, for a rebuild that does not fit in memory.
    fn write_rows(&mut self, rows: &Rows<'_>) -> Result<(), StoreError>;
}

/// Projected rows to be written: for each dirty key what the facts say, absent meaning deleted.
pub struct Rows<'a> {
    pub facts: &'a Facts,
    pub dirty: &'a BTreeSet<Key>,
    /// When the time of an entity may be up. These need not be dirty.
    pub due: &'a BTreeMap<Key, Option<Timestamp>>,
}

/// Everything that one transaction changes.
pub struct Changes<'a> {
    /// Events to append, sealed and in order.
    pub events: &'a [Stored],
    pub rows: Rows<'a>,
    /// Signs of life, with the fence when they count for one grant only.
    pub presence: &'a [(AgentId, Option<Fence>, Timestamp)],
    pub saved: &'a [(AgentId, String, Saved)],
    /// What doors keep beside the log; a row without a value is removed.
    pub kept: &'a [(String, String, Option<Vec<u8>>)],
}

/// Something that a door keeps beside the log: its space, its key in it, and its bytes. Spaces and keys are not empty.
pub type KeptRow = (String, String, Vec<u8>);

/// How long a sign of life for one grant is kept. No grant lives so long without a sign.
pub(crate) const PRESENCE_LIFE: Millis = Millis::from_secs(8 * 86_400);

/// Returns the time that a person has set the log back to with these events. Signs of life, saved answers and notes of the clocks that are dated
/// after it do not count any more.
pub(crate) fn corrected(events: &[Stored]) -> Option<Timestamp> {
    events.iter().rev().find(|event| event.event == CLOCK_CORRECTED).map(|event| event.ts)
}

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

#[derive(Clone, Debug)]
pub struct TaskQuery {
    pub repo: RepoName,
    /// In one of these states; empty means any.
    pub statuses: Vec<Status>,
    pub assignee: Option<AgentId>,
    /// With all of these labels.
    pub labels: Vec<String>,
    pub role: Option<Role>,
    pub initiative: Option<String>,
    /// Only queued ones without open dependencies.
    pub unblocked_only: bool,
    pub after: u64,
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

#[derive(Clone, Debug)]
pub struct LeaseQuery {
    pub repo: RepoName,
    pub owner: Option<AgentId>,
    pub after: Option<LeaseId>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub struct DecisionQuery {
    pub repo: RepoName,
    pub open_only: bool,
    pub after: Option<DecisionId>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub struct MemoryQuery {
    pub repo: RepoName,
    pub filter: MemoryFilter,
    pub after: Option<MemoryId>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub struct DirectiveQuery {
    pub repo: RepoName,
    pub after: Option<DirectiveId>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub struct RunQuery {
    pub repo: RepoName,
    pub task: Option<TaskId>,
    pub live_only: bool,
    pub after: Option<RunId>,
    pub limit: usize,
}

/// From which event on posts are wanted, and which way.
#[derive(Clone, Copy, Debug)]
pub enum PostsFrom {
    /// Backwards, the newest first.
    Before(Seq),
    /// The oldest first.
    After(Seq),
}

impl PostsFrom {
    /// From the end of the log back.
    pub const NEWEST: PostsFrom = PostsFrom::Before(Seq(u64::MAX));

    /// Tells whether an event lies on the wanted side.
    pub fn has(self, seq: Seq) -> bool {
        match self {
            PostsFrom::Before(end) => seq < end,
            PostsFrom::After(start) => seq > start,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    pub repo: Option<RepoName>,
    pub task: Option<TaskId>,
    pub event: Option<String>,
    pub after: Seq,
    /// The newest first, from before this place; then `after` and `since` do not count.
    pub before: Option<Seq>,
    pub since: Option<Timestamp>,
    pub limit: usize,
}
