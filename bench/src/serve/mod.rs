//! `comity serve` under load: many streams and many writers; requests beside a bare handler that does the same with the same
//! store; and what a server costs while nothing happens.

mod bare;
mod http;
mod idle;
mod streams;

pub use bare::{BARE, serve_bare};

use crate::cli::{Project, binary, fill_tasks};
use crate::stats::{at_fraction, count, median, whole};
use crate::table::Table;
use crate::{Outcome, Scale};
use http::Conversation;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Tasks in the store.
const TASKS: usize = 200;
/// Connections with one request under way each.
const CONNECTIONS: usize = 64;
/// The two servers take turns this often.
const ROUNDS: usize = 3;

/// A server that runs as a process of its own, and the token of its caller.
struct Running {
    child: Child,
    address: String,
    token: String,
}

impl Running {
    fn start(mut command: Command, token: &str) -> Outcome<Running> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line)?;
        let url = said.get("url").and_then(Value::as_str).ok_or("no address")?;
        let address = url.strip_prefix("http://").ok_or("not HTTP")?.to_owned();
        Ok(Running { child, address, token: token.to_owned() })
    }

    /// Starts comity on a project, with a token of its own and without a limit of requests.
    fn comity(project: &Project) -> Outcome<Running> {
        let dir = project.store().parent().and_then(|dir| dir.parent()?.parent().map(Into::into));
        let dir: std::path::PathBuf = dir.ok_or("a project without a directory")?;
        std::fs::create_dir_all(dir.join(".comity"))?;
        std::fs::write(dir.join(".comity/config.toml"), "[serve]\nrate = 0\n")?;
        let mut command = project.comity("human:bench");
        let made = command.args(["token", "create", "--agent", "agent-00", "--json"]).output()?;
        let made: Value = serde_json::from_slice(&made.stdout)?;
        let token = made.pointer("/token/secret").and_then(Value::as_str).ok_or("no token")?;
        let mut command = project.comity("human:bench");
        command.args(["serve", "--listen", "127.0.0.1:0", "--json"]);
        Running::start(command, token)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends requests over all connections for a while; returns how many a second, and how long each took in milliseconds.
fn load(
    server: &Running,
    time: Duration,
    ask: &'static str,
    body: bool,
) -> Outcome<(f64, Vec<f64>)> {
    let begin = Instant::now();
    let work = |number: usize| -> Outcome<Vec<f64>> {
        let mut talk = Conversation::open(&server.address, &server.token)?;
        let mut times = Vec::new();
        while begin.elapsed() < time {
            let note = json!({"type": "progress", "text": format!("{number} {}", times.len())});
            let body = if body { note.to_string() } else { String::new() };
            let start = Instant::now();
            let status = talk.ask(ask, &body)?.0;
            times.push(crate::stats::ms(start.elapsed()));
            if status != 200 {
                return Err(format!("{ask} was answered with {status}").into());
            }
        }
        Ok(times)
    };
    let times = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..CONNECTIONS).map(|number| scope.spawn(move || work(number))).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a client died")?);
        joined.collect::<Outcome<Vec<Vec<f64>>>>()
    })?;
    let times = times.concat();
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
    Ok((rate, times))
}

fn beside(scale: Scale) -> Outcome<()> {
    let time = Duration::from_secs(scale.of(5, 1));
    let project = Project::new(Some(binary()?))?;
    fill_tasks(&project.store(), TASKS, 1)?;
    let twin = Project::new(None)?;
    fill_tasks(&twin.store(), TASKS, 1)?;
    let comity = Running::comity(&project)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args([crate::process::STEP, BARE]).arg(twin.store());
    let bare = Running::start(command, "none")?;
    let mut table = Table::new(&[
        "request",
        "comity requests/s",
        "bare requests/s",
        "comity ÷ bare",
        "comity p50, p99 ms",
        "bare p50, p99 ms",
    ]);
    for (name, ask, body) in [
        ("read a task", "GET /api/v1/tasks/T1", false),
        ("write a note", "POST /api/v1/notes", true),
    ] {
        let (mut rates, mut times) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for _ in 0..ROUNDS {
            for (at, server) in [&comity, &bare].into_iter().enumerate() {
                let (rate, took) = load(server, time, ask, body)?;
                rates[at].push(rate);
                times[at].extend(took);
            }
        }
        let [own, other] = rates.map(|rates| median(&rates));
        let [own_times, other_times] =
            times.map(|times| format!("{:.1}, {:.1}", median(&times), at_fraction(&times, 0.99)));
        table.row(vec![
            name.to_owned(),
            whole(own),
            whole(other),
            format!("{:.2}", own / other),
            own_times,
            other_times,
        ]);
    }
    table.print("serve: requests beside a bare handler");
    println!(
        "\n{CONNECTIONS} connections with one request under way each, {} s a round, {ROUNDS} rounds in turns, the median. The bare \
         server is axum with the same threads, and calls the same operation of the same engine on a store of the same content; it knows \
         no tokens, limits, names, metrics or news. Clients and servers share the machine. Target: comity ÷ bare ≥ 0.8.",
        time.as_secs()
    );
    Ok(())
}

fn delivery(scale: Scale) -> Outcome<()> {
    let project = Project::new(Some(binary()?))?;
    fill_tasks(&project.store(), TASKS, 1)?;
    let comity = Running::comity(&project)?;
    let (streams, writers, each) = (scale.of(200, 50), scale.of(64, 16), scale.of(100, 20));
    let seen = streams::run(&comity.address, &comity.token, streams, writers, each)?;
    let mut table = Table::new(&[
        "streams",
        "writers",
        "writes",
        "writes/s",
        "events delivered",
        "complete, in order",
        "closed and resumed",
        "answer p50, p99 ms",
        "delivery p50, p99 ms",
    ]);
    table.row(vec![
        count(streams),
        count(writers),
        count(writers * each),
        whole(seen.rate),
        count(seen.delivered),
        format!("{} of {streams}", seen.whole),
        count(seen.resumed),
        format!("{:.1}, {:.1}", median(&seen.answers), at_fraction(&seen.answers, 0.99)),
        format!("{:.1}, {:.1}", median(&seen.deliveries), at_fraction(&seen.deliveries, 0.99)),
    ]);
    table.print("serve: streams");
    println!(
        "\nEvery writer waits for each answer. Delivery is from the moment that a writer sends its request to the moment that a stream \
         has the event, for every event and every stream; it includes the commit on the disk. A stream that is closed because its \
         reader is too far behind resumes with `Last-Event-ID`; it is complete if it got every event once, in order."
    );
    Ok(())
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    delivery(scale)?;
    beside(scale)?;
    idle::run(scale)
}
