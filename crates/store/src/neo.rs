//! neo's `memory.sqlite`: the tables `memories` and `tasks`, read as rows and written with neo's own schema.
//!
//! This is no store: it is a file of another tool, so nothing of it is trusted and nothing is kept open.

use crate::error::StoreError;
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, OpenFlags, params_from_iter};
use serde_json::{Map, Value};
use std::path::Path;

/// Most rows that are read of one table.
const ROWS_MAX: usize = 100_000;

/// One row: column and value, in the order of the table.
pub type Row = Map<String, Value>;

/// Both tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// What is remembered.
    pub memories: Vec<Row>,
    /// What is to be done.
    pub tasks: Vec<Row>,
}

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS memories (
  id TEXT PRIMARY KEY,
  type TEXT NOT NULL CHECK(type IN ('knowledge','warning','focus')),
  scope TEXT NOT NULL,
  content TEXT NOT NULL,
  source TEXT NOT NULL,
  tags TEXT DEFAULT '[]',
  created_at TEXT NOT NULL,
  last_accessed_at TEXT NOT NULL,
  access_count INTEGER DEFAULT 0,
  expires_at TEXT,
  outcome TEXT,
  run_id TEXT,
  category TEXT,
  severity TEXT,
  subtype TEXT
);
CREATE INDEX IF NOT EXISTS idx_mem_type_scope ON memories(type, scope);
CREATE INDEX IF NOT EXISTS idx_mem_created ON memories(created_at);
CREATE TABLE IF NOT EXISTS tasks (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  scope TEXT NOT NULL,
  status TEXT NOT NULL CHECK(status IN ('pending','in_progress','done','blocked','abandoned')),
  priority TEXT CHECK(priority IN ('critical','high','medium','low')),
  initiative TEXT,
  depends_on TEXT,
  context TEXT,
  run_id TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_tasks_status ON tasks(status);
CREATE INDEX IF NOT EXISTS idx_tasks_initiative ON tasks(initiative);
CREATE INDEX IF NOT EXISTS idx_tasks_scope ON tasks(scope);
";

/// neo keeps a full-text index beside the table, by triggers of these names. The index is a module that our SQLite
/// is built without, so it cannot be written here: the triggers are replaced by ones that have neo's own SQLite
/// build the whole index anew with its next write. neo makes the index and leaves triggers that are there.
const TRIGGERS: &str = "
CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts(memories_fts) VALUES('rebuild');
END;
CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts(memories_fts) VALUES('rebuild');
END;
CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN
  INSERT INTO memories_fts(memories_fts) VALUES('rebuild');
END;
";

const NO_TRIGGERS: &str = "
DROP TRIGGER IF EXISTS memories_ai;
DROP TRIGGER IF EXISTS memories_ad;
DROP TRIGGER IF EXISTS memories_au;
";

fn failed(path: &Path, error: rusqlite::Error) -> StoreError {
    StoreError::other(format!("{} cannot be used as neo's memory", path.display()), error)
}

/// Reads both tables; one that is not there is empty. The file is not changed.
pub fn read(path: &Path) -> Result<Tables, StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| failed(path, error))?;
    let table = |name: &str| rows(&connection, name).map_err(|error| failed(path, error));
    Ok(Tables { memories: table("memories")?, tasks: table("tasks")? })
}

fn rows(connection: &Connection, table: &str) -> Result<Vec<Row>, rusqlite::Error> {
    let there: i64 = connection.query_row(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1",
        [table],
        |row| row.get(0),
    )?;
    if there == 0 {
        return Ok(Vec::new());
    }
    // The name is one of ours, never a caller's.
    let mut statement =
        connection.prepare(&format!("SELECT * FROM {table} ORDER BY rowid LIMIT {ROWS_MAX}"))?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let found = statement.query_map([], |row| {
        let mut out = Row::new();
        for (place, column) in columns.iter().enumerate() {
            let value = match row.get_ref(place)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::from(number),
                ValueRef::Real(number) => Value::from(number),
                ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(_) => Value::from("(binary)"),
            };
            out.insert(column.clone(), value);
        }
        Ok(out)
    })?;
    found.collect()
}

/// Writes rows into the file, made with neo's schema when it is not there. A row replaces the one of the same id;
/// every other row stays.
pub fn write(path: &Path, tables: &Tables) -> Result<(), StoreError> {
    put(path, tables).map_err(|error| failed(path, error))
}

fn put(path: &Path, tables: &Tables) -> Result<(), rusqlite::Error> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(NO_TRIGGERS)?;
    transaction.execute_batch(SCHEMA)?;
    for (table, rows) in [("memories", &tables.memories), ("tasks", &tables.tasks)] {
        let known = columns(&transaction, table)?;
        for row in rows {
            let cells: Vec<(&String, Cell)> = row
                .iter()
                .filter(|(column, _)| known.contains(column))
                .map(|(column, value)| (column, cell(value)))
                .collect();
            let names: Vec<&str> = cells.iter().map(|(column, _)| column.as_str()).collect();
            let marks = vec!["?"; names.len()].join(", ");
            let updates: Vec<String> = names
                .iter()
                .filter(|n| **n != "id")
                .map(|n| format!("{n} = excluded.{n}"))
                .collect();
            // Column names are the table's own: others were filtered out above.
            let sql = format!(
                "INSERT INTO {table} ({}) VALUES ({marks}) ON CONFLICT(id) DO UPDATE SET {}",
                names.join(", "),
                updates.join(", ")
            );
            transaction.execute(&sql, params_from_iter(cells.into_iter().map(|(_, cell)| cell)))?;
        }
    }
    transaction.execute_batch(TRIGGERS)?;
    transaction.commit()
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, rusqlite::Error> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(set) => Cell::Integer(i64::from(*set)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cell::Integer(whole),
            (None, Some(real)) => Cell::Real(real),
            (None, None) => Cell::Null,
        },
        Value::String(text) => Cell::Text(text.clone()),
        other => Cell::Text(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(value: &Value) -> Row {
        value.as_object().unwrap().clone()
    }

    fn memory(id: &str, content: &str) -> Row {
        row(&json!({
            "id": id, "type": "knowledge", "scope": "global", "content": content, "source": "user",
            "tags": "[\"a\"]", "created_at": "t", "last_accessed_at": "t", "access_count": 3,
            "expires_at": null, "outcome": null, "run_id": null, "category": null,
            "severity": null, "subtype": "fact",
        }))
    }

    #[test]
    fn rows_come_back_as_they_were_written_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory.sqlite");
        let first = Tables { memories: vec![memory("mem_1", "one")], tasks: Vec::new() };
        write(&path, &first).unwrap();
        assert_eq!(read(&path).unwrap(), first);
        let second = Tables { memories: vec![memory("mem_2", "two words")], tasks: Vec::new() };
        write(&path, &second).unwrap();
        let changed = Tables { memories: vec![memory("mem_1", "uno")], tasks: Vec::new() };
        write(&path, &changed).unwrap();
        let all = read(&path).unwrap().memories;
        assert_eq!(all, [memory("mem_1", "uno"), memory("mem_2", "two words")]);
        let connection = Connection::open(&path).unwrap();
        let triggers: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'", [], |r| {
                r.get(0)
            })
            .unwrap();
        assert_eq!(triggers, 3, "neo's next write builds its index anew");
    }

    #[test]
    fn a_file_that_is_no_database_or_lacks_tables_is_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory.sqlite");
        assert!(read(&path).is_err());
        assert!(!path.exists());
        std::fs::write(&path, "this is no database, only some text that is long enough").unwrap();
        assert!(read(&path).is_err() && write(&path, &Tables::default()).is_err());
        let empty = dir.path().join("empty.sqlite");
        Connection::open(&empty).unwrap().execute_batch("CREATE TABLE other (x)").unwrap();
        assert_eq!(read(&empty).unwrap(), Tables::default());
    }
}
