//! What belongs to a piece of work: the commit that its changes are counted from, and the commits that are its own.

use crate::defaults;
use crate::git::Git;
use crate::notes::Begin;
use crate::reflog::{self, Made};
use crate::story;
use crate::told::Told;
use crate::whose::{self, Scene};
use std::collections::BTreeSet;

/// A piece of work in the history.
#[derive(Debug)]
pub(crate) struct Span {
    /// The commit, or the empty tree, that changes are counted from.
    pub(crate) base: String,
    /// Its own commits since it was claimed, newest first.
    pub(crate) commits: Vec<String>,
    /// The files that its own commits touch, when others' commits lie between them.
    pub(crate) touched: Option<BTreeSet<String>>,
}

/// What belongs to a piece of work, as far as can be told.
#[derive(Debug)]
pub(crate) struct Found {
    /// What counts against constraints.
    pub(crate) span: Span,
    /// The same with what does not count but may be listed.
    pub(crate) wide: Option<Span>,
    /// The files that a list must have; all that count, when there is no doubt.
    pub(crate) sure: Option<BTreeSet<String>>,
    /// Whether something else is under way in the same tree, on the branch that all commit to.
    pub(crate) is_shared: bool,
}

/// A task, and its claim as far as that is known.
#[derive(Clone, Copy)]
pub(crate) struct Claimed<'a> {
    pub(crate) task: &'a str,
    pub(crate) fence: Option<u64>,
    /// Whether it must not commit.
    pub(crate) must_not_commit: bool,
    /// What the store tells.
    pub(crate) told: Told<'a>,
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

/// The part of the history since the work began.
struct Since<'a> {
    git: &'a Git,
    begin: Option<Begin>,
    /// The commit that has the work, or that the work tree is based on.
    tip: &'a str,
    /// Where others' work comes from.
    others: Vec<String>,
    /// What was checked out at claims.
    claimed_at: Vec<String>,
}

/// Finds what belongs to a piece of work up to a commit; none when it cannot be told where it began.
///
/// Changes are counted from the nearest of: where a default branch was left, and where the work was when it was claimed.
/// The first leaves out what others merged meanwhile; the second counts work on the default branch itself. A place that has
/// the work's own commits behind it is not the beginning, whoever published them.
pub(crate) fn find(git: &Git, claim: Claimed<'_>, tip: &str, said: Option<&str>) -> Option<Found> {
    let own = branch_of(git, tip, said);
    let made = reflog::made(git, own.as_deref());
    let from = made.created.as_ref().and_then(|created| created.from.as_deref());
    let others = defaults::tips(git, own.as_deref(), from);
    let Some(story) = story::of(git, claim.task, claim.fence) else {
        return unclaimed(git, tip, others);
    };
    let on_default = own.as_deref().is_some_and(|name| defaults::is_default(git, name));
    let mut claimed_at = story.resumed.clone();
    claimed_at.extend(story.begin.commit().map(str::to_owned));
    let mut since = Since { git, begin: Some(story.begin.clone()), tip, others, claimed_at };
    // What a branch has in common with the one it was made from is not its own, even when that has moved on.
    let shared = made.created.as_ref().filter(|created| !on_default && created.from.is_some());
    since.others.extend(shared.map(|created| created.at.clone()));
    let goes_back = !on_default && !claim.must_not_commit && claim.told.not_before.is_some();
    let earlier = if goes_back { since.go_back(&made) } else { BTreeSet::new() };
    let all = since.commits(&[tip], &[]);
    let mut commits: BTreeSet<String> = if since.others.is_empty() {
        all.iter().cloned().collect()
    } else {
        since.commits(&[tip], &since.others).into_iter().collect()
    };
    if commits.len() < all.len() {
        let made_here = since.made_here(&made, claim.told.claimed_at(story.first));
        commits.extend(all.iter().filter(|commit| made_here.contains(*commit)).cloned());
    }
    let scene = Scene {
        git,
        task: claim.task,
        told: claim.told,
        story: &story,
        tip,
        on_default,
        must_not_commit: claim.must_not_commit,
        earlier: &earlier,
        made: &made.on_branch,
    };
    Some(since.found(&scene, &all, commits))
}

/// Work whose claim is not known here. What is published may be anybody's, from any time.
fn unclaimed(git: &Git, tip: &str, others: Vec<String>) -> Option<Found> {
    if others.is_empty() {
        return None;
    }
    let since = Since { git, begin: None, tip, others, claimed_at: Vec::new() };
    let commits = since.commits(&[tip], &since.others);
    let base = since.nearest(&commits.iter().cloned().collect())?;
    let span = Span { base, commits, touched: None };
    Some(Found { span, wide: None, sure: None, is_shared: false })
}

impl Since<'_> {
    /// Moves the beginning back to where a branch was made, when it was committed to before the claim; returns those commits.
    fn go_back(&mut self, made: &Made) -> BTreeSet<String> {
        let (Some(Begin::Commit(begin)), Some(created)) = (&self.begin, &made.created) else {
            return BTreeSet::new();
        };
        let mut args = vec!["rev-list", begin.as_str(), "--not", created.at.as_str()];
        args.extend(self.others.iter().map(String::as_str));
        let earlier: BTreeSet<String> = self.git.lines(&args).into_iter().collect();
        let is_behind = self.git.does(&["merge-base", "--is-ancestor", begin, self.tip]);
        if earlier.is_empty() || !is_behind {
            return BTreeSet::new();
        }
        let mut places: Vec<String> = self.others.clone();
        places.push(created.at.clone());
        let meet = |place: &String| self.git.line(&["merge-base", place, begin]);
        let floor = places.iter().filter_map(meet).min_by_key(|place| self.distance(place));
        self.begin = floor.map(Begin::Commit);
        earlier
    }

    /// Puts together what counts, what may be listed and what must be.
    fn found(&self, scene: &Scene<'_>, all: &[String], commits: BTreeSet<String>) -> Found {
        let mut sorted = whose::sort(scene, commits);
        let is_shared = scene.on_default && !scene.told.beside.is_empty();
        let is_sure = sorted.shared.is_empty() && !is_shared;
        let listed = |set: &BTreeSet<String>| -> Vec<String> {
            all.iter().filter(|commit| set.contains(*commit)).cloned().collect()
        };
        let sure = (!is_sure).then(|| touched(self.git, &listed(&sorted.own)));
        let mut counted = sorted.own;
        counted.append(&mut sorted.shared);
        let mut span = self.span(all, &counted);
        let wide = (!sorted.left.is_empty()).then(|| {
            let may_be = counted.union(&sorted.left).cloned().collect();
            self.span(all, &may_be)
        });
        span.commits.retain(|commit| !scene.earlier.contains(commit));
        Found { span, wide, sure, is_shared }
    }

    fn span(&self, all: &[String], own: &BTreeSet<String>) -> Span {
        let nearest = self.nearest(own);
        let base = nearest.unwrap_or_else(|| self.tip.to_owned());
        let after = self.commits(&[self.tip], std::slice::from_ref(&base));
        let mixed = after.iter().any(|commit| !own.contains(commit));
        let commits: Vec<String> =
            all.iter().filter(|commit| own.contains(*commit)).cloned().collect();
        let touched = mixed.then(|| touched(self.git, &commits));
        Span { base, commits, touched }
    }

    fn distance(&self, place: &str) -> u64 {
        let range = format!("{place}..{}", self.tip);
        let count = self.git.line(&["rev-list", "--count", "--end-of-options", &range]);
        count.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
    }

    /// Lists commits since the work began, newest first: those of `of` that are not of `without`.
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

    /// Lists the commits that were made for this work, as far as logs tell: on its branch, or in its work tree since the claim
    /// and before the branch was made. What was made on another branch and merged is another's work.
    fn made_here(&self, made: &Made, claimed: Option<i64>) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = made.on_branch.keys().cloned().collect();
        if let Some(branched_at) = &made.branched_at {
            let in_tree = |commit: &String| made.in_tree.get(commit);
            let here = |commit: &String| {
                in_tree(commit).is_some_and(|at| claimed.is_none_or(|since| *at >= since))
            };
            found.extend(self.commits(&[branched_at], &[]).into_iter().filter(here));
        }
        found
    }

    /// Returns the nearest place that has none of the work's own commits behind it.
    fn nearest(&self, own: &BTreeSet<String>) -> Option<String> {
        let merge_base = |tip: &str| self.git.line(&["merge-base", tip, self.tip]);
        let mut places: BTreeSet<String> =
            self.others.iter().chain(&self.claimed_at).filter_map(|tip| merge_base(tip)).collect();
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
        let nearest = if places.len() < 2 {
            places.into_iter().next()
        } else {
            places.into_iter().min_by_key(|place| self.distance(place))
        };
        nearest.or_else(|| self.begin.as_ref().map(|begin| begin.object().to_owned()))
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
