//! The model: core's state in maps, found by looking at everything. It is the executable
//! specification that the databases are tested against, so it must stay too simple to be wrong.

mod copied;
mod data;
mod tx;

use crate::clock::{Clock, ManualClock, Reading};
use crate::{ReadTx, Reader, Store, StoreError, Watch, WriteTx};
use comity_core::chain::Stored;
use comity_core::state::State;
use comity_core::time::Timestamp;
use data::Data;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tx::Tx;

/// How long one writer waits for another.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// A store in memory. Clones see the same data.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
}

struct Shared {
    data: Mutex<Arc<Data>>,
    committed: Condvar,
    writing: Mutex<bool>,
    freed: Condvar,
}

impl Shared {
    /// Nothing that holds the mutex can leave the data half changed, so poison means nothing here.
    fn data(&self) -> MutexGuard<'_, Arc<Data>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> MutexGuard<'_, bool> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Proves that no other writer is active.
struct Turn<'a>(&'a Shared);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.writing() = false;
        self.0.freed.notify_one();
    }
}

impl MemoryStore {
    pub fn new(clock: Arc<dyn Clock>) -> MemoryStore {
        MemoryStore::with(Data::default(), clock)
    }

    /// Copies everything that a transaction of another store sees, but only the last event of the log, which the
    /// next one follows. The time stands still at that of the transaction.
    pub fn copy_of(tx: &mut dyn ReadTx) -> Result<MemoryStore, StoreError> {
        let (data, clock) = copied::all(tx)?;
        Ok(MemoryStore::with(data, clock))
    }

    /// Makes the store that a log and the state after it describe, at that time. Everybody who holds something is alive, and
    /// nothing is due: signs of life are not in the log.
    pub fn of_log(events: Vec<Stored>, state: State, now: Timestamp) -> MemoryStore {
        let reading = Reading { wall_ms: now.ms(), ..Reading::default() };
        let claims = state.tasks.values().filter_map(|task| task.claim.as_ref());
        let holders = claims.map(|claim| &claim.agent);
        let holders = holders.chain(state.leases.values().map(|lease| &lease.owner));
        let presence = holders.map(|agent| ((agent.clone(), None), now)).collect();
        let data = Data { state, events, presence, ..Data::default() };
        MemoryStore::with(data, ManualClock::at(reading))
    }

    fn with(data: Data, clock: Arc<dyn Clock>) -> MemoryStore {
        let shared = Shared {
            data: Mutex::new(Arc::new(data)),
            committed: Condvar::new(),
            writing: Mutex::new(false),
            freed: Condvar::new(),
        };
        MemoryStore { shared: Arc::new(shared), clock }
    }

    fn take_turn(&self) -> Result<Turn<'_>, StoreError> {
        let (mut writing, wait) = self
            .shared
            .freed
            .wait_timeout_while(self.shared.writing(), LOCK_WAIT, |writing| *writing)
            .unwrap_or_else(PoisonError::into_inner);
        if wait.timed_out() {
            return Err(StoreError::Busy(LOCK_WAIT));
        }
        *writing = true;
        drop(writing);
        Ok(Turn(&self.shared))
    }
}

impl Reader for MemoryStore {
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError> {
        Ok(Box::new(Tx::new(Arc::clone(&self.shared.data()), &*self.clock, None)))
    }
}

impl Store for MemoryStore {
    fn write(&mut self) -> Result<Box<dyn WriteTx + '_>, StoreError> {
        let turn = self.take_turn()?;
        if let Some(reason) = &self.shared.data().closed {
            return Err(StoreError::Closed(reason.clone()));
        }
        Ok(Box::new(Tx::new(Arc::clone(&self.shared.data()), &*self.clock, Some(turn))))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(self.clone()))
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreError> {
        let seen = self.shared.data().commits;
        Ok(Box::new(MemoryWatch {
            shared: Arc::clone(&self.shared),
            seen,
            stopped: Arc::default(),
        }))
    }

    fn close(&mut self, reason: Option<&str>) -> Result<(), StoreError> {
        let _turn = self.take_turn()?;
        Arc::make_mut(&mut self.shared.data()).closed = reason.map(str::to_owned);
        Ok(())
    }

    fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        let data = self.shared.data();
        let missing = data.head().seq.0 - data.events.len() as u64;
        let problem = format!("{missing} events are missing from the log");
        Ok(if missing == 0 { Vec::new() } else { vec![problem] })
    }

    fn url(&self) -> String {
        "memory:".to_owned()
    }
}

struct MemoryWatch {
    shared: Arc<Shared>,
    seen: u64,
    stopped: Arc<AtomicBool>,
}

impl Watch for MemoryWatch {
    fn wait(&mut self, timeout: Duration) -> Result<bool, StoreError> {
        let (seen, stopped) = (self.seen, &self.stopped);
        let (data, _) = self
            .shared
            .committed
            .wait_timeout_while(self.shared.data(), timeout, |data| {
                data.commits == seen && !stopped.load(Ordering::SeqCst)
            })
            .unwrap_or_else(PoisonError::into_inner);
        if stopped.load(Ordering::SeqCst) {
            return Ok(false);
        }
        self.seen = data.commits;
        Ok(self.seen != seen)
    }

    fn stopper(&self) -> Box<dyn Fn() + Send + Sync> {
        let (shared, stopped) = (Arc::clone(&self.shared), Arc::clone(&self.stopped));
        Box::new(move || {
            // With the mutex held, a wait has either not looked at the flag yet or sleeps already.
            let _data = shared.data();
            stopped.store(true, Ordering::SeqCst);
            shared.committed.notify_all();
        })
    }
}
