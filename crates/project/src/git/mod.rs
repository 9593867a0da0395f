//! Where the repository is. Every command looks for it, so this reads git's files by hand and starts no process.

mod index;
mod ini;
mod place;
mod refs;

pub use index::{Index, Staged};
pub use ini::Ini;
pub use place::{Place, remote_name};
pub use refs::Refs;

use crate::plain_file;
use std::path::Path;

/// The largest file of git's own that is read: its settings, and the paths of its directories.
const FILE_BYTES_MAX: usize = 1024 * 1024;

fn read(file: &Path) -> std::io::Result<String> {
    plain_file::read_text(file, FILE_BYTES_MAX)
}
