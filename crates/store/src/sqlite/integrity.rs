//! What SQLite says of the file, and whether what is kept twice agrees.

use super::error::DbError;
use super::schema;
use rusqlite::Connection;

/// Things that must count zero, and what they mean when they do not.
const COUNTS: &[(&str, &str)] = &[
    (
        "SELECT (SELECT coalesce(max(seq), 0) FROM events) - (SELECT count(*) FROM events)",
        "events are missing from the log",
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
            SELECT 1 FROM tasks t WHERE t.repo = d.repo AND t.id = d.task)",
        "dependencies belong to no task",
    ),
    (
        "SELECT count(*) FROM task_labels l WHERE NOT EXISTS (
            SELECT 1 FROM tasks t WHERE t.repo = l.repo AND t.id = l.task)",
        "labels belong to no task",
    ),
];

/// Returns what is wrong, in words.
pub(super) fn check(conn: &Connection) -> Result<Vec<String>, DbError> {
    let mut statement = conn.prepare("PRAGMA quick_check")?;
    let lines: Result<Vec<String>, _> = statement.query_map([], |row| row.get(0))?.collect();
    let mut found: Vec<String> = lines?.into_iter().filter(|line| line != "ok").collect();
    if !found.is_empty() {
        // What is damaged cannot be counted.
        return Ok(found);
    }
    for (text, meaning) in COUNTS {
        let count: i64 = conn.query_row(text, [], |row| row.get(0))?;
        if count != 0 {
            found.push(format!("{count} {meaning}"));
        }
    }
    if let Err(DbError::Row(text)) = schema::check_all_applied(conn) {
        found.push(text);
    }
    Ok(found)
}
