//! The schema and its migrations: numbered, checked, applied in one transaction under a lock, so that any
//! number of hosts may start at once.

use super::error::DbError;
use super::link::{Link, values};
use crate::StoreError;
use comity_core::chain::Hash;
use std::time::Duration;

/// The migration that needs more than statements.
const POSTS: i64 = 6;

/// Every released migration, in order. A released one is never edited.
const MIGRATIONS: &[(i64, &str)] = &[
    (1, include_str!("migrations/0001_initial.sql")),
    (2, include_str!("migrations/0002_memory.sql")),
    (3, include_str!("migrations/0003_fold_case.sql")),
    (4, include_str!("migrations/0004_past_leases.sql")),
    (5, include_str!("migrations/0005_runs.sql")),
    (POSTS, include_str!("migrations/0006_posts.sql")),
    (7, include_str!("migrations/0007_kept.sql")),
    (8, include_str!("migrations/0008_seats.sql")),
];

/// The schema that this build writes.
const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Asked of the catalogue itself: what a session remembers of names may be old while it waits for a lock.
const HAS_TABLE: &str = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = 'schema_migrations' AND n.nspname = current_schema())";
const APPLIED: &str = "SELECT version, checksum FROM schema_migrations ORDER BY version";
const SET_APPLIED: &str = "INSERT INTO schema_migrations (version, checksum) VALUES ($1, $2)";
const SCHEMA: &str = "SELECT current_schema(), hashtextextended('comity:' || current_schema(), 0)";
const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";
const TABLE: &str = "CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, \
    checksum TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())";

/// The names that differ between the stores of one database.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) lock: i64,
    /// The `NOTIFY` channel for commits.
    pub(super) channel: String,
}

/// Finds the names of the store in the schema that the connection sees.
pub(super) fn names(link: &Link) -> Result<Names, DbError> {
    let rows = link.query(SCHEMA, values![])?;
    let row =
        rows.first().ok_or_else(|| DbError::Row("PostgreSQL returned no schema".to_owned()))?;
    let schema: Option<&str> = row.try_get(0)?;
    if schema.is_none() {
        let text = "the schema of the search path does not exist";
        return Err(StoreError::other("the store URL", text).into());
    }
    let lock: i64 = row.try_get(1)?;
    Ok(Names { lock, channel: format!("comity_{:016x}", lock.cast_unsigned()) })
}

fn version(link: &Link) -> Result<i64, DbError> {
    let rows = link.query(HAS_TABLE, values![])?;
    let exists = rows.first().map_or(Ok(false), |row| row.try_get(0))?;
    if !exists {
        return Ok(0);
    }
    let rows = link.query(APPLIED, values![])?;
    let mut found = 0;
    for row in &rows {
        found = row.try_get(0)?;
        let checksum: &str = row.try_get(1)?;
        let known = MIGRATIONS.iter().find(|(version, _)| *version == found);
        if known.is_some_and(|(_, text)| Hash::of(text.as_bytes()).to_string() != checksum) {
            return Err(DbError::Row(format!(
                "migration {found} of this store differs from the one in this comity"
            )));
        }
    }
    if found > KNOWN {
        return Err(StoreError::TooNew { found, known: KNOWN }.into());
    }
    Ok(found)
}

/// Brings the store to the known schema.
pub(super) fn settle(link: &Link, names: &Names, confirm_wait: Duration) -> Result<(), DbError> {
    if version(link)? == KNOWN {
        return Ok(());
    }
    link.batch("BEGIN")?;
    let done = apply_missing(link, names).and_then(|()| {
        // Tables that a standby does not have yet are made there by whoever opens the store next.
        link.commit(&[], confirm_wait).map(drop)
    });
    if done.is_err() && !link.is_closed() {
        link.batch("ROLLBACK")?;
    }
    done
}

fn apply_missing(link: &Link, names: &Names) -> Result<(), DbError> {
    link.query(LOCK, values![names.lock])?;
    // Another host may have been faster.
    let found = version(link)?;
    if found == 0 {
        link.batch(TABLE)?;
    }
    for (version, text) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        link.batch(text)?;
        if *version == POSTS {
            super::posts::place_memories(link)?;
        }
        let checksum = Hash::of(text.as_bytes()).to_string();
        link.query(SET_APPLIED, values![*version, checksum])?;
    }
    Ok(())
}
