//! The refs of a repository, read from git's files: a claim asks for a few of them, and a process of git costs more than
//! the whole claim.

use super::Place;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

/// The largest list of packed refs that is read; where it is larger, git itself is asked.
const PACKED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How many symbolic refs may lead to one another.
const DEPTH_MAX: usize = 5;
/// What `HEAD` says where refs are not files (`extensions.refStorage`).
const NOT_FILES: &str = "ref: refs/heads/.invalid";

/// The refs as one work tree sees them.
pub struct Refs {
    /// The directory of this work tree alone, which has its `HEAD`.
    git_dir: PathBuf,
    common_dir: PathBuf,
    packed: OnceCell<String>,
}

impl Refs {
    /// Returns the refs of the work tree at exactly this directory. None where they are not kept in files that
    /// can be read here: then git itself has to be asked.
    pub fn of(work_tree: &Path) -> Option<Refs> {
        let place = Place::at(work_tree)?;
        let git_dir = own_dir(&work_tree.join(".git"))?;
        let head = super::read(&git_dir.join("HEAD")).ok()?;
        let packed = place.common_dir.join("packed-refs");
        let is_small = std::fs::metadata(packed).map_or(true, |file| {
            usize::try_from(file.len()).is_ok_and(|len| len <= PACKED_BYTES_MAX)
        });
        let found = Refs { git_dir, common_dir: place.common_dir, packed: OnceCell::new() };
        (is_small && !head.starts_with(NOT_FILES)).then_some(found)
    }

    /// Returns the commit that a ref names, such as `HEAD` or `refs/heads/main`.
    pub fn commit(&self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        for _ in 0..DEPTH_MAX {
            match self.read(&name)? {
                Value::Commit(id) => return Some(id),
                Value::Symbolic(target) => name = target,
            }
        }
        None
    }

    /// Returns the ref that a symbolic ref names, whether that exists or not.
    pub fn target(&self, name: &str) -> Option<String> {
        match self.read(name)? {
            Value::Symbolic(target) => Some(target),
            Value::Commit(_) => None,
        }
    }

    /// Returns the work tree that has a branch checked out, which may be gone.
    pub fn holder(&self, reference: &str) -> Option<PathBuf> {
        let has = |dir: &Path| matches!(value(&dir.join("HEAD")), Some(Value::Symbolic(name)) if name == reference);
        if has(&self.common_dir) {
            let place =
                Place { work_tree: None, common_dir: self.common_dir.clone(), by_looks: false };
            let config = place.config();
            let is_bare = config.get("core", "bare") == Some("true");
            return (!is_bare).then(|| place.main_tree(&config));
        }
        let entries = std::fs::read_dir(self.common_dir.join("worktrees")).ok()?;
        let holder = entries.flatten().map(|entry| entry.path()).find(|dir| has(dir))?;
        let dot_git = super::read(&holder.join("gitdir")).ok()?;
        holder.join(dot_git.trim()).parent().map(Path::to_owned)
    }

    fn read(&self, name: &str) -> Option<Value> {
        if !is_plain(name) {
            return None;
        }
        // A work tree has its own `HEAD`; branches and tags are everybody's.
        let dir = if name.starts_with("refs/") { &self.common_dir } else { &self.git_dir };
        value(&dir.join(name)).or_else(|| self.packed(name))
    }

    fn packed(&self, name: &str) -> Option<Value> {
        let file = || {
            let path = self.common_dir.join("packed-refs");
            crate::plain_file::read_text(&path, PACKED_BYTES_MAX).unwrap_or_default()
        };
        let packed = self.packed.get_or_init(file);
        let mut entries = packed.lines().filter_map(|line| line.split_once(' '));
        let (id, _) = entries.find(|(id, found)| *found == name && is_id(id))?;
        Some(Value::Commit(id.to_owned()))
    }
}

enum Value {
    Commit(String),
    Symbolic(String),
}

fn value(file: &Path) -> Option<Value> {
    let text = super::read(file).ok()?;
    let text = text.trim_end();
    match text.strip_prefix("ref:") {
        Some(target) => Some(Value::Symbolic(target.trim().to_owned())),
        None => is_id(text).then(|| Value::Commit(text.to_owned())),
    }
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Tells whether a name stays below the directory of the refs.
fn is_plain(name: &str) -> bool {
    !name.starts_with('/') && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// Returns the directory that a work tree has for itself.
pub(super) fn own_dir(dot_git: &Path) -> Option<PathBuf> {
    match super::read(dot_git) {
        Ok(text) => {
            let named = text.trim().strip_prefix("gitdir:")?.trim();
            Some(dot_git.parent()?.join(named))
        }
        Err(_) => dot_git.is_dir().then(|| dot_git.to_owned()),
    }
}
