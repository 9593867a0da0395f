//! What programs see: INTERFACE section 4.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

fn pretty(sandbox: &Sandbox, value: &Value) -> String {
    sandbox.normal(&serde_json::to_string_pretty(value).unwrap())
}

#[test]
fn a_task_and_a_claim_have_the_shapes_of_the_interface() {
    let sandbox = Sandbox::new();
    let created = sandbox.json(&[
        "task",
        "create",
        "Parse dates",
        "--id",
        "T-142",
        "--priority",
        "P1",
        "--label",
        "rust",
        "--file",
        "src/**",
        "--require",
        "no panics",
        "--dod",
        "documented",
        "--gate",
        "tests",
        "--context",
        "depth=3",
        "--context",
        "name=x",
        "--timeout",
        "1h",
        "--type",
        "implementation",
        "--complexity",
        "3",
        "--epic",
        "E1",
        "--prd",
        "PRD-1",
        "--initiative",
        "dates",
    ]);
    insta::assert_snapshot!("json_task", pretty(&sandbox, &created));
    let claimed = sandbox.comity().by("ada").args(&["task", "claim"]).json();
    insta::assert_snapshot!("json_claim", pretty(&sandbox, &claimed));
}

#[test]
fn lists_come_with_a_cursor() {
    let sandbox = Sandbox::new();
    for n in 1..=3 {
        sandbox.json(&["task", "create", &format!("task {n}")]);
    }
    let first = sandbox.json(&["task", "list", "--limit", "2"]);
    assert_eq!(first["tasks"].as_array().unwrap().len(), 2);
    let cursor = match &first["next"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let second = sandbox.json(&["task", "list", "--limit", "2", "--after", &cursor]);
    assert_eq!(second["tasks"][0]["id"], "T3");
    assert_eq!(second["next"], Value::Null);
}

#[test]
fn leases_and_conflicts_have_the_shapes_of_the_interface() {
    let sandbox = Sandbox::new();
    let leases = sandbox.comity().by("ada").args(&["lease", "acquire", "src/*.rs"]).json();
    insta::assert_snapshot!("json_leases", pretty(&sandbox, &leases));
    let (error, exit) =
        sandbox.comity().by("bob").args(&["lease", "acquire", "b", "src/[a-c]*"]).refusal();
    assert_eq!(exit, 3);
    insta::assert_snapshot!("json_lease_held", pretty(&sandbox, &error));
    assert_eq!(sandbox.json(&["lease", "list"])["leases"].as_array().unwrap().len(), 1);
    let released = sandbox.comity().by("ada").args(&["lease", "release", "--all"]).json();
    assert_eq!(released["released"], json!(["L1"]));
}

#[test]
fn status_decisions_agents_and_events_have_the_shapes_of_the_interface() {
    let sandbox = Sandbox::new();
    sandbox.json(&["decision", "ask", "Which?", "--option", "a:Alpha", "--option", "b"]);
    insta::assert_snapshot!("json_status", pretty(&sandbox, &sandbox.json(&["status"])));
    insta::assert_snapshot!(
        "json_decisions",
        pretty(&sandbox, &sandbox.json(&["decision", "list"]))
    );
    insta::assert_snapshot!("json_agents", pretty(&sandbox, &sandbox.json(&["agent", "list"])));
    insta::assert_snapshot!("json_events", pretty(&sandbox, &sandbox.json(&["event", "list"])));
    insta::assert_snapshot!("json_head", pretty(&sandbox, &sandbox.head()));
    insta::assert_snapshot!("json_verify", pretty(&sandbox, &sandbox.json(&["log", "verify"])));
    insta::assert_snapshot!("json_rebuild", pretty(&sandbox, &sandbox.json(&["log", "rebuild"])));
}

#[test]
fn every_command_answers_with_one_object_on_one_line() {
    let sandbox = Sandbox::new();
    let person = |args: &[&str]| sandbox.comity().by("human:ann").args(args).json();
    for args in [
        &["init"][..],
        &["task", "create", "one", "--dod", "item", "--gate", "bench", "--deliverable", "none"],
        &["task", "create", "two"],
        &["task", "update", "T1", "--priority", "P0", "--max-files", "3"],
        &["task", "depend", "T2", "--on", "T1"],
        &["task", "assign", "T1", "human:ann"],
        &["task", "assign", "T1", "--none"],
        &["task", "link", "T1", "github", "42", "--key", "issue"],
        &["task", "claim", "T1"],
        &["task", "start", "T1", "--reason", "now"],
        &["task", "subtask", "T1", "start", "step"],
        &["task", "subtask", "T1", "complete", "step"],
        &["task", "check", "T1", "item"],
        &["gate", "record", "T1", "tests", "pass", "--new"],
        &["gate", "waive", "T1", "bench", "--reason", "none"],
        &["gate", "list", "T1"],
        &["task", "block", "T1", "--needs", "x", "--question", "why?"],
        &["task", "unblock", "T1"],
        &["task", "why", "T1"],
        &["task", "abandon", "T2", "--reason", "x"],
        &["task", "reopen", "T2", "--reason", "x"],
        &["lease", "acquire", "a"],
        &["lease", "renew", "L1"],
        &["lease", "check", "a"],
        &["lease", "reclaim"],
        &["agent", "register", "bob"],
        &["agent", "show", "bob"],
        &["agent", "heartbeat"],
        &["agent", "suggest"],
        &["decision", "list", "--all"],
        &["decision", "answer", "D1", "because"],
        &["decision", "wait", "D1"],
        &["note", "progress", "half"],
        &["event", "emit", "{\"event\":\"commit_pushed\",\"task\":\"T1\"}"],
        &["report", "log"],
        &["watchdog", "--once"],
        &["doctor"],
    ] {
        person(args);
    }
}

#[test]
fn everything_is_exported_as_one_object_with_nothing_lost() {
    let sandbox = Sandbox::new();
    let person = |args: &[&str]| sandbox.comity().by("human:ann").args(args).json();
    for number in 0..3 {
        person(&[
            "task",
            "create",
            &format!("Task {number}"),
            "--file",
            "src/",
            "--label",
            "\u{202e}x",
        ]);
    }
    person(&["task", "claim", "T1"]);
    person(&["task", "abandon", "T3", "--reason", "no"]);
    person(&["decision", "ask", "Which way?"]);
    person(&["decision", "answer", "D1", "this way"]);
    person(&["memory", "write", "it is so", "--type", "fact"]);
    person(&["memory", "write", "it is otherwise", "--type", "fact"]);
    person(&["directive", "create", "tidy up"]);
    let all = person(&["export", "json"]);
    for (key, count) in [
        ("tasks", 3),
        ("leases", 1),
        ("agents", 1),
        ("decisions", 1),
        ("memories", 2),
        ("directives", 1),
        ("runs", 0),
    ] {
        assert_eq!(all[key].as_array().unwrap().len(), count, "{key}: {all}");
    }
    let head = sandbox.head();
    assert_eq!((&all["seq"], &all["head"]), (&head["seq"], &head["hash"]));
    assert_eq!(all["tasks"][1], person(&["task", "show", "T2"])["task"]);
    // Also without --json it is JSON, and no control of a terminal is in it.
    let laid_out = sandbox.comity().args(&["export", "json"]).done().stdout;
    assert!(laid_out.lines().count() > 20 && !laid_out.contains('\u{202e}'), "{laid_out}");
    let again: Value = serde_json::from_str(&laid_out).unwrap();
    assert_eq!(again["tasks"][0]["labels"][0], "\u{202e}x");
}

#[test]
fn help_and_version_are_objects_too_when_json_is_asked_for() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["--version"])["version"], env!("CARGO_PKG_VERSION"));
    for args in [&["--help"][..], &["task", "claim", "--help"]] {
        let help = sandbox.json(args)["help"].as_str().unwrap().to_owned();
        assert!(help.contains("Usage: comity"), "{args:?}: {help}");
    }
}

#[test]
fn a_bound_of_no_files_takes_the_bound_away_and_is_refused_where_there_is_none() {
    let sandbox = Sandbox::new();
    let (_, exit) = sandbox.refused(&["task", "create", "x", "--max-files", "0"]);
    assert_eq!(exit, 2, "it would be dropped without a word");
    sandbox.json(&["task", "create", "x"]);
    let planner = |args: &[&str]| sandbox.comity().by("human:ann").args(args).json();
    planner(&["task", "update", "T1", "--max-files", "4"]);
    let task = planner(&["task", "update", "T1", "--max-files", "0"])["task"].clone();
    assert_eq!(task["constraints"]["max_files"], Value::Null);
}
