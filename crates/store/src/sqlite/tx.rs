//! A transaction: one snapshot to read, and for a writer the lock and the way to commit.

use super::error::{DbError, Place};
use super::load::Loader;
use super::lock::Held;
use super::watch::Waker;
use super::{query, sql, write};
use crate::clock::Clock;
use crate::moment::{Noted, moment};
use crate::{
    Changes, DecisionQuery, EventQuery, LeaseQuery, ReadTx, Rows, StoreError, TaskQuery, WriteTx,
    check_append,
};
use comity_core::agent::Agent;
use comity_core::chain::{Head, Stored};
use comity_core::decision::Decision;
use comity_core::facts::{Entity, Facts, Moment, Need, Presence};
use comity_core::ids::{AgentId, RepoName, TaskId};
use comity_core::lease::Lease;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;

/// What makes a transaction one that writes.
pub(super) struct Writing<'a> {
    /// Held until the end, so that the next writer starts when this one is done.
    pub(super) _lock: Held<'a>,
    pub(super) waker: &'a mut Waker,
}

/// A transaction. Dropped, it is rolled back.
pub(super) struct Tx<'a> {
    conn: &'a Connection,
    place: &'a Place,
    head: Head,
    now: (Moment, Option<Noted>),
    writing: Option<Writing<'a>>,
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
        let mut tx = Tx { conn, place, head: Head::default(), now, writing };
        tx.start(begin, clock).map_err(|error| place.error("cannot begin", error))?;
        Ok(tx)
    }

    /// Looks at the head at once: SQLite takes its snapshot with the first look.
    fn start(&mut self, begin: &str, clock: &dyn Clock) -> Result<(), DbError> {
        write::run(self.conn, begin, [])?;
        self.head = query::head(self.conn)?;
        let mut statement = self.conn.prepare_cached(sql::META)?;
        let note: Option<String> =
            statement.query_row(params![write::CLOCK], |row| row.get(0)).optional()?;
        // A note that does not decode is like none: it is a cache.
        let noted = note.and_then(|text| serde_json::from_str(&text).ok());
        self.now = moment(self.head.ts, noted.as_ref(), &clock.read());
        Ok(())
    }

    fn loader(&self) -> Loader<'a> {
        Loader { conn: self.conn, now: self.now.0.now }
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

impl ReadTx for Tx<'_> {
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

    fn tasks(&mut self, query: &TaskQuery) -> Result<Vec<Task>, StoreError> {
        self.read(query::tasks(self.conn, query))
    }

    fn leases(&mut self, query: &LeaseQuery) -> Result<Vec<Lease>, StoreError> {
        self.read(query::leases(self.conn, query))
    }

    fn decisions(&mut self, query: &DecisionQuery) -> Result<Vec<Decision>, StoreError> {
        self.read(query::decisions(self.conn, query))
    }

    fn agents(
        &mut self,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<(Agent, Presence)>, StoreError> {
        self.read(query::agents(&self.loader(), after, limit))
    }

    fn held_by(
        &mut self,
        agent: &AgentId,
        limit: usize,
    ) -> Result<Vec<(RepoName, TaskId)>, StoreError> {
        self.read(query::held_by(self.conn, agent, limit))
    }

    fn events(&mut self, query: &EventQuery) -> Result<Vec<Stored>, StoreError> {
        self.read(query::events(self.conn, query))
    }

    fn status_counts(&mut self, repo: &RepoName) -> Result<BTreeMap<Status, u64>, StoreError> {
        self.read(query::status_counts(self.conn, repo))
    }

    fn entities(
        &mut self,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entity)>, StoreError> {
        self.read(query::entities(self.conn, after, limit))
    }
}

impl WriteTx for Tx<'_> {
    fn commit(mut self: Box<Self>, changes: Changes<'_>) -> Result<(), StoreError> {
        check_append(&self.head, changes.events)?;
        let (moment, note) = &self.now;
        let done = write::changes(self.conn, &changes, moment.now, note.as_ref())
            .and_then(|()| write::run(self.conn, "COMMIT", []));
        self.write(done)?;
        if let Some(writing) = &mut self.writing {
            writing.waker.wake();
        }
        Ok(())
    }

    fn clear_projections(&mut self) -> Result<(), StoreError> {
        self.write(write::clear_projections(self.conn))
    }

    fn write_rows(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        self.write(write::rows(self.conn, rows))
    }
}
