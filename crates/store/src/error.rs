//! What can go wrong with a store, apart from the rules.

use comity_core::chain::Hash;
use comity_core::hint::{op, say};
use comity_core::ids::Seq;
use comity_core::refusal::{Code, Refusal};
use std::fmt;
use std::time::Duration;

/// A failure of the database or of the disk below it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("another process has held the store for {}s", .0.as_secs())]
    Busy(Duration),
    #[error("{0}")]
    Held(Holder),
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
    /// Events that were acknowledged are gone from the end of the log.
    #[error("the store is damaged: {0}")]
    Gone(Gone),
    /// The connection broke, and nothing of the transaction was stored: it can be run again.
    #[error("{0}")]
    Lost(String),
    /// No synchronous standby has confirmed the commit that an answer rests on, so there is no answer.
    #[error("{0}")]
    Unconfirmed(Unconfirmed),
    #[error("{context}: {source}")]
    Other {
        context: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The process that has held the store for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// Its name, where the system tells.
    pub name: String,
    /// It was stopped by a signal, so it does nothing until it is told to go on.
    pub stopped: bool,
    pub waited: Duration,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Holder { pid, name, stopped, waited } = self;
        let waited = waited.as_secs();
        let stopped = if *stopped { ", and is stopped" } else { "" };
        write!(f, "process {pid} ({name}) has held the store for {waited}s{stopped}")
    }
}

/// Events at the end of the log that are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    pub first: Seq,
    pub last: Seq,
    /// The hash of the last one.
    pub hash: Hash,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gone { first, last, .. } = self;
        match first == last {
            true => write!(f, "event {last} is gone from the end of the log"),
            false => write!(f, "events {first} to {last} are gone from the end of the log"),
        }
    }
}

/// What is known of a command that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It is stored on the primary. A fail-over may lose it.
    OnPrimary,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    pub known: Known,
    pub waited: Duration,
}

impl fmt::Display for Unconfirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waited = self.waited.as_secs();
        match self.known {
            Known::OnPrimary => write!(
                f,
                "the primary has stored it, but no synchronous standby has confirmed that for {waited}s; a fail-over may lose it"
            ),
            Known::Nothing => write!(
                f,
                "comity does not know whether the command was carried out: PostgreSQL has not answered for {waited}s"
            ),
        }
    }
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
            StoreError::Busy(_) | StoreError::Held(_) => Code::StoreUnavailable,
            StoreError::Full => Code::StorageFull,
            StoreError::ReadOnly(_) | StoreError::Closed(_) => Code::StoreReadOnly,
            StoreError::TooNew { .. } => Code::StoreTooNew,
            StoreError::Network { .. } => Code::NetworkFileSystem,
            StoreError::Damaged(_) => Code::StoreUnavailable,
            StoreError::Gone(_) => Code::StoreDamaged,
            StoreError::Lost(_) | StoreError::Other { .. } => Code::StoreUnavailable,
            StoreError::Unconfirmed(_) => Code::Unconfirmed,
        };
        let refusal = Refusal::new(code, self.to_string());
        match self {
            StoreError::Held(Holder { pid, stopped, .. }) => refusal
                .hint(match stopped {
                    true => format!(
                        "let it go on with the signal CONT, or end it with KILL (kill -CONT {pid}, kill -KILL {pid}); what it has not committed is undone"
                    ),
                    false => format!(
                        "try again; if process {pid} hangs, end it, and what it has not committed is undone"
                    ),
                })
                .detail("pid", *pid)
                .detail("stopped", *stopped),
            StoreError::Gone(gone) => refusal
                .detail("first", gone.first.0)
                .detail("last", gone.last.0)
                .detail("head", gone.hash.to_string()),
            StoreError::Damaged(_) => refusal.hint(
                say("see ")
                    .quote(op("doctor"))
                    .say("; restore the file from a backup, or name another store"),
            ),
            StoreError::Unconfirmed(Unconfirmed { known, .. }) => {
                refusal.detail("on_primary", (*known == Known::OnPrimary).then_some(true))
            }
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
