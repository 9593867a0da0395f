//! Stores of every released schema are opened and upgraded. A new release adds its dump to `tests/schemas`: with
//! `COMITY_BLESS=1`, comity upgrades the store of the dump before, and sqlite3 writes it down.

use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::{Reader, Store};
use std::path::{Path, PathBuf};
use std::process::Command;

fn dumps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas")
}

/// Makes a store of a dump.
fn loaded(dump: &Path, path: &Path) {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.execute_batch(&std::fs::read_to_string(dump).unwrap()).unwrap();
}

fn version(path: &Path) -> i64 {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_store_of_every_released_schema_is_upgraded() {
    let dir = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(&dir.path().join("new.db"), OpenOptions::default()).unwrap());
    let newest = version(&dir.path().join("new.db"));
    let mut count = 0;
    for dump in std::fs::read_dir(dumps()).unwrap() {
        let dump = dump.unwrap().path();
        let path = dir.path().join(dump.file_name().unwrap());
        loaded(&dump, &path);
        let mut store = SqliteStore::open(&path, OpenOptions::default()).unwrap();
        assert_eq!(store.integrity().unwrap(), Vec::<String>::new(), "{}", dump.display());
        let mut tx = store.read().unwrap();
        assert_eq!(tx.head().unwrap().seq.0, 4, "{}", dump.display());
        assert_eq!(tx.entities(None, 100).unwrap().len(), 4, "{}", dump.display());
        assert_eq!(tx.mismatches().unwrap(), Vec::<String>::new(), "{}", dump.display());
        drop(tx);
        drop(store.write().unwrap());
        assert_eq!(version(&path), newest);
        count += 1;
    }
    assert_eq!(count, newest, "one dump for each released schema");
}

/// Returns the lines that tables, indexes and rows of a store are written in, whatever their order, but for the times of its
/// upgrades.
fn content(path: &Path) -> Vec<String> {
    let made = Command::new("sqlite3").arg(path).arg(".dump").output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let text = String::from_utf8(made.stdout).unwrap();
    let is_time = |line: &&str| line.starts_with("INSERT INTO schema_migrations");
    let mut lines: Vec<String> =
        text.lines().filter(|line| !is_time(line)).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn the_newest_dump_is_what_comity_makes_of_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let (upgraded, kept) = (dir.path().join("upgraded.db"), dir.path().join("kept.db"));
    drop(SqliteStore::open(&dir.path().join("new.db"), OpenOptions::default()).unwrap());
    let newest = version(&dir.path().join("new.db"));
    let dump = |version: i64| dumps().join(format!("{version:04}.sql"));
    loaded(&dump(newest - 1), &upgraded);
    let mut store = SqliteStore::open(&upgraded, OpenOptions::default()).unwrap();
    drop(store.write().unwrap());
    drop(store);
    assert_eq!(version(&upgraded), newest);
    if std::env::var_os("COMITY_BLESS").is_some() {
        let made = Command::new("sqlite3").arg(&upgraded).arg(".dump").output().unwrap();
        let text = format!(
            "-- A store of schema {newest} with four events. Never edited; comity made it of the one before, and sqlite3's \
             .dump wrote it down.\n{}PRAGMA user_version = {newest};\n",
            String::from_utf8(made.stdout).unwrap()
        );
        std::fs::write(dump(newest), text).unwrap();
    }
    loaded(&dump(newest), &kept);
    assert_eq!(content(&kept), content(&upgraded));
}
