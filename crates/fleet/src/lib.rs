//! Runs of agents on this host: each in a work tree of its own, with a keeper that watches it, pays for it and ends it.

mod agents;
mod keeper;
mod log;
mod place;
mod process;
mod prompt;
mod report;
mod start;
pub mod supervise;
mod workspace;

pub use agents::{Agent, find as find_agent};
pub use keeper::{Job, WORD, keep};
pub use log::{LogLine, read as read_log};
pub use place::RunPlace;
pub use process::lead;
pub use start::{Asked, By, Started, start};
