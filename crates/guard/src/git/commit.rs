//! Questions about commits, and the snapshot of a work tree that must not be committed to.

use super::{Git, WorkTree};
use comity_core::hint::say;
use comity_core::refusal::{Code, Refusal};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// Commits compared by patch at most. Their ids fit into a pipe, so that writing all patches to
/// `git patch-id` before reading its output cannot block.
const PATCHES_MAX: &str = "--max-count=500";

/// A patch as git itself would print it: whatever a user has set for the screen or for reviews would make
/// equal patches differ. An attribute that calls a file binary hides none of its content.
const PLAIN: [&str; 5] = ["--text", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "-U3"];
/// No message of a commit stands where a patch may be.
const NO_MESSAGE: &str = "--format=commit %H";

/// What git says about the submitted commit and the merged one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// Git does not have one of them.
    Unknown,
    /// The merged commit contains the submitted one, or an equal patch.
    Contained,
    Missing,
}

pub fn containment(tree: &Path, submitted: &str, merged: &str) -> Containment {
    let git = Git::at(tree);
    let (Some(submitted), Some(merged)) = (git.commit(submitted), git.commit(merged)) else {
        return Containment::Unknown;
    };
    let ancestor = git.output(&["merge-base", "--is-ancestor", &submitted, &merged]);
    match ancestor.and_then(|output| output.status.code()) {
        Some(0) => Containment::Contained,
        Some(1) => by_patch(&git, &submitted, &merged),
        _ => Containment::Unknown,
    }
}

/// A rebase or a squash leaves other commits with the same change: either each submitted commit has
/// an equal patch on the merged side, or one merged commit equals the whole submitted change.
fn by_patch(git: &Git, submitted: &str, merged: &str) -> Containment {
    let Some(cherry) = git.output(&["cherry", merged, submitted]) else {
        return Containment::Unknown;
    };
    if !cherry.status.success() {
        return Containment::Unknown;
    }
    let lines = String::from_utf8_lossy(&cherry.stdout).into_owned();
    if !lines.is_empty() && lines.lines().all(|line| line.starts_with('-')) {
        return Containment::Contained;
    }
    let Some(base) = git.line(&["merge-base", submitted, merged]) else {
        return Containment::Missing;
    };
    let whole = patch_ids(git, &[&["diff"], PLAIN.as_slice(), &[&base, submitted]].concat());
    let range = format!("{base}..{merged}");
    let log = ["log", "-p", "--no-merges", NO_MESSAGE, PATCHES_MAX];
    let each = patch_ids(git, &[&log, PLAIN.as_slice(), &["--end-of-options", &range]].concat());
    match whole.first() {
        Some(id) if each.contains(id) => Containment::Contained,
        _ => Containment::Missing,
    }
}

/// Returns the ids of the patches that a git command prints.
fn patch_ids(git: &Git, args: &[&str]) -> Vec<String> {
    let Some(patch) = git.output(args).filter(|output| output.status.success()) else {
        return Vec::new();
    };
    let lines = patch_lines(git, &patch.stdout);
    lines.iter().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}

/// Returns the id of each patch, and the commit that it belongs to.
fn patch_lines(git: &Git, patches: &[u8]) -> Vec<String> {
    let mut command = git.command(&["patch-id", "--stable"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return Vec::new() };
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(patches);
    }
    let Ok(output) = child.wait_with_output() else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// The date of a snapshot without a parent.
const NO_DATE: &str = "1970-01-01T00:00:00Z";

fn failed(step: &str, task: &str) -> Refusal {
    Refusal::new(Code::Internal, format!("git could not {step} for the snapshot of {task}"))
        .hint(say("give the commit with ").ask("commit", "SHA"))
}

/// Makes a commit of the work tree as it is, without touching it or its index. The same files give
/// the same commit, so that a repeated submit is the same submit.
pub fn snapshot(tree: &Path, task: &str) -> Result<String, Refusal> {
    snapshot_where(tree, task, &|_| true)
}

/// Makes a commit of the work tree as it is, without new files that are larger than so many bytes. Returns the names of those.
pub fn snapshot_within(
    tree: &Path,
    task: &str,
    most: u64,
) -> Result<(String, Vec<String>), Refusal> {
    let left_out = RefCell::new(Vec::new());
    let commit = snapshot_where(tree, task, &|name| {
        let size = std::fs::symlink_metadata(tree.join(name)).map_or(0, |data| data.len());
        if size > most {
            left_out.borrow_mut().push(name.to_string_lossy().into_owned());
        }
        size <= most
    })?;
    Ok((commit, left_out.into_inner()))
}

fn snapshot_where(
    tree: &Path,
    task: &str,
    wanted: &dyn Fn(&OsStr) -> bool,
) -> Result<String, Refusal> {
    let files = WorkTree::of(tree).ok_or_else(|| failed("look at the work tree", task))?;
    let tree_id = files.write_where(wanted).ok_or_else(|| failed("add the files", task))?;
    let plain = Git::at(tree);
    let date = plain.line(&["show", "--no-patch", "--format=%cI", "HEAD"]);
    let date = date.unwrap_or_else(|| NO_DATE.to_owned());
    let mut git = plain.with("GIT_AUTHOR_DATE", &date).with("GIT_COMMITTER_DATE", &date);
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
        git = git.with(name, "comity");
    }
    for email in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        git = git.with(email, "comity@localhost");
    }
    let message = format!("comity: snapshot of the work on {task}");
    let mut args = vec!["commit-tree", "--no-gpg-sign", &tree_id, "-m", &message];
    if let Some(head) = &files.head {
        args.extend(["-p", head]);
    }
    git.line(&args).ok_or_else(|| failed("make the commit", task))
}

/// The ref of a snapshot that is about to be handed in.
fn pending(commit: &str) -> String {
    format!("refs/comity/pending/{commit}")
}

/// The ref of the snapshot that was handed in. A task's id may be what git takes for no ref; no id has a percent sign, so no
/// two ids are written alike.
fn kept(task: &str) -> String {
    let odd = task.contains("..") || task.ends_with('.') || task.ends_with(".lock");
    let name = if odd { task.replace('.', "%2E") } else { task.to_owned() };
    format!("refs/comity/snapshots/{name}")
}

/// Keeps a snapshot from being collected until it is known whether it was accepted.
pub fn hold(tree: &Path, task: &str, commit: &str) -> Result<(), Refusal> {
    let held = Git::at(tree).does(&["update-ref", &pending(commit), commit]);
    if held { Ok(()) } else { Err(failed("keep the commit", task)) }
}

/// Lets go of a snapshot that was not accepted.
pub fn let_go(tree: &Path, commit: &str) {
    // What stays behind costs nothing.
    let _ = Git::at(tree).does(&["update-ref", "-d", &pending(commit)]);
}

/// Keeps a snapshot that was accepted. Only that may take the place of what was kept before, so that a former
/// holder cannot replace the work of the present one.
pub fn keep(tree: &Path, task: &str, commit: &str) -> Result<(), Refusal> {
    let (name, pending) = (kept(task), pending(commit));
    let both = format!("update {name} {commit}\ndelete {pending}\n");
    let kept = Git::at(tree).fed(&["update-ref", "--stdin"], &both);
    if kept.is_some_and(|output| output.status.success()) {
        return Ok(());
    }
    let message = format!("git could not write {name}; the snapshot is kept as {pending}");
    Err(Refusal::new(Code::Internal, message))
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn an_id_that_git_takes_for_no_ref_is_written_in_another_way() {
        assert_eq!(kept("T-1.a"), "refs/comity/snapshots/T-1.a");
        assert_eq!(kept("x.lock"), "refs/comity/snapshots/x%2Elock");
        assert_eq!(kept("a..b."), "refs/comity/snapshots/a%2E%2Eb%2E");
    }
}
