//! A branch that lost commits of a run, and what a person wants of it. Nothing is lost: what the branch or the work tree had is kept
//! under a ref of the run.

use super::Supervisor;
use crate::workspace::checked_out;
use comity_api::{ById, op};
use comity_core::refusal::{Code, Refusal};
use comity_core::supervise::Settle;
use comity_core::view::RunView;
use comity_guard::git::Git;
use std::path::PathBuf;

fn could_not(what: &str) -> Refusal {
    Refusal::new(Code::CouldNotRun, format!("git could not {what}"))
}

fn does(git: &Git, args: &[&str]) -> bool {
    git.output(args).is_some_and(|output| output.status.success())
}

impl Supervisor<'_> {
    pub(super) fn settle(&self, settle: Settle) -> Result<(), Refusal> {
        let (Settle::Restore(id) | Settle::TakeBranch(id)) = settle;
        let run = self.context.ask::<op::RunShow>(ById { id: id.to_string() })?.run;
        let Some(branch) = run.branch.clone() else { return Ok(()) };
        let tree = run.workspace.as_ref().map(PathBuf::from);
        let tree = tree.filter(|tree| tree.join(".git").is_dir());
        let root = Git::at(&self.context.root.dir);
        let tip = root.commit(&format!("refs/heads/{branch}"));
        let wanted = match settle {
            Settle::Restore(_) => {
                let last = run.milestones.iter().rev().find(|one| one.verified);
                let sha =
                    last.map(|one| one.sha.clone()).ok_or_else(|| could_not("find a commit"))?;
                if let Some(tree) = &tree {
                    fetch(&root, tree, &run, &sha);
                }
                root.commit(&sha).ok_or_else(|| could_not(&format!("find the commit {sha}")))?
            }
            Settle::TakeBranch(_) => {
                tip.clone().ok_or_else(|| could_not(&format!("find the branch {branch}")))?
            }
        };
        if tip.as_ref() != Some(&wanted) {
            move_branch(&root, &id.to_string(), &branch, tip.as_deref(), &wanted)?;
        }
        match tree {
            Some(tree) => follow(&root, &tree, &id.to_string(), &branch, &wanted),
            None => Ok(()),
        }
    }
}

/// Brings a commit of a work tree into the project's repository, though no branch there has it any more.
fn fetch(root: &Git, tree: &std::path::Path, run: &RunView, sha: &str) {
    let id = run.id.as_deref().unwrap_or_default();
    let name = format!("refs/comity/run/{id}/restored");
    if does(&Git::at(tree), &["update-ref", &name, sha]) {
        let refs = format!("+{name}:{name}");
        let path = tree.to_string_lossy();
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", &path, &refs];
        does(root, &args);
    }
}

fn move_branch(
    root: &Git,
    run: &str,
    branch: &str,
    tip: Option<&str>,
    wanted: &str,
) -> Result<(), Refusal> {
    if checked_out(root, branch) {
        return Err(Refusal::new(Code::CouldNotRun, format!("{branch} is checked out somewhere"))
            .hint("check out another branch there, or move it back there"));
    }
    let kept = format!("refs/comity/run/{run}/diverged");
    if let Some(tip) = tip
        && !does(root, &["update-ref", &kept, tip])
    {
        return Err(could_not(&format!("keep {tip}")));
    }
    let none = "0".repeat(wanted.len());
    let was = tip.unwrap_or(&none);
    if does(root, &["update-ref", &format!("refs/heads/{branch}"), wanted, was]) {
        return Ok(());
    }
    Err(could_not(&format!("move {branch}")))
}

/// Lets the work tree of the run go on from a commit. What it had is kept.
fn follow(
    root: &Git,
    tree: &std::path::Path,
    run: &str,
    branch: &str,
    wanted: &str,
) -> Result<(), Refusal> {
    let git = Git::at(tree).without_filters().ok_or_else(|| could_not("read the work tree"))?;
    let head = git.commit("HEAD");
    if head.as_deref() == Some(wanted) && git.branch().as_deref() == Some(branch) {
        return Ok(());
    }
    let files = comity_guard::git::snapshot(tree, run)?;
    let name = format!("refs/comity/run/{run}/replaced");
    let (path, refs) = (tree.to_string_lossy(), format!("+{name}:{name}"));
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", &path, &refs];
    if !does(&git, &["update-ref", &name, &files]) || !does(root, &fetch) {
        return Err(could_not("keep the files of the work tree"));
    }
    if does(&git, &["checkout", "--quiet", "--force", "-B", branch, wanted]) {
        return Ok(());
    }
    Err(could_not(&format!("check out {wanted}")))
}
