//! What SQLite says of the file, and whether what is kept twice agrees.

use super::error::DbError;
use super::schema;
use crate::rows::literal_prefix;
use rusqlite::Connection;

/// Counts the events that are missing below the last one.
const MISSING_EVENTS: &str =
    "SELECT (SELECT coalesce(max(seq), 0) FROM events) - (SELECT count(*) FROM events)";

/// Queries that must count zero, and what another count means.
const MISMATCHES: &[(&str, &str)] = &[
    (
        "SELECT count(*) FROM tasks WHERE number IS NOT body->>'$.number'
            OR status IS NOT body->>'$.status' OR 'P' || priority IS NOT body->>'$.priority'
            OR role IS NOT body->>'$.role' OR assignee IS NOT body->>'$.assignee'
            OR initiative IS NOT body->>'$.initiative' OR parent IS NOT body->>'$.parent'
            OR holder IS NOT body->>'$.claim.agent' OR fence IS NOT body->>'$.claim.fence'
            OR preferred IS NOT body->>'$.preferred'",
        "tasks have columns that differ from their content",
    ),
    (
        "SELECT count(*) FROM decisions WHERE open IS NOT (body->>'$.state' = 'open')",
        "decisions have a column `open` that differs from their content",
    ),
    (
        "SELECT count(*) FROM memories WHERE kind IS NOT body->>'$.kind'
            OR scope IS NOT body->>'$.scope' OR number IS NOT 0 + substr(body->>'$.id', 2)
            OR superseded IS NOT (body->>'$.superseded_by' IS NOT NULL)",
        "memories have columns that differ from their content",
    ),
    (
        "SELECT count(*) FROM runs WHERE task IS NOT body->>'$.task'
            OR live IS NOT (body->>'$.state' NOT IN ('succeeded', 'failed', 'stopped', 'lost'))",
        "runs have columns that differ from their content",
    ),
    (
        "SELECT count(*) FROM memory_words w WHERE NOT EXISTS (
            SELECT 1 FROM memories m WHERE m.repo = w.repo AND m.number = w.memory)",
        "search words belong to no memory",
    ),
    (
        "SELECT count(*) FROM tasks t WHERE t.waits <> (
            SELECT count(*) FROM deps d WHERE d.repo = t.repo AND d.task = t.id AND NOT EXISTS (
                SELECT 1 FROM tasks o
                WHERE o.repo = d.repo AND o.id = d.on_task AND o.status = 'done'))",
        "tasks have a wrong count of open dependencies",
    ),
    (
        "SELECT count(*) FROM deps d WHERE NOT EXISTS (
            SELECT 1 FROM tasks t, json_each(t.body, '$.dependencies') e
            WHERE t.repo = d.repo AND t.id = d.task AND e.value = d.on_task)",
        "dependencies belong to no task",
    ),
    (
        "SELECT count(*) FROM tasks t, json_each(t.body, '$.dependencies') e WHERE NOT EXISTS (
            SELECT 1 FROM deps d WHERE d.repo = t.repo AND d.task = t.id AND d.on_task = e.value)",
        "dependencies are missing",
    ),
    (
        "SELECT count(*) FROM task_labels l WHERE NOT EXISTS (
            SELECT 1 FROM tasks t, json_each(t.body, '$.labels') e
            WHERE t.repo = l.repo AND t.id = l.task AND t.number = l.number AND e.value = l.label)",
        "labels belong to no task",
    ),
    (
        "SELECT count(*) FROM tasks t, json_each(t.body, '$.labels') e WHERE NOT EXISTS (
            SELECT 1 FROM task_labels l WHERE l.repo = t.repo AND l.label = e.value
            AND l.number = t.number AND l.task = t.id)",
        "labels are missing",
    ),
];

/// Says what is wrong with the file and the log in it. No rebuild can mend that.
pub(super) fn check(conn: &Connection) -> Result<Vec<String>, DbError> {
    let mut statement = conn.prepare("PRAGMA quick_check")?;
    let lines: Result<Vec<String>, _> = statement.query_map([], |row| row.get(0))?.collect();
    let mut found: Vec<String> = lines?.into_iter().filter(|line| line != "ok").collect();
    if !found.is_empty() {
        // What is damaged cannot be counted.
        return Ok(found);
    }
    found.extend(counted(conn, MISSING_EVENTS, "events are missing from the log")?);
    if let Err(DbError::Row(text)) = schema::check_all_applied(conn) {
        found.push(text);
    }
    Ok(found)
}

/// Says where the columns that rows are found by differ from the bodies. A rebuild from the log mends it.
pub(super) fn mismatches(conn: &Connection) -> Result<Vec<String>, DbError> {
    let mut found = Vec::new();
    for (text, meaning) in MISMATCHES {
        found.extend(counted(conn, text, meaning)?);
    }
    let astray = leases_astray(conn)?;
    if astray != 0 {
        found.push(format!("{astray} leases have a prefix that differs from their path"));
    }
    let misplaced = super::memories::misplaced(conn)?;
    if misplaced != 0 {
        found.push(format!("{misplaced} memories have search words that differ from their text"));
    }
    let misplaced = super::posts::misplaced(conn)?;
    if misplaced != 0 {
        found.push(format!(
            "{misplaced} posts or memories have places that differ from their content"
        ));
    }
    Ok(found)
}

fn leases_astray(conn: &Connection) -> Result<usize, DbError> {
    let mut statement = conn.prepare(
        "SELECT prefix, path FROM leases UNION ALL SELECT prefix, path FROM past_leases",
    )?;
    let mut rows = statement.query([])?;
    let mut astray = 0;
    while let Some(row) = rows.next()? {
        let (prefix, path): (String, String) = (row.get(0)?, row.get(1)?);
        astray += usize::from(prefix != literal_prefix(&path));
    }
    Ok(astray)
}

fn counted(conn: &Connection, text: &str, meaning: &str) -> Result<Option<String>, DbError> {
    let count: i64 = conn.query_row(text, [], |row| row.get(0))?;
    Ok((count != 0).then(|| format!("{count} {meaning}")))
}
