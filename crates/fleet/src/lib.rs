//! Runs of agents on this host: each in a work tree of its own, with a keeper that watches it, pays for it and ends it.

mod agents;
mod bill;
mod keeper;
mod launch;
mod listen;
mod log;
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
mod workspace;

pub use agents::{Agent, BadAgent, Subagent, all as all_agents, find as find_agent};
pub use keeper::{Job, OpenDoor, Surroundings, WORD, keep};
pub use log::{LogLine, read as read_log};
pub use output::{RunOutputs, register as register_outputs};
pub use place::RunPlace;
pub use probe::{ProbePath, ProbeView, Prober, ProbesAnswer, Side};
pub use process::lead;
pub use resume::{diverged, is_here, resume};
pub use spaces::{
    SpaceView, SpacesAnswer, collect as collect_spaces, list as list_spaces, remove as remove_space,
};
pub use start::{Asked, By, Started, start};
pub use steer::say as steer;
pub use workspace::diff;
