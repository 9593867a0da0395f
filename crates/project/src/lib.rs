//! One checkout on this machine: its root, the repository around it, settings, who acts, paths, and opening its store.
//!
//! Everything is made from values: a door says what its process knows ([`Machine`]) and what its caller asked for
//! ([`Asked`]). Nothing here reads the process's environment, working directory or terminal, so one process can serve
//! many roots. Finding a project only reads files and starts no process.

mod config;
mod context;
mod git;
pub mod identity;
mod machine;
mod paths;
mod root;
pub mod setup;
pub mod store;

pub use config::Config;
pub use context::{Asked, Context};
pub use machine::{Environment, Machine};
pub use paths::Mapper;
pub use root::{Root, SETTINGS_DIR};
