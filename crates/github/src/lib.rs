//! GitHub as the bus: issues are tasks, labels are state, comments are the trail.
//!
//! Pure parts say what GitHub should show (`desired`), what is said in comments (`effects`) and what is asked for there
//! (`inbound`, `intake`). The rest reads and writes.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod auth;
mod board;
mod bus;
mod claims;
mod client;
mod desired;
mod doctor;
mod effects;
mod fenced;
mod handlers;
mod hook;
mod import;
mod inbound;
mod intake;
mod model;
#[cfg(test)]
mod parsers;
mod publish;
mod quota;
mod rows;
mod setup;
mod shared;
mod sync;
mod text;
#[cfg(test)]
mod walk;
mod watch;

pub use bus::Github;
pub use fenced::{choose, fenced};
pub use handlers::register;
pub use watch::{Tell, watch};
