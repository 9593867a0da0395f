//! `comity collab …`: what the command line of agents.md prints, and how it ends.

use super::{empty_root, state};
use crate::sandbox::{Done, Sandbox};

fn run(sandbox: &Sandbox, args: &[&str]) -> Done {
    sandbox.comity().by("human:ann").args(&["collab"]).args(args).done()
}

fn prints(sandbox: &Sandbox, args: &[&str]) -> String {
    let done = run(sandbox, args);
    assert_eq!((done.exit, done.stderr.as_str()), (0, ""), "{args:?}");
    done.stdout
}

fn fails(sandbox: &Sandbox, args: &[&str]) -> String {
    let done = run(sandbox, args);
    assert_eq!((done.exit, done.stdout.as_str()), (1, ""), "{args:?}: {}", done.stderr);
    done.stderr
}

#[test]
fn success_prints_the_id_or_nothing_and_failure_says_error_and_ends_with_one() {
    let (sandbox, root) = empty_root();
    let created =
        run(&sandbox, &["create-task", "--title", "One", "--labels", "a,b", "--roadmap-id", "R1"]);
    assert_eq!((created.exit, created.stdout.as_str()), (0, "task-0001\n"));
    assert!(created.stderr.starts_with("Warning: failed to link roadmap"), "{}", created.stderr);
    assert_eq!(prints(&sandbox, &["create-task", "--title", "Two", "--id", "T-142"]), "T-142\n");
    assert!(
        fails(&sandbox, &["create-task", "--title", "Two", "--id", "T-142"]).starts_with("Error: ")
    );
    assert_eq!(
        prints(&sandbox, &["update-task", "task-0001", "--priority", "P1", "--title", "Uno"]),
        ""
    );
    assert_eq!(prints(&sandbox, &["transition-task", "task-0001", "in_progress"]), "");
    assert_eq!(
        fails(&sandbox, &["transition-task", "task-0001", "done"]),
        "Error: Invalid transition in_progress -> done\n"
    );
    assert_eq!(
        fails(&sandbox, &["update-task", "nope", "--title", "x"]),
        "Error: Task not found\n"
    );
    assert_eq!(
        prints(&sandbox, &["acquire-lease", "a.py", "codex-cli", "task-0001"]),
        "L-00000001\n"
    );
    assert_eq!(
        fails(&sandbox, &["acquire-lease", "a.py", "other", "x"]),
        "Error: Active lease exists for a.py: L-00000001\n"
    );
    assert_eq!(prints(&sandbox, &["renew-lease", "L-00000001", "codex-cli"]), "");
    assert_eq!(
        fails(&sandbox, &["renew-lease", "L-00000001", "other"]),
        "Error: Lease not found or ownership mismatch\n"
    );
    assert_eq!(prints(&sandbox, &["release-lease", "L-00000001", "codex-cli"]), "");
    assert_eq!(
        prints(
            &sandbox,
            &["emit-event", r#"{"event":"tests_run","task":"task-0001","result":"pass"}"#]
        ),
        ""
    );
    assert!(fails(&sandbox, &["emit-event", "{"]).starts_with("Error: "));
    assert_eq!(prints(&sandbox, &["generate-log"]), "Wrote collaboration/logs/log.md\n");
    for usage in [
        &["create-task", "--nope"][..],
        &["create-task", "--description", "no title"],
        &["transition-task"],
        &["transition-task", "task-0001", "bogus"],
        &["update-task", "task-0001", "--status", "bogus"],
        &["list-tasks", "--status", "bogus"],
    ] {
        assert_eq!(run(&sandbox, usage).exit, 2, "{usage:?}");
    }

    let task = &state(&root, "tasks")["tasks"][0];
    assert_eq!((task["title"].as_str(), task["roadmap_id"].as_str()), (Some("Uno"), Some("R1")));
    let listed: serde_json::Value = serde_json::from_str(&prints(
        &sandbox,
        &["list-tasks", "--status", "in_progress", "--output", "json"],
    ))
    .unwrap();
    assert_eq!(listed, serde_json::json!({"version": 1, "tasks": [task]}));
    assert_eq!(
        prints(&sandbox, &["list-tasks"]),
        "# tasks (v1) — 2 items\n- task-0001 | in_progress | P1 | human:ann | Uno\n-    T-142 | queued | P2 | - | Two\n"
    );
    let log = std::fs::read_to_string(root.join("collaboration/logs/log.md")).unwrap();
    assert!(log.contains("## task-0001"), "{log}");
}

#[test]
fn older_events_are_rewritten_and_strange_ones_are_said() {
    let (sandbox, root) = empty_root();
    assert_eq!(
        prints(
            &sandbox,
            &["emit-event", r#"{"kind":"pr","action":"opened","task":"T1","pr_number":7}"#]
        ),
        ""
    );
    run(&sandbox, &["emit-event", r#"{"foo":1}"#]);
    let file = std::fs::read_to_string(root.join("collaboration/events/events.jsonl")).unwrap();
    assert!(file.lines().any(|line| line.starts_with("{\"foo\": 1, ")), "as it is: {file}");
    let done = run(&sandbox, &["emit-event", r#"{"kind":"x"}"#]);
    assert_eq!(done.exit, 0);
    assert!(done.stderr.starts_with("Warning: Unknown event format"), "{}", done.stderr);
    let events = sandbox.json(&["event", "list", "--type", "pr_opened"]);
    assert_eq!(events["events"][0]["pr"], 7);
}

#[test]
fn every_one_of_them_answers_with_one_object_when_asked_to() {
    let (sandbox, _root) = empty_root();
    let json = |args: &[&str]| sandbox.comity().by("human:ann").args(&["collab"]).args(args).json();
    assert_eq!(json(&["create-task", "--title", "One"]), serde_json::json!({"id": "task-0001"}));
    assert_eq!(json(&["list-tasks"])["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(json(&["transition-task", "task-0001", "claimed"]), serde_json::json!({"ok": true}));
}

#[test]
fn who_asks_for_json_gets_the_statuses_of_every_other_command() {
    let (sandbox, _root) = empty_root();
    prints(&sandbox, &["create-task", "--title", "One"]);
    prints(&sandbox, &["acquire-lease", "a.py", "codex-cli", "task-0001"]);
    for (args, code, status) in [
        (&["transition-task", "nope", "claimed"][..], "not-found", 4),
        (&["transition-task", "task-0001", "done"], "invalid-transition", 3),
        (&["acquire-lease", "a.py", "other", "x"], "lease-held", 3),
        (&["renew-lease", "L-00000009", "codex-cli"], "not-found", 4),
        (&["release-lease", "L-00000001", "other"], "not-holder", 3),
        (&["create-task", "--title", "One", "--id", "task-0001"], "duplicate-id", 3),
        (&["emit-event", "{"], "invalid-input", 2),
    ] {
        let call = sandbox.comity().by("human:ann").args(&["collab"]).args(args);
        let (error, exit) = call.refusal();
        assert_eq!((error["code"].as_str(), exit), (Some(code), status), "{args:?}");
        assert!(fails(&sandbox, args).starts_with("Error: "), "{args:?}");
    }
}

#[test]
fn the_hand_off_is_printed_and_written_down() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--dod", "Tests pass"]);
    let answer = sandbox.json(&[
        "task",
        "handoff",
        "T1",
        "--subtask",
        "Time zones",
        "--plan",
        "Write the test",
    ]);
    let text = answer["handoff"].as_str().unwrap();
    assert!(text.starts_with("Context Reset: New subtask\nTask: T1 — Parse dates\nSubtask: T1-01 — Time zones\nDoD:\n- Tests pass\n"), "{text}");
    assert_eq!(answer["task"]["id"], "T1");
    let event = &sandbox.json(&["event", "list", "--type", "context_reset"])["events"][0];
    assert_eq!((event["task"].as_str(), event["reason"].as_str()), (Some("T1"), Some("boundary")));
    assert_eq!(event["subtask"], "T1-01", "the one that the snippet names");
}

#[test]
fn a_commit_message_is_checked_against_the_template() {
    let sandbox = Sandbox::new();
    let good = "feat(T1): parse dates\n\nWhy: needed\nTouches: src/date\nTests: unit\nRisks/Mitigations: none\n";
    sandbox.write("good", good);
    sandbox.write("bad", "parse dates\n");
    assert_eq!(sandbox.json(&["guard", "commit", "good"])["valid"], true);
    let (error, exit) = sandbox.comity().args(&["guard", "commit", "bad"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3));
    assert_eq!(error["details"]["problems"].as_array().unwrap().len(), 5, "{error}");
}

#[test]
fn the_board_is_printed_and_written() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    sandbox.json(&["task", "link", "T1", "github", "7", "--key", "issue"]);
    let board = sandbox.json(&["report", "board"]);
    assert!(
        board["report"].as_str().unwrap().contains("- T1 [P2] (-) — Parse dates [GH#7]"),
        "{board}"
    );
    sandbox.json(&["report", "board", "--output", "board.md"]);
    assert!(
        std::fs::read_to_string(sandbox.root.join("board.md"))
            .unwrap()
            .starts_with("# Project Board\n")
    );
}
