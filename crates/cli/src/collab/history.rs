//! What was exported lately, beside the store: what an edit is compared with.

use super::tree::{Tree, failed};
use comity_core::refusal::Refusal;
use comity_protocol::collab::{Kind, distance, etag};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Exports that are kept of each file.
const EXPORTS_MAX: usize = 64;
/// Bytes that they may take together; the last one is always kept.
const EXPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Older exports that are looked at without finding a nearer one.
const IN_VAIN_MAX: usize = 8;

/// The exports of one tree, and how far its events were read and written.
pub struct History {
    dir: PathBuf,
    /// The last event of the log that `events.jsonl` has.
    pub events_seq: u64,
    /// How far `events.jsonl` was read.
    pub events_read: u64,
    /// The last event that `log.md` tells of.
    pub log_seq: u64,
    /// How far each agent's own file was read.
    pub agents_read: Map<String, Value>,
    parsed: BTreeMap<PathBuf, Value>,
}

/// Holds the tree for one process at a time; ends with the value.
pub struct Hold(#[expect(dead_code, reason = "the lock lives as long as the file")] File);

impl History {
    /// Opens the history of a tree, in a directory of its own beside the store.
    pub fn open(beside: &Path, tree: &Tree) -> Result<History, Refusal> {
        let place = std::path::absolute(&tree.dir).unwrap_or_else(|_| tree.dir.clone());
        let place = std::fs::canonicalize(&place).unwrap_or(place);
        let name: String = etag(place.as_os_str().as_encoded_bytes()).chars().take(16).collect();
        let dir = beside.join("collab").join(name);
        std::fs::create_dir_all(&dir).map_err(|error| failed("make", &dir, &error))?;
        Ok(History {
            dir,
            events_seq: 0,
            events_read: 0,
            log_seq: 0,
            agents_read: Map::new(),
            parsed: BTreeMap::new(),
        })
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

    fn load(&mut self) {
        let text = std::fs::read_to_string(self.dir.join("state.json")).unwrap_or_default();
        let state: Value = serde_json::from_str(&text).unwrap_or_default();
        let number = |key: &str| state.get(key).and_then(Value::as_u64).unwrap_or(0);
        self.events_seq = number("events_seq");
        self.events_read = number("events_read");
        self.log_seq = number("log_seq");
        self.agents_read =
            state.get("agents_read").and_then(Value::as_object).cloned().unwrap_or_default();
    }

    /// Remembers how far the events were read and written.
    pub fn save(&self) -> Result<(), Refusal> {
        let state = json!({
            "events_seq": self.events_seq,
            "events_read": self.events_read,
            "log_seq": self.log_seq,
            "agents_read": self.agents_read,
        });
        let path = self.dir.join("state.json");
        let temporary = self.dir.join(".state.json.tmp");
        std::fs::write(&temporary, state.to_string())
            .and_then(|()| std::fs::rename(&temporary, &path))
            .map_err(|error| failed("write", &path, &error))
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

    /// Tells whether these bytes were exported.
    pub fn knows(&self, kind: Kind, tag: &str) -> bool {
        let end = format!("-{tag}.json");
        self.exports(kind).iter().any(|path| path.to_string_lossy().ends_with(&end))
    }

    /// Keeps an export, and forgets the oldest beyond the bounds.
    pub fn keep(&self, kind: Kind, bytes: &[u8]) -> Result<(), Refusal> {
        let exports = self.exports(kind);
        let number = |path: &PathBuf| -> Option<u64> {
            path.file_name()?.to_str()?.split('-').nth(1)?.parse().ok()
        };
        let next = exports.first().and_then(number).unwrap_or(0) + 1;
        let path = self.dir.join(format!("{}-{next:020}-{}.json", kind.list(), etag(bytes)));
        std::fs::write(&path, bytes).map_err(|error| failed("write", &path, &error))?;
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

    /// Tells whether these bytes were exported last.
    pub fn is_newest(&self, kind: Kind, tag: &str) -> bool {
        let end = format!("-{tag}.json");
        self.exports(kind).first().is_some_and(|path| path.to_string_lossy().ends_with(&end))
    }

    /// Returns what was exported last.
    pub fn newest(&mut self, kind: Kind) -> Option<Value> {
        let path = self.exports(kind).into_iter().next()?;
        self.parsed(&path).cloned()
    }

    /// Finds the export that a file was made from: the one it differs from least, the newest of equals. So what an
    /// editor read a while ago and did not touch is no edit.
    pub fn base(&mut self, kind: Kind, file: &Value) -> Option<Value> {
        let mut best: Option<(usize, PathBuf)> = None;
        let mut in_vain = 0;
        self.parsed.retain(|path, _| path.exists());
        for path in self.exports(kind) {
            let Some(value) = self.parsed(&path) else { continue };
            let limit = best.as_ref().map_or(usize::MAX, |(least, _)| *least);
            let far = distance(kind, value, file, limit);
            if best.is_none() || far < limit {
                best = Some((far, path));
                in_vain = 0;
            } else {
                in_vain += 1;
            }
            // What is older differs more and more. And nothing is nearer than one change: what has none is known.
            if far <= 1 || in_vain >= IN_VAIN_MAX {
                break;
            }
        }
        let (_, path) = best?;
        self.parsed(&path).cloned()
    }

    /// An export never changes, so it is read once.
    fn parsed(&mut self, path: &Path) -> Option<&Value> {
        if !self.parsed.contains_key(path) {
            let value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
            self.parsed.insert(path.to_owned(), value);
        }
        self.parsed.get(path)
    }
}
