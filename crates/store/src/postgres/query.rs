//! Lists, ordered and paged.

use super::error::DbError;
use super::link::{Link, Op, values};
use super::load::Loader;
use super::rows;
use super::sql;
use crate::{DecisionQuery, EventQuery, LeaseQuery, TaskQuery};
use comity_core::agent::Agent;
use comity_core::chain::{Hash, Head, Stored};
use comity_core::decision::Decision;
use comity_core::directive::Directive;
use comity_core::facts::{Entity, Presence, Saved};
use comity_core::ids::{
    AgentId, DecisionId, DirectiveId, LeaseId, MemoryId, RepoName, Seq, TaskId,
};
use comity_core::lease::Lease;
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::memory::Memory;
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
    let op = |text| Op::new(text, values![now.ms(), rows::limit(limit)]);
    let ops = [
        op(sql::TASKS_DUE),
        op(sql::LEASES_DUE),
        op(sql::DECISIONS_DUE),
        op(sql::MEMORIES_DUE),
        op(sql::DIRECTIVES_DUE),
    ];
    let found = link.together(None, &ops, None)?;
    let mut due = Vec::new();
    for (kind, found) in found.iter().enumerate() {
        for row in found {
            let repo = rows::repo(row, 1)?;
            let key = match kind {
                0 => Key::Task(repo, rows::task_id(row, 2)?),
                1 => Key::Lease(repo, LeaseId(rows::number(row, 2)?)),
                2 => Key::Decision(repo, DecisionId(rows::number(row, 2)?)),
                3 => Key::Memory(repo, MemoryId(rows::number(row, 2)?)),
                _ => Key::Directive(repo, DirectiveId(rows::number(row, 2)?)),
            };
            due.push((rows::time(row, 0)?, key));
        }
    }
    due.sort();
    due.truncate(limit);
    Ok(due.into_iter().map(|(_, key)| key).collect())
}

/// Picks the narrowest way for the first condition; the others are checked on its rows.
pub(super) fn tasks(link: &Link, query: &TaskQuery) -> Result<Vec<Task>, DbError> {
    if let Some((first, others)) = query.labels.split_first() {
        let mut tasks = tasks_by(link, query, sql::TASKS_OF_LABEL, Some(first))?;
        tasks.retain(|task| others.iter().all(|label| task.labels.contains(label)));
        tasks.truncate(query.limit);
        return Ok(tasks);
    }
    let statement = if query.assignee.is_some() {
        sql::TASKS_OF_ASSIGNEE
    } else if query.initiative.is_some() {
        sql::TASKS_OF_INITIATIVE
    } else if query.unblocked_only {
        sql::TASKS_UNBLOCKED
    } else if query.role.is_some() {
        sql::TASKS_OF_ROLE
    } else if query.statuses.is_empty() {
        sql::TASKS_ALL
    } else {
        return tasks_of_statuses(link, query);
    };
    tasks_by(link, query, statement, None)
}

/// Each status has its own run in the index, so the runs are merged.
fn tasks_of_statuses(link: &Link, query: &TaskQuery) -> Result<Vec<Task>, DbError> {
    let mut statuses = query.statuses.clone();
    statuses.sort();
    statuses.dedup();
    let mut all = Vec::new();
    for status in statuses {
        all.extend(tasks_by(link, query, sql::TASKS_OF_STATUS, Some(status.as_str()))?);
    }
    all.sort_by_key(|task| task.number);
    all.truncate(query.limit);
    Ok(all)
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
    found.iter().map(rows::lease).collect()
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
    let read = |row: &Row| {
        let actor = AgentId::parse(row.try_get(0)?);
        let actor = actor.map_err(|refusal| DbError::Row(refusal.message))?;
        let (input, answer) = (rows::hash(row, 2)?, row.try_get(3)?);
        let saved = Saved { input, answer, at: rows::time(row, 4)? };
        Ok((actor, row.try_get(1)?, saved))
    };
    link.query(sql::SAVED_AFTER, given)?.iter().map(read).collect()
}

pub(super) fn status_counts(
    link: &Link,
    repo: &RepoName,
) -> Result<BTreeMap<Status, u64>, DbError> {
    let found = link.query(sql::STATUS_COUNTS, values![repo.as_str().to_owned()])?;
    found
        .iter()
        .map(|row| {
            let word: &str = row.try_get(0)?;
            let status = Status::parse(word).map_err(|refusal| DbError::Row(refusal.message))?;
            Ok((status, rows::number(row, 1)?))
        })
        .collect()
}

pub(super) fn events(link: &Link, query: &EventQuery) -> Result<Vec<Stored>, DbError> {
    let text = match (&query.task, &query.repo, &query.event) {
        (Some(_), Some(_), _) => sql::EVENTS_OF_TASK,
        (Some(_), None, _) => sql::EVENTS_OF_TASK_ANYWHERE,
        (None, _, Some(_)) => sql::EVENTS_OF_NAME,
        (None, Some(_), None) => sql::EVENTS_OF_REPO,
        (None, None, None) => sql::EVENTS_ALL,
    };
    let after = match query.since {
        Some(since) => query.after.0.max(last_before(link, since)?),
        None => query.after.0,
    };
    let given = values![
        rows::signed(after),
        rows::limit(query.limit),
        query.repo.as_ref().map(|repo| repo.as_str().to_owned()),
        query.task.as_ref().map(|task| task.as_str().to_owned()),
        query.event.clone(),
    ];
    let found = link.query(text, given)?;
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

/// Returns the last place whose event is dated before `since`, by bisection: dates only grow.
fn last_before(link: &Link, since: Timestamp) -> Result<u64, DbError> {
    let (mut low, mut high) = (0, head(link)?.seq.0);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let found = link.query(sql::EVENT_TS, values![rows::signed(middle)])?;
        let ts = found.first().map(|row| rows::time(row, 0)).transpose()?;
        if ts.is_some_and(|ts| ts < since) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

/// Walks the kinds of entities in the order of their keys, each from where the last page ended.
pub(super) fn entities(
    link: &Link,
    after: Option<&Key>,
    limit: usize,
) -> Result<Vec<(Key, Entity)>, DbError> {
    let mut page = Vec::new();
    let first = after.map_or(0, kind_of);
    for kind in first..KINDS {
        if page.len() < limit {
            let after = after.filter(|key| kind_of(key) == kind);
            page.extend(page_of(link, kind, after, rows::limit(limit - page.len()))?);
        }
    }
    Ok(page)
}

/// How many kinds of entities there are.
const KINDS: usize = 7;

/// The order of the kinds is the order of the keys.
fn kind_of(key: &Key) -> usize {
    match key {
        Key::Repo(_) => 0,
        Key::Task(..) => 1,
        Key::Lease(..) => 2,
        Key::Decision(..) => 3,
        Key::Agent(_) => 4,
        Key::Memory(..) => 5,
        Key::Directive(..) => 6,
    }
}

fn page_of(
    link: &Link,
    kind: usize,
    after: Option<&Key>,
    limit: i64,
) -> Result<Vec<(Key, Entity)>, DbError> {
    let (word, id, number) = match after {
        Some(Key::Repo(repo)) => (repo.as_str(), "", 0),
        Some(Key::Task(repo, id)) => (repo.as_str(), id.as_str(), 0),
        Some(Key::Lease(repo, id)) => (repo.as_str(), "", rows::signed(id.0)),
        Some(Key::Decision(repo, id)) => (repo.as_str(), "", rows::signed(id.0)),
        Some(Key::Agent(id)) => (id.as_str(), "", 0),
        Some(Key::Memory(repo, id)) => (repo.as_str(), "", rows::signed(id.0)),
        Some(Key::Directive(repo, id)) => (repo.as_str(), "", rows::signed(id.0)),
        None => ("", "", 0),
    };
    let (word, id) = (word.to_owned(), id.to_owned());
    let found = match kind {
        0 => link.query(sql::REPOS_AFTER, values![word, limit]),
        1 => link.query(sql::TASKS_AFTER, values![word, id, limit]),
        2 => link.query(sql::LEASES_AFTER, values![word, number, limit]),
        3 => link.query(sql::DECISIONS_AFTER, values![word, number, limit]),
        4 => link.query(sql::AGENTS_AFTER, values![word, limit]),
        5 => link.query(sql::MEMORIES_AFTER, values![word, number, limit]),
        _ => link.query(sql::DIRECTIVES_AFTER, values![word, number, limit]),
    }?;
    found.iter().map(|row| entity_of(kind, row)).collect()
}

fn entity_of(kind: usize, row: &Row) -> Result<(Key, Entity), DbError> {
    Ok(match kind {
        0 => (Key::Repo(rows::repo(row, 0)?), Entity::Repo(rows::counters(row, 1)?)),
        1 => (
            Key::Task(rows::repo(row, 0)?, rows::task_id(row, 1)?),
            Entity::Task(rows::entity(row, 2)?),
        ),
        2 => {
            let lease = rows::lease(row)?;
            (Key::Lease(lease.repo.clone(), lease.id), Entity::Lease(Box::new(lease)))
        }
        3 => {
            let decision: Decision = rows::entity(row, 0)?;
            let key = Key::Decision(decision.repo.clone(), decision.id);
            (key, Entity::Decision(Box::new(decision)))
        }
        4 => {
            let agent: Agent = rows::entity(row, 0)?;
            (Key::Agent(agent.id.clone()), Entity::Agent(agent))
        }
        5 => {
            let memory: Memory = rows::entity(row, 0)?;
            (Key::Memory(memory.repo.clone(), memory.id), Entity::Memory(Box::new(memory)))
        }
        _ => {
            let directive: Directive = rows::entity(row, 0)?;
            let key = Key::Directive(directive.repo.clone(), directive.id);
            (key, Entity::Directive(Box::new(directive)))
        }
    })
}
