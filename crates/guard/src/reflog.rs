//! What a work tree remembers of its own doing: which commits were made in it, and which only came in.

use crate::git::Git;
use std::collections::BTreeSet;

/// Entries that are read of one log.
const ENTRIES_MAX: &str = "--max-count=20000";

/// Steps of a rebase that make a commit, as git names them.
const REBASE_STEPS: [&str; 6] =
    ["(pick)", "(reword)", "(edit)", "(squash)", "(fixup)", "(continue)"];

/// Commits that were made here. One that came by a pull, a checkout or a fast-forward is none of them.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// On the branch itself, in whichever work tree.
    pub(crate) on_branch: BTreeSet<String>,
    /// In this work tree, on whichever branch.
    pub(crate) in_tree: BTreeSet<String>,
    /// Where the branch was made.
    pub(crate) branched_at: Option<String>,
}

/// Finds the commits that were made here. Without logs there are none.
pub(crate) fn made(git: &Git, branch: Option<&str>) -> Made {
    let mut made = Made::default();
    for (commit, on) in attributed(&entries(git, "HEAD"), branch) {
        if on.as_deref() == branch {
            made.on_branch.insert(commit.clone());
        }
        made.in_tree.insert(commit);
    }
    if let Some(branch) = branch {
        let log = entries(git, &format!("refs/heads/{branch}"));
        made.branched_at = log.last().map(|(commit, _)| commit.clone());
        let own = log.into_iter().filter(|(_, action)| makes(action));
        made.on_branch.extend(own.map(|(commit, _)| commit));
    }
    made
}

/// Says of each commit that was made on which branch that was. The log comes newest first and is read backwards; what is checked
/// out at its end is known. While a rebase runs, no branch is checked out, but the one it returns to is meant.
fn attributed(log: &[(String, String)], branch: Option<&str>) -> Vec<(String, Option<String>)> {
    let mut on = branch.map(str::to_owned);
    let mut found = Vec::new();
    for (commit, action) in log {
        if makes(action) {
            found.push((commit.clone(), on.clone()));
        } else if let Some(from) = moved_from(action) {
            on = Some(from.to_owned());
        }
    }
    found
}

/// Returns what was checked out before an entry of HEAD's log, when that entry changed it.
fn moved_from(action: &str) -> Option<&str> {
    let moved = action.strip_prefix("checkout: moving from ");
    let renamed = || action.strip_prefix("Branch: renamed refs/heads/");
    match moved {
        Some(rest) => rest.rsplit_once(" to ").map(|(from, _)| from),
        None => renamed()?.split_once(" to ").map(|(from, _)| from),
    }
}

/// Returns the branch that was checked out when this one was made, or first came to this work tree.
pub(crate) fn made_from(git: &Git, branch: &str) -> Option<String> {
    let moved = |(_, action): &(String, String)| {
        let (from, to) = action.strip_prefix("checkout: moving from ")?.rsplit_once(" to ")?;
        (to == branch && from != branch).then(|| from.to_owned())
    };
    entries(git, "HEAD").iter().rev().find_map(moved)
}

/// Commits and what was done, newest first.
fn entries(git: &Git, name: &str) -> Vec<(String, String)> {
    let args = ["log", "-g", "--no-show-signature", "--format=%H %gs", ENTRIES_MAX, name, "--"];
    let Some(output) = git.output(&args).filter(|output| output.status.success()) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let entry = |line: &str| {
        line.split_once(' ').map(|(commit, action)| (commit.to_owned(), action.to_owned()))
    };
    text.lines().filter_map(entry).collect()
}

/// Tells whether an entry of a log stands for a commit that was made.
fn makes(action: &str) -> bool {
    let (verb, rest) = action.split_once(": ").unwrap_or((action, ""));
    let word = verb.split(' ').next().unwrap_or(verb);
    matches!(word, "commit" | "cherry-pick" | "revert" | "am")
        || REBASE_STEPS.iter().any(|step| verb.ends_with(step))
        || (matches!(word, "merge" | "pull") && rest.starts_with("Merge made"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_belongs_to_the_branch_that_was_checked_out() {
        let log = [
            ("6", "rebase (finish): returning to refs/heads/work"),
            ("6", "rebase (pick): x"),
            ("5", "rebase (start): checkout main"),
            ("4", "checkout: moving from main to work"),
            ("3", "commit: y"),
            ("2", "checkout: moving from work to main"),
            ("1", "commit (initial): x"),
        ];
        let log: Vec<(String, String)> =
            log.iter().map(|(commit, action)| ((*commit).into(), (*action).into())).collect();
        let named = |commit: &str, on: &str| (commit.to_owned(), Some(on.to_owned()));
        let expected = [named("6", "work"), named("3", "main"), named("1", "work")];
        assert_eq!(attributed(&log, Some("work")), expected);
    }

    #[test]
    fn what_makes_a_commit_is_told_from_what_only_moves() {
        for action in [
            "commit: x",
            "commit (initial): x",
            "commit (amend): pull: Fast-forward",
            "commit (merge): Merge branch 'x'",
            "cherry-pick: x",
            "revert: Revert \"x\"",
            "am: x",
            "rebase (pick): x",
            "pull --rebase origin main (pick): x",
            "rebase (continue): x",
            "merge main: Merge made by the 'ort' strategy.",
            "pull origin main: Merge made by the 'ort' strategy.",
        ] {
            assert!(makes(action), "{action}");
        }
        for action in [
            "",
            "checkout: moving from main to work",
            "pull: Fast-forward",
            "merge main: Fast-forward",
            "reset: moving to HEAD~1",
            "clone: from elsewhere",
            "rebase (start): checkout main",
            "rebase (finish): returning to refs/heads/x",
            "branch: Created from HEAD",
        ] {
            assert!(!makes(action), "{action}");
        }
    }
}
