//! A transaction: one snapshot to read, or the lock of all writers and the way to commit.
//!
//! A writer takes the lock before it reads anything, so that numbers are given out in the order of
//! commits: whoever tails the log never meets a place that is filled later.

use super::error::DbError;
use super::link::{Link, Op, values};
use super::load::Loader;
use super::pool::Lent;
use super::write::Writer;
use super::{Home, TaskEdges, integrity, memories, posts, query, runs, sql};
use crate::commit_cache::CommitCache;
use crate::questions::questions;
use crate::rows;
use crate::transaction_time::{ClockNote, transaction_time};
use crate::{Changes, ReadTx, Rows, StoreError, WriteTx, check_append};
use comity_core::agent::Agent;
use comity_core::chain::{Head, Stored};
use comity_core::facts::{Facts, Moment, Need, Presence, Saved};
use comity_core::ids::{AgentId, RepoName, Seq};
use comity_core::state::Key;
use comity_core::time::Timestamp;
use std::cell::{Cell, RefCell};
use std::time::Instant;
use tokio_postgres::Row;

const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(super) fn begin_read(link: &Link, _home: &Home) -> Result<Row, DbError> {
    begin(link, BEGIN_READ, &[Op::new(sql::START, values![])])
}

/// Begins to write: takes the lock and then reads the state of the store, in one round trip.
pub(super) fn begin_write(link: &Link, home: &Home) -> Result<Row, DbError> {
    let text = format!("BEGIN; SET LOCAL lock_timeout = {}", home.lock_wait.as_millis());
    let lock = Op::new(sql::LOCK, values![home.names.lock]);
    begin(link, &text, &[lock, Op::new(sql::START, values![])])
}

fn begin(link: &Link, text: &str, ops: &[Op]) -> Result<Row, DbError> {
    link.set_in_transaction(true);
    let found = link.together(Some(text), ops, None).inspect_err(|error| {
        if !error.is_lost() {
            // Whatever failed, the session must not stay in a transaction.
            roll_back(link);
        }
    })?;
    let row = found.into_iter().next_back().and_then(|rows| rows.into_iter().next());
    row.ok_or_else(|| DbError::Row("PostgreSQL returned no time".to_owned()))
}

/// If the rollback fails, the connection is not lent again, and the server rolls back by itself.
fn roll_back(link: &Link) {
    link.set_in_transaction(link.batch("ROLLBACK").is_err());
}

/// A transaction. It is rolled back when it is dropped.
pub(super) struct Tx<'a> {
    link: Lent,
    home: &'a Home,
    head: Head,
    now: (Moment, Option<ClockNote>),
    /// The number of commits before this transaction.
    commits: i64,
    /// Nothing is due before this time.
    first_due: Timestamp,
    /// Rows known without a query. Only a writer has a cache: for a reader, another connection may have committed.
    cache: Option<&'a RefCell<CommitCache<TaskEdges>>>,
    open: bool,
    /// Commits wait for a synchronous standby.
    replicated: bool,
    /// The connection broke.
    lost: Cell<bool>,
}

impl<'a> Tx<'a> {
    /// Makes a transaction from the row that its first statement returned.
    pub(super) fn begun(
        link: Lent,
        home: &'a Home,
        cache: Option<&'a RefCell<CommitCache<TaskEdges>>>,
        row: &Row,
    ) -> Result<Tx<'a>, DbError> {
        let now = (Moment::default(), None);
        let head = Head::default();
        let mut tx = Tx {
            link,
            home,
            head,
            now,
            commits: 0,
            first_due: Timestamp::default(),
            cache,
            open: true,
            replicated: row.try_get(9)?,
            lost: Cell::new(false),
        };
        tx.commits = row.try_get(2)?;
        tx.first_due = Timestamp::from_ms(row.try_get::<_, Option<i64>>(8)?.unwrap_or(i64::MAX));
        let closed: Option<String> = row.try_get(7)?;
        if let Some(reason) = closed.filter(|_| cache.is_some()) {
            return Err(StoreError::Closed(reason).into());
        }
        if let Some(cache) = cache {
            cache.borrow_mut().check(tx.commits);
        }
        if let Some(seq) = row.try_get::<_, Option<i64>>(4)? {
            let seq = Seq(u64::try_from(seq).unwrap_or_default());
            tx.head = Head { seq, ts: rows::time(row, 5)?, hash: rows::hash(row, 6)? };
        }
        tx.now = match &home.clock {
            Some(clock) => {
                let note: Option<&str> = row.try_get(3)?;
                // A note that does not decode is like none: it is a cache.
                let noted = note.and_then(|text| serde_json::from_str(text).ok());
                transaction_time(tx.head.ts, noted.as_ref(), &clock.read())
            }
            None => {
                let clock = rows::time(row, 0)?;
                let now = clock.max(tx.head.ts);
                // While the server was down nobody could be heard.
                (Moment { now, woke_at: Some(rows::time(row, 1)?.min(now)), clock }, None)
            }
        };
        Ok(tx)
    }

    fn loader(&self) -> Loader<'_> {
        Loader { link: &self.link, now: self.now.0.now, cache: self.cache }
    }

    /// From here on this transaction reads what it wrote, which may never be committed.
    fn forget_cache(&mut self) {
        self.first_due = Timestamp::from_ms(i64::MIN);
        if let Some(cache) = self.cache.take() {
            cache.borrow_mut().forget();
        }
    }

    fn ok<T>(&self, context: &str, found: Result<T, DbError>) -> Result<T, StoreError> {
        found.map_err(|error| {
            self.lost.set(self.lost.get() || error.is_lost());
            error.into_store_or_lost(context, self.home.lock_wait)
        })
    }

    fn read<T>(&self, found: Result<T, DbError>) -> Result<T, StoreError> {
        self.ok("cannot read the store", found)
    }

    /// Writes before the commit, for a rebuild.
    fn run(
        &self,
        list: impl FnOnce(&mut Writer<'_>) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        let cache = CommitCache::default();
        let mut writer = Writer::new(&self.link, &cache, self.commits + 1);
        list(&mut writer)?;
        let (ops, _) = writer.finish();
        self.link.together(None, &ops, None).map(drop)
    }
}

impl Tx<'_> {
    /// Sends the last statements and commits. Returns what they returned, or nothing when that was lost and the commit
    /// was not. It returns only after a commit that the synchronous standbys, where there are any, have confirmed.
    fn send(&mut self, ops: &[Op], events: &[Stored]) -> Result<Option<Vec<Vec<Row>>>, StoreError> {
        let deadline = Instant::now() + self.home.confirm_wait;
        let sent = self.link.commit(ops, self.home.confirm_wait);
        let lost = sent.as_ref().is_err_and(DbError::is_lost);
        self.open = sent.is_err() && !lost;
        // A cancellation may still be on its way to a connection that has warned.
        self.link.set_in_transaction(sent.as_ref().map_or(true, |committed| committed.warned));
        if lost && self.home.was_committed(events, deadline, &self.link)? {
            return Ok(None);
        }
        let committed = self.ok("cannot write the store", sent)?;
        if committed.warned {
            self.home.confirm(deadline)?;
        }
        Ok(Some(committed.rows))
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if self.open && !self.link.is_closed() {
            roll_back(&self.link);
        }
    }
}

impl ReadTx for Tx<'_> {
    questions!(link);

    fn moment(&mut self) -> Result<Moment, StoreError> {
        Ok(self.now.0)
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        Ok(self.head)
    }

    fn load(&mut self, needs: &[Need], facts: &mut Facts) -> Result<(), StoreError> {
        let needs: Vec<&Need> = needs.iter().filter(|need| !facts.has_answer(need)).collect();
        self.read(self.loader().load(&needs, facts))
    }

    fn due(&mut self, now: Timestamp, limit: usize) -> Result<Vec<Key>, StoreError> {
        if now < self.first_due {
            return Ok(Vec::new());
        }
        self.read(query::due(&self.link, now, limit))
    }

    fn agents(
        &mut self,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<(Agent, Presence)>, StoreError> {
        self.read(query::agents(&self.loader(), after, limit))
    }

    fn saved(
        &mut self,
        after: Option<&(AgentId, String)>,
        limit: usize,
    ) -> Result<Vec<(AgentId, String, Saved)>, StoreError> {
        self.read(query::saved(&self.link, self.now.0.now, after, limit))
    }

    fn is_lost(&self) -> bool {
        self.lost.get()
    }
}

impl WriteTx for Tx<'_> {
    fn commit(mut self: Box<Self>, changes: Changes<'_>) -> Result<(), StoreError> {
        check_append(&self.head, changes.events)?;
        // Put back only after the commit: when it fails, nothing is known.
        let mut cache = self.cache.map(RefCell::take).unwrap_or_default();
        let mut writer = Writer::new(&self.link, &cache, self.commits + 1);
        let listed = writer.changes(&changes, self.now.0.now, self.now.1.as_ref());
        writer.end(&changes, &self.home.names.channel);
        let (ops, rows) = writer.finish();
        self.ok("cannot write the store", listed)?;
        let Some(found) = self.send(&ops, changes.events)? else { return Ok(()) };
        if let Some(kept) = self.cache {
            let counted = found.last().and_then(|rows| rows.first()).map(|row| row.try_get(0));
            if let Some(Ok(version)) = counted {
                cache.follow(&changes, rows);
                cache.commit_is(version);
                kept.replace(cache);
            }
        }
        Ok(())
    }

    fn confirm(mut self: Box<Self>) -> Result<(), StoreError> {
        if !self.replicated {
            return Ok(());
        }
        self.send(&[Op::new(sql::MARK, values![])], &[]).map(drop)
    }

    fn is_replicated(&self) -> bool {
        self.replicated
    }

    fn clear_projections(&mut self) -> Result<(), StoreError> {
        self.forget_cache();
        self.ok("cannot write the store", self.link.batch(sql::CLEAR))
    }

    fn write_rows(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        self.forget_cache();
        let done = self.run(|writer| writer.rows(rows));
        self.ok("cannot write the store", done)
    }
}
