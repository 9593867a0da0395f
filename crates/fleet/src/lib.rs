//! Runs of agents on this host: each in a work tree of its own, with a keeper that watches it, pays for it and ends it.

mod agents;
mod keeper;
mod log;
mod output;
mod place;
mod probe;
mod process;
mod prompt;
mod report;
mod start;
mod workspace;

pub use agents::{Agent, find as find_agent};
pub use keeper::{Job, WORD, keep};
pub use log::{LogLine, read as read_log};
pub use output::{RunOutputs, register as register_outputs};
pub use place::RunPlace;
pub use probe::{ProbePath, ProbeView, Prober, ProbesAnswer, Side};
pub use start::{Asked, Started, start};
