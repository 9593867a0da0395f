//! What was exported and what was taken over, beside the store: what an edit is compared with.

use super::mark::Mark;
use super::records::{Entry, Records};
use super::tree::{Tree, failed};
use comity_core::refusal::Refusal;
use comity_engine::redact::secrets_of;
use comity_protocol::collab::{
    OutsideLock, StateFile as Kind, base, distance, doubtful, etag, parse_lock_id, pretty,
    read_json,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Exports that are kept of each file.
const EXPORTS_MAX: usize = 64;
/// Bytes that they may take together; the last one is always kept.
const EXPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How far a tree was read and written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The last event of the log that `events.jsonl` has.
    pub events_seq: u64,
    /// How far `events.jsonl` was read.
    pub events: Mark,
    /// How far each agent's own file was read.
    pub agents: BTreeMap<String, Mark>,
    /// The last event that `log.md` tells of.
    pub log_seq: u64,
    /// What `log.md` was then.
    pub log_tag: String,
    /// What other tools call their leases, by the lease's id.
    pub outside: BTreeMap<String, OutsideLock>,
    /// The files with entries that the store has not, because the rules refused them.
    pub waiting: BTreeSet<String>,
    /// The entries of each file that cannot be read; they stay as somebody wrote them.
    pub unread: BTreeMap<String, BTreeSet<String>>,
}

impl Progress {
    pub fn unread(&self, kind: Kind) -> BTreeSet<String> {
        self.unread.get(kind.list()).cloned().unwrap_or_default()
    }

    /// Finds a lease by what it is called in the tree.
    pub fn lease_named(&self, text: &str) -> Option<String> {
        let theirs = self.outside.iter().find(|(_, lock)| lock.lock_id == text);
        let ours = || parse_lock_id(text).map(|id| id.to_string());
        theirs.map(|(id, _)| id.clone()).or_else(ours)
    }
}

pub struct Base {
    /// The values that its entries were made from.
    pub document: Value,
    /// What is taken for an old copy, and may be meant.
    pub doubts: Vec<String>,
}

pub struct History {
    dir: PathBuf,
    pub progress: Progress,
    /// An export never changes, so the last one is read once.
    last: BTreeMap<Kind, (PathBuf, Value)>,
}

/// Holds the tree for one process at a time; ends with the value.
pub struct Hold(#[expect(dead_code, reason = "the lock lives as long as the file")] File);

/// Tells whether a directory is a tree that was written before.
pub fn is_written(beside: &Path, tree: &Path) -> bool {
    dir_of(beside, tree).join("state.json").is_file()
}

fn dir_of(beside: &Path, tree: &Path) -> PathBuf {
    let place = std::fs::canonicalize(tree).unwrap_or_else(|_| tree.to_owned());
    let name: String = etag(place.as_os_str().as_encoded_bytes()).chars().take(16).collect();
    beside.join("collab").join(name)
}

impl History {
    /// Opens the history of a tree, in a directory of its own beside the store.
    pub fn open(beside: &Path, tree: &Tree) -> Result<History, Refusal> {
        let dir = dir_of(beside, &tree.dir);
        std::fs::create_dir_all(&dir).map_err(|error| failed("make", &dir, &error))?;
        Ok(History { dir, progress: Progress::default(), last: BTreeMap::new() })
    }

    /// Waits for the tree, and learns what another process did with it.
    pub fn hold(&mut self) -> Result<Hold, Refusal> {
        let path = self.dir.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| failed("open", &path, &error))?;
        file.lock().map_err(|error| failed("lock", &path, &error))?;
        self.load();
        Ok(Hold(file))
    }

    /// Learns what another process did with the tree.
    pub fn load(&mut self) {
        let text = std::fs::read_to_string(self.dir.join("state.json")).unwrap_or_default();
        self.progress = serde_json::from_str(&text).unwrap_or_default();
    }

    pub fn save(&self) -> Result<(), Refusal> {
        let path = self.dir.join("state.json");
        let temporary = self.dir.join(".state.json.tmp");
        let text = serde_json::to_string(&self.progress).unwrap_or_default();
        std::fs::write(&temporary, text)
            .and_then(|()| std::fs::rename(&temporary, &path))
            .map_err(|error| failed("write", &path, &error))
    }

    /// What stands for this tree in keys.
    pub fn name(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the exports of a file, the newest first.
    fn exports(&self, kind: Kind) -> Vec<PathBuf> {
        let prefix = format!("{}-", kind.list());
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .map(|entry| entry.path())
            .collect();
        found.sort();
        found.reverse();
        found
    }

    fn records(&self, kind: Kind) -> Records {
        Records::at(self.dir.join(format!("{}.values.jsonl", kind.list())), kind.key())
    }

    /// Tells whether these bytes were exported lately.
    pub fn knows(&self, kind: Kind, tag: &str) -> bool {
        let end = format!("-{tag}.json");
        self.exports(kind).iter().any(|path| path.to_string_lossy().ends_with(&end))
    }

    /// Tells whether these bytes were exported last.
    pub fn is_newest(&self, kind: Kind, tag: &str) -> bool {
        let end = format!("-{tag}.json");
        self.exports(kind).first().is_some_and(|path| path.to_string_lossy().ends_with(&end))
    }

    /// Tells whether these bytes were exported, and something else after them.
    pub fn is_older(&self, kind: Kind, tag: &str) -> bool {
        let end = format!("-{tag}.json");
        let mut exports = self.exports(kind).into_iter().map(|path| path.display().to_string());
        exports.next().is_some_and(|newest| !newest.ends_with(&end))
            && exports.any(|path| path.ends_with(&end))
    }

    /// Keeps an export, and forgets the oldest beyond the bounds. Only entries that the store has count as exported: one
    /// that the rules refused is new until it is mended.
    pub fn keep(
        &mut self,
        kind: Kind,
        bytes: &[u8],
        document: Value,
        is_ours: &dyn Fn(&str) -> bool,
    ) -> Result<(), Refusal> {
        let exports = self.exports(kind);
        let _ = self.newest(kind);
        let last = self.last.remove(&kind);
        let before = last.as_ref().map(|(_, value)| by_id(kind)(value)).unwrap_or_default();
        let now = by_id(kind)(&document);
        let news: Vec<&Entry> = now
            .iter()
            .filter(|(id, entry)| is_ours(id) && before.get(*id) != Some(entry))
            .map(|(_, entry)| *entry)
            .collect();
        self.records(kind).add(&news)?;
        let number = |path: &PathBuf| -> Option<u64> {
            path.file_name()?.to_str()?.split('-').nth(1)?.parse().ok()
        };
        let next = exports.first().and_then(number).unwrap_or(0) + 1;
        let path = self.dir.join(format!("{}-{next:020}-{}.json", kind.list(), etag(bytes)));
        // Entries that the rules refused are in it as others wrote them.
        let mut clean = document.clone();
        secrets_of(&mut clean);
        let clean = pretty(&clean);
        std::fs::write(&path, clean).map_err(|error| failed("write", &path, &error))?;
        self.last.insert(kind, (path, document));
        let mut size = bytes.len() as u64;
        for (n, old) in exports.iter().enumerate() {
            size += std::fs::metadata(old).map_or(0, |found| found.len());
            if n + 1 >= EXPORTS_MAX || size > EXPORT_BYTES_MAX {
                // One that stays is only one more to compare with.
                let _ = std::fs::remove_file(old);
            }
        }
        Ok(())
    }

    pub fn newest(&mut self, kind: Kind) -> Option<&Value> {
        let path = self.exports(kind).into_iter().next()?;
        if self.last.get(&kind).is_none_or(|(known, _)| *known != path) {
            let value = parsed(&path)?;
            self.last.insert(kind, (path, value));
        }
        self.last.get(&kind).map(|(_, value)| value)
    }

    /// Remembers entries as they were taken over: whoever wrote them may write them again, and that is no edit.
    pub fn learn(&self, kind: Kind, entries: &[Entry]) -> Result<(), Refusal> {
        self.records(kind).add(&entries.iter().collect::<Vec<_>>())
    }

    /// Makes the document that a file was made from; none when nothing of it is known. So what an editor read or wrote a
    /// while ago and did not touch is no edit.
    pub fn base(&mut self, kind: Kind, file: &Value) -> Option<Base> {
        // Which locks are not there matters, too: that takes a whole export.
        if kind == Kind::Locks {
            let document = self.nearest(kind, file)?;
            return Some(Base { document, doubts: Vec::new() });
        }
        let exported = self.newest(kind).cloned();
        let newest = exported.as_ref().map(by_id(kind)).unwrap_or_default();
        let theirs = by_id(kind)(file);
        let differ = |(id, entry): &(&&str, &&Entry)| newest.get(**id) != Some(*entry);
        let wanted: BTreeSet<&str> = theirs.iter().filter(differ).map(|(id, _)| *id).collect();
        let known = self.records(kind).of(&wanted);
        if exported.is_none() && known.is_empty() {
            return None;
        }
        let mut entries = Vec::new();
        let mut doubts = Vec::new();
        for (id, entry) in &theirs {
            if !wanted.contains(id) {
                entries.push(Value::Object((*entry).clone()));
                continue;
            }
            let values: Vec<&Entry> = known.get(*id).into_iter().flatten().collect();
            let Some(base) = base(kind, &values, entry) else { continue };
            let doubtful = newest.get(id).map(|newest| doubtful(kind, newest, base, entry));
            doubts.extend(doubtful.into_iter().flatten().map(|(key, value)| {
                format!(
                    "{id}: {key} is {value} in the file as it was before; what came after stays"
                )
            }));
            entries.push(Value::Object(base.clone()));
        }
        let list = Map::from_iter([(kind.list().to_owned(), Value::Array(entries))]);
        Some(Base { document: Value::Object(list), doubts })
    }

    /// The export that a file differs from least, the newest of equals.
    fn nearest(&self, kind: Kind, file: &Value) -> Option<Value> {
        let exports = self.exports(kind);
        let all = exports.iter().filter_map(|path| parsed(path));
        all.min_by_key(|value| distance(kind, value, file))
    }

    /// Returns the values that these entries were exported and taken over with, the oldest first.
    pub fn known(&self, kind: Kind, ids: &BTreeSet<&str>) -> BTreeMap<String, Vec<Entry>> {
        self.records(kind).of(ids)
    }
}

fn parsed(path: &Path) -> Option<Value> {
    read_json(&std::fs::read_to_string(path).ok()?).ok()
}

/// Returns the entries of a document by what tells them apart.
pub(super) fn by_id(kind: Kind) -> impl Fn(&Value) -> BTreeMap<&str, &Entry> {
    move |document| {
        let list = document.get(kind.list()).and_then(Value::as_array).into_iter().flatten();
        let entries = list.filter_map(Value::as_object);
        entries.filter_map(|entry| Some((entry.get(kind.key())?.as_str()?, entry))).collect()
    }
}
