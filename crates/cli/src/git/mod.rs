//! What comity wants to know of git: where the repository is, and what the git binary says.
//!
//! Finding the repository is done on every command, so that it reads git's files by hand and starts
//! no process. Everything else calls the git binary, which is `guard`'s.

mod ini;
mod place;

pub use comity_guard::git::{Git, containment, hold, keep, let_go, snapshot, version};
pub use place::{Place, remote_name};
