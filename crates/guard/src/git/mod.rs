//! Calls of the git binary, never through a shell.

mod call;
mod commit;
mod pairs;
mod work_tree;

pub(crate) use call::push;
pub use call::{Git, Way, carry, push_commit, version};
pub use commit::{Containment, containment, hold, keep, let_go, snapshot, snapshot_within};
pub use pairs::{MergeConflict, MergePair, merge_pairs};
pub use work_tree::{NewFiles, WorkTree};
pub(crate) use work_tree::{OwnDir, write_staged};
