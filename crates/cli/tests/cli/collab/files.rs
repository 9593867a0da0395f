//! Files in, files out, and edits between.

use super::{Rpc, edit, empty_root, entry, state, state_file, titles, write_state};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

const SEED: &str = include_str!("../../../../protocol/tests/golden/collab/tasks.json");

pub fn sync(sandbox: &Sandbox) -> Value {
    sandbox.comity().by("human:ann").args(&["sync", "collab"]).json()
}

pub fn texts(value: &Value) -> String {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

pub fn seeded() -> (Sandbox, std::path::PathBuf) {
    let (sandbox, root) = empty_root();
    sandbox.comity().by("human:ann").args(&["init", "--yes"]).json();
    (sandbox, root)
}

/// The same where a file may change tasks, too, that were not made in it.
pub fn widened() -> (Sandbox, std::path::PathBuf) {
    let (sandbox, root) = seeded();
    let path = root.join(".comity/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let more = "[roles]\nimplementer = [\"update\", \"register\", \"assign\"]";
    std::fs::write(&path, config.replace("[roles]", more)).unwrap();
    (sandbox, root)
}

#[test]
fn a_tree_is_imported_with_states_order_and_unknown_keys_and_left_alone() {
    let (sandbox, root) = seeded();
    let now =
        sandbox.json(&["agent", "heartbeat"])["agent"]["last_seen"].as_str().unwrap().to_owned();
    let mut tasks: Value = serde_json::from_str(SEED).unwrap();
    tasks["tasks"].as_array_mut().unwrap().push(
        json!({"id": "T-103", "title": "Before", "status": "done", "assignee": "agent.impl.1"}),
    );
    write_state(&root, "tasks", &tasks);
    write_state(
        &root,
        "locks",
        &json!({"version": 1, "locks": [{
        "path": "src/queue/runner.py", "owner": "agent.impl.1", "purpose": "T-142", "lock_id": "L-673a",
        "acquired_at": now, "ttl_seconds": 900, "heartbeat_at": now}]}),
    );
    write_state(
        &root,
        "agents",
        &json!({"version": 1, "agents": [
        {"id": "agent.critic.1", "role": "critic", "skills": ["tests"], "status": "idle", "last_seen": null, "model": "m"}]}),
    );
    sandbox.write(
        "collaboration/events/events.jsonl",
        "{\"event\": \"note\", \"notes\": \"old\", \"ts\": \"2025-01-01T00:00:00Z\"}\n",
    );
    let before = std::fs::read(state_file(&root, "tasks")).unwrap();
    let report = sandbox
        .comity()
        .by("human:ann")
        .args(&["import", "collab", "collaboration", "--with-state"])
        .json();
    assert_eq!(report["problems"], json!([]));
    assert_eq!(report["refused"], json!([]), "{report}");
    assert_eq!(
        std::fs::read(state_file(&root, "tasks")).unwrap(),
        before,
        "import writes nothing there"
    );
    let show = |id: &str| sandbox.json(&["task", "show", id])["task"].clone();
    assert_eq!(show("T-103")["status"], "done");
    assert_eq!(show("T-142")["dependencies"], json!(["T-103"]));
    let blocked = show("task-007");
    assert_eq!((&blocked["status"], &blocked["needs"]), (&json!("blocked"), &json!("a key")));
    assert_eq!(blocked["context"]["collab"]["estimate"], json!({"hours": 2.5, "by": null}));
    assert_eq!(sandbox.json(&["lease", "list"])["leases"][0]["owner"], "agent.impl.1");
    assert_eq!(
        sandbox.json(&["agent", "show", "agent.critic.1"])["agent"]["roles"],
        json!(["critic"])
    );
    assert_eq!(sandbox.json(&["event", "list", "--type", "note"])["events"][0]["notes"], "old");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    // Out again, it is the same, but for what comity knows better.
    sandbox.comity().by("human:ann").args(&["export", "collab", "out"]).json();
    let out: Value =
        serde_json::from_slice(&std::fs::read(root.join("out/state/tasks.json")).unwrap()).unwrap();
    for task in tasks["tasks"].as_array().unwrap() {
        let theirs = entry(&out, "tasks", task["id"].as_str().unwrap());
        for (key, value) in task.as_object().unwrap().iter().filter(|(key, _)| *key != "updated_at")
        {
            assert_eq!(&theirs[key], value, "{key} of {}", task["id"]);
        }
    }
    let again = sandbox.comity().by("human:ann").args(&["import", "collab", "."]).json();
    assert_eq!(again["taken"], json!([]), "what is there is not taken twice");
}

#[test]
fn an_export_does_not_write_over_what_somebody_else_wrote() {
    let (sandbox, root) = seeded();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sandbox.json(&["export", "collab", "collaboration"]);
    sandbox.json(&["export", "collab", "collaboration"]);
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["title"] = json!("Uno"));
    assert_eq!(
        sandbox.refused(&["export", "collab", "collaboration"]),
        ("etag-mismatch".to_owned(), 3)
    );
    assert_eq!(state(&root, "tasks")["tasks"][0]["title"], "Uno");
}

#[test]
fn a_valid_edit_is_taken_over_as_events() {
    let (sandbox, root) = widened();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    edit(&root, "tasks", |tasks| {
        tasks["tasks"][0]["title"] = json!("Uno");
        tasks["tasks"][0]["status"] = json!("claimed");
        tasks["tasks"][0]["color"] = json!("red");
        let new = json!({"id": "task-777", "title": "By hand", "status": "queued", "dependencies": ["task-001"]});
        tasks["tasks"].as_array_mut().unwrap().insert(0, new);
        tasks["$schema"] = json!("kept");
    });
    let report = sync(&sandbox);
    assert_eq!(report["refused"], json!([]), "{report}");
    let task = sandbox.json(&["task", "show", "task-001"])["task"].clone();
    assert_eq!((&task["title"], &task["status"]), (&json!("Uno"), &json!("claimed")));
    assert_eq!(
        sandbox.json(&["task", "show", "task-777"])["task"]["dependencies"],
        json!(["task-001"])
    );
    let file = state(&root, "tasks");
    assert_eq!(file["tasks"][0]["id"], "task-777", "places are kept");
    assert_eq!((&file["$schema"], &file["tasks"][1]["color"]), (&json!("kept"), &json!("red")));
    assert_eq!(file["tasks"][1]["assignee"], "file:collaboration/state/tasks.json");
    let again = sync(&sandbox);
    assert_eq!(
        (&again["taken"], &again["written"]),
        (&json!([]), &json!([])),
        "a second look finds nothing"
    );
}

#[test]
fn an_invalid_edit_is_reported_with_its_place_and_not_overwritten() {
    let (sandbox, root) = seeded();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    let path = state_file(&root, "tasks");
    for (bad, place) in [
        ("{\"version\": 1,\n \"tasks\": [}\n", "line 2, column"),
        (
            "{\"tasks\": [{\"id\": \"task-001\", \"title\": \"x\", \"status\": \"finished\"}]}",
            "tasks[0].status",
        ),
    ] {
        std::fs::write(&path, bad).unwrap();
        let done = sandbox.comity().by("human:ann").args(&["sync", "collab", "--json"]).done();
        assert_eq!(done.exit, 2);
        let report: Value = serde_json::from_str(&done.stdout).unwrap();
        assert!(texts(&report["problems"]).contains(place), "{report}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bad, "it stays as it was left");
    }
    assert_eq!(sandbox.json(&["task", "show", "task-001"])["task"]["title"], "One");
}

#[test]
fn what_is_no_file_is_a_problem_of_its_own_and_left_alone() {
    let (sandbox, root) = seeded();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    let elsewhere = sandbox.outside().join("elsewhere.json");
    std::fs::write(&elsewhere, "{}").unwrap();
    let make = |what: &str, path: &std::path::Path| match what {
        "a directory" => std::fs::create_dir(path).unwrap(),
        "a link" => std::os::unix::fs::symlink(&elsewhere, path).unwrap(),
        _ => {
            let done = std::process::Command::new("mkfifo").arg(path).status().unwrap();
            assert!(done.success());
        }
    };
    let events = root.join("collaboration/events/events.jsonl");
    let log = root.join("collaboration/logs/log.md");
    for path in [state_file(&root, "tasks"), state_file(&root, "locks"), events, log] {
        for what in ["a directory", "a link", "a pipe"] {
            std::fs::remove_file(&path).unwrap();
            make(what, &path);
            let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
            sandbox.json(&["lease", "acquire", "src/a"]);
            let done = sandbox.comity().by("human:ann").args(&["sync", "collab"]).done();
            let said = format!("{}: this is {what}", path.display());
            assert!(done.exit == 2 && done.stdout.contains(&said), "{said}: {}", done.stdout);
            assert_eq!(std::fs::symlink_metadata(&path).unwrap().file_type(), kind);
            if kind.is_dir() {
                std::fs::remove_dir(&path).unwrap();
                std::fs::write(&path, "").unwrap();
            }
        }
        std::fs::remove_file(&path).unwrap();
        sync(&sandbox);
    }
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "{}");
    assert_eq!(sandbox.json(&["lease", "list"])["leases"].as_array().unwrap().len(), 1);
}

#[test]
fn what_the_rules_refuse_is_said_and_put_back() {
    let (sandbox, root) = seeded();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["status"] = json!("done"));
    let report = sync(&sandbox);
    assert!(texts(&report["refused"]).contains("invalid-transition"), "{report}");
    assert_eq!(state(&root, "tasks")["tasks"][0]["status"], "queued");
}

#[test]
fn a_missing_task_is_not_deleted_and_an_older_value_is_no_edit() {
    let (sandbox, root) = widened();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sandbox.json(&["task", "create", "Two", "--id", "task-002"]);
    sync(&sandbox);
    let read_early = state(&root, "tasks");
    sandbox.comity().by("human:ann").args(&["task", "update", "task-001", "--title", "Uno"]).json();
    sandbox.comity().by("human:ann").args(&["task", "start", "task-002"]).json();
    sync(&sandbox);
    // Somebody writes what they read before that, with one change and one task less.
    let mut late = read_early;
    late["tasks"][0]["description"] = json!("more");
    late["tasks"].as_array_mut().unwrap().pop();
    write_state(&root, "tasks", &late);
    let report = sync(&sandbox);
    assert_eq!(report["refused"], json!([]), "{report}");
    let task = sandbox.json(&["task", "show", "task-001"])["task"].clone();
    assert_eq!((&task["title"], &task["description"]), (&json!("Uno"), &json!("more")));
    assert_eq!(sandbox.json(&["task", "show", "task-002"])["task"]["status"], "in_progress");
    let file = state(&root, "tasks");
    assert_eq!(entry(&file, "tasks", "task-001")["title"], "Uno");
    assert_eq!(entry(&file, "tasks", "task-002")["status"], "in_progress");
}

#[test]
fn a_conflict_is_settled_by_the_rules_and_said() {
    let (sandbox, root) = widened();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    let early = state(&root, "tasks");
    sandbox.comity().by("human:ann").args(&["task", "update", "task-001", "--title", "Uno"]).json();
    let mut late = early;
    late["tasks"][0]["title"] = json!("Eins");
    write_state(&root, "tasks", &late);
    let report = sync(&sandbox);
    assert!(
        texts(&report["conflicts"]).contains("\"Uno\" here and \"Eins\" in the file"),
        "{report}"
    );
    assert_eq!(sandbox.json(&["task", "show", "task-001"])["task"]["title"], "Eins");
}

#[test]
fn locks_of_other_tools_are_taken_renewed_and_released() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    let now =
        sandbox.json(&["agent", "heartbeat"])["agent"]["last_seen"].as_str().unwrap().to_owned();
    let lock = |id: &str, path: &str, at: &str| {
        json!({"path": path, "owner": "codex-cli", "purpose": "task-004",
        "lock_id": id, "acquired_at": at, "ttl_seconds": 900, "heartbeat_at": at})
    };
    write_state(
        &root,
        "locks",
        &json!({"version": 1, "locks": [lock("L-1234abcd", "a.py", &now), lock("L-1234abce", "b.py", "2020-01-01T00:00:00Z")]}),
    );
    let report = sync(&sandbox);
    assert!(texts(&report["refused"]).contains("run out"), "{report}");
    let locks = state(&root, "locks");
    assert_eq!(locks["locks"].as_array().unwrap().len(), 1);
    assert_eq!(locks["locks"][0]["lock_id"], "L-1234abcd");
    assert_eq!(sandbox.json(&["lease", "list"])["leases"][0]["owner"], "codex-cli");
    edit(&root, "locks", |locks| locks["locks"] = json!([]));
    sync(&sandbox);
    assert_eq!(sandbox.json(&["lease", "list"])["leases"], json!([]));
}

#[test]
fn the_tree_of_the_successor_is_refused_and_left_alone() {
    let (sandbox, root) = seeded();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    let praxis = json!([{"resourceId": "a", "agentId": "x", "expiresAt": 1}]);
    write_state(&root, "locks", &praxis);
    let tasks = json!({"tasks": [{"id": "x", "title": "theirs", "status": "todo"}]});
    write_state(&root, "tasks", &tasks);
    let before = sandbox.head();
    for args in [
        &["sync", "collab"][..],
        &["import", "collab", "collaboration"],
        &["export", "collab", "collaboration"],
        &["rpc"],
    ] {
        let (error, exit) = sandbox.comity().args(args).refusal();
        assert_eq!(exit, 2, "{args:?}");
        assert!(error["message"].as_str().unwrap().contains("kyros-praxis"), "{error}");
    }
    assert_eq!((state(&root, "locks"), state(&root, "tasks")), (praxis, tasks));
    assert_eq!(sandbox.head(), before);
}

#[test]
fn events_of_agents_are_consolidated_once() {
    let (sandbox, root) = seeded();
    sandbox.write("collaboration/events/agents/codex-cli.jsonl", "{\"event\": \"commit_pushed\", \"sha\": \"a1\", \"ts\": \"2025-09-03T11:00:00Z\"}\nnot json\n{\"event\": \"half");
    let done = sandbox.comity().by("human:ann").args(&["sync", "collab"]).done();
    assert_eq!(done.exit, 2);
    assert!(done.stdout.contains("not a JSON object"), "{}", done.stdout);
    sync(&sandbox);
    let events = std::fs::read_to_string(root.join("collaboration/events/events.jsonl")).unwrap();
    let pushed: Vec<&str> = events.lines().filter(|line| line.contains("commit_pushed")).collect();
    assert_eq!(pushed.len(), 1, "{events}");
    assert!(
        pushed[0].starts_with("{\"event\": \"commit_pushed\", ")
            && pushed[0].ends_with("\"ts\": \"2025-09-03T11:00:00Z\"}"),
        "{}",
        pushed[0]
    );
    // What another tool appends to the file itself is taken, and not written a second time.
    let line = "{\"event\": \"tests_run\", \"result\": \"pass\"}\n";
    let path = root.join("collaboration/events/events.jsonl");
    std::fs::write(&path, format!("{events}{line}")).unwrap();
    sync(&sandbox);
    assert_eq!(
        sandbox.json(&["event", "list", "--type", "tests_run"])["events"].as_array().unwrap().len(),
        1
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap().matches("tests_run").count(), 1);
}

#[test]
fn an_older_state_file_is_taken_over_with_agents_and_locks() {
    let (sandbox, _root) = seeded();
    sandbox.write("state.json", r#"{"overall_goal": "Ship it", "tasks": [
        {"id": "task-002", "description": "Second", "status": "pending", "assignee": null, "dependencies": ["task-001"]},
        {"id": "task-001", "description": "First", "status": "completed", "assignee": "codex-cli", "dependencies": []}],
        "file_locks": {"a.py": "gemini-cli"}}"#);
    let agent = "codex-cli=critic:python,ci";
    let report = sandbox
        .comity()
        .by("human:ann")
        .args(&["import", "v1", "state.json", "--with-state", "--agent", agent])
        .json();
    assert_eq!(report["refused"], json!([]), "{report}");
    let first = sandbox.json(&["task", "show", "task-001"])["task"].clone();
    assert_eq!(
        (&first["status"], &first["title"], &first["assignee"]),
        (&json!("done"), &json!("First"), &json!("codex-cli"))
    );
    assert_eq!(
        sandbox.json(&["task", "show", "task-002"])["task"]["dependencies"],
        json!(["task-001"])
    );
    let agent = sandbox.json(&["agent", "show", "codex-cli"])["agent"].clone();
    assert_eq!((&agent["roles"], &agent["skills"]), (&json!(["critic"]), &json!(["python", "ci"])));
    assert_eq!(sandbox.json(&["lease", "list"])["leases"][0]["owner"], "gemini-cli");
    assert_eq!(sandbox.refused(&["import", "v1", "."]).1, 2);
    sandbox.write("bad.json", "{\"tasks\": [{\"description\": \"x\"}]}");
    let (error, exit) = sandbox.comity().args(&["import", "v1", "bad.json"]).refusal();
    assert_eq!(exit, 2);
    assert!(error["message"].as_str().unwrap().contains("tasks[0].id"), "{error}");
}

#[test]
fn a_tree_that_is_there_is_seen_by_the_first_request() {
    let (_sandbox, root) = seeded();
    let tasks: Value = serde_json::from_str(SEED).unwrap();
    write_state(&root, "tasks", &tasks);
    let mut rpc = Rpc::start(&root, "human:ann");
    rpc.ok("transition_task", &json!({"id": "task-007", "new_status": "abandoned"}));
    edit(&root, "tasks", |tasks| {
        tasks["tasks"].as_array_mut().unwrap().push(json!({"id": "late", "title": "Late"}));
    });
    rpc.ok("update_task", &json!({"id": "late", "title": "Later"}));
    assert_eq!(rpc.ok("list_tasks", &json!({}))["tasks"].as_array().unwrap().len(), 3);
    rpc.end();
}

#[test]
fn what_a_killed_process_had_in_its_hands_is_taken_over() {
    let (sandbox, root) = widened();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    let mut edited = state(&root, "tasks");
    edited["tasks"][0]["title"] = json!("Uno");
    let displaced = root.join("collaboration/state/.tasks.json.comity-1-0");
    std::fs::write(&displaced, edited.to_string()).unwrap();
    let half = root.join("collaboration/state/.locks.json.comity-1-1");
    std::fs::write(&half, "{\"version\": 1, \"lo").unwrap();
    let done = sandbox.comity().by("human:ann").args(&["sync", "collab"]).done();
    assert!(done.exit == 2 && done.stdout.contains("locks.json.left-1-1"), "{}", done.stdout);
    sync(&sandbox);
    assert_eq!(sandbox.json(&["task", "show", "task-001"])["task"]["title"], "Uno");
    assert!(!displaced.exists() && !half.exists());
}

#[test]
fn the_tree_of_another_store_brings_its_events_and_ones_own_does_not() {
    let (sandbox, root) = seeded();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sandbox.json(&["export", "collab", "out"]);
    let own = sandbox.head();
    sandbox.json(&["import", "collab", "out"]);
    assert_eq!(sandbox.head(), own, "nothing is new");
    let (other, _) = seeded();
    let tree = root.join("out").display().to_string();
    other.json(&["import", "collab", &tree]);
    let created = other.json(&["event", "list", "--type", "task_created"]);
    assert_eq!(
        created["events"].as_array().unwrap().len(),
        2,
        "ours, and the one they tell of: {created}"
    );
}

#[test]
fn two_tasks_made_under_one_id_are_both_kept() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    sandbox.json(&["task", "create", "Ours", "--id", "task-001"]);
    edit(&root, "tasks", |tasks| {
        tasks["tasks"].as_array_mut().unwrap().push(json!({"id": "task-001", "title": "Theirs"}));
    });
    let report = sync(&sandbox);
    assert!(texts(&report["conflicts"]).contains("another task has this id"), "{report}");
    assert_eq!(titles(&root), ["Ours", "Theirs"]);
}
