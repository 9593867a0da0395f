//! neo's commands, as its scripts and prompts use them.

use crate::sandbox::{Done, Sandbox};
use serde_json::{Value, json};

fn neo(sandbox: &Sandbox, who: &str, args: &[&str]) -> Done {
    sandbox.comity().by(who).args(&["neo"]).args(args).done()
}

fn ok(sandbox: &Sandbox, who: &str, args: &[&str]) -> String {
    let done = neo(sandbox, who, args);
    assert_eq!(done.exit, 0, "{args:?}: {}", done.stderr);
    done.stdout
}

/// Asks, and returns the id that the script would keep.
fn ask(sandbox: &Sandbox, args: &[&str]) -> String {
    let said = ok(sandbox, "arch", &[&["decision", "create"], args].concat());
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], format!("✓ Decision created: {}", lines[1]));
    assert!(lines[1].starts_with("dec_") && lines[1].len() == 24, "{said}");
    lines[1].to_owned()
}

#[test]
fn a_decision_is_asked_listed_shown_and_answered_in_neos_words() {
    let sandbox = Sandbox::new();
    let id = ask(
        &sandbox,
        &[
            "Which database?",
            "-o",
            "pg:PostgreSQL,sqlite:SQLite:one file",
            "--default",
            "sqlite",
            "-c",
            "Ten users",
        ],
    );
    let list = ok(&sandbox, "human:ann", &["decision", "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines[0].trim_end(), "ID            TYPE     QUESTION         SOURCE      CREATED");
    assert!(lines[1].starts_with("──────────────────────"));
    assert!(
        lines[2].starts_with(&format!("{}  generic  Which database?  supervisor  ", &id[..12]))
    );
    let shown = ok(&sandbox, "human:ann", &["decision", "get", &id[..12]]);
    assert!(shown.starts_with(&format!("ID:       {id}\nStatus:   pending\nType:     generic\n")));
    assert!(shown.contains("\nQuestion: Which database?\n\nContext:\nTen users\n\nOptions:\n"));
    assert!(shown.contains("  [pg] PostgreSQL\n  [sqlite] SQLite - one file\nDefault:  sqlite\n"));
    let pending = ok(&sandbox, "human:ann", &["decision", "pending"]);
    assert!(pending.contains("Answer with: neo decision answer <id> <answer>"), "{pending}");
    let bad = neo(&sandbox, "human:ann", &["decision", "answer", &id, "mysql"]);
    assert_eq!(bad.exit, 1);
    assert!(bad.stderr.starts_with("✗ \"mysql\" is not one of the options"), "{}", bad.stderr);
    let said = ok(&sandbox, "human:ann", &["decision", "answer", &id[..12], "pg"]);
    assert_eq!(said, format!("✓ Decision answered: {} → \"pg\"\n", &id[..12]));
    let again = neo(&sandbox, "human:ann", &["decision", "answer", &id, "pg"]);
    assert_eq!((again.exit, again.stdout.as_str()), (1, ""));
    assert!(again.stderr.starts_with(&format!("✗ Decision already answered: {id}\n")));
    let unknown = neo(&sandbox, "human:ann", &["decision", "get", "dec_ffffffffffffffffffff"]);
    assert!(unknown.stderr.starts_with("✗ Decision not found: dec_ffffffffffffffffffff"));
    assert_eq!(ok(&sandbox, "human:ann", &["decision", "list"]), "No pending decisions.\n");
    assert!(ok(&sandbox, "human:ann", &["decision", "list", "--all"]).contains("answered"));
    assert_eq!(sandbox.json(&["decision", "show", "D1"])["decision"]["answer"], "pg");
}

#[test]
fn neos_json_is_neos() {
    let sandbox = Sandbox::new();
    let id = ask(&sandbox, &["Go on?", "--type", "approval"]);
    ask(&sandbox, &["Only X?", "--type", "scope", "-e", "30m"]);
    let list: Value =
        serde_json::from_str(&ok(&sandbox, "ann", &["decision", "list", "--json"])).unwrap();
    assert_eq!(list[0]["id"], json!(id));
    assert_eq!((&list[0]["type"], &list[1]["type"]), (&json!("approval"), &json!("scope")));
    assert!(list[0].get("options").is_none() && list[0].get("context").is_none());
    let keys: Vec<&String> = list[1].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "question", "type", "source", "createdAt", "expiresAt"]);
    let said =
        ok(&sandbox, "human:ann", &["decision", "answer", &id, "approved_with_changes: less"]);
    assert!(said.ends_with("→ \"approved_with_changes: less\"\n"));
    let one: Value =
        serde_json::from_str(&ok(&sandbox, "ann", &["decision", "get", &id, "--json"])).unwrap();
    assert_eq!(one["answer"], "approved_with_changes: less");
}

#[test]
fn bad_flags_are_refused_in_neos_words() {
    let sandbox = Sandbox::new();
    for (args, said) in [
        (&["decision", "create", "q", "-o", "pg"][..], "✗ Invalid option format: \"pg\""),
        (&["decision", "create", "q", "-e", "soon"], "✗ Invalid --expires-in format."),
        (&["log", "shout", "x"], "✗ Invalid type \"shout\". Must be one of: progress, action,"),
        (&["log", "progress"], "✗ Usage: neo log progress <message>"),
        (&["task", "update", "mem_00000009-abc", "--status", "done"], "✗ Task not found: mem_"),
        (&["task", "update", "T1", "--status", "finished"], "✗ Invalid status \"finished\""),
        (&["logs"], "✗ No event logs found."),
        (&["logs", "-f"], "✗ --follow requires --run <runId>"),
    ] {
        let done = neo(&sandbox, "arch", args);
        assert_eq!((done.exit, done.stdout.as_str()), (1, ""), "{args:?}");
        assert!(done.stderr.starts_with(said), "{args:?}: {}", done.stderr);
    }
}

#[test]
fn waiting_is_pushed_and_a_timeout_says_that_the_decision_stays_pending() {
    let sandbox = Sandbox::new();
    let waiting = sandbox
        .comity()
        .by("arch")
        .args(&[
            "neo",
            "decision",
            "create",
            "Ok?",
            "--type",
            "approval",
            "--wait",
            "--timeout",
            "1m",
        ])
        .spawn();
    let started = std::time::Instant::now();
    while sandbox.json(&["decision", "list"])["decisions"].as_array().unwrap().is_empty() {
        assert!(started.elapsed().as_secs() < 20);
    }
    let answered = std::time::Instant::now();
    ok(&sandbox, "human:ann", &["decision", "answer", "dec_00000001", "approved"]);
    let done = Done::from(waiting.wait_with_output().unwrap());
    assert!(answered.elapsed().as_secs() < 8, "neo itself looks every ten seconds");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stdout.ends_with("Waiting for answer (timeout: 1m)...\nAnswer: approved\n"));
    let late = neo(&sandbox, "arch", &["decision", "create", "Ok?", "-w", "--timeout", "1s"]);
    assert_eq!(late.exit, 1);
    assert!(late.stderr.contains("timed out after 1s (it stays pending)"), "{}", late.stderr);
}

#[test]
fn decisions_expire_without_a_daemon_and_take_their_default() {
    let sandbox = Sandbox::new();
    ask(&sandbox, &["A or B?", "-o", "a:A,b:B", "-d", "b", "-e", "1s"]);
    let plain = ask(&sandbox, &["Anything?", "-e", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(ok(&sandbox, "ann", &["decision", "list"]), "No pending decisions.\n");
    assert!(ok(&sandbox, "ann", &["decision", "get", "dec_00000001"]).contains("Answer:   b\n"));
    assert!(ok(&sandbox, "ann", &["decision", "get", &plain]).contains("Status:   expired\n"));
}

#[test]
fn sixteen_answers_at_once_are_all_acknowledged_and_all_stored() {
    let sandbox = Sandbox::new();
    let ids: Vec<String> = (0..16).map(|n| ask(&sandbox, &[&format!("Question {n}?")])).collect();
    let calls: Vec<_> = ids
        .iter()
        .map(|id| {
            let answer = format!("answer to {id}");
            let args = ["neo", "decision", "answer", id.as_str(), answer.as_str()];
            sandbox.comity().by("human:ann").args(&args).spawn()
        })
        .collect();
    let ends: Vec<Done> =
        calls.into_iter().map(|call| Done::from(call.wait_with_output().unwrap())).collect();
    assert!(ends.iter().all(|done| done.exit == 0), "{ends:?}");
    let all = sandbox.comity().args(&["neo", "decision", "list", "--all", "--json"]).done();
    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    let stored = all.as_array().unwrap().iter().filter(|decision| {
        decision["answer"] == json!(format!("answer to {}", decision["id"].as_str().unwrap()))
    });
    assert_eq!(stored.count(), 16);
}

#[test]
fn the_promised_task_commands_work() {
    let sandbox = Sandbox::new();
    let create =
        ["task", "create", "--scope", "/srv/tool", "--priority", "high", "--initiative", "auth-v2"];
    let first = ok(&sandbox, "sup", &[&create[..], &["T1: JWT middleware"]].concat());
    let first = first.trim_end();
    assert!(first.starts_with("mem_") && first.len() == 16, "{first:?}");
    let second = ok(
        &sandbox,
        "sup",
        &["task", "create", "--depends", first, "--context", "neo runs 3f2a", "T2: login"],
    );
    let update = |who: &str, status: &str| {
        neo(&sandbox, who, &["task", "update", first, "--status", status])
    };
    assert_eq!(
        update("sup", "in_progress").stdout,
        format!("✓ Task updated: {first} → in_progress\n")
    );
    let list = ok(&sandbox, "sup", &["task", "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[2].starts_with(second.trim_end()) && lines[2].contains("○ pending"), "{list}");
    assert!(lines[3].contains("[ACTIVE]") && lines[3].contains("auth-v2"), "{list}");
    let blocked = update("sup", "blocked");
    assert_eq!(blocked.exit, 0, "{}", blocked.stderr);
    assert!(ok(&sandbox, "sup", &["task", "list", "--status", "blocked"]).contains("[BLOCKED]"));
    // Whoever did the work does not approve it: it is handed in, and a person finishes it.
    sandbox.json(&[
        "agent",
        "register",
        "sup",
        "--role",
        "planner",
        "--role",
        "implementer",
        "--as",
        "human:ann",
    ]);
    let done = update("sup", "done");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stderr.contains("is in review"), "{}", done.stderr);
    assert_eq!(update("human:ann", "done").stdout, format!("✓ Task updated: {first} → done\n"));
    let json = sandbox.json(&["neo", "task", "list", "--status", "done"]);
    assert_eq!(json["tasks"][0]["scope"], "/srv/tool");
    assert_eq!(json["tasks"][0]["priority"], "high");
    let json = sandbox.json(&["neo", "task", "list", "--status", "pending"]);
    assert_eq!(json["tasks"][0]["depends_on"], json!(first));
    assert_eq!(json["tasks"][0]["context"], "neo runs 3f2a");
    assert_eq!(sandbox.json(&["task", "show", "T2"])["task"]["dependencies"], json!(["T1"]));
}

#[test]
fn log_entries_are_kept_with_their_agent_and_run() {
    let sandbox = Sandbox::new();
    assert_eq!(ok(&sandbox, "x", &["log"]), "No log entries found.\n");
    let log = |run: &str, kind: &str, text: &str| {
        sandbox
            .comity()
            .env("NEO_AGENT_NAME", "developer")
            .env("NEO_RUN_ID", run)
            .args(&["neo", "log", kind, text, "--repo", "/srv/tool"])
            .done()
    };
    let done = log("3f2a91bc-77aa-4d11", "milestone", "T1 done — commit abc1234");
    assert_eq!(done.stdout, "✓ Logged: [milestone] T1 done — commit abc1234\n", "{}", done.stderr);
    log("ffffffff-77aa-4d11", "progress", "half");
    let recent = ok(&sandbox, "x", &["log"]);
    let lines: Vec<&str> = recent.lines().collect();
    assert!(lines[2].contains("progress   developer  half"), "{recent}");
    let of_run = ok(&sandbox, "x", &["logs", "3f2a91bc-77aa-4d11"]);
    assert_eq!(of_run.lines().count(), 2, "registered, and logged: {of_run}");
    assert!(of_run.contains("milestone") && of_run.contains("commit abc1234"));
    let short = ok(&sandbox, "x", &["logs", "--run", "ffff", "--short"]);
    assert!(short.trim_end().ends_with("progress half"), "{short}");
    let json = ok(&sandbox, "x", &["logs", "--output", "json", "--type", "milestone"]);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()[0]["type"], "milestone");
}
