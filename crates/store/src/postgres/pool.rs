//! Connections that are kept and lent, one for each transaction that is open.
//!
//! Handles in any number of threads share a pool, so that a process with many readers holds as many
//! connections as transactions are open at once, and never more than the limit.

use super::error::DbError;
use super::link::Link;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_postgres::Config;

pub(super) struct Pool {
    config: Config,
    limit: usize,
    kept: Mutex<Connections>,
    returned: Condvar,
}

#[derive(Default)]
struct Connections {
    /// The one used last is lent first: its statements are prepared.
    idle: Vec<Arc<Link>>,
    /// Connections that are lent, or about to be opened.
    lent: usize,
}

impl Pool {
    /// Makes a pool of at most `limit` connections. None is opened yet.
    pub(super) fn new(config: Config, limit: usize) -> Arc<Pool> {
        let kept = Mutex::default();
        Arc::new(Pool { config, limit: limit.max(1), kept, returned: Condvar::new() })
    }

    fn kept(&self) -> MutexGuard<'_, Connections> {
        // Whoever panicked with it has left a list of connections and a number.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a connection. Opens one when none is idle, and waits while all are lent.
    pub(super) fn lend(self: &Arc<Pool>, wait: Duration) -> Result<Lent, DbError> {
        let start = Instant::now();
        let mut kept = self.kept();
        loop {
            if let Some(link) = kept.idle.pop() {
                kept.lent += 1;
                return Ok(Lent { link, slot: Slot(self.clone()) });
            }
            if kept.lent < self.limit {
                kept.lent += 1;
                break;
            }
            let left = wait.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(DbError::AllLent(self.limit));
            }
            kept = self.returned.wait_timeout(kept, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(kept);
        // The place is taken before the connection is made, and given back when that fails.
        let slot = Slot(self.clone());
        let link = Link::open(&self.config, wait.saturating_sub(start.elapsed()))?;
        Ok(Lent { link: Arc::new(link), slot })
    }

    /// Closes the idle connections: when one was lost, the others are likely lost too.
    pub(super) fn drain(&self) {
        let idle = std::mem::take(&mut self.kept().idle);
        drop(idle);
    }
}

/// A connection that returns to its pool when it is dropped.
pub(super) struct Lent {
    link: Arc<Link>,
    slot: Slot,
}

impl Lent {
    /// Opens a new connection in place of the lost one.
    pub(super) fn renew(&mut self, wait: Duration) -> Result<(), DbError> {
        let pool = &self.slot.0;
        pool.drain();
        self.link = Arc::new(Link::open(&pool.config, wait)?);
        Ok(())
    }
}

impl Deref for Lent {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.link.is_idle() {
            self.slot.0.kept().idle.push(self.link.clone());
        }
    }
}

/// The right to one connection of the pool. It is dropped after the connection.
struct Slot(Arc<Pool>);

impl Drop for Slot {
    fn drop(&mut self) {
        let mut kept = self.0.kept();
        kept.lent = kept.lent.saturating_sub(1);
        drop(kept);
        self.0.returned.notify_one();
    }
}
