//! `comity rpc`: one process, then eight on one root, each of them waiting for every answer.

use crate::cli::binary;
use crate::stats::{at_fraction, count, ms, whole};
use crate::table::Table;
use crate::{Outcome, Scale};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Processes in the second line.
const PROCESSES: usize = 8;

/// A running server.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(binary: &Path, root: &Path, agent: &str) -> Outcome<Server> {
        let mut command = Command::new(binary);
        command.arg("rpc").env_clear().current_dir(root);
        command.env("COLLAB_ROOT", root).env("COMITY_AGENT", agent);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Server { child, input, output })
    }

    /// Creates a task and waits for the answer.
    fn create(&mut self, title: &str) -> Outcome<Duration> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "collab.create_task", "params": {"title": title}});
        let start = Instant::now();
        self.input.write_all(format!("{request}\n").as_bytes())?;
        self.input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let took = start.elapsed();
        let answer: Value = serde_json::from_str(&answer)?;
        match answer.get("result") {
            Some(_) => Ok(took),
            None => Err(format!("refused: {answer}").into()),
        }
    }

    /// Ends it, with the tree written.
    fn end(mut self) -> Outcome<()> {
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}

/// What a number of processes took.
struct Run {
    all: Duration,
    answers: Vec<f64>,
    stored: usize,
    written: Duration,
}

fn measure(binary: &Path, processes: usize, each: usize) -> Outcome<Run> {
    let dir = tempfile::tempdir()?;
    let root = dir.path();
    let mut servers = Vec::new();
    for n in 0..processes {
        let mut server = Server::start(binary, root, &format!("agent-{n}"))?;
        // The first one registers the agent; it is not counted.
        server.create("warm")?;
        servers.push(server);
    }
    let start = Instant::now();
    let work = |mut server: Server| -> Outcome<(Server, Vec<f64>)> {
        let mut answers = Vec::new();
        for n in 0..each {
            answers.push(ms(server.create(&format!("task {n}"))?));
        }
        Ok((server, answers))
    };
    let mut answers = Vec::new();
    let mut idle = Vec::new();
    std::thread::scope(|scope| -> Outcome<()> {
        let workers: Vec<_> =
            servers.into_iter().map(|server| scope.spawn(move || work(server))).collect();
        for worker in workers {
            let (server, took) = worker.join().map_err(|_| "a worker stopped")??;
            answers.extend(took);
            idle.push(server);
        }
        Ok(())
    })?;
    let all = start.elapsed();
    let end = Instant::now();
    idle.into_iter().try_for_each(Server::end)?;
    let written = end.elapsed();
    let file: Value =
        serde_json::from_slice(&std::fs::read(root.join("collaboration/state/tasks.json"))?)?;
    let stored = file.get("tasks").and_then(Value::as_array).map_or(0, Vec::len);
    Ok(Run { all, answers, stored: stored.saturating_sub(processes), written })
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let binary = binary()?;
    let mut table = Table::new(&[
        "processes",
        "acknowledged",
        "in tasks.json",
        "tasks a second",
        "median ms",
        "p99 ms",
        "end ms",
    ]);
    for (processes, each) in [(1, scale.of(1000, 100)), (PROCESSES, scale.of(200, 25))] {
        let run = measure(&binary, processes, each)?;
        #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
        let rate = run.answers.len() as f64 / run.all.as_secs_f64();
        table.row(vec![
            processes.to_string(),
            count(run.answers.len()),
            count(run.stored),
            whole(rate),
            format!("{:.2}", at_fraction(&run.answers, 0.5)),
            format!("{:.2}", at_fraction(&run.answers, 0.99)),
            whole(ms(run.written)),
        ]);
    }
    table.print("rpc: collab.create_task over stdio");
    println!(
        "\nEach process waits for every answer, and an answer is given after the commit is on the disk. `tasks.json` is \
         written meanwhile by each of them; the last column is the time from the end of the requests to the end of all \
         processes, with everything in the file."
    );
    Ok(())
}
