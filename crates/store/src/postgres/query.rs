//! Lists, ordered and paged.

use super::error::DbError;
use super::link::{Link, Op, values};
use super::load::Loader;
use super::rows;
use super::sql;
use crate::listing::{self, EventWay, From, Kind, TaskWay};
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
    Ok(listing::soonest(due, limit))
}

pub(super) fn tasks(link: &Link, query: &TaskQuery) -> Result<Vec<Task>, DbError> {
    let text = match TaskWay::of(query) {
        TaskWay::Label => {
            let (first, others) = query.labels.split_first().unzip();
            let others = others.unwrap_or_default();
            let mut tasks = tasks_by(link, query, sql::TASKS_OF_LABEL, first.map(String::as_str))?;
            tasks.retain(|task| others.iter().all(|label| task.labels.contains(label)));
            tasks.truncate(query.limit);
            return Ok(tasks);
        }
        TaskWay::Status => {
            return listing::merge_statuses(query, |status| {
                tasks_by(link, query, sql::TASKS_OF_STATUS, Some(status.as_str()))
            });
        }
        TaskWay::Assignee => sql::TASKS_OF_ASSIGNEE,
        TaskWay::Initiative => sql::TASKS_OF_INITIATIVE,
        TaskWay::Unblocked => sql::TASKS_UNBLOCKED,
        TaskWay::Role => sql::TASKS_OF_ROLE,
        TaskWay::All => sql::TASKS_ALL,
    };
    tasks_by(link, query, text, None)
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
    let text = match EventWay::of(query) {
        EventWay::Task => sql::EVENTS_OF_TASK,
        EventWay::TaskAnywhere => sql::EVENTS_OF_TASK_ANYWHERE,
        EventWay::Name => sql::EVENTS_OF_NAME,
        EventWay::Repo => sql::EVENTS_OF_REPO,
        EventWay::All => sql::EVENTS_ALL,
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

/// Returns the last place whose event is dated before `since`.
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
    listing::pages(after, limit, |kind, from, limit| page_of(link, kind, from, limit))
}

fn page_of(
    link: &Link,
    kind: Kind,
    from: From<'_>,
    limit: usize,
) -> Result<Vec<(Key, Entity)>, DbError> {
    let (name, id, limit) = (from.name.to_owned(), from.id.to_owned(), rows::limit(limit));
    let number = rows::signed(from.number);
    let found = match kind {
        Kind::Repo => link.query(sql::REPOS_AFTER, values![name, limit]),
        Kind::Task => link.query(sql::TASKS_AFTER, values![name, id, limit]),
        Kind::Lease => link.query(sql::LEASES_AFTER, values![name, number, limit]),
        Kind::Decision => link.query(sql::DECISIONS_AFTER, values![name, number, limit]),
        Kind::Agent => link.query(sql::AGENTS_AFTER, values![name, limit]),
        Kind::Memory => link.query(sql::MEMORIES_AFTER, values![name, number, limit]),
        Kind::Directive => link.query(sql::DIRECTIVES_AFTER, values![name, number, limit]),
    }?;
    found.iter().map(|row| entity_of(kind, row)).collect()
}

fn entity_of(kind: Kind, row: &Row) -> Result<(Key, Entity), DbError> {
    Ok(match kind {
        Kind::Repo => (Key::Repo(rows::repo(row, 0)?), Entity::Repo(rows::counters(row, 1)?)),
        Kind::Task => (
            Key::Task(rows::repo(row, 0)?, rows::task_id(row, 1)?),
            Entity::Task(rows::entity(row, 2)?),
        ),
        Kind::Lease => {
            let lease = rows::lease(row)?;
            (Key::Lease(lease.repo.clone(), lease.id), Entity::Lease(Box::new(lease)))
        }
        Kind::Decision => {
            let decision: Decision = rows::entity(row, 0)?;
            let key = Key::Decision(decision.repo.clone(), decision.id);
            (key, Entity::Decision(Box::new(decision)))
        }
        Kind::Agent => {
            let agent: Agent = rows::entity(row, 0)?;
            (Key::Agent(agent.id.clone()), Entity::Agent(agent))
        }
        Kind::Memory => {
            let memory: Memory = rows::entity(row, 0)?;
            (Key::Memory(memory.repo.clone(), memory.id), Entity::Memory(Box::new(memory)))
        }
        Kind::Directive => {
            let directive: Directive = rows::entity(row, 0)?;
            let key = Key::Directive(directive.repo.clone(), directive.id);
            (key, Entity::Directive(Box::new(directive)))
        }
    })
}
