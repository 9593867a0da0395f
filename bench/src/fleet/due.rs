//! What is due among ten thousand tasks.

use super::Line;
use crate::script::{new_task, repo, request};
use crate::stats::{at_fraction, median, ms};
use crate::{Outcome, Scale, fill};
use comity_core::command::Command as Wish;
use comity_core::ids::AgentId;
use comity_core::status::Status;
use comity_core::supervise::{Settings, Table, due};
use comity_engine::Caller;
use std::time::Instant;

const TASKS: usize = 10_000;
/// Tasks made in one transaction.
const FILL_BATCH: usize = 500;
/// More than a host has, so that much is looked at.
const SLOTS: usize = 50;

pub fn due_now(scale: Scale) -> Outcome<Line> {
    let turns = scale.of(101, 11);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("store.db");
    let (repo, person) = (repo()?, AgentId::parse("human:bench")?);
    let mut filler = fill::Filler::open(&path)?;
    for numbers in (1..=TASKS).collect::<Vec<_>>().chunks(FILL_BATCH) {
        let made = numbers.iter().map(|number| {
            let task = new_task(None, &format!("part-{number}"));
            request(&person, &repo, None, Wish::CreateTask(Box::new(task)))
        });
        filler.batch(made)?;
    }
    drop(filler);
    let service = fill::service(&path)?;
    let settings = Settings { max_runs: SLOTS, max_per_repo: SLOTS, ..Settings::default() };
    let caller = Caller::new(person, repo);
    let began = Instant::now();
    let (mut view, now) = service.supervision(&caller, &settings)?;
    let read = ms(began.elapsed());
    // Six in ten wait, the others are on their way.
    for (place, task) in view.tasks.iter_mut().enumerate() {
        task.status = match place % 10 {
            0 | 1 => Status::Review,
            2 => Status::ChangesRequested,
            3 => Status::Approved,
            _ => Status::Queued,
        };
    }
    let table = Table::built_in()?;
    let (mut took, mut steps) = (Vec::new(), 0);
    for _ in 0..turns {
        let began = Instant::now();
        steps = due(&view, &table, now).len();
        took.push(ms(began.elapsed()));
    }
    let time = median(&took);
    Ok(Line {
        what: "`due()` at 10,000 tasks, 50 free slots",
        target: "≤ 20 ms",
        measured: format!(
            "{time:.1} ms (p99 {:.1} ms, {steps} steps; reading the view: {read:.0} ms)",
            at_fraction(&took, 0.99)
        ),
        met: time <= 20.0,
    })
}
