//! Files that are not there, not writable, or not what they should be.

use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::{Store, StoreError};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, OpenOptions::default())
}

#[test]
fn a_new_store_belongs_to_its_owner_alone_and_its_directory_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/store.db");
    let mut store = open(&path).unwrap();
    drop(store.write().unwrap());
    for file in ["store.db", "store.db.lock", "store.db.turn"] {
        let mode = std::fs::metadata(path.with_file_name(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn a_store_that_is_not_there_is_not_made_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let options = OpenOptions { create: false, ..OpenOptions::default() };
    assert!(matches!(SqliteStore::open(&path, options), Err(StoreError::Other { .. })));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_no_database_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    std::fs::write(&path, "This is not a database at all.".repeat(300)).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Damaged(_))));
}

#[test]
fn a_database_of_something_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    drop(conn);
    assert!(matches!(open(&path), Err(StoreError::Damaged(_))));
}

#[test]
fn damage_inside_the_file_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    drop(open(&path).unwrap());
    // Whatever is still in the log beside the database is moved into it.
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(conn);
    let mut bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() > 3 * 4096);
    bytes[2 * 4096..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let found = match open(&path) {
        Ok(mut store) => store.integrity().map(|found| !found.is_empty()),
        Err(error) => Err(error),
    };
    assert!(matches!(found, Ok(true) | Err(StoreError::Damaged(_))), "{found:?}");
}

#[test]
fn a_read_only_store_is_read_and_its_writers_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    drop(open(&path).unwrap());
    let mode = |mode: u32| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode | 0o111))
            .unwrap();
    };
    mode(0o400);
    if std::fs::File::options().write(true).open(&path).is_ok() {
        println!("skipped: this user may write everywhere (root); query_only is tested instead");
        mode(0o700);
        return;
    }
    let outcome = open(&path).and_then(|mut store| store.write().map(drop));
    mode(0o700);
    assert!(matches!(outcome, Err(StoreError::ReadOnly(_))), "{outcome:?}");
    open(&path).unwrap().write().map(drop).unwrap();
}
