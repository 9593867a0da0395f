//! Running a command of the caller: its streams are ours, and signals pass through to it.

#![expect(clippy::disallowed_methods, reason = "this is the room that runs the caller's commands")]

use crate::env::no_signals;
use comity_core::refusal::{Code, Refusal};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process, waitid};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicI32, Ordering};

/// Signals that are meant for the command.
const PASSED_ON: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];
/// What a shell answers for a command that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// What a shell adds to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;

/// How a command ended.
pub struct Ended {
    /// The exit status that a shell would report.
    pub exit: u8,
    /// The signal that ended the command.
    pub signal: Option<i32>,
    /// The signal that somebody sent to stop the command.
    pub stopped_by: Option<i32>,
    /// Why the command did not even start.
    pub not_started: Option<String>,
}

/// Opens a link in the user's browser; where there is none, the link is printed anyway.
pub fn open(link: &str) {
    let opened = Command::new("xdg-open")
        .arg(link)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    drop(opened);
}

/// Runs a command to its end.
pub fn run(command: &[OsString]) -> Result<Ended, Refusal> {
    let [program, arguments @ ..] = command else {
        return Err(Refusal::input("a command is missing"));
    };
    let wanted = PASSED_ON.into_iter().filter(|signal| !is_ignored(*signal));
    let mut signals = Signals::new(wanted).map_err(no_signals)?;
    let mut child = match Command::new(program).args(arguments).spawn() {
        Ok(child) => child,
        Err(error) => return Ok(not_started(program, &error)),
    };
    let stopped_by = AtomicI32::new(0);
    let handle = signals.handle();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            for signal in signals.forever() {
                if ![SIGUSR1, SIGUSR2].contains(&signal) {
                    stopped_by.store(signal, Ordering::Relaxed);
                }
                // The terminal itself has sent these to the command.
                let is_from_keyboard = [SIGINT, SIGQUIT].contains(&signal) && is_in_foreground();
                if let (Some(pid), Some(signal), false) =
                    (pid, Signal::from_named_raw(signal), is_from_keyboard)
                {
                    let _ = kill_process(pid, signal);
                }
            }
        });
        let ended = wait(&mut child, pid, || handle.close());
        handle.close();
        ended
    });
    let status = ended
        .map_err(|error| Refusal::new(Code::Internal, format!("cannot wait for it: {error}")))?;
    let signal = status.signal();
    let exit = status.code().or(signal.map(|signal| BY_SIGNAL + signal)).unwrap_or(1);
    let stopped_by = stopped_by.into_inner();
    Ok(Ended {
        exit: u8::try_from(exit).unwrap_or(1),
        signal,
        stopped_by: (stopped_by != 0).then_some(stopped_by),
        not_started: None,
    })
}

/// Waits for the end of a command. Its process id stays taken until nobody sends signals to it any more.
fn wait(
    child: &mut Child,
    pid: Option<Pid>,
    close: impl FnOnce(),
) -> io::Result<std::process::ExitStatus> {
    if let Some(pid) = pid {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    }
    close();
    child.wait()
}

fn not_started(program: &OsString, error: &io::Error) -> Ended {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let exit = if is_missing { NOT_FOUND } else { NOT_EXECUTABLE };
    let program = program.to_string_lossy();
    let why = match is_missing {
        true => format!("{program}: command not found"),
        false => format!("{program}: {error}"),
    };
    Ended { exit, signal: None, stopped_by: None, not_started: Some(why) }
}

/// Tells whether this process and the command stand in the foreground of a terminal.
fn is_in_foreground() -> bool {
    let group = getpgrp();
    tcgetpgrp(io::stdin()).is_ok_and(|of| of == group)
        || tcgetpgrp(io::stdout()).is_ok_and(|of| of == group)
        || tcgetpgrp(io::stderr()).is_ok_and(|of| of == group)
}

/// Tells whether whoever started this process wants a signal ignored, as `nohup` does. Then the command ignores it, too.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask >> bit & 1 == 1)
}
