//! `sync collab --watch`: both sides see each other's changes, and nothing is done when nothing happens.

use super::files::widened;
use super::{edit, empty_root, entry, state, state_file};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::process::Child;
use std::time::{Duration, Instant};

fn until(what: &str, mut check: impl FnMut() -> bool) {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn stop(mut child: Child) {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

fn cpu_ticks(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn title(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.json(&["task", "show", id])["task"]["title"].clone()
}

#[test]
fn changes_go_both_ways_while_it_watches_and_it_is_silent_when_idle() {
    let (sandbox, root) = widened();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    let watching = sandbox.comity().by("human:ann").args(&["sync", "collab", "--watch"]).spawn();
    until("the first export", || state_file(&root, "tasks").exists());
    sandbox.json(&["task", "create", "Two", "--id", "task-002"]);
    until("a new task in the file", || {
        state(&root, "tasks")["tasks"].as_array().unwrap().len() == 2
    });
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["title"] = json!("Uno"));
    until("the edit in the store", || title(&sandbox, "task-001") == "Uno");
    until("both in the file", || {
        entry(&state(&root, "tasks"), "tasks", "task-001")["title"] == "Uno"
    });
    std::thread::sleep(Duration::from_secs(1));
    let before = cpu_ticks(&watching);
    std::thread::sleep(Duration::from_secs(3));
    let used = cpu_ticks(&watching) - before;
    assert!(used <= 2, "{used} ticks in three seconds of nothing");
    stop(watching);
    let log = std::fs::read_to_string(root.join("collaboration/logs/log.md")).unwrap();
    assert!(log.contains("## task-002"), "{log}");
}

#[test]
fn what_is_refused_and_stays_is_said_once_as_long_as_nobody_touches_it() {
    let (sandbox, root) = empty_root();
    sandbox.comity().by("human:ann").args(&["init", "--yes"]).json();
    let watching = sandbox.comity().by("gemini").args(&["sync", "collab", "--watch"]).spawn();
    until("the first export", || state_file(&root, "agents").exists());
    edit(&root, "agents", |agents| {
        let new = json!({"id": "crit-1", "role": "critic"});
        agents["agents"].as_array_mut().unwrap().push(new);
    });
    for n in 1..=3 {
        std::thread::sleep(Duration::from_millis(700));
        sandbox.json(&["task", "create", &format!("Task {n}")]);
        until("a new task in the file", || {
            state(&root, "tasks")["tasks"].as_array().unwrap().len() == n
        });
    }
    let mut said = String::new();
    let mut watching = watching;
    let mut output = watching.stderr.take().unwrap();
    stop(watching);
    std::io::Read::read_to_string(&mut output, &mut said).unwrap();
    assert_eq!(said.matches("refused: agent crit-1").count(), 1, "{said}");
}
