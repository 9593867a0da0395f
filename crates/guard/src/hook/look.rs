//! A look at a work tree: which files differ from the last look. It sees what a shell command wrote.

use crate::git::Git;
use comity_core::refusal::{Code, Refusal};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that one look keeps; a work tree with more changes is looked at up to here.
const FILES_MAX: usize = 10_000;

/// How a file was at a look: when it was written, how long it was, which file it was, and its permissions.
type Sight = (i64, i64, u64, u64, u32);

/// Everything that differs from the last commit, as it was at one look.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    head: Option<String>,
    files: BTreeMap<String, Option<Sight>>,
}

impl Look {
    /// Looks at a work tree now.
    pub fn now(tree: &Path) -> Result<Look, Refusal> {
        let git = Git::at(tree);
        let listed = git
            .output(&["status", "--porcelain=v2", "-z", "-uall", "--ignore-submodules=none"])
            .filter(|output| output.status.success())
            .ok_or_else(|| Refusal::new(Code::Unobserved, "git could not tell what changed"))?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let sight = |path: &str| {
            let about = std::fs::symlink_metadata(tree.join(path)).ok()?;
            Some((about.mtime(), about.mtime_nsec(), about.len(), about.ino(), about.mode()))
        };
        let files = named(&text).into_iter().take(FILES_MAX);
        let files = files.map(|path| (path.clone(), sight(&path))).collect();
        Ok(Look { head: git.commit("HEAD"), files })
    }

    /// Returns the files that changed between this look and a later one.
    pub fn changed(&self, later: &Look, tree: &Path) -> BTreeSet<String> {
        let mut changed: BTreeSet<String> = BTreeSet::new();
        for (path, sight) in &later.files {
            if self.files.get(path) != Some(sight) {
                changed.insert(path.clone());
            }
        }
        // What is gone from the list was committed, restored or removed.
        changed.extend(self.files.keys().filter(|path| !later.files.contains_key(*path)).cloned());
        if self.head != later.head
            && let (Some(from), Some(to)) = (&self.head, &later.head)
        {
            let names = ["diff", "--name-only", "-z", "--no-renames", from, to];
            let output = Git::at(tree).output(&names).filter(|output| output.status.success());
            let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            let text = text.unwrap_or_default();
            changed.extend(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned));
        }
        changed
    }
}

/// Reads the names of `git status --porcelain=v2 -z`: both names of a renamed file.
fn named(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut parts = text.split('\0');
    while let Some(line) = parts.next() {
        // How many words stand before the name.
        let before = match line.chars().next() {
            Some('1') => 8,
            Some('2') => 9,
            Some('u') => 10,
            Some('?') => 1,
            _ => continue,
        };
        names.extend(line.splitn(before + 1, ' ').nth(before).map(str::to_owned));
        if line.starts_with('2') {
            names.extend(parts.next().map(str::to_owned));
        }
    }
    names
}

/// The last look at a work tree, kept beside the store. One process at a time has it.
pub struct LastLook {
    file: std::fs::File,
}

impl LastLook {
    pub fn of(tree: &Path, looks: &Path) -> Result<LastLook, Refusal> {
        let failed = |error: std::io::Error| {
            Refusal::new(
                Code::StoreReadOnly,
                format!("cannot keep a look at {}: {error}", tree.display()),
            )
        };
        std::fs::create_dir_all(looks).map_err(failed)?;
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(place(tree, looks)).map_err(failed)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| failed(error.into()))?;
        Ok(LastLook { file })
    }

    /// Returns the last look, unless there was none, and keeps this one.
    pub fn replace(&mut self, look: &Look) -> Option<Look> {
        let mut text = String::new();
        let read = self.file.read_to_string(&mut text).ok();
        let before = read.and_then(|_| serde_json::from_str(&text).ok());
        // A look that cannot be kept is like none: the next one begins anew.
        let _ = self.keep(look);
        before
    }

    fn keep(&mut self, look: &Look) -> std::io::Result<()> {
        let text = serde_json::to_string(look)?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }
}

/// A name for a work tree that is a file name.
fn place(tree: &Path, looks: &Path) -> PathBuf {
    let name: String = tree
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
        .collect();
    let tail: String = name.chars().rev().take(180).collect::<Vec<_>>().into_iter().rev().collect();
    looks.join(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_name_every_file() {
        let text = "1 .M N... 100644 100644 100644 a a src/a b.rs\0\
                    2 R. N... 100644 100644 100644 a a R100 new\0old\0\
                    ? un tracked\0! ignored\0u UU N... 1 2 3 4 a b c both\0";
        assert_eq!(named(text), ["src/a b.rs", "new", "old", "un tracked", "both"]);
    }
}
