//! The command line beside another binary of it, such as that of an older commit.

use crate::cli::{self, Project};
use crate::process;
use crate::stats::{best, median, ms};
use crate::table::Table;
use crate::{Outcome, Scale};
use std::path::Path;

const CALLS: [(&str, &[&str]); 3] = [
    ("--version", &["--version"]),
    ("task claim", &["task", "claim"]),
    ("note", &["note", "progress", "half of it works"]),
];

/// Prints the section.
pub fn run(scale: Scale, other: &Path) -> Outcome<()> {
    let turns = scale.of(201, 41);
    let projects =
        [Project::new(Some(cli::binary()?))?, Project::new(Some(std::fs::canonicalize(other)?))?];
    // Each binary fills its own store: an older one cannot open what a newer one has made.
    for (project, task) in
        projects.iter().flat_map(|project| (0..turns).map(move |task| (project, task)))
    {
        let title = format!("part-{task}");
        process::run(project.comity("planner").args(["task", "create", &title, "--file", &title]))?;
    }
    let mut table = Table::new(&[
        "call",
        "CPU ms",
        "the other's CPU ms",
        "CPU ÷ the other's",
        "best CPU ms",
        "the other's best CPU ms",
        "best ÷ the other's",
    ]);
    for (name, arguments) in CALLS {
        let mut cpu = [Vec::new(), Vec::new()];
        for turn in 0..turns {
            for at in [turn % 2, 1 - turn % 2] {
                let (Some(project), Some(cpu)) = (projects.get(at), cpu.get_mut(at)) else {
                    continue;
                };
                let mut command = project.comity(&format!("agent-{turn:02}"));
                cpu.push(ms(process::run(command.args(arguments))?.cpu));
            }
        }
        let [ours, theirs] = &cpu;
        let two = |value: f64| format!("{value:.2}");
        table.row(vec![
            format!("`{name}`"),
            two(median(ours)),
            two(median(theirs)),
            two(median(ours) / median(theirs)),
            two(best(ours)),
            two(best(theirs)),
            two(best(ours) / best(theirs)),
        ]);
    }
    table.print("cli: beside another binary");
    println!(
        "\nMedians of {turns} calls of each binary that take turns, each with a store of its own in a git repository. \
         CPU is user and system time, as the kernel's scheduler counts it. Each claim takes a different task for a \
         different agent. Target: ≤ 1.05."
    );
    Ok(())
}
