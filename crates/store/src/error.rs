//! What can go wrong with a store, apart from the rules.

use comity_core::hint::{op, say};
use comity_core::refusal::{Code, Refusal};
use std::time::Duration;

/// A failure of the database or of the disk below it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("another process has held the store for {}s", .0.as_secs())]
    Busy(Duration),
    #[error("the disk is full")]
    Full,
    #[error("the store at {0} cannot be written")]
    ReadOnly(String),
    /// The store was closed because it has moved.
    #[error("the store is closed: {0}")]
    Closed(String),
    #[error("the store has schema {found}, but this comity only knows {known}")]
    TooNew { found: i64, known: i64 },
    #[error("{path} is on a network file system ({kind}), where file locks are not reliable")]
    Network { path: String, kind: String },
    #[error("the store is damaged: {0}")]
    Damaged(String),
    #[error("{context}: {source}")]
    Other {
        context: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// Wraps a cause with what was being done.
    pub fn other(
        context: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> StoreError {
        StoreError::Other { context: context.into(), source: source.into() }
    }

    pub fn to_refusal(&self) -> Refusal {
        let code = match self {
            StoreError::Busy(_) => Code::StoreUnavailable,
            StoreError::Full => Code::StorageFull,
            StoreError::ReadOnly(_) | StoreError::Closed(_) => Code::StoreReadOnly,
            StoreError::TooNew { .. } => Code::StoreTooNew,
            StoreError::Network { .. } => Code::NetworkFileSystem,
            StoreError::Damaged(_) => Code::StoreUnavailable,
            StoreError::Other { .. } => Code::StoreUnavailable,
        };
        let refusal = Refusal::new(code, self.to_string());
        match self {
            StoreError::Damaged(_) => refusal.hint(
                say("see ")
                    .quote(op("doctor"))
                    .say("; restore the file from a backup, or name another store"),
            ),
            StoreError::Closed(_) => refusal.hint(
                say("use the other store: set ")
                    .mention("store")
                    .say(", COMITY_STORE, or [store] url in .comity/config.toml"),
            ),
            _ => refusal,
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        error.to_refusal()
    }
}
