//! A tree that is kept in step: woken by commits, and by a look at the files twice a second.

use super::sync::Syncer;
use comity_api::SyncReport;
use comity_core::refusal::Refusal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often the log for people is written at most.
const LOG_EVERY: Duration = Duration::from_secs(5);

/// Keeps the tree in step until it is told to stop. `tell` hears what came of each go.
pub fn watch(
    syncer: &mut Syncer,
    stop: &AtomicBool,
    tell: &dyn Fn(&Result<SyncReport, Refusal>),
) -> Result<(), Refusal> {
    let mut commits = syncer.service.watch()?;
    let mut logged = Instant::now();
    tell(&Ok(syncer.once(true)?));
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
        tell(&outcome);
        log_due = !with_log;
        if with_log {
            logged = Instant::now();
        }
        seen = syncer.tree.sight();
    }
    tell(&Ok(syncer.settle(true, 2)?));
    Ok(())
}
