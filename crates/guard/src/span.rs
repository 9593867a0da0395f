//! What belongs to a piece of work: everything from where it began to the commit that is handed in.

use crate::base_branch::Standing;
use crate::git::Git;
use comity_core::observed::CommitSeen;
use comity_core::task::Claim;
use std::path::Path;

/// Commits that are named when there should be none.
const COMMITS_SHOWN: &str = "--max-count=20";

/// Returns what the work up to a commit is compared with: where it left the base branch. For work on the base branch itself
/// that is the base of its claim, and so it is when the base branch was moved to where it does not have that commit any more. None
/// where git does not have that one.
pub(crate) fn begin(
    git: &Git,
    tip: Option<&str>,
    claim: &str,
    base: Option<&str>,
) -> Option<String> {
    let is_commit = git.commit(claim).is_some();
    let is_known = is_commit || git.line(&["cat-file", "-t", claim]).as_deref() == Some("tree");
    let Some(tip) = tip else { return is_known.then(|| claim.to_owned()) };
    let has = |branch: &str, commit: &str| {
        commit == branch || git.does(&["merge-base", "--is-ancestor", commit, branch])
    };
    let left = base.filter(|base| !has(base, tip) && (!is_commit || has(base, claim)));
    let left = left.or(is_commit.then_some(claim));
    let meet = left.and_then(|from| git.line(&["merge-base", from, tip]));
    // Histories that have nothing in common are compared as they are.
    meet.or_else(|| is_known.then(|| claim.to_owned()))
}

/// Lists the first commits that were made since the work began; those that were there at the claim are not among them.
pub(crate) fn commits(git: &Git, tip: &str, begin: &str, head: Option<&str>) -> Vec<CommitSeen> {
    let format = "--format=%H %s";
    let mut args = vec!["log", COMMITS_SHOWN, format, tip, "--not"];
    args.extend(
        [Some(begin), head].into_iter().flatten().filter(|name| git.commit(name).is_some()),
    );
    let read = |line: String| {
        let (id, subject) = line.split_once(' ').unwrap_or((&line, ""));
        CommitSeen { id: id.to_owned(), subject: subject.to_owned() }
    };
    git.lines(&args).into_iter().map(read).collect()
}

/// Tells whether a commit has work that was committed under a claim.
pub fn has_work(tree: &Path, standing: &Standing, commit: &str, claim: &Claim) -> bool {
    let git = Git::at(tree);
    let Some(base) = &claim.base else { return false };
    let from = begin(&git, Some(commit), base, standing.base.as_deref());
    let since = format!("--since={}", claim.claimed_at.ms() / 1000);
    let mut args = vec!["rev-list", "--max-count=1", &since, commit, "--not"];
    args.extend(from.as_deref().filter(|from| git.commit(from).is_some()));
    git.line(&args).is_some()
}
