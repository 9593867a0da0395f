//! Rows to entities. What does not decode is damage, and says which row.

use super::error::DbError;
use comity_core::ids::{AgentId, Fence, LeaseId, RepoName, TaskId};
use comity_core::lease::{Lease, LeaseMode};
use comity_core::refusal::Refusal;
use comity_core::time::{Millis, Timestamp};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::de::DeserializeOwned;

/// Reads an entity that is kept as JSON.
pub(super) fn entity<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> Result<T, DbError> {
    let bytes = match row.get_ref(at)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        other => {
            return Err(DbError::Row(format!("a row holds {:?}, not JSON", other.data_type())));
        }
    };
    serde_json::from_slice(bytes).map_err(|error| {
        let start = String::from_utf8_lossy(bytes.get(..bytes.len().min(60)).unwrap_or(bytes));
        DbError::Row(format!("a row does not decode ({error}): {start}"))
    })
}

fn text<'r>(row: &'r Row<'_>, at: usize) -> Result<&'r str, DbError> {
    row.get_ref(at)?.as_str().map_err(|error| DbError::Row(format!("column {at}: {error}")))
}

fn optional_text<'r>(row: &'r Row<'_>, at: usize) -> Result<Option<&'r str>, DbError> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        _ => text(row, at).map(Some),
    }
}

fn valid<T>(parsed: Result<T, Refusal>) -> Result<T, DbError> {
    parsed.map_err(|refusal| DbError::Row(refusal.message))
}

pub(super) fn repo(row: &Row<'_>, at: usize) -> Result<RepoName, DbError> {
    valid(RepoName::parse(text(row, at)?))
}

pub(super) fn task_id(row: &Row<'_>, at: usize) -> Result<TaskId, DbError> {
    valid(TaskId::parse(text(row, at)?))
}

/// Reads a count or a number that is never negative.
pub(super) fn number(row: &Row<'_>, at: usize) -> Result<u64, DbError> {
    let value: i64 = row.get(at)?;
    u64::try_from(value).map_err(|_| DbError::Row(format!("column {at} is negative: {value}")))
}

pub(super) fn time(row: &Row<'_>, at: usize) -> Result<Timestamp, DbError> {
    Ok(Timestamp::from_ms(row.get(at)?))
}

fn fence(row: &Row<'_>, at: usize) -> Result<Fence, DbError> {
    Fence::new(number(row, at)?).ok_or_else(|| DbError::Row("a grant has fence 0".to_owned()))
}

/// Reads a lease from the columns of `sql::LEASE`.
pub(super) fn lease(row: &Row<'_>, repo_name: RepoName) -> Result<Lease, DbError> {
    let claim_of = match optional_text(row, 6)? {
        Some(id) => Some(valid(TaskId::parse(id))?),
        None => None,
    };
    Ok(Lease {
        repo: repo_name,
        id: LeaseId(number(row, 1)?),
        path: text(row, 2)?.to_owned(),
        mode: if row.get(3)? { LeaseMode::Shared } else { LeaseMode::Exclusive },
        owner: valid(AgentId::parse(text(row, 4)?))?,
        purpose: optional_text(row, 5)?.map(str::to_owned),
        claim_of,
        fence: fence(row, 7)?,
        acquired_at: time(row, 8)?,
        renewed_at: time(row, 9)?,
        ttl: Millis::from_ms(row.get(10)?),
    })
}

/// Turns a number into what SQLite keeps; numbers beyond its range do not occur.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Turns a limit into what SQLite takes.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
