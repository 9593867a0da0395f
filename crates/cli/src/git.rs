//! The git binary, in the work tree of the caller.

pub use comity_guard::git::{Git, snapshot, version};

use comity_project::Context;
use std::path::PathBuf;

pub trait InWorkTree {
    /// Returns git in the caller's work tree, when the project has git.
    fn git(&self) -> Option<(Git, &PathBuf)>;
}

impl InWorkTree for Context {
    fn git(&self) -> Option<(Git, &PathBuf)> {
        self.git_tree().map(|tree| (Git::at(tree), tree))
    }
}
