//! Commands a second on PostgreSQL, beside pgbench with statements like theirs on the same server.

use crate::process::STEP;
use crate::script::{Client, LIFE, LIFE_WORDS, register, repo};
use crate::stats::{median, whole};
use crate::table::Table;
use crate::write::{EngineSender, drive};
use crate::{Outcome, Scale};
use comity_core::command::Request;
use comity_engine::{Intake, Settings, WriteLoop, run_batch};
use comity_store::Store;
use comity_store::conformance::server::{Cluster, empty_store_at, open, psql};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Processes, workers in each, tasks that each worker takes through its life.
const SHAPES: [(usize, usize, usize); 3] = [(1, 8, 60), (1, 64, 30), (8, 8, 20)];
/// Seconds of one pgbench run.
const PGBENCH_SECS: u64 = 8;
/// Rows that pgbench works on.
const ROWS: usize = 1_000;
/// How far ahead a common start is set, so that every process is ready by then.
const START_AHEAD: Duration = Duration::from_millis(1_500);

/// What a command of the life writes on average, one transaction each: an event, a task, a sign of life.
const LIKE_A_COMMAND: &str = "\\set n random(1, 1000)\nBEGIN;\n{lock}\
    SELECT seq, ts, hash FROM events ORDER BY seq DESC LIMIT 1;\n\
    SELECT body FROM tasks WHERE repo = 'bench/pg' AND id = 'T' || :n;\n\
    INSERT INTO events VALUES (nextval('places'), 1, 'note', 1, 'bench/pg', 'agent', 'T' || :n, \
    decode(repeat('61', 220), 'hex'), decode(repeat('61', 32), 'hex'), decode(repeat('61', 32), 'hex'));\n\
    UPDATE tasks SET status = 'queued', body = repeat('x', 1100) WHERE repo = 'bench/pg' AND id = 'T' || :n;\n\
    INSERT INTO signs VALUES ('agent', 0, nextval('commits'));\nCOMMIT;\n";

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let server = Cluster::start(&["shared_buffers=256MB", "max_wal_size=4GB"]);
    let repetitions = scale.of(3, 1);
    let mut table = Table::new(&[
        "processes × workers",
        "comity commands/s",
        "pgbench/s",
        "comity ÷ pgbench",
        "pgbench with the lock/s",
        "comity ÷ that",
    ]);
    for (processes, workers, tasks) in SHAPES {
        let tasks = scale.of(tasks, tasks / 3);
        let (mut ours, mut free, mut locked) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..repetitions {
            ours.push(commands_per_second(&server, processes, workers, tasks)?);
            free.push(pgbench(&server, processes * workers, false)?);
            locked.push(pgbench(&server, processes * workers, true)?);
        }
        let (ours, free, locked) = (median(&ours), median(&free), median(&locked));
        table.row(vec![
            format!("{processes} × {workers}"),
            whole(ours),
            whole(free),
            format!("{:.2}", ours / free),
            whole(locked),
            format!("{:.2}", ours / locked),
        ]);
    }
    table.print("postgres: durable commands on a server");
    println!(
        "\nPostgreSQL 15 on a socket of this machine, `fsync` on. comity: {LIFE_WORDS}, each worker waits for \
         each answer. pgbench: one transaction for each command with what one writes on average (look at the head \
         and a task, add an event, update the task, add a sign of life), prepared, as many clients; once as it is, \
         once holding the advisory lock that comity's writers hold. Medians of {repetitions} runs by turns."
    );
    under_load(&server, scale)
}

/// What the store is like when the workers begin.
#[derive(Clone, Copy, PartialEq)]
enum Past {
    Empty,
    Finished(usize),
    OldSnapshot,
}

/// The rate with a long past, and while a transaction that does nothing holds an old snapshot.
fn under_load(server: &Cluster, scale: Scale) -> Outcome<()> {
    let (processes, workers, tasks) = (1, 64, scale.of(100, 20));
    let finished = scale.of(1_000_000, 50_000);
    let pasts = [
        ("an empty store", Past::Empty),
        ("an idle transaction with a snapshot", Past::OldSnapshot),
        ("finished tasks", Past::Finished(finished)),
    ];
    let mut table =
        Table::new(&["store", "comity commands/s", "÷ empty", "first third/s", "last third/s"]);
    let mut first = None;
    for (name, past) in pasts {
        let url = empty_store_at(&server.url);
        prepare(&url, past)?;
        // What was made before is on disk, so that no run pays for another.
        psql(&url, "CHECKPOINT");
        let holder = if past == Past::OldSnapshot { Some(hold_snapshot(&url)?) } else { None };
        let mut thirds = Vec::new();
        for part in 0..3 {
            let range = (part * processes * workers, workers);
            thirds.push(run_workers(&url, processes, range, tasks / 3)?);
        }
        drop(holder);
        let rate = 3.0 / thirds.iter().map(|rate| 1.0 / rate).sum::<f64>();
        let empty = *first.get_or_insert(rate);
        let name = match past {
            Past::Finished(count) => format!("{} {name}", crate::stats::count(count)),
            _ => name.to_owned(),
        };
        let third = |at: usize| whole(thirds.get(at).copied().unwrap_or_default());
        table.row(vec![name, whole(rate), format!("{:.2}", rate / empty), third(0), third(2)]);
    }
    table.print("postgres: a long past, and an old snapshot");
    println!(
        "\n{processes} × {workers} workers, {} tasks each through their lives, in three runs. The finished tasks \
         are rows of tasks, events and signs of life made by SQL, vacuumed once. The idle transaction begins before \
         the first run and stays.",
        tasks / 3 * 3
    );
    Ok(())
}

/// A session that holds a snapshot until it is dropped.
struct Holder(std::process::Child);

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

fn prepare(url: &str, past: Past) -> Outcome<()> {
    introduce(url, 3 * 64)?;
    let Past::Finished(count) = past else { return Ok(()) };
    // In the repository of the workers, so that they share every index.
    let text = format!(
        "INSERT INTO tasks (repo, id, number, status, priority, body) SELECT 'bench/app', 'D' || n, n, 'done', 2, \
         repeat('x', 900) FROM generate_series(1, {count}) n; \
         INSERT INTO signs SELECT 'old-' || n % 500, n, n FROM generate_series(1, {count} / 10) n"
    );
    psql(url, &text);
    psql(url, "VACUUM ANALYZE");
    Ok(())
}

fn commands_per_second(
    server: &Cluster,
    processes: usize,
    workers: usize,
    tasks: usize,
) -> Outcome<f64> {
    let url = empty_store_at(&server.url);
    introduce(&url, processes * workers)?;
    run_workers(&url, processes, (0, workers), tasks)
}

/// Lets processes of workers run, from the first worker's number on.
fn run_workers(
    url: &str,
    processes: usize,
    (first, workers): (usize, usize),
    tasks: usize,
) -> Outcome<f64> {
    let start = SystemTime::now().duration_since(UNIX_EPOCH)? + START_AHEAD;
    let binary = std::env::current_exe()?;
    let mut running = Vec::new();
    for process in 0..processes {
        let numbers = [first + process * workers, workers, tasks].map(|number| number.to_string());
        let mut command = Command::new(&binary);
        command.args([STEP, "postgres", url]).args(&numbers).arg(start.as_millis().to_string());
        running.push(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?);
    }
    let mut longest: f64 = 0.0;
    for process in running {
        let output = process.wait_with_output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let report: Value = serde_json::from_slice(&output.stdout)?;
        longest = longest.max(report.get("seconds").and_then(Value::as_f64).unwrap_or(0.0));
    }
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    let commands = (processes * workers * tasks * LIFE) as f64;
    Ok(commands / longest)
}

fn introduce(url: &str, clients: usize) -> Outcome<()> {
    let settings = Settings::default();
    let intake = Intake::new(settings.redact.clone())?;
    let requests: Vec<Request> = (0..clients)
        .map(|number| register(&Client::new(number)?.agent, &repo()?))
        .collect::<Outcome<_>>()?;
    let prepared: Result<Vec<_>, _> =
        requests.into_iter().map(|request| intake.prepare(request)).collect();
    let mut store = open(url);
    for answer in run_batch(&mut store as &mut dyn Store, &settings, &prepared?) {
        answer?;
    }
    Ok(())
}

/// One process of workers: url, first worker, workers, tasks each, when to start.
pub fn step(arguments: &[String]) -> Outcome<()> {
    let [url, first, workers, tasks, start] = arguments else {
        return Err("a step of postgres takes five arguments".into());
    };
    let (first, workers): (usize, usize) = (first.parse()?, workers.parse()?);
    let tasks: usize = tasks.parse()?;
    let write_loop = WriteLoop::start(Box::new(open(url)), Settings::default())?;
    let senders = (first..first + workers)
        .map(|number| {
            let handle = write_loop.handle().ok_or("the write loop has ended")?;
            Ok(EngineSender { client: Client::new(number)?, handle })
        })
        .collect::<Outcome<Vec<_>>>()?;
    let start = UNIX_EPOCH + Duration::from_millis(start.parse()?);
    std::thread::sleep(start.duration_since(SystemTime::now()).unwrap_or_default());
    let sample = drive(senders, tasks * LIFE)?;
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    let commands = (workers * tasks * LIFE) as f64;
    println!("{}", json!({"seconds": commands / sample.per_second}));
    Ok(())
}

fn pgbench(server: &Cluster, clients: usize, with_lock: bool) -> Outcome<f64> {
    let url = empty_store_at(&server.url);
    drop(open(&url));
    let rows = format!(
        "CREATE SEQUENCE places; INSERT INTO tasks (repo, id, number, status, priority, body) \
         SELECT 'bench/pg', 'T' || n, n, 'queued', 2, repeat('x', 1100) FROM generate_series(1, {ROWS}) n"
    );
    psql(&url, &rows);
    let lock = if with_lock { "SELECT pg_advisory_xact_lock(7);\n" } else { "" };
    let dir = tempfile::tempdir()?;
    let script = dir.path().join("command.sql");
    std::fs::write(&script, LIKE_A_COMMAND.replace("{lock}", lock))?;
    let (clients, seconds) = (clients.to_string(), PGBENCH_SECS.to_string());
    let output = Command::new("pgbench")
        .args(["-n", "-M", "prepared", "-c", &clients, "-j", "2", "-T", &seconds, "-f"])
        .arg(&script)
        .arg(&url)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let tps = said.lines().find_map(|line| line.strip_prefix("tps = "));
    let tps = tps.and_then(|rest| rest.split_whitespace().next());
    let tps = tps.ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok(tps.parse()?)
}
