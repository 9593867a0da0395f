//! The schema and its migrations: numbered, checked, applied in one transaction.

use super::error::DbError;
use crate::StoreError;
use comity_core::chain::Hash;
use rusqlite::{Connection, OptionalExtension, params};

/// The migration that needs more than statements.
const POSTS: i64 = 7;

/// Every released migration, in order. A released one is never edited.
const MIGRATIONS: &[(i64, &str)] = &[
    (1, include_str!("migrations/0001_initial.sql")),
    (2, include_str!("migrations/0002_preferred.sql")),
    (3, include_str!("migrations/0003_memory.sql")),
    (4, include_str!("migrations/0004_fold_case.sql")),
    (5, include_str!("migrations/0005_past_leases.sql")),
    (6, include_str!("migrations/0006_runs.sql")),
    (POSTS, include_str!("migrations/0007_posts.sql")),
    (8, include_str!("migrations/0008_kept.sql")),
    (9, include_str!("migrations/0009_seats.sql")),
];

/// The schema that this build writes.
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Returns the schema version of a database; zero when it is empty.
pub(super) fn version(conn: &Connection) -> Result<i64, DbError> {
    Ok(conn.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

pub(super) fn refuse_newer(found: i64) -> Result<(), StoreError> {
    if found > KNOWN { Err(StoreError::TooNew { found, known: KNOWN }) } else { Ok(()) }
}

/// Brings a database to the known schema. The caller holds the write lock.
pub(super) fn migrate(conn: &Connection, now_ms: i64) -> Result<(), DbError> {
    conn.execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE")?;
    let done = apply_missing(conn, now_ms).and_then(|()| Ok(conn.execute_batch("COMMIT")?));
    if done.is_err() && !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK")?;
    }
    done
}

fn apply_missing(conn: &Connection, now_ms: i64) -> Result<(), DbError> {
    // Another process may have been faster.
    let found = version(conn)?;
    refuse_newer(found)?;
    if found == 0 && has_tables(conn)? {
        return Err(DbError::Row("the file is a database of another program".to_owned()));
    }
    for (version, text) in MIGRATIONS {
        let checksum = Hash::of(text.as_bytes()).to_string();
        if *version <= found {
            check_applied(conn, *version, &checksum)?;
            continue;
        }
        conn.execute_batch(text)?;
        if *version == POSTS {
            super::posts::place_memories(conn)?;
        }
        conn.execute(
            "INSERT INTO schema_migrations (version, checksum, applied_at) VALUES (?1, ?2, ?3)",
            params![version, checksum, now_ms],
        )?;
    }
    conn.execute_batch(&format!("PRAGMA user_version = {KNOWN}"))?;
    Ok(())
}

fn has_tables(conn: &Connection) -> Result<bool, DbError> {
    Ok(conn.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?)
}

/// Checks that a migration said the same when it was applied.
fn check_applied(conn: &Connection, version: i64, checksum: &str) -> Result<(), DbError> {
    let text = "SELECT checksum FROM schema_migrations WHERE version = ?1";
    let applied: Option<String> =
        conn.query_row(text, params![version], |row| row.get(0)).optional()?;
    if applied.as_deref() == Some(checksum) {
        return Ok(());
    }
    Err(DbError::Row(format!(
        "migration {version} of this store differs from the one in this comity"
    )))
}

pub(super) fn check_all_applied(conn: &Connection) -> Result<(), DbError> {
    for (version, text) in MIGRATIONS {
        check_applied(conn, *version, &Hash::of(text.as_bytes()).to_string())?;
    }
    Ok(())
}
