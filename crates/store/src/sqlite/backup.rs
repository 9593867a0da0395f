//! A copy of the database in one file.

use super::FILE_MODE;
use super::error::DbError;
use crate::StoreError;
use rusqlite::Connection;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes what the database has at this moment into a new file. Writers are not held up, and what they commit meanwhile
/// is not in it.
pub(super) fn write(conn: &Connection, to: &Path) -> Result<(), DbError> {
    // SQLite itself would make the file readable for all; an empty one it takes.
    let mut options = std::fs::File::options();
    options.write(true).create_new(true).mode(FILE_MODE);
    options.open(to).map_err(|error| StoreError::other("cannot create the copy", error))?;
    conn.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    // The copy is opened as a store is.
    let copy = Connection::open(to)?;
    copy.pragma_update(None, "journal_mode", "WAL")?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(())
}
