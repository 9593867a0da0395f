//! From `run` to the first byte of its agent, from an answer to whoever waits for it, and what idle keepers take.

use super::Line;
use super::yard::Yard;
use crate::stats::{at_fraction, median, ms};
use crate::{Outcome, Scale};
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Files of the repository.
const FILES: usize = 200;
const KEEPERS: usize = 50;

/// Milliseconds of this host's clock, as the log of a run has them.
fn now_ms() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    ms(since)
}

pub fn first_byte(binary: &Path, scale: Scale) -> Outcome<Line> {
    let turns = scale.of(31, 5);
    let yard = Yard::new(binary, FILES, "echo began; exit 1")?;
    yard.tasks(turns)?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for turn in 1..=turns {
        let began = now_ms();
        let id = yard.start(turn)?;
        let mut heard = None;
        yard.until("the agent speaks", || {
            heard = yard.said(&id)?.first().map(|(at, _)| *at);
            Ok(heard.is_some())
        })?;
        ours.push(heard.unwrap_or_default() - began);
        yard.until("the run ends", || Ok(yard.processes("__keeper")?.is_empty()))?;
        let began = Instant::now();
        let mut child = Command::new("sh").arg(yard.agent()).stdout(Stdio::piped()).spawn()?;
        let mut first = [0_u8; 1];
        child.stdout.take().ok_or("no output")?.read_exact(&mut first)?;
        bare.push(ms(began.elapsed()));
        child.wait()?;
    }
    let beyond = median(&ours) - median(&bare);
    Ok(Line {
        what: "`run` to the first byte of its agent, beyond a bare spawn, 200 files",
        target: "≤ 150 ms",
        measured: format!("{beyond:.0} ms (p90 {:.0} ms)", at_fraction(&ours, 0.9) - median(&bare)),
        met: beyond <= 150.0,
    })
}

/// An agent that asks again and again, and prints when it was woken, in nanoseconds.
const ASKS: &str = "while \"$COMITY\" decision ask 'Is it so?' --wait --timeout 300s >/dev/null; do date +%s%N; done";

pub fn wake(binary: &Path, scale: Scale) -> Outcome<Line> {
    let turns = scale.of(200, 20);
    let yard = Yard::new(binary, FILES, ASKS)?;
    yard.tasks(1)?;
    let id = yard.start(1)?;
    let mut took = Vec::new();
    for turn in 0..turns {
        let mut open = None;
        yard.until("a question is open", || {
            let list = yard.json(&["decision", "list"])?;
            let first = list.pointer("/decisions/0/id").and_then(Value::as_str);
            open = first.map(str::to_owned);
            Ok(open.is_some())
        })?;
        let began = now_ms();
        yard.json(&["decision", "answer", &open.unwrap_or_default(), "yes"])?;
        let mut woken = None;
        yard.until("the agent wakes", || {
            woken = yard.said(&id)?.get(turn).map(|(_, text)| text.clone());
            Ok(woken.is_some())
        })?;
        let nanos: f64 = woken.unwrap_or_default().trim().parse()?;
        took.push(nanos / 1_000_000.0 - began);
    }
    let p99 = at_fraction(&took, 0.99);
    Ok(Line {
        what: "an answer to whoever waits for it in a run, with the call that answers",
        target: "p99 ≤ 200 ms",
        measured: format!("p99 {p99:.0} ms (median {:.0} ms, {turns} answers)", median(&took)),
        met: p99 <= 200.0,
    })
}

/// CPU time of all threads of a process.
fn cpu_of(pid: u32) -> Outcome<Duration> {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        nanos += text.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

/// Reads a count of KiB of a file of a process, in MiB.
fn mib(pid: u32, file: &str, name: &str) -> Outcome<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such count")?;
    let kib: f64 = line.split_whitespace().next().ok_or("no number")?.parse()?;
    Ok(kib / 1024.0)
}

pub fn idle(binary: &Path, scale: Scale) -> Outcome<Vec<Line>> {
    let span = Duration::from_secs(scale.of(60, 10));
    let yard = Yard::new(binary, FILES, "echo began; exec sleep 3600")?;
    yard.tasks(KEEPERS)?;
    let ids: Vec<String> = (1..=KEEPERS).map(|task| yard.start(task)).collect::<Outcome<_>>()?;
    for id in &ids {
        yard.until("the agents wait", || Ok(!yard.said(id)?.is_empty()))?;
    }
    // What the start left to do is done by then: the first snapshot comes after five seconds.
    std::thread::sleep(Duration::from_secs(15));
    let keepers = yard.processes("__keeper")?;
    if keepers.len() != KEEPERS {
        return Err(format!("{} keepers are there", keepers.len()).into());
    }
    let sum = || keepers.iter().map(|pid| cpu_of(*pid)).sum::<Outcome<Duration>>();
    let (before, began) = (sum()?, Instant::now());
    std::thread::sleep(span);
    let share = (sum()? - before).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    let of = |file: &str, name: &str| -> Outcome<f64> {
        let each: Vec<f64> =
            keepers.iter().map(|pid| mib(*pid, file, name)).collect::<Outcome<_>>()?;
        Ok(median(&each))
    };
    let (rss, pss) = (of("status", "VmRSS:")?, of("smaps_rollup", "Pss:")?);
    #[expect(clippy::cast_precision_loss, reason = "fifty")]
    let each = share / KEEPERS as f64;
    Ok(vec![
        Line {
            what: "CPU of 50 idle keepers, each",
            target: "< 0.5 % of a core",
            measured: format!("{each:.2} % ({share:.1} % all together)"),
            met: each < 0.5,
        },
        Line {
            what: "memory of an idle keeper",
            target: "≤ 15 MB",
            measured: format!("{rss:.1} MiB resident, {pss:.1} MiB of it its own share"),
            met: rss * 1.048_576 <= 15.0,
        },
    ])
}
