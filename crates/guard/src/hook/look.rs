//! A look at a work tree: which files differ from the last look. It sees what a shell command wrote.

use crate::git::{Git, WorkTree};
use comity_core::chain::Hash;
use comity_core::pattern::spell_path;
use comity_core::refusal::{Code, Refusal};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that one look keeps; a work tree with more changes is looked at up to here.
const FILES_MAX: usize = 10_000;

/// How a file was at a look: when it was written, how long it was, which file it was, and its permissions.
type Sight = (i64, i64, u64, u64, u32);

/// Everything that differs from the last commit, as it was at one look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    head: Option<String>,
    files: BTreeMap<String, Option<Sight>>,
}

impl Look {
    /// Looks at a work tree now, as git does without any setting of the repository: no filter and no monitor runs.
    pub fn now(tree: &Path) -> Result<Look, Refusal> {
        let files = WorkTree::of(tree);
        let listed = files.and_then(|files| Some((files.names()?, files.head)));
        let (names, head) = listed
            .ok_or_else(|| Refusal::new(Code::Unobserved, "git could not tell what changed"))?;
        let sight = |name: &[u8]| {
            let about = std::fs::symlink_metadata(tree.join(OsStr::from_bytes(name))).ok()?;
            Some((about.mtime(), about.mtime_nsec(), about.len(), about.ino(), about.mode()))
        };
        let names = names.into_iter().take(FILES_MAX);
        let files = names.map(|name| (spell_path(&name), sight(&name))).collect();
        Ok(Look { head, files })
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
            changed.extend(crate::land::names(&Git::at(tree), from, to).unwrap_or_default());
        }
        changed
    }
}

/// What the hooks of one agent remember of one work tree, in a file beside the store. One process at a time has it.
pub struct Memory {
    /// Held until the end; the text itself is replaced as a whole.
    _turn: std::fs::File,
    place: PathBuf,
    kept: Kept,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    look: Option<Look>,
    /// When that look was taken, in milliseconds.
    at: i64,
    /// Tool calls that have begun and not ended.
    open: u32,
    /// When the last of them began or ended.
    last_call: i64,
    /// When a write of each file was refused last.
    refused: BTreeMap<String, i64>,
    /// Files of others that the agent was told of.
    told: BTreeSet<String>,
}

/// How long a tool call counts that never ended, and how long a refusal of the same file is not written down again.
const CALL_MS: i64 = 3_600_000;
const REFUSAL_MS: i64 = 60_000;

impl Memory {
    pub fn of(looks: &Path, tree: &Path, agent: &str) -> Result<Memory, Refusal> {
        let place = place(looks, tree, agent);
        let failed = |error: std::io::Error| {
            let message = format!("cannot keep a look at {}: {error}", tree.display());
            Refusal::new(Code::StoreReadOnly, message)
        };
        std::fs::create_dir_all(looks).map_err(failed)?;
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let turn = options.open(place.with_extension("lock")).map_err(failed)?;
        rustix::fs::flock(&turn, FlockOperation::LockExclusive)
            .map_err(|error| failed(error.into()))?;
        let kept = read(&place);
        Ok(Memory { _turn: turn, place, kept })
    }

    /// Returns the last look and when it was taken, unless there was none, and takes this one in its place.
    pub fn replace(&mut self, look: Look, now: i64) -> Option<(Look, i64)> {
        let before = self.kept.look.replace(look);
        let at = std::mem::replace(&mut self.kept.at, now);
        before.map(|before| (before, at))
    }

    /// Notes that a tool call begins or ends.
    pub fn call(&mut self, begins: bool, now: i64) {
        let open = if self.is_stale(now) { 0 } else { self.kept.open };
        self.kept.open = if begins { open.saturating_add(1) } else { open.saturating_sub(1) };
        self.kept.last_call = now;
    }

    /// Forgets calls that the client never ended, at the end of a turn.
    pub fn no_calls(&mut self) {
        self.kept.open = 0;
    }

    /// Tells whether the agent was told of a file that is now as the last commit has it.
    pub fn was_put_back(&mut self, path: &str) -> bool {
        let differs = self.kept.look.as_ref().is_some_and(|look| look.files.contains_key(path));
        !differs && self.kept.told.remove(path)
    }

    /// Notes which files the agent is told of.
    pub fn tell<'p>(&mut self, paths: impl Iterator<Item = &'p String>) {
        self.kept.told.extend(paths.take(FILES_MAX).cloned());
    }

    fn is_stale(&self, now: i64) -> bool {
        now.saturating_sub(self.kept.last_call) > CALL_MS
    }

    /// Tells whether the refusal of a file is to be written down: once a minute is enough.
    pub fn tells_refusal(&mut self, path: &str, now: i64) -> bool {
        self.kept.refused.retain(|_, at| now.saturating_sub(*at) < REFUSAL_MS);
        let tells = !self.kept.refused.contains_key(path);
        if tells {
            self.kept.refused.insert(path.to_owned(), now);
        }
        tells
    }

    /// Keeps it all. What cannot be kept is like nothing: the next look begins anew.
    pub fn keep(self) {
        let new = self.place.with_extension("new");
        let text = serde_json::to_string(&self.kept).unwrap_or_default();
        let _ = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &self.place));
    }
}

/// Tells whether an agent had a tool call open in a work tree since a time: what changed there on its own files is its work.
pub fn was_at_work(looks: &Path, tree: &Path, agent: &str, since: i64, now: i64) -> bool {
    let kept = read(&place(looks, tree, agent));
    let is_open = kept.open > 0 && now.saturating_sub(kept.last_call) <= CALL_MS;
    is_open || kept.last_call >= since
}

fn read(place: &Path) -> Kept {
    let text = std::fs::read_to_string(place).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// A name for a work tree and an agent that is a file name: its end can be read, and its digest tells it apart from all others.
fn place(looks: &Path, tree: &Path, agent: &str) -> PathBuf {
    let whole = format!("{}\n{agent}", tree.display());
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let end: String =
        whole.chars().rev().take(60).map(plain).collect::<Vec<_>>().into_iter().rev().collect();
    let digest: String = Hash::of(whole.as_bytes()).to_string().chars().take(16).collect();
    looks.join(format!("{end}-{digest}"))
}
