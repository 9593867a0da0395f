//! What the engine writes for each command, read back from its store as rows.
//!
//! The script runs once, a command of each client in one transaction. After each transaction the rows
//! of every client are compared with what they were, so each command gets exactly its own rows.

use crate::Outcome;
use crate::fill::{Filler, with_clients};
use crate::script::{Client, repo};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The columns of an event that are the same wherever it stands in the log.
pub const EVENT_COLUMNS: &str = "ts, event, v, repo, agent, task, body, body_hash, hash";

/// One row to be written.
#[derive(Clone)]
pub struct Op {
    /// The statement.
    pub text: Arc<str>,
    /// What it is given.
    pub values: Vec<Value>,
}

/// What one command writes.
#[derive(Default)]
pub struct Writes {
    /// Events without their seq, which depends on who comes first.
    pub events: Vec<Vec<Value>>,
    /// Projected rows and signs of life.
    pub rows: Vec<Op>,
    /// The counters of the repository: one row for all, written once in a transaction.
    pub counters: Option<Op>,
}

/// A table, what its rows are known by, and which of them a client's command may change.
struct Source {
    table: &'static str,
    keys: &'static [&'static str],
    /// ?1 agent, ?2 task, ?3 repository.
    of_client: &'static str,
}

const SOURCES: [Source; 4] = [
    Source { table: "tasks", keys: &["repo", "id"], of_client: "repo = ?3 AND id = ?2" },
    Source {
        table: "task_labels",
        keys: &["repo", "label", "number", "task"],
        of_client: "repo = ?3 AND task = ?2",
    },
    Source { table: "leases", keys: &["repo", "number"], of_client: "repo = ?3 AND owner = ?1" },
    Source { table: "presence", keys: &["agent", "fence"], of_client: "agent = ?1" },
];

type Row = Vec<(String, Value)>;

fn value_of<'r>(row: &'r Row, column: &str) -> Option<&'r Value> {
    row.iter().find(|(name, _)| name == column).map(|(_, value)| value)
}

impl Source {
    /// SQLite numbers the rows itself, so `rowid` is not among what is written.
    fn read(&self, conn: &Connection, client: &Client, task: &str) -> Outcome<Vec<Row>> {
        let text = format!("SELECT * FROM {} WHERE {}", self.table, self.of_client);
        let mut statement = conn.prepare_cached(&text)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let repo = repo()?;
        // Not every condition names all three; SQLite refuses what is not named.
        let given = [client.agent.as_str(), task, repo.as_str()];
        let given = given.into_iter().take(statement.parameter_count());
        let mut found = statement.query(params_from_iter(given))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let mut read = Row::new();
            for (at, name) in names.iter().enumerate() {
                if name != "rowid" {
                    read.push((name.clone(), row.get(at)?));
                }
            }
            rows.push(read);
        }
        Ok(rows)
    }

    fn same(&self, one: &Row, other: &Row) -> bool {
        self.keys.iter().all(|key| value_of(one, key) == value_of(other, key))
    }

    fn by_key(&self, first: usize) -> String {
        let parts: Vec<String> = self
            .keys
            .iter()
            .enumerate()
            .map(|(at, key)| format!("{key} = ?{}", first + at))
            .collect();
        parts.join(" AND ")
    }

    fn key_values(&self, row: &Row) -> impl Iterator<Item = Value> {
        self.keys.iter().map(|key| value_of(row, key).cloned().unwrap_or(Value::Null))
    }

    /// Inserts what is new, deletes what is gone, sets only the columns that changed.
    fn difference(&self, before: &[Row], after: &[Row]) -> Vec<(String, Vec<Value>)> {
        let mut ops = Vec::new();
        for row in before.iter().filter(|row| !after.iter().any(|other| self.same(row, other))) {
            let text = format!("DELETE FROM {} WHERE {}", self.table, self.by_key(1));
            ops.push((text, self.key_values(row).collect()));
        }
        for row in after {
            match before.iter().find(|other| self.same(row, other)) {
                None => {
                    let names: Vec<&str> = row.iter().map(|(name, _)| name.as_str()).collect();
                    let marks: Vec<String> = (1..=row.len()).map(|at| format!("?{at}")).collect();
                    let (names, marks) = (names.join(", "), marks.join(", "));
                    let text = format!("INSERT INTO {} ({names}) VALUES ({marks})", self.table);
                    ops.push((text, row.iter().map(|(_, value)| value.clone()).collect()));
                }
                Some(old) if old != row => ops.push(self.update(old, row)),
                Some(_) => {}
            }
        }
        ops
    }

    fn update(&self, old: &Row, row: &Row) -> (String, Vec<Value>) {
        let changed: Vec<&(String, Value)> =
            row.iter().filter(|(name, value)| value_of(old, name) != Some(value)).collect();
        let sets: Vec<String> = changed
            .iter()
            .enumerate()
            .map(|(at, (name, _))| format!("{name} = ?{}", at + 1))
            .collect();
        let place = self.by_key(changed.len() + 1);
        let text = format!("UPDATE {} SET {} WHERE {place}", self.table, sets.join(", "));
        let values = changed.iter().map(|(_, value)| value.clone());
        (text, values.chain(self.key_values(row)).collect())
    }
}

/// One client while it is recorded.
struct Recorded {
    client: Client,
    rows: [Vec<Row>; SOURCES.len()],
    writes: Vec<Arc<Writes>>,
}

struct Recorder {
    conn: Connection,
    texts: BTreeMap<String, Arc<str>>,
    last_seq: i64,
    counters: (i64, i64),
}

impl Recorder {
    fn op(&mut self, text: String, values: Vec<Value>) -> Op {
        let shared = self.texts.entry(text).or_insert_with_key(|text| text.as_str().into());
        Op { text: Arc::clone(shared), values }
    }

    /// Returns the new events by agent.
    fn events(&mut self) -> Outcome<BTreeMap<String, Vec<Vec<Value>>>> {
        let text =
            format!("SELECT seq, agent, {EVENT_COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq");
        let mut statement = self.conn.prepare_cached(&text)?;
        let columns = statement.column_count();
        let mut found = statement.query(params![self.last_seq])?;
        let mut events: BTreeMap<String, Vec<Vec<Value>>> = BTreeMap::new();
        while let Some(row) = found.next()? {
            self.last_seq = row.get(0)?;
            let values: Result<Vec<Value>, _> = (2..columns).map(|at| row.get(at)).collect();
            events.entry(row.get(1)?).or_default().push(values?);
        }
        Ok(events)
    }

    fn counters(&mut self) -> Outcome<Option<Op>> {
        let repo = repo()?;
        let text = "SELECT tasks, leases FROM repos WHERE repo = ?1";
        let now =
            self.conn.query_row(text, [repo.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if now == self.counters {
            return Ok(None);
        }
        self.counters = now;
        let values = vec![
            Value::Integer(now.0),
            Value::Integer(now.1),
            Value::Text(repo.as_str().to_owned()),
        ];
        let text = "INSERT INTO repos (tasks, leases, repo, decisions) VALUES (?1, ?2, ?3, 0)
            ON CONFLICT (repo) DO UPDATE SET tasks = excluded.tasks, leases = excluded.leases";
        Ok(Some(self.op(text.to_owned(), values)))
    }

    fn note(&mut self, recorded: &mut Recorded, task: &str, writes: &mut Writes) -> Outcome<()> {
        for (source, rows) in SOURCES.iter().zip(&mut recorded.rows) {
            let now = source.read(&self.conn, &recorded.client, task)?;
            // The task before this one is finished with; its rows are not gone.
            let known = now.iter().any(|row| rows.iter().any(|old| source.same(row, old)));
            let before: &[Row] = match source.table {
                "tasks" | "task_labels" if !known => &[],
                _ => rows,
            };
            for (text, values) in source.difference(before, &now) {
                let op = self.op(text, values);
                writes.rows.push(op);
            }
            *rows = now;
        }
        Ok(())
    }
}

/// Runs the script of so many clients and returns what each of their commands wrote.
pub fn record(path: &Path, clients: usize, commands: usize) -> Outcome<Vec<Vec<Arc<Writes>>>> {
    let mut recorded: Vec<Recorded> = with_clients(path, clients)?
        .into_iter()
        .map(|client| Recorded { client, rows: Default::default(), writes: Vec::new() })
        .collect();
    let mut filler = Filler::open(path)?;
    let conn = Connection::open(path)?;
    let mut recorder = Recorder { conn, texts: BTreeMap::new(), last_seq: 0, counters: (0, 0) };
    recorder.events()?;
    for _ in 0..commands {
        let tasks: Vec<String> = recorded.iter().map(|one| one.client.task()).collect();
        let requests: Vec<_> = recorded.iter_mut().map(|one| one.client.next()).collect();
        let answers = filler.batch(requests)?;
        let mut events = recorder.events()?;
        let counters = recorder.counters()?;
        for ((one, task), answer) in recorded.iter_mut().zip(&tasks).zip(&answers) {
            one.client.learn(answer);
            let mut writes = Writes {
                events: events.remove(one.client.agent.as_str()).unwrap_or_default(),
                counters: counters.clone(),
                ..Writes::default()
            };
            recorder.note(one, task, &mut writes)?;
            one.writes.push(Arc::new(writes));
        }
    }
    Ok(recorded.into_iter().map(|one| one.writes).collect())
}
