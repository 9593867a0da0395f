//! A commit: events, rows, signs of life, saved answers, and what the clocks said.

use super::error::DbError;
use super::memories;
use super::posts;
use super::query::at;
use super::runs;
use super::sql;
use super::task_row::{self, TaskRow, TaskRows};
use crate::commit_cache::CommitCache;
use crate::listing::Place;
use crate::rows::{self, json, literal_prefix, signed};
use crate::transaction_time::ClockNote;
use crate::{Changes, PRESENCE_LIFE, Rows};
use comity_core::agent::{Agent, Counters};
use comity_core::chain::Stored;
use comity_core::decision::{Decision, DecisionState};
use comity_core::ids::{Fence, RepoName};
use comity_core::lease::{Lease, LeaseMode, PastLease};
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::state::Key;
use comity_core::time::Timestamp;
use rusqlite::{Connection, Params, params};

/// The meta row that keeps the last look at the clocks.
pub(super) const CLOCK: &str = "clock";
/// The meta row that says why the store is closed.
pub(super) const CLOSED: &str = "closed";
/// How many rows of each kind one commit deletes at most, so that no commit pays for a long absence.
const PRUNED_MAX: i64 = 200;

pub(super) fn run(conn: &Connection, text: &str, given: impl Params) -> Result<(), DbError> {
    conn.prepare_cached(text)?.execute(given)?;
    Ok(())
}

pub(super) fn changes(
    conn: &Connection,
    changes: &Changes<'_>,
    cache: &CommitCache<TaskRow>,
    now: Timestamp,
    note: Option<&ClockNote>,
) -> Result<TaskRows, DbError> {
    append(conn, changes.events)?;
    let corrected = crate::corrected(changes.events);
    if let Some(at) = corrected {
        run(conn, sql::CORRECT_PRESENCE, params![at.ms()])?;
        run(conn, sql::CORRECT_SAVED, params![at.ms()])?;
        run(conn, sql::DELETE_META, params![CLOCK])?;
    }
    let task_rows = rows(conn, &changes.rows, cache)?;
    let mut signs = conn.prepare_cached(sql::SET_PRESENCE)?;
    for (agent, fence, seen) in changes.presence {
        let fence = signed(fence.map_or(0, Fence::get));
        signs.execute(params![agent.as_str(), fence, seen.ms()])?;
    }
    drop(signs);
    for (actor, key, saved) in changes.saved {
        let given = params![actor.as_str(), key, saved.input.0, saved.answer, saved.at.ms()];
        run(conn, sql::SET_SAVED, given)?;
    }
    for (space, key, value) in changes.kept {
        match value {
            Some(value) => run(conn, sql::SET_KEPT, params![space, key, value])?,
            None => run(conn, sql::DELETE_KEPT, params![space, key])?,
        }
    }
    if let Some(note) = note.filter(|_| corrected.is_none()) {
        run(conn, sql::SET_META, params![CLOCK, json(note)?])?;
        prune(conn, now)?;
    }
    Ok(task_rows)
}

fn append(conn: &Connection, events: &[Stored]) -> Result<(), DbError> {
    let mut statement = conn.prepare_cached(sql::APPEND)?;
    for event in events {
        statement.execute(params![
            signed(event.seq.0),
            event.ts.ms(),
            event.event,
            event.v,
            event.repo,
            event.agent,
            event.task,
            event.body,
            event.body_hash.0,
            event.hash.0,
        ])?;
    }
    Ok(())
}

fn prune(conn: &Connection, now: Timestamp) -> Result<(), DbError> {
    let saved_until = now.ms().saturating_sub(IDEMPOTENCY_LIFE.ms());
    run(conn, sql::PRUNE_SAVED, params![saved_until, PRUNED_MAX])?;
    let seen_until = now.ms().saturating_sub(PRESENCE_LIFE.ms());
    run(conn, sql::PRUNE_PRESENCE, params![seen_until, PRUNED_MAX])
}

/// Writes each dirty row as the facts have it, and the due times of rows that are not dirty.
pub(super) fn rows(
    conn: &Connection,
    rows: &Rows<'_>,
    cache: &CommitCache<TaskRow>,
) -> Result<TaskRows, DbError> {
    let mut writer = task_row::TaskWriter::new(conn, cache);
    for key in rows.dirty {
        let due = rows.due.get(key).copied();
        row(conn, &mut writer, rows, key, due)?;
    }
    for (key, due) in rows.due.iter().filter(|(key, _)| !rows.dirty.contains(*key)) {
        set_due(conn, key, *due)?;
    }
    writer.finish()
}

fn row(
    conn: &Connection,
    writer: &mut task_row::TaskWriter<'_>,
    rows: &Rows<'_>,
    key: &Key,
    due: Option<Option<Timestamp>>,
) -> Result<(), DbError> {
    let state = &rows.facts.state;
    let written = match key {
        Key::Repo(repo) => state.repos.get(repo).map(|it| set_repo(conn, repo, it)),
        Key::Task(repo, id) => state.task(repo, id).map(|it| writer.write(key, it, due)),
        Key::Lease(repo, id) => {
            state.leases.get(&(repo.clone(), *id)).map(|it| set_lease(conn, it, due))
        }
        Key::Decision(repo, id) => {
            state.decisions.get(&(repo.clone(), *id)).map(|it| set_decision(conn, it, due))
        }
        Key::Agent(id) => state.agents.get(id).map(|it| set_agent(conn, it)),
        Key::Memory(repo, id) => {
            state.memories.get(&(repo.clone(), *id)).map(|it| memories::set_memory(conn, it, due))
        }
        Key::Directive(repo, id) => {
            let found = state.directives.get(&(repo.clone(), *id));
            found.map(|it| memories::set_directive(conn, it, due))
        }
        Key::PastLease(repo, id) => {
            state.past_leases.get(&(repo.clone(), *id)).map(|it| set_past_lease(conn, it))
        }
        Key::Post(repo, id) => {
            state.posts.get(&(repo.clone(), id.clone())).map(|it| posts::set(conn, it))
        }
        Key::Run(repo, id) => {
            state.runs.get(&(repo.clone(), *id)).map(|it| runs::set_run(conn, it, due))
        }
        Key::Budget(repo, scope) => {
            state.budgets.get(&(repo.clone(), scope.clone())).map(|it| runs::set_budget(conn, it))
        }
    };
    written.unwrap_or_else(|| delete(conn, writer, key))
}

fn delete(
    conn: &Connection,
    writer: &mut task_row::TaskWriter<'_>,
    key: &Key,
) -> Result<(), DbError> {
    match key {
        Key::Task(repo, id) => return writer.delete(repo, id),
        Key::Memory(repo, id) => memories::delete_words(conn, repo, *id)?,
        Key::Post(repo, id) => posts::delete_places(conn, repo, id)?,
        _ => {}
    }
    let place = Place::of(key);
    at(conn, sql::by_key(place.kind).delete, &place)?.0.raw_execute()?;
    Ok(())
}

fn set_repo(conn: &Connection, repo: &RepoName, c: &Counters) -> Result<(), DbError> {
    let (tasks, leases, decisions) = (signed(c.tasks), signed(c.leases), signed(c.decisions));
    let (memories, directives) = (signed(c.memories), signed(c.directives));
    let (fold_case, seats) = (rows::fold_case(c), rows::seats(c));
    let given =
        params![repo.as_str(), tasks, leases, decisions, memories, directives, fold_case, seats];
    run(conn, sql::SET_REPO, given)
}

fn set_agent(conn: &Connection, agent: &Agent) -> Result<(), DbError> {
    run(conn, sql::SET_AGENT, params![agent.id.as_str(), json(agent)?])
}

fn set_due(conn: &Connection, key: &Key, due: Option<Timestamp>) -> Result<(), DbError> {
    let text = match key {
        Key::Task(..) => sql::SET_TASK_DUE,
        Key::Lease(..) => sql::SET_LEASE_DUE,
        Key::Decision(..) => sql::SET_DECISION_DUE,
        Key::Memory(..) => sql::SET_MEMORY_DUE,
        Key::Directive(..) => sql::SET_DIRECTIVE_DUE,
        Key::Run(..) => sql::SET_RUN_DUE,
        Key::Repo(_) | Key::Agent(_) | Key::Budget(..) | Key::PastLease(..) | Key::Post(..) => {
            return Ok(());
        }
    };
    let (mut statement, next) = at(conn, text, &Place::of(key))?;
    statement.raw_bind_parameter(next, due.map(Timestamp::ms))?;
    statement.raw_execute()?;
    Ok(())
}

fn set_lease(
    conn: &Connection,
    lease: &Lease,
    due: Option<Option<Timestamp>>,
) -> Result<(), DbError> {
    let given = params![
        lease.repo.as_str(),
        literal_prefix(&lease.path),
        signed(lease.id.0),
        lease.path,
        lease.mode == LeaseMode::Shared,
        lease.owner.as_str(),
        lease.purpose,
        lease.claim_of.as_ref().map(|id| id.as_str()),
        signed(lease.fence.get()),
        lease.acquired_at.ms(),
        lease.renewed_at.ms(),
        lease.ttl.ms(),
        due.flatten().map(Timestamp::ms),
        due.is_some(),
        lease.late,
    ];
    run(conn, sql::SET_LEASE, given)
}

fn set_past_lease(conn: &Connection, lease: &PastLease) -> Result<(), DbError> {
    let given = params![
        lease.repo.as_str(),
        literal_prefix(&lease.path),
        signed(lease.ended.0),
        signed(lease.id.0),
        lease.path,
        lease.mode == LeaseMode::Shared,
        lease.owner.as_str(),
        lease.claim_of.as_ref().map(|id| id.as_str()),
        signed(lease.fence.get()),
        lease.acquired_at.ms(),
        lease.late,
        lease.ended_at.ms(),
        lease.expired,
    ];
    run(conn, sql::SET_PAST_LEASE, given)
}

fn set_decision(
    conn: &Connection,
    decision: &Decision,
    due: Option<Option<Timestamp>>,
) -> Result<(), DbError> {
    let given = params![
        decision.repo.as_str(),
        signed(decision.id.0),
        decision.state == DecisionState::Open,
        due.flatten().map(Timestamp::ms),
        json(decision)?,
        due.is_some(),
    ];
    run(conn, sql::SET_DECISION, given)
}

pub(super) fn clear_projections(conn: &Connection) -> Result<(), DbError> {
    for table in [
        "repos",
        "agents",
        "tasks",
        "deps",
        "task_labels",
        "leases",
        "decisions",
        "memories",
        "memory_words",
        "directives",
        "past_leases",
        "posts",
        "post_places",
        "runs",
        "budgets",
    ] {
        conn.execute(&format!("DELETE FROM {table}"), [])?;
    }
    Ok(())
}
