//! The store on PostgreSQL: one database, any number of hosts, one lock that puts writers in line.

mod columns;
mod condition;
mod confirm;
mod error;
mod integrity;
mod link;
mod load;
mod memories;
mod pool;
mod posts;
mod query;
mod runs;
mod schema;
mod sql;
#[cfg(test)]
mod tests;
mod tls;
mod tx;
mod url;
mod watch;
mod write;

use crate::clock::Clock;
use crate::commit_cache::{self, CommitCache};
use crate::{Known, ReadTx, Reader, Store, StoreError, Watch, WriteTx};
use comity_core::facts::Facts;
use comity_core::ids::TaskId;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use error::DbError;
use link::{Link, Op, values};
use pool::{Lent, Pool};
use schema::Names;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;
use tx::Tx;
use watch::PgWatch;

pub use condition::{Condition, Standby};
pub use url::{no_weaker_tls, without_password};

/// The default of `OpenOptions::lock_wait`.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// The default of `OpenOptions::connect_wait`.
const CONNECT_WAIT: Duration = Duration::from_secs(15);
/// Longest time to try the first connection: its URL may be wrong.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// The default of `OpenOptions::confirm_wait`.
const CONFIRM_WAIT: Duration = Duration::from_secs(30);
/// How often opening is tried where the connection is made and then breaks.
const OPEN_TRIES: usize = 5;

/// The default of `OpenOptions::connections`.
const CONNECTIONS: usize = 8;

#[derive(Clone)]
pub struct OpenOptions {
    /// Where the time comes from; without one, from the database, as it must where hosts are many.
    pub clock: Option<Arc<dyn Clock>>,
    pub lock_wait: Duration,
    /// How long to try to open a connection.
    pub connect_wait: Duration,
    /// How long a commit waits for a synchronous standby.
    pub confirm_wait: Duration,
    /// Most connections that a store and its clones have open for transactions at a time.
    pub connections: usize,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            clock: None,
            lock_wait: LOCK_WAIT,
            connect_wait: CONNECT_WAIT,
            confirm_wait: CONFIRM_WAIT,
            connections: CONNECTIONS,
        }
    }
}

/// What all connections to one store have in common.
#[derive(Clone)]
struct Home {
    config: tokio_postgres::Config,
    names: Names,
    clock: Option<Arc<dyn Clock>>,
    lock_wait: Duration,
    connect_wait: Duration,
    confirm_wait: Duration,
}

/// The parts of a task that have rows in other tables, kept to see which of them changed.
struct TaskEdges {
    done: bool,
    dependencies: Vec<TaskId>,
    labels: Vec<String>,
}

type TaskRows = BTreeMap<Key, TaskEdges>;

impl TaskEdges {
    fn of(task: &Task) -> TaskEdges {
        TaskEdges {
            done: task.status == Status::Done,
            dependencies: task.dependencies.clone(),
            labels: task.labels.clone(),
        }
    }
}

impl commit_cache::TaskRow for TaskEdges {
    fn set_due(&mut self, _due_at: Option<i64>) {}
}

/// A store in a PostgreSQL database. A clone is for another thread: it shares the connections, and a
/// connection is in use only while a transaction is open.
pub struct PgStore {
    home: Home,
    shown: String,
    pool: Arc<Pool>,
    cache: RefCell<CommitCache<TaskEdges>>,
}

impl PgStore {
    /// Opens a store, making or upgrading it first where that is needed. `var` reads the environment.
    pub fn open(
        url: &str,
        options: OpenOptions,
        var: &dyn Fn(&str) -> Option<String>,
    ) -> Result<PgStore, StoreError> {
        let config = url::read(url, var)?;
        let OpenOptions { clock, lock_wait, connect_wait, confirm_wait, connections } = options;
        let pool = Pool::new(config.clone(), connections);
        let settle = |link: &Link| {
            let names = schema::names(link)?;
            schema::settle(link, &names, confirm_wait)?;
            Ok(names)
        };
        let mut tries = 0;
        let names = loop {
            let link = pool.lend(connect_wait.min(FIRST_WAIT));
            let settled: Result<Names, DbError> = link.and_then(|link| {
                tries += 1;
                settle(&link).inspect_err(|_| link.set_in_transaction(true))
            });
            match settled {
                // Whoever cannot even connect has tried often enough.
                Err(error) if error.is_lost() && (1..OPEN_TRIES).contains(&tries) => {}
                settled => break settled,
            }
        };
        let names = names.map_err(|error| error.into_store("cannot open the store", lock_wait))?;
        let home = Home { config, names, clock, lock_wait, connect_wait, confirm_wait };
        Ok(PgStore { home, shown: without_password(url), pool, cache: RefCell::default() })
    }

    /// Begins a transaction. The connection may have been lost since it was last used; nothing has been
    /// asked of it yet, so that it can be made again and the beginning too. Where even that breaks, the caller runs the
    /// transaction again.
    fn begin(
        &mut self,
        begin: fn(&Link, &Home) -> Result<Row, DbError>,
    ) -> Result<(Lent, Row), StoreError> {
        let home = &self.home;
        let mut link = self
            .pool
            .lend(home.connect_wait)
            .map_err(|error| error.into_store("cannot reach the store", home.lock_wait))?;
        let mut begun = begin(&link, home);
        if begun.as_ref().is_err_and(DbError::is_lost) {
            self.cache.get_mut().forget();
            link.renew(home.connect_wait)
                .map_err(|error| error.into_store("cannot reach the store", home.lock_wait))?;
            begun = begin(&link, home);
        }
        let row =
            begun.map_err(|error| error.into_store_or_lost("cannot begin", home.lock_wait))?;
        Ok((link, row))
    }
}

impl Clone for PgStore {
    fn clone(&self) -> PgStore {
        PgStore {
            home: self.home.clone(),
            shown: self.shown.clone(),
            pool: self.pool.clone(),
            // What is kept serves one writer at a time.
            cache: RefCell::default(),
        }
    }
}

impl Reader for PgStore {
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError> {
        let (link, begun) = self.begin(tx::begin_read)?;
        let home = &self.home;
        let tx = Tx::begun(link, home, None, &begun);
        Ok(Box::new(tx.map_err(|error| error.into_store("cannot begin", home.lock_wait))?))
    }
}

impl Store for PgStore {
    fn write(&mut self) -> Result<Box<dyn WriteTx + '_>, StoreError> {
        let (link, begun) = self.begin(tx::begin_write)?;
        let PgStore { home, cache, .. } = self;
        let tx = Tx::begun(link, home, Some(cache), &begun);
        Ok(Box::new(tx.map_err(|error| error.into_store("cannot begin", home.lock_wait))?))
    }

    /// Shares the pool, so that any number of readers has at most `OpenOptions::connections` open.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(self.clone()))
    }

    fn keep(&mut self, facts: Facts) {
        self.cache.get_mut().keep(facts);
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreError> {
        Ok(Box::new(PgWatch::new(self.home.clone())?))
    }

    fn close(&mut self, reason: Option<&str>) -> Result<(), StoreError> {
        // A connection that was lost is noticed, and made again, before anything is asked of it.
        drop(self.read()?);
        let key = "closed".to_owned();
        let change = match reason {
            Some(text) => Op::new(sql::SET_META, values![key, text.to_owned()]),
            None => Op::new(sql::DELETE_META, values![key]),
        };
        let lock = Op::new(sql::LOCK, values![self.home.names.lock]);
        let done = self.pool.lend(self.home.connect_wait).and_then(|link| {
            link.set_in_transaction(true);
            link.together(Some("BEGIN"), &[lock, change], None)?;
            let committed = link.commit(&[], self.home.confirm_wait)?;
            link.set_in_transaction(committed.warned);
            Ok(committed.warned)
        });
        match done {
            Ok(false) => Ok(()),
            Ok(true) => Err(self.home.unconfirmed(Known::OnPrimary)),
            Err(error) => Err(error.into_store("cannot write the store", self.home.lock_wait)),
        }
    }

    fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        // A connection that was lost is made again.
        drop(self.read()?);
        let checked =
            self.pool.lend(self.home.connect_wait).and_then(|link| integrity::check(&link));
        checked.map_err(|error| error.into_store("cannot read the store", self.home.lock_wait))
    }

    fn may_have_standbys(&self) -> bool {
        true
    }

    fn url(&self) -> String {
        self.shown.clone()
    }
}
