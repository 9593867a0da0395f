//! Starting what an agent client starts, with the input that it gives.

#![expect(clippy::disallowed_methods, reason = "doctor starts what clients start")]

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// How long an answer may take; clients wait longer.
const DEADLINE: Duration = Duration::from_secs(10);
/// The most that is read of what a program prints.
const OUTPUT_BYTES_MAX: usize = 1024 * 1024;
const PIECE_BYTES: usize = 8 * 1024;
/// Pieces that wait to be looked at.
const PIECES_MAX: usize = 16;
/// How often a program that should end is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// What says which session of a client calls: a trial is none.
const SESSION_VARIABLES: [&str; 4] =
    ["CLAUDE_PID", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "COMITY_FENCE"];

/// What a program printed.
pub(super) struct Tried {
    /// None where it was ended.
    pub status: Option<i32>,
    pub stdout: String,
    stderr: String,
}

impl Tried {
    /// Returns what it said about itself, in one line.
    pub fn said(&self) -> String {
        let line = self.stderr.lines().find(|line| !line.trim().is_empty());
        line.unwrap_or("it said nothing").trim().to_owned()
    }
}

/// Starts a server and asks for its tools. With an address, what is started carries the question to the server there.
pub(super) fn server(
    program: &Path,
    client: &str,
    url: Option<&str>,
    dir: &Path,
) -> Result<Tried, String> {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "comity-doctor", "version": env!("CARGO_PKG_VERSION")}});
    let asked = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ];
    let input: String = asked.iter().map(|one| format!("{one}\n")).collect();
    let mut args = vec!["mcp", "--client", client];
    args.extend(url.into_iter().flat_map(|url| ["--url", url]));
    run(program, &args, dir, &input, |printed| {
        let answers = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        answers.into_iter().any(|answer| answer["id"] == 2)
    })
}

/// Feeds a hook.
pub(super) fn hook(
    program: &Path,
    args: &[&str],
    dir: &Path,
    input: &str,
) -> Result<Tried, String> {
    run(program, args, dir, input, |_| false)
}

/// Runs a program until it ends or has printed enough. A program that waits for more input gets it; one that is fed once
/// sees the end of its input.
fn run(
    program: &Path,
    args: &[&str],
    dir: &Path,
    input: &str,
    is_enough: fn(&str) -> bool,
) -> Result<Tried, String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    SESSION_VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let until = Instant::now() + DEADLINE;
    let mut stdin = child.stdin.take();
    // A program that does not read has ended or says why it does not.
    let _ = stdin.as_mut().map(|stdin| stdin.write_all(input.as_bytes()));
    let (out, err) = (pieces(child.stdout.take()), pieces(child.stderr.take()));
    // A hook reads to the end; a server answers before.
    let mut kept = stdin.filter(|_| args.first() == Some(&"mcp"));
    let stdout = collected(&out, until, is_enough);
    drop(kept.take());
    let status = ended(&mut child, until);
    let stderr = collected(&err, until, |_| false);
    Ok(Tried { status, stdout, stderr })
}

/// Reads a stream on a thread of its own, which ends with the stream.
fn pieces(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = sync_channel(PIECES_MAX);
    if let Some(mut stream) = stream {
        std::thread::spawn(move || {
            let mut piece = vec![0; PIECE_BYTES];
            while let Ok(length @ 1..) = stream.read(&mut piece) {
                if send.send(piece.get(..length).unwrap_or_default().to_vec()).is_err() {
                    return;
                }
            }
        });
    }
    receive
}

fn collected(pieces: &Receiver<Vec<u8>>, until: Instant, is_enough: fn(&str) -> bool) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < OUTPUT_BYTES_MAX && !is_enough(&String::from_utf8_lossy(&bytes)) {
        match pieces.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(piece) => bytes.extend(piece),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits for a program, and ends one that goes on.
fn ended(child: &mut Child, until: Instant) -> Option<i32> {
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) => std::thread::sleep(LOOK),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}
