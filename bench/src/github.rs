//! What the GitHub bus asks of GitHub: calls of a first pass, writes of each step, an idle hour, many unchanged issues.
//! GitHub is a stand-in on loopback, so calls are counted, not timed.

use crate::table::Table;
use crate::{Outcome, Scale, cli};
use comity_standin::{AGENT, ANN, Engine, Entry, Field, Seed, at};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Issues in a page of GitHub.
const PAGE: usize = 100;
/// Passes in an hour: one a minute; where GitHub's events are taken, one every ten minutes.
const HOUR: usize = 60;
const HOUR_WITH_HOOKS: usize = 6;
/// Ticks of the kernel's accounts in a second.
const TICKS: f64 = 100.0;

pub fn run(scale: Scale) -> Outcome<()> {
    let binary = cli::binary()?;
    let mut table = Table::new(&["what", "measured", "bound"]);
    first(&binary, scale, &mut table)?;
    steps(&binary, &mut table)?;
    many(&binary, scale, &mut table)?;
    idle(&binary, scale, &mut table)?;
    table.print("github: what the bus asks of GitHub");
    Ok(())
}

fn start(binary: &Path) -> Outcome<(Field, Engine)> {
    let field = Field::new(binary, "ace", "", &Seed::default())
        .ok_or("GitHub on loopback cannot be had")?;
    let engine = field.engine("one");
    Ok((field, engine))
}

fn fill(field: &Field, issues: usize, comments: usize) {
    for number in 0..issues {
        field.open(
            ["ann", "bob"][number % 2],
            &format!("Issue {number}"),
            "Do it.",
            &["agent:ready"],
        );
    }
    for number in 0..comments {
        field.say(
            ["ann", "bob"][number % 2],
            (number % issues + 1) as u64,
            "I have seen this, too.",
        );
    }
}

fn counts(log: &[Entry]) -> (usize, usize, usize) {
    let writes = log.iter().filter(|entry| entry.is_write()).count();
    (log.len() - writes, writes, log.iter().filter(|entry| entry.is_counted).count())
}

fn first(binary: &Path, scale: Scale, table: &mut Table) -> Outcome<()> {
    let (issues, comments) = (scale.of(500, 100), scale.of(1_000, 200));
    let (field, engine) = start(binary)?;
    fill(&field, issues, comments);
    field.hub.forget();
    engine.settle();
    let (reads, writes, _) = counts(&field.hub.log());
    let least = issues.div_ceil(PAGE) + comments.div_ceil(PAGE) + 2;
    let what = format!("first pass, {issues} issues, {comments} comments: calls");
    table.row(vec![
        what,
        format!("{} ({reads} reads, {writes} writes)", reads + writes),
        format!("1.2 × {least}"),
    ]);
    Ok(())
}

/// Does something and counts the writes that it takes to show it.
fn writes(field: &Field, engine: &Engine, args: &[&str]) -> usize {
    engine.json(AGENT, args);
    field.hub.forget();
    engine.settle();
    counts(&field.hub.log()).1
}

fn steps(binary: &Path, table: &mut Table) -> Outcome<()> {
    let (field, engine) = start(binary)?;
    fill(&field, 1, 0);
    engine.settle();
    let mut row = |what: &str, count: usize, bound: usize| {
        table.row(vec![format!("writes: {what}"), count.to_string(), bound.to_string()]);
    };
    row(
        "a claim (two labels, assignee, comment)",
        writes(&field, &engine, &["task", "claim", "T1", "--start"]),
        4,
    );
    let blocked = writes(
        &field,
        &engine,
        &["task", "block", "T1", "--needs", "an answer", "--question", "Which?"],
    );
    row("a block (two labels, reviewer, comment)", blocked, 4);
    field.say("ann", 1, "ANSWER:\n\n- This one");
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine.settle();
    row(
        "a milestone (one comment, edited)",
        writes(&field, &engine, &["note", "milestone", "Half of it", "--task", "T1"]),
        1,
    );
    // A move that somebody asks for on GitHub is known there: its labels are all that is left to do.
    engine.json(AGENT, &["task", "release", "T1", "-m", "later"]);
    engine.settle();
    field.hub.person("ann", "POST", &at("issues/1/labels"), json!({ "labels": ["agent:blocked"] }));
    field.hub.forget();
    engine.settle();
    row("a block asked for on GitHub", counts(&field.hub.log()).1, 2);
    Ok(())
}

/// Many tasks move at once: questions are asked for all of them together.
fn many(binary: &Path, scale: Scale, table: &mut Table) -> Outcome<()> {
    let issues = scale.of(50, 20);
    let (field, engine) = start(binary)?;
    fill(&field, issues, 0);
    engine.settle();
    for number in 1..=issues {
        engine.json(AGENT, &["task", "claim", &format!("T{number}"), "--start"]);
    }
    field.hub.forget();
    engine.settle();
    let (reads, writes, _) = counts(&field.hub.log());
    table.row(vec![
        format!("reads per write, {issues} claims at once"),
        format!("{:.2} ({reads} of {writes})", reads as f64 / writes as f64),
        "0.25".to_owned(),
    ]);
    Ok(())
}

fn idle(binary: &Path, scale: Scale, table: &mut Table) -> Outcome<()> {
    let issues = scale.of(1_000, 200);
    let (field, engine) = start(binary)?;
    fill(&field, issues, 0);
    engine.settle();
    // What was written in the last seconds before the newest change is looked at in every pass: that is one issue here, and not
    // hundreds that were made at once.
    std::thread::sleep(Duration::from_secs(6));
    fill(&field, 1, 0);
    engine.settle();
    engine.settle();
    field.hub.forget();
    for _ in 0..HOUR {
        engine.sync();
    }
    let (reads, writes, counted) = counts(&field.hub.log());
    table.row(vec![
        "an idle hour: calls".to_owned(),
        (reads + writes).to_string(),
        "120".to_owned(),
    ]);
    table.row(vec![
        "an idle hour: calls that GitHub counts".to_owned(),
        counted.to_string(),
        "0".to_owned(),
    ]);
    field.hub.forget();
    for _ in 0..HOUR_WITH_HOOKS {
        engine.sync();
    }
    table.row(vec![
        "an idle hour with GitHub's events: calls".to_owned(),
        field.hub.log().len().to_string(),
        "12".to_owned(),
    ]);
    let (cpu, memory) = measured(&mut engine.comity(ANN, &["github", "sync"]))?;
    table.row(vec![
        format!("a pass over {issues} unchanged issues: CPU"),
        format!("{cpu:.2} s"),
        "0.5 s".to_owned(),
    ]);
    table.row(vec!["the same: memory".to_owned(), format!("{memory:.0} MiB"), "64 MiB".to_owned()]);
    Ok(())
}

/// Runs a process to its end; returns its CPU time, of all threads, in seconds, and the most memory that it had, in MiB.
fn measured(command: &mut Command) -> Outcome<(f64, f64)> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let (mut cpu, mut memory) = (0.0, 0.0);
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks =
            |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        cpu = f64::max(cpu, (ticks(11) + ticks(12)) / TICKS);
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: f64 = peak
            .and_then(|line| line.split_whitespace().next())
            .and_then(|text| text.parse().ok())
            .unwrap_or(0.0);
        memory = f64::max(memory, kib / 1024.0);
        // It stays a zombie until it is waited for, so its account can still be read.
        if fields.first() == Some(&"Z") {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if !child.wait()?.success() {
        return Err("a pass failed".into());
    }
    Ok((cpu, memory))
}
