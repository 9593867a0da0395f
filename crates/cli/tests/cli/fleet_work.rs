//! What runs leave and what they are told: neo's words for runs, work trees, and conflicts that are coming.

use crate::runs::{DONE, wait_for, with_agent};
use serde_json::{Value, json};

#[test]
fn neo_runs_an_agent_and_shows_runs_and_costs_in_its_own_words() {
    let script = format!(
        "mkdir -p src; echo 1 > src/new.rs; git add -A; git commit -q -m 'feat: new'\n\
         echo '{{\"comity\":\"cost\",\"call\":\"c1\",\"usd\":0.25}}'\n{DONE}"
    );
    let sandbox = with_agent(&script, "[fleet]\ndriver = 'script'");
    let neo = |args: &[&str]| {
        sandbox.comity().by("human:ann").args(&["neo"]).args(args).env("NO_COLOR", "1").done()
    };
    let none = neo(&["runs"]);
    assert_eq!((none.exit, none.stdout.as_str()), (0, ""));
    assert_eq!(none.stderr, "No runs found.\n");
    assert_eq!(neo(&["cost", "--short"]).stdout, "today=$0.0000 sessions=0 \n");
    let done =
        neo(&["run", "developer", "--prompt", "Add a file", "--branch", "feat/new", "--sync"]);
    assert_eq!(done.exit, 0, "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.starts_with("Run:      00000001-"), "{}", done.stdout);
    assert!(done.stdout.contains("Status:   completed\nCost:     $0.2500\n"), "{}", done.stdout);
    let listed = neo(&["runs"]).stdout;
    assert!(listed.starts_with("RUN       STATUS     REPO"), "{listed}");
    let short = neo(&["runs", "--short"]).stdout;
    assert!(short.starts_with("00000001 completed "), "{short}");
    let record: Value =
        serde_json::from_str(&neo(&["runs", "00000001", "--output", "json"]).stdout).unwrap();
    assert_eq!(
        (&record["status"], &record["steps"]["execute"]["status"]),
        (&json!("completed"), &json!("success"))
    );
    assert_eq!(neo(&["cost", "--short"]).stdout, "today=$0.2500 sessions=1 developer=$0.2500\n");
    assert_eq!(neo(&["runs", "99"]).exit, 1);
    let detached = neo(&["run", "developer", "--prompt", "Again", "--branch", "feat/again"]).stdout;
    let lines: Vec<&str> = detached.lines().collect();
    assert!(lines[0].starts_with("✓ Detached run started: 00000002-"), "{detached}");
    assert!(
        lines[1].starts_with("  PID:  ") && lines[2].starts_with("  Logs: neo logs -f 00000002-"),
        "{detached}"
    );
    wait_for("the run ends", || {
        sandbox.json(&["run", "show", "R2"])["run"]["ended_at"].is_string()
    });
}

#[test]
fn a_work_tree_goes_only_after_its_work_is_kept_in_the_project() {
    let script = format!(
        "mkdir -p src; echo 1 > src/date.rs; git add -A; git commit -q -m 'feat(T1): dates'\n{DONE}"
    );
    let sandbox = with_agent(&script, "");
    let ann = |args: &[&str]| sandbox.comity().by("human:ann").args(args);
    ann(&["run", "developer", "--task", "T1", "--driver", "script", "--wait"]).json();
    let space = ann(&["workspace", "list"]).json()["workspaces"][0].clone();
    assert_eq!(
        (&space["run"], &space["task"], &space["removable"]),
        (&json!("R1"), &json!("T1"), &json!(true))
    );
    let path = std::path::PathBuf::from(space["path"].as_str().unwrap());
    std::fs::write(path.join("left.txt"), "not committed\n").unwrap();
    assert_eq!(
        ann(&["workspace", "gc", "--older-than", "1s"]).json()["workspaces"],
        json!([]),
        "the task is open"
    );
    ann(&["workspace", "remove", "T1"]).json();
    assert!(!path.exists());
    let kept = sandbox.git(&sandbox.root, &["show", "refs/comity/run/R1/wip:left.txt"]);
    assert_eq!(kept, "not committed");
    sandbox.git(&sandbox.root, &["cat-file", "-e", "refs/comity/run/R1/head:src/date.rs"]);
    let (error, _) = ann(&["workspace", "remove", "T1"]).refusal();
    assert_eq!(error["code"], "not-found");
}

#[test]
fn runs_that_will_conflict_are_found_while_they_work_and_the_later_one_is_told() {
    let script = "mkdir -p src; echo $COMITY_RUN > src/date.rs\n\
        git add -A; git commit -q -m \"feat: $COMITY_RUN\"; echo working; sleep 120";
    let sandbox = with_agent(script, "");
    sandbox.json(&["task", "create", "Parse times", "--file", "src/date.rs"]);
    let ann = |args: &[&str]| sandbox.comity().by("human:ann").args(args);
    for task in ["T1", "T2"] {
        ann(&["run", "developer", "--task", task, "--driver", "script"]).json();
    }
    let mut found = Value::Null;
    wait_for("a conflict is found", || {
        found = ann(&["merge", "probe"]).json()["probes"].clone();
        found.as_array().is_some_and(|all| all.iter().any(|one| one["state"] == "conflict"))
    });
    let one = &found.as_array().unwrap().iter().find(|one| one["state"] == "conflict").unwrap();
    assert_eq!((&one["a"]["run"], &one["b"]["run"]), (&json!("R1"), &json!("R2")));
    assert_eq!(one["paths"][0]["path"], "src/date.rs");
    let told = sandbox.json(&["event", "list", "--type", "message_sent"])["events"].clone();
    assert!(
        told[0]["text"].as_str().unwrap().contains("conflicts with R1 (T1) in src/date.rs"),
        "{told}"
    );
    for run in ["R1", "R2"] {
        ann(&["run", "stop", run, "--now"]).json();
    }
}
