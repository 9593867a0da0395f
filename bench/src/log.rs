//! `log verify` and `report log` over long logs: time, and peak memory.

use crate::process::{self, peak_memory_mib};
use crate::script::{Client, LIFE_WORDS, repo};
use crate::stats::{count, process_cpu, whole};
use crate::table::Table;
use crate::{Outcome, Scale, fill};
use comity_core::ids::AgentId;
use comity_engine::{Caller, Moment};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Agents that made the log.
const AGENTS: usize = 64;

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let mut table = Table::new(&[
        "step",
        "events",
        "tasks",
        "seconds",
        "CPU seconds",
        "events/s",
        "time ÷ first",
        "peak MiB",
    ]);
    let dir = tempfile::tempdir()?;
    let mut first: [Option<f64>; 4] = [None; 4];
    for events in scale.of([100_000, 1_000_000], [10_000, 100_000]) {
        let path = dir.path().join(format!("{events}.db"));
        let path = path.to_str().ok_or("the temporary directory is not UTF-8")?;
        let wanted = events.to_string();
        let steps: [(&str, &[&str]); 4] = [
            ("fill", &[path, &wanted]),
            ("verify", &[path]),
            ("report", &[path]),
            ("replay", &[path]),
        ];
        for ((step, arguments), first) in steps.into_iter().zip(&mut first) {
            let found = process::step(step, arguments)?;
            let number = |key: &str| found.get(key).and_then(Value::as_f64).unwrap_or(0.0);
            let seconds = number("seconds");
            let times = seconds / *first.get_or_insert(seconds);
            table.row(vec![
                step_words(step).to_owned(),
                whole(number("events")),
                whole(number("tasks")),
                format!("{seconds:.2}"),
                format!("{:.2}", number("cpu_seconds")),
                whole(number("events") / seconds),
                format!("{times:.1}×"),
                format!("{:.0}", number("peak_mib")),
            ]);
        }
    }
    table.print("log: long logs");
    println!(
        "\nThe log is made by {} agents that take tasks through their lives ({LIFE_WORDS}), {} commands in one \
         transaction. Each step runs alone in a process of its own; peak MiB is its VmHWM. Ten times the events \
         in ten times the time is linear.",
        count(AGENTS),
        count(AGENTS),
    );
    Ok(())
}

fn step_words(step: &str) -> &str {
    match step {
        "fill" => "filling it, through the engine",
        "verify" => "`log verify`",
        "replay" => "the store as it was at the last event",
        _ => "`report log`",
    }
}

/// Runs one step alone and prints what it took.
pub fn step(name: &str, arguments: &[String]) -> Outcome<()> {
    let path = Path::new(arguments.first().ok_or("no store is named")?);
    let start = Instant::now();
    let (events, tasks) = match name {
        "fill" => fill_log(path, arguments.get(1).ok_or("no number of events")?.parse()?)?,
        "verify" => verify(path)?,
        "report" => report(path)?,
        "replay" => replay(path)?,
        _ => return Err(format!("no step is named {name}").into()),
    };
    let found = json!({
        "seconds": start.elapsed().as_secs_f64(),
        "cpu_seconds": process_cpu().as_secs_f64(),
        "events": events,
        "tasks": tasks,
        "peak_mib": peak_memory_mib()?,
    });
    println!("{found}");
    Ok(())
}

fn fill_log(path: &Path, events: u64) -> Outcome<(u64, u64)> {
    let mut clients: Vec<Client> = fill::with_clients(path, AGENTS)?;
    let mut filler = fill::Filler::open(path)?;
    loop {
        let requests: Vec<_> = clients.iter_mut().map(Client::next).collect();
        let answers = filler.batch(requests)?;
        for (client, answer) in clients.iter_mut().zip(&answers) {
            client.learn(answer);
        }
        let head = filler.head()?;
        if head >= events {
            return Ok((head, task_count(path)?));
        }
    }
}

fn task_count(path: &Path) -> Outcome<u64> {
    let conn = rusqlite::Connection::open(path)?;
    let tasks: i64 = conn.query_row("SELECT count(*) FROM tasks", [], |row| row.get(0))?;
    Ok(tasks.unsigned_abs())
}

fn verify(path: &Path) -> Outcome<(u64, u64)> {
    let found = fill::service(path)?.verify()?;
    if !found.ok {
        return Err(format!("the log does not verify: {:?}", found.problems).into());
    }
    Ok((found.events, task_count(path)?))
}

/// Counts lines instead of keeping them.
#[derive(Default)]
struct Lines(u64);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Replays the whole log, as `--at` does for a moment of the past.
fn replay(path: &Path) -> Outcome<(u64, u64)> {
    let events = fill::Filler::open(path)?.head()?;
    let past = fill::service(path)?.at(Moment::Seq(events))?;
    if past.moment().map(|at| at.seq) != Some(events) {
        return Err("the past ends elsewhere".into());
    }
    Ok((events, task_count(path)?))
}

fn report(path: &Path) -> Outcome<(u64, u64)> {
    let caller = Caller::new(AgentId::parse("human:bench")?, repo()?);
    let mut lines = Lines::default();
    fill::service(path)?.report_log(&caller, &mut lines)?;
    let events = fill::Filler::open(path)?.head()?;
    // Every event has its line in some timeline.
    if lines.0 < events {
        return Err(format!("the report has {} lines for {events} events", lines.0).into());
    }
    Ok((events, task_count(path)?))
}
