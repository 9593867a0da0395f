//! How a task's branch gets into the caller's work tree, whatever became of the branch before.

use crate::base_branch::Standing;
use crate::git::Git;
use crate::observer::GitObserver;
use comity_project::git::Refs;
use std::path::{Path, PathBuf};

/// What has to be done so that a branch is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checkout {
    /// It is checked out here.
    Here,
    /// It exists, and no work tree has it.
    Switch,
    /// It does not exist. It begins at the tip of the base branch; none in a repository without a commit. The commit is
    /// named, and not the branch: when somebody merges meanwhile, git takes the files of one commit and the name of the next,
    /// and the first commit on the new branch would undo the merge.
    Create { from: Option<String> },
    /// Another work tree has it, which lets go of it first.
    TakeFrom(PathBuf),
    /// The work tree that had it is gone, and git does not know it yet.
    Forget,
}

impl GitObserver {
    /// Says how to check a branch out here; none where there is no git.
    pub fn checkout(&self, branch: &str) -> Option<Checkout> {
        let tree = self.tree.as_ref()?;
        let git = Git::at(tree);
        let reference = format!("refs/heads/{branch}");
        let held = match Refs::of(tree) {
            Some(refs) => {
                refs.commit(&reference).map(|_| refs.holder(&reference).unwrap_or_default())
            }
            None => holder(&git, &reference),
        };
        let Some(holder) = held else {
            let standing = Standing::of(&git, self.base.as_deref()).ok()?;
            // Only in a repository without a commit can a branch be checked out that does not exist.
            if standing.head.is_none() && git.branch().as_deref() == Some(branch) {
                return Some(Checkout::Here);
            }
            return Some(Checkout::Create { from: standing.base });
        };
        Some(match () {
            () if holder.as_os_str().is_empty() => Checkout::Switch,
            () if is_same(&holder, tree) => Checkout::Here,
            () if !holder.exists() => Checkout::Forget,
            () => Checkout::TakeFrom(holder),
        })
    }
}

/// Asks git whether a branch exists, and for the work tree that has it; an empty path where none has it.
fn holder(git: &Git, reference: &str) -> Option<PathBuf> {
    // The full name in each line: a pattern finds what is below it, too.
    let lines = git.lines(&["for-each-ref", "--format=%(refname) %(worktreepath)", reference]);
    let holder = lines.iter().find_map(|line| line.strip_prefix(&format!("{reference} ")));
    holder.map(PathBuf::from)
}

fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(a) == real(b)
}
