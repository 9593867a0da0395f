//! The keeper of a command: the process between comity and the command. It has no child but the command and what the
//! command left behind, and it ends only when none of them is left.

use super::{BY_SIGNAL, WORD};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    setrlimit, setsid, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long processes have to end by themselves once they were asked to.
const GRACE: Duration = Duration::from_secs(5);
/// How long the keeper goes on killing. Only a process that hangs inside of the kernel is left after that.
const KILLING: Duration = Duration::from_secs(10);
/// How long a keeper takes at most to end all processes.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
const STEP: Duration = Duration::from_millis(20);

/// No file that a command writes gets longer: an endless log does not fill the disk.
const FILE_BYTES_MAX: u64 = 16 << 30;
/// What a shell answers for a command that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Runs the hidden command: `keep PARENT COMMAND…` is the keeper, `exec PARENT COMMAND…` becomes the command. With
/// `confine PARENT COUNT DIR… COMMAND…` the command writes nowhere but below these directories; `exec-confined` becomes
/// it. Returns the exit status.
pub fn main(words: &[OsString]) -> u8 {
    let [part, parent, rest @ ..] = words else { return NOT_EXECUTABLE };
    let parent = parent.to_str().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
    let is_confined = part == "confine" || part == "exec-confined";
    let (writable, command) = match is_confined {
        true => match counted(rest) {
            Some((writable, command)) => (Some(writable), command),
            None => return NOT_EXECUTABLE,
        },
        false => (None, rest),
    };
    let (Some(parent), [program, arguments @ ..]) = (parent, command) else {
        return NOT_EXECUTABLE;
    };
    let done = match part.to_str() {
        Some("keep") => keep(parent, "exec", command),
        Some("confine") => keep(parent, "exec-confined", rest),
        Some("exec" | "exec-confined") => become_command(parent, writable, program, arguments),
        _ => return NOT_EXECUTABLE,
    };
    match done {
        Ok(status) => status,
        Err(error) if error.kind() == io::ErrorKind::NotFound => NOT_FOUND,
        Err(_) => NOT_EXECUTABLE,
    }
}

/// Splits words into as many as the first one counts, and the rest.
fn counted(words: &[OsString]) -> Option<(&[OsString], &[OsString])> {
    let (count, rest) = words.split_first()?;
    rest.split_at_checked(count.to_str()?.parse().ok()?)
}

/// Dies with its parent, has bounds, and is the command from now on.
fn become_command(
    parent: Pid,
    writable: Option<&[OsString]>,
    program: &OsString,
    arguments: &[OsString],
) -> io::Result<u8> {
    die_with(parent, Signal::KILL)?;
    if let Some(writable) = writable {
        super::confine::confine(writable)?;
    }
    // A core of a failing test is of no use to anybody, and may be as large as the memory.
    lower(Resource::Core, 0);
    lower(Resource::Fsize, FILE_BYTES_MAX);
    Err(Command::new(program).args(arguments).exec())
}

/// Lowers a bound. Where it is lower already, it stays.
fn lower(resource: Resource, to: u64) {
    let now = rustix::process::getrlimit(resource);
    let limit = |now: Option<u64>| Some(now.map_or(to, |now| now.min(to)));
    let new = Rlimit { current: limit(now.current), maximum: limit(now.maximum) };
    let _ = setrlimit(resource, new);
}

/// Lets the kernel send a signal when the parent dies; one that is dead already counts, too.
fn die_with(parent: Pid, signal: Signal) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    #[cfg(not(target_os = "linux"))]
    let _ = signal;
    match getppid() {
        Some(now) if now == parent => Ok(()),
        _ => Err(io::Error::other("whoever asked for this is gone")),
    }
}

fn keep(parent: Pid, then: &str, words: &[OsString]) -> io::Result<u8> {
    let mut signals = Signals::new([SIGCHLD, SIGTERM, SIGINT, SIGHUP])?;
    setsid()?;
    die_with(parent, Signal::TERM)?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let own = getpid().as_raw_nonzero().to_string();
    let child =
        Command::new(std::env::current_exe()?).args([WORD, then, &own]).args(words).spawn()?;
    let main = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut status = None;
    'running: for signal in &mut signals {
        if signal != SIGCHLD {
            break;
        }
        while let Some((pid, ended)) = reap() {
            if Some(pid) == main {
                status = Some(ended);
                break 'running;
            }
        }
    }
    let ended = end_all(main, &[]);
    let status = status.or(ended).map_or(BY_SIGNAL + SIGTERM, shell_status);
    Ok(u8::try_from(status).unwrap_or(1))
}

fn shell_status(status: WaitStatus) -> i32 {
    let by_signal = status.terminating_signal().map(|signal| BY_SIGNAL + signal);
    status.exit_status().or(by_signal).unwrap_or(1)
}

/// Takes the end of one child; none while all go on, and when there are none.
fn reap() -> Option<(Pid, WaitStatus)> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(ended) => return ended,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Ends every process below this one: asks, and after a while kills, until none is left. Returns how the command ended.
fn end_all(main: Option<Pid>, spared: &[Pid]) -> Option<WaitStatus> {
    let began = Instant::now();
    let mut status = None;
    let mut asked: Vec<Pid> = Vec::new();
    loop {
        while let Some((pid, ended)) = reap() {
            if Some(pid) == main {
                status = Some(ended);
            }
        }
        let mut left = below(getpid());
        if !spared.is_empty() {
            let kept: Vec<Pid> =
                spared.iter().flat_map(|pid| below(*pid)).chain(spared.iter().copied()).collect();
            left.retain(|pid| !kept.contains(pid));
        }
        if left.is_empty() || began.elapsed() > GRACE + KILLING {
            return status;
        }
        let kills = began.elapsed() > GRACE;
        for pid in left {
            if kills {
                let _ = kill_process(pid, Signal::KILL);
            } else if !asked.contains(&pid) {
                asked.push(pid);
                let _ = kill_process(pid, Signal::TERM);
                // One that is stopped hears nothing before it goes on.
                let _ = kill_process(pid, Signal::CONT);
            }
        }
        std::thread::sleep(STEP);
    }
}

/// Ends every process below this one, for whoever takes in processes that a killed keeper left; those that are spared, with all
/// below them, go on.
pub fn end_left(spared: &[Pid]) {
    end_all(None, spared);
}

/// Lists the processes below one, by what the system says of all. A dead one that nobody waited for counts until its
/// parent is gone, too.
pub fn below(top: Pid) -> Vec<Pid> {
    let all = all_processes();
    let mut found = vec![top];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.remove(0);
    found
}

/// Lists every process with its parent.
#[cfg(target_os = "linux")]
fn all_processes() -> Vec<(Pid, Pid)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let about = |entry: std::fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name of the program stands in brackets and may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let parent: i32 = fields.nth(1)?.parse().ok()?;
        Some((Pid::from_raw(pid)?, Pid::from_raw(parent)?))
    };
    entries.flatten().filter_map(about).collect()
}

/// Lists every process with its parent.
#[cfg(not(target_os = "linux"))]
fn all_processes() -> Vec<(Pid, Pid)> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output();
    let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let about = |line: &str| {
        let mut ids = line.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?));
        Some((ids.next()?, ids.next()?))
    };
    text.unwrap_or_default().lines().filter_map(about).collect()
}
