//! What somebody says to an agent while it works: lines of a file beside the run, which its keeper hands on.

use crate::place::{RunPlace, failed, private_file};
use comity_core::refusal::Refusal;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

/// Leaves words for the agent of a run on this host.
pub fn say(place: &RunPlace, text: &str) -> Result<(), Refusal> {
    let path = place.steering();
    let line = format!("{}\n", serde_json::Value::String(text.to_owned()));
    let opened = private_file(&path, OpenOptions::new().append(true));
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    written.map_err(|error| failed(&path, &error))
}

/// Reads what was said from a place on, and tells where the next words begin.
pub(crate) fn read(path: &Path, from: u64) -> (Vec<String>, u64) {
    let Ok(mut file) = File::open(path) else { return (Vec::new(), from) };
    if file.seek(SeekFrom::Start(from)).is_err() {
        return (Vec::new(), from);
    }
    let (mut texts, mut place, mut line) = (Vec::new(), from, String::new());
    let mut reader = BufReader::new(file);
    while let Ok(count) = reader.read_line(&mut line) {
        if count == 0 || !line.ends_with('\n') {
            break;
        }
        place += count as u64;
        texts.extend(serde_json::from_str::<String>(&line).ok());
        line.clear();
    }
    (texts, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_once_and_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let place = RunPlace { dir: dir.path().to_owned() };
        say(&place, "look at\nthe tests").unwrap();
        say(&place, "and stop").unwrap();
        let (texts, next) = read(&place.steering(), 0);
        assert_eq!(texts, ["look at\nthe tests", "and stop"]);
        assert_eq!(read(&place.steering(), next), (Vec::new(), next));
    }
}
