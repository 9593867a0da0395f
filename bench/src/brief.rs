//! What a claim costs where agents left much for each other, beside a store where they left nothing.

use crate::script::{new_task, repo, request};
use crate::stats::{median, process_cpu};
use crate::table::Table;
use crate::{Outcome, Scale, fill};
use comity_api::{Claim, op};
use comity_core::command::{Command as Wish, NewInterface, NewMemory, Request};
use comity_core::ids::AgentId;
use comity_core::memory::MemoryType;
use comity_engine::{Caller, Handler};
use std::path::Path;

/// What is left in the full store.
const MEMORIES: usize = 10_000;
const INTERFACES: usize = 1_000;
const CHANGES: usize = 10_000;
/// Requests in one transaction.
const FILL_BATCH: usize = 500;
/// The most that a claim in the full store may take of one in the empty store.
const BOUND: f64 = 1.3;

pub fn run(scale: Scale) -> Outcome<()> {
    let (claims, rounds) = (scale.of(200, 40), scale.of(7, 3));
    let dir = tempfile::tempdir()?;
    let (empty, full) = (dir.path().join("empty.db"), dir.path().join("full.db"));
    tasks(&empty, claims * rounds)?;
    tasks(&full, claims * rounds)?;
    leave(&full)?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    // In turns, since a later run meets another machine.
    for _ in 0..rounds {
        without.push(claim(&empty, claims)?);
        with.push(claim(&full, claims)?);
    }
    let (without, with) = (median(&without), median(&with));
    let mut table = Table::new(&["store", "CPU a claim, µs", "of the empty one"]);
    table.row(vec!["nothing left".to_owned(), format!("{without:.0}"), "1.00".to_owned()]);
    let name = format!("{MEMORIES} memories, {INTERFACES} interfaces, {CHANGES} changes");
    let ratio = with / without;
    table.row(vec![name, format!("{with:.0}"), format!("{ratio:.2} (at most {BOUND})")]);
    table.print("brief: a claim with its brief");
    Ok(())
}

/// Tasks that are ready, each on one file in one of a hundred directories.
fn tasks(path: &Path, count: usize) -> Outcome<()> {
    let (repo, planner) = (repo()?, AgentId::parse("human:bench")?);
    let make = |number: usize| {
        let mut task = new_task(None, "work");
        task.files = vec![format!("src/m{}/f{number}.rs", number % 100)];
        request(&planner, &repo, None, Wish::CreateTask(Box::new(task)))
    };
    batches(path, (0..count).map(make))
}

fn leave(path: &Path) -> Outcome<()> {
    let (repo, writer) = (repo()?, AgentId::parse("human:bench")?);
    let place = |number: usize| format!("src/m{}/g{number}.rs", number % 100);
    let said = |wish| request(&writer, &repo, None, wish);
    let memories = (0..MEMORIES).map(|number| {
        said(Wish::MemoryWrite(Box::new(NewMemory {
            text: format!("it is so {number}"),
            kind: MemoryType::Fact,
            scope: Some(if number % 10 == 0 { "src/**".to_owned() } else { place(number) }),
            tags: Vec::new(),
            expires: None,
            task: None,
            supersedes: None,
        })))
    });
    let interfaces = (0..INTERFACES).map(|number| {
        said(Wish::InterfacePublish(Box::new(NewInterface {
            name: format!("api-{number}"),
            text: "fn f()".to_owned(),
            paths: vec![place(number)],
            audience: Vec::new(),
            task: None,
            if_match: None,
        })))
    });
    let changes = (0..CHANGES).map(|number| {
        let (text, paths) = (format!("renamed {number}"), vec![place(number)]);
        said(Wish::NoteChange { text, paths, task: None })
    });
    batches(path, memories.chain(interfaces).chain(changes))
}

fn batches(path: &Path, requests: impl Iterator<Item = Request>) -> Outcome<()> {
    let mut filler = fill::Filler::open(path)?;
    let mut batch = Vec::new();
    for request in requests {
        batch.push(request);
        if batch.len() == FILL_BATCH {
            filler.batch(std::mem::take(&mut batch))?;
        }
    }
    filler.batch(batch)?;
    Ok(())
}

/// Claims tasks one after the other, as one agent after the other, and returns the CPU time of one in microseconds.
fn claim(path: &Path, count: usize) -> Outcome<f64> {
    let service = fill::service(path)?;
    let repo = repo()?;
    let before = process_cpu();
    for number in 0..count {
        let agent = AgentId::parse(&format!("agent-{number}"))?;
        let caller = Caller::new(agent, repo.clone());
        let answer = Handler::<op::TaskClaim>::handle(&service, &caller, Claim::default())?;
        if answer.output.brief.is_none() {
            return Err("a claim came without its brief".into());
        }
    }
    let taken = process_cpu().saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    let count = count as f64;
    Ok(taken.as_secs_f64() * 1_000_000.0 / count)
}
