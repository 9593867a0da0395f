//! Waiting for commits of any process: the wake file tells at once, `data_version` tells for sure.
//!
//! A writer touches the wake file after each commit. One that dies in between is noticed by a look
//! at `data_version` twice a second.

use super::error::Place;
use super::lock::open_beside;
use crate::{StoreError, Watch};
use rusqlite::Connection;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the database itself is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(super) fn wake_path(db: &Path) -> PathBuf {
    super::beside(db, ".wake")
}

/// Touches the wake file; kept open, since a server commits often.
pub(super) struct Waker {
    file: Option<File>,
    path: PathBuf,
}

impl Waker {
    pub(super) fn new(db: &Path) -> Waker {
        Waker { file: None, path: wake_path(db) }
    }

    /// Wakes who waits. A failure only makes them wait for their next look, so it is not reported.
    pub(super) fn wake(&mut self) {
        use std::os::unix::fs::FileExt;
        if self.file.is_none() {
            self.file = open_beside(&self.path).ok();
        }
        if let Some(file) = &self.file
            && file.write_at(b"\n", 0).is_err()
        {
            self.file = None;
        }
    }
}

pub(super) struct SqliteWatch {
    conn: Connection,
    seen: i64,
    place: Place,
    bell: Bell,
}

impl SqliteWatch {
    pub(super) fn new(conn: Connection, place: Place) -> Result<SqliteWatch, StoreError> {
        // Watching comes first: what is committed from here on is either heard or seen.
        let bell = Bell::on(&wake_path(&place.path))
            .map_err(|error| place.io_error("cannot watch the store", error))?;
        let mut watch = SqliteWatch { conn, seen: 0, place, bell };
        watch.seen = watch.look()?;
        Ok(watch)
    }

    fn look(&self) -> Result<i64, StoreError> {
        let look = || {
            let mut statement = self.conn.prepare_cached("PRAGMA data_version")?;
            statement.query_row([], |row| row.get(0))
        };
        look().map_err(|error| self.place.error("cannot watch the store", error))
    }
}

impl Watch for SqliteWatch {
    fn wait(&mut self, timeout: Duration) -> Result<bool, StoreError> {
        let start = Instant::now();
        loop {
            if self.bell.is_stopped() {
                return Ok(false);
            }
            let found = self.look()?;
            if found != self.seen {
                self.seen = found;
                return Ok(true);
            }
            let Some(left) = timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero())
            else {
                return Ok(false);
            };
            self.bell
                .wait(left.min(LOOK_EVERY))
                .map_err(|error| self.place.io_error("cannot watch the store", error))?;
        }
    }

    fn stopper(&self) -> Box<dyn Fn() + Send + Sync> {
        let stop = Arc::clone(&self.bell.stop);
        Box::new(move || stop.now())
    }
}

/// Rings when the wake file is touched, where the system can tell, and when the watch is stopped.
struct Bell {
    touched: Option<OwnedFd>,
    /// Readable from the moment that the watch is stopped.
    silenced: PipeReader,
    stop: Arc<Stop>,
}

struct Stop {
    stopped: AtomicBool,
    pipe: PipeWriter,
}

impl Stop {
    /// Writes one byte that nobody reads, so that every wait from now on finds it.
    fn now(&self) {
        if !self.stopped.swap(true, Ordering::SeqCst) {
            // A failure only makes a wait go on until its next look.
            let _ = (&self.pipe).write(b"\n");
        }
    }
}

impl Bell {
    fn on(path: &Path) -> io::Result<Bell> {
        let (silenced, pipe) = io::pipe()?;
        let stop = Arc::new(Stop { stopped: AtomicBool::new(false), pipe });
        Ok(Bell { touched: inotify(path), silenced, stop })
    }

    fn is_stopped(&self) -> bool {
        self.stop.stopped.load(Ordering::SeqCst)
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut fds = vec![PollFd::new(&self.silenced, PollFlags::IN)];
        fds.extend(self.touched.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(fd) = &self.touched {
            // What rang is read away, so that the next wait does not return at once.
            let mut buffer = [0_u8; 4096];
            while rustix::io::read(fd, &mut buffer).is_ok_and(|length| length > 0) {}
        }
        Ok(())
    }
}

/// Without inotify (no permission, too many watches) the looks at the database remain.
#[cfg(target_os = "linux")]
fn inotify(path: &Path) -> Option<OwnedFd> {
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    drop(open_beside(path).ok()?);
    let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    inotify::add_watch(&events, path, WatchFlags::MODIFY).ok()?;
    Some(events)
}

#[cfg(not(target_os = "linux"))]
fn inotify(_path: &Path) -> Option<OwnedFd> {
    None
}
