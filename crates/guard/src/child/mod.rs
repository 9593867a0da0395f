//! A command with all processes that it starts: run in a session of its own, and ended to the last one.
//!
//! [`run`] starts comity itself once more as a keeper (`comity __child`, [`main`]). The keeper leads a session and is the
//! parent of every process whose own parent is gone, so that no process of the command gets out of its sight. When the
//! command has ended, or the keeper is told to end, or whoever started the keeper dies, the keeper ends them all.

#![expect(clippy::disallowed_methods, reason = "this is the room that runs commands of a project")]

mod confine;
mod keeper;
mod output;

pub use confine::can_confine;
pub use keeper::{below, end_left, main};
pub use output::{Output, tail};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The hidden command of the binary that is the keeper.
pub const WORD: &str = "__child";

/// How long a look at the output takes at most.
const LOOK: Duration = Duration::from_millis(50);
/// What a keeper needs, beyond what it gives its processes, before it is ended itself.
const KEEPER_GRACE: Duration = Duration::from_secs(5);
/// What a shell adds to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;
const READ_BYTES: usize = 64 * 1024;

/// A command to run.
pub struct Spec {
    /// The binary that has the hidden command.
    pub program: PathBuf,
    /// The command and its arguments.
    pub words: Vec<OsString>,
    pub dir: PathBuf,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    pub timeout: Duration,
    /// How much of the output is kept, its end.
    pub output_max: usize,
}

/// How a command came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with the status that a shell reports.
    Exited(i32),
    TimedOut,
    /// Because the caller wanted it to.
    Stopped,
}

pub struct Ended {
    pub end: End,
    pub output: Output,
    pub took: Duration,
}

/// Runs a command to its end. When this returns, none of its processes is left. `tick` hears of the time and the output.
pub fn run(
    spec: &Spec,
    stop: &AtomicBool,
    tick: &mut dyn FnMut(Duration, &Output),
) -> io::Result<Ended> {
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new(&spec.program);
    command.arg(WORD).arg("keep").arg(getpid().as_raw_nonzero().to_string()).args(&spec.words);
    command.current_dir(&spec.dir).env_clear().envs(spec.env.iter().cloned());
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command holds our ends of the pipe.
    drop(command);
    let began = Instant::now();
    let mut output = Output::new(spec.output_max);
    let mut why: Option<(End, Instant)> = None;
    let status = loop {
        let is_quiet = !take(&mut reader, &mut output)?;
        if let Some(status) = child.try_wait()? {
            // What is still in the pipe belongs to the output.
            while take(&mut reader, &mut output)? {}
            break status;
        }
        let took = began.elapsed();
        match why {
            None => {
                let is_late = (took >= spec.timeout).then_some(End::TimedOut);
                let end = stop.load(Ordering::Relaxed).then_some(End::Stopped).or(is_late);
                why = end.map(|end| (end, Instant::now()));
                if why.is_some() {
                    signal(&child, Signal::TERM);
                }
            }
            Some((_, asked)) if asked.elapsed() > keeper::PATIENCE + KEEPER_GRACE => {
                child.kill()?;
            }
            Some(_) => {}
        }
        tick(took, &output);
        if is_quiet {
            std::thread::sleep(LOOK / 5);
        }
    };
    let end = why.map_or_else(|| End::Exited(code(status)), |(end, _)| end);
    Ok(Ended { end, output, took: began.elapsed() })
}

fn code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| BY_SIGNAL + signal)).unwrap_or(1)
}

fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // One that has ended meanwhile needs none.
        let _ = kill_process(pid, signal);
    }
}

/// Takes what the pipe has now; tells whether that was something.
fn take(reader: &mut PipeReader, output: &mut Output) -> io::Result<bool> {
    let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    let ready = match poll(&mut [PollFd::new(reader, PollFlags::IN)], Some(&wait)) {
        Ok(ready) => ready > 0,
        Err(rustix::io::Errno::INTR) => false,
        Err(error) => return Err(error.into()),
    };
    if !ready {
        return Ok(false);
    }
    let mut bytes = vec![0; READ_BYTES];
    let count = reader.read(&mut bytes)?;
    output.push(bytes.get(..count).unwrap_or_default());
    Ok(count > 0)
}
