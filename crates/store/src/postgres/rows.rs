//! Rows to entities. What does not decode is damage, and says which row.

use super::error::DbError;
use comity_core::agent::Counters;
use comity_core::chain::{Hash, Stored};
use comity_core::ids::{AgentId, Fence, LeaseId, RepoName, Seq, TaskId};
use comity_core::lease::{Lease, LeaseMode};
use comity_core::refusal::Refusal;
use comity_core::time::{Millis, Timestamp};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

/// Reads an entity that is kept as JSON.
pub(super) fn entity<T: DeserializeOwned>(row: &Row, at: usize) -> Result<T, DbError> {
    let text: &str = row.try_get(at)?;
    serde_json::from_str(text).map_err(|error| {
        let start: String = text.chars().take(60).collect();
        DbError::Row(format!("a row does not decode ({error}): {start}"))
    })
}

fn valid<T>(parsed: Result<T, Refusal>) -> Result<T, DbError> {
    parsed.map_err(|refusal| DbError::Row(refusal.message))
}

pub(super) fn repo(row: &Row, at: usize) -> Result<RepoName, DbError> {
    valid(RepoName::parse(row.try_get(at)?))
}

pub(super) fn task_id(row: &Row, at: usize) -> Result<TaskId, DbError> {
    valid(TaskId::parse(row.try_get(at)?))
}

/// Reads a count or a number that is never negative.
pub(super) fn number(row: &Row, at: usize) -> Result<u64, DbError> {
    let value: i64 = row.try_get(at)?;
    u64::try_from(value).map_err(|_| DbError::Row(format!("column {at} is negative: {value}")))
}

pub(super) fn time(row: &Row, at: usize) -> Result<Timestamp, DbError> {
    Ok(Timestamp::from_ms(row.try_get(at)?))
}

pub(super) fn hash(row: &Row, at: usize) -> Result<Hash, DbError> {
    let bytes: &[u8] = row.try_get(at)?;
    Hash::from_slice(bytes).ok_or_else(|| DbError::Row(format!("column {at} is not a digest")))
}

/// Reads the counters from five columns.
pub(super) fn counters(row: &Row, at: usize) -> Result<Counters, DbError> {
    Ok(Counters {
        tasks: number(row, at)?,
        leases: number(row, at + 1)?,
        decisions: number(row, at + 2)?,
        memories: number(row, at + 3)?,
        directives: number(row, at + 4)?,
    })
}

/// Reads a lease.
pub(super) fn lease(row: &Row) -> Result<Lease, DbError> {
    let claim_of: Option<&str> = row.try_get(6)?;
    let fence = Fence::new(number(row, 7)?);
    Ok(Lease {
        repo: repo(row, 0)?,
        id: LeaseId(number(row, 1)?),
        path: row.try_get(2)?,
        mode: if row.try_get(3)? { LeaseMode::Shared } else { LeaseMode::Exclusive },
        owner: valid(AgentId::parse(row.try_get(4)?))?,
        purpose: row.try_get(5)?,
        claim_of: valid(claim_of.map(TaskId::parse).transpose())?,
        fence: fence.ok_or_else(|| DbError::Row("a grant has fence 0".to_owned()))?,
        acquired_at: time(row, 8)?,
        renewed_at: time(row, 9)?,
        ttl: Millis::from_ms(row.try_get(10)?),
    })
}

/// Reads an event.
pub(super) fn stored(row: &Row, prev: Hash) -> Result<Stored, DbError> {
    let version = u32::try_from(number(row, 3)?);
    Ok(Stored {
        seq: Seq(number(row, 0)?),
        ts: time(row, 1)?,
        event: row.try_get(2)?,
        v: version.map_err(|_| DbError::Row("an event has no version".to_owned()))?,
        repo: row.try_get(4)?,
        agent: row.try_get(5)?,
        task: row.try_get(6)?,
        body: row.try_get(7)?,
        body_hash: hash(row, 8)?,
        prev,
        hash: hash(row, 9)?,
    })
}

/// Turns a number into what PostgreSQL keeps; numbers beyond its range do not occur.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Turns a limit into what PostgreSQL takes.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
