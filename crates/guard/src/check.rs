//! The constraints of a task against the real diff, and what an agent says it changed.

use crate::deps;
use crate::diff::{Change, changes};
use crate::git::Git;
use crate::{base, report};
use comity_core::command::{FileAction, ReportedFile};
use comity_core::pattern::{Pattern, RepoPath};
use comity_core::refusal::Refusal;
use comity_core::task::Constraints;
use serde::Serialize;
use std::path::Path;

/// Commits that are named when there should be none.
const COMMITS_SHOWN: usize = 20;

/// A piece of work to be checked.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The work tree.
    pub tree: &'a Path,
    /// The task's id.
    pub task: &'a str,
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
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The constraint: `max_files`, `no_git_commit`, `no_new_deps`, `allow_delete` or `files_modified`.
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
}

impl Findings {
    /// Returns the refusal that lists everything; none when all is well.
    pub fn refusal(&self, task: &str) -> Option<Refusal> {
        report::refusal(self, task)
    }
}

/// Checks a piece of work. What cannot be told, because git does not know where the work began, is
/// left out and the base is none.
pub fn check(work: &Work<'_>) -> Result<Findings, Refusal> {
    let git = Git::at(work.tree);
    let commit = git.commit(work.commit);
    let base = commit.as_ref().and_then(|commit| base::find(&git, work.task, commit));
    let mut violations = Vec::new();
    if work.constraints.no_git_commit {
        committed(&git, work, &mut violations);
    }
    let (Some(commit), Some(base)) = (commit, base) else {
        let commit = work.commit.to_owned();
        return Ok(Findings { base: None, commit, files: Vec::new(), violations });
    };
    let files = changes(&git, &base, &commit)?;
    too_many(work, &files, &mut violations);
    deleted(work, &files, &mut violations);
    if work.constraints.no_new_deps {
        violations.extend(deps::added(&git, &base, &commit, &files));
    }
    if let Some(reported) = work.reported {
        differences(work, reported, &files, &mut violations);
    }
    Ok(Findings { base: Some(base), commit, files, violations })
}

fn committed(git: &Git, work: &Work<'_>, found: &mut Vec<Violation>) {
    let tip = if work.is_snapshot { "HEAD" } else { work.commit };
    let commits = base::commits_since(git, work.task, tip, COMMITS_SHOWN);
    for commit in commits {
        let short: String = commit.chars().take(10).collect();
        let subject = git.line(&["show", "--no-patch", "--format=%s", &commit]).unwrap_or_default();
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
        let covered = RepoPath::parse(&file.path)
            .is_ok_and(|path| allowed.iter().any(|pattern| pattern.covers(&path)));
        if !covered {
            let message = format!("{} is deleted, which allow_delete does not allow", file.path);
            found.push(Violation::new("allow_delete", Some(&file.path), message));
        }
    }
}

/// Compares what the agent says with what git says, both ways.
fn differences(
    work: &Work<'_>,
    reported: &[ReportedFile],
    files: &[Change],
    found: &mut Vec<Violation>,
) {
    const NAME: &str = "files_modified";
    for said in reported {
        let action = said.action.as_str();
        let moved_away = files.iter().any(|file| file.moved_from.as_deref() == Some(&said.path));
        match files.iter().find(|file| file.path == said.path) {
            Some(file) if fits(said.action, file, work.round) => {}
            Some(file) => {
                let really = file.action.as_str();
                let message = format!("{} is said to be {action}, but is {really}", said.path);
                found.push(Violation::new(NAME, Some(&said.path), message));
            }
            // Who moves a file may well say that it is gone from its old place.
            None if moved_away && said.action == FileAction::Deleted => {}
            None => {
                let message = format!("{} is said to be {action}, but is unchanged", said.path);
                found.push(Violation::new(NAME, Some(&said.path), message));
            }
        }
    }
    for file in files {
        if !reported.iter().any(|said| said.path == file.path) {
            let message = format!("{} is {}, but not listed", file.path, file.action.as_str());
            found.push(Violation::new(NAME, Some(&file.path), message));
        }
    }
}

fn fits(said: FileAction, file: &Change, round: u32) -> bool {
    let kept = said != FileAction::Deleted && file.action != FileAction::Deleted;
    said == FileAction::Changed
        || said == file.action
        || (kept && (file.moved_from.is_some() || round > 1))
}
