//! Stores of every released schema are opened and upgraded. A new release adds its dump to
//! `tests/schemas`.

use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::{Reader, Store};
use std::path::Path;

fn version(path: &Path) -> i64 {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_store_of_every_released_schema_is_upgraded() {
    let dir = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(&dir.path().join("new.db"), OpenOptions::default()).unwrap());
    let newest = version(&dir.path().join("new.db"));
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let mut count = 0;
    for dump in std::fs::read_dir(dumps).unwrap() {
        let dump = dump.unwrap().path();
        let path = dir.path().join(dump.file_name().unwrap());
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.execute_batch(&std::fs::read_to_string(&dump).unwrap()).unwrap();
        drop(conn);
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
