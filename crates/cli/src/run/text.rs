//! Texts of the caller: files, or standard input for `-`.

use comity_core::limits::TEXT_BYTES_MAX;
use comity_core::refusal::Refusal;
use comity_project::plain_file;
use comity_protocol::ace::{DONE_FILE, HandOverError};
use comity_protocol::document::{BYTES_MAX, Place};
use comity_protocol::plan::FILE_BYTES_MAX;
use std::io::{self, ErrorKind};
use std::path::Path;

const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

/// Returns what a file is called in messages.
pub(super) fn name_of(file: &str) -> &str {
    if file == "-" { "stdin" } else { file }
}

fn bytes(file: &str, most: usize) -> io::Result<Vec<u8>> {
    match file {
        "-" => crate::stdin::read(most),
        file => plain_file::read(Path::new(file), most),
    }
}

/// Reads a contract, and no more of it than a contract can have.
pub(super) fn contract(file: &str) -> Result<String, Refusal> {
    let bytes = bytes(file, BYTES_MAX).map_err(|error| {
        let missing = error.kind() == ErrorKind::NotFound;
        let is_hand_over = Path::new(file).file_name().is_some_and(|name| name == DONE_FILE);
        // ACE has a name of its own for a worker that ended without a word.
        let said = match missing && is_hand_over {
            true => format!("{}: cannot read {file}: {error}", HandOverError::MissingDoneFile),
            false => format!("cannot read {file}: {error}"),
        };
        Refusal::input(said).hint("give a file in YAML or JSON, or - for standard input")
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let at =
            Place::after(&String::from_utf8_lossy(error.as_bytes().get(..good).unwrap_or(&[])));
        let (line, column) = (at.line, at.column);
        Refusal::input(format!("{file}:{line}:{column}: this is not UTF-8 (byte {good})"))
            .detail("line", line)
            .detail("column", column)
    })
}

pub(super) fn tracker(file: &str) -> Result<String, Refusal> {
    let bytes = bytes(file, FILE_BYTES_MAX).map_err(|error| {
        let refusal = Refusal::input(format!("cannot read {file}: {error}"));
        match error.kind() {
            ErrorKind::FileTooLarge => {
                refusal.hint("divide it and import the parts one after the other")
            }
            _ => refusal.hint("give a file, or - for standard input"),
        }
    })?;
    String::from_utf8(bytes).map_err(|_| Refusal::input(format!("{file} is not UTF-8")))
}

/// Reads a text that is no larger than a free text may be.
pub(super) fn plain(file: &str) -> Result<String, Refusal> {
    let bytes = bytes(file, TEXT_BYTES_MAX).map_err(|error| {
        Refusal::input(format!("cannot read {file}: {error}"))
            .hint("give a file with at most 64 KiB, or - for standard input")
    })?;
    String::from_utf8(bytes).map_err(|_| Refusal::input(format!("{file} is not UTF-8")))
}

/// Reads a commit message.
pub(super) fn message(file: &str) -> Result<String, Refusal> {
    let bytes = bytes(file, MESSAGE_BYTES_MAX)
        .map_err(|error| Refusal::input(format!("cannot read {file}: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
