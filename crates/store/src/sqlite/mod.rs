//! The store on SQLite: one file, many processes, write-ahead log, `synchronous=FULL`.

mod backup;
mod columns;
mod error;
mod integrity;
mod kept_head;
mod load;
mod lock;
mod memories;
mod netfs;
mod posts;
mod query;
mod runs;
mod schema;
mod sql;
mod task_row;
#[cfg(test)]
mod tests;
mod tx;
mod watch;
mod write;

use crate::clock::{Clock, SystemClock};
use crate::commit_cache::CommitCache;
use crate::error::Gone;
use crate::{ReadTx, Reader, Store, StoreError, Watch, WriteTx};
use comity_core::chain::Head;
use comity_core::facts::Facts;
use error::Place;
use kept_head::KeptHead;
use lock::WriteLock;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use task_row::TaskRow;
use tx::{Tx, Writing};
use watch::{SqliteWatch, Waker};

/// Only the owner reads and writes the store.
const FILE_MODE: u32 = 0o600;
/// How long SQLite itself waits for a lock. Only foreign programs hold one for long.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// The default of `OpenOptions::lock_wait`.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// When the write-ahead log is longer than this, a process that ends truncates it. The tables of a new store alone take up
/// half of it.
const WAL_BYTES_MAX: u64 = 1 << 19;
/// More than there are statements, so that no statement is compiled twice.
const STATEMENTS_KEPT: usize = 128;

/// What every connection is told. The log beside the database is kept short, since the first
/// process to open the store reads it whole.
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; \
    PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; \
    PRAGMA journal_size_limit = 16777216; PRAGMA wal_autocheckpoint = 250;";

#[derive(Clone)]
pub struct OpenOptions {
    pub clock: Arc<dyn Clock>,
    pub lock_wait: Duration,
    /// Whether to create a store that does not exist.
    pub create: bool,
    /// Whether to go on although events are gone. Only a person decides that.
    pub accepts_loss: bool,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            clock: Arc::new(SystemClock),
            lock_wait: LOCK_WAIT,
            create: true,
            accepts_loss: false,
        }
    }
}

pub struct SqliteStore {
    conn: Connection,
    place: Place,
    clock: Arc<dyn Clock>,
    lock_wait: Duration,
    /// Opened with the first write, so that a store can be read where nothing can be written.
    lock: Option<WriteLock>,
    waker: Waker,
    kept: KeptHead,
    cache: RefCell<CommitCache<TaskRow>>,
}

fn beside(db: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(db);
    name.push(suffix);
    PathBuf::from(name)
}

impl SqliteStore {
    /// Opens a store. Creates or upgrades it first if needed.
    pub fn open(path: &Path, options: OpenOptions) -> Result<SqliteStore, StoreError> {
        netfs::refuse(path)?;
        let place = Place { path: path.to_owned(), busy_wait: BUSY_WAIT };
        if !path.exists() {
            refuse_loss(path, &Head::default(), options.accepts_loss)?;
            create(&place, options.create)?;
        }
        let conn = connect(&place)?;
        let mut store = SqliteStore {
            conn,
            waker: Waker::new(path),
            kept: KeptHead::new(path, options.accepts_loss),
            place,
            clock: options.clock,
            lock_wait: options.lock_wait,
            lock: None,
            cache: RefCell::default(),
        };
        store.settle_schema()?;
        Ok(store)
    }

    fn settle_schema(&mut self) -> Result<(), StoreError> {
        let error = |place: &Place, error| place.error("cannot open the store", error);
        let found = schema::version(&self.conn).map_err(|e| error(&self.place, e))?;
        schema::refuse_newer(found)?;
        if found == schema::KNOWN {
            return Ok(());
        }
        if found == 0 {
            // An empty file, where there was a log.
            refuse_loss(&self.place.path, &Head::default(), self.kept.accepts_loss())?;
        }
        let now_ms = self.clock.read().wall_ms;
        self.open_lock()?;
        let Some(lock) = &self.lock else { return Ok(()) };
        let _held = lock.take(&self.place)?;
        schema::migrate(&self.conn, now_ms).map_err(|e| error(&self.place, e))
    }

    fn open_lock(&mut self) -> Result<(), StoreError> {
        if self.lock.is_none() {
            let lock = WriteLock::open(&self.place.path, self.lock_wait)
                .map_err(|error| self.place.io_error("cannot open the lock file", error))?;
            self.lock = Some(lock);
        }
        Ok(())
    }
}

/// Refuses a store whose log ends so, and whose events are gone therefore.
fn refuse_loss(path: &Path, end: &Head, accepted: bool) -> Result<(), StoreError> {
    match kept_head::gone(kept_head::read(path), end) {
        Some(gone) if !accepted => Err(StoreError::Gone(gone)),
        _ => Ok(()),
    }
}

/// Says which events of the store in a file are gone from the end of its log. Looks without opening the store as one: the file
/// may be missing or empty.
pub fn gone(path: &Path) -> Result<Option<Gone>, StoreError> {
    // Read before the log: what is committed in between makes the log longer, never shorter.
    let Some(kept) = kept_head::read(path) else { return Ok(None) };
    let place = Place { path: path.to_owned(), busy_wait: BUSY_WAIT };
    let end = || {
        let conn = connect(&place)?;
        let found = schema::version(&conn).and_then(|version| {
            if version == 0 { Ok(Head::default()) } else { query::head(&conn) }
        });
        found.map_err(|error| place.error("cannot read the store", error))
    };
    let end = if path.exists() { end()? } else { Head::default() };
    Ok(kept_head::gone(Some(kept), &end))
}

/// Tells whether there is, or was, a log in this file.
pub fn has_head(path: &Path) -> bool {
    kept_head::read(path).is_some()
}

/// Moves the files of a store aside, so that a new log can begin in their place. Returns where the database is now.
pub fn set_aside(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    for end in ["", "-wal", "-shm", ".head"] {
        let (from, to) = (beside(path, end), beside(&beside(path, suffix), end));
        match std::fs::rename(from, to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(beside(path, suffix))
}

/// Creates the file before SQLite does, which would make it readable for all.
fn create(place: &Place, wanted: bool) -> Result<(), StoreError> {
    if !wanted {
        let text = format!("there is no store at {}", place.path.display());
        let error = io::Error::new(io::ErrorKind::NotFound, text);
        return Err(StoreError::other("cannot open the store", error));
    }
    let make = || {
        if let Some(dir) = place.path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            std::fs::create_dir_all(dir)?;
        }
        let mut options = std::fs::File::options();
        options.write(true).create(true).truncate(false).mode(FILE_MODE).open(&place.path)
    };
    make().map(drop).map_err(|error| place.io_error("cannot create the store", error))
}

fn connect(place: &Place) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connect = || {
        let conn = Connection::open_with_flags(&place.path, flags)?;
        conn.busy_timeout(place.busy_wait)?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        conn.execute_batch(SETTINGS)?;
        // A process that does one command would otherwise pay three more syncs when it ends.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Plans must not depend on what is bound: otherwise each binding compiles a statement again.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok::<_, rusqlite::Error>(conn)
    };
    connect().map_err(|error| place.error("cannot open the store", error))
}

impl Drop for SqliteStore {
    /// Truncates the write-ahead log when it has grown and nobody else is at work.
    ///
    /// SQLite leaves that to the next write of the same process, and a process that does one thing has
    /// none: the log would grow for ever, and each process reads it whole. A failure is not reported:
    /// what was committed is safe in the log.
    fn drop(&mut self) {
        let Some(lock) = &self.lock else { return };
        let log = beside(&self.place.path, "-wal");
        if std::fs::metadata(log).is_ok_and(|found| found.len() > WAL_BYTES_MAX)
            && let Some(_held) = lock.try_take()
        {
            // Readers are not waited for; the next process tries again.
            let _ = self.conn.busy_timeout(Duration::ZERO);
            let _ = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }
}

impl Reader for SqliteStore {
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError> {
        Ok(Box::new(Tx::begin(&self.conn, &self.place, &*self.clock, None)?))
    }
}

/// Another connection to the file of a store that is open.
struct SqliteReader {
    conn: Connection,
    place: Place,
    clock: Arc<dyn Clock>,
}

impl Reader for SqliteReader {
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError> {
        Ok(Box::new(Tx::begin(&self.conn, &self.place, &*self.clock, None)?))
    }

    fn version(&mut self) -> Result<Option<i64>, StoreError> {
        let version = query::data_version(&self.conn);
        version.map(Some).map_err(|error| self.place.error("cannot read the store", error))
    }
}

impl Store for SqliteStore {
    fn write(&mut self) -> Result<Box<dyn WriteTx + '_>, StoreError> {
        // SQLite opens a write-protected file all the same and begins to write in it without a word.
        if self.conn.is_readonly(MAIN_DB).unwrap_or(false) {
            return Err(StoreError::ReadOnly(self.place.path.display().to_string()));
        }
        self.open_lock()?;
        let Some(lock) = &self.lock else {
            return Err(StoreError::Busy(self.lock_wait));
        };
        let lock = lock.take(&self.place)?;
        let (waker, kept) = (&mut self.waker, &mut self.kept);
        let writing = Writing { _lock: lock, waker, kept, cache: &self.cache };
        Ok(Box::new(Tx::begin(&self.conn, &self.place, &*self.clock, Some(writing))?))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let conn = connect(&self.place)?;
        conn.execute_batch("PRAGMA query_only = ON")
            .map_err(|error| self.place.error("cannot open the store", error))?;
        let (place, clock) = (self.place.clone(), self.clock.clone());
        Ok(Box::new(SqliteReader { conn, place, clock }))
    }

    fn keep(&mut self, facts: Facts) {
        self.cache.get_mut().keep(facts);
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreError> {
        Ok(Box::new(SqliteWatch::new(connect(&self.place)?, self.place.clone())?))
    }

    fn close(&mut self, reason: Option<&str>) -> Result<(), StoreError> {
        self.open_lock()?;
        let Some(lock) = &self.lock else { return Err(StoreError::Busy(self.lock_wait)) };
        let _held = lock.take(&self.place)?;
        let written = match reason {
            Some(text) => {
                write::run(&self.conn, sql::SET_META, rusqlite::params![write::CLOSED, text])
            }
            None => write::run(&self.conn, sql::DELETE_META, rusqlite::params![write::CLOSED]),
        };
        written.map_err(|error| self.place.error("cannot write the store", error))
    }

    fn backup(&mut self, to: &Path) -> Result<bool, StoreError> {
        let written = backup::write(&self.conn, to);
        written.map(|()| true).map_err(|error| self.place.error("cannot copy the store", error))
    }

    fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        let mut found = integrity::check(&self.conn)
            .map_err(|e| self.place.error("cannot check the store", e))?;
        if found.is_empty() {
            found.extend(gone(&self.place.path)?.map(|gone| gone.to_string()));
        }
        Ok(found)
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.place.path.display())
    }
}
