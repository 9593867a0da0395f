//! Trees that the original server and its command line wrote, read and kept as they are.

use super::{edit, empty_root, entry, state, write_state};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// Syncs once; what could not be read is the caller's to mend.
fn sync(sandbox: &Sandbox, exit: i32) -> Value {
    let done = sandbox.comity().by("human:ann").args(&["sync", "collab", "--json"]).done();
    assert_eq!(done.exit, exit, "{}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

fn show(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.json(&["task", "show", id])["task"].clone()
}

fn with_tasks(tasks: &Value) -> (Sandbox, std::path::PathBuf) {
    let (sandbox, root) = empty_root();
    sandbox.json(&["init"]);
    write_state(&root, "tasks", &json!({"version": 1, "tasks": tasks}));
    (sandbox, root)
}

#[test]
fn a_dependency_that_is_not_in_the_file_is_kept_and_waited_for() {
    let (sandbox, root) = with_tasks(&json!([
        {"id": "task-002", "title": "Two", "status": "queued", "dependencies": ["task-001", "task-009"]},
        {"id": "task-001", "title": "One", "status": "done", "dependencies": []},
    ]));
    let report = sync(&sandbox, 0);
    assert_eq!(report["refused"], json!([]), "{report}");
    let wanted = json!(["task-001", "task-009"]);
    assert_eq!(show(&sandbox, "task-002")["dependencies"], wanted);
    let file = state(&root, "tasks");
    assert_eq!(entry(&file, "tasks", "task-002")["dependencies"], wanted, "nothing is erased");
    let claim = ["task", "claim", "task-002"];
    assert_eq!(sandbox.refused(&claim), ("not-ready".to_owned(), 3));
    sandbox.json(&["task", "create", "Nine", "--id", "task-009", "--deliverable", "none"]);
    assert_eq!(sandbox.refused(&claim), ("not-ready".to_owned(), 3), "it is there and not done");
    let by_hand = ["task", "depend", "task-009", "--on", "task-777"];
    assert_eq!(sandbox.refused(&by_hand), ("not-found".to_owned(), 4));
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["dependencies"] = json!(["task-001"]));
    sync(&sandbox, 0);
    sandbox.json(&claim);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    sandbox.json(&["doctor"]);
}

#[test]
fn what_cannot_be_read_stays_as_it_is_and_everything_else_is_taken() {
    let cancelled =
        json!({"id": "task-001", "title": "One", "status": "cancelled", "labels": ["a"]});
    let (sandbox, root) = with_tasks(&json!([
        cancelled,
        {"id": "task-002", "title": "Two", "status": "queued"},
        {"id": "task-003", "title": "Three", "status": "finished"},
        {"id": "task-004", "title": 4, "status": "queued"},
        {"id": "task-005"},
    ]));
    let report = sync(&sandbox, 2);
    let problems = report["problems"].to_string();
    let untitled = "tasks[4].title: task-005 has no title";
    for place in ["tasks[0].status", "tasks[2].status", "tasks[3].title", untitled] {
        assert!(problems.contains(place), "{place}: {problems}");
    }
    assert_eq!(show(&sandbox, "task-002")["title"], "Two");
    assert_eq!(*entry(&state(&root, "tasks"), "tasks", "task-001"), cancelled);
    // What happens here is written beside it.
    let update = ["task", "update", "task-002", "--title", "Due"];
    sandbox.comity().by("human:ann").args(&update).json();
    sync(&sandbox, 2);
    let file = state(&root, "tasks");
    assert_eq!(entry(&file, "tasks", "task-002")["title"], "Due");
    assert_eq!(*entry(&file, "tasks", "task-001"), cancelled);
    edit(&root, "tasks", |tasks| {
        for entry in tasks["tasks"].as_array_mut().unwrap() {
            entry["status"] = json!("queued");
            entry["title"] = json!("mended");
        }
    });
    assert_eq!(sync(&sandbox, 0)["problems"], json!([]));
    for id in ["task-001", "task-002", "task-003", "task-004", "task-005"] {
        assert_eq!(show(&sandbox, id)["title"], "mended");
    }
}

#[test]
fn a_known_task_that_is_edited_to_what_cannot_be_read_is_kept_until_it_is_mended() {
    let (sandbox, root) = with_tasks(&json!([
        {"id": "task-001", "title": "One", "status": "queued"},
        {"id": "task-002", "title": "Two", "status": "queued"},
    ]));
    sync(&sandbox, 0);
    edit(&root, "tasks", |tasks| {
        tasks["tasks"][0]["status"] = json!("cancelled");
        tasks["tasks"][0]["title"] = json!("Uno");
        tasks["tasks"][1]["title"] = json!("Due");
    });
    for _ in 0..2 {
        let report = sync(&sandbox, 2);
        assert!(report["problems"].to_string().contains("tasks[0].status"), "{report}");
        assert_eq!(show(&sandbox, "task-002")["title"], "Due");
        assert_eq!(show(&sandbox, "task-001")["title"], "One");
        let file = state(&root, "tasks");
        let left = entry(&file, "tasks", "task-001");
        assert_eq!((&left["status"], &left["title"]), (&json!("cancelled"), &json!("Uno")));
    }
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["status"] = json!("abandoned"));
    sync(&sandbox, 0);
    let task = show(&sandbox, "task-001");
    assert_eq!((&task["status"], &task["title"]), (&json!("abandoned"), &json!("Uno")));
}
