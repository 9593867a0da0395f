//! Lists, ordered and paged.

use super::error::DbError;
use super::load::Loader;
use super::sql;
use crate::listing::{self, Place, PlaceId};
use crate::rows;
use crate::{DecisionQuery, EventQuery, KeptRow, LeaseQuery, TaskQuery};
use comity_core::agent::Agent;
use comity_core::chain::{Hash, Head, Stored};
use comity_core::decision::Decision;
use comity_core::facts::{Entity, Presence, Saved};
use comity_core::ids::{AgentId, RepoName, Seq, TaskId};
use comity_core::lease::Lease;
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::role::Role;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};
use std::collections::BTreeMap;

pub(super) fn collect<T>(
    conn: &Connection,
    text: &str,
    given: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, DbError>,
) -> Result<Vec<T>, DbError> {
    let mut statement = conn.prepare_cached(text)?;
    let mut found = statement.query(given)?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

pub(super) fn head(conn: &Connection) -> Result<Head, DbError> {
    let mut statement = conn.prepare_cached(sql::HEAD)?;
    let mut found = statement.query([])?;
    let Some(row) = found.next()? else { return Ok(Head::default()) };
    Ok(Head { seq: Seq(rows::number(row, 0)?), ts: rows::time(row, 1)?, hash: rows::hash(row, 2)? })
}

pub(super) fn due(conn: &Connection, now: Timestamp, limit: usize) -> Result<Vec<Key>, DbError> {
    let mut due = Vec::new();
    for (kind, text) in sql::DUE {
        let given = params![now.ms(), rows::limit(limit)];
        due.extend(collect(conn, text, given, |row| rows::due(kind, row))?);
    }
    Ok(listing::soonest(due, limit))
}

pub(super) fn tasks(conn: &Connection, query: &TaskQuery) -> Result<Vec<Task>, DbError> {
    sql::TASK_LISTS.list(query, |text, leading| tasks_by(conn, query, text, leading))
}

fn tasks_by(
    conn: &Connection,
    query: &TaskQuery,
    text: &str,
    leading: Option<&str>,
) -> Result<Vec<Task>, DbError> {
    let words: Vec<&str> = query.statuses.iter().map(|status| status.as_str()).collect();
    let statuses = (!words.is_empty()).then(|| format!(",{},", words.join(",")));
    // Rows may be dropped below only where there are several labels; then the limit is kept here.
    let most = if query.labels.len() > 1 { -1 } else { rows::limit(query.limit) };
    let mut statement = conn.prepare_cached(text)?;
    statement.raw_bind_parameter(1, query.repo.as_str())?;
    statement.raw_bind_parameter(2, rows::signed(query.after))?;
    statement.raw_bind_parameter(3, most)?;
    statement.raw_bind_parameter(4, statuses)?;
    statement.raw_bind_parameter(5, query.assignee.as_ref().map(AgentId::as_str))?;
    statement.raw_bind_parameter(6, query.role.map(Role::as_str))?;
    statement.raw_bind_parameter(7, query.initiative.as_deref())?;
    statement.raw_bind_parameter(8, query.unblocked_only)?;
    if let Some(value) = leading {
        statement.raw_bind_parameter(9, value)?;
    }
    let mut found = statement.raw_query();
    let mut all = Vec::new();
    while all.len() < query.limit {
        let Some(row) = found.next()? else { break };
        let task: Task = rows::entity(row, 0)?;
        if query.labels.iter().all(|label| task.labels.contains(label)) {
            all.push(task);
        }
    }
    Ok(all)
}

pub(super) fn leases(conn: &Connection, query: &LeaseQuery) -> Result<Vec<Lease>, DbError> {
    let (repo, limit) = (query.repo.as_str(), rows::limit(query.limit));
    let after = rows::signed(query.after.map_or(0, |id| id.0));
    let read = |row: &Row<'_>| rows::lease(row, query.repo.clone());
    match &query.owner {
        Some(owner) => {
            let given = params![repo, owner.as_str(), after, limit];
            collect(conn, sql::LEASES_BY_OWNER, given, read)
        }
        None => collect(conn, sql::LEASES_BY_NUMBER, params![repo, after, limit], read),
    }
}

pub(super) fn leases_below(
    conn: &Connection,
    repo: &RepoName,
    directory: &str,
    limit: usize,
) -> Result<Vec<Lease>, DbError> {
    let given = params![repo.as_str(), directory, rows::limit(limit)];
    collect(conn, sql::LEASES_FIRST_BELOW, given, |row| rows::lease(row, repo.clone()))
}

pub(super) fn decisions(
    conn: &Connection,
    query: &DecisionQuery,
) -> Result<Vec<Decision>, DbError> {
    let text = if query.open_only { sql::DECISIONS_OPEN } else { sql::DECISIONS_BY_NUMBER };
    let after = rows::signed(query.after.map_or(0, |id| id.0));
    let given = params![query.repo.as_str(), after, rows::limit(query.limit)];
    collect(conn, text, given, |row| rows::entity(row, 0))
}

pub(super) fn agents(
    loader: &Loader<'_>,
    after: Option<&AgentId>,
    limit: usize,
) -> Result<Vec<(Agent, Presence)>, DbError> {
    let given = params![after.map_or("", AgentId::as_str), rows::limit(limit)];
    collect(loader.conn, sql::AGENTS_AFTER, given, |row| {
        let agent: Agent = rows::entity(row, 0)?;
        let presence = loader.presence(&agent.id)?;
        Ok((agent, presence))
    })
}

/// Returns a number that changes when another connection has committed.
pub(super) fn data_version(conn: &Connection) -> Result<i64, DbError> {
    Ok(conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}

pub(super) fn held_by(
    conn: &Connection,
    agent: &AgentId,
    limit: usize,
) -> Result<Vec<(RepoName, TaskId)>, DbError> {
    collect(conn, sql::HELD_BY, params![agent.as_str(), rows::limit(limit)], |row| {
        Ok((rows::repo(row, 0)?, rows::task_id(row, 1)?))
    })
}

pub(super) fn saved(
    conn: &Connection,
    now: Timestamp,
    after: Option<&(AgentId, String)>,
    limit: usize,
) -> Result<Vec<(AgentId, String, Saved)>, DbError> {
    let (actor, key) = after.map_or(("", ""), |(actor, key)| (actor.as_str(), key.as_str()));
    let oldest = now.ms().saturating_sub(IDEMPOTENCY_LIFE.ms());
    let given = params![actor, key, oldest, rows::limit(limit)];
    collect(conn, sql::SAVED_AFTER, given, |row| {
        Ok((rows::agent_id(row, 0)?, row.get(1)?, rows::saved(row, 2)?))
    })
}

pub(super) fn kept_rows(
    conn: &Connection,
    after: Option<&(String, String)>,
    limit: usize,
) -> Result<Vec<KeptRow>, DbError> {
    let (space, key) = after.map_or(("", ""), |(space, key)| (space.as_str(), key.as_str()));
    let given = params![space, key, rows::limit(limit)];
    collect(conn, sql::KEPT_AFTER, given, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

pub(super) fn status_counts(
    conn: &Connection,
    repo: &RepoName,
) -> Result<BTreeMap<Status, u64>, DbError> {
    let counts = collect(conn, sql::STATUS_COUNTS, params![repo.as_str()], |row| {
        Ok((rows::status(row, 0)?, rows::number(row, 1)?))
    })?;
    Ok(counts.into_iter().collect())
}

pub(super) fn events(conn: &Connection, query: &EventQuery) -> Result<Vec<Stored>, DbError> {
    let place = match (query.before, query.since) {
        (Some(before), _) => before.0,
        (None, Some(since)) => query.after.0.max(last_before(conn, since)?),
        (None, None) => query.after.0,
    };
    let given = params![
        rows::signed(place),
        rows::limit(query.limit),
        query.repo.as_ref().map(RepoName::as_str),
        query.task.as_ref().map(TaskId::as_str),
        query.event,
    ];
    let mut last: Option<Head> = None;
    collect(conn, sql::EVENT_LISTS.narrowest(query), given, |row| {
        let seq = Seq(rows::number(row, 0)?);
        let prev = match &last {
            Some(last) if last.seq.0 + 1 == seq.0 => last.hash,
            _ => hash_before(conn, seq)?,
        };
        let stored = rows::stored(row, prev)?;
        last = Some(stored.head());
        Ok(stored)
    })
}

/// A predecessor that is missing is reported by whoever verifies the log, not here.
fn hash_before(conn: &Connection, seq: Seq) -> Result<Hash, DbError> {
    let before = rows::signed(seq.0.saturating_sub(1));
    let mut statement = conn.prepare_cached(sql::EVENT_HASH)?;
    let mut found = statement.query(params![before])?;
    found.next()?.map_or(Ok(Hash::GENESIS), |row| rows::hash(row, 0))
}

/// Returns the seq of the last event that is dated before `since`.
fn last_before(conn: &Connection, since: Timestamp) -> Result<u64, DbError> {
    let mut statement = conn.prepare_cached(sql::EVENT_TS)?;
    listing::last_before(head(conn)?.seq.0, |place| {
        let ts: Option<i64> =
            statement.query_row(params![rows::signed(place)], |row| row.get(0)).optional()?;
        Ok(ts.is_some_and(|ts| ts < since.ms()))
    })
}

pub(super) fn entities(
    conn: &Connection,
    after: Option<&Key>,
    limit: usize,
) -> Result<Vec<(Key, Entity)>, DbError> {
    listing::pages(after, limit, |from, limit| {
        let (mut statement, next) = at(conn, sql::by_key(from.kind).after, &from)?;
        statement.raw_bind_parameter(next, rows::limit(limit))?;
        let mut found = statement.raw_query();
        let mut page = Vec::new();
        while let Some(row) = found.next()? {
            page.push(rows::keyed(from.kind, row)?);
        }
        Ok(page)
    })
}

/// Prepares a statement that begins with the columns of a key; returns it with the place of its next parameter.
pub(super) fn at<'c>(
    conn: &'c Connection,
    text: &str,
    place: &Place<'_>,
) -> Result<(CachedStatement<'c>, usize), DbError> {
    let mut statement = conn.prepare_cached(text)?;
    statement.raw_bind_parameter(1, place.name)?;
    match place.id {
        PlaceId::None => return Ok((statement, 2)),
        PlaceId::Text(id) => statement.raw_bind_parameter(2, id)?,
        PlaceId::Number(number) => statement.raw_bind_parameter(2, rows::signed(number))?,
    }
    Ok((statement, 3))
}
