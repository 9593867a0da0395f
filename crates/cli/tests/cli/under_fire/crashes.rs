//! `kill -9` at random moments.

use super::{Field, times};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A small generator of chance, so that a run can be repeated from its seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn seed() -> u64 {
    match std::env::var("COMITY_SEED") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => u64::from(std::process::id()) * 2_654_435_761 + 1,
    }
}

#[test]
fn a_killed_writer_loses_nothing_acknowledged_and_doubles_nothing() {
    kill_writers(&Field::new(), times(200));
}

#[test]
fn nor_does_a_killed_client_of_a_server() {
    kill_writers(&Field::on_server(), times(80));
}

fn kill_writers(field: &Field, cycles: usize) {
    let seed = seed();
    println!("COMITY_SEED={seed}");
    let mut chance = Chance(seed);
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();
    let mut attempted: Vec<String> = Vec::new();
    for cycle in 0..cycles {
        let mut writers = Vec::new();
        for writer in 0..3 {
            let title = format!("task {cycle}.{writer}");
            let key = format!("key-{cycle}-{writer}");
            let mut command = field.command(
                &format!("agent-{writer}"),
                &["task", "create", &title, "--idempotency-key", &key],
            );
            writers.push((title.clone(), command.spawn().unwrap()));
            attempted.push(title);
        }
        std::thread::sleep(Duration::from_micros(chance.below(60_000)));
        for (title, mut writer) in writers {
            writer.kill().unwrap();
            let output = writer.wait_with_output().unwrap();
            // Whoever got a whole answer out was acknowledged, killed or not.
            if serde_json::from_slice::<Value>(&output.stdout).is_ok() {
                acknowledged.insert(title);
            }
        }
    }
    let mut stored: BTreeMap<String, usize> = BTreeMap::new();
    for title in field.titles() {
        *stored.entry(title).or_default() += 1;
    }
    println!(
        "{} tried, {} acknowledged, {} stored",
        attempted.len(),
        acknowledged.len(),
        stored.len()
    );
    assert!(stored.values().all(|count| *count == 1), "something is there twice");
    let lost: Vec<&String> =
        acknowledged.iter().filter(|title| !stored.contains_key(*title)).collect();
    assert!(lost.is_empty(), "lost: {lost:?} (COMITY_SEED={seed})");
    field.log_is_clean();
    repeat_everything(field, &attempted);
}

/// Sending everything again under the same keys completes what was cut off and doubles nothing.
fn repeat_everything(field: &Field, attempted: &[String]) {
    for title in attempted.iter().rev().take(60) {
        let place = title.trim_start_matches("task ").replace('.', "-");
        let writer = place.rsplit('-').next().unwrap();
        field.ok(
            &format!("agent-{writer}"),
            &["task", "create", title, "--idempotency-key", &format!("key-{place}")],
        );
    }
    let titles = field.titles();
    assert_eq!(
        titles.iter().collect::<BTreeSet<_>>().len(),
        titles.len(),
        "something is there twice"
    );
    field.log_is_clean();
}
