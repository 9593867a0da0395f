//! What belongs to a piece of work: the commit that its changes are counted from, and the commits that are its own.

use crate::git::Git;
use crate::notes::{Begin, begun};
use crate::{defaults, names, reflog};
use std::collections::BTreeSet;

/// A piece of work in the history.
#[derive(Debug)]
pub(crate) struct Span {
    /// The commit, or the empty tree, that changes are counted from.
    pub(crate) base: String,
    /// Its own commits, newest first.
    pub(crate) commits: Vec<String>,
    /// The files that its own commits touch, when others' commits lie between them.
    pub(crate) touched: Option<BTreeSet<String>>,
}

/// A task, and its claim as far as that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed<'a> {
    pub(crate) task: &'a str,
    pub(crate) fence: Option<u64>,
}

/// Returns the branch that a commit is on: the one that it is said to be on when that has it, else one that ends there.
fn branch_of(git: &Git, tip: &str, said: Option<&str>) -> Option<String> {
    let has = |name: &&str| {
        let end = git.branch_commit(name);
        end.is_some_and(|end| git.does(&["merge-base", "--is-ancestor", tip, &end]))
    };
    let there = || {
        let format = "--format=%(refname:short)";
        let names = git.lines(&["for-each-ref", format, "--points-at", tip, "refs/heads/"]);
        names.into_iter().find(|name| !defaults::is_default(git, name))
    };
    said.filter(has).map(str::to_owned).or_else(there)
}

/// The part of the history since a claim.
struct Since<'a> {
    git: &'a Git,
    begin: Option<Begin>,
    /// The commit that has the work, or that the work tree is based on.
    tip: &'a str,
    /// Where others' work comes from.
    others: Vec<String>,
}

/// Finds what belongs to a piece of work up to a commit; none when it cannot be told where it began.
///
/// Changes are counted from the nearest of: where a default branch was left, and where the work was when it was claimed.
/// The first leaves out what others merged meanwhile; the second counts work on the default branch itself. A place that has
/// the work's own commits behind it is not the beginning, whoever published them.
pub(crate) fn span(git: &Git, claim: Claimed<'_>, tip: &str, said: Option<&str>) -> Option<Span> {
    let Claimed { task, fence } = claim;
    let own = branch_of(git, tip, said);
    let others = defaults::tips(git, own.as_deref());
    let since = Since { git, begin: begun(git, task, fence), tip, others };
    if since.begin.is_none() && since.others.is_empty() {
        return None;
    }
    let all = since.commits(&[tip], &[]);
    let unpublished = match since.others.is_empty() {
        true => all.clone(),
        false => since.commits(&[tip], &since.others),
    };
    let mut commits: BTreeSet<&String> = unpublished.iter().collect();
    if since.begin.is_none() {
        // What is published may be anybody's, from any time.
        let base = since.nearest(&commits)?;
        return Some(Span { base, commits: unpublished, touched: None });
    }
    if unpublished.len() < all.len() {
        let made = since.made_here(own.as_deref());
        commits.extend(all.iter().filter(|commit| made.contains(*commit)));
    }
    let elsewhere = since.handed_in_elsewhere(task, &commits);
    commits.retain(|commit| !elsewhere.contains(*commit));
    let base = since.nearest(&commits)?;
    let after: Vec<String> = since.commits(&[tip], std::slice::from_ref(&base));
    let mixed = after.iter().any(|commit| !commits.contains(commit));
    let own: Vec<String> = all.iter().filter(|commit| commits.contains(commit)).cloned().collect();
    let touched = mixed.then(|| touched(git, &own));
    Some(Span { base, commits: own, touched })
}

impl Since<'_> {
    /// Lists commits since the claim, newest first: those of `of` that are not of `without`.
    fn commits(&self, of: &[&str], without: &[String]) -> Vec<String> {
        let mut args = vec!["rev-list"];
        args.extend(of);
        args.push("--not");
        // The empty tree has no history to leave out.
        let is_empty =
            |object: &&str| matches!(&self.begin, Some(Begin::Nothing(tree)) if tree == object);
        args.extend(without.iter().map(String::as_str).filter(|object| !is_empty(object)));
        args.extend(self.begin.as_ref().and_then(Begin::commit));
        self.git.lines(&args)
    }

    /// Lists the commits that were made for this work, as far as logs tell: on its branch, or in its work tree before the branch
    /// was made. What was made on another branch and merged is another's work.
    fn made_here(&self, branch: Option<&str>) -> BTreeSet<String> {
        let made = reflog::made(self.git, branch);
        let mut found = made.on_branch;
        if let Some(branched_at) = &made.branched_at {
            let before = self.commits(&[branched_at], &[]);
            found.extend(before.into_iter().filter(|commit| made.in_tree.contains(commit)));
        }
        found
    }

    /// Returns the nearest place that has none of the work's own commits behind it.
    fn nearest(&self, own: &BTreeSet<&String>) -> Option<String> {
        let merge_base = |tip: &str| self.git.line(&["merge-base", tip, self.tip]);
        let mut places: BTreeSet<String> =
            self.others.iter().filter_map(|tip| merge_base(tip)).collect();
        match &self.begin {
            // Of two histories with nothing in common only the trees can be compared.
            Some(Begin::Commit(begin)) => {
                places.insert(merge_base(begin).unwrap_or_else(|| begin.clone()));
            }
            Some(Begin::Nothing(_)) => {}
            None => places.retain(|place| place != self.tip),
        }
        let before =
            |place: &String| self.commits(&[place], &[]).iter().all(|commit| !own.contains(commit));
        if self.begin.is_some() {
            places.retain(before);
        }
        let distance = |place: &String| {
            let range = format!("{place}..{}", self.tip);
            let count = self.git.line(&["rev-list", "--count", "--end-of-options", &range]);
            count.and_then(|text| text.parse::<u64>().ok()).unwrap_or(u64::MAX)
        };
        let nearest = if places.len() < 2 {
            places.into_iter().next()
        } else {
            places.into_iter().min_by_key(distance)
        };
        nearest.or_else(|| self.begin.as_ref().map(|begin| begin.object().to_owned()))
    }

    /// Lists those of the commits that were handed in with another task: an agent may do one while another waits.
    fn handed_in_elsewhere(&self, task: &str, own: &BTreeSet<&String>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let this = names::escaped(task);
        let format = "--format=%(objectname) %(refname)";
        for line in self.git.lines(&["for-each-ref", format, names::HANDED_IN]) {
            let Some((commit, name)) = line.split_once(' ') else { continue };
            let place = name.strip_prefix(names::HANDED_IN).and_then(|rest| rest.split_once('/'));
            let Some((other, fence)) = place else { continue };
            if other == this || !own.contains(&commit.to_owned()) {
                continue;
            }
            let began = format!("refs/comity/begin/{other}/{fence}");
            if let Some(began) = self.git.commit(&began) {
                found.extend(self.commits(&[commit], &[began]));
            }
        }
        found
    }
}

/// Lists the files that commits touch. Of a merge it is what differs from all of its parents: the rest came with them.
fn touched(git: &Git, commits: &[String]) -> BTreeSet<String> {
    let args = [
        "diff-tree",
        "--stdin",
        "--root",
        "-r",
        "-c",
        "-z",
        "--name-only",
        "--no-commit-id",
        "--no-renames",
        "--no-ext-diff",
    ];
    let listed: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
    let output = git.fed(&args, &listed).filter(|output| output.status.success());
    let names = output.map(|output| output.stdout).unwrap_or_default();
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
