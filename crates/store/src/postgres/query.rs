//! Lists, ordered and paged.

use super::error::DbError;
use super::link::{Link, Op, Value, values};
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
use std::collections::BTreeMap;
use tokio_postgres::Row;

fn head(link: &Link) -> Result<Head, DbError> {
    let found = link.query(sql::HEAD, values![])?;
    let Some(row) = found.first() else { return Ok(Head::default()) };
    Ok(Head { seq: Seq(rows::number(row, 0)?), ts: rows::time(row, 1)?, hash: rows::hash(row, 2)? })
}

pub(super) fn due(link: &Link, now: Timestamp, limit: usize) -> Result<Vec<Key>, DbError> {
    let op = |(_, text)| Op::new(text, values![now.ms(), rows::limit(limit)]);
    let found = link.together(None, &sql::DUE.map(op), None)?;
    let mut due = Vec::new();
    for ((kind, _), found) in sql::DUE.into_iter().zip(&found) {
        for row in found {
            due.push(rows::due(kind, row)?);
        }
    }
    Ok(listing::soonest(due, limit))
}

pub(super) fn tasks(link: &Link, query: &TaskQuery) -> Result<Vec<Task>, DbError> {
    sql::TASK_LISTS.list(query, |text, leading| tasks_by(link, query, text, leading))
}

fn tasks_by(
    link: &Link,
    query: &TaskQuery,
    text: &'static str,
    leading: Option<&str>,
) -> Result<Vec<Task>, DbError> {
    let statuses: Option<Vec<&str>> = (!query.statuses.is_empty())
        .then(|| query.statuses.iter().map(|status| status.as_str()).collect());
    let words = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<String>>();
    // Rows may be dropped later only where there are several labels; then the limit is kept there.
    let most = if query.labels.len() > 1 { i64::MAX } else { rows::limit(query.limit) };
    let given = values![
        query.repo.as_str().to_owned(),
        rows::signed(query.after),
        most,
        statuses.map(words),
        query.assignee.as_ref().map(|agent| agent.as_str().to_owned()),
        query.role.map(|role| Role::as_str(role).to_owned()),
        query.initiative.clone(),
        query.unblocked_only,
        leading.map(str::to_owned),
    ];
    link.query(text, given)?.iter().map(|row| rows::entity(row, 0)).collect()
}

pub(super) fn leases(link: &Link, query: &LeaseQuery) -> Result<Vec<Lease>, DbError> {
    let (repo, limit) = (query.repo.as_str().to_owned(), rows::limit(query.limit));
    let after = rows::signed(query.after.map_or(0, |id| id.0));
    let found = match &query.owner {
        Some(owner) => {
            let given = values![repo, owner.as_str().to_owned(), after, limit];
            link.query(sql::LEASES_BY_OWNER, given)?
        }
        None => link.query(sql::LEASES_BY_NUMBER, values![repo, after, limit])?,
    };
    found.iter().map(|row| rows::lease(row, rows::repo(row, 0)?)).collect()
}

pub(super) fn leases_below(
    link: &Link,
    repo: &RepoName,
    directory: &str,
    limit: usize,
) -> Result<Vec<Lease>, DbError> {
    let (low, high) = (format!("{directory}/"), format!("{directory}0"));
    let given = values![repo.as_str().to_owned(), low, high, rows::limit(limit)];
    let found = link.query(sql::LEASES_FIRST_BELOW, given)?;
    found.iter().map(|row| rows::lease(row, repo.clone())).collect()
}

pub(super) fn decisions(link: &Link, query: &DecisionQuery) -> Result<Vec<Decision>, DbError> {
    let text = if query.open_only { sql::DECISIONS_OPEN } else { sql::DECISIONS_BY_NUMBER };
    let after = rows::signed(query.after.map_or(0, |id| id.0));
    let given = values![query.repo.as_str().to_owned(), after, rows::limit(query.limit)];
    link.query(text, given)?.iter().map(|row| rows::entity(row, 0)).collect()
}

pub(super) fn agents(
    loader: &Loader<'_>,
    after: Option<&AgentId>,
    limit: usize,
) -> Result<Vec<(Agent, Presence)>, DbError> {
    let from = after.map_or("", AgentId::as_str).to_owned();
    let found = loader.link.query(sql::AGENTS_AFTER, values![from, rows::limit(limit)])?;
    let agents: Vec<Agent> =
        found.iter().map(|row| rows::entity(row, 0)).collect::<Result<_, _>>()?;
    let ids: Vec<&AgentId> = agents.iter().map(|agent| &agent.id).collect();
    let signs = loader.presences(&ids)?;
    Ok(agents.into_iter().zip(signs).collect())
}

pub(super) fn held_by(
    link: &Link,
    agent: &AgentId,
    limit: usize,
) -> Result<Vec<(RepoName, TaskId)>, DbError> {
    let found = link.query(sql::HELD_BY, values![agent.as_str().to_owned(), rows::limit(limit)])?;
    found.iter().map(|row| Ok((rows::repo(row, 0)?, rows::task_id(row, 1)?))).collect()
}

pub(super) fn saved(
    link: &Link,
    now: Timestamp,
    after: Option<&(AgentId, String)>,
    limit: usize,
) -> Result<Vec<(AgentId, String, Saved)>, DbError> {
    let (actor, key) = after.map_or(("", ""), |(actor, key)| (actor.as_str(), key.as_str()));
    let oldest = now.ms().saturating_sub(IDEMPOTENCY_LIFE.ms());
    let given = values![actor.to_owned(), key.to_owned(), oldest, rows::limit(limit)];
    let read = |row: &Row| Ok((rows::agent_id(row, 0)?, row.try_get(1)?, rows::saved(row, 2)?));
    link.query(sql::SAVED_AFTER, given)?.iter().map(read).collect()
}

pub(super) fn kept_rows(
    link: &Link,
    after: Option<&(String, String)>,
    limit: usize,
) -> Result<Vec<KeptRow>, DbError> {
    let (space, key) = after.map_or(("", ""), |(space, key)| (space.as_str(), key.as_str()));
    let given = values![space.to_owned(), key.to_owned(), rows::limit(limit)];
    let read = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    link.query(sql::KEPT_AFTER, given)?.iter().map(read).collect()
}

pub(super) fn status_counts(
    link: &Link,
    repo: &RepoName,
) -> Result<BTreeMap<Status, u64>, DbError> {
    let found = link.query(sql::STATUS_COUNTS, values![repo.as_str().to_owned()])?;
    found.iter().map(|row| Ok((rows::status(row, 0)?, rows::number(row, 1)?))).collect()
}

pub(super) fn events(link: &Link, query: &EventQuery) -> Result<Vec<Stored>, DbError> {
    let place = match (query.before, query.since) {
        (Some(before), _) => before.0,
        (None, Some(since)) => query.after.0.max(last_before(link, since)?),
        (None, None) => query.after.0,
    };
    let given = values![
        rows::signed(place),
        rows::limit(query.limit),
        query.repo.as_ref().map(|repo| repo.as_str().to_owned()),
        query.task.as_ref().map(|task| task.as_str().to_owned()),
        query.event.clone(),
    ];
    let found = link.query(sql::EVENT_LISTS.narrowest(query), given)?;
    let before = hashes_before(link, &found)?;
    let mut last: Option<Head> = None;
    let mut all = Vec::with_capacity(found.len());
    for row in &found {
        let seq = rows::number(row, 0)?;
        let prev = match &last {
            Some(last) if last.seq.0 + 1 == seq => last.hash,
            _ => before.get(&seq.saturating_sub(1)).copied().unwrap_or(Hash::GENESIS),
        };
        let stored = rows::stored(row, prev)?;
        last = Some(stored.head());
        all.push(stored);
    }
    Ok(all)
}

/// Finds the hashes of predecessors that are not in the page themselves. One that is missing is reported
/// by whoever verifies the log, not here.
fn hashes_before(link: &Link, found: &[Row]) -> Result<BTreeMap<u64, Hash>, DbError> {
    let mut wanted: Vec<i64> = Vec::new();
    let mut last = None;
    for row in found {
        let seq: i64 = row.try_get(0)?;
        if last != Some(seq - 1) {
            wanted.push(seq - 1);
        }
        last = Some(seq);
    }
    let hashes = link.query(sql::EVENT_HASHES, values![wanted])?;
    hashes.iter().map(|row| Ok((rows::number(row, 0)?, rows::hash(row, 1)?))).collect()
}

/// Returns the seq of the last event that is dated before `since`.
fn last_before(link: &Link, since: Timestamp) -> Result<u64, DbError> {
    listing::last_before(head(link)?.seq.0, |place| {
        let found = link.query(sql::EVENT_TS, values![rows::signed(place)])?;
        let ts = found.first().map(|row| rows::time(row, 0)).transpose()?;
        Ok(ts.is_some_and(|ts| ts < since))
    })
}

pub(super) fn entities(
    link: &Link,
    after: Option<&Key>,
    limit: usize,
) -> Result<Vec<(Key, Entity)>, DbError> {
    listing::pages(after, limit, |from, limit| {
        let mut given = at(&from);
        given.extend(values![rows::limit(limit)]);
        let found = link.query(sql::by_key(from.kind).after, given)?;
        found.iter().map(|row| rows::keyed(from.kind, row)).collect()
    })
}

/// Returns the values that the columns of a key have.
pub(super) fn at(place: &Place<'_>) -> Vec<Value> {
    let name = place.name.to_owned();
    match place.id {
        PlaceId::None => values![name],
        PlaceId::Text(id) => values![name, id.to_owned()],
        PlaceId::Number(number) => values![name, rows::signed(number)],
    }
}
