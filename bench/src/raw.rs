//! The raw limit: the same rows by plain rusqlite, with the same batching and nothing else.
//!
//! No rule, no lock file, no hash, no answer: a bounded queue, one thread, one transaction a batch,
//! `synchronous=FULL`, acknowledged after COMMIT.

use crate::Outcome;
use crate::record::{EVENT_COLUMNS, Writes};
use rusqlite::{Connection, params_from_iter};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// As in the engine's write loop.
const QUEUE_MAX: usize = 512;
/// As in the engine's write loop.
const BATCH_MAX: usize = 256;
/// As in the store.
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; \
    PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; \
    PRAGMA journal_size_limit = 16777216; PRAGMA wal_autocheckpoint = 250;";
/// As in the store.
const STATEMENTS_KEPT: usize = 128;

/// One command's rows, and where to say that they are durable.
struct Job {
    writes: Arc<Writes>,
    reply: SyncSender<()>,
}

/// A way into the loop.
#[derive(Clone)]
pub struct RawHandle {
    queue: SyncSender<Job>,
}

impl RawHandle {
    /// Writes what a command writes; when this returns, it is durable.
    pub fn execute(&self, writes: &Arc<Writes>) -> Outcome<()> {
        let (reply, done) = sync_channel(1);
        let job = Job { writes: Arc::clone(writes), reply };
        self.queue.send(job).map_err(|_| "the raw writer has stopped")?;
        done.recv().map_err(|_| "the raw writer has failed")?;
        Ok(())
    }
}

/// Starts the loop over a store that has its schema and its agents.
pub fn start(path: &Path) -> Outcome<(RawHandle, JoinHandle<Outcome<()>>)> {
    let conn = Connection::open(path)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    conn.execute_batch(SETTINGS)?;
    let seq: i64 = conn.query_row("SELECT max(seq) FROM events", [], |row| row.get(0))?;
    let (queue, jobs) = sync_channel(QUEUE_MAX);
    let thread = std::thread::spawn(move || drain(&conn, seq, &jobs));
    Ok((RawHandle { queue }, thread))
}

fn drain(conn: &Connection, mut seq: i64, jobs: &Receiver<Job>) -> Outcome<()> {
    let append = format!(
        "INSERT INTO events (seq, {EVENT_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
    );
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH_MAX {
            let Ok(job) = jobs.try_recv() else { break };
            batch.push(job);
        }
        conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for event in batch.iter().flat_map(|job| &job.writes.events) {
            seq += 1;
            let mut statement = conn.prepare_cached(&append)?;
            statement.raw_bind_parameter(1, seq)?;
            for (at, value) in event.iter().enumerate() {
                statement.raw_bind_parameter(at + 2, value)?;
            }
            statement.raw_execute()?;
        }
        let rows = batch.iter().flat_map(|job| &job.writes.rows);
        let counters = batch.iter().rev().find_map(|job| job.writes.counters.as_ref());
        for op in rows.chain(counters) {
            conn.prepare_cached(&op.text)?.execute(params_from_iter(&op.values))?;
        }
        conn.prepare_cached("COMMIT")?.execute([])?;
        for job in batch {
            // A client that has gone away ends the run elsewhere.
            let _ = job.reply.send(());
        }
    }
    Ok(())
}
