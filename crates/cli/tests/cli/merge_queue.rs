//! `comity merge run`: approved work lands in batches as one after the other would have landed, with real git and gates.

use crate::landing::{
    again, approved, killed_after_the_move, landing_refs, merged_gates, project, status, tip,
};
use crate::sandbox::{Call, Sandbox};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const GATE: &str = "test ! -e bad && ! (test -e left && test -e right)";

fn gated() -> Sandbox {
    let config = format!("[gates]\nrequired = ['test']\n[gate.test]\ncommand = '{GATE}'\n");
    project(&config)
}

fn merge(sandbox: &Sandbox) -> Call {
    sandbox.comity().by("ivy").args(&["merge", "run"])
}

fn queue(sandbox: &Sandbox) -> Vec<String> {
    let answer = sandbox.json(&["merge", "queue"]);
    let all = answer["queue"].as_array().unwrap().iter();
    all.map(|one| one["task"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_batch_lands_at_once_and_what_conflicts_or_is_red_is_sent_back() {
    let sandbox = gated();
    approved(&sandbox, "T1", &[("one", "1\n")]);
    approved(&sandbox, "T2", &[("a.txt", "2\n")]);
    approved(&sandbox, "T3", &[("a.txt", "3\n")]);
    approved(&sandbox, "T4", &[("bad", "4\n")]);
    approved(&sandbox, "T5", &[("five", "5\n")]);
    sandbox.json(&["--as", "human:tester", "task", "update", "T5", "--priority", "P0"]);
    assert_eq!(queue(&sandbox), ["T5", "T1", "T2", "T3", "T4"]);
    let waiting = sandbox.json(&["merge", "queue"])["queue"][0].clone();
    assert_eq!((&waiting["state"], &waiting["batch"]), (&json!("waiting"), &Value::Null));
    let (error, _) = sandbox.comity().by("eve").args(&["merge", "run"]).refusal();
    assert_eq!(error["code"], "role-forbidden");
    let answer = merge(&sandbox).json();
    let batch = &answer["batches"][0];
    let landed: Vec<&str> = batch["landed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["task"].as_str().unwrap())
        .collect();
    assert_eq!(landed, ["T5", "T1", "T2"]);
    let ejected = batch["ejected"].as_array().unwrap();
    assert_eq!(ejected[0]["task"], "T3");
    assert_eq!(
        (&ejected[0]["reason"], &ejected[0]["paths"]),
        (&json!("conflict"), &json!(["a.txt"]))
    );
    assert_eq!((&ejected[1]["task"], &ejected[1]["gate"]), (&json!("T4"), &json!("test")));
    assert_eq!(status(&sandbox, "T3"), "changes_requested");
    assert_eq!(status(&sandbox, "T1"), "done");
    assert_eq!((queue(&sandbox), landing_refs(&sandbox)), (Vec::new(), String::new()));
    let events = sandbox.json(&["event", "list", "--type", "merge_ejected"])["events"].clone();
    assert_eq!(events[0]["paths"], json!(["a.txt"]));
    assert_eq!(merge(&sandbox).json()["batches"], json!([]));
}

#[test]
fn a_batch_that_crashed_after_the_branch_moved_is_finished_by_the_next_run() {
    let sandbox = project("[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'true'\n");
    approved(&sandbox, "T1", &[("one", "1\n")]);
    approved(&sandbox, "T2", &[("two", "2\n")]);
    let before = tip(&sandbox);
    let mut child = merge(&sandbox).args(&["--json"]).spawn();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while tip(&sandbox) == before && std::time::Instant::now() < end {
        std::thread::yield_now();
    }
    let _ = child.kill();
    let _ = child.wait();
    merge(&sandbox).json();
    assert_eq!((status(&sandbox, "T1"), status(&sandbox, "T2")), (json!("done"), json!("done")));
    assert_eq!(landing_refs(&sandbox), "");
    let merges = sandbox.git(&sandbox.root, &["log", "--merges", "--format=%s", "main"]);
    assert_eq!(merges.lines().count(), 2, "{merges}");
}

#[test]
fn the_events_of_a_batch_keep_the_gates_that_passed_also_after_a_crash() {
    let sandbox = gated();
    approved(&sandbox, "T1", &[("one", "1\n")]);
    approved(&sandbox, "T2", &[("two", "2\n")]);
    merge(&sandbox).json();
    let of = |id: &str| json!([id, ["test"]]);
    assert_eq!(merged_gates(&sandbox), [of("T1"), of("T2")]);
    approved(&sandbox, "T3", &[("three", "3\n")]);
    approved(&sandbox, "T4", &[("four", "4\n")]);
    let path = killed_after_the_move(&sandbox);
    assert_eq!(merge(&sandbox).env("PATH", &path).spawn().wait().unwrap().code(), None);
    merge(&sandbox).json();
    assert_eq!(merged_gates(&sandbox), ["T1", "T2", "T3", "T4"].map(of));
    assert_eq!(landing_refs(&sandbox), "");
}

#[test]
fn a_dirty_checkout_of_the_target_holds_the_queue_and_a_changelog_line_comes_with_each_task() {
    let sandbox = project("[merge]\nchangelog = 'CHANGELOG.md'\n");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.write("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n- first\n");
    sandbox.commit(&sandbox.root, "Changes");
    approved(&sandbox, "T1", &[("a.txt", "changed\n")]);
    sandbox.write("a.txt", "my own\n");
    let (error, _) = merge(&sandbox).refusal();
    assert_eq!(error["code"], "target-dirty");
    assert_eq!(status(&sandbox, "T1"), "approved");
    sandbox.git(&sandbox.root, &["checkout", "--quiet", "a.txt"]);
    merge(&sandbox).json();
    let text = std::fs::read_to_string(sandbox.root.join("CHANGELOG.md")).unwrap();
    assert!(text.ends_with("- first\n- Work T1 (T1)\n"), "{text}");
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--short"]), "");
    let by = |args: &[&str]| sandbox.comity().by("ivy").args(args);
    let answer = by(&["release", "v1"]).json();
    assert_eq!((&answer["tasks"], &answer["made"]), (&json!(["T1"]), &json!(true)));
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "v1"]), tip(&sandbox));
    let answer = by(&["release", "v2"]).json();
    assert_eq!(answer["tasks"], json!([]), "a task is in one release");
}

#[test]
fn work_that_was_sent_back_lands_when_it_was_mended() {
    let sandbox = gated();
    approved(&sandbox, "T1", &[("a.txt", "1\n")]);
    let tree = approved(&sandbox, "T2", &[("a.txt", "2\n")]);
    merge(&sandbox).json();
    assert_eq!(status(&sandbox, "T2"), "changes_requested");
    sandbox.git(&tree, &["reset", "--quiet", "--hard", "main"]);
    again(&sandbox, "T2", &tree, &[("a.txt", "both\n")]);
    let answer = merge(&sandbox).json();
    assert_eq!(answer["batches"][0]["landed"][0]["task"], "T2");
}

/// Lands branches one after the other in a clone: the tree at the end, and why each of the others did not land.
fn oracle(sandbox: &Sandbox, place: &Path, ids: &[String]) -> (String, BTreeMap<String, String>) {
    let name = place.display().to_string();
    sandbox.git(&sandbox.root, &["clone", "--quiet", "-b", "main", ".", &name]);
    let mut out = BTreeMap::new();
    for id in ids {
        let before = sandbox.git(place, &["rev-parse", "HEAD"]);
        let mut git = Command::new("git");
        let branch = format!("origin/w/{id}");
        let merged = git
            .args([
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@x",
                "merge",
                "--quiet",
                "--no-ff",
                "-m",
                "m",
                &branch,
            ])
            .current_dir(place)
            .output()
            .unwrap();
        let green = || Command::new("sh").args(["-c", GATE]).current_dir(place).status().unwrap();
        if !merged.status.success() {
            out.insert(id.clone(), "conflict".to_owned());
            sandbox.git(place, &["merge", "--abort"]);
        } else if !green().success() {
            out.insert(id.clone(), "gate".to_owned());
            sandbox.git(place, &["reset", "--quiet", "--hard", &before]);
        }
    }
    (sandbox.git(place, &["rev-parse", "HEAD^{tree}"]), out)
}

/// The short form tries a few queues, the long one two hundred.
#[test]
fn random_queues_land_what_one_after_the_other_would_land() {
    let long = std::env::var_os("COMITY_LONG").is_some();
    let mut seed = 0x0017_5eed_u64;
    let mut chance = |of: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % of).unwrap()
    };
    for round in 0..if long { 200 } else { 2 } {
        let sandbox = gated();
        let mut ids = Vec::new();
        for number in 1..=3 + chance(5) {
            let id = format!("T{number}");
            let mut lines: Vec<String> = (1..=9).map(|line| line.to_string()).collect();
            let file = match chance(6) {
                0 => ("bad".to_owned(), "bad\n".to_owned()),
                1 => ("left".to_owned(), "same\n".to_owned()),
                2 => ("right".to_owned(), "same\n".to_owned()),
                3 => (id.clone(), "new\n".to_owned()),
                _ => {
                    lines[chance(9)] = format!("changed by {id}");
                    ("a.txt".to_owned(), lines.join("\n") + "\n")
                }
            };
            approved(&sandbox, &id, &[(file.0.as_str(), file.1.as_str())]);
            ids.push(id);
        }
        let place = sandbox.outside().join("oracle");
        let wanted = oracle(&sandbox, &place, &ids);
        let answer = merge(&sandbox).json();
        let batches = answer["batches"].as_array().unwrap();
        let ejected = batches.iter().flat_map(|batch| batch["ejected"].as_array().unwrap());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let out = ejected.map(|one| (text(&one["task"]), text(&one["reason"]))).collect();
        let tree = sandbox.git(&sandbox.root, &["rev-parse", "main^{tree}"]);
        assert_eq!((tree, out), wanted, "queue {round}");
        // No commit that the branch was ever moved to is red.
        let moves = sandbox.git(&sandbox.root, &["reflog", "show", "--format=%H", "main"]);
        for commit in moves.lines() {
            sandbox.git(&place, &["fetch", "--quiet", "origin", "main"]);
            sandbox.git(&place, &["checkout", "--quiet", "--force", "--detach", commit]);
            sandbox.git(&place, &["clean", "-qfd"]);
            let green = Command::new("sh").args(["-c", GATE]).current_dir(&place).status().unwrap();
            assert!(green.success(), "queue {round}: {commit} is red");
        }
    }
}
