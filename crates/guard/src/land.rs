//! What the land rule has to see: what a round changed, what a merge added, and what was changed before it was leased.

use crate::base_branch::Standing;
use crate::git::{Git, WorkTree};
use crate::span;
use comity_core::ids::AgentId;
use comity_core::observed::{FileChange, LeaseSeen};
use comity_core::pattern::spell_path;
use comity_core::task::Task;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Commits of the base branch that are searched for the one that brought the work.
const MERGES_MAX: &str = "--max-count=100000";

/// Lists the names that differ between two commits; none when git cannot tell.
pub(crate) fn names(git: &Git, from: &str, to: &str) -> Option<BTreeSet<String>> {
    let args =
        ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", from, to];
    let output = git.output(&args).filter(|output| output.status.success())?;
    Some(spelled(&output.stdout))
}

pub(crate) fn spelled(listed: &[u8]) -> BTreeSet<String> {
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(spell_path).collect()
}

/// Returns which files of the work are as they were when it was handed in last.
pub(crate) fn as_submitted(
    git: &Git,
    task: &Task,
    commit: &str,
    files: &[FileChange],
) -> BTreeSet<String> {
    let last = task.handed_in.as_ref().and_then(|round| round.commit.as_deref());
    let Some(changed) = last.and_then(|last| names(git, last, commit)) else {
        return BTreeSet::new();
    };
    let all = files.iter().flat_map(|file| file.moved_from.iter().chain([&file.path]));
    all.filter(|path| !changed.contains(*path)).cloned().collect()
}

/// Lists what the merge that brought a commit changes beyond it. A merge is judged by its difference to its first parent;
/// commits that came without a merge are those that were handed in. None when git cannot tell.
pub(crate) fn added_by_merge(git: &Git, submitted: &str, merged: &str) -> Option<Vec<String>> {
    let has = |commit: &str| git.does(&["merge-base", "--is-ancestor", submitted, commit]);
    let nothing = Some(Vec::new());
    if !has(merged) {
        return nothing;
    }
    let range = format!("{submitted}..{merged}");
    let line = git.lines(&["rev-list", "--first-parent", MERGES_MAX, "--end-of-options", &range]);
    // The newest come first, and all that have the work come before all that have not.
    let with_it = line.partition_point(|commit| has(commit));
    let Some(merge) = with_it.checked_sub(1).and_then(|at| line.get(at)) else { return nothing };
    let parent = git.commit(&format!("{merge}^1"))?;
    if has(&parent) {
        return nothing;
    }
    let fork = git.line(&["merge-base", &parent, submitted])?;
    let (brought, work) = (names(git, &parent, merge)?, names(git, &fork, submitted)?);
    Some(brought.difference(&work).cloned().collect())
}

/// A claim whose work a lease may be for, where its files are.
struct Place<'l> {
    task: &'l Task,
    tree: PathBuf,
}

/// Looks whether files that are about to be leased were changed already: where the caller is, where the task was claimed,
/// and on the task's branch. What cannot be seen counts as changed.
pub(crate) fn lease_seen(
    tree: &Path,
    base: Option<&str>,
    rounds: &[Task],
    host: Option<&str>,
    patterns: &[String],
    owner: &AgentId,
) -> LeaseSeen {
    let is_own = |task: &&Task| {
        let claim = task.claim.as_ref();
        claim.is_some_and(|claim| claim.agent == *owner && claim.base.is_some())
    };
    let mut own = rounds.iter().filter(is_own);
    let (Some(task), None) = (own.next(), own.next()) else {
        return LeaseSeen {
            is_ambiguous: rounds.iter().filter(is_own).count() > 1,
            ..Default::default()
        };
    };
    let claim = task.claim.as_ref();
    let elsewhere = claim
        .filter(|claim| claim.host.as_deref() == host)
        .and_then(|claim| claim.workspace.as_ref())
        .map(PathBuf::from)
        .filter(|there| there != tree && there.is_dir());
    let mut changed = BTreeSet::new();
    for tree in std::iter::once(tree.to_owned()).chain(elsewhere) {
        match changed_at(&Place { task, tree }, base, patterns) {
            Some(found) => changed.extend(found),
            None => return LeaseSeen { is_ambiguous: true, ..LeaseSeen::default() },
        }
    }
    LeaseSeen { changed: changed.into_iter().collect(), is_ambiguous: false }
}

fn changed_at(
    place: &Place<'_>,
    base: Option<&str>,
    patterns: &[String],
) -> Option<BTreeSet<String>> {
    let git = Git::at(&place.tree);
    let files = WorkTree::of(&place.tree)?;
    let begin = place.task.claim.as_ref()?.base.as_deref()?;
    let last = place.task.handed_in.as_ref().and_then(|round| round.commit.as_deref());
    let literal = patterns.iter().all(|text| !text.contains(['*', '?', '[', '{', ']', '}']));
    let only: &[String] = if literal { patterns } else { &[] };
    // A file that is as it was at the claim needs no further question.
    let mut changed = files.differs_from(begin, only)?;
    let tip = place.task.branch.as_deref().and_then(|branch| git.branch_commit(branch));
    if changed.is_empty() && tip.is_none_or(|tip| tip == begin || files.head.as_ref() == Some(&tip))
    {
        return Some(changed);
    }
    let standing = Standing::of(&git, base).ok()?;
    let from = |tip: Option<&str>| span::begin(&git, tip, begin, standing.base.as_deref());
    let here = from(files.head.as_deref())?;
    if here != begin {
        changed = files.differs_from(&here, only)?;
    }
    if let Some(last) = last {
        let since = files.differs_from(last, only)?;
        changed.retain(|path| since.contains(path));
    }
    if let Some(tip) = place.task.branch.as_deref().and_then(|branch| git.branch_commit(branch)) {
        let mut committed = names(&git, &from(Some(&tip))?, &tip)?;
        if let Some(last) = last {
            let since = names(&git, last, &tip)?;
            committed.retain(|path| since.contains(path));
        }
        changed.extend(committed);
    }
    Some(changed)
}
