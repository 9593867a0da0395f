//! Where pieces of work began and ended, noted as refs while claims come and go.

use crate::git::{Git, snapshot};
use crate::refs::{Known, Repository};
use crate::{defaults, names, reflog, story};
use comity_core::refusal::{Code, Refusal};
use std::collections::BTreeSet;
use std::path::Path;

/// A claim of a task.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The task's id.
    pub task: &'a str,
    /// The claim's fence, which is larger than that of every claim before.
    pub fence: u64,
}

/// Where a piece of work began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// At this commit.
    Commit(String),
    /// Before the first commit of a repository; this is the empty tree.
    Nothing(String),
}

impl Begin {
    /// Returns what git compares with.
    pub(crate) fn object(&self) -> &str {
        match self {
            Begin::Commit(object) | Begin::Nothing(object) => object,
        }
    }

    /// Returns the commit whose history does not belong to the work.
    pub(crate) fn commit(&self) -> Option<&str> {
        match self {
            Begin::Commit(commit) => Some(commit),
            Begin::Nothing(_) => None,
        }
    }
}

/// What the log of the store tells of a task's earlier claims.
pub trait Past {
    /// Tells whether the task was finished since the claim with a fence.
    fn finished_since(&mut self, fence: u64) -> bool;
    /// Returns how a claim ended that was made in this work tree; none when that is not known.
    fn ended(&mut self, fence: u64) -> Option<Ended>;
}

/// How a claim ended that its holder did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When, in seconds.
    pub at: i64,
    /// Whether it expired and the one who had it takes it again: then nobody knew of the end.
    pub unnoticed: bool,
}

/// Notes where the work under a claim begins: at what is checked out, or where an earlier claim of the task began when its
/// work goes on. Tells whether it is the task's first. A claim that was noted before stays as it is.
pub fn begins(
    git: &Git,
    tree: &Path,
    claim: Claim<'_>,
    past: &mut dyn Past,
) -> Result<bool, Refusal> {
    let name = names::begin(claim.task, claim.fence);
    let Some(last) = noted(git, tree, claim.task).last().copied() else {
        return note_head(git, tree, claim.task, &name).map(|()| true);
    };
    if last >= claim.fence {
        return Ok(false);
    }
    let earlier = story::of(git, claim.task, Some(last)).map(|story| story.begin);
    let goes_on = |begin: &Begin| {
        let last = Claim { fence: last, ..claim };
        !past.finished_since(last.fence) && goes_on(git, last, begin, past)
    };
    let Some(begin) = earlier.filter(goes_on) else {
        return note_head(git, tree, claim.task, &name).map(|()| false);
    };
    note_head(git, tree, claim.task, &names::resume(claim.task, claim.fence))?;
    let noted = git.does(&["update-ref", &name, begin.object()]);
    if noted { Ok(false) } else { Err(not_noted(claim.task)) }
}

/// Notes what is in a work tree before the work on a task that must not commit, so that it is not taken for a part of it.
pub fn was_there_before(git: &Git, tree: &Path, task: &str) -> Result<(), Refusal> {
    if git.line(&["status", "--porcelain"]).is_none() {
        return Ok(());
    }
    let commit = snapshot(tree, task)?;
    let noted = git.does(&["update-ref", &names::before(task), &commit]);
    if noted { Ok(()) } else { Err(not_noted(task)) }
}

/// Notes where the work under a claim ended: at what is checked out; and what of it was handed in.
pub fn ends(
    git: &Git,
    tree: &Path,
    claim: Claim<'_>,
    handed_in: Option<&str>,
) -> Result<(), Refusal> {
    note_head(git, tree, claim.task, &names::end(claim.task, claim.fence))?;
    let Some(commit) = handed_in.and_then(|commit| git.commit(commit)) else { return Ok(()) };
    let name = names::handed_in(claim.task, claim.fence);
    let in_files = Repository::of(tree).is_some_and(|files| files.write(&name, &commit));
    let noted = in_files || git.does(&["update-ref", &name, &commit]);
    if noted { Ok(()) } else { Err(not_noted(claim.task)) }
}

fn not_noted(task: &str) -> Refusal {
    Refusal::new(Code::Internal, format!("git could not note where the work on {task} begins"))
}

/// Returns the fences of the claims that were noted.
fn noted(git: &Git, tree: &Path, task: &str) -> BTreeSet<u64> {
    let prefix = names::begins(task);
    match Repository::of(tree).map_or(Known::AskGit, |files| files.numbers(&prefix)) {
        Known::Is(found) => found,
        Known::None => BTreeSet::new(),
        Known::AskGit => {
            let refs = git.lines(&["for-each-ref", "--format=%(refname)", &prefix]);
            refs.iter().filter_map(|name| name.strip_prefix(&prefix)?.parse().ok()).collect()
        }
    }
}

/// Makes a ref of what is checked out, without a call of git where that can be: a claim is too short to wait for one.
fn note_head(git: &Git, tree: &Path, task: &str, name: &str) -> Result<(), Refusal> {
    if let Some(files) = Repository::of(tree)
        && let Known::Is(head) = files.head()
        && files.write(name, &head)
    {
        return Ok(());
    }
    let empty = || git.line(&["hash-object", "-w", "-t", "tree", "--stdin"]);
    let object = git.commit("HEAD").or_else(empty);
    let noted = object.is_some_and(|object| git.does(&["update-ref", name, &object]));
    if noted { Ok(()) } else { Err(not_noted(task)) }
}

/// Tells whether what is checked out goes on with the work under an earlier claim: the commits that were made then are still
/// there, as they were or rebased. On a branch of its own they may be gone, and nothing is lost by counting from there.
fn goes_on(git: &Git, earlier: Claim<'_>, begin: &Begin, past: &mut dyn Past) -> bool {
    let on_default = git.branch().is_some_and(|branch| defaults::is_default(git, &branch));
    let end = match git.commit(&names::end(earlier.task, earlier.fence)) {
        Some(end) => end,
        None if !on_default => return true,
        None => {
            let Some(ended) = past.ended(earlier.fence) else { return false };
            let end = note_end(git, earlier, ended);
            if ended.unnoticed {
                return true;
            }
            let Some(end) = end else { return false };
            end
        }
    };
    let Some(head) = git.commit("HEAD") else { return false };
    let mut args = vec!["rev-list", "--count", "--no-merges", &end];
    args.extend(begin.commit().map(|_| "--not"));
    args.extend(begin.commit());
    let made: usize = git.line(&args).and_then(|text| text.parse().ok()).unwrap_or_default();
    if made == 0 {
        // What must not be committed was handed in all the same, and somebody else may have committed it since.
        return git.commit(&names::snapshot(earlier.task)).is_some();
    }
    if !on_default {
        return true;
    }
    let mut args = vec!["cherry", &head, &end];
    args.extend(begin.commit());
    let gone = git.lines(&args).iter().filter(|line| line.starts_with('+')).count();
    gone < made
}

/// Notes where a claim ended that its holder did not end, as far as the log of HEAD tells.
fn note_end(git: &Git, claim: Claim<'_>, ended: Ended) -> Option<String> {
    let end = reflog::checked_out_at(git, ended.at)?;
    let name = if ended.unnoticed { names::lapse } else { names::end };
    git.does(&["update-ref", &name(claim.task, claim.fence), &end]).then_some(end)
}
