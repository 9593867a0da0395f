//! The `collaboration/` tree of kyros agents.md v2: state files, events, log, board, and what an edit of them
//! means. Key order, indentation and separators are the ones that its tools write.

mod agents;
mod board;
mod commit_message;
mod diff;
mod document;
mod events;
mod handoff;
mod json;
mod legacy;
mod listing;
mod locks;
mod log;
mod parsed;
mod references;
mod tasks;
mod v1;

pub use agents::{agent_record, read_agent, read_agent_at};
pub use board::board;
pub use commit_message::{TYPES as COMMIT_TYPES, check as check_commit_message};
pub use diff::{Change, Edit, base, distance, doubtful, edits};
pub use document::{StateFile, document, read, read_bytes};
pub use events::{Etags, ORIGIN_LINE, event_line, line_mark};
pub use handoff::handoff;
pub use json::{large_integer, line, pretty, pretty_ascii, read_json};
pub use legacy::{Legacy, normal_event};
pub use listing::task_lines;
pub use locks::{LockRecord, OutsideLock, lock_id, lock_record, parse_lock_id, read_lock};
pub use log::{Known, log};
pub use tasks::{EXTRAS, Patch, file_record, task_record, told_needs};
pub use v1::{V1, V1Agent, V1Lock, read_v1};

use comity_core::chain::Hash;
use comity_core::time::Timestamp;
use std::fmt;

/// Returns the ETag of a file: the SHA-256 of its bytes in hexadecimal digits.
pub fn etag(bytes: &[u8]) -> String {
    Hash::of(bytes).to_string()
}

/// Writes a time as these files have it: to the second, with a `Z`.
pub fn seconds(time: Timestamp) -> String {
    let text = time.to_string();
    match text.split_once('.') {
        Some((head, _)) => format!("{head}Z"),
        None => text,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    /// Where in the document, such as `tasks[3].status`; empty for the whole of it.
    pub path: String,
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { message, path, line, column } = self;
        let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
        write!(f, "line {line}, column {column}: {path}{message}")
    }
}

#[cfg(test)]
mod tests;
