//! Takes secrets out of text before it enters the append-only log.
//!
//! An appended event cannot be unwritten, so this is the last chance. The module is pure: it owns
//! no state besides a prefilter built on first use, and it must never panic, never grow worse
//! than linearly with its input, and never touch ordinary hashes, ids or paths.
//!
//! Why redacting twice changes nothing: a rule looks only at its *window*, and a window that
//! overlaps a marker is refused. So whatever a second pass could find was, byte for byte, already
//! there in the first pass and was replaced then.

mod assign;
mod command_line;
mod free;
mod judge;
mod redactor;
mod rules;
mod scan;
mod special;
mod value;

#[cfg(test)]
mod tests;

pub use free::{BadPattern, BadPatternReason, PATTERN_BYTES_MAX, PATTERNS_MAX};
pub use redactor::{KnownSecrets, RedactOptions, Redactor};
pub use scan::secrets;
pub use value::redact as secrets_of;
