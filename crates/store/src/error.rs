//! What can go wrong with a store, apart from the rules.

use comity_core::refusal::{Code, Refusal};
use std::time::Duration;

/// A failure of the database or of the disk below it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer held the store for too long.
    #[error("another process has held the store for {}s", .0.as_secs())]
    Busy(Duration),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The store cannot be written.
    #[error("the store at {0} cannot be written")]
    ReadOnly(String),
    /// It was closed, because it has moved.
    #[error("the store is closed: {0}")]
    Closed(String),
    /// A newer comity wrote it.
    #[error("the store has schema {found}, this comity knows {known}")]
    TooNew {
        /// The schema found.
        found: i64,
        /// The newest one known.
        known: i64,
    },
    /// The file is on a network file system.
    #[error("{path} is on a network file system ({kind}), where file locks are not reliable")]
    Network {
        /// The file.
        path: String,
        /// The kind of file system.
        kind: String,
    },
    /// What was read is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Anything else.
    #[error("{context}: {source}")]
    Other {
        /// What was being done.
        context: String,
        /// Why it failed.
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

    /// Returns what users see.
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
            StoreError::Damaged(_) => refusal
                .hint("see `comity doctor`; restore the file from a backup, or name another store"),
            StoreError::Closed(_) => refusal.hint(
                "name the other store: --store, COMITY_STORE, or [store] url in .comity/config.toml",
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
