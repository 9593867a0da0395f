//! The branch that gets the work, the work trees that have it checked out, and the note of a landing that is under way.

use crate::base_branch;
use crate::git::Git;
use comity_core::ids::TaskId;
use comity_core::refusal::{Code, Refusal};
use std::path::{Path, PathBuf};

/// A local branch.
pub(super) struct Branch {
    pub name: String,
    pub tip: String,
}

impl Branch {
    /// Finds a branch: the one that is named, else the base branch. Work lands on a local branch only.
    pub fn find(git: &Git, named: Option<&str>, set: Option<&str>) -> Result<Branch, Refusal> {
        let name = match named.or(set) {
            Some(name) => name.strip_prefix("refs/heads/").unwrap_or(name).to_owned(),
            None => base_branch::name(git).ok_or_else(|| {
                Refusal::input("there is no base branch").hint("name the branch that gets the work")
            })?,
        };
        let reference = format!("refs/heads/{name}");
        // `main~1` is a commit and no branch.
        let is_name = git.does(&["check-ref-format", &reference]);
        let tip = git.commit(&reference).filter(|_| is_name).ok_or_else(|| {
            let shown = comity_core::ids::shorten(&name);
            Refusal::input(format!("there is no local branch {shown:?}"))
                .hint("make the branch first, or name another one")
        })?;
        Ok(Branch { name, tip })
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.name)
    }

    /// Moves the branch, if it still is where it was seen; tells whether it was.
    pub fn moved(&self, git: &Git, tasks: &str, to: &str) -> Result<bool, Refusal> {
        let reason = format!("comity: land {tasks}");
        let reference = self.reference();
        let args = ["update-ref", "--create-reflog", "-m", &reason, &reference, to, &self.tip];
        if git.does(&args) {
            return Ok(true);
        }
        match git.commit(&reference) {
            Some(now) if now == self.tip => {
                Err(Refusal::new(Code::Internal, format!("git could not move {}", self.name))
                    .hint("another process of git may hold the branch; try again"))
            }
            _ => Ok(false),
        }
    }

    /// Lists the work trees that have the branch checked out.
    fn trees(&self, git: &Git) -> Vec<PathBuf> {
        let output = git.output(&["worktree", "list", "--porcelain", "-z"]);
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let wanted = format!("branch {}", self.reference());
        let mut found = Vec::new();
        // Each work tree is a group of lines, and an empty line ends it.
        for group in text.unwrap_or_default().split("\0\0") {
            let lines: Vec<&str> = group.split('\0').collect();
            let place = lines.iter().find_map(|line| line.strip_prefix("worktree "));
            if let Some(place) = place.filter(|_| lines.contains(&wanted.as_str())) {
                found.push(PathBuf::from(place));
            }
        }
        found.retain(|place| place.is_dir());
        found
    }

    /// Refuses a move that a work tree could not follow without losing what is not committed there.
    pub fn can_follow(&self, git: &Git, to: &str) -> Result<(), Refusal> {
        for tree in self.trees(git) {
            let here = here(&tree)?;
            let is_merging = here.commit("MERGE_HEAD").is_some();
            let dry = ["read-tree", "-m", "-u", "--dry-run", &self.tip, to];
            // A file that was only touched differs in its time alone.
            let _ = here.does(&["update-index", "-q", "--refresh"]);
            if is_merging || !here.does(&dry) {
                let message = format!(
                    "{} has {} checked out, with uncommitted changes that the work would overwrite",
                    tree.display(),
                    self.name
                );
                return Err(Refusal::new(Code::TargetDirty, message)
                    .hint("commit or stash them there, or check another branch out there")
                    .detail("work_tree", tree.to_string_lossy())
                    .detail("branch", self.name.as_str()));
            }
        }
        Ok(())
    }

    /// Brings the work trees along that have the branch checked out, as `git merge --ff-only` would. Doing it twice changes
    /// nothing. Returns remarks.
    pub fn followed(&self, git: &Git, to: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        for tree in self.trees(git) {
            let Ok(here) = here(&tree) else { continue };
            let place = tree.display();
            let _ = here.does(&["update-index", "-q", "--refresh"]);
            if here.commit("HEAD").as_deref() != Some(to) {
                continue;
            }
            let lfs =
                here.lines(&["diff", "--name-only", &self.tip, to, "--", ":(attr:filter=lfs)"]);
            if !lfs.is_empty() {
                let text =
                    format!("note: {} files of Git LFS in {place} are pointers now", lfs.len());
                remarks.push(text);
            }
            remarks.push(match here.does(&["read-tree", "-m", "-u", &self.tip, to]) {
                true => format!("note: {place} has {} checked out and was brought along", self.name),
                false => format!(
                    "note: {place} has {} checked out and was not brought along; its files are those of {}",
                    self.name,
                    self.tip.get(..10).unwrap_or(&self.tip)
                ),
            });
        }
        remarks
    }
}

/// Git in a work tree that somebody has. Its files are written without the filters that settings name.
fn here(tree: &Path) -> Result<Git, Refusal> {
    Git::at(tree).without_filters().ok_or_else(|| {
        let message = format!("git could not read the settings of {}", tree.display());
        Refusal::new(Code::Unobserved, message)
    })
}

/// The refs of a landing that is under way: what was merged, into what, and from what. They keep the commits from being
/// collected, and nothing more: anybody can set a ref.
pub(super) struct Journal {
    place: String,
}

impl Journal {
    pub fn of(task: &TaskId) -> Journal {
        let text = task.as_str();
        let odd = text.contains("..") || text.ends_with('.') || text.ends_with(".lock");
        let name = if odd { text.replace('.', "%2E") } else { text.to_owned() };
        Journal { place: format!("refs/comity/landing/{name}") }
    }

    fn entry(&self, name: &str) -> String {
        format!("{}/{name}", self.place)
    }

    pub fn write(&self, git: &Git, base: &str, work: &str, merged: &str) -> Result<(), Refusal> {
        let entries = [("base", base), ("work", work), ("merged", merged)];
        let line = |(name, commit): (&str, &str)| format!("update {} {commit}\n", self.entry(name));
        match self.change(git, entries.map(line).concat()) {
            true => Ok(()),
            false => {
                let message = format!("git could not write {}", self.place);
                Err(Refusal::new(Code::Internal, message))
            }
        }
    }

    /// Changes all entries at once.
    fn change(&self, git: &Git, lines: String) -> bool {
        let output = git.fed(&["update-ref", "--stdin"], lines);
        output.is_some_and(|output| output.status.success())
    }

    pub fn clear(&self, git: &Git) {
        let names = ["merged", "work", "base"].map(|name| self.entry(name));
        let there = names.iter().filter(|name| git.commit(name).is_some());
        // What is left behind is overwritten by the next landing of the task.
        self.change(git, there.map(|name| format!("delete {name}\n")).collect());
    }
}
