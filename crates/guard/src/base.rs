//! Where a piece of work began: the commit that its changes are counted from.

use crate::git::Git;
use crate::refs::{Known, Repository};
use comity_core::refusal::{Code, Refusal};
use std::collections::BTreeSet;
use std::path::Path;

/// Where the default branch may be found, the remote's first.
const DEFAULT_BRANCHES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

fn name_of(task: &str) -> String {
    format!("refs/comity/base/{task}")
}

/// Whether what was noted before stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// It stays: the work goes on.
    Stays,
    /// It goes: the work begins anew.
    Goes,
}

/// Notes where the work on a task begins: at what is checked out now.
pub fn remember(git: &Git, tree: &Path, task: &str, earlier: Earlier) -> Result<(), Refusal> {
    let name = name_of(task);
    if noted_in_files(tree, &name, earlier) {
        return Ok(());
    }
    // An empty old value means that there must be none yet.
    let args: &[&str] = match earlier {
        Earlier::Goes => &["update-ref", &name, "HEAD"],
        Earlier::Stays => &["update-ref", &name, "HEAD", ""],
    };
    let noted = git.output(args).is_some_and(|output| output.status.success());
    if noted || git.commit("HEAD").is_none() || remembered(git, task).is_some() {
        return Ok(());
    }
    Err(Refusal::new(Code::Internal, format!("git could not note where {task} begins")))
}

/// Notes it without a call of git; tells whether nothing is left to do.
fn noted_in_files(tree: &Path, name: &str, earlier: Earlier) -> bool {
    let Some(repository) = Repository::of(tree) else { return false };
    let head = match repository.head() {
        Known::Is(commit) => commit,
        // Nothing was ever committed: there is nothing to count from.
        Known::None => return true,
        Known::AskGit => return false,
    };
    match (earlier, repository.look_up(name)) {
        (_, Known::AskGit) => false,
        (Earlier::Stays, Known::Is(_)) => true,
        _ => repository.write(name, &head),
    }
}

/// Returns what was noted.
pub fn remembered(git: &Git, task: &str) -> Option<String> {
    git.commit(&name_of(task))
}

/// Returns the commits of the default branch, as far as they are known here.
fn default_tips(git: &Git) -> Vec<(&'static str, String)> {
    let mut args = vec!["for-each-ref", "--format=%(objectname) %(refname)"];
    args.extend(DEFAULT_BRANCHES);
    let Some(output) = git.output(&args).filter(|output| output.status.success()) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let named = |line: &str| {
        let (commit, name) = line.split_once(' ')?;
        let known = DEFAULT_BRANCHES.iter().find(|known| **known == name)?;
        Some((*known, commit.to_owned()))
    };
    text.lines().filter_map(named).collect()
}

/// Returns the commit that the changes of `commit` are counted from; none when that cannot be told.
///
/// It is the nearest of: where the default branch was left, and where the work was when it was claimed. The
/// first leaves out what others merged meanwhile; the second counts work on the default branch itself.
pub fn find(git: &Git, task: &str, commit: &str) -> Option<String> {
    let claimed = remembered(git, task);
    let tips = default_tips(git).into_iter().map(|(_, tip)| tip);
    let tips: BTreeSet<String> = tips.chain(claimed.clone()).collect();
    let bases: BTreeSet<String> = tips
        .iter()
        .filter_map(|tip| git.line(&["merge-base", tip, commit]))
        .filter(|base| base != commit)
        .collect();
    let distance = |base: &String| {
        let range = format!("{base}..{commit}");
        let count = git.line(&["rev-list", "--count", "--end-of-options", &range]);
        count.and_then(|text| text.parse::<u64>().ok()).unwrap_or(u64::MAX)
    };
    // Nothing was done since the claim, or it is not known where the work began.
    let nothing_done = || claimed.filter(|claimed| claimed == commit);
    if bases.len() < 2 {
        return bases.into_iter().next().or_else(nothing_done);
    }
    bases.into_iter().min_by_key(distance)
}

/// Lists commits up to `tip` that were made since the claim, newest first, at most `limit`.
pub fn commits_since(git: &Git, task: &str, tip: &str, limit: usize) -> Vec<String> {
    let Some(tip) = git.commit(tip) else { return Vec::new() };
    let mut args = vec!["rev-list".to_owned(), format!("--max-count={limit}"), tip];
    args.push("--not".to_owned());
    let own = git.branch().map(|name| format!("refs/heads/{name}"));
    // What came with a pull is not the agent's; what is on its own branch is.
    let tips = default_tips(git).into_iter();
    args.extend(tips.filter(|(name, _)| Some(*name) != own.as_deref()).map(|(_, tip)| tip));
    let claimed = remembered(git, task);
    if args.len() == 4 && claimed.is_none() {
        return Vec::new();
    }
    args.extend(claimed);
    let Some(output) = git.output(&args).filter(|output| output.status.success()) else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}
