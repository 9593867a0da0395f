//! `comity rpc`: shapes, messages and codes of the fourteen methods, and what is added.

use super::{Rpc, empty_root, state, state_file};
use comity_core::chain::Hash;
use serde_json::{Value, json};

#[test]
fn initialize_and_the_wire_are_those_of_the_seed() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "agent.impl.1");
    assert_eq!(
        rpc.raw(br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#),
        "{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {\"capabilities\": {\"experimental\": true}}}\n"
    );
    assert_eq!(
        rpc.raw(br#"{"id":"a","method":"collab.nope"}"#),
        "{\"jsonrpc\": \"2.0\", \"id\": \"a\", \"error\": {\"code\": -32601, \"message\": \"Method not found: collab.nope\"}}\n"
    );
    // Blank lines are passed over; a request without an id is answered with null.
    let answer = rpc.raw(
        b"\n\n{\"method\":\"collab.create_task\",\"params\":{\"title\":\"Gr\xc3\xb6\xc3\x9fe\"}}",
    );
    assert_eq!(
        answer,
        "{\"jsonrpc\": \"2.0\", \"id\": null, \"result\": {\"id\": \"task-0001\"}}\n"
    );
    let listed = rpc.raw(br#"{"id":2,"method":"collab.list_tasks"}"#);
    assert!(listed.contains("\"title\": \"Größe\""), "{listed}");
    rpc.end();
}

#[test]
fn what_cannot_be_read_is_answered_and_the_stream_goes_on() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "agent.impl.1");
    let long = format!("{{\"id\":1,\"method\":\"{}\"}}", "x".repeat(5 * 1024 * 1024));
    for bad in [&b"{"[..], b"\xff\xfe", b"[]", b"7", long.as_bytes()] {
        let answer: Value = serde_json::from_str(&rpc.raw(bad)).unwrap();
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert!(answer["error"]["data"].get("traceback").is_none(), "{answer}");
    }
    assert!(
        rpc.raw(br#"{"id":5,"method":"collab.create_task","params":[1]}"#).contains("\"id\": 5")
    );
    assert_eq!(
        rpc.raw(br#"{"id":53}"#),
        "{\"jsonrpc\": \"2.0\", \"id\": 53, \"error\": {\"code\": -32601, \"message\": \"Method not found: None\"}}\n"
    );
    assert!(rpc.fails("create_task", &json!({})).contains("title"));
    rpc.ok("create_task", &json!({"title": "still here"}));
    rpc.end();
}

#[test]
fn tasks_are_created_and_listed_with_the_keys_of_the_seed() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "agent.impl.1");
    assert_eq!(
        rpc.ok("create_task", &json!({"title": "One", "labels": ["a"], "priority": "P1"})),
        json!({"id": "task-0001"})
    );
    assert_eq!(
        rpc.ok("create_task", &json!({"title": "Two", "id": "T-142"})),
        json!({"id": "T-142"})
    );
    assert!(rpc.fails("create_task", &json!({"title": "Two", "id": "T-142"})).contains("T-142"));
    assert_eq!(rpc.ok("create_task", &json!({"title": "Three"})), json!({"id": "task-0003"}));
    let tasks = rpc.ok("list_tasks", &json!({"status": "queued"}));
    let first = tasks["tasks"][0].as_object().unwrap();
    let keys: Vec<&String> = first.keys().collect();
    assert_eq!(
        keys,
        [
            "id",
            "title",
            "description",
            "status",
            "assignee",
            "priority",
            "labels",
            "dependencies",
            "blockers",
            "branch",
            "created_at",
            "updated_at",
            "dod",
            "needs"
        ]
    );
    assert_eq!(first["created_at"].as_str().unwrap().len(), "2025-09-03T10:32:00Z".len());
    rpc.end();
}

#[test]
fn tasks_are_changed_and_moved_by_the_rules() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "agent.impl.1");
    rpc.ok("create_task", &json!({"title": "One"}));
    assert_eq!(
        rpc.fails("transition_task", &json!({"id": "task-0001", "new_status": "review"})),
        "Invalid transition queued -> review"
    );
    assert_eq!(
        rpc.fails("transition_task", &json!({"id": "task-0001", "new_status": "finished"})),
        "Invalid status"
    );
    assert_eq!(
        rpc.fails("transition_task", &json!({"id": "task-9", "new_status": "claimed"})),
        "Task not found"
    );
    assert_eq!(
        rpc.ok("transition_task", &json!({"id": "task-0001", "new_status": "claimed"})),
        json!({"ok": true})
    );
    // The state machine is not passed by an update either, and what is blocked says what it needs.
    assert_eq!(
        rpc.fails("update_task", &json!({"id": "task-0001", "status": "done"})),
        "Invalid transition claimed -> done"
    );
    assert_eq!(
        rpc.fails("update_task", &json!({"id": "task-0001", "status": "x"})),
        "Invalid status"
    );
    rpc.fails("update_task", &json!({"id": "task-0001", "status": "blocked"}));
    assert_eq!(rpc.fails("update_task", &json!({"id": "task-77", "title": "x"})), "Task not found");
    rpc.ok(
        "update_task",
        &json!({"id": "task-0001", "title": "Uno", "foo": {"bar": [1]}, "priority": "urgent"}),
    );
    rpc.ok("update_task", &json!({"id": "task-0001", "status": "blocked", "needs": "a key"}));
    rpc.ok(
        "link_external",
        &json!({"id": "task-0001", "provider": "github", "key": "issue", "value": "7"}),
    );
    rpc.end();

    let task = state(&root, "tasks")["tasks"][0].clone();
    assert_eq!(task["title"], "Uno");
    assert_eq!(task["foo"], json!({"bar": [1]}));
    assert_eq!(task["priority"], "urgent");
    assert_eq!((&task["status"], &task["needs"]), (&json!("blocked"), &json!("a key")));
    assert_eq!(task["external_ids"], json!({"github": {"issue": "7"}}));
}

#[test]
fn leases_are_the_owners_that_are_named_and_events_name_the_process() {
    let (sandbox, root) = empty_root();
    let mut rpc = Rpc::with(&root, "front-end", &[("COLLAB_TTL", "120")]);
    let lock = rpc.ok(
        "acquire_lease",
        &json!({"path": "src/a.py", "owner": "agent.impl.1", "purpose": "T-142"}),
    );
    assert_eq!(lock, json!({"lock_id": "L-00000001"}));
    assert_eq!(
        rpc.fails("acquire_lease", &json!({"path": "src/a.py", "owner": "agent.impl.2"})),
        "Active lease exists for src/a.py: L-00000001"
    );
    let mismatch = "Lease not found or ownership mismatch";
    for method in ["renew_lease", "release_lease"] {
        assert_eq!(
            rpc.fails(method, &json!({"lock_id": "L-00000001", "owner": "agent.impl.2"})),
            mismatch
        );
        assert_eq!(
            rpc.fails(method, &json!({"lock_id": "L-1234abcd", "owner": "agent.impl.1"})),
            mismatch
        );
    }
    assert_eq!(
        rpc.ok("renew_lease", &json!({"lock_id": "L-00000001", "owner": "agent.impl.1"})),
        json!({"ok": true})
    );
    let locks = rpc.ok("get_state", &json!({"kind": "locks"}));
    assert_eq!(locks["data"]["locks"][0]["ttl_seconds"], 120);
    assert_eq!(locks["data"]["locks"][0]["owner"], "agent.impl.1");
    let bytes = std::fs::read(state_file(&root, "locks")).unwrap();
    assert_eq!(locks["etag"], Hash::of(&bytes).to_string());
    assert_eq!(
        rpc.ok("release_lease", &json!({"lock_id": "L-00000001", "owner": "agent.impl.1"})),
        json!({"ok": true})
    );
    assert_eq!(rpc.ok("reclaim", &json!({})), json!({"ok": true, "reclaimed": [], "tasks": []}));
    rpc.end();
    let events = sandbox.json(&["event", "list", "--type", "file_locked"]);
    assert_eq!(events["events"][0]["agent"], "front-end");
    assert_eq!(events["events"][0]["owner"], "agent.impl.1");
    assert_eq!(state(&root, "locks")["locks"], json!([]));
}

#[test]
fn a_stale_lease_is_reclaimed_with_an_event() {
    let (sandbox, root) = empty_root();
    let mut rpc = Rpc::with(&root, "front-end", &[("COLLAB_TTL", "1")]);
    rpc.ok("acquire_lease", &json!({"path": "a", "owner": "x"}));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(rpc.ok("reclaim", &json!({}))["reclaimed"], json!(["L-00000001"]));
    rpc.end();
    assert_eq!(
        sandbox.json(&["event", "list", "--type", "locks_reclaimed"])["events"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn agents_keep_their_own_fields_and_are_suggested_by_skill() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "human:ann");
    assert_eq!(rpc.ok("suggest_assignee", &json!({"labels": ["rust"]})), json!({"assignee": null}));
    for (id, skill) in [("codex-cli-1", "python"), ("gemini-cli-1", "docs")] {
        let agent = json!({"id": id, "role": "implementer", "skills": [skill], "model": "m", "status": "idle"});
        assert_eq!(rpc.ok("update_agent", &agent), json!({"ok": true}));
    }
    rpc.fails("update_agent", &json!({"id": "codex-cli-1", "role": "king"}));
    assert_eq!(
        rpc.ok("suggest_assignee", &json!({"labels": ["docs"]})),
        json!({"assignee": "gemini-cli-1"})
    );
    let agents = rpc.ok("list_agents", &json!({}));
    let agent = super::entry(&agents, "agents", "codex-cli-1");
    assert_eq!(
        (&agent["role"], &agent["model"], &agent["skills"]),
        (&json!("implementer"), &json!("m"), &json!(["python"]))
    );
    rpc.ok("create_task", &json!({"title": "One", "labels": ["python"]}));
    assert_eq!(
        rpc.ok("auto_assign", &json!({"id": "task-0001"})),
        json!({"assignee": "codex-cli-1", "updated": true})
    );
    rpc.ok("create_task", &json!({"title": "Two"}));
    rpc.ok("transition_task", &json!({"id": "task-0002", "new_status": "claimed"}));
    assert_eq!(
        rpc.ok("auto_assign", &json!({"id": "task-0002"})),
        json!({"assignee": "human:ann", "updated": false})
    );
    assert_eq!(
        rpc.ok("list_tasks", &json!({"assignee": "codex-cli-1"}))["tasks"][0]["id"],
        "task-0001"
    );
    assert_eq!(rpc.fails("auto_assign", &json!({"id": "task-9"})), "Task not found");
    rpc.end();
}

#[test]
fn state_of_every_kind_is_what_the_files_hold() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "agent.impl.1");
    rpc.ok("create_task", &json!({"title": "One"}));
    rpc.ok(
        "emit_event",
        &json!({"event": "tests_run", "task": "task-0001", "result": "pass", "notes": "all green"}),
    );
    for (kind, file) in [
        ("tasks", "state/tasks.json"),
        ("locks", "state/locks.json"),
        ("agents", "state/agents.json"),
        ("events", "events/events.jsonl"),
        ("log", "logs/log.md"),
    ] {
        let answer = rpc.ok("get_state", &json!({"kind": kind}));
        let bytes = std::fs::read(root.join("collaboration").join(file)).unwrap();
        assert_eq!(answer["etag"], Hash::of(&bytes).to_string(), "{kind}");
        match answer.get("text") {
            Some(text) => assert_eq!(text.as_str().unwrap().as_bytes(), bytes, "{kind}"),
            None => assert_eq!(
                answer["data"],
                serde_json::from_slice::<Value>(&bytes).unwrap(),
                "{kind}"
            ),
        }
    }
    assert_eq!(
        rpc.fails("get_state", &json!({"kind": "x"})),
        "kind must be one of tasks|locks|agents|events|log"
    );
    let log = rpc.ok("generate_log", &json!({}));
    assert_eq!(log["path"], root.join("collaboration/logs/log.md").display().to_string());
    assert!(log["text"].as_str().unwrap().contains("tests_run: all green"), "{log}");
    rpc.end();
}

#[test]
fn variables_come_from_env_files_and_do_not_override() {
    let (sandbox, root) = empty_root();
    sandbox.write(".env", "COLLAB_TTL=60\nCOMITY_AGENT=from-file\n");
    sandbox.write("collaboration/.env", "COLLAB_TTL=30\n");
    let mut rpc = Rpc::start(&root, "from-env");
    rpc.ok("acquire_lease", &json!({"path": "a", "owner": "x"}));
    let locks = rpc.ok("get_state", &json!({"kind": "locks"}));
    assert_eq!(locks["data"]["locks"][0]["ttl_seconds"], 60);
    rpc.end();
    let events = sandbox.json(&["event", "list", "--type", "file_locked"]);
    assert_eq!(events["events"][0]["agent"], "from-env");
}

#[test]
fn a_traceback_comes_only_when_it_is_asked_for() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::with(&root, "x", &[("COLLAB_TRACEBACK", "1")]);
    let answer = rpc.call("get_state", &json!({"kind": "x"}));
    assert!(answer["error"]["data"]["traceback"].is_string(), "{answer}");
    rpc.end();
}

#[test]
fn told_to_stop_it_writes_the_files_first() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "x");
    for n in 0..5 {
        rpc.ok("create_task", &json!({"title": format!("task {n}")}));
    }
    rpc.stop();
    assert_eq!(state(&root, "tasks")["tasks"].as_array().unwrap().len(), 5);
}

#[test]
fn an_update_is_done_whole_or_not_at_all_and_says_what_is_missing() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "human:ann");
    rpc.ok("create_task", &json!({"title": "One", "external_ids": {"github": {"issue": 7}}}));
    let bad = json!({"id": "task-0001", "title": "Uno", "dependencies": ["task-0001"], "status": "claimed"});
    assert!(rpc.fails("update_task", &bad).contains("cycle"));
    rpc.ok("update_task", &json!({"id": "task-0001", "foo": null}));
    rpc.ok("link_external", &json!({"id": "task-0001", "provider": "linear", "value": 87}));
    assert!(
        rpc.fails("update_task", &json!({"id": "task-0001", "external_ids": {}}))
            .contains("github")
    );
    let task = rpc.ok("list_tasks", &json!({}))["tasks"][0].clone();
    assert_eq!((&task["title"], &task["status"]), (&json!("One"), &json!("queued")));
    assert_eq!(task.get("foo"), Some(&Value::Null));
    assert_eq!(task["external_ids"], json!({"github": {"issue": 7}, "linear": {"id": 87}}));
    rpc.end();
}

#[test]
fn a_task_is_claimed_for_whom_it_is_assigned_to() {
    let (sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "human:ann");
    rpc.ok("create_task", &json!({"title": "One", "assignee": "codex"}));
    rpc.ok("transition_task", &json!({"id": "task-0001", "new_status": "claimed"}));
    rpc.ok("create_task", &json!({"title": "Two"}));
    let both = json!({"id": "task-0002", "status": "in_progress", "assignee": "gemini"});
    rpc.ok("update_task", &both);
    rpc.ok("create_task", &json!({"title": "Three"}));
    rpc.end();
    for (id, agent, status) in
        [("task-0001", "codex", "claimed"), ("task-0002", "gemini", "in_progress")]
    {
        let task = sandbox.json(&["task", "show", id])["task"].clone();
        assert_eq!((&task["claim"]["agent"], &task["status"]), (&json!(agent), &json!(status)));
    }
    let mut rpc = Rpc::start(&root, "codex");
    let other = json!({"id": "task-0003", "status": "claimed", "assignee": "gemini", "title": "x"});
    rpc.fails("update_task", &other);
    assert_eq!(rpc.ok("list_tasks", &json!({"status": "queued"}))["tasks"][0]["title"], "Three");
    let own = json!({"id": "task-0003", "status": "claimed", "assignee": "codex"});
    rpc.ok("update_task", &own);
    rpc.end();
}

#[test]
fn variables_come_from_where_the_caller_is_before_the_root() {
    let (sandbox, root) = empty_root();
    sandbox.write(".env", "COLLAB_TTL=60\n");
    let here = sandbox.outside();
    std::fs::write(here.join(".env"), "COLLAB_TTL=45\n").unwrap();
    let done = sandbox
        .comity()
        .at(&here)
        .env("COLLAB_ROOT", &root.display().to_string())
        .args(&["collab", "acquire-lease", "a", "x", "y"])
        .done();
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert_eq!(state(&root, "locks")["locks"][0]["ttl_seconds"], 45);
}

#[test]
fn every_operation_that_names_a_method_has_it() {
    let (_sandbox, root) = empty_root();
    let mut rpc = Rpc::start(&root, "human:ann");
    let mut walked = 0;
    for row in comity_api::TABLE {
        for door in row.doors {
            let comity_api::Door::Rpc(method) = door else { continue };
            let name = method.strip_prefix("collab.").unwrap();
            let answer = rpc.call(name, &json!({}));
            assert_ne!(answer["error"]["code"], -32601, "{}: {answer}", row.name);
            walked += 1;
        }
    }
    assert_eq!(rpc.call("no_such_method", &json!({}))["error"]["code"], -32601);
    assert!(walked > 10, "{walked}");
    rpc.end();
}
