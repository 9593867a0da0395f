//! Runs of agents on this host: each in a work tree of its own, with a keeper that watches it, pays for it and ends it.

mod agents;
mod bill;
mod elsewhere;
mod handlers;
mod keeper;
mod launch;
mod listen;
mod log;
mod objective;
mod output;
mod place;
mod probe;
mod process;
mod prompt;
mod report;
mod resume;
mod sandbox;
mod session;
mod spaces;
mod start;
mod steer;
pub mod supervise;
mod watch;
mod worker;
mod workspace;

pub use elsewhere::catch_up;
pub use handlers::{Definitions, Fleet, Resumer, register, register_definitions, register_resumer};
pub use keeper::{Job, OpenDoor, Surroundings, WORD, keep};
pub use log::{LogLine, read as read_log};
pub use objective::{FOCUSED, Objectives, last_words, register as register_objectives};
pub use output::{RunOutputs, register as register_outputs};
pub use place::RunPlace;
pub use process::lead;
pub use start::{Asked, start};
pub use worker::{Told, Worker, drain};
pub use workspace::Workspace;
