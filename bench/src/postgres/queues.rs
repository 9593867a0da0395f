//! Tasks taken and handed in a second, beside job queues on PostgreSQL that one might take instead.
//!
//! The peers are installed by name into a directory of the run's own: `npm` and `python3` must be there.

use super::{introduce, seconds, seconds_of, spawn_step};
use crate::script::{new_task, repo, request};
use crate::stats::{median, whole};
use crate::table::Table;
use crate::write::{Sender, drive};
use crate::{Outcome, Scale};
use comity_core::command::{ClaimWish, Command as Order, Request, Submission};
use comity_core::ids::{AgentId, Fence, RepoName};
use comity_engine::{Answer, Intake, Reply, Service, run_batch};
use comity_store::Store;
use comity_store::test_server::{Cluster, empty_store_at, open, psql};
use serde_json::json;
use std::path::Path;
use std::process::Command;

const WORKERS: usize = 64;
/// Commands that take a task from the queue to the review: claim, start, submit.
const STEPS: usize = 3;
/// Commands of a job queue for each job: take it, complete it.
const PEER_STEPS: f64 = 2.0;
const PEERS: [(&str, &str); 3] = [
    ("graphile-worker", include_str!("../../peers/graphile.mjs")),
    ("pg-boss", include_str!("../../peers/boss.mjs")),
    ("procrastinate", include_str!("../../peers/procrastinate_jobs.py")),
];

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    install(dir.path())?;
    let server = super::server();
    let (jobs, repetitions) = (scale.of(6_400, 640), scale.of(3, 1));
    let mut ours = Vec::new();
    let mut theirs = vec![Vec::new(); PEERS.len()];
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    let total = jobs as f64;
    for _ in 0..repetitions {
        ours.push(total / our_seconds(&server, jobs)?);
        for ((name, _), rates) in PEERS.iter().zip(&mut theirs) {
            rates.push(total / peer_seconds(&server, dir.path(), name, jobs)?);
        }
    }
    let ours = median(&ours);
    #[expect(clippy::cast_precision_loss, reason = "a handful of steps")]
    let our_commands = ours * STEPS as f64;
    let mut table = Table::new(&[
        "queue",
        "tasks or jobs/s",
        "comity ÷ it",
        "commands/s",
        "comity's commands ÷ its",
    ]);
    let mut row = |name: &str, rate: f64, commands: f64| {
        let (jobs, steps) = (ours / rate, our_commands / commands);
        let [jobs, steps] = [jobs, steps].map(|ratio| format!("{ratio:.2}"));
        table.row(vec![name.to_owned(), whole(rate), jobs, whole(commands), steps]);
    };
    row("comity", ours, our_commands);
    for ((name, _), rates) in PEERS.iter().zip(&theirs) {
        let rate = median(rates);
        row(name, rate, rate * PEER_STEPS);
    }
    table.print("postgres-queues: claim and complete, beside job queues");
    println!(
        "\n{WORKERS} workers in one process, {jobs} tasks or jobs that wait in the queue, nothing to do in them. comity: task.claim \
         without an id (with a lease on the task's files), task.start, task.submit; three commands, each waited for, seven events. The job queues: one \
         job taken and completed, by their own workers with a concurrency of {WORKERS} and as many connections \
         (pg-boss: fetch and complete in a loop, since its own worker waits half a second between two); two commands a job. Medians of {repetitions} runs by turns on \
         fresh databases of one server."
    );
    Ok(())
}

/// Installs the job queues and the scripts that drive them.
fn install(dir: &Path) -> Outcome<()> {
    for (name, text) in PEERS {
        std::fs::write(dir.join(script_of(name)), text)?;
    }
    run_tool(Command::new("npm").current_dir(dir).args([
        "install",
        "--no-audit",
        "--no-fund",
        "graphile-worker@0.17",
        "pg-boss@10",
        "pg@8",
    ]))?;
    run_tool(Command::new("python3").current_dir(dir).args(["-m", "venv", "python"]))?;
    run_tool(Command::new(dir.join("python/bin/pip")).args([
        "install",
        "--quiet",
        "procrastinate==3.*",
        "psycopg[binary,pool]==3.*",
    ]))?;
    Ok(())
}

fn script_of(peer: &str) -> String {
    let ending = if peer == "procrastinate" { "py" } else { "mjs" };
    format!("run-{peer}.{ending}")
}

/// Runs a program to its end and returns what it printed.
fn run_tool(command: &mut Command) -> Outcome<Vec<u8>> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {said}").into());
    }
    Ok(output.stdout)
}

fn peer_seconds(server: &Cluster, dir: &Path, name: &str, jobs: usize) -> Outcome<f64> {
    psql(&server.url, "DROP DATABASE IF EXISTS peer");
    psql(&server.url, "CREATE DATABASE peer");
    psql(&server.url, "CHECKPOINT");
    let url = server.url.replacen("/postgres?", "/peer?", 1);
    let program = match name {
        "procrastinate" => dir.join("python/bin/python"),
        _ => "node".into(),
    };
    let mut command = Command::new(program);
    command.current_dir(dir).arg(script_of(name)).arg(url);
    command.args([WORKERS.to_string(), jobs.to_string()]);
    seconds_of(&run_tool(&mut command)?)
}

fn our_seconds(server: &Cluster, jobs: usize) -> Outcome<f64> {
    let url = empty_store_at(&server.url);
    introduce(&url, WORKERS)?;
    let planner = AgentId::parse("human:bench")?;
    let repo = repo()?;
    let wishes = (0..jobs).map(|number| {
        let task = new_task(None, &format!("part-{number}"));
        request(&planner, &repo, None, Order::CreateTask(Box::new(task)))
    });
    let settings = crate::script::without_git();
    let intake = Intake::new(settings.redact.clone())?;
    let wishes: Result<Vec<_>, _> = wishes.map(|wish| intake.prepare(wish)).collect();
    let mut store = open(&url);
    for part in wishes?.chunks(256) {
        for answer in run_batch(&mut store as &mut dyn Store, &settings, part) {
            answer?;
        }
    }
    drop(store);
    psql(&url, "VACUUM ANALYZE");
    psql(&url, "CHECKPOINT");
    let numbers = [WORKERS, jobs / WORKERS].map(|number| number.to_string());
    let [workers, tasks] = &numbers;
    seconds(spawn_step("postgres-queue", &[&url, workers, tasks])?)
}

/// A worker that takes whatever is best, again and again.
struct Worker {
    agent: AgentId,
    repo: RepoName,
    service: Service,
    sent: usize,
    task: String,
    fence: Option<Fence>,
}

impl Worker {
    fn next(&self) -> Request {
        let id = self.task.clone();
        let (fence, order) = match self.sent % STEPS {
            0 => (None, Order::Claim(ClaimWish::default())),
            1 => (self.fence, Order::Start { id, ttl: None, reason: None }),
            _ => (self.fence, Order::Submit(Submission { id, ..Submission::default() })),
        };
        request(&self.agent, &self.repo, fence, order)
    }
}

impl Sender for Worker {
    fn send(&mut self) -> Outcome<()> {
        let answer = self.service.execute(self.next())?;
        if self.sent.is_multiple_of(STEPS) {
            let Reply::New(Answer::Claim(claim)) = answer else {
                return Err("a claim without a task".into());
            };
            self.fence = claim.fence.and_then(Fence::new);
            self.task = claim.task.id;
        }
        self.sent += 1;
        Ok(())
    }
}

/// One process of workers: url, workers, tasks each.
pub fn step(arguments: &[String]) -> Outcome<()> {
    let [url, workers, tasks] = arguments else {
        return Err("a step of postgres-queue takes three arguments".into());
    };
    let (workers, tasks): (usize, usize) = (workers.parse()?, tasks.parse()?);
    let service = Service::start(Box::new(open(url)), crate::script::without_git())?;
    let senders = (0..workers)
        .map(|number| {
            let agent = crate::script::Client::new(number)?.agent;
            Ok(Worker {
                agent,
                repo: repo()?,
                service: service.clone(),
                sent: 0,
                task: String::new(),
                fence: None,
            })
        })
        .collect::<Outcome<Vec<_>>>()?;
    let sample = drive(senders, tasks * STEPS)?;
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    let commands = (workers * tasks * STEPS) as f64;
    println!("{}", json!({"seconds": commands / sample.per_second}));
    Ok(())
}
