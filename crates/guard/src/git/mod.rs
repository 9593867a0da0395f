//! Calls of the git binary, never through a shell.

mod call;
mod commit;

pub use call::{Git, version};
pub use commit::{containment, hold, keep, let_go, snapshot};
pub(crate) use commit::{rebased, squashed};
