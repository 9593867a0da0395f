//! Durable commands a second through a started service, beside the raw limit.

use crate::raw::{self, RawHandle};
use crate::record::{Writes, record};
use crate::script::{Client, LIFE, LIFE_WORDS};
use crate::stats::{at_fraction, count, median, ms, process_cpu, whole};
use crate::table::Table;
use crate::{Outcome, Scale, fill};
use comity_engine::Service;
use rusqlite::Connection;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Instant;

/// Waiting clients, and how many tasks each of them takes through its life.
const CLIENTS: [(usize, usize); 3] = [(1, 60), (8, 60), (64, 40)];

/// One run of one loop.
pub struct Sample {
    /// Commands a second.
    pub per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    cpu_us: f64,
}

/// A client that sends one command after the other and waits for each.
pub trait Sender: Send {
    /// Sends the next one.
    fn send(&mut self) -> Outcome<()>;
}

/// A client of the engine.
pub struct EngineSender {
    /// Who sends.
    pub client: Client,
    pub service: Service,
}

impl Sender for EngineSender {
    fn send(&mut self) -> Outcome<()> {
        let answer = self.service.execute(self.client.next())?;
        self.client.learn(&answer);
        Ok(())
    }
}

struct RawSender<'w> {
    writes: std::slice::Iter<'w, Arc<Writes>>,
    handle: RawHandle,
}

impl Sender for RawSender<'_> {
    fn send(&mut self) -> Outcome<()> {
        let writes = self.writes.next().ok_or("nothing more was recorded")?;
        self.handle.execute(writes)
    }
}

/// Lets every client send so many commands, all at once.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub fn drive<S: Sender>(senders: Vec<S>, commands: usize) -> Outcome<Sample> {
    let total = (senders.len() * commands) as f64;
    let gate = Barrier::new(senders.len() + 1);
    let (elapsed, cpu, times) = std::thread::scope(|scope| {
        let gate = &gate;
        let threads: Vec<_> = senders
            .into_iter()
            .map(|mut sender| {
                scope.spawn(move || -> Outcome<Vec<f64>> {
                    let mut times = Vec::with_capacity(commands);
                    gate.wait();
                    for _ in 0..commands {
                        let start = Instant::now();
                        sender.send()?;
                        times.push(ms(start.elapsed()));
                    }
                    Ok(times)
                })
            })
            .collect();
        let cpu_before = process_cpu();
        gate.wait();
        let start = Instant::now();
        let mut times = Vec::new();
        for thread in threads {
            times.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((
            start.elapsed(),
            process_cpu().saturating_sub(cpu_before),
            times,
        ))
    })?;
    Ok(Sample {
        per_second: total / elapsed.as_secs_f64(),
        p50_ms: median(&times),
        p99_ms: at_fraction(&times, 0.99),
        cpu_us: cpu.as_secs_f64() * 1e6 / total,
    })
}

fn engine_run(path: &Path, clients: usize, commands: usize) -> Outcome<Sample> {
    let clients = fill::with_clients(path, clients)?;
    let service = Service::start(fill::open(path)?, crate::script::without_git())?;
    let sender = |client| EngineSender { client, service: service.clone() };
    let senders = clients.into_iter().map(sender).collect();
    drive(senders, commands)
}

fn raw_run(path: &Path, recorded: &[Vec<Arc<Writes>>], commands: usize) -> Outcome<Sample> {
    fill::with_clients(path, recorded.len())?;
    let (handle, thread) = raw::start(path)?;
    let senders: Vec<RawSender<'_>> = recorded
        .iter()
        .map(|writes| RawSender { writes: writes.iter(), handle: handle.clone() })
        .collect();
    drop(handle);
    let sample = drive(senders, commands)?;
    thread.join().map_err(|_| "the raw writer panicked")??;
    Ok(sample)
}

/// Counts what is in a store: rows, and bytes of what rows hold.
fn census(path: &Path) -> Outcome<(Vec<i64>, i64)> {
    let conn = Connection::open(path)?;
    let mut rows = Vec::new();
    for table in ["events", "tasks", "task_labels", "leases", "presence", "agents", "repos"] {
        let text = format!("SELECT count(*) FROM {table}");
        rows.push(conn.query_row(&text, [], |row| row.get(0))?);
    }
    let text =
        "SELECT (SELECT sum(length(body)) FROM events) + (SELECT sum(length(body)) FROM tasks)";
    Ok((rows, conn.query_row(text, [], |row| row.get(0))?))
}

#[expect(clippy::cast_precision_loss, reason = "a store here is far below 2^52 bytes")]
fn check_same(engine: &Path, raw: &Path) -> Outcome<()> {
    let ((engine_rows, engine_bytes), (raw_rows, raw_bytes)) = (census(engine)?, census(raw)?);
    // Numbers are given out in another order, so a digit more or less is no difference.
    let apart = (engine_bytes as f64 / raw_bytes as f64 - 1.0).abs();
    if engine_rows != raw_rows || apart > 0.01 {
        return Err(format!(
            "the raw loop wrote {raw_rows:?} rows, {raw_bytes} bytes; the engine {engine_rows:?}, {engine_bytes}"
        )
        .into());
    }
    Ok(())
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let repetitions = scale.of(5, 2);
    let mut table = Table::new(&[
        "waiting clients",
        "commands",
        "engine/s",
        "raw/s",
        "engine ÷ raw",
        "engine p50, p99 ms",
        "raw p50, p99 ms",
        "engine CPU µs",
        "raw CPU µs",
        "CPU ÷ raw",
    ]);
    for (clients, tasks) in CLIENTS {
        let commands = scale.of(tasks, tasks / 4) * LIFE;
        let dir = tempfile::tempdir()?;
        let recorded = record(&dir.path().join("record.db"), clients, commands)?;
        let (mut engine, mut raw, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for repetition in 0..repetitions {
            let engine_path = dir.path().join(format!("engine-{repetition}.db"));
            let raw_path = dir.path().join(format!("raw-{repetition}.db"));
            let by_engine = engine_run(&engine_path, clients, commands)?;
            let by_raw = raw_run(&raw_path, &recorded, commands)?;
            check_same(&engine_path, &raw_path)?;
            ratios.push(by_engine.per_second / by_raw.per_second);
            engine.push(by_engine);
            raw.push(by_raw);
        }
        let of = |samples: &[Sample], field: fn(&Sample) -> f64| {
            median(&samples.iter().map(field).collect::<Vec<_>>())
        };
        let latency = |samples: &[Sample]| {
            format!("{:.2}, {:.2}", of(samples, |s| s.p50_ms), of(samples, |s| s.p99_ms))
        };
        table.row(vec![
            clients.to_string(),
            count(clients * commands),
            whole(of(&engine, |s| s.per_second)),
            whole(of(&raw, |s| s.per_second)),
            format!("{:.2}", median(&ratios)),
            latency(&engine),
            latency(&raw),
            whole(of(&engine, |s| s.cpu_us)),
            whole(of(&raw, |s| s.cpu_us)),
            format!("{:.2}", of(&engine, |s| s.cpu_us) / of(&raw, |s| s.cpu_us)),
        ]);
    }
    table.print("write: durable commands through a started service");
    println!(
        "\nEach client waits for each answer and goes through the life of a task: {LIFE_WORDS}. Raw: the rows \
         that the engine wrote for these commands, by plain rusqlite (events, tasks, labels, leases, signs of \
         life, counters), with the same queue, batches and pragmas, acknowledged by the writer itself after each commit. Medians of {repetitions} \
         alternating runs on fresh stores; the ratio is the median of the pairs. CPU: whole process, per command. \
         Targets at 64: engine ÷ raw ≥ 0.6, CPU ÷ raw ≤ 2.0."
    );
    Ok(())
}
