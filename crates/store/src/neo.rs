//! neo's `memory.sqlite`: the tables `memories` and `tasks`, read as rows and written with neo's own schema.
//!
//! This is no store: it is a file of another tool, so nothing of it is trusted and nothing is kept open.

use crate::error::StoreError;
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, OpenFlags, params_from_iter};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Most rows that are read of one table.
const ROWS_MAX: usize = 100_000;

/// One row: column and value, in the order of the table.
pub type Row = Map<String, Value>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    pub memories: Vec<Row>,
    pub tasks: Vec<Row>,
    /// Table and id of each row that has bytes which are no text. Such rows are left alone.
    pub unreadable: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableChanges {
    pub add: Vec<Row>,
    /// Each row has the id and the columns that change.
    pub change: Vec<Row>,
    /// Ids of the rows to delete.
    pub remove: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub memories: TableChanges,
    pub tasks: TableChanges,
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

/// neo keeps a full-text index beside the table, by these triggers. They fire for our writes as for neo's own.
const INDEX: &str = "
CREATE VIRTUAL TABLE IF NOT EXISTS memories_fts USING fts5(
  content, content='memories', content_rowid='rowid', tokenize='porter'
);
CREATE TRIGGER IF NOT EXISTS memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts(rowid, content) VALUES (new.rowid, new.content);
END;
CREATE TRIGGER IF NOT EXISTS memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts(memories_fts, rowid, content)
  VALUES('delete', old.rowid, old.content);
END;
CREATE TRIGGER IF NOT EXISTS memories_au AFTER UPDATE ON memories BEGIN
  INSERT INTO memories_fts(memories_fts, rowid, content)
  VALUES('delete', old.rowid, old.content);
  INSERT INTO memories_fts(rowid, content) VALUES (new.rowid, new.content);
END;
";
const REINDEX: &str = "INSERT INTO memories_fts(memories_fts) VALUES('rebuild')";

fn failed(path: &Path, error: rusqlite::Error) -> StoreError {
    StoreError::other(format!("{} cannot be used as neo's memory", path.display()), error)
}

/// Reads both tables; one that is not there is empty. The file is not changed.
pub fn read(path: &Path) -> Result<Tables, StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    connection.and_then(|it| tables(&it)).map_err(|error| failed(path, error))
}

fn tables(connection: &Connection) -> Result<Tables, rusqlite::Error> {
    let mut tables = Tables::default();
    for (name, into) in [("memories", &mut tables.memories), ("tasks", &mut tables.tasks)] {
        let (rows, odd) = rows(connection, name)?;
        *into = rows;
        tables.unreadable.extend(odd.into_iter().map(|id| (name, id)));
    }
    Ok(tables)
}

fn is_there(connection: &Connection, name: &str) -> Result<bool, rusqlite::Error> {
    let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
    let found: i64 = connection.query_row(sql, [name], |row| row.get(0))?;
    Ok(found > 0)
}

/// Returns the rows of a table, and the ids of those that have bytes which are no text.
fn rows(connection: &Connection, table: &str) -> Result<(Vec<Row>, Vec<String>), rusqlite::Error> {
    let (mut found, mut odd) = (Vec::new(), Vec::new());
    if !is_there(connection, table)? {
        return Ok((found, odd));
    }
    // The name is one of ours, never a caller's.
    let mut statement =
        connection.prepare(&format!("SELECT * FROM {table} ORDER BY rowid LIMIT {ROWS_MAX}"))?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut out = Row::new();
        let mut whole = true;
        for (place, column) in columns.iter().enumerate() {
            let value = match row.get_ref(place)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::from(number),
                ValueRef::Real(number) => Value::from(number),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    let blob = matches!(row.get_ref(place)?, ValueRef::Blob(_));
                    whole &= !blob && std::str::from_utf8(bytes).is_ok();
                    Value::from(String::from_utf8_lossy(bytes).into_owned())
                }
            };
            out.insert(column.clone(), value);
        }
        if whole {
            found.push(out);
        } else {
            odd.push(out.get("id").and_then(Value::as_str).unwrap_or("?").to_owned());
        }
    }
    Ok((found, odd))
}

/// Changes that are made and not yet kept; without [`Pending::keep`] the file stays as it was.
pub struct Pending {
    connection: Connection,
    path: PathBuf,
    /// The tables before the changes, from the moment on at which nobody else could write.
    pub before: Tables,
    pub after: Tables,
}

impl Pending {
    pub fn keep(self) -> Result<(), StoreError> {
        self.connection.execute_batch("COMMIT").map_err(|error| failed(&self.path, error))
    }
}

/// Makes changes in the file, which gets neo's schema when it is not there. Every other row, and every other column
/// of a row, stays as it is.
pub fn prepare(path: &Path, changes: &Changes) -> Result<Pending, StoreError> {
    let connection = Connection::open(path).map_err(|error| failed(path, error))?;
    let tables = || {
        connection.busy_timeout(std::time::Duration::from_secs(10))?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let before = tables(&connection)?;
        put(&connection, changes)?;
        Ok((before, tables(&connection)?))
    };
    let (before, after) = tables().map_err(|error| failed(path, error))?;
    Ok(Pending { connection, path: path.to_owned(), before, after })
}

fn put(connection: &Connection, changes: &Changes) -> Result<(), rusqlite::Error> {
    connection.execute_batch(SCHEMA)?;
    let indexed = is_there(connection, "memories_fts")?;
    connection.execute_batch(INDEX)?;
    if !indexed {
        connection.execute_batch(REINDEX)?;
    }
    for (table, changes) in [("memories", &changes.memories), ("tasks", &changes.tasks)] {
        let known = columns(connection, table)?;
        // Column names are the table's own: others are left out.
        let cells = |row: &Row| -> Vec<(String, Cell)> {
            let ours = row.iter().filter(|(column, _)| known.contains(column));
            ours.map(|(column, value)| (format!("\"{column}\""), cell(value))).collect()
        };
        for id in &changes.remove {
            connection.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [id])?;
        }
        for row in &changes.change {
            let (mut names, mut given) = (Vec::new(), Vec::new());
            for (name, cell) in cells(row).into_iter().filter(|(name, _)| name != "\"id\"") {
                names.push(format!("{name} = ?"));
                given.push(cell);
            }
            if names.is_empty() {
                continue;
            }
            given.push(row.get("id").map_or(Cell::Null, cell));
            let sql = format!("UPDATE {table} SET {} WHERE id = ?", names.join(", "));
            connection.execute(&sql, params_from_iter(given))?;
        }
        for row in &changes.add {
            let (names, given): (Vec<String>, Vec<Cell>) = cells(row).into_iter().unzip();
            let marks = vec!["?"; names.len()].join(", ");
            let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(", "));
            connection.execute(&sql, params_from_iter(given))?;
        }
    }
    Ok(())
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

    fn write(path: &Path, memories: TableChanges) -> Result<(), StoreError> {
        prepare(path, &Changes { memories, ..Changes::default() })?.keep()
    }

    fn adding(rows: Vec<Row>) -> TableChanges {
        TableChanges { add: rows, ..TableChanges::default() }
    }

    fn found(path: &Path, word: &str) -> Vec<String> {
        let connection = Connection::open(path).unwrap();
        // neo's own query.
        let mut statement = connection
            .prepare(
                "SELECT m.id FROM memories_fts fts JOIN memories m ON m.rowid = fts.rowid
                 WHERE memories_fts MATCH ? ORDER BY rank",
            )
            .unwrap();
        let ids = statement.query_map([word], |row| row.get(0)).unwrap();
        ids.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn rows_come_back_as_they_were_written_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory.sqlite");
        write(&path, adding(vec![memory("mem_1", "one"), memory("mem_2", "two words")])).unwrap();
        let changed = row(&json!({"id": "mem_1", "content": "uno", "nonsense": 1}));
        let more = TableChanges { change: vec![changed], ..TableChanges::default() };
        write(&path, more).unwrap();
        let all = read(&path).unwrap().memories;
        assert_eq!(all, [memory("mem_1", "uno"), memory("mem_2", "two words")]);
        let gone = TableChanges { remove: vec!["mem_2".to_owned()], ..TableChanges::default() };
        write(&path, gone).unwrap();
        assert_eq!(read(&path).unwrap().memories, [memory("mem_1", "uno")]);
    }

    #[test]
    fn neos_search_finds_what_is_written_here_at_once_and_nothing_that_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory.sqlite");
        write(&path, adding(vec![memory("mem_1", "builds are compiled")])).unwrap();
        assert_eq!(found(&path, "compile"), ["mem_1"]);
        let changed = row(&json!({"id": "mem_1", "content": "builds are interpreted"}));
        write(&path, TableChanges { change: vec![changed], ..TableChanges::default() }).unwrap();
        assert_eq!((found(&path, "compile").len(), found(&path, "interpret").len()), (0, 1));
        // A file without the index gets it.
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("DROP TRIGGER memories_ai; DROP TABLE memories_fts").unwrap();
        write(&path, adding(vec![memory("mem_2", "another build")])).unwrap();
        assert_eq!(found(&path, "build").len(), 2);
    }

    #[test]
    fn what_is_no_text_is_said_and_left_alone_and_what_is_not_kept_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory.sqlite");
        write(&path, adding(vec![memory("mem_1", "one"), memory("mem_2", "two")])).unwrap();
        let connection = Connection::open(&path).unwrap();
        let blob = "UPDATE memories SET content = x'ff00' WHERE id = 'mem_1'";
        connection.execute_batch(blob).unwrap();
        let tables = read(&path).unwrap();
        assert_eq!(tables.unreadable, [("memories", "mem_1".to_owned())]);
        assert_eq!(tables.memories.len(), 1);
        let more = Changes { memories: adding(vec![memory("mem_3", "x")]), ..Changes::default() };
        drop(prepare(&path, &more).unwrap());
        assert_eq!(read(&path).unwrap().memories.len(), 1);
    }

    #[test]
    fn a_file_that_is_no_database_or_lacks_tables_is_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory.sqlite");
        assert!(read(&path).is_err());
        assert!(!path.exists());
        std::fs::write(&path, "this is no database, only some text that is long enough").unwrap();
        assert!(read(&path).is_err() && prepare(&path, &Changes::default()).is_err());
        let empty = dir.path().join("empty.sqlite");
        Connection::open(&empty).unwrap().execute_batch("CREATE TABLE other (x)").unwrap();
        assert_eq!(read(&empty).unwrap(), Tables::default());
    }
}
