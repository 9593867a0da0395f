//! What SQLite and the system say, in the words of a store.

use crate::StoreError;
use rusqlite::ErrorCode;
use std::path::PathBuf;
use std::time::Duration;

/// A failure inside this store, before it is known what was being done.
#[derive(Debug)]
pub(crate) enum DbError {
    Sql(rusqlite::Error),
    /// A row does not hold what comity writes.
    Row(String),
    /// A failure that has its final form already.
    Store(StoreError),
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> DbError {
        DbError::Sql(error)
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> DbError {
        DbError::Store(error)
    }
}

/// What an error message needs to know of the store.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) busy_wait: Duration,
}

impl Place {
    /// Turns a failure into what callers of the store see.
    pub(super) fn error(&self, context: &str, error: impl Into<DbError>) -> StoreError {
        match error.into() {
            DbError::Store(error) => error,
            DbError::Row(text) => StoreError::Damaged(text),
            DbError::Sql(error) => self.sql_error(context, error),
        }
    }

    fn sql_error(&self, context: &str, error: rusqlite::Error) -> StoreError {
        let read_only = || StoreError::ReadOnly(self.path.display().to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => read_only(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Busy(self.busy_wait)
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged(error.to_string())
            }
            // The files beside the database cannot be made: no space, or no permission.
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if self.disk_is_full() => {
                StoreError::Full
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen)
                if self.path.exists() && !self.is_writable() =>
            {
                read_only()
            }
            _ => StoreError::other(context, error),
        }
    }

    /// Turns a failure of a file beside the database into what callers of the store see.
    pub(super) fn io_error(&self, context: &str, error: std::io::Error) -> StoreError {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StoreError::Full,
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly(self.path.display().to_string())
            }
            _ => StoreError::other(context, error),
        }
    }

    fn disk_is_full(&self) -> bool {
        let dir = self.path.parent().unwrap_or(&self.path);
        rustix::fs::statvfs(dir)
            .is_ok_and(|disk| disk.f_bavail == 0 || disk.f_favail == 0 && disk.f_files > 0)
    }

    fn is_writable(&self) -> bool {
        let writable =
            |path: &std::path::Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
        writable(&self.path) && self.path.parent().is_none_or(writable)
    }
}
