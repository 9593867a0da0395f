//! Files whose first bytes cannot be told from their present ones: what they were before comity's entries.
//!
//! Taking an entry out gives nearly every file back as it was. For the others, such as an object that was empty before,
//! comity keeps the former text beside the store.

use comity_core::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const NAME: &str = "clients.json";

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    files: BTreeMap<String, Former>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Former {
    before: Option<String>,
    after: String,
}

impl Record {
    pub fn read(beside_store: &Path) -> Record {
        let text = std::fs::read_to_string(place(beside_store)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Remembers what a file was: `bare` is what it is now, without comity's part. A file that comity has changed before
    /// keeps its first text.
    pub fn keep(&mut self, path: &str, before: Option<&str>, bare: Option<String>, after: &str) {
        let first = match self.files.remove(path) {
            Some(former) if before == Some(former.after.as_str()) => former.before,
            _ => bare,
        };
        self.files.insert(path.to_owned(), Former { before: first, after: after.to_owned() });
    }

    pub fn knows(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns what a file was, where it is still as comity left it.
    pub fn former(&mut self, path: &str, now: &str) -> Option<Option<String>> {
        let former = self.files.remove(path)?;
        (former.after == now).then_some(former.before)
    }

    pub fn write(&self, beside_store: &Path) -> Result<(), Refusal> {
        let place = place(beside_store);
        let failed = |error: std::io::Error| {
            let message = format!("cannot write {}: {error}", place.display());
            Refusal::new(Code::StoreReadOnly, message)
        };
        if self.files.is_empty() {
            return match std::fs::remove_file(&place) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        std::fs::create_dir_all(beside_store).map_err(failed)?;
        let text = serde_json::to_string(self).map_err(|error| failed(error.into()))?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&place).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
    }
}

fn place(beside_store: &Path) -> PathBuf {
    beside_store.join(NAME)
}
