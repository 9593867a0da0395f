//! What a run of a gate printed, kept beside the store.

use super::clone::private_dir;
use crate::child::tail;
use comity_core::refusal::{Code, Refusal};
use comity_engine::redact::Redactor;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The end of the output that goes into the log.
const TAIL_BYTES_MAX: usize = 4 * 1024;
/// Outputs that are kept; the oldest are removed.
const FILES_MAX: usize = 500;
const FILE_MODE: u32 = 0o600;

/// The output of one run, without secrets.
pub(super) struct Kept {
    pub tail: String,
    /// Where all of it is, seen from the directory of the store; none where nothing was printed.
    pub report: Option<String>,
}

/// Keeps an output below a directory. Its name tells the task, the gate, the commit and the time in milliseconds.
pub(super) fn keep(
    beside_store: &Path,
    (task, gate, commit): (&str, &str, &str),
    at_ms: i64,
    (text, left_out): (&str, u64),
    redactor: &Redactor,
) -> Result<Kept, Refusal> {
    if text.is_empty() {
        return Ok(Kept { tail: String::new(), report: None });
    }
    let dir = beside_store.join("evidence");
    private_dir(&dir)?;
    let text = redactor.free_text(text);
    let plain = |text: &str| -> String {
        let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        text.chars().take(64).map(keep).collect()
    };
    let short = commit.get(..10).unwrap_or(commit);
    let name = format!("{at_ms:013}-{}-{}-{short}.log", plain(task), plain(gate));
    let path = dir.join(&name);
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE)
        .open(&path)
        .and_then(|mut file| {
            if left_out > 0 {
                writeln!(file, "[comity: {left_out} bytes before this were not kept]")?;
            }
            file.write_all(text.as_bytes())
        });
    written.map_err(|error| {
        Refusal::new(Code::StoreReadOnly, format!("cannot write {}: {error}", path.display()))
    })?;
    remove_oldest(&dir);
    let tail = tail(&text, TAIL_BYTES_MAX).to_owned();
    Ok(Kept { tail, report: Some(format!("evidence/{name}")) })
}

fn remove_oldest(dir: &Path) {
    let entries = dir.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.collect();
    // The names begin with the time.
    files.sort();
    let over = files.len().saturating_sub(FILES_MAX);
    for file in files.into_iter().take(over) {
        let _ = std::fs::remove_file(file);
    }
}
