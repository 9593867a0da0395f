//! `sync collab --watch`: woken by commits, and by a look at the files twice a second.

use super::exporter::say;
use super::report::Report;
use super::sync::Syncer;
use crate::output;
use comity_core::refusal::{Code, Refusal};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often the log for people is written at most.
const LOG_EVERY: Duration = Duration::from_secs(5);

/// Keeps the tree in step until it is told to stop.
pub fn watch(syncer: &mut Syncer, json: bool) -> Result<(), Refusal> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|error| {
            Refusal::new(Code::Internal, format!("cannot listen for signals: {error}"))
        })?;
    }
    let mut commits = syncer.service.watch()?;
    if !json {
        output::remark("watching; end with Ctrl-C");
    }
    let mut logged = Instant::now();
    tell(&syncer.once(true)?, json);
    let mut seen = syncer.tree.sight();
    let mut log_due = false;
    let mut again = false;
    while !stop.load(Ordering::Relaxed) {
        let committed = commits.wait(LOOK_EVERY).map_err(|error| error.to_refusal())?;
        let now = syncer.tree.sight();
        let with_log = log_due && logged.elapsed() >= LOG_EVERY;
        if !committed && now == seen && !with_log && !again {
            continue;
        }
        let outcome = syncer.once(with_log);
        again = outcome.as_ref().is_ok_and(|report| report.unsettled);
        match &outcome {
            Ok(report) => tell(report, json),
            Err(_) => say(&outcome),
        }
        log_due = !with_log;
        if with_log {
            logged = Instant::now();
        }
        seen = syncer.tree.sight();
    }
    tell(&syncer.settle(true, 2)?, json);
    Ok(())
}

fn tell(report: &Report, json: bool) {
    if !report.says_something() {
        return;
    }
    if json {
        // Whoever read us has gone; the files are kept in step all the same.
        let _ = output::line(report);
    } else {
        report.lines().iter().for_each(|line| output::remark(line));
    }
}
