//! Calls of the git binary, never through a shell.

mod call;
mod carry;
mod commit;
mod pairs;
mod work_tree;

pub(crate) use call::push;
pub use call::{Git, version};
pub use carry::{Way, carry};
pub use commit::{Containment, containment, hold, keep, let_go, snapshot, snapshot_within};
pub use pairs::{MergeConflict, MergePair, merge_pairs};
pub use work_tree::{NewFiles, WorkTree};
pub(crate) use work_tree::{OwnDir, write_staged};
