//! Waiting for commits of any process: the wake file tells at once, `data_version` tells for sure.
//!
//! A writer touches the wake file after each commit. One that dies in between is noticed by a look
//! at `data_version` twice a second.

use super::error::Place;
use super::lock::open_beside;
use crate::{StoreError, Watch};
use rusqlite::Connection;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
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
        let bell = Bell::on(&wake_path(&place.path));
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
}

/// Rings when the wake file is touched, where the system can tell.
#[cfg(target_os = "linux")]
struct Bell(Option<std::os::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl Bell {
    /// Without inotify (no permission, too many watches) the looks at the database remain.
    fn on(path: &Path) -> Bell {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let watch = || -> io::Result<std::os::fd::OwnedFd> {
            drop(open_beside(path)?);
            let bell = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            inotify::add_watch(&bell, path, WatchFlags::MODIFY)?;
            Ok(bell)
        };
        Bell(watch().ok())
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let Some(fd) = &self.0 else {
            std::thread::sleep(timeout);
            return Ok(());
        };
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // What rang is read away, so that the next wait does not return at once.
        let mut buffer = [0_u8; 4096];
        while rustix::io::read(fd, &mut buffer).is_ok_and(|length| length > 0) {}
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
struct Bell;

#[cfg(not(target_os = "linux"))]
impl Bell {
    fn on(_path: &Path) -> Bell {
        Bell
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        std::thread::sleep(timeout);
        Ok(())
    }
}
