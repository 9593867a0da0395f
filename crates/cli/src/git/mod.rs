//! What comity wants to know of git: where the repository is, and what the git binary says.
//!
//! Finding the repository is done on every command, so that it reads git's files by hand and starts
//! no process. Everything else calls the git binary, never through a shell.

mod call;
mod commit;
mod ini;
mod place;

pub use call::{Git, version};
pub use commit::{containment, keep, snapshot};
pub use place::{Place, remote_name};
