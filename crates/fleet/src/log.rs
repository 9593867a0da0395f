//! What an agent said, line by line, in a file beside the run. It is no part of the log of the store.

use crate::place::private_file;
pub use comity_api::RunLine as LogLine;
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use comity_engine::redact::secrets;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Longest text of one line, in bytes. It has room for the longest line that an agent may say, and for how much of it is left out.
const LINE_BYTES_MAX: usize = (8 << 20) + 1024;
/// Where the file is turned over; the older half is dropped then.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Writes lines; a disk that is full stops the log and not the run.
pub(crate) struct Log {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    bytes_max: u64,
}

impl Log {
    pub(crate) fn open(path: &Path) -> Log {
        let file = private_file(path, OpenOptions::new().append(true)).ok();
        let written = file.as_ref().and_then(|file| file.metadata().ok());
        let written = written.map_or(0, |data| data.len());
        Log { path: path.to_owned(), file, written, bytes_max: FILE_BYTES_MAX }
    }

    /// Writes a line without the secrets in it.
    pub(crate) fn write(&mut self, at: Timestamp, kind: &str, text: &str) {
        let text = secrets(text);
        let text = head(&text, LINE_BYTES_MAX).to_owned();
        let line = LogLine { at, kind: kind.to_owned(), text };
        let Ok(mut bytes) = serde_json::to_vec(&line) else { return };
        bytes.push(b'\n');
        if self.written + bytes.len() as u64 > self.bytes_max {
            self.file = self.turned_over(at).ok();
        }
        self.written += bytes.len() as u64;
        if let Some(file) = &mut self.file {
            let _ = file.write_all(&bytes);
        }
    }

    /// Drops the older half, and says so in its place.
    fn turned_over(&mut self, at: Timestamp) -> Result<File> {
        let mut old = BufReader::new(File::open(&self.path)?);
        let half = old.get_ref().metadata()?.len() / 2;
        old.seek(SeekFrom::Start(half))?;
        let dropped = half + old.skip_until(b'\n')? as u64;
        let path = self.path.with_extension("new");
        let mut new = private_file(&path, OpenOptions::new().write(true).truncate(true))?;
        let text = format!("the log was full: its first {dropped} bytes were dropped");
        let line = LogLine { at, kind: "event".to_owned(), text };
        writeln!(new, "{}", serde_json::to_string(&line)?)?;
        std::io::copy(&mut old, &mut new)?;
        std::fs::rename(&path, &self.path)?;
        self.written = new.metadata()?.len();
        Ok(new)
    }
}

/// Returns the beginning of a text that has at most so many bytes.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Reads lines from a place on, and tells where the next begin. What is no whole line yet is left for later.
pub fn read(path: &Path, from: u64) -> std::result::Result<(Vec<LogLine>, u64), Refusal> {
    let Ok(mut file) = File::open(path) else { return Ok((Vec::new(), from)) };
    let broken = |error: std::io::Error| {
        Refusal::new(
            comity_core::refusal::Code::Internal,
            format!("cannot read {}: {error}", path.display()),
        )
    };
    // A log that was turned over is shorter than it was.
    let from = from.min(file.metadata().map_err(broken)?.len());
    file.seek(SeekFrom::Start(from)).map_err(broken)?;
    let mut reader = BufReader::new(file);
    let (mut lines, mut place) = (Vec::new(), from);
    let mut text = String::new();
    loop {
        text.clear();
        let count = reader.read_line(&mut text).map_err(broken)?;
        if count == 0 || !text.ends_with('\n') {
            return Ok((lines, place));
        }
        place += count as u64;
        lines.extend(serde_json::from_str::<LogLine>(&text).ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn lines_come_back_and_half_a_line_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.jsonl");
        let mut log = Log::open(&path);
        log.write(Timestamp::from_ms(1), "text", "one\ntwo");
        let (lines, place) = read(&path, 0).unwrap();
        assert_eq!(lines[0].text, "one\ntwo");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"at\"").unwrap();
        assert_eq!(read(&path, place).unwrap(), (Vec::new(), place));
        assert_eq!(read(&dir.path().join("none"), 0).unwrap().0, []);
    }

    #[test]
    fn what_an_agent_says_is_kept_without_secrets_and_for_the_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.jsonl");
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).split_at(36).0);
        Log::open(&path).write(Timestamp::from_ms(1), "text", &format!("push with {token} now"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&token) && text.contains("push with "), "{text}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_full_log_drops_its_older_half_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.jsonl");
        let mut log = Log { bytes_max: 10_000, ..Log::open(&path) };
        for n in 0..500 {
            log.write(Timestamp::from_ms(n), "text", &format!("line {n}"));
            assert!(std::fs::metadata(&path).unwrap().len() <= 10_000);
        }
        let (lines, end) = read(&path, 0).unwrap();
        assert!(lines[0].text.contains("were dropped"), "{:?}", lines[0]);
        assert_eq!(lines.last().unwrap().text, "line 499");
        let numbers: Vec<String> = lines[1..].iter().map(|line| line.text.clone()).collect();
        let first = 500 - numbers.len();
        let all: Vec<String> = (first..500).map(|n| format!("line {n}")).collect();
        assert_eq!(numbers, all, "no line between is lost");
        assert_eq!(read(&path, 1_000_000).unwrap(), (Vec::new(), end), "a reader goes on");
    }
}
