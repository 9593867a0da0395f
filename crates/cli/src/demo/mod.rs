//! `comity demo`: a crew of agents at work in a throw-away repository, and scenes to look at.
//!
//! Every agent is a process of its own that runs this binary, as real agents would. The repository is
//! in a temporary directory that is removed however the demo ends.

mod crew;
mod ledger;
mod rates;
mod script;
mod stage;

use crate::args::{DemoArgs, Global, Scene};
use crate::output::{self, Reply};
use comity_core::refusal::Refusal;
use crew::Crew;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The usual exit status of a program that was interrupted.
const INTERRUPTED: u8 = 130;
/// How long each command of a crew is shown that somebody watches.
const PACE: Duration = Duration::from_millis(900);
/// How long a nap is while somebody looks at the pages.
const NAP: Duration = Duration::from_millis(100);

pub fn run(global: &Global, args: &DemoArgs) -> Result<Reply, Refusal> {
    let stop = crate::env::stop_flag()?;
    let started = Instant::now();
    let mut crew = Crew::gather(global.json, Arc::clone(&stop), args.dir.as_deref())?;
    if args.open {
        crew.shows(PACE);
    }
    let played = match args.scene {
        Some(Scene::Ledger) => show(&mut crew, started),
        None => story(&mut crew, started),
    };
    if played.is_ok() && args.open {
        output::remark("The dashboard stays open. Ctrl-C ends it.");
        wait(&stop);
    }
    let directory = crew.directory().display().to_string();
    let tree = crew.main_tree().display().to_string();
    let removed = crew.leave();
    if stop.load(Ordering::SeqCst) {
        return Ok(Reply::printed().exit(if args.open { 0 } else { INTERRUPTED }));
    }
    let (answer, words) = played?;
    let ending = match args.dir {
        None => format!("{directory} is removed.\nNow in your own repository: comity init\n"),
        Some(_) => format!("it is in {tree}.\nLook at it there: comity up\n"),
    };
    removed?;
    Ok(Reply::text(answer, format!("\n{words}; {ending}")))
}

type Told = (serde_json::Value, String);

fn story(crew: &mut Crew, started: Instant) -> Result<Told, Refusal> {
    let end = script::play(crew)?;
    let (steps, seconds) = (crew.steps(), started.elapsed().as_secs_f64());
    let answer = json!({"demo": {
        "ok": true, "commands": steps, "events": end.events, "tasks_done": end.tasks_done,
        "woken_after_ms": end.woken_after_ms,
    }});
    Ok((answer, format!("{steps} commands, {} events, {seconds:.1} s", end.events)))
}

/// Plays a scene into the store of the repository, as if it had happened until now.
fn show(crew: &mut Crew, started: Instant) -> Result<Told, Refusal> {
    let tree = crew.main_tree();
    let (commit, change) = rates::commit(crew, &tree)?;
    crew.quietly("human:you", &tree, &["init", "--yes", "--clients", "none"])?;
    crew.write(&tree, ".comity/config.toml", ledger::SETTINGS)?;
    let (steps, events) = ledger::play(&tree.join(".git/comity/comity.db"), commit, change)?;
    crew.open_pages()?;
    let seconds = started.elapsed().as_secs_f64();
    let answer = json!({"demo": {"ok": true, "scene": "ledger", "steps": steps, "events": events,
        "dir": tree.display().to_string()}});
    Ok((answer, format!("{steps} steps, {events} events, {seconds:.1} s")))
}

fn wait(stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        std::thread::sleep(NAP);
    }
}
