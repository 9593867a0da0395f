//! What is read and written beside the state files: the older form, the hand-off, commit messages, lists and boards.

use super::*;

#[test]
fn an_older_state_file_is_read_with_its_words() {
    let v1 = read_v1(
        br#"{"overall_goal": "ship", "tasks": [
            {"id": "task-001", "description": "Do it\nnow", "status": "completed", "assignee": "codex-cli", "dependencies": []},
            {"id": 2, "description": "More", "status": "strange", "assignee": null, "dependencies": [1]}],
          "file_locks": {"a.py": "gemini-cli", "b.py": {"agent": "codex-cli", "task": "task-001"}, "c.py": null}}"#,
    )
    .unwrap();
    assert_eq!(v1.goal.as_deref(), Some("ship"));
    assert_eq!(v1.tasks[0].1.status, Some(Status::Done));
    assert_eq!(v1.tasks[0].1.new_task(None).title, "Do it");
    assert_eq!(
        (v1.tasks[1].0.as_str(), v1.tasks[1].1.dependencies()),
        ("task-002", &["task-001".to_owned()][..])
    );
    assert_eq!(v1.locks.len(), 2);
    assert_eq!(v1.agents.len(), 2);
    assert_eq!(v1.notes.len(), 2, "{:?}", v1.notes);
    let more = read_v1(
        br#"{"tasks": [{"id": "3", "description": "x", "dependencies": ["2"]}], "file_locks": ["a"]}"#,
    )
    .unwrap();
    assert_eq!(
        (more.tasks[0].0.as_str(), more.tasks[0].1.dependencies()[0].as_str()),
        ("task-003", "task-002")
    );
    assert_eq!(
        more.notes,
        ["comity does not take over file_locks, which names no owners: [\"a\"]"]
    );
    assert!(read_v1(b"[").is_err());
    assert_eq!(
        read_v1(br#"{"tasks": [{"description": "x"}]}"#).unwrap_err()[0].path,
        "tasks[0].id"
    );
}

#[test]
fn the_handoff_is_the_snippet_of_agents_md() {
    let view = task(&entries(StateFile::Tasks, TASKS).remove(0));
    let text = handoff(
        &view,
        Some("add retries"),
        &["write the test".to_owned(), "make it pass".to_owned()],
    );
    assert_eq!(
        text,
        "Context Reset: New subtask\n\
         Task: T-142 — Implement async job runner\n\
         Subtask: T-142-01 — add retries\n\
         DoD:\n- Unit tests for success/failure/retry\n- Docs updated\n- Secret scan clean\n\
         Constraints: small diff, tests updated, no secrets, follow agents.md\n\
         Plan:\n- write the test\n- make it pass\n\
         Output: code changes only; summarize what changed and next subtask suggestion\n"
    );
}

#[test]
fn a_commit_message_is_checked_with_all_problems_at_once() {
    let good = "feat(task-007-01): add MCP env autoload\n\nWhy: it was missing\nTouches: mcp/\nTests: unit\nRisks/Mitigations: none\n# a remark of git\n";
    assert_eq!(check_commit_message(good), []);
    for written in ["Merge branch 'x'\n", "Merge pull request #7 from a/b\n", "Revert \"x\"\n"] {
        assert_eq!(check_commit_message(written), []);
    }
    for said in ["Merge all the things\n", "Revert to the old way\n"] {
        assert!(!check_commit_message(said).is_empty(), "{said}");
    }
    let long = good.replace("autoload", &"x".repeat(120));
    assert_eq!(check_commit_message(&long), [], "the template says nothing about length");
    let hollow = good.replace("Mitigations: none\n", "Mitigations:\n\nSigned-off-by: Ann <a@b>\n");
    assert_eq!(check_commit_message(&hollow)[0].1, "the section `Risks:` is empty");
    let bad = "feature(7): \nWhy:\nTests: none\nTouches: a\n";
    let said: Vec<String> =
        check_commit_message(bad).iter().map(|(n, text)| format!("{n}: {text}")).collect();
    assert_eq!(
        said,
        [
            "1: type \"feature\" is none of feat, fix, refactor, test, docs, chore, perf, build, ci",
            "1: \"7\" is not a task id",
            "1: the summary is missing after `: `",
            "2: the line after the summary is not empty",
            "2: the section `Why:` is empty",
            "3: the section `Tests:` is out of order",
            "4: the section `Risks/Mitigations:` is missing",
        ]
    );
    assert_eq!(check_commit_message("\n\n")[0].1, "the message is empty");
}

#[test]
fn tasks_are_listed_as_the_command_line_of_the_tree_does() {
    let tasks = json!([{"id": "a", "title": "Gr\u{f6}\u{df}e", "status": "queued", "priority": "P1", "assignee": null}]);
    assert_eq!(
        task_lines(&tasks),
        "# tasks (v1) — 1 items\n-        a | queued | P1 | - | Größe\n"
    );
    assert_eq!(pretty_ascii(&json!({"t": "ö😀"})), "{\n  \"t\": \"\\u00f6\\ud83d\\ude00\"\n}\n");
}

#[test]
fn the_board_shows_tasks_by_state_with_their_badges() {
    let record = |id: &str, status: &str, outside: Value| {
        json!({"id": id, "title": format!("t {id}"), "status": status, "priority": "P1", "assignee": null,
            "updated_at": id, "external_ids": outside})
        .as_object()
        .unwrap()
        .clone()
    };
    let tasks = [
        record(
            "a",
            "in_progress",
            json!({"github": {"issue": "7", "pr": 8}, "linear": {"id": "X-1"}}),
        ),
        record("b", "queued", json!({})),
        record("c", "approved", json!({})),
    ];
    let text = board(&tasks, "now");
    assert_eq!(
        text,
        "# Project Board\n\nGenerated: now\n\n## Now (1)\n\n- a [P1] (-) — t a [GH#7, PR#8, LIN:X-1]\n\n\
         ## Next (1)\n\n- b [P1] (-) — t b\n\n## Review / Blocked (1)\n\n- c [P1] (-) — t c\n\n\
         ## Done (recent 10) (0)\n\n- _None_\n\n"
    );
}
