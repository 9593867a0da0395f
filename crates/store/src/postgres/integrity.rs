//! Whether what is kept twice agrees, and whether the log has no gap.

use super::error::DbError;
use super::link::{Link, values};
use crate::rows::literal_prefix;

/// Counts the events that are missing below the last one.
const MISSING_EVENTS: &str = "SELECT coalesce(max(seq), 0)::bigint - count(*)::bigint FROM events";

/// Queries that must count zero, and what another count means.
const MISMATCHES: &[(&str, &str)] = &[
    (
        "SELECT count(*) FROM (SELECT t.*, t.body::jsonb AS said FROM tasks t) t
            WHERE (number::text, status, 'P' || priority, role, assignee, initiative, parent, holder,
                fence::text, preferred) IS DISTINCT FROM (said->>'number', said->>'status',
                said->>'priority', said->>'role', said->>'assignee', said->>'initiative', said->>'parent',
                said->'claim'->>'agent', said->'claim'->>'fence', said->>'preferred')",
        "tasks have columns that differ from their content",
    ),
    (
        "SELECT count(*) FROM decisions WHERE open <> (body::jsonb->>'state' = 'open')",
        "decisions have a column `open` that differs from their content",
    ),
    (
        "SELECT count(*) FROM runs WHERE task <> body::jsonb->>'task' OR live
            <> (body::jsonb->>'state' NOT IN ('succeeded', 'failed', 'stopped', 'lost'))",
        "runs have columns that differ from their content",
    ),
    (
        "SELECT count(*) FROM tasks t WHERE t.waits <> (
            SELECT count(*) FROM deps d WHERE d.repo = t.repo AND d.task = t.id AND NOT EXISTS (
                SELECT 1 FROM tasks o
                WHERE o.repo = d.repo AND o.id = d.on_task AND o.status = 'done'))",
        "tasks have a wrong count of open dependencies",
    ),
    (
        "SELECT count(*) FROM (SELECT repo, task, on_task FROM deps EXCEPT
            SELECT t.repo, t.id, e.value FROM tasks t,
            jsonb_array_elements_text(t.body::jsonb->'dependencies') e) d",
        "dependencies belong to no task",
    ),
    (
        "SELECT count(*) FROM (SELECT t.repo, t.id, e.value FROM tasks t,
            jsonb_array_elements_text(t.body::jsonb->'dependencies') e EXCEPT
            SELECT repo, task, on_task FROM deps) d",
        "dependencies are missing",
    ),
    (
        "SELECT count(*) FROM (SELECT repo, label, number, task FROM task_labels EXCEPT
            SELECT t.repo, e.value, t.number, t.id FROM tasks t,
            jsonb_array_elements_text(t.body::jsonb->'labels') e) l",
        "labels belong to no task",
    ),
    (
        "SELECT count(*) FROM (SELECT t.repo, e.value, t.number, t.id FROM tasks t,
            jsonb_array_elements_text(t.body::jsonb->'labels') e EXCEPT
            SELECT repo, label, number, task FROM task_labels) l",
        "labels are missing",
    ),
];
const LEASE_PLACES: &str =
    "SELECT prefix, path FROM leases UNION ALL SELECT prefix, path FROM past_leases";

fn counted(link: &Link, text: &'static str, meaning: &str) -> Result<Option<String>, DbError> {
    let rows = link.query(text, values![])?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok((count != 0).then(|| format!("{count} {meaning}")))
}

/// Says what is wrong with the log. PostgreSQL looks after its own files.
pub(super) fn check(link: &Link) -> Result<Vec<String>, DbError> {
    Ok(counted(link, MISSING_EVENTS, "events are missing from the log")?.into_iter().collect())
}

pub(super) fn mismatches(link: &Link) -> Result<Vec<String>, DbError> {
    let mut found = Vec::new();
    for (text, meaning) in MISMATCHES {
        found.extend(counted(link, text, meaning)?);
    }
    found.extend(super::memories::mismatches(link)?);
    found.extend(super::posts::mismatches(link)?);
    let mut astray = 0;
    for row in link.query(LEASE_PLACES, values![])? {
        let (prefix, path): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        astray += usize::from(prefix != literal_prefix(path));
    }
    if astray != 0 {
        found.push(format!("{astray} leases have a prefix that differs from their path"));
    }
    Ok(found)
}
