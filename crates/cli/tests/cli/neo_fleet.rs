//! neo's own commands for runs and the supervisor.

use crate::runs::{DONE, with_agent};
use crate::sandbox::{Call, Done, Sandbox};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};

fn neo(sandbox: &Sandbox, args: &[&str]) -> Call {
    let args: Vec<&str> = ["neo"].iter().chain(args).copied().collect();
    sandbox.comity().by("human:ann").args(&args)
}

fn done(sandbox: &Sandbox, args: &[&str]) -> Done {
    let done = neo(sandbox, args).done();
    assert_eq!(done.exit, 0, "{args:?}: {}{}", done.stdout, done.stderr);
    done
}

fn lines(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_str(&done(sandbox, args).stdout).unwrap()
}

#[test]
fn neo_run_names_its_repository_by_path_and_keeps_what_neo_tells_of_a_run() {
    let script = format!(
        "echo 1 > date; git add date; git commit -q -m 'feat: dates'\necho 'I did it'\n{DONE}"
    );
    let sandbox = with_agent(&script, "[fleet]\ndriver = 'script'");
    let beside = sandbox.outside().join("beside");
    std::fs::create_dir(&beside).unwrap();
    let root = sandbox.root.display().to_string();
    let run = [
        "run",
        "developer",
        "--prompt",
        "Parse dates",
        "--repo",
        &root,
        "--priority",
        "critical",
        "--sync",
        "--output",
        "json",
    ];
    let ended = neo(&sandbox, &run).at(&beside).done();
    assert_eq!(ended.exit, 0, "{}", ended.stderr);
    let ended: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&ended["status"], &ended["prompt"]), (&json!("completed"), &json!("Parse dates")));
    let step = &ended["steps"]["execute"];
    assert!(step["durationMs"].is_u64() && step["prNumber"].is_null(), "{step}");
    assert!(step["output"].as_str().unwrap().contains("I did it"), "{step}");
    let listed = lines(&sandbox, &["runs", "--repo", ".", "--output", "json"]);
    assert_eq!(listed[0], ended);
    let task = sandbox.json(&["task", "list", "--all", "--search", "dates"])["tasks"].clone();
    let of_run = |task: &&Value| task["title"] == "Parse dates" && task["id"] != "T1";
    let task = task.as_array().unwrap().iter().find(of_run).unwrap().clone();
    assert_eq!(task["priority"], "P0", "neo's critical is the most urgent");
    let cost = done(&sandbox, &["cost", "--repo", ".", "--short"]).stdout;
    assert!(cost.starts_with("today=$") && cost.contains("sessions=1"), "{cost}");
    let refused = neo(&sandbox, &["runs", "--repo", "no/such/place", "ffff"]).done();
    assert_eq!(refused.exit, 1, "what is no directory is the name of a repository");
}

#[test]
fn neo_do_makes_a_task_and_the_supervisor_looks_at_it_at_once() {
    let sandbox = with_agent(&format!("echo 1 > date\n{DONE}"), "[fleet]\ndriver = 'script'");
    let said = done(&sandbox, &["do", "Fix the login"]);
    assert!(said.stdout.contains("created for the supervisor"), "{}", said.stdout);
    let events = sandbox.json(&["log", "--limit", "50"])["events"].clone();
    let by_supervisor = |event: &Value| event["agent"] == "supervisor";
    assert!(events.as_array().unwrap().iter().any(by_supervisor), "a beat was done: {events}");
    // Whoever may not supervise leaves the task for the one that does.
    let left = sandbox.comity().by("ada").args(&["neo", "do", "Add a retry"]).done();
    assert_eq!(left.exit, 0, "{}", left.stderr);
}

#[test]
fn neo_supervise_says_whether_one_is_at_work_and_shows_what_it_does() {
    let sandbox = with_agent("exit 0", "");
    let none = neo(&sandbox, &["supervise", "--attach"]).done();
    assert_eq!((none.exit, none.stderr.contains("No supervisor running")), (1, true));
    let state = |sandbox: &Sandbox| lines(sandbox, &["supervisor", "status", "--json"]);
    assert_eq!(state(&sandbox)["status"], "stopped");
    done(&sandbox, &["supervise", "--detach"]);
    crate::runs::wait_for("the supervisor is at work", || {
        sandbox.json(&["supervise", "--status"])["supervisor"]["state"] == "running"
    });
    let mut attached = neo(&sandbox, &["supervise", "--attach"]).spawn();
    let mut first = String::new();
    BufReader::new(attached.stdout.take().unwrap()).read_line(&mut first).unwrap();
    attached.kill().unwrap();
    attached.wait().unwrap();
    assert!(first.starts_with("Supervisor \"supervisor\": running"), "{first}");
    assert!(done(&sandbox, &["supervise", "--kill"]).stdout.contains("stopped"));
    assert_eq!(neo(&sandbox, &["supervise", "--kill"]).done().exit, 1);
    let needs = neo(&sandbox, &["supervise", "--budget", "5"]).done();
    assert!(needs.exit == 1 && needs.stderr.contains("need --objective"), "{}", needs.stderr);
}

#[test]
fn neo_agents_and_child_speak_as_neo_does() {
    let sandbox = with_agent("exit 0", "");
    let table = done(&sandbox, &["agents"]).stdout;
    assert!(table.contains("SANDBOX") && table.contains("developer"), "{table}");
    let list = lines(&sandbox, &["agents", "--output", "json"]);
    let developer =
        list.as_array().unwrap().iter().find(|agent| agent["name"] == "developer").unwrap();
    assert_eq!(
        (&developer["sandbox"], &developer["source"]),
        (&json!("writable"), &json!("built-in"))
    );
    for (args, said) in [
        (&["child", "spawn"][..], "Usage: neo child spawn"),
        (&["child", "spawn", "-o", "Parse dates"], "--criteria"),
    ] {
        let refused = neo(&sandbox, args).done();
        assert!(refused.exit != 0 && refused.stderr.contains(said), "{args:?}: {}", refused.stderr);
    }
}
