//! Tests that need the inside of the store: query plans, a full disk, a store that turns read-only.

use super::{OpenOptions, SqliteStore, sql};
use crate::{Changes, Holder, ManualClock, Reader, Rows, Store, StoreError};
use comity_core::chain::Stored;
use comity_core::event::{Draft, Event, Note};
use comity_core::facts::Facts;
use comity_core::ids::{AgentId, RepoName};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn open(dir: &tempfile::TempDir) -> SqliteStore {
    SqliteStore::open(&dir.path().join("store.db"), OpenOptions::default()).unwrap()
}

fn note(store: &mut dyn Store, bytes: usize) -> Result<(), StoreError> {
    let mut tx = store.write()?;
    let head = tx.head()?;
    let mut facts = Facts::at(tx.moment()?, head);
    let body = Note { kind: "progress".to_owned(), text: "x".repeat(bytes) };
    let draft = Draft {
        repo: RepoName::parse("acme/app").unwrap(),
        agent: AgentId::parse("ann").unwrap(),
        task: None,
        event: Event::Note(body),
        via: comity_core::via::Via::default(),
    };
    let events = [Stored::seal(&facts.apply(draft), head.hash).unwrap()];
    let (dirty, due) = (BTreeSet::new(), BTreeMap::new());
    let rows = Rows { facts: &facts, dirty: &dirty, due: &due };
    tx.commit(Changes { events: &events, rows, presence: &[], saved: &[], kept: &[] })
}

fn plan(store: &SqliteStore, text: &str) -> Vec<String> {
    let mut statement = store.conn.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
    let lines = statement.raw_query().mapped(|row| row.get::<_, String>(3));
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn no_statement_scans_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    assert!(sql::ALL.len() > 50);
    for (name, text) in sql::ALL {
        for line in plan(&store, text) {
            // The head is the last row of the log: a scan that stops at its first row.
            // Rows of a subquery that was limited before are no table.
            // A clock is corrected once in the life of a store.
            let harmless =
                *name == "HEAD" || name.starts_with("CORRECT_") || line == "SCAN (subquery-1)";
            assert!(!line.contains("SCAN") || harmless, "{name}: {line}");
        }
    }
}

#[test]
fn lists_and_claims_need_no_sorting() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    for (name, text) in sql::ALL.iter().filter(|(name, _)| !name.ends_with("BY_PARENT")) {
        let sorted = plan(&store, text).into_iter().find(|line| line.contains("TEMP B-TREE"));
        // A task of that name may be in several repositories; there are few events of each.
        let expected = *name == "EVENTS_OF_TASK_ANYWHERE";
        assert!(sorted.is_none() || expected, "{name}: {sorted:?}");
    }
}

#[test]
fn a_full_disk_is_said_to_be_full_and_the_store_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    note(&mut store, 10).unwrap();
    let pages: i64 = store.conn.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    store.conn.execute_batch(&format!("PRAGMA max_page_count = {}", pages + 2)).unwrap();
    let error = note(&mut store, 60_000).unwrap_err();
    assert!(matches!(error, StoreError::Full), "{error}");
    assert_eq!(store.read().unwrap().head().unwrap().seq.0, 1, "nothing of it is there");
    assert!(matches!(note(&mut store, 60_000), Err(StoreError::Full)), "again, not busy");
    store.conn.execute_batch("PRAGMA max_page_count = 1000000").unwrap();
    note(&mut store, 60_000).unwrap();
    assert_eq!(store.read().unwrap().head().unwrap().seq.0, 2);
    assert!(store.integrity().unwrap().is_empty());
}

#[test]
fn a_store_that_turns_read_only_says_so_and_can_still_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    note(&mut store, 10).unwrap();
    store.conn.execute_batch("PRAGMA query_only = ON").unwrap();
    let error = note(&mut store, 10).unwrap_err();
    assert!(matches!(&error, StoreError::ReadOnly(path) if path.ends_with("store.db")), "{error}");
    assert_eq!(store.read().unwrap().head().unwrap().seq.0, 1);
    store.conn.execute_batch("PRAGMA query_only = OFF").unwrap();
    note(&mut store, 10).unwrap();
}

#[test]
fn a_commit_touches_the_wake_file_and_a_dropped_transaction_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    drop(store.write().unwrap());
    let wake = dir.path().join("store.db.wake");
    assert!(!wake.exists());
    note(&mut store, 10).unwrap();
    assert_eq!(std::fs::read(&wake).unwrap(), b"\n");
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = open(&dir);
    let newer = super::schema::KNOWN + 1;
    store.conn.execute_batch(&format!("PRAGMA user_version = {newer}")).unwrap();
    drop(store);
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path, OpenOptions::default()).err().unwrap();
    let known = super::schema::KNOWN;
    assert!(
        matches!(error, StoreError::TooNew { found, known: k } if found == newer && k == known),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_migration_that_was_edited_after_its_release_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    store.conn.execute_batch("UPDATE schema_migrations SET checksum = 'other'").unwrap();
    assert_eq!(store.integrity().unwrap().len(), 1);
    let error = super::schema::migrate(&store.conn, 0).unwrap_err();
    assert!(matches!(store.place.error("", error), StoreError::Damaged(_)));
}

#[test]
fn what_sqlite_keeps_twice_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    note(&mut store, 10).unwrap();
    note(&mut store, 10).unwrap();
    store.conn.execute_batch("DELETE FROM events WHERE seq = 1").unwrap();
    let found = store.integrity().unwrap();
    assert!(found.iter().any(|line| line.contains("missing from the log")), "{found:?}");
}

#[test]
fn a_commit_is_durable_and_opening_sets_what_that_needs() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let pragma = |name: &str| -> String {
        let text = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        store.conn.query_row(&text, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(pragma("journal_mode"), "wal");
    assert_eq!(pragma("synchronous"), "2", "FULL");
    assert_eq!(pragma("foreign_keys"), "0");
}

#[test]
fn old_answers_and_signs_of_life_are_pruned_by_and_by() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let path = dir.path().join("store.db");
    let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
    let mut store = SqliteStore::open(&path, options).unwrap();
    note(&mut store, 1).unwrap();
    let insert = "INSERT INTO idempotency VALUES ('ann', 'k', x'00', '', 5);
        INSERT INTO presence VALUES ('ann', 3, 5), ('ann', 0, 5)";
    store.conn.execute_batch(insert).unwrap();
    clock.pass(comity_core::time::Millis::from_secs(11));
    note(&mut store, 1).unwrap();
    let count = |table: &str| -> i64 {
        let text = format!("SELECT count(*) FROM {table}");
        store.conn.query_row(&text, [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("idempotency"), count("presence")), (0, 1));
}

/// Keeps the wait of these tests short.
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn a_late_lock_is_passed_on_and_one_thread_waits_for_each_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let options = OpenOptions { lock_wait: SHORT, ..OpenOptions::default() };
    let mut first = SqliteStore::open(&path, options.clone()).unwrap();
    let mut second = SqliteStore::open(&path, options).unwrap();
    let held = first.write().unwrap();
    for _ in 0..3 {
        let held = |found: &Holder| found.pid == std::process::id() && found.waited == SHORT;
        assert!(matches!(second.write(), Err(StoreError::Held(found)) if held(&found)));
    }
    drop(held);
    // The thread that still waited gets the lock now; it must not keep it.
    for _ in 0..20 {
        note(&mut first, 1).unwrap();
        note(&mut second, 1).unwrap();
    }
    assert_eq!(first.read().unwrap().head().unwrap().seq.0, 40);
}

#[test]
fn the_url_of_a_store_names_its_file() {
    let dir = tempfile::tempdir().unwrap();
    assert!(open(&dir).url().starts_with("sqlite:/"));
}
