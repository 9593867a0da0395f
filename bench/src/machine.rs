//! What the figures were taken on.

use crate::Outcome;
use crate::stats::{at_fraction, median, ms};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

/// Syncs that are timed.
const SYNCS: usize = 200;
/// What one of them writes: a page of SQLite.
const PAGE: [u8; 4096] = [7; 4096];

/// Prints the facts about the machine.
pub fn print() -> Outcome<()> {
    let temp = std::env::temp_dir();
    let (p50, p99) = sync_latency()?;
    println!("# Benchmarks\n");
    println!("- CPU: {}, {} cores", cpu_name(), std::thread::available_parallelism()?);
    println!("- load before the run (1, 5, 15 minutes): {}", load());
    println!("- kernel: {}", read("/proc/sys/kernel/osrelease"));
    println!("- file system of the temporary directory: {}", file_system(&temp));
    println!("- append of 4 KiB + fdatasync there: median {p50:.2} ms, p99 {p99:.2} ms");
    println!("- SQLite {} (bundled), comity {}", rusqlite::version(), env!("CARGO_PKG_VERSION"));
    Ok(())
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn load() -> String {
    read("/proc/loadavg").split_whitespace().take(3).collect::<Vec<_>>().join(", ")
}

fn cpu_name() -> String {
    let info = read("/proc/cpuinfo");
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or("unknown", |(_, name)| name.trim()).to_owned()
}

/// Names the file system of the longest mount point above a path.
fn file_system(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mounts = read("/proc/mounts");
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(mount, _)| path.starts_with(mount))
        .max_by_key(|(mount, _)| mount.len())
        .map_or("unknown", |(_, kind)| kind)
        .to_owned()
}

/// Returns the median and the 99th percentile of appending a page and syncing it, in milliseconds.
pub fn sync_latency() -> Outcome<(f64, f64)> {
    let mut file = tempfile::tempfile()?;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        file.seek(SeekFrom::End(0))?;
        let start = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        times.push(ms(start.elapsed()));
    }
    Ok((median(&times), at_fraction(&times, 0.99)))
}
