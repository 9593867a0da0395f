//! The write lock between processes: a file lock around the transaction.
//!
//! SQLite's own waiting polls, and whoever polls at the right moment wins: one writer got 6,400
//! turns while another got one. The kernel wakes who waits for a file lock, but whoever has just
//! released it and comes back at once would still be faster than who was woken. So there are two
//! locks: one waits for the write lock only while holding the turn, and who comes back finds the
//! turn taken.
//!
//! A wait in the kernel cannot be given up, so it is done by a helper thread, at most one for each
//! store, with file handles of its own: when the lock comes too late, they are closed and it passes
//! on.

use super::error::Place;
use crate::{Holder, StoreError};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The lock beside a database, before it is taken.
pub(super) struct WriteLock {
    files: Files,
    db: PathBuf,
    wait: Duration,
    waiter: Arc<Waiter>,
}

struct Files {
    turn: File,
    lock: File,
}

impl Files {
    fn open(db: &Path) -> io::Result<Files> {
        let lock = open_beside(&super::beside(db, ".lock"))?;
        Ok(Files { turn: open_beside(&super::beside(db, ".turn"))?, lock })
    }

    /// Takes the write lock when nobody has it or waits for it.
    fn try_lock(&self) -> Result<bool, Errno> {
        if !try_flock(&self.turn)? {
            return Ok(false);
        }
        let locked = try_flock(&self.lock);
        flock(&self.turn, FlockOperation::Unlock)?;
        locked
    }

    /// Waits for the turn, then for the write lock.
    fn wait(self) -> io::Result<File> {
        let wait = |file: &File| retry_on_intr(|| flock(file, FlockOperation::LockExclusive));
        wait(&self.turn)?;
        wait(&self.lock)?;
        Ok(self.lock)
    }
}

fn try_flock(file: &File) -> Result<bool, Errno> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a line such as `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`: who holds the lock on a file. A line with an
/// arrow is of one who waits.
fn held_by(line: &str, file: u64) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, _, pid, place, ..] = words.as_slice() else { return None };
    let inode: u64 = place.rsplit(':').next()?.parse().ok()?;
    (inode == file).then(|| pid.parse().ok()).flatten().filter(|pid| *pid > 0)
}

#[derive(Default)]
struct Waiter {
    state: Mutex<WaitState>,
    changed: Condvar,
}

#[derive(Default)]
struct WaitState {
    wanted: bool,
    /// The helper thread waits in the kernel.
    running: bool,
    outcome: Option<io::Result<File>>,
}

impl Waiter {
    fn state(&self) -> MutexGuard<'_, WaitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) enum Held<'a> {
    /// Held by the store's own file handle.
    Own(&'a File),
    /// Held by the file handle that the helper thread waited with.
    Handed(#[expect(dead_code, reason = "closing it releases the lock")] File),
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Held::Own(file) = self {
            // It fails only for a handle that is no lock file; then there is nothing to release.
            let _ = flock(file, FlockOperation::Unlock);
        }
    }
}

/// Opens a small file beside the database, made when it is not there.
pub(super) fn open_beside(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(super::FILE_MODE);
    options.open(path)
}

impl WriteLock {
    pub(super) fn open(db: &Path, wait: Duration) -> io::Result<WriteLock> {
        let files = Files::open(db)?;
        Ok(WriteLock { files, db: db.to_owned(), wait, waiter: Arc::default() })
    }

    /// Takes the lock if nobody has it or waits for it.
    pub(super) fn try_take(&self) -> Option<Held<'_>> {
        self.files.try_lock().is_ok_and(|taken| taken).then(|| Held::Own(&self.files.lock))
    }

    /// Takes the lock, or gives up when the time is up.
    pub(super) fn take(&self, place: &Place) -> Result<Held<'_>, StoreError> {
        match self.files.try_lock() {
            Ok(true) => return Ok(Held::Own(&self.files.lock)),
            Ok(false) => {}
            Err(error) => return Err(place.io_error("cannot lock the store", error.into())),
        }
        let mut state = self.waiter.state();
        state.wanted = true;
        if !state.running {
            state.running = true;
            if let Err(error) = self.start_waiting() {
                state.running = false;
                return Err(place.io_error("cannot wait for the store", error));
            }
        }
        let (mut state, _) = self
            .waiter
            .changed
            .wait_timeout_while(state, self.wait, |state| state.outcome.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        state.wanted = false;
        match state.outcome.take() {
            Some(Ok(file)) => Ok(Held::Handed(file)),
            Some(Err(error)) => Err(place.io_error("cannot lock the store", error)),
            None => Err(self.holder().map_or(StoreError::Busy(self.wait), StoreError::Held)),
        }
    }

    /// Finds out who holds the lock. The system's list of locks names the file and the process; where there is none, or the
    /// process is in another container, nobody is named.
    fn holder(&self) -> Option<Holder> {
        use std::os::unix::fs::MetadataExt;
        let file = self.files.lock.metadata().ok()?.ino();
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        let pid = locks.lines().find_map(|line| held_by(line, file))?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in brackets and may hold anything.
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let stopped = rest.trim_start().starts_with(['T', 't']);
        Some(Holder { pid, name: name.to_owned(), stopped, waited: self.wait })
    }

    fn start_waiting(&self) -> io::Result<()> {
        let waiter = Arc::clone(&self.waiter);
        let db = self.db.clone();
        let wait = move || {
            let outcome = Files::open(&db).and_then(Files::wait);
            let mut state = waiter.state();
            state.running = false;
            // Nobody wants it any more: dropping the outcome closes the handle and frees the lock.
            state.outcome = state.wanted.then_some(outcome);
            waiter.changed.notify_all();
        };
        let name = "comity-lock-wait".to_owned();
        std::thread::Builder::new().name(name).spawn(wait).map(drop)
    }
}
