//! Commands a second on PostgreSQL, beside pgbench with statements like theirs on the same server.

mod past;
mod queues;

pub use past::run as run_past;
pub use queues::{run as run_queues, step as queue_step};

use crate::process::STEP;
use crate::script::{Client, LIFE, LIFE_WORDS, register, repo};
use crate::stats::{median, whole};
use crate::table::Table;
use crate::write::{EngineSender, drive};
use crate::{Outcome, Scale};
use comity_core::command::Request;
use comity_engine::{Intake, Service, run_batch};
use comity_store::Store;
use comity_store::test_server::{Cluster, empty_store_at, open, psql};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
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

fn server() -> Cluster {
    Cluster::start(&["shared_buffers=256MB", "max_wal_size=4GB"])
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let server = server();
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
    let start = start.as_millis().to_string();
    let mut running = Vec::new();
    for process in 0..processes {
        let numbers = [first + process * workers, workers, tasks].map(|number| number.to_string());
        let [first, workers, tasks] = &numbers;
        running.push(spawn_step("postgres", &[url, first, workers, tasks, &start])?);
    }
    let mut longest: f64 = 0.0;
    for process in running {
        longest = longest.max(seconds(process)?);
    }
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    let commands = (processes * workers * tasks * LIFE) as f64;
    Ok(commands / longest)
}

/// Starts this program again for one step of the section.
fn spawn_step(step: &str, arguments: &[&str]) -> Outcome<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([STEP, step]).args(arguments);
    Ok(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// Waits for a step, and returns the seconds that it printed.
fn seconds(step: Child) -> Outcome<f64> {
    let output = step.wait_with_output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    seconds_of(&output.stdout)
}

fn seconds_of(printed: &[u8]) -> Outcome<f64> {
    let report: Value = serde_json::from_slice(printed)?;
    Ok(report.get("seconds").and_then(Value::as_f64).ok_or("no seconds were printed")?)
}

fn introduce(url: &str, clients: usize) -> Outcome<()> {
    let settings = crate::script::without_git();
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
    let service = Service::start(Box::new(open(url)), crate::script::without_git())?;
    let senders = (first..first + workers)
        .map(|number| Ok(EngineSender { client: Client::new(number)?, service: service.clone() }))
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
