//! Where the repository is. Every command looks for it, so this reads git's files by hand and starts no process.

mod ini;
mod place;

pub use place::{Place, remote_name};
