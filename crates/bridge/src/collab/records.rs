//! Every value that an entry of a state file was exported or taken over with, beside the store: what an edit of it is
//! compared with, however many exports came after.

use super::tree::failed;
use comity_core::refusal::Refusal;
use comity_engine::redact::secrets_of;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

/// Values of one entry that are kept when the file is made shorter; fewer when that is not short enough.
const VALUES_MAX: usize = 256;
/// Bytes from which on the file is made shorter.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

pub type Entry = Map<String, Value>;

/// The values of the entries of one file, a line each, the oldest first.
pub struct Records {
    path: PathBuf,
    key: &'static str,
}

impl Records {
    /// Names them; `key` tells two entries apart.
    pub fn at(path: PathBuf, key: &'static str) -> Records {
        Records { path, key }
    }

    pub fn add(&self, values: &[&Entry]) -> Result<(), Refusal> {
        if values.is_empty() {
            return Ok(());
        }
        let wrong = |error: std::io::Error| failed("write", &self.path, &error);
        let text: String = values.iter().map(|value| as_line(value)).collect();
        let mut file = File::options().create(true).append(true).open(&self.path).map_err(wrong)?;
        file.write_all(text.as_bytes()).map_err(wrong)?;
        if file.metadata().is_ok_and(|found| found.len() > BYTES_MAX) {
            self.shorten(BYTES_MAX).map_err(wrong)?;
        }
        Ok(())
    }

    pub fn of(&self, wanted: &BTreeSet<&str>) -> BTreeMap<String, Vec<Entry>> {
        let mut out: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        self.each(|id, entry| {
            if wanted.contains(id) {
                out.entry(id.to_owned()).or_default().push(entry);
            }
        });
        out
    }

    /// A line that does not read is half of one, left by a process that was killed.
    fn each(&self, mut see: impl FnMut(&str, Entry)) {
        let Ok(file) = File::open(&self.path) else { return };
        for line in BufReader::new(file).lines().map_while(Result::ok) {
            let Ok(entry) = serde_json::from_str::<Entry>(&line) else { continue };
            if let Some(id) = entry.get(self.key).and_then(Value::as_str).map(str::to_owned) {
                see(&id, entry);
            }
        }
    }

    /// Forgets the oldest values until half of the bytes are free.
    fn shorten(&self, bytes: u64) -> std::io::Result<()> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        self.each(|id, entry| all.entry(id.to_owned()).or_default().push(as_line(&entry)));
        let mut most = VALUES_MAX;
        loop {
            for values in all.values_mut() {
                values.drain(..values.len().saturating_sub(most));
            }
            let size: usize = all.values().flatten().map(String::len).sum();
            if size as u64 <= bytes / 2 || most == 1 {
                break;
            }
            most /= 2;
        }
        let temporary = self.path.with_extension("tmp");
        std::fs::write(&temporary, all.into_values().flatten().collect::<String>())?;
        std::fs::rename(&temporary, &self.path)
    }
}

/// One line; what others wrote may hold secrets, and this file is for comity alone.
fn as_line(entry: &Entry) -> String {
    let mut entry = Value::Object(entry.clone());
    secrets_of(&mut entry);
    let mut text = serde_json::to_string(&entry).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_kept_by_entry_and_the_oldest_go_first() {
        let dir = std::env::temp_dir().join(format!("comity-records-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let records = Records::at(dir.join("tasks.jsonl"), "id");
        for n in 0..40 {
            for id in ["a", "b"] {
                let value = json!({"id": id, "n": n});
                records.add(&[value.as_object().unwrap()]).unwrap();
            }
        }
        let wanted = BTreeSet::from(["a"]);
        assert_eq!(records.of(&wanted)["a"].len(), 40);
        records.shorten(600).unwrap();
        let left = records.of(&wanted).remove("a").unwrap();
        assert!(left.len() < 40 && left.last().unwrap()["n"] == 39, "{left:?}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
