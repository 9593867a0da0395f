//! What a crew of scripted agents gets done: in one work tree, with advisory locks, in work trees that are merged, and with
//! comity.
//!
//! Time is simulated, so that neither the number of processors nor their load is what is measured. Each agent reads, thinks,
//! edits, tests and commits; the same task takes the same time to think about in every way of working.

mod apart;
mod code;
mod office;
mod rules;
mod shared;
mod time;
mod with_comity;

use crate::stats::median;
use crate::table::Table;
use crate::{Outcome, Scale};
use code::{agrees_with_git, renaming_tasks, tasks};
use time::Sums;

const AGENTS: [usize; 4] = [1, 5, 20, 50];
const TASKS: usize = 400;
const SEEDS: [u64; 5] = [11, 23, 37, 58, 71];
/// Agents of the table about briefs.
const BRIEF_AGENTS: usize = 20;

type Way = fn(u64, &[code::Task], usize) -> Outcome<Sums>;

const WAYS: [(&str, Way); 5] = [
    ("one tree", |seed, tasks, agents| Ok(shared::run(seed, tasks, agents, false))),
    ("advisory locks", |seed, tasks, agents| Ok(shared::run(seed, tasks, agents, true))),
    ("work trees + merge", |seed, tasks, agents| Ok(apart::run(seed, tasks, agents, false))),
    ("work trees + tested merge", |seed, tasks, agents| Ok(apart::run(seed, tasks, agents, true))),
    ("comity", |seed, tasks, agents| comity(seed, tasks, agents, true)),
];

/// A crew with a copy of comity's rules.
fn comity(seed: u64, tasks: &[code::Task], agents: usize, briefs: bool) -> Outcome<Sums> {
    with_comity::run(seed, tasks, agents, briefs, &mut office::Copied::new(tasks))
}

/// Lets the real rules serve a crew, and prints what it got done beside what the copy of the rules got done.
fn beside_rules(seed: u64, count: usize) -> Outcome<()> {
    let (tasks, agents) = (tasks(seed, count), BRIEF_AGENTS);
    let copied = comity(seed, &tasks, agents, true)?;
    let mut rules = rules::Rules::new(&tasks, agents)?;
    let real = with_comity::run(seed, &tasks, agents, true, &mut rules)?;
    println!(
        "\n{count} tasks, {agents} agents, seed {seed}: {:.0} merged/h and {:.1} % rework with the copy of the rules, \
         {:.0} merged/h and {:.1} % with the rules.",
        copied.an_hour(),
        100.0 * copied.rework(),
        real.an_hour(),
        100.0 * real.rework()
    );
    Ok(())
}

pub fn run(scale: Scale) -> Outcome<()> {
    let seeds = &SEEDS[..scale.of(SEEDS.len(), 1)];
    let count = scale.of(TASKS, 100);
    let heads = [
        "crew",
        "agents",
        "merged/h",
        "min to max",
        "of one agent",
        "conflicts",
        "rework",
        "wasted s a task",
        "lost edits",
        "red",
        "red for",
        "p95 lead s",
        "all merged, min",
    ];
    let mut table = Table::new(&heads);
    let mut compared = 0;
    for (name, way) in WAYS {
        let mut of_one = None;
        for agents in AGENTS {
            let mut all = Vec::new();
            for seed in seeds {
                let sums = way(*seed, &tasks(*seed, count), agents)?;
                if sums.merged_at.len() != count {
                    let merged = sums.merged_at.len();
                    return Err(format!("{name}, {agents}: {merged} of {count} merged").into());
                }
                all.push(sums);
                compared += agrees_with_git()?;
            }
            let row = row(name, agents, &all, &mut of_one);
            eprintln!("{}", row.join(" | "));
            table.row(row);
        }
    }
    table.print("crew: what a crew gets done");
    println!(
        "\n{count} tasks, seeds {seeds:?}; medians. {compared} merges of files were compared with `git merge-file`: all alike."
    );
    beside_rules(SEEDS[0], scale.of(200, 60))?;
    briefs(seeds, count)
}

fn of(all: &[Sums], number: impl Fn(&Sums) -> f64) -> f64 {
    median(&all.iter().map(number).collect::<Vec<f64>>())
}

#[expect(clippy::cast_precision_loss, reason = "thousands at most")]
fn row(name: &str, agents: usize, all: &[Sums], of_one: &mut Option<f64>) -> Vec<String> {
    let an_hour = of(all, Sums::an_hour);
    let one = *of_one.get_or_insert(an_hour);
    let each: Vec<f64> = all.iter().map(Sums::an_hour).collect();
    let least = each.iter().copied().fold(f64::INFINITY, f64::min);
    let most = each.iter().copied().fold(0.0, f64::max);
    let tasks = all.first().map_or(1, |sums| sums.merged_at.len().max(1)) as f64;
    vec![
        name.to_owned(),
        agents.to_string(),
        format!("{an_hour:.0}"),
        format!("{least:.0} to {most:.0}"),
        format!("{:.1}×", an_hour / one),
        format!("{:.0}", of(all, |sums| sums.conflicts as f64)),
        format!("{:.1} %", 100.0 * of(all, Sums::rework)),
        format!("{:.1}", of(all, |sums| sums.wasted / tasks)),
        format!("{:.0}", of(all, |sums| sums.lost as f64)),
        format!("{:.0}", of(all, |sums| sums.red as f64)),
        format!("{:.0} %", 100.0 * of(all, |sums| sums.red_for / sums.end())),
        format!("{:.0}", of(all, Sums::lead_p95)),
        format!("{:.0}", of(all, |sums| sums.end() / 60.0)),
    ]
}

/// Makes a directory in memory where there is one: syncing is not what is measured.
fn scratch() -> Outcome<tempfile::TempDir> {
    let memory = std::path::Path::new("/dev/shm");
    Ok(if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? })
}

/// The same crew with and without briefs, where a third of the tasks call what another third renames.
fn briefs(seeds: &[u64], count: usize) -> Outcome<()> {
    let heads = ["comity", "merged/h", "rework", "sent back", "wasted s a task"];
    let mut table = Table::new(&heads);
    for (name, briefs) in [("without briefs", false), ("with briefs", true)] {
        let mut all = Vec::new();
        for seed in seeds {
            all.push(comity(*seed, &renaming_tasks(*seed, count), BRIEF_AGENTS, briefs)?);
        }
        let row = row(name, BRIEF_AGENTS, &all, &mut None);
        let pick = |at: usize| row.get(at).cloned().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "hundreds of tasks")]
        let back = of(&all, |sums| sums.dropped as f64);
        table.row(vec![name.to_owned(), pick(2), pick(6), format!("{back:.0}"), pick(7)]);
    }
    table.print("crew: with and without briefs");
    Ok(())
}
