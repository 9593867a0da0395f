//! One checkout on this machine: its root, the repository around it, settings, who acts, paths, and opening its store.
//!
//! Everything is made from values: a door says what its process knows ([`Machine`]) and what its caller asked for
//! ([`Asked`]). Nothing here reads the process's environment, working directory or terminal, so one process can serve
//! many roots. Finding a project only reads files and starts no process.

pub mod backup;
pub mod clients;
mod config;
mod context;
pub mod detect;
mod far;
pub mod fleet;
mod gates;
pub mod git;
pub mod github;
pub mod identity;
mod machine;
pub mod merging;
mod owner;
mod paths;
mod problem;
mod root;
pub mod settings_file;
pub mod setup;
pub mod store;
pub mod supervisor;
pub mod trust;
mod user;

pub use comity_store::plain_file;
pub use config::{Config, WriteSettings};
pub use context::{Asked, Context};
pub use far::Server;
pub use gates::{GateCommand, GateRuns};
pub use machine::{Environment, Machine};
pub use paths::{Mapper, escape};
pub use root::{Root, SETTINGS_DIR};
pub use user::serve_roots;
