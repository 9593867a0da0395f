//! How far a file that others append to was read, and whether it is still that file.

use super::tree::{Tree, failed};
use comity_core::refusal::Refusal;
use comity_protocol::collab::etag;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes before a place that tell whether a file is the one that was read.
const TAIL: u64 = 512;
/// Bytes that are read of a file at once where it only has grown; the rest comes the next time.
const READ_MAX: u64 = 16 * 1024 * 1024;

/// A place in a file that was read up to there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    pub at: u64,
    /// What the bytes before it hash to.
    tail: String,
}

impl Mark {
    pub fn set(tree: &Tree, path: &Path, at: u64) -> Mark {
        Mark { at, tail: tail(tree, path, at).unwrap_or_default() }
    }

    /// Tells whether the file still is, up to here, what was read.
    pub fn fits(&self, tree: &Tree, path: &Path) -> bool {
        !self.tail.is_empty() && tail(tree, path, self.at).is_some_and(|now| now == self.tail)
    }
}

fn tail(tree: &Tree, path: &Path, at: u64) -> Option<String> {
    let mut file = tree.file(path)?;
    let from = at.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(at - from).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == at - from).then(|| etag(&bytes).chars().take(16).collect())
}

/// What was found in a file after a mark.
pub struct Added {
    pub lines: Vec<(u64, String)>,
    /// Whether they are all that the file has, because it is not the one that was read.
    pub anew: bool,
    /// Whether it ends with a part of a line that somebody may still be writing.
    pub open: bool,
    pub end: u64,
}

/// Reads what was added to a file since a mark; all of it when it is another file.
pub fn added(tree: &Tree, path: &Path, mark: &Mark) -> Result<Added, Refusal> {
    let anew = !mark.fits(tree, path);
    let from = if anew { 0 } else { mark.at };
    let mut found = Added { lines: Vec::new(), anew, open: false, end: from };
    let Some(mut file) = tree.file(path) else { return Ok(found) };
    let wrong = |error: std::io::Error| failed("read", path, &error);
    file.seek(SeekFrom::Start(from)).map_err(wrong)?;
    let most = if anew { u64::MAX } else { READ_MAX };
    let mut input = BufReader::new(file.take(most));
    loop {
        let mut line = Vec::new();
        let length = input.read_until(b'\n', &mut line).map_err(wrong)? as u64;
        if length == 0 {
            return Ok(found);
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        // A last line without its end is one all the same, when it is whole.
        if !line.ends_with(b"\n") && serde_json::from_str::<Map<String, Value>>(&text).is_err() {
            found.open = true;
            return Ok(found);
        }
        found.lines.push((found.end, text));
        found.end += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grew_is_read_on_and_another_one_from_its_beginning() {
        let dir = std::env::temp_dir().join(format!("comity-mark-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (path, tree) = (dir.join("events.jsonl"), Tree::new(dir.clone(), &dir));
        let look = |mark: &Mark| {
            let found = added(&tree, &path, mark).unwrap();
            (
                found.lines.into_iter().map(|(_, text)| text).collect::<Vec<_>>(),
                found.anew,
                found.end,
            )
        };
        assert_eq!(look(&Mark::default()), (vec![], true, 0));
        std::fs::write(&path, "{\"a\": 1}\n{\"b\": 2}").unwrap();
        let (lines, anew, end) = look(&Mark::default());
        assert_eq!((lines.len(), anew, end), (2, true, 17), "the last one is whole");
        let mark = Mark::set(&tree, &path, end);
        std::fs::write(&path, "{\"a\": 1}\n{\"b\": 2}\n{\"c\": 3}\n{\"d").unwrap();
        assert_eq!(look(&mark), (vec![String::new(), "{\"c\": 3}".to_owned()], false, 27));
        assert!(added(&tree, &path, &mark).unwrap().open);
        std::fs::write(&path, "{\"e\": 5}\n").unwrap();
        assert_eq!(look(&mark), (vec!["{\"e\": 5}".to_owned()], true, 9));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
