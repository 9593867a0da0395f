//! Eight processes at once, and somebody who edits the files all the time: nothing acknowledged is lost.

use super::{Rpc, empty_root, entry, state, state_file};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const PROCESSES: usize = 8;

fn long() -> bool {
    std::env::var_os("COMITY_LONG").is_some()
}

#[test]
fn eight_processes_create_fifty_tasks_each_and_the_file_has_every_acknowledged_one() {
    let (sandbox, root) = empty_root();
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let root = &root;
        let workers: Vec<_> = (0..PROCESSES)
            .map(|n| {
                scope.spawn(move || {
                    let mut rpc = Rpc::start(root, &format!("agent-{n}"));
                    let create = |k| {
                        let title = format!("task {n}.{k}");
                        let answer = rpc.ok("create_task", &json!({ "title": title }));
                        answer["id"].as_str().unwrap().to_owned()
                    };
                    let ids: Vec<String> = (0..50).map(create).collect();
                    rpc.end();
                    ids
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let unique: BTreeSet<&String> = acknowledged.iter().collect();
    assert_eq!(unique.len(), PROCESSES * 50);
    let file = state(&root, "tasks");
    let stored: BTreeSet<String> = file["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(stored.len(), file["tasks"].as_array().unwrap().len(), "each once");
    assert!(stored.iter().eq(unique), "acknowledged is stored and exported");
    let lines = std::fs::read_to_string(root.join("collaboration/events/events.jsonl")).unwrap();
    assert_eq!(
        lines.lines().filter(|line| line.contains("task_created")).count(),
        400,
        "each event once"
    );
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn of_eight_processes_that_race_for_one_path_exactly_one_wins_every_round() {
    let (sandbox, root) = empty_root();
    let rounds = 200;
    let barrier = Barrier::new(PROCESSES);
    let wins: Vec<Vec<bool>> = std::thread::scope(|scope| {
        let (root, barrier) = (&root, &barrier);
        let workers: Vec<_> = (0..PROCESSES)
            .map(|n| {
                scope.spawn(move || {
                    let mut rpc = Rpc::start(root, &format!("agent-{n}"));
                    let owner = format!("owner-{n}");
                    let wins = (0..rounds)
                        .map(|_| {
                            barrier.wait();
                            let answer =
                                rpc.call("acquire_lease", &json!({"path": "a.py", "owner": owner}));
                            let won = answer.get("result").is_some();
                            barrier.wait();
                            if won {
                                let lock = answer["result"]["lock_id"].clone();
                                rpc.ok("release_lease", &json!({"lock_id": lock, "owner": owner}));
                            } else {
                                let said = answer["error"]["message"].as_str().unwrap();
                                assert!(
                                    said.starts_with("Active lease exists for a.py: L-"),
                                    "{said}"
                                );
                            }
                            barrier.wait();
                            won
                        })
                        .collect();
                    rpc.end();
                    wins
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    for round in 0..rounds {
        let winners = wins.iter().filter(|wins| wins[round]).count();
        assert_eq!(winners, 1, "round {round}");
    }
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

/// Adds tasks and changes descriptions as a careless tool does: read, change, replace, without looking again.
fn careless_editor(root: &std::path::Path, stop: &AtomicBool, edits: &AtomicUsize) -> Vec<String> {
    let mut added = Vec::new();
    let path = state_file(root, "tasks");
    while !stop.load(Ordering::Relaxed) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let mut file: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON: {error}: {text}"));
        let rounds = added.len() + 1;
        let id = format!("hand-{rounds}");
        let new = json!({"id": id, "title": format!("by hand {rounds}"), "status": "queued"});
        file["tasks"].as_array_mut().unwrap().push(new);
        if let Some(seen) = file["tasks"].get_mut(0) {
            seen["description"] = json!(format!("round {rounds}"));
        }
        let beside = path.with_file_name(format!(".tasks.json.tmp-editor-{rounds}"));
        std::fs::write(&beside, serde_json::to_string_pretty(&file).unwrap()).unwrap();
        std::fs::rename(&beside, &path).unwrap();
        added.push(id);
        edits.store(rounds, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(120));
    }
    added
}

#[test]
fn an_editor_that_rewrites_the_file_all_the_time_loses_nothing_and_takes_nothing_away() {
    let (sandbox, root) = empty_root();
    let each = if long() { 100 } else { 8 };
    Rpc::start(&root, "human:ann").end();
    let (stop, edits) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (created, added) = std::thread::scope(|scope| {
        let (root, stop, edits) = (&root, &stop, &edits);
        let editor = scope.spawn(move || careless_editor(root, stop, edits));
        let workers: Vec<_> = (0..PROCESSES)
            .map(|n| {
                scope.spawn(move || {
                    let mut rpc = Rpc::start(root, "human:ann");
                    let mut ids = Vec::new();
                    // However fast the machine is, the editor is at work meanwhile.
                    while ids.len() < each || edits.load(Ordering::Relaxed) < 4 {
                        let title = format!("{n}.{}", ids.len());
                        let answer = rpc.ok("create_task", &json!({"title": title}));
                        let id = answer["id"].as_str().unwrap().to_owned();
                        rpc.ok("transition_task", &json!({"id": id, "new_status": "claimed"}));
                        ids.push(id);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                    }
                    rpc.end();
                    ids
                })
            })
            .collect();
        let created: Vec<String> =
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        stop.store(true, Ordering::Relaxed);
        (created, editor.join().unwrap())
    });
    sandbox.comity().by("human:ann").args(&["sync", "collab"]).json();
    let file = state(&root, "tasks");
    for id in &created {
        assert_eq!(entry(&file, "tasks", id)["status"], "claimed", "{id}");
    }
    for id in &added {
        entry(&file, "tasks", id);
    }
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}
