//! What PostgreSQL and the network say, in the words of a store.

use crate::StoreError;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// A failure inside this store, before it is known what was being done.
#[derive(Debug)]
pub(crate) enum DbError {
    /// PostgreSQL reported it, or the connection broke.
    Sql(tokio_postgres::Error),
    Late(&'static str),
    /// All connections that this process may have are in use.
    AllLent(usize),
    Row(String),
    /// A failure that has its final form already.
    Store(StoreError),
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> DbError {
        DbError::Sql(error)
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> DbError {
        DbError::Store(error)
    }
}

impl DbError {
    /// Tells whether the connection is of no use any more; what was sent last may have been done or not.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            DbError::Late(_) => true,
            DbError::Sql(error) => {
                let ended = [
                    SqlState::ADMIN_SHUTDOWN,
                    SqlState::CRASH_SHUTDOWN,
                    SqlState::CANNOT_CONNECT_NOW,
                    SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                ];
                match error.code() {
                    Some(code) => ended.contains(code) || code.code().starts_with("08"),
                    None => true,
                }
            }
            DbError::AllLent(_) | DbError::Row(_) | DbError::Store(_) => false,
        }
    }

    /// Tells whether somebody else held the lock for too long.
    pub(super) fn is_busy(&self) -> bool {
        let busy =
            |error: &tokio_postgres::Error| error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
        matches!(self, DbError::Sql(error) if busy(error))
    }

    /// Turns a failure inside a transaction that was not committed into what callers of the store see.
    pub(super) fn into_store_or_lost(self, context: &str, lock_wait: Duration) -> StoreError {
        let lost = self.is_lost();
        let error = self.into_store(context, lock_wait);
        if lost { StoreError::Lost(error.to_string()) } else { error }
    }

    /// Turns a failure into what callers of the store see.
    pub(super) fn into_store(self, context: &str, lock_wait: Duration) -> StoreError {
        let error = match self {
            DbError::Store(error) => return error,
            DbError::Row(text) => return StoreError::Damaged(text),
            DbError::Late(what) => return StoreError::other(context, what),
            DbError::AllLent(limit) => {
                let text = format!("all {limit} connections of this process are in use");
                return StoreError::other(context, text);
            }
            DbError::Sql(error) => error,
        };
        match error.code() {
            Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => StoreError::Busy(lock_wait),
            Some(code) if *code == SqlState::DISK_FULL => StoreError::Full,
            Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
                StoreError::ReadOnly("PostgreSQL".to_owned())
            }
            _ => StoreError::other(context, words(&error)),
        }
    }
}

/// The words of PostgreSQL without those that only name the layer, and never a connection string.
fn words(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("PostgreSQL: {} ({})", said.message(), said.code().code());
    }
    let mut text = format!("PostgreSQL: {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
