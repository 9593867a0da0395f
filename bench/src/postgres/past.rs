//! The rate with a long past, and while a transaction that does nothing holds an old snapshot.

use super::{introduce, run_workers};
use crate::stats::{count, median, whole};
use crate::table::Table;
use crate::{Outcome, Scale};
use comity_store::test_server::{Cluster, empty_store_at, psql};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const WORKERS: usize = 64;
/// Each run is measured in so many parts, to see whether it gets slower.
const PARTS: usize = 3;

/// What the store is like when the workers begin.
#[derive(Clone, Copy, PartialEq)]
enum Past {
    Empty,
    OldSnapshot,
    Finished,
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let server = super::server();
    let (tasks, finished) = (scale.of(30, 8), scale.of(1_000_000, 50_000));
    let repetitions = scale.of(5, 1);
    let full = empty_store_at(&server.url);
    introduce(&full, repetitions * PARTS * WORKERS)?;
    finish(&full, finished);
    let pasts = [
        (Past::Empty, "an empty store".to_owned()),
        (Past::OldSnapshot, "an idle transaction with a snapshot".to_owned()),
        (Past::Finished, format!("{} finished tasks", count(finished))),
    ];
    let mut measured: Vec<Vec<Vec<f64>>> = vec![Vec::new(); pasts.len()];
    for repetition in 0..repetitions {
        for ((past, _), runs) in pasts.iter().zip(&mut measured) {
            let full = (*past == Past::Finished).then_some((full.as_str(), repetition));
            runs.push(one_run(&server, *past, full, tasks)?);
        }
    }
    let mut table =
        Table::new(&["store", "comity commands/s", "÷ empty", "first third/s", "last third/s"]);
    let mut empty = None;
    for ((_, name), runs) in pasts.iter().zip(&measured) {
        let part = |at: usize| {
            median(&runs.iter().filter_map(|run| run.get(at).copied()).collect::<Vec<_>>())
        };
        let rates: Vec<f64> = runs.iter().map(|run| together(run)).collect();
        let empty = empty.get_or_insert_with(|| rates.clone());
        let ratios: Vec<f64> = rates.iter().zip(empty).map(|(rate, empty)| rate / *empty).collect();
        table.row(vec![
            name.clone(),
            whole(median(&rates)),
            format!("{:.2}", median(&ratios)),
            whole(part(0)),
            whole(part(PARTS - 1)),
        ]);
    }
    table.print("postgres-past: a long past, and an old snapshot");
    println!(
        "\n1 × {WORKERS} workers, {} tasks each through their lives, in three parts; medians of {repetitions} runs \
         by turns, the ratio that of the pairs. The empty stores are made anew for each run, after a checkpoint; the finished tasks are \
         rows of tasks and signs of life made by SQL, vacuumed once, in a store that all of its runs share. The idle \
         transaction begins before the first part and stays. Target: ≥ 0.8.",
        tasks * PARTS
    );
    Ok(())
}

/// The rate of parts of the same size, one after the other.
#[expect(clippy::cast_precision_loss, reason = "a handful of parts")]
fn together(parts: &[f64]) -> f64 {
    parts.len() as f64 / parts.iter().map(|rate| 1.0 / rate).sum::<f64>()
}

fn one_run(
    server: &Cluster,
    past: Past,
    full: Option<(&str, usize)>,
    tasks: usize,
) -> Outcome<Vec<f64>> {
    let (url, first) = match full {
        Some((url, repetition)) => (url.to_owned(), repetition * PARTS * WORKERS),
        None => {
            let url = empty_store_at(&server.url);
            introduce(&url, PARTS * WORKERS)?;
            (url, 0)
        }
    };
    // What was written before is on disk, so that no run pays for another.
    psql(&url, "CHECKPOINT");
    let holder = if past == Past::OldSnapshot { Some(hold_snapshot(&url)?) } else { None };
    let parts = (0..PARTS)
        .map(|part| run_workers(&url, 1, (first + part * WORKERS, WORKERS), tasks))
        .collect();
    drop(holder);
    parts
}

/// A session that holds a snapshot until it is dropped.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn hold_snapshot(url: &str) -> Outcome<Holder> {
    let text =
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM tasks; SELECT pg_sleep(3600)";
    let mut command = Command::new("psql");
    command.args([url, "-Xqc", text]).stdin(Stdio::null()).stdout(Stdio::null());
    let holder = Holder(command.spawn()?);
    std::thread::sleep(Duration::from_millis(500));
    Ok(holder)
}

/// Adds finished tasks, in the repository of the workers, so that they share every index.
fn finish(url: &str, tasks: usize) {
    let text = format!(
        "INSERT INTO tasks (repo, id, number, status, priority, body) SELECT 'bench/app', 'D' || n, n, 'done', 2, \
         repeat('x', 900) FROM generate_series(1, {tasks}) n; \
         INSERT INTO signs SELECT 'old-' || n % 500, n, n FROM generate_series(1, {tasks} / 10) n"
    );
    psql(url, &text);
    psql(url, "VACUUM ANALYZE");
}
