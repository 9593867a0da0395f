//! The constraints of a task against the real diff, and what an agent says it changed.

use crate::base::{self, Claimed, Found, Span};
use crate::diff::{Change, changes, names_between};
use crate::git::Git;
use crate::notes::Claim;
use crate::told::{Beside, Told};
use crate::{deps, names, report};
use comity_core::command::{FileAction, ReportedFile};
use comity_core::pattern::{Pattern, RepoPath};
use comity_core::refusal::Refusal;
use comity_core::task::Constraints;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// Commits that are named when there should be none.
const COMMITS_SHOWN: usize = 20;

/// A piece of work to be checked.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The work tree.
    pub tree: &'a Path,
    /// The task's id.
    pub task: &'a str,
    /// The fence of its claim.
    pub fence: Option<u64>,
    /// The commit that has the work.
    pub commit: &'a str,
    /// Whether that commit is comity's own snapshot of the work tree.
    pub is_snapshot: bool,
    /// What the task allows.
    pub constraints: &'a Constraints,
    /// What the agent says it changed, when it says so.
    pub reported: Option<&'a [ReportedFile]>,
    /// The round of work: from the second on, a file made in the first may be called modified.
    pub round: u32,
    /// The branch that it is said to be on.
    pub branch: Option<&'a str>,
    /// The branch that it has to be on, where a project names the branches.
    pub wanted_branch: Option<&'a str>,
    /// What the store tells of the task.
    pub told: Told<'a>,
    /// Tells whether comity wrote a file by itself: that is nobody's work.
    pub is_comitys: &'a dyn Fn(&Change) -> bool,
}

impl Work<'_> {
    fn claimed(&self) -> Claimed<'_> {
        let must_not_commit = self.constraints.no_git_commit;
        Claimed { task: self.task, fence: self.fence, must_not_commit, told: self.told }
    }
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The constraint: `max_files`, `no_git_commit`, `no_new_deps`, `allow_delete`, `files_modified` or `branch`;
    /// `unchecked` when git cannot tell.
    pub constraint: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The file it is about.
    pub path: Option<String>,
}

impl Violation {
    pub(crate) fn new(
        constraint: &'static str,
        path: Option<&str>,
        message: impl Into<String>,
    ) -> Violation {
        Violation { constraint, message: message.into(), path: path.map(str::to_owned) }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// The commit that changes are counted from; none when that cannot be told.
    pub base: Option<String>,
    /// The commit that was looked at.
    pub commit: String,
    /// What differs.
    pub files: Vec<Change>,
    /// What is not as it should be.
    pub violations: Vec<Violation>,
    /// Other tasks that are under way in the same tree, where files that count may be theirs.
    #[serde(skip)]
    pub(crate) beside: Vec<Beside>,
    /// The commit that `git reset --soft` goes back to without taking others' commits along.
    #[serde(skip)]
    pub(crate) undone_at: Option<String>,
}

impl Findings {
    /// Returns the refusal that lists everything; none when all is well.
    pub fn refusal(&self, task: &str) -> Option<Refusal> {
        report::refusal(self, task)
    }
}

/// Checks a piece of work. Where git cannot tell what it changes, that is wrong only when it has to be known; the base is none
/// then.
pub fn check(work: &Work<'_>) -> Result<Findings, Refusal> {
    let git = Git::at(work.tree);
    let mut violations = Vec::new();
    let commit = git.commit(work.commit);
    if let Some(wanted) = work.wanted_branch {
        on_branch(&git, work, wanted, commit.as_deref(), &mut violations);
    }
    let tip = if work.is_snapshot { git.commit("HEAD") } else { commit.clone() };
    // A snapshot in a repository without a commit has a history of one.
    let found = tip
        .or_else(|| commit.clone())
        .and_then(|tip| base::find(&git, work.claimed(), &tip, work.branch));
    let (Some(commit), Some(found)) = (&commit, found) else {
        unchecked(work, commit.is_some(), &mut violations);
        let (commit, files) = (work.commit.to_owned(), Vec::new());
        let (beside, undone_at) = (Vec::new(), None);
        return Ok(Findings { base: None, commit, files, violations, beside, undone_at });
    };
    let span = &found.span;
    if work.constraints.no_git_commit {
        let commits: Vec<&String> = span.commits.iter().chain(&found.aside).collect();
        committed(&git, work, &commits, &mut violations);
    }
    let Changed { files, must, may } = all_changed(&git, work, &found, commit)?;
    too_many(work, &files, &mut violations);
    deleted(work, &files, &mut violations);
    if work.constraints.no_new_deps {
        violations.extend(deps::added(&git, &span.base, commit, &files));
    }
    if let Some(reported) = work.reported {
        let over_time = work.round > 1 || span.touched.is_some();
        let (must, is_comitys) = (must.as_ref(), work.is_comitys);
        let list = List { reported, files: &files, must, may: &may, over_time, is_comitys };
        list.differences(&mut violations);
    }
    let in_doubt = must.as_ref().is_some_and(|must| files.iter().any(|file| !is_named(file, must)));
    let beside = if in_doubt { work.told.beside.to_vec() } else { Vec::new() };
    let undone_at = span.touched.is_none().then(|| git.commit(&span.base)).flatten();
    let base = Some(found.span.base);
    Ok(Findings { base, commit: commit.clone(), files, violations, beside, undone_at })
}

/// Tells whether a commit has work on a task that was committed since a time, in seconds.
pub fn has_work(tree: &Path, claim: Claim<'_>, commit: &str, since: i64) -> bool {
    let git = Git::at(tree);
    let commit = git.commit(commit);
    let (task, fence, told) = (claim.task, Some(claim.fence), Told::NOTHING);
    let claimed = Claimed { task, fence, must_not_commit: false, told };
    let branch = git.branch();
    let found = commit.and_then(|tip| base::find(&git, claimed, &tip, branch.as_deref()));
    let own = found.into_iter().flat_map(|found| found.span.commits);
    let own: String = own.map(|commit| commit + "\n").collect();
    if own.is_empty() {
        return false;
    }
    let args = ["log", "--no-walk", "--no-show-signature", "--format=%ct", "--stdin"];
    let times = git.fed(&args, &own).map(|output| output.stdout).unwrap_or_default();
    let times = String::from_utf8_lossy(&times).into_owned();
    times.lines().filter_map(|time| time.parse::<i64>().ok()).any(|time| time >= since)
}

/// What the work changed.
struct Changed {
    /// What counts.
    files: Vec<Change>,
    /// The names that a list must have; all that count, when there is no doubt.
    must: Option<BTreeSet<String>>,
    /// What a list may have beside.
    may: Vec<Change>,
}

/// Finds what the work changed, and what of it is in doubt because others are at work in the same place.
fn all_changed(
    git: &Git,
    work: &Work<'_>,
    found: &Found,
    commit: &str,
) -> Result<Changed, Refusal> {
    let mut must = found.sure.clone();
    // What is in no commit is everybody's where several work in one tree.
    if let Some(must) = must.as_mut().filter(|_| work.is_snapshot && !found.is_shared) {
        must.extend(names_between(git, "HEAD", commit)?);
    }
    let wide = found.wide.as_ref().map(|wide| changed(git, work, wide, commit));
    let mut may = wide.transpose()?.unwrap_or_default();
    let mut files = changed(git, work, &found.span, commit)?;
    if let (Some(must), true) = (&must, found.is_shared) {
        let (theirs, rest): (Vec<Change>, Vec<Change>) = files
            .into_iter()
            .partition(|file| !is_named(file, must) && is_declared_by_another(work, file));
        may.extend(theirs);
        files = rest;
    }
    files.retain(|file| !(work.is_comitys)(file));
    Ok(Changed { files, must, may })
}

/// Tells whether a file is one that another's task beside this one declares, and this one does not.
fn is_declared_by_another(work: &Work<'_>, file: &Change) -> bool {
    let Ok(path) = RepoPath::parse(&file.path) else { return false };
    let has = |files: &[String]| {
        let patterns = files.iter().filter_map(|text| Pattern::parse(text).ok());
        patterns.into_iter().any(|pattern| pattern.covers(&path))
    };
    let mut theirs = work.told.beside.iter().filter(|other| other.is_anothers);
    !has(work.told.files) && theirs.any(|other| has(&other.files))
}

/// Tells whether a file is among names, where it is or where it was.
fn is_named(file: &Change, names: &BTreeSet<String>) -> bool {
    let old = file.moved_from.as_ref();
    names.contains(&file.git_path) || old.is_some_and(|old| names.contains(old))
}

/// Lists what the work changed: what differs from its base, less what others or an earlier time brought.
fn changed(git: &Git, work: &Work<'_>, span: &Span, commit: &str) -> Result<Vec<Change>, Refusal> {
    let mut files = changes(git, &span.base, commit)?;
    let keep = |files: &mut Vec<Change>, names: &BTreeSet<String>| {
        files.retain(|file| is_named(file, names));
    };
    if let Some(touched) = &span.touched {
        let mut names = touched.names.clone();
        if work.is_snapshot {
            names.extend(names_between(git, "HEAD", commit)?);
        }
        keep(&mut files, &names);
        // What a merge took away of what others had added is no difference from the base.
        for merge in &touched.amended {
            let mut more = changes(git, &merge.clean, commit)?;
            more.retain(|file| {
                is_named(file, &merge.names) && files.iter().all(|known| known.path != file.path)
            });
            files.append(&mut more);
        }
    }
    let before = || git.commit(&names::before(work.task));
    if work.is_snapshot
        && work.constraints.no_git_commit
        && let Some(before) = before()
    {
        keep(&mut files, &names_between(git, &before, commit)?);
    }
    Ok(files)
}

/// What must be known and cannot be is not taken on trust.
fn unchecked(work: &Work<'_>, is_known: bool, found: &mut Vec<Violation>) {
    if *work.constraints == Constraints::default() && work.reported.is_none() {
        return;
    }
    let message = if is_known {
        format!("git cannot tell where the work on {} began", work.task)
    } else {
        let shown: String = work.commit.chars().take(40).collect();
        format!("git knows no commit {shown} here")
    };
    found.push(Violation::new("unchecked", None, format!("{message}, so it cannot be checked")));
}

/// A project that names its branches wants the work there, and not only said to be there.
fn on_branch(
    git: &Git,
    work: &Work<'_>,
    wanted: &str,
    commit: Option<&str>,
    found: &mut Vec<Violation>,
) {
    let message = match work.branch {
        None => format!("the work is on no branch, but belongs on {wanted}"),
        Some(given) if given != wanted => {
            format!("the work is on {given}, but belongs on {wanted}")
        }
        // What is checked out is there, even when nothing was committed yet.
        Some(_) if git.branch().as_deref() == Some(wanted) && work.is_snapshot => return,
        Some(_) => {
            let tip = git.branch_commit(wanted);
            let has = |tip: String| {
                commit
                    .is_some_and(|commit| git.does(&["merge-base", "--is-ancestor", commit, &tip]))
            };
            if tip.is_some_and(has) {
                return;
            }
            format!("the work is said to be on {wanted}, but git does not find it there")
        }
    };
    found.push(Violation::new("branch", None, message));
}

fn committed(git: &Git, work: &Work<'_>, commits: &[&String], found: &mut Vec<Violation>) {
    // A snapshot is comity's own.
    let made = commits.iter().filter(|commit| !work.is_snapshot || **commit != work.commit);
    for commit in made.take(COMMITS_SHOWN) {
        let short: String = commit.chars().take(10).collect();
        let subject = git.line(&["show", "--no-patch", "--format=%s", commit]).unwrap_or_default();
        let message = format!("{} must not commit, but {short} was made: {subject}", work.task);
        found.push(Violation::new("no_git_commit", None, message));
    }
}

fn too_many(work: &Work<'_>, files: &[Change], found: &mut Vec<Violation>) {
    let Some(most) = work.constraints.max_files else { return };
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    if files.len() > limit {
        let message = format!("{} files are changed, at most {most} may be", files.len());
        found.push(Violation::new("max_files", None, message));
    }
}

fn deleted(work: &Work<'_>, files: &[Change], found: &mut Vec<Violation>) {
    let allowed: Vec<Pattern> =
        work.constraints.allow_delete.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
    for file in files.iter().filter(|file| file.action == FileAction::Deleted) {
        let covered = RepoPath::parse(&spelled(&file.path))
            .is_ok_and(|path| allowed.iter().any(|pattern| pattern.covers(&path)));
        if !covered {
            let message = format!("{} is deleted, which allow_delete does not allow", file.path);
            found.push(Violation::new("allow_delete", Some(&file.path), message));
        }
    }
}

/// A name as patterns can match it: what they cannot spell is replaced.
fn spelled(path: &str) -> String {
    path.replace(|c: char| c == '\\' || c.is_control(), "\u{fffd}")
}

/// What the agent says, beside what git says.
struct List<'a> {
    reported: &'a [ReportedFile],
    files: &'a [Change],
    must: Option<&'a BTreeSet<String>>,
    may: &'a [Change],
    over_time: bool,
    is_comitys: &'a dyn Fn(&Change) -> bool,
}

impl List<'_> {
    /// Compares the two, both ways.
    fn differences(&self, found: &mut Vec<Violation>) {
        const NAME: &str = "files_modified";
        for said in self.reported {
            if let Some(message) = self.untrue(said) {
                found.push(Violation::new(NAME, Some(&said.path), message));
            }
        }
        for file in self.files {
            // A name that no contract can spell cannot be asked for.
            let can_be_listed = spelled(&file.path) == file.path;
            let must = can_be_listed && self.must.is_none_or(|names| is_named(file, names));
            if must && !self.reported.iter().any(|said| said.path == file.path) {
                let message = format!("{} is {}, but not listed", file.path, file.action.as_str());
                found.push(Violation::new(NAME, Some(&file.path), message));
            }
        }
    }

    /// Says what is wrong with an entry.
    fn untrue(&self, said: &ReportedFile) -> Option<String> {
        let ReportedFile { path, action, .. } = said;
        let word = action.as_str();
        let fits_here = |file: &&Change| fits(*action, file, self.over_time);
        let is_it = |file: &&Change| file.path == *path;
        let fits_there = |file: &Change| file.path == *path && fits(*action, file, true);
        let moved_away = || {
            let mut all = self.files.iter().chain(self.may);
            all.any(|file| file.moved_from.as_deref() == Some(path))
        };
        let entry = Change::named(path, FileAction::Created);
        match self.files.iter().find(is_it) {
            Some(file) if fits_here(&file) => None,
            _ if self.may.iter().any(fits_there) || (self.is_comitys)(&entry) => None,
            Some(file) => {
                Some(format!("{path} is said to be {word}, but is {}", file.action.as_str()))
            }
            // Who moves a file may well say that it is gone from its old place.
            None if *action == FileAction::Deleted && moved_away() => None,
            None => Some(format!("{path} is said to be {word}, but is unchanged")),
        }
    }
}

/// What was made some time ago, in an earlier round or by somebody else, may be called made or modified.
fn fits(said: FileAction, file: &Change, over_time: bool) -> bool {
    let kept = said != FileAction::Deleted && file.action != FileAction::Deleted;
    said == FileAction::Changed
        || said == file.action
        || (kept && (file.moved_from.is_some() || over_time))
}
