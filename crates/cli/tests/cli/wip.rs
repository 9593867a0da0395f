//! Uncommitted work stays reachable.

use crate::sandbox::Sandbox;
use serde_json::json;

fn refs(sandbox: &Sandbox) -> Vec<String> {
    let all =
        sandbox.git(&sandbox.root, &["for-each-ref", "--format=%(refname)", "refs/comity/wip"]);
    all.lines().map(str::to_owned).collect()
}

/// T1 claimed by ada in the root, with a changed, a new and a staged file.
fn dirty() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    sandbox.comity().by("ada").args(&["task", "claim", "T1", "--start", "--ttl", "1h"]).json();
    sandbox.write("README.md", "# changed\n");
    sandbox.write("new.txt", "new\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&sandbox.root, &["add", "staged.txt"]);
    sandbox
}

#[test]
fn a_snapshot_has_all_files_and_leaves_work_tree_and_index_alone() {
    let sandbox = dirty();
    let before = sandbox.git(&sandbox.root, &["status", "--short"]);
    let index = std::fs::read(sandbox.root.join(".git/index")).unwrap();
    let answer = sandbox.json(&["snapshot"]);
    assert_eq!(std::fs::read(sandbox.root.join(".git/index")).unwrap(), index);
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--short"]), before);
    let kept = &answer["snapshot"];
    let name = kept["ref"].as_str().unwrap();
    assert!(name.starts_with("refs/comity/wip/tool-"), "{name}");
    for (file, text) in [("README.md", "# changed"), ("new.txt", "new"), ("staged.txt", "staged")] {
        assert_eq!(sandbox.git(&sandbox.root, &["show", &format!("{name}:{file}")]), text);
    }
    assert_eq!(sandbox.json(&["snapshot"])["snapshot"], *kept, "the same files are kept once");
    assert_eq!(sandbox.json(&["snapshot", "--list"])["snapshots"], json!([kept]));
    sandbox.commit(&sandbox.root, "All");
    assert_eq!(sandbox.json(&["snapshot"])["snapshot"], json!(null));
}

#[test]
fn fifty_snapshots_are_kept_of_a_work_tree() {
    let sandbox = dirty();
    let first = sandbox.json(&["snapshot"])["snapshot"]["ref"].clone();
    for n in 0..52 {
        sandbox.write("new.txt", &format!("{n}\n"));
        sandbox.json(&["snapshot"]);
    }
    let all = refs(&sandbox);
    assert_eq!(all.len(), 50);
    assert!(!all.iter().any(|name| first == **name), "the oldest go first");
    let last = all.last().unwrap();
    assert_eq!(sandbox.git(&sandbox.root, &["show", &format!("{last}:new.txt")]), "51");
}

#[test]
fn work_is_kept_before_it_is_released_failed_or_abandoned() {
    for (verb, by) in [("release", "ada"), ("fail", "ada"), ("abandon", "human:tester")] {
        let sandbox = dirty();
        let call = sandbox.comity().args(&["--as", by, "task", verb, "T1", "--reason", "so"]);
        let done = call.done();
        assert_eq!(done.exit, 0, "{}", done.stderr);
        assert!(
            done.stderr.contains("the uncommitted work on T1 is kept as commit "),
            "{}",
            done.stderr
        );
        assert_eq!(refs(&sandbox).len(), 1, "{verb}");
    }
    // A person elsewhere in the repository ends it: what counts is where the work is.
    let sandbox = dirty();
    let other = sandbox.worktree("other");
    let call = sandbox.comity().at(&other).args(&["--as", "human:tester", "task", "release", "T1"]);
    call.json();
    assert_eq!(refs(&sandbox).len(), 1);
}

#[test]
fn what_a_claim_left_behind_is_kept_before_the_next_claim_and_a_submission_leaves_nothing() {
    let sandbox = Sandbox::new();
    for title in ["One", "Two", "Three"] {
        sandbox.json(&["task", "create", title]);
    }
    let claim = |id: &str| {
        let call =
            sandbox.comity().by("ada").args(&["task", "claim", id, "--start", "--ttl", "1s"]);
        call.json();
    };
    claim("T1");
    sandbox.work();
    sandbox.comity().by("ada").args(&["task", "submit", "T1"]).json();
    sandbox.write("notes.txt", "not of a claim\n");
    claim("T2");
    assert_eq!(refs(&sandbox).len(), 0, "the last claim ended with a submission");
    std::thread::sleep(std::time::Duration::from_millis(1200));
    claim("T3");
    assert_eq!(refs(&sandbox).len(), 1, "the last claim ended by itself");
}

#[test]
fn nothing_is_kept_of_an_earlier_task_where_only_comity_wrote() {
    let sandbox = Sandbox::new();
    // Its own settings are new in the work tree.
    sandbox.json(&["init", "--clients", "none"]);
    for title in ["Parse dates", "Print dates"] {
        sandbox.json(&["task", "create", title]);
    }
    let ada = |args: &[&str]| {
        let done = sandbox.comity().by("ada").args(args).done();
        assert_eq!(done.exit, 0, "{}", done.stderr);
        assert!(!done.stderr.contains("earlier task"), "{args:?}: {}", done.stderr);
    };
    ada(&["task", "claim", "T1"]);
    ada(&["task", "release", "T1", "--reason", "later"]);
    ada(&["task", "claim", "T2"]);
    sandbox.write("new.txt", "own work\n");
    ada(&["task", "start", "T2"]);
    let beside = sandbox.comity().by("bob").args(&["task", "claim", "T1"]).done();
    assert!(!beside.stderr.contains("earlier task"), "ada is still at work: {}", beside.stderr);
    sandbox.comity().by("bob").args(&["task", "release", "T1", "--reason", "later"]).json();
    let kept = refs(&sandbox).len();
    ada(&["task", "release", "T2", "--reason", "later"]);
    let next = sandbox.comity().by("ada").args(&["task", "claim", "T1"]).done();
    assert!(next.stderr.contains("work on an earlier task is kept"), "{}", next.stderr);
    assert_eq!(refs(&sandbox).len(), kept, "the same files are kept once");
}

#[test]
fn the_watchdog_keeps_work_whose_claim_is_about_to_end() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    sandbox.comity().by("ada").args(&["task", "claim", "T1", "--start", "--ttl", "17s"]).json();
    sandbox.write("new.txt", "new\n");
    sandbox.json(&["watchdog", "--once"]);
    assert_eq!(refs(&sandbox).len(), 0);
    std::thread::sleep(std::time::Duration::from_millis(7500));
    let done = sandbox.comity().args(&["watchdog", "--once"]).done();
    assert!(done.stderr.contains("the uncommitted work on T1 is kept"), "{}", done.stderr);
    assert_eq!(refs(&sandbox).len(), 1);
}
