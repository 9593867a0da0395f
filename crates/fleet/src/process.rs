//! The processes of a run: the keeper, and below it the agent with all that it starts.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the room that starts agents and their keepers"
)]

use crate::place::private_file;
use crate::sandbox;
use comity_core::refusal::{Code, Refusal};
use comity_guard::child;
use comity_project::fleet::Confinement;
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Lines that wait to be read; an agent that says more waits itself.
const LINES_MAX: usize = 1_000;
/// Longest line of an agent, in bytes; of a longer one, only how long the rest was is kept.
const LINE_BYTES_MAX: u64 = 8 << 20;

/// Texts that wait to be written to an agent. One that reads none of so many hangs, and is ended.
const TEXTS_MAX: usize = 1_000;

/// A line of an agent.
pub(crate) enum Said {
    Out(String),
    Err(String),
}

/// An agent under the process that ends all its processes with it.
pub(crate) struct Agent {
    child: Child,
    pub(crate) lines: Receiver<Said>,
    /// What is written to it; none once its input is closed.
    input: Option<SyncSender<String>>,
}

/// What an agent is started with.
pub(crate) struct Launch {
    /// The binary that has the hidden command.
    pub(crate) program: PathBuf,
    pub(crate) argv: Vec<String>,
    pub(crate) dir: PathBuf,
    /// The whole environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) walls: Confinement,
    /// Where it may write within walls.
    pub(crate) writable: Vec<PathBuf>,
}

impl Agent {
    pub(crate) fn start(launch: Launch) -> std::io::Result<Agent> {
        let mut command = Command::new(&launch.program);
        let own = getpid().as_raw_nonzero().to_string();
        let Launch { walls, writable, dir, argv, .. } = &launch;
        command.arg(child::WORD).args(sandbox::words(*walls, &own, writable, dir, argv));
        command.current_dir(&launch.dir).env_clear().envs(launch.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (sender, lines) = sync_channel(LINES_MAX);
        if let Some(stream) = child.stdout.take() {
            read_lines(stream, sender.clone(), Said::Out);
        }
        if let Some(stream) = child.stderr.take() {
            read_lines(stream, sender, Said::Err);
        }
        let (input, written) = sync_channel::<String>(TEXTS_MAX);
        if let Some(mut stdin) = child.stdin.take() {
            // A prompt is larger than a pipe holds, and an agent may say something before it reads.
            std::thread::spawn(move || {
                while let Ok(text) = written.recv() {
                    if stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Agent { child, lines, input: Some(input) })
    }

    /// Writes to the agent, in the order of the calls. One that reads no more is heard of soon.
    pub(crate) fn write(&self, text: String) {
        let full = self.input.as_ref().map(|input| input.try_send(text));
        if let Some(Err(TrySendError::Full(_))) = full {
            self.end();
        }
    }

    /// Tells the agent that nothing more comes.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.input.is_some()
    }

    /// Asks the agent and all its processes to end; those that do not are killed.
    pub(crate) fn end(&self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Returns the exit status, as a shell has it, once no process is left.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let status = self.child.try_wait().ok()??;
        // Where the process that ends all others was killed itself, they are ours now.
        child::end_left(&KEEPERS.lock().unwrap_or_else(PoisonError::into_inner));
        Some(status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.end();
        let _ = self.child.wait();
    }
}

fn read_lines(stream: impl Read + Send + 'static, to: SyncSender<Said>, wrap: fn(String) -> Said) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        loop {
            let mut bytes = Vec::new();
            let count = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
            if !matches!(count, Ok(count) if count > 0) {
                return;
            }
            let is_whole = bytes.ends_with(b"\n") || bytes.len() as u64 != LINE_BYTES_MAX;
            let Ok(left_out) = (if is_whole { Ok(0) } else { reader.skip_until(b'\n') }) else {
                return;
            };
            let mut text =
                String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            if left_out > 0 {
                text.push_str(&format!(" … ({left_out} more bytes of this line are left out)"));
            }
            if to.send(wrap(text)).is_err() {
                return;
            }
        }
    });
}

/// Asks a program for its version; none where it gives no answer.
pub(crate) fn version(program: &str, path: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").env("PATH", path).stdin(Stdio::null());
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version =
        text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    version.map(str::to_owned)
}

/// Starts a keeper in a session of its own; it outlives whoever starts it.
pub(crate) fn start_keeper(
    program: &Path,
    word: &str,
    job: &Path,
    root: &Path,
    log: &Path,
) -> Result<u32, Refusal> {
    let failed = |error: std::io::Error| {
        Refusal::new(Code::CouldNotRun, format!("cannot start the keeper of the run: {error}"))
    };
    let log = private_file(log, OpenOptions::new().write(true).truncate(true)).map_err(failed)?;
    let errors = log.try_clone().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg(word).arg(job).current_dir(root);
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    let pid = command.spawn().map_err(failed)?.id();
    // Its run goes on when that of this process ends.
    let started = i32::try_from(pid).ok().and_then(Pid::from_raw);
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner).extend(started);
    Ok(pid)
}

/// The keepers that this process started.
static KEEPERS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Makes this process lead a session, and take in every process of the run whose own parent is gone.
pub fn lead() {
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}
