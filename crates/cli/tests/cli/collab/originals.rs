//! Trees that the original server and its command line wrote, read and kept as they are.

use super::{Rpc, edit, empty_root, entry, state, write_state};
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
    let away = ["task", "depend", "task-002", "--on", "task-009", "--remove"];
    sandbox.comity().by("human:ann").args(&away).json();
    sync(&sandbox, 0);
    let states = ["import", "collab", ".", "--with-state"];
    sandbox.comity().by("human:ann").args(&states).json();
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
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["status"] = json!("claimed"));
    sync(&sandbox, 0);
    let task = show(&sandbox, "task-001");
    assert_eq!((&task["status"], &task["title"]), (&json!("claimed"), &json!("Uno")));
}

#[test]
fn what_a_task_needs_is_said_before_it_is_blocked_and_who_was_stopped_goes_on() {
    let (sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "human:ann");
    let id = rpc.ok("create_task", &json!({"title": "One", "assignee": "codex-cli"}))["id"].clone();
    let to = |status: &str| json!({"id": id, "new_status": status});
    rpc.ok("transition_task", &to("in_progress"));
    rpc.ok("update_task", &json!({"id": id, "needs": "a key"}));
    rpc.ok("transition_task", &to("blocked"));
    let task = rpc.ok("list_tasks", &json!({}))["tasks"][0].clone();
    assert_eq!((&task["status"], &task["needs"]), (&json!("blocked"), &json!("a key")));
    rpc.ok("transition_task", &to("in_progress"));
    let task = rpc.ok("list_tasks", &json!({}))["tasks"][0].clone();
    let who = (&task["status"], &task["assignee"]);
    assert_eq!(who, (&json!("in_progress"), &json!("codex-cli")));
    // The other way, all at once and by the one who holds it.
    let second = rpc.ok("create_task", &json!({"title": "Two", "needs": "time"}))["id"].clone();
    rpc.ok("update_task", &json!({"id": second, "status": "blocked"}));
    rpc.end();
    let second = second.as_str().unwrap();
    assert_eq!(show(&sandbox, second)["needs"], "time");
    let id = id.as_str().unwrap();
    let codex = |args: &[&str]| sandbox.comity().by("codex-cli").args(args).json();
    codex(&["task", "block", id, "--needs", "another key"]);
    assert_eq!(codex(&["task", "start", id])["task"]["claim"]["agent"], "codex-cli");
}

#[test]
fn the_command_line_says_what_a_task_needs_and_why() {
    let (sandbox, _root) = empty_root();
    let collab = |args: &[&str]| {
        let all: Vec<&str> = ["collab"].iter().chain(args).copied().collect();
        let done = sandbox.comity().by("human:ann").args(&all).done();
        assert_eq!(done.exit, 0, "{}", done.stderr);
        done.stdout.trim().to_owned()
    };
    let id = collab(&["create-task", "--title", "One"]);
    let block = ["transition-task", &id, "blocked", "--needs", "a key", "--reason", "it is locked"];
    collab(&block);
    assert_eq!(show(&sandbox, &id)["needs"], "a key");
    let events = sandbox.json(&["event", "list", "--type", "status_changed"])["events"].clone();
    assert_eq!(events[0]["reason"], "it is locked", "{events}");
    collab(&["update-task", &id, "--needs", "two keys"]);
    assert_eq!(show(&sandbox, &id)["needs"], "two keys");
}

#[test]
fn no_value_is_written_that_the_original_has_not() {
    let (sandbox, root) = with_tasks(&json!([
        {"id": "task-001", "title": "One", "status": "queued", "priority": null},
        {"id": "task-002", "title": "Two", "status": "queued", "priority": "P2"},
    ]));
    sync(&sandbox, 0);
    let file = state(&root, "tasks");
    assert_eq!(entry(&file, "tasks", "task-001").get("priority"), Some(&Value::Null));
    let mut rpc = Rpc::start(&root, "human:ann");
    rpc.ok("update_task", &json!({"id": "task-001", "priority": "P1"}));
    rpc.ok("update_task", &json!({"id": "task-002", "priority": null}));
    rpc.ok("update_agent", &json!({"id": "codex-cli", "role": "implementer"}));
    rpc.end();
    let file = state(&root, "tasks");
    assert_eq!(entry(&file, "tasks", "task-001")["priority"], "P1");
    assert_eq!(entry(&file, "tasks", "task-002").get("priority"), Some(&Value::Null));
    let agents = state(&root, "agents");
    assert_eq!(entry(&agents, "agents", "human:ann").get("role"), None, "{agents}");
    assert_eq!(entry(&agents, "agents", "codex-cli")["role"], "implementer");
}

#[test]
fn generated_ids_are_none_that_the_original_server_makes() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "human:ann");
    for n in 1..=3 {
        let id = rpc.ok("create_task", &json!({"title": "One"}))["id"].clone();
        let id = id.as_str().unwrap().to_owned();
        assert!((1..2000).all(|n| format!("task-{n:03}") != id), "{id}");
        assert_eq!(id, format!("task-{n:04}"));
    }
    rpc.end();
}

#[test]
fn the_server_is_not_proposed_for_work() {
    let (sandbox, root) = empty_root();
    sandbox.json(&["init"]);
    let mut rpc = Rpc::start(&root, "kyros-server");
    rpc.ok("create_task", &json!({"title": "One"}));
    assert_eq!(rpc.ok("suggest_assignee", &json!({"labels": []}))["assignee"], Value::Null);
    rpc.ok("update_agent", &json!({"id": "codex-cli", "skills": ["api"]}));
    assert_eq!(rpc.ok("suggest_assignee", &json!({"labels": []}))["assignee"], "codex-cli");
    rpc.end();
}

#[test]
fn who_starts_the_server_without_a_name_where_nobody_plans_can_use_every_method() {
    let (sandbox, root) = empty_root();
    let mut rpc = Rpc::unnamed(&root, &[]);
    let id = rpc.ok("create_task", &json!({"title": "One", "labels": ["api"]}))["id"].clone();
    rpc.ok("update_agent", &json!({"id": "codex-cli", "role": "implementer", "skills": ["api"]}));
    rpc.ok("update_agent", &json!({"id": "gemini", "role": "critic"}));
    rpc.ok("update_task", &json!({"id": id, "title": "Uno", "priority": "P1"}));
    let assigned = rpc.ok("auto_assign", &json!({"id": id}));
    assert_eq!(assigned, json!({"assignee": "codex-cli", "updated": true}));
    rpc.ok("transition_task", &json!({"id": id, "new_status": "in_progress"}));
    rpc.ok("link_external", &json!({"id": id, "provider": "github", "key": "issue", "value": 7}));
    rpc.ok("emit_event", &json!({"event": "note", "notes": "x"}));
    let lock = rpc.ok("acquire_lease", &json!({"path": "a", "owner": "codex-cli"}));
    rpc.ok("release_lease", &json!({"lock_id": lock["lock_id"], "owner": "codex-cli"}));
    for (method, params) in [
        ("get_state", json!({"kind": "tasks"})),
        ("list_tasks", json!({})),
        ("suggest_assignee", json!({"labels": []})),
        ("generate_log", json!({})),
        ("list_agents", json!({})),
    ] {
        rpc.ok(method, &params);
    }
    let said = rpc.end();
    assert!(said.contains("script:tester is a planner"), "{said}");
    assert_eq!(show(&sandbox, id.as_str().unwrap())["claim"]["agent"], "codex-cli");
}

#[test]
fn who_starts_it_where_somebody_plans_or_as_an_agent_plans_nothing() {
    for (vars, plans) in [(&[][..], true), (&[("CODEX_THREAD_ID", "019a92c4")][..], false)] {
        let (sandbox, root) = empty_root();
        sandbox.json(&["init"]);
        if plans {
            let register = ["agent", "register", "boss", "--role", "planner"];
            sandbox.comity().by("human:ann").args(&register).json();
        }
        let mut rpc = Rpc::unnamed(&root, vars);
        rpc.ok("create_task", &json!({"title": "One"}));
        let critic = json!({"id": "gemini", "role": "critic"});
        assert!(rpc.fails("update_agent", &critic).contains("planner"));
        rpc.end();
    }
}

#[test]
fn large_integers_in_ids_and_fields_survive() {
    let (sandbox, root) = empty_root();
    let large = "99999999999999999999";
    let tasks = format!(
        "{{\"tasks\": [{{\"id\": \"task-001\", \"title\": \"One\", \"n\": {large}, \
         \"external_ids\": {{\"jira\": {{\"id\": {large}}}}}}}]}}"
    );
    sandbox.write("collaboration/state/tasks.json", &tasks);
    let mut rpc = Rpc::start(&root, "human:ann");
    let list = format!("{{\"id\": {large}, \"method\": \"collab.list_tasks\"}}");
    let answer = rpc.raw(list.as_bytes());
    assert!(answer.contains(&format!("\"id\": {large}, \"result\"")), "{answer}");
    assert!(answer.contains(&format!("\"n\": {large}")), "{answer}");
    let update = "collab.update_task\", \"params\": {\"id\": \"task-001\", \"m\": ";
    rpc.raw(format!("{{\"method\": \"{update}-{large}}}}}").as_bytes());
    rpc.end();
    let file = std::fs::read_to_string(root.join("collaboration/state/tasks.json")).unwrap();
    for part in [format!("\"n\": {large}"), format!("\"m\": -{large}"), format!("\"id\": {large}")]
    {
        assert!(file.contains(&part), "{part}: {file}");
    }
    let links = show(&sandbox, "task-001")["external_ids"].clone();
    assert_eq!(links, json!({"jira": {"id": large}}));
}
