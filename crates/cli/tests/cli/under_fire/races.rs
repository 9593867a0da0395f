//! Processes that want the same thing at the same time.

use super::{Field, code, times};
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

const PROCESSES: usize = 8;

#[test]
fn eight_processes_create_fifty_tasks_each_and_every_acknowledged_one_is_stored() {
    create_at_once(&Field::new());
}

#[test]
fn so_do_eight_on_a_server() {
    create_at_once(&Field::on_server());
}

fn create_at_once(field: &Field) {
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..PROCESSES)
            .map(|worker| {
                scope.spawn(move || {
                    let actor = format!("agent-{worker}");
                    (0..50)
                        .map(|n| {
                            let title = format!("task {worker}.{n}");
                            let answer = field.ok(&actor, &["task", "create", &title]);
                            answer["task"]["id"].as_str().unwrap().to_owned()
                        })
                        .collect::<Vec<String>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(acknowledged.len(), 400);
    assert_eq!(acknowledged.iter().collect::<BTreeSet<_>>().len(), 400, "every id is unique");
    let titles = field.titles();
    assert_eq!(titles.len(), 400);
    assert_eq!(titles.iter().collect::<BTreeSet<_>>().len(), 400);
    field.log_is_clean();
}

/// Patterns of which every two overlap, though no two are the same.
const OVERLAPPING: [&str; PROCESSES] = [
    "src/net/mod.rs",
    "src/",
    "src/**/*.rs",
    "**/mod.rs",
    "src/{net,io}/*.rs",
    "src/net/m?d.rs",
    "src/net/[a-m]od.rs",
    "src/*/mod.*",
];

#[test]
fn of_eight_processes_that_race_for_overlapping_patterns_exactly_one_wins_every_round() {
    race_for_patterns(&Field::new(), times(200));
}

#[test]
fn on_a_server_too_exactly_one_wins_every_round() {
    race_for_patterns(&Field::on_server(), times(60));
}

fn race_for_patterns(field: &Field, rounds: usize) {
    for round in 0..rounds {
        let racers: Vec<Child> = OVERLAPPING
            .iter()
            .enumerate()
            .map(|(place, pattern)| {
                let mut racer =
                    field.command(&format!("agent-{place}"), &["lease", "acquire", pattern]);
                racer.spawn().unwrap()
            })
            .collect();
        let mut winners = Vec::new();
        for (place, racer) in racers.into_iter().enumerate() {
            let output = racer.wait_with_output().unwrap();
            match output.status.code() {
                Some(0) => winners.push(place),
                Some(3) => assert_eq!(code(&output), "lease-held"),
                other => panic!("{other:?}: {}", String::from_utf8_lossy(&output.stderr)),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}: winners {winners:?}");
        field.ok(&format!("agent-{}", winners[0]), &["lease", "release", "--all"]);
    }
    field.log_is_clean();
}

#[test]
fn eight_processes_that_claim_at_once_get_eight_different_tasks() {
    claim_at_once(&Field::new());
}

#[test]
fn eight_that_claim_on_a_server_get_eight_different_tasks() {
    claim_at_once(&Field::on_server());
}

fn claim_at_once(field: &Field) {
    for n in 0..PROCESSES {
        field.ok("human:ann", &["task", "create", &format!("task {n}")]);
    }
    let racers: Vec<Child> = (0..PROCESSES)
        .map(|n| field.command(&format!("agent-{n}"), &["task", "claim"]).spawn().unwrap())
        .collect();
    let mut claimed = BTreeSet::new();
    for racer in racers {
        let output = racer.wait_with_output().unwrap();
        assert!(output.status.success());
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        claimed.insert(answer["task"]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(claimed.len(), PROCESSES);
    let output = field.run("agent-9", &["task", "claim"]);
    assert_eq!((output.status.code(), code(&output).as_str()), (Some(3), "nothing-ready"));
    field.log_is_clean();
}

#[test]
fn work_trees_and_subdirectories_write_to_one_store_at_once() {
    let sandbox = Sandbox::new();
    sandbox.write("deep/er/file", "text");
    sandbox.commit(&sandbox.root, "something to check out");
    let places = [
        sandbox.root.clone(),
        sandbox.root.join("deep/er"),
        sandbox.worktree("one"),
        sandbox.worktree("two").join("deep"),
    ];
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let sandbox = &sandbox;
        let workers: Vec<_> = places
            .iter()
            .enumerate()
            .map(|(worker, place)| {
                scope.spawn(move || {
                    let create = |n: usize| {
                        let title = format!("task {worker}.{n}");
                        let call = sandbox.comity().at(place).by(&format!("agent-{worker}"));
                        let answer = call.args(&["task", "create", &title]).json();
                        answer["task"]["id"].as_str().unwrap().to_owned()
                    };
                    (0..10).map(create).collect::<Vec<String>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 40);
    assert_eq!(sandbox.json(&["task", "list"])["tasks"].as_array().unwrap().len(), 40);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn behind_a_stopped_holder_the_wait_is_bounded_and_ends_with_exit_five() {
    let field = Field::new();
    let lock = field.lock_file();
    lock.lock().unwrap();
    let output = field.run("agent-1", &["task", "create", "too late"]);
    assert_eq!((output.status.code(), code(&output).as_str()), (Some(5), "store-unavailable"));
    assert!(field.titles().is_empty(), "readers do not wait");
    lock.unlock().unwrap();
    field.ok("agent-1", &["task", "create", "in time"]);
    field.log_is_clean();
}

#[test]
fn a_stopped_writer_is_named_and_the_refusal_says_what_to_do() {
    let field = Field::new();
    drop(field.lock_file());
    let mut holder = Command::new("flock");
    holder.arg(field.store().with_extension("db.lock")).args(["sleep", "60"]);
    let mut holder = holder.process_group(0).spawn().unwrap();
    let group = format!("-{}", holder.id());
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, "--", &group]).status().unwrap().success());
    };
    std::thread::sleep(Duration::from_millis(300));
    signal("-STOP");
    let output = field.run("agent-1", &["task", "create", "too late"]);
    signal("-KILL");
    holder.wait().unwrap();
    assert_eq!((output.status.code(), code(&output).as_str()), (Some(5), "store-unavailable"));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    let error = &error["error"];
    assert_eq!(error["details"]["pid"], holder.id(), "{error}");
    assert_eq!(error["details"]["stopped"], true, "{error}");
    assert!(error["message"].as_str().unwrap().contains("is stopped"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("kill -CONT"), "{error}");
    field.ok("agent-1", &["task", "create", "in time"]);
}
