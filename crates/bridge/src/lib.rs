//! Other tools' files kept in step: the `collaboration/` tree, neo, beads, Task Master, contracts and missions.
//!
//! Nothing is printed and nothing of the process is read here: what people have to know is handed to a door.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod collab;
pub mod contract;
mod handlers;
mod import;
pub mod mission;
pub mod neo;
mod written;

pub use handlers::{Bridge, register};
pub use written::{by_comity, by_result};
