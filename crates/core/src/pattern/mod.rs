//! Repository paths, lease patterns, and the exact overlap of two patterns.
//!
//! Purpose: decide which paths a lease covers and whether two leases can ever meet on one path.
//! Owns no state. Must never touch the file system, the clock or the network, never panic on any
//! input, and never call two overlapping patterns free.

mod alternatives;
mod apart;
mod automaton;
mod class;
mod error;
mod file_name;
mod glob;
mod overlap;
mod parse;
mod path;
#[cfg(test)]
mod tests;

pub use alternatives::{ALTERNATIVES_MAX, alternatives};
pub use apart::surely_apart;
pub use error::PatternError;
pub use file_name::{listed_path, spell_path};
pub use glob::{PATTERN_BYTES_MAX, Pattern};
pub use overlap::{overlap, prefix_may_overlap};
pub use parse::PATTERN_DEPTH_MAX;
pub use path::{CaseRule, PATH_BYTES_MAX, RepoPath, fold as folded};
