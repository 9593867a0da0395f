//! A transaction: one snapshot to read, and for a writer the lock and the way to commit.

use super::error::{DbError, Place};
use super::kept_head::{Kept, KeptHead};
use super::load::Loader;
use super::lock::Held;
use super::task_row::TaskRow;
use super::watch::Waker;
use super::{integrity, kept_head, memories, posts, query, runs, sql, write};
use crate::clock::Clock;
use crate::commit_cache::CommitCache;
use crate::error::Gone;
use crate::questions::questions;
use crate::transaction_time::{ClockNote, transaction_time};
use crate::{Changes, EventQuery, ReadTx, Rows, StoreError, WriteTx, check_append};
use comity_core::agent::Agent;
use comity_core::chain::{Head, Stored};
use comity_core::facts::{Facts, Moment, Need, Presence, Saved};
use comity_core::ids::{AgentId, RepoName, Seq};
use comity_core::state::Key;
use comity_core::time::Timestamp;
use rusqlite::{Connection, params};
use std::cell::RefCell;

pub(super) struct Writing<'a> {
    /// Held until the end, so that the next writer starts when this transaction is done.
    pub(super) _lock: Held<'a>,
    pub(super) waker: &'a mut Waker,
    pub(super) kept: &'a mut KeptHead,
    pub(super) cache: &'a RefCell<CommitCache<TaskRow>>,
}

/// A transaction. It is rolled back when it is dropped.
pub(super) struct Tx<'a> {
    conn: &'a Connection,
    place: &'a Place,
    head: Head,
    now: (Moment, Option<ClockNote>),
    writing: Option<Writing<'a>>,
    /// Rows known without a query. Only a writer has a cache: for a reader, another connection may have committed.
    cache: Option<&'a RefCell<CommitCache<TaskRow>>>,
}

impl<'a> Tx<'a> {
    pub(super) fn begin(
        conn: &'a Connection,
        place: &'a Place,
        clock: &dyn Clock,
        writing: Option<Writing<'a>>,
    ) -> Result<Tx<'a>, StoreError> {
        let begin = if writing.is_some() { "BEGIN IMMEDIATE" } else { "BEGIN" };
        let now = (Moment::default(), None);
        let cache = writing.as_ref().map(|writing| writing.cache);
        let mut tx = Tx { conn, place, head: Head::default(), now, writing, cache };
        tx.start(begin, clock).map_err(|error| place.error("cannot begin", error))?;
        Ok(tx)
    }

    /// Reads the head at once: SQLite takes its snapshot with the first query.
    fn start(&mut self, begin: &str, clock: &dyn Clock) -> Result<(), DbError> {
        write::run(self.conn, begin, [])?;
        self.head = query::head(self.conn)?;
        if let Some(writing) = &mut self.writing {
            writing.kept.check(&self.head)?;
        }
        let mut statement = self.conn.prepare_cached(sql::META)?;
        let mut found = statement.query(params![write::CLOCK, write::CLOSED])?;
        let mut note: Option<String> = None;
        while let Some(row) = found.next()? {
            match row.get_ref(0)?.as_str() {
                Ok(write::CLOSED) if self.writing.is_some() => {
                    return Err(StoreError::Closed(row.get(1)?).into());
                }
                Ok(write::CLOCK) => note = row.get(1)?,
                _ => {}
            }
        }
        // A note that does not decode is like none: it is a cache.
        let noted = note.and_then(|text| serde_json::from_str(&text).ok());
        self.now = transaction_time(self.head.ts, noted.as_ref(), &clock.read());
        if let Some(cache) = self.cache {
            cache.borrow_mut().check(query::data_version(self.conn)?);
        }
        Ok(())
    }

    fn loader(&self) -> Loader<'a> {
        Loader { conn: self.conn, now: self.now.0.now, cache: self.cache }
    }

    /// From here on this transaction reads what it wrote, which may never be committed.
    fn forget_cache(&mut self) {
        if let Some(cache) = self.cache.take() {
            cache.borrow_mut().forget();
        }
    }

    fn read<T>(&self, found: Result<T, DbError>) -> Result<T, StoreError> {
        found.map_err(|error| self.place.error("cannot read the store", error))
    }

    fn write<T>(&self, written: Result<T, DbError>) -> Result<T, StoreError> {
        written.map_err(|error| self.place.error("cannot write the store", error))
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if !self.conn.is_autocommit() {
            // SQLite rolls back by itself when even this fails, at the latest when the file is
            // closed.
            let _ = write::run(self.conn, "ROLLBACK", []);
        }
    }
}

impl Tx<'_> {
    /// Says whether the event that was once the last one is another one now.
    fn replaced(&mut self, kept: Option<Kept>) -> Result<Option<Gone>, StoreError> {
        let Some(kept) = kept.filter(|kept| kept.seq.0 > 0) else { return Ok(None) };
        let query = EventQuery { after: Seq(kept.seq.0 - 1), limit: 1, ..EventQuery::default() };
        let found = self.events(&query)?;
        let same = found.first().is_some_and(|event| event.hash == kept.hash);
        Ok((!same).then_some(Gone { first: kept.seq, last: kept.seq, hash: kept.hash }))
    }
}

impl ReadTx for Tx<'_> {
    questions!(conn);

    fn moment(&mut self) -> Result<Moment, StoreError> {
        Ok(self.now.0)
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        Ok(self.head)
    }

    fn load(&mut self, needs: &[Need], facts: &mut Facts) -> Result<(), StoreError> {
        let loader = self.loader();
        for need in needs {
            if !facts.has_answer(need) {
                self.read(loader.load(need, facts))?;
            }
        }
        Ok(())
    }

    fn due(&mut self, now: Timestamp, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.read(query::due(self.conn, now, limit))
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
        self.read(query::saved(self.conn, self.now.0.now, after, limit))
    }

    fn gone(&mut self) -> Result<Option<Gone>, StoreError> {
        let kept = kept_head::read(&self.place.path);
        match kept_head::gone(kept, &self.head) {
            // The head may have moved on since this snapshot was taken; another look tells.
            Some(_) => super::gone(&self.place.path),
            None => self.replaced(kept),
        }
    }
}

impl WriteTx for Tx<'_> {
    fn commit(mut self: Box<Self>, changes: Changes<'_>) -> Result<(), StoreError> {
        check_append(&self.head, changes.events)?;
        let (moment, note) = &self.now;
        // Put back only after the commit: when it fails, nothing is known.
        let mut cache = self.cache.map(RefCell::take).unwrap_or_default();
        let rows = write::changes(self.conn, &changes, &cache, moment.now, note.as_ref());
        let rows = self.write(rows)?;
        self.write(write::run(self.conn, "COMMIT", []))?;
        if let Some(kept) = self.cache {
            cache.follow(&changes, rows);
            kept.replace(cache);
        }
        if let Some(writing) = &mut self.writing {
            if let Some(last) = changes.events.last() {
                writing.kept.follow(&last.head());
            }
            writing.waker.wake();
        }
        Ok(())
    }

    fn clear_projections(&mut self) -> Result<(), StoreError> {
        self.forget_cache();
        self.write(write::clear_projections(self.conn))
    }

    fn write_rows(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        self.forget_cache();
        self.write(write::rows(self.conn, rows, &CommitCache::default()).map(drop))
    }
}
