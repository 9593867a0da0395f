//! What belongs to a piece of work: the commit that its changes are counted from, and the commits that are its own.

use crate::defaults;
use crate::git::Git;
use crate::merges::{self, Touched};
use crate::notes::Begin;
use crate::reflog::{self, Made};
use crate::story::{self, Story};
use crate::told::{Taken, Told};
use crate::whose::{self, Scene};
use std::collections::BTreeSet;

/// A piece of work in the history.
#[derive(Debug)]
pub(crate) struct Span {
    /// The commit, or the empty tree, that changes are counted from.
    pub(crate) base: String,
    /// Its own commits since it was claimed, newest first.
    pub(crate) commits: Vec<String>,
    /// What its own commits touch, when others' commits lie between them.
    pub(crate) touched: Option<Touched>,
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
    /// Commits of a task that must not commit, which were left on another branch.
    pub(crate) aside: Vec<String>,
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
    /// Those of them that are the default branch.
    published: Vec<String>,
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
    let mut made = reflog::made(git, own.as_deref());
    let from = made.created.as_ref().and_then(|created| created.from.as_deref());
    let tips = defaults::tips(git, own.as_deref(), from);
    let others = [tips.published.clone(), tips.sources].concat();
    let Some(story) = story::of(git, claim.task, claim.fence) else {
        return unclaimed(git, tip, others);
    };
    let branch = own.as_deref().filter(|name| !defaults::is_default(git, name));
    let on_default = own.is_some() && branch.is_none();
    let mut claimed_at = story.resumed.clone();
    claimed_at.extend(story.begin.commit().map(str::to_owned));
    let (begin, published) = (Some(story.begin.clone()), tips.published);
    let mut since = Since { git, begin, tip, others, published, claimed_at };
    // What a branch has in common with the one it was made from is not its own, even when that has moved on.
    let shared = made.created.as_ref().filter(|created| !on_default && created.from.is_some());
    since.others.extend(shared.map(|created| created.at.clone()));
    let claimed = claim.told.claimed_at(story.first);
    if let (Some(_), Some(time)) = (branch, claimed) {
        since.begin_on_branch(&made, time);
    }
    let goes_back = !on_default && !claim.must_not_commit && claim.told.not_before.is_some();
    let earlier = if goes_back { since.go_back(&made) } else { BTreeSet::new() };
    let mut came = branch.map(|branch| since.without_fetched(branch)).unwrap_or_default();
    let all = since.commits(&[tip], &[]);
    let mut commits: BTreeSet<String> = if since.others.is_empty() {
        all.iter().cloned().collect()
    } else {
        since.commits(&[tip], &since.others).into_iter().collect()
    };
    let mut elsewhere = BTreeSet::new();
    if commits.len() < all.len() {
        made.in_others = made_in_others(&claim, &story);
        let here = since.made_here(&made, &story, claimed);
        commits.extend(all.iter().filter(|commit| here.contains(*commit)).cloned());
        elsewhere = since.made_before(&made);
        elsewhere.extend(since.in_another_form(&made, &all, &commits, claimed));
        elsewhere.retain(|commit| !commits.contains(commit));
        commits.extend(elsewhere.iter().cloned());
    }
    came.retain(|commit| !commits.contains(commit));
    let scene = Scene {
        git,
        task: claim.task,
        told: claim.told,
        story: &story,
        tip,
        on_default,
        must_not_commit: claim.must_not_commit,
        earlier: &earlier,
        elsewhere: &elsewhere,
        made: &made.on_branch,
    };
    let mut found = since.found(&scene, &all, commits, came);
    let last = claim.fence.and_then(|fence| claim.told.claimed_at(fence));
    if let Some(time) = last.filter(|_| claim.must_not_commit && claim.told.beside.is_empty()) {
        found.aside = since.left_aside(&scene, &made, time);
    }
    Some(found)
}

/// Lists the commits that were made in the work trees that a task was claimed in, since then.
fn made_in_others(claim: &Claimed<'_>, story: &Story) -> BTreeSet<String> {
    let of_story = |taken: &&Taken| {
        taken.fence >= story.first && claim.fence.is_none_or(|fence| taken.fence <= fence)
    };
    let claims = claim.told.taken.iter().filter(of_story);
    let logs = claims.filter_map(|taken| Some((Git::at(taken.tree.as_ref()?), taken.at)));
    logs.flat_map(|(git, at)| reflog::made_since(&git, at)).collect()
}

/// Work whose claim is not known here. What is published may be anybody's, from any time.
fn unclaimed(git: &Git, tip: &str, others: Vec<String>) -> Option<Found> {
    if others.is_empty() {
        return None;
    }
    let (published, claimed_at) = (Vec::new(), Vec::new());
    let since = Since { git, begin: None, tip, others, published, claimed_at };
    let commits = since.commits(&[tip], &since.others);
    let base = since.nearest(&commits.iter().cloned().collect())?;
    let span = Span { base, commits, touched: None };
    Some(Found { span, wide: None, sure: None, is_shared: false, aside: Vec::new() })
}

impl Since<'_> {
    /// Moves the beginning to where a branch was at the claim, when something else was checked out then.
    fn begin_on_branch(&mut self, made: &Made, claimed: i64) {
        let (Some(Begin::Commit(begin)), Some(place)) = (&self.begin, made.before(claimed)) else {
            return;
        };
        if !self.is_behind(place, begin) && self.is_behind(place, self.tip) {
            self.others.push(begin.clone());
            self.begin = Some(Begin::Commit(place.to_owned()));
        }
    }

    /// Moves the beginning back to where a branch was made, when it was committed to before the claim; returns those commits.
    fn go_back(&mut self, made: &Made) -> BTreeSet<String> {
        let Some(Begin::Commit(begin)) = &self.begin else { return BTreeSet::new() };
        let mut places: Vec<String> = self.others.clone();
        places.extend(made.created.as_ref().map(|created| created.at.clone()));
        let mut args = vec!["rev-list", begin.as_str(), "--not"];
        args.extend(places.iter().map(String::as_str));
        let meet = |place: &String| self.git.line(&["merge-base", place, begin]);
        let floor = places.iter().filter_map(meet).min_by_key(|place| self.distance(place));
        let Some(floor) = floor.filter(|_| self.is_behind(begin, self.tip)) else {
            return BTreeSet::new();
        };
        let earlier: BTreeSet<String> = self.git.lines(&args).into_iter().collect();
        if !earlier.is_empty() {
            self.begin = Some(Begin::Commit(floor));
        }
        earlier
    }

    fn is_behind(&self, place: &str, of: &str) -> bool {
        self.git.does(&["merge-base", "--is-ancestor", place, of])
    }

    /// Takes out what came with a fetch of the same branch, which was made elsewhere; returns those commits.
    fn without_fetched(&mut self, branch: &str) -> BTreeSet<String> {
        let Some(fetched) = reflog::fetched(self.git, branch) else { return BTreeSet::new() };
        if !self.is_behind(&fetched, self.tip) {
            return BTreeSet::new();
        }
        let came = self.commits(&[&fetched], &self.others);
        self.others.push(fetched);
        came.into_iter().collect()
    }

    /// Puts together what counts, what may be listed and what must be.
    fn found(
        &self,
        scene: &Scene<'_>,
        all: &[String],
        commits: BTreeSet<String>,
        came: BTreeSet<String>,
    ) -> Found {
        let mut sorted = whose::sort(scene, commits);
        sorted.left.extend(came);
        let is_shared = scene.on_default && !scene.told.beside.is_empty();
        let is_sure = sorted.shared.is_empty() && !is_shared;
        let listed = |set: &BTreeSet<String>| -> Vec<String> {
            all.iter().filter(|commit| set.contains(*commit)).cloned().collect()
        };
        let sure = (!is_sure).then(|| merges::touched(self.git, &listed(&sorted.own)).names);
        let mut counted = sorted.own;
        counted.append(&mut sorted.shared);
        let mut span = self.span(all, &counted);
        // What others put on the default branch in another form differs from the beginning only.
        let begin = self.begin.as_ref().map_or(&*span.base, Begin::object).to_owned();
        let wide = (!sorted.left.is_empty() || begin != span.base).then(|| {
            let commits = listed(&counted.union(&sorted.left).cloned().collect());
            let touched = Some(merges::touched(self.git, &commits));
            Span { base: begin, commits, touched }
        });
        span.commits.retain(|commit| !scene.earlier.contains(commit));
        Found { span, wide, sure, is_shared, aside: Vec::new() }
    }

    /// Lists the commits that were made in this work tree since the last claim, and are on another branch now.
    fn left_aside(&self, scene: &Scene<'_>, made: &Made, claimed: i64) -> Vec<String> {
        let since = made.in_tree.iter().filter(|(_, at)| **at >= claimed);
        let made: BTreeSet<&String> = since.map(|(commit, _)| commit).collect();
        if made.is_empty() {
            return Vec::new();
        }
        let kept = self.commits(&["--branches", "--remotes"], &[self.tip.to_owned()]);
        let kept = kept.into_iter().filter(|commit| made.contains(commit)).collect();
        let scene = Scene { on_default: true, ..*scene };
        whose::sort(&scene, kept).own.into_iter().collect()
    }

    fn span(&self, all: &[String], own: &BTreeSet<String>) -> Span {
        let nearest = self.nearest(own);
        let base = nearest.unwrap_or_else(|| self.tip.to_owned());
        let after = self.commits(&[self.tip], std::slice::from_ref(&base));
        let mixed = after.iter().any(|commit| !own.contains(commit));
        let commits: Vec<String> =
            all.iter().filter(|commit| own.contains(*commit)).cloned().collect();
        let touched = mixed.then(|| merges::touched(self.git, &commits));
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
    /// and before the branch was made; and what an earlier claim of it ended with, when the branch was made from that.
    fn made_here(&self, made: &Made, story: &Story, claimed: Option<i64>) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = made.on_branch.keys().cloned().collect();
        if let Some(branched_at) = &made.branched_at {
            let in_tree = |commit: &String| made.in_tree.get(commit);
            let here = |commit: &String| {
                in_tree(commit).is_some_and(|at| claimed.is_none_or(|since| *at >= since))
            };
            found.extend(self.commits(&[branched_at], &[]).into_iter().filter(here));
        }
        let Some(created) = &made.created else { return found };
        for end in story.gaps.iter().map(|gap| &gap.end) {
            let has_it = |place: &String| self.is_behind(end, place);
            if has_it(&created.at) && !self.published.iter().any(has_it) {
                let others = self.others.iter().filter(|place| !has_it(place)).cloned();
                found.extend(self.commits(&[end], &others.collect::<Vec<_>>()));
            }
        }
        found
    }

    /// Lists the commits that were made before the branch was, in another work tree that the task was claimed in, since then.
    fn made_before(&self, made: &Made) -> BTreeSet<String> {
        let Some(branched_at) = made.branched_at.as_ref().filter(|_| !made.in_others.is_empty())
        else {
            return BTreeSet::new();
        };
        let before = self.commits(&[branched_at], &[]).into_iter();
        before.filter(|commit| made.in_others.contains(commit)).collect()
    }

    /// Lists the commits that were made in this work tree since the claim, on another branch, and touch only what the work
    /// itself touches: it was squashed or picked there. What touches something else may be a colleague's.
    fn in_another_form(
        &self,
        made: &Made,
        all: &[String],
        own: &BTreeSet<String>,
        claimed: Option<i64>,
    ) -> BTreeSet<String> {
        let since = |commit: &String| {
            claimed.is_some_and(|time| made.in_tree.get(commit).is_some_and(|at| *at >= time))
        };
        let mut found: BTreeSet<String> =
            all.iter().filter(|commit| !own.contains(*commit) && since(commit)).cloned().collect();
        if !found.is_empty() {
            let own: Vec<String> = own.iter().cloned().collect();
            let known = merges::touched(self.git, &own).names;
            found.retain(|commit| {
                let names = merges::touched(self.git, std::slice::from_ref(commit)).names;
                !names.is_empty() && names.is_subset(&known)
            });
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
