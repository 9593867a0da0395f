//! The branches that others' work comes from.

use crate::git::Git;
use crate::reflog;
use std::collections::BTreeSet;

/// Where the default branch may be found, the remote's first.
const NAMES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

/// Returns the names of branches that are the default branch, as far as that is known here.
pub(crate) fn names(git: &Git) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    let remote = git.line(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]);
    let remote = remote.and_then(|name| name.strip_prefix("origin/").map(str::to_owned));
    let configured = || git.line(&["config", "--get", "init.defaultBranch"]);
    names.extend(remote.or_else(configured).map(|name| format!("refs/heads/{name}")));
    names
}

/// Tells whether a branch is the default branch.
pub(crate) fn is_default(git: &Git, branch: &str) -> bool {
    names(git).contains(&format!("refs/heads/{branch}"))
}

/// Where others' work comes from.
#[derive(Debug, Default)]
pub(crate) struct Tips {
    /// The commits of the default branch, here and elsewhere.
    pub(crate) published: Vec<String>,
    /// The commits of other branches.
    pub(crate) sources: Vec<String>,
}

/// Returns the commits of branches that others' work comes from: the default branch, and for a branch of its own the one that
/// it was made from, by its own log or by what was checked out, and the one of the main work tree. The branch that is
/// checked out is none of them.
pub(crate) fn tips(git: &Git, own: Option<&str>, created_from: Option<&str>) -> Tips {
    let mut published = names(git);
    let is_default = own.is_some_and(|branch| published.remove(&format!("refs/heads/{branch}")));
    let mut names = published.clone();
    if let Some(branch) = own.filter(|_| !is_default) {
        let more = [reflog::made_from(git, branch), main_tree_branch(git)];
        let other = |name: &String| name != branch;
        names.extend(more.into_iter().flatten().filter(other).map(|n| format!("refs/heads/{n}")));
        let from = created_from.filter(|from| *from != branch && !from.contains(['*', '?', '[']));
        let places = ["refs/heads/", "refs/remotes/", ""];
        names
            .extend(from.into_iter().flat_map(|from| places.map(|place| format!("{place}{from}"))));
    }
    let mut args = vec!["for-each-ref", "--format=%(objectname) %(refname)", "--"];
    args.extend(names.iter().map(String::as_str));
    let Some(output) = git.output(&args).filter(|output| output.status.success()) else {
        return Tips::default();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    // A pattern also finds what lies below it, which is another branch.
    let found = text.lines().filter_map(|line| line.split_once(' '));
    let found = found.filter(|(_, name)| names.contains(*name));
    let (published, sources): (Vec<_>, Vec<_>) =
        found.partition(|(_, name)| published.contains(*name));
    let commits = |found: Vec<(&str, &str)>| -> Vec<String> {
        let found: BTreeSet<&str> = found.into_iter().map(|(commit, _)| commit).collect();
        found.into_iter().map(str::to_owned).collect()
    };
    Tips { published: commits(published), sources: commits(sources) }
}

/// Returns the branch of the work tree that others are linked to.
fn main_tree_branch(git: &Git) -> Option<String> {
    let dir = git.line(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    let args = ["--git-dir", &dir, "symbolic-ref", "--quiet", "--short", "HEAD"];
    git.line(&args)
}
