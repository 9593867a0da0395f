//! `comity demo`: a crew of agents at work in a throw-away repository.
//!
//! Every agent is a process of its own that runs this binary, as real agents would. The repository is
//! in a temporary directory that is removed however the demo ends.

mod crew;
mod script;

use crate::args::Global;
use crate::output::Reply;
use comity_core::refusal::Refusal;
use crew::Crew;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The usual exit status of a program that was interrupted.
const INTERRUPTED: u8 = 130;

pub fn run(global: &Global) -> Result<Reply, Refusal> {
    let stop = crate::env::stop_flag()?;
    let started = Instant::now();
    let mut crew = Crew::gather(global.json, Arc::clone(&stop))?;
    let played = script::play(&mut crew);
    let directory = crew.directory().display().to_string();
    let steps = crew.steps();
    let removed = crew.leave();
    if stop.load(Ordering::SeqCst) {
        return Ok(Reply::printed().exit(INTERRUPTED));
    }
    let end = played?;
    removed?;
    let seconds = started.elapsed().as_secs_f64();
    let words = format!(
        "\n{} commands, {} events, {seconds:.1} s; {directory} is removed.\n\
         Now in your own repository: comity init\n",
        steps, end.events,
    );
    let answer = json!({"demo": {
        "ok": true, "commands": steps, "events": end.events, "tasks_done": end.tasks_done,
        "woken_after_ms": end.woken_after_ms,
    }});
    Ok(Reply::text(answer, words))
}
