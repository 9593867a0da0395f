//! A commit: events, rows, signs of life, saved answers, and what the clocks said.

use super::error::DbError;
use super::memories;
use super::posts;
use super::runs;
use super::sql;
use super::task_row::{self, TaskRow, TaskRows};
use crate::commit_cache::CommitCache;
use crate::rows::{self, signed};
use crate::transaction_time::ClockNote;
use crate::{Changes, PRESENCE_LIFE, Rows};
use comity_core::chain::Stored;
use comity_core::decision::{Decision, DecisionState};
use comity_core::ids::Fence;
use comity_core::lease::{Lease, LeaseMode, PastLease};
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::pattern::Pattern;
use comity_core::state::Key;
use comity_core::time::Timestamp;
use rusqlite::{Connection, Params, params};
use serde::Serialize;

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

pub(super) fn json(value: &impl Serialize) -> Result<String, DbError> {
    serde_json::to_string(value).map_err(|error| DbError::Row(format!("cannot encode: {error}")))
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
    match key {
        Key::Repo(repo) => match state.repos.get(repo) {
            Some(c) => {
                let (leases, decisions) = (signed(c.leases), signed(c.decisions));
                let (memories, directives) = (signed(c.memories), signed(c.directives));
                let given = params![
                    repo.as_str(),
                    signed(c.tasks),
                    leases,
                    decisions,
                    memories,
                    directives,
                    rows::fold_case(c),
                    rows::seats(c)
                ];
                run(conn, sql::SET_REPO, given)
            }
            None => run(conn, sql::DELETE_REPO, params![repo.as_str()]),
        },
        Key::Task(repo, id) => match state.task(repo, id) {
            Some(task) => writer.write(key, task, due),
            None => writer.delete(repo, id),
        },
        Key::Lease(repo, id) => match state.leases.get(&(repo.clone(), *id)) {
            Some(lease) => set_lease(conn, lease, due),
            None => run(conn, sql::DELETE_LEASE, params![repo.as_str(), signed(id.0)]),
        },
        Key::Decision(repo, id) => match state.decisions.get(&(repo.clone(), *id)) {
            Some(decision) => set_decision(conn, decision, due),
            None => run(conn, sql::DELETE_DECISION, params![repo.as_str(), signed(id.0)]),
        },
        Key::Agent(id) => match state.agents.get(id) {
            Some(agent) => run(conn, sql::SET_AGENT, params![id.as_str(), json(agent)?]),
            None => run(conn, sql::DELETE_AGENT, params![id.as_str()]),
        },
        Key::Memory(repo, id) => match state.memories.get(&(repo.clone(), *id)) {
            Some(memory) => memories::set_memory(conn, memory, due),
            None => memories::delete_memory(conn, repo, *id),
        },
        Key::Directive(repo, id) => match state.directives.get(&(repo.clone(), *id)) {
            Some(directive) => memories::set_directive(conn, directive, due),
            None => run(conn, sql::DELETE_DIRECTIVE, params![repo.as_str(), signed(id.0)]),
        },
        Key::PastLease(repo, id) => match state.past_leases.get(&(repo.clone(), *id)) {
            Some(lease) => set_past_lease(conn, lease),
            None => run(conn, sql::DELETE_PAST_LEASE, params![repo.as_str(), signed(id.0)]),
        },
        Key::Post(repo, id) => match state.posts.get(&(repo.clone(), id.clone())) {
            Some(post) => posts::set(conn, post),
            None => posts::delete(conn, repo, id),
        },
        Key::Run(repo, id) => match state.runs.get(&(repo.clone(), *id)) {
            Some(found) => runs::set_run(conn, found, due),
            None => run(conn, sql::DELETE_RUN, params![repo.as_str(), signed(id.0)]),
        },
        Key::Budget(repo, scope) => match state.budgets.get(&(repo.clone(), scope.clone())) {
            Some(budget) => runs::set_budget(conn, budget),
            None => run(conn, sql::DELETE_BUDGET, params![repo.as_str(), scope.as_str()]),
        },
    }
}

fn set_due(conn: &Connection, key: &Key, due: Option<Timestamp>) -> Result<(), DbError> {
    let due = due.map(Timestamp::ms);
    match key {
        Key::Task(repo, id) => {
            run(conn, sql::SET_TASK_DUE, params![repo.as_str(), id.as_str(), due])
        }
        Key::Lease(repo, id) => {
            run(conn, sql::SET_LEASE_DUE, params![repo.as_str(), signed(id.0), due])
        }
        Key::Decision(repo, id) => {
            run(conn, sql::SET_DECISION_DUE, params![repo.as_str(), signed(id.0), due])
        }
        Key::Memory(repo, id) => {
            run(conn, sql::SET_MEMORY_DUE, params![repo.as_str(), signed(id.0), due])
        }
        Key::Directive(repo, id) => {
            run(conn, sql::SET_DIRECTIVE_DUE, params![repo.as_str(), signed(id.0), due])
        }
        Key::Run(repo, id) => {
            run(conn, sql::SET_RUN_DUE, params![repo.as_str(), signed(id.0), due])
        }
        Key::Repo(_) | Key::Agent(_) | Key::Budget(..) | Key::PastLease(..) | Key::Post(..) => {
            Ok(())
        }
    }
}

/// A path that this build cannot read gets the empty prefix: it is then looked at every time, which
/// is slow but never misses an overlap.
pub(super) fn literal_prefix(path: &str) -> String {
    Pattern::prefix_of(path).unwrap_or_default()
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
