//! What commits touch; of a merge, what was done in it by hand.

use crate::git::Git;
use std::collections::BTreeSet;

/// A merge that is not what git makes of its parents.
#[derive(Clone, Debug)]
pub(crate) struct Amended {
    /// The tree that git makes of them.
    pub(crate) clean: String,
    /// The files that differ from that.
    pub(crate) names: BTreeSet<String>,
}

/// What commits touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// The files.
    pub(crate) names: BTreeSet<String>,
    /// The merges among them that have something of their own.
    pub(crate) amended: Vec<Amended>,
}

/// Lists the files that commits touch. Of a merge it is what differs from all of its parents, and what differs from what git
/// makes of them: the rest came with them.
pub(crate) fn touched(git: &Git, commits: &[String]) -> Touched {
    let args =
        ["diff-tree", "--stdin", "--root", "-r", "-c", "-z", "--name-only", "--no-commit-id"];
    let args = [args.as_slice(), &["--no-renames", "--no-ext-diff"]].concat();
    let output = git.fed(&args, &listed(commits)).filter(|output| output.status.success());
    let mut names = separate(&output.map(|output| output.stdout).unwrap_or_default());
    let merges = parents(git, commits);
    let amended: Vec<Amended> = merges.iter().filter_map(|merge| amended(git, merge)).collect();
    names.extend(amended.iter().flat_map(|merge| merge.names.iter().cloned()));
    Touched { names, amended }
}

/// Finds those of some commits that merge only what is among others, with nothing done by hand.
pub(crate) fn plain_merges(
    git: &Git,
    commits: &[String],
    others: &BTreeSet<String>,
) -> BTreeSet<String> {
    let is_plain = |merge: &Vec<String>| {
        let merged = merge.get(2..).unwrap_or_default();
        merged.iter().all(|parent| others.contains(parent)) && amended(git, merge).is_none()
    };
    let merges = parents(git, commits).into_iter().filter(is_plain);
    merges.filter_map(|merge| merge.into_iter().next()).collect()
}

/// Lists merges of two, each with its parents.
fn parents(git: &Git, commits: &[String]) -> Vec<Vec<String>> {
    if commits.is_empty() {
        return Vec::new();
    }
    let args =
        ["rev-list", "--no-walk", "--parents", "--min-parents=2", "--max-parents=2", "--stdin"];
    let output = git.fed(&args, &listed(commits)).filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    text.unwrap_or_default().lines().map(words).collect()
}

/// Compares a merge with what git makes of its parents; none when they are the same, or git is too old to tell. Where git
/// stops at a conflict, somebody has to decide, whichever side it is for.
fn amended(git: &Git, merge: &[String]) -> Option<Amended> {
    let [commit, first, second] = merge else { return None };
    let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", first, second];
    let output = git.output(&args)?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return None;
    }
    let mut fields = output.stdout.splitn(2, |byte| *byte == 0);
    let clean = String::from_utf8_lossy(fields.next()?).trim().to_owned();
    let in_conflict = separate(fields.next().unwrap_or_default());
    let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff"];
    let output = git.output(&[args.as_slice(), &[&clean, commit]].concat())?;
    let names: BTreeSet<String> =
        separate(&output.stdout).difference(&in_conflict).cloned().collect();
    (!names.is_empty()).then_some(Amended { clean, names })
}

fn listed(commits: &[String]) -> String {
    commits.iter().map(|commit| format!("{commit}\n")).collect()
}

/// Reads names that each end with a zero.
fn separate(bytes: &[u8]) -> BTreeSet<String> {
    let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
