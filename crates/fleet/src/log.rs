//! What an agent said, line by line, in a file beside the run. It is no part of the log of the store.

pub use comity_api::RunLine as LogLine;
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

/// Longest text of one line, in bytes.
const LINE_BYTES_MAX: usize = 8 << 20;
/// Where the file is turned over; the older half is dropped then.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Writes lines; a disk that is full stops the log and not the run.
pub(crate) struct Log {
    file: Option<File>,
    written: u64,
}

impl Log {
    pub(crate) fn open(path: &Path) -> Log {
        Log { file: OpenOptions::new().create(true).append(true).open(path).ok(), written: 0 }
    }

    pub(crate) fn write(&mut self, at: Timestamp, kind: &str, text: &str) {
        let mut end = text.len().min(LINE_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let line = LogLine { at, kind: kind.to_owned(), text: text[..end].to_owned() };
        let Ok(mut bytes) = serde_json::to_vec(&line) else { return };
        bytes.push(b'\n');
        self.written += bytes.len() as u64;
        if self.written <= FILE_BYTES_MAX
            && let Some(file) = &mut self.file
        {
            let _ = file.write_all(&bytes);
        }
    }
}

/// Reads lines from a place on, and tells where the next begin. What is no whole line yet is left for later.
pub fn read(path: &Path, from: u64) -> Result<(Vec<LogLine>, u64), Refusal> {
    use std::io::{Seek, SeekFrom};
    let Ok(mut file) = File::open(path) else { return Ok((Vec::new(), from)) };
    let broken = |error: std::io::Error| {
        Refusal::new(
            comity_core::refusal::Code::Internal,
            format!("cannot read {}: {error}", path.display()),
        )
    };
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
}
