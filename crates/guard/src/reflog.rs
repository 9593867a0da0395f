//! What a work tree remembers of its own doing: which commits were made in it, and which only came in.

use crate::git::Git;
use std::collections::{BTreeMap, BTreeSet};

/// Entries that are read of one log.
const ENTRIES_MAX: &str = "--max-count=20000";

/// Steps of a rebase that make a commit, as git names them.
const REBASE_STEPS: [&str; 6] =
    ["(pick)", "(reword)", "(edit)", "(squash)", "(fixup)", "(continue)"];

/// One entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    commit: String,
    /// When, in seconds.
    at: i64,
    action: String,
}

/// Commits that were made here, with the time. One that came by a pull, a checkout or a fast-forward is none of them.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// On the branch itself, in whichever work tree.
    pub(crate) on_branch: BTreeMap<String, i64>,
    /// In this work tree, on whichever branch; none when the branch is not the one that is checked out here.
    pub(crate) in_tree: BTreeMap<String, i64>,
    /// In other work trees that the task was claimed in, since then.
    pub(crate) in_others: BTreeSet<String>,
    /// Where the log of the branch begins.
    pub(crate) branched_at: Option<String>,
    /// How the branch was made, when its log still tells and it is not the remote's own.
    pub(crate) created: Option<Created>,
    /// The log of the branch.
    log: Vec<Entry>,
}

impl Made {
    /// Returns where the branch was before a time, in seconds; none when it is not as old as that.
    pub(crate) fn before(&self, time: i64) -> Option<&str> {
        self.log.iter().find(|entry| entry.at < time).map(|entry| &*entry.commit)
    }
}

/// How a branch was made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Created {
    /// Its first commit, which it shares with what it was made from.
    pub(crate) at: String,
    /// The name of what it was made from; none for what was checked out.
    pub(crate) from: Option<String>,
}

/// Finds the commits that were made here. Without logs there are none.
pub(crate) fn made(git: &Git, branch: Option<&str>) -> Made {
    let mut made = Made::default();
    let checked_out = git.branch();
    let is_here = checked_out.is_none() || checked_out.as_deref() == branch;
    let at_end = checked_out.as_deref().or(branch);
    for (entry, on) in attributed(&entries(git, "HEAD"), at_end) {
        if on.as_deref() == branch {
            made.on_branch.insert(entry.commit.clone(), entry.at);
        }
        if is_here {
            made.in_tree.insert(entry.commit, entry.at);
        }
    }
    if let Some(branch) = branch {
        made.log = entries(git, &format!("refs/heads/{branch}"));
        made.branched_at = made.log.last().map(|entry| entry.commit.clone());
        made.created = made.log.last().and_then(|entry| created(entry, branch));
        let own = made.log.iter().filter(|entry| makes(&entry.action));
        made.on_branch.extend(own.map(|entry| (entry.commit.clone(), entry.at)));
    }
    made
}

/// Finds the commits that were made in a work tree since a time, in seconds.
pub(crate) fn made_since(git: &Git, time: Option<i64>) -> Vec<String> {
    let is_later = move |entry: &Entry| time.is_none_or(|time| entry.at >= time);
    let made = |entry: &Entry| makes(&entry.action);
    let found = entries(git, "HEAD").into_iter().filter(is_later).filter(made);
    found.map(|entry| entry.commit).collect()
}

/// Returns what the remote's branch of the same name last brought: a fetch brings what was made elsewhere, a push does not.
/// What has no log came with the clone.
pub(crate) fn fetched(git: &Git, branch: &str) -> Option<String> {
    let name = format!("refs/remotes/origin/{branch}");
    let log = entries(git, &name);
    if log.is_empty() {
        return git.commit(&name);
    }
    log.into_iter().find(|entry| entry.action != "update by push").map(|entry| entry.commit)
}

/// Reads how a branch was made. One that was fetched goes on with what the remote has of it.
fn created(entry: &Entry, branch: &str) -> Option<Created> {
    let from = entry.action.strip_prefix("branch: Created from ")?;
    let short = from.strip_prefix("refs/remotes/").unwrap_or(from);
    if short.split_once('/').is_some_and(|(_, name)| name == branch) {
        return None;
    }
    let from = (from != "HEAD").then(|| from.to_owned());
    Some(Created { at: entry.commit.clone(), from })
}

/// Returns what was checked out at a time, in seconds.
pub(crate) fn checked_out_at(git: &Git, time: i64) -> Option<String> {
    entries(git, "HEAD").into_iter().find(|entry| entry.at <= time).map(|entry| entry.commit)
}

/// Says of each commit that was made on which branch that was. The log comes newest first and is read backwards; what is checked
/// out at its end is known. While a rebase runs, no branch is checked out, but the one it returns to is meant.
fn attributed(log: &[Entry], branch: Option<&str>) -> Vec<(Entry, Option<String>)> {
    let mut on = branch.map(str::to_owned);
    let mut found = Vec::new();
    for entry in log {
        if makes(&entry.action) {
            found.push((entry.clone(), on.clone()));
        } else if let Some(from) = moved_from(&entry.action) {
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
    let moved = |entry: &Entry| {
        let (from, to) =
            entry.action.strip_prefix("checkout: moving from ")?.rsplit_once(" to ")?;
        (to == branch && from != branch).then(|| from.to_owned())
    };
    entries(git, "HEAD").iter().rev().find_map(moved)
}

/// Commits and what was done when, newest first.
fn entries(git: &Git, name: &str) -> Vec<Entry> {
    let format = "--format=%H %gd %gs";
    let args = ["log", "-g", "--no-show-signature", "--date=unix", format, ENTRIES_MAX, name, "--"];
    let Some(output) = git.output(&args).filter(|output| output.status.success()) else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(entry).collect()
}

/// Reads `commit ref@{time} action`.
fn entry(line: &str) -> Option<Entry> {
    let (commit, rest) = line.split_once(' ')?;
    let (selector, action) = rest.split_once(' ').unwrap_or((rest, ""));
    let at = selector.split_once("@{")?.1.strip_suffix('}')?.parse().ok()?;
    Some(Entry { commit: commit.to_owned(), at, action: action.to_owned() })
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
        let read =
            |(commit, action): &(&str, &str)| entry(&format!("{commit} HEAD@{{7}} {action}"));
        let log: Vec<Entry> = log.iter().filter_map(read).collect();
        let found = attributed(&log, Some("work"));
        let found: Vec<(&str, &str)> =
            found.iter().map(|(entry, on)| (&*entry.commit, on.as_deref().unwrap())).collect();
        assert_eq!(found, [("6", "work"), ("3", "main"), ("1", "work")]);
    }

    #[test]
    fn a_log_tells_what_a_branch_was_made_from() {
        let from = |action: &str| {
            let line = format!("c refs/heads/feat/2@{{1700000000}} {action}");
            created(&entry(&line).unwrap(), "feat/2").map(|created| created.from)
        };
        let named = |name: &str| Some(Some(name.to_owned()));
        assert_eq!(from("branch: Created from feat/1"), named("feat/1"));
        assert_eq!(from("branch: Created from main~2"), named("main~2"));
        assert_eq!(from("branch: Created from HEAD"), Some(None));
        assert_eq!(from("branch: Created from refs/remotes/origin/feat/2"), None, "the same one");
        assert_eq!(from("branch: Created from origin/feat/2"), None);
        assert_eq!(from("commit: x"), None, "what came before is forgotten");
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
