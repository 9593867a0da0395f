//! Other processes: their wall time, and the CPU time that the kernel charged them.

use crate::Outcome;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The argument that makes this binary run one step by itself, in a process of its own.
pub const STEP: &str = "--step";

/// What one process took.
#[derive(Clone, Copy)]
pub struct Usage {
    /// From before it was started until it had ended.
    pub wall: Duration,
    /// User and system time.
    pub cpu: Duration,
}

/// Runs a process that must succeed; what it prints goes nowhere.
pub fn run(command: &mut Command) -> Outcome<Usage> {
    run_with(command, Stdio::null())
}

/// Does the same with something to read.
pub fn run_with(command: &mut Command, input: Stdio) -> Outcome<Usage> {
    command.stdin(input).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let child = command.spawn()?;
    let pid = Pid::from_raw(i32::try_from(child.id())?).ok_or("a process without a number")?;
    // It stays a zombie, whose account can still be read.
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let wall = start.elapsed();
    let cpu = cpu_of(child.id())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {said}", output.status).into());
    }
    Ok(Usage { wall, cpu })
}

/// Reads nanoseconds on a CPU, user and system together. Only the main thread is counted, which is the
/// only one that the programs measured here have.
fn cpu_of(pid: u32) -> Outcome<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let nanos = text.split_whitespace().next().ok_or("schedstat is empty")?;
    Ok(Duration::from_nanos(nanos.parse()?))
}

/// Reads the same of all threads that a process has now.
pub fn cpu_of_threads(pid: u32) -> Outcome<Duration> {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end meanwhile.
        let text = std::fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        nanos += text.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

/// Runs one step of this binary in a process of its own and returns what it reports.
pub fn step(name: &str, arguments: &[&str]) -> Outcome<Value> {
    let binary = std::env::current_exe()?;
    let output = Command::new(binary).arg(STEP).arg(name).args(arguments).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the step {name} ended with {}: {said}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Returns the most memory that this process has had, in MiB.
pub fn peak_memory_mib() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("the kernel does not tell the peak of memory")?
        .parse()?;
    Ok(kib / 1024.0)
}
