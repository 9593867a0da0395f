//! What counts as an edit of a file, and that none is lost or changed without a word.

use super::files::{seeded, sync, texts, widened};
use super::{Rpc, edit, entry, state, state_file, write_state};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

fn ann(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.comity().by("human:ann").args(args).json()
}

fn show(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.json(&["task", "show", id])["task"].clone()
}

/// Puts an entry back as it was read long ago, with a change.
fn write_back(root: &std::path::Path, old: &Value, change: impl FnOnce(&mut Value)) {
    let mut late = old.clone();
    change(&mut late);
    write_state(root, "tasks", &late);
}

#[test]
fn an_older_tree_that_is_brought_back_releases_nothing() {
    let sandbox = Sandbox::new();
    ann(&sandbox, &["init", "--yes"]);
    ann(&sandbox, &["task", "create", "one", "--file", "src/a"]);
    sync(&sandbox);
    sandbox.commit(&sandbox.root, "The tree");
    sandbox.comity().by("codex").args(&["task", "claim", "T1"]).json();
    sandbox.comity().by("codex").args(&["lease", "acquire", "src/b"]).json();
    sync(&sandbox);
    assert_eq!(state(&sandbox.root, "locks")["locks"].as_array().unwrap().len(), 2);
    sandbox.git(&sandbox.root, &["checkout", "--", "collaboration"]);
    let report = sync(&sandbox);
    assert_eq!((&report["taken"], &report["refused"]), (&json!([]), &json!([])), "{report}");
    assert!(texts(&report["conflicts"]).contains("locks.json: it is as it was exported before"));
    assert_eq!(sandbox.json(&["lease", "list"])["leases"].as_array().unwrap().len(), 2);
    assert_eq!(state(&sandbox.root, "locks")["locks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_lease_of_a_claim_ends_with_the_claim_and_not_by_an_edit() {
    let (sandbox, root) = seeded();
    ann(&sandbox, &["task", "create", "one", "--id", "task-001", "--file", "src/a"]);
    sandbox.comity().by("codex").args(&["task", "claim", "task-001"]).json();
    sync(&sandbox);
    edit(&root, "locks", |locks| locks["locks"] = json!([]));
    let report = sync(&sandbox);
    assert!(texts(&report["refused"]).contains("belongs to the claim on task-001"), "{report}");
    assert_eq!(sandbox.json(&["lease", "list"])["leases"][0]["owner"], "codex");
    assert_eq!(state(&root, "locks")["locks"][0]["path"], "src/a");
}

#[test]
fn an_old_value_is_no_edit_however_many_exports_came_after() {
    let (sandbox, root) = widened();
    ann(&sandbox, &["task", "create", "One", "--id", "task-001", "--description", "d0"]);
    sync(&sandbox);
    let old = state(&root, "tasks");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for n in 1..=70 {
        let text = format!("d{n}");
        ann(&sandbox, &["task", "update", "task-001", "--description", &text]);
        sync(&sandbox);
    }
    write_back(&root, &old, |late| late["tasks"][0]["title"] = json!("Uno"));
    let report = sync(&sandbox);
    assert_eq!(report["taken"], json!(["task-001: title"]), "{report}");
    let task = show(&sandbox, "task-001");
    assert_eq!((&task["title"], &task["description"]), (&json!("Uno"), &json!("d70")));
}

#[test]
fn a_claim_is_not_taken_away_by_who_edits_an_old_copy() {
    let (sandbox, root) = widened();
    ann(&sandbox, &["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    let old = state(&root, "tasks");
    for n in 0..10 {
        ann(&sandbox, &["task", "update", "task-001", "--description", &format!("d{n}")]);
        sync(&sandbox);
    }
    sandbox.comity().by("codex").args(&["task", "claim", "task-001"]).json();
    sync(&sandbox);
    write_back(&root, &old, |late| late["tasks"][0]["labels"] = json!(["urgent"]));
    let report = sync(&sandbox);
    assert_eq!(report["taken"], json!(["task-001: labels"]), "{report}");
    assert_eq!(show(&sandbox, "task-001")["claim"]["agent"], "codex");
}

#[test]
fn a_conflict_is_said_also_when_an_export_lies_between() {
    let (sandbox, root) = widened();
    ann(&sandbox, &["task", "create", "A", "--id", "task-001"]);
    sync(&sandbox);
    let old = state(&root, "tasks");
    ann(&sandbox, &["task", "update", "task-001", "--title", "B"]);
    sync(&sandbox);
    write_back(&root, &old, |late| late["tasks"][0]["title"] = json!("C"));
    let report = sync(&sandbox);
    assert!(texts(&report["conflicts"]).contains("\"B\" here and \"C\" in the file"), "{report}");
    assert_eq!(show(&sandbox, "task-001")["title"], "C");
}

#[test]
fn what_a_task_needs_is_edited_while_it_is_blocked_and_kept_when_it_is_not() {
    let (sandbox, root) = widened();
    ann(&sandbox, &["task", "create", "One", "--id", "task-001"]);
    ann(&sandbox, &["task", "block", "task-001", "--needs", "a key"]);
    sync(&sandbox);
    edit(&root, "tasks", |tasks| {
        tasks["tasks"][0]["needs"] = json!("two keys");
        let gone =
            json!({"id": "task-002", "title": "Two", "status": "abandoned", "needs": "time"});
        tasks["tasks"].as_array_mut().unwrap().push(gone);
    });
    let report = sync(&sandbox);
    assert_eq!(report["refused"], json!([]), "{report}");
    assert_eq!(show(&sandbox, "task-001")["needs"], "two keys");
    let file = state(&root, "tasks");
    assert_eq!(entry(&file, "tasks", "task-001")["needs"], "two keys");
    assert_eq!(entry(&file, "tasks", "task-002")["needs"], "time");
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["needs"] = json!(null));
    assert!(texts(&sync(&sandbox)["refused"]).contains("needs-missing"));
    let mut rpc = Rpc::start(&root, "human:ann");
    rpc.ok("update_task", &json!({"id": "task-001", "needs": "three keys"}));
    rpc.end();
    assert_eq!(show(&sandbox, "task-001")["needs"], "three keys");
}

#[test]
fn a_new_task_that_was_refused_is_taken_once_it_is_mended() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    edit(&root, "tasks", |tasks| {
        tasks["tasks"] = json!([{"id": "task-001", "title": "x".repeat(600), "labels": ["a"]}]);
    });
    assert!(texts(&sync(&sandbox)["refused"]).contains("task-001"));
    assert!(texts(&sync(&sandbox)["refused"]).contains("task-001"), "as long as it is there");
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["title"] = json!("short"));
    assert_eq!(sync(&sandbox)["taken"], json!(["task-001: new task"]));
    assert_eq!(show(&sandbox, "task-001")["labels"], json!(["a"]));
}

#[test]
fn the_first_takeover_changes_nothing_of_what_is_there() {
    let (sandbox, root) = seeded();
    let task = json!({"id": "T-1", "title": "Old", "description": "", "status": "done", "assignee": null,
        "priority": "P1", "labels": [], "dependencies": [], "blockers": [], "branch": null,
        "created_at": "2025-01-01T00:00:00Z", "updated_at": "2025-01-02T00:00:00Z", "dod": [],
        "needs": null, "external_ids": {"github": {"issue": 87, "prs": [1, 2], "gone": null}},
        "points": 3, "note": null});
    write_state(&root, "tasks", &json!({"version": 1, "tasks": [task]}));
    let agents = json!({"version": 1, "agents": [{"id": "codex-cli-1", "role": "implementer", "skills": [],
        "status": "active", "last_seen": "2025-09-03T12:55:00Z", "model": "m"}]});
    write_state(&root, "agents", &agents);
    sync(&sandbox);
    assert_eq!(state(&root, "tasks")["tasks"][0], task);
    assert_eq!(entry(&state(&root, "agents"), "agents", "codex-cli-1"), &agents["agents"][0]);
    ann(&sandbox, &["task", "link", "T-1", "github", "88", "--key", "issue"]);
    sync(&sandbox);
    let file = state(&root, "tasks");
    assert_eq!(file["tasks"][0]["external_ids"]["github"]["issue"], "88");
    assert_ne!(file["tasks"][0]["updated_at"], "2025-01-02T00:00:00Z", "something happened to it");
}

#[test]
fn what_would_be_read_otherwise_than_it_is_written_is_a_problem() {
    let (sandbox, root) = seeded();
    ann(&sandbox, &["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    let path = state_file(&root, "tasks");
    for (bad, said) in [
        ("{\"tasks\": [{\"id\": \"a\", \"title\": \"x\"}], \"tasks\": []}", "has the key"),
        ("{\"tasks\": [\n{\"id\": \"a\", \"n\": 1, \"n\": 99999999999999999999}]}", "line 2, "),
    ] {
        std::fs::write(&path, bad).unwrap();
        let done = sandbox.comity().by("human:ann").args(&["sync", "collab"]).done();
        assert!(done.exit == 2 && done.stdout.contains(said), "{bad}: {}", done.stdout);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bad);
    }
}

#[test]
fn what_is_taken_away_is_taken_away_or_said() {
    let (sandbox, root) = widened();
    ann(&sandbox, &["task", "create", "One", "--id", "task-001"]);
    ann(&sandbox, &["task", "link", "task-001", "github", "7", "--key", "issue"]);
    sync(&sandbox);
    // What was exported within one second cannot be told apart in every case.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["color"] = json!("red"));
    sync(&sandbox);
    edit(&root, "tasks", |tasks| {
        let task = tasks["tasks"][0].as_object_mut().unwrap();
        task.remove("color");
        task.remove("labels");
        task["external_ids"] = json!({});
        task["created_at"] = json!("2020-01-01T00:00:00Z");
    });
    let refused = texts(&sync(&sandbox)["refused"]);
    assert!(refused.contains("labels is not taken away by leaving it out"), "{refused}");
    assert!(refused.contains("the reference github.issue is changed, not taken away"), "{refused}");
    let file = state(&root, "tasks");
    assert_eq!(file["tasks"][0].get("color"), None);
    assert_eq!(file["tasks"][0]["created_at"], "2020-01-01T00:00:00Z");
    assert_eq!(file["tasks"][0]["external_ids"]["github"]["issue"], "7");
}

#[test]
fn the_same_task_made_in_both_places_has_what_both_say() {
    let (sandbox, root) = widened();
    sync(&sandbox);
    ann(&sandbox, &["task", "create", "Same", "--id", "task-001", "--description", "ours"]);
    ann(&sandbox, &["task", "create", "Ours", "--id", "task-002"]);
    edit(&root, "tasks", |tasks| {
        tasks["tasks"] = json!([
            {"id": "task-001", "title": "Same", "description": "theirs", "labels": ["a"]},
            {"id": "task-002", "title": "Theirs", "external_ids": {"github": {"issue": 9}}}]);
    });
    let report = sync(&sandbox);
    assert!(
        texts(&report["conflicts"]).contains("\"ours\" here and \"theirs\" in the file"),
        "{report}"
    );
    let task = show(&sandbox, "task-001");
    assert_eq!((&task["description"], &task["labels"]), (&json!("theirs"), &json!(["a"])));
    let file = state(&root, "tasks");
    let second = file["tasks"].as_array().unwrap().iter().find(|task| task["title"] == "Theirs");
    assert_eq!(second.unwrap()["external_ids"]["github"]["issue"], 9);
}

#[test]
fn a_lock_of_another_tool_keeps_its_id_and_its_keys() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    let now = ann(&sandbox, &["agent", "heartbeat"])["agent"]["last_seen"].clone();
    let lock = json!({"path": "a.py", "owner": "codex-cli", "purpose": "task-004", "lock_id": "L-1234abcd",
        "acquired_at": now, "ttl_seconds": 900, "heartbeat_at": now, "host": "laptop"});
    write_state(&root, "locks", &json!({"version": 1, "locks": [lock]}));
    sync(&sandbox);
    let file = state(&root, "locks");
    assert_eq!(
        (&file["locks"][0]["lock_id"], &file["locks"][0]["host"]),
        (&lock["lock_id"], &lock["host"])
    );
    let mut rpc = Rpc::start(&root, "front-end");
    assert_eq!(
        rpc.fails("acquire_lease", &json!({"path": "a.py", "owner": "other"})),
        "Active lease exists for a.py: L-1234abcd"
    );
    rpc.ok("renew_lease", &json!({"lock_id": "L-1234abcd", "owner": "codex-cli"}));
    rpc.end();
    edit(&root, "locks", |locks| {
        locks["locks"][0]["owner"] = json!("thief");
        locks["locks"][0]["heartbeat_at"] = json!("2099-01-01T00:00:00Z");
    });
    let report = sync(&sandbox);
    assert!(texts(&report["refused"]).contains("owner stays"), "{report}");
    assert_eq!(state(&root, "locks")["locks"][0]["owner"], "codex-cli");
    let mut rpc = Rpc::start(&root, "front-end");
    rpc.ok("release_lease", &json!({"lock_id": "L-1234abcd", "owner": "codex-cli"}));
    rpc.end();
    assert_eq!(sandbox.json(&["lease", "list"])["leases"], json!([]));
    assert_eq!(sync(&sandbox)["taken"], json!([]));
    // The file from before does not bring it back.
    write_state(&root, "locks", &file);
    assert_eq!(sync(&sandbox)["taken"], json!([]));
    assert_eq!(sandbox.json(&["lease", "list"])["leases"], json!([]));
}

/// A time some seconds before now, as other tools write it.
fn ago(secs: i64) -> String {
    let at = format!("{secs} seconds ago");
    let args = ["-u", "-d", &at, "+%Y-%m-%dT%H:%M:%SZ"];
    let out = std::process::Command::new("date").args(args).output().unwrap();
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_lock_of_another_tool_has_what_is_left_of_its_life() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    let lock = |id: &str, taken: i64, heard: i64| {
        json!({"path": format!("{id}.py"), "owner": "codex-cli", "purpose": "", "lock_id": id,
            "acquired_at": ago(taken), "ttl_seconds": 900, "heartbeat_at": ago(heard)})
    };
    let locks = [
        lock("L-1", 500, 500),
        lock("L-2", 2000, 300),
        lock("L-3", 901, 901),
        lock("L-4", -600, -600),
    ];
    let mut file = json!({"version": 1, "locks": locks});
    write_state(&root, "locks", &file);
    let report = sync(&sandbox);
    assert_eq!(report["refused"], json!(["lock L-3: it has run out"]), "{report}");
    let left = || -> Vec<i64> {
        let leases = sandbox.json(&["lease", "list"])["leases"].clone();
        let now = sandbox.json(&["agent", "heartbeat"])["agent"]["last_seen"].clone();
        let time = |at: &Value| comity_core::time::Timestamp::parse(at.as_str().unwrap()).unwrap();
        let leases = leases.as_array().unwrap();
        leases
            .iter()
            .map(|lease| (time(&lease["expires_at"]).ms() - time(&now).ms()) / 1000)
            .collect()
    };
    let about = |found: Vec<i64>, wanted: [i64; 3]| {
        let near = found.iter().zip(&wanted).all(|(a, b)| (b - 30..=*b).contains(a));
        assert!(near && found.len() == 3, "{found:?} and not {wanted:?}");
    };
    about(left(), [400, 600, 900]);
    // A renewal counts from when it was, and an old one that is written again does not count.
    let old = file.clone();
    file["locks"][0]["heartbeat_at"] = json!(ago(100));
    write_state(&root, "locks", &file);
    assert_eq!(sync(&sandbox)["taken"], json!(["lock L-1: renewed"]));
    about(left(), [800, 600, 900]);
    write_state(&root, "locks", &old);
    sync(&sandbox);
    about(left(), [800, 600, 900]);
}

#[test]
fn a_lock_that_ended_is_taken_again_when_its_owner_shows_life_and_not_from_an_old_file() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    // Asked for once: a second later it would be another time, and a sign of life.
    let long_ago = ago(500);
    let lock = |at: &str| {
        let lock = json!({"path": "a.py", "owner": "codex-cli", "purpose": "", "lock_id": "L-1",
            "acquired_at": long_ago, "ttl_seconds": 900, "heartbeat_at": at});
        json!({"version": 1, "locks": [lock]})
    };
    write_state(&root, "locks", &lock(&long_ago));
    sync(&sandbox);
    ann(&sandbox, &["lease", "release", "L1"]);
    sync(&sandbox);
    write_state(&root, "locks", &lock(&long_ago));
    assert_eq!(sync(&sandbox)["taken"], json!([]));
    write_state(&root, "locks", &lock(&ago(1)));
    assert_eq!(sync(&sandbox)["taken"], json!(["lock L-1 on a.py"]));
    assert_eq!(state(&root, "locks")["locks"][0]["lock_id"], "L-1");
}

#[test]
fn a_file_without_its_list_releases_nothing() {
    let (sandbox, root) = seeded();
    sandbox.comity().by("codex").args(&["lease", "acquire", "src/b"]).json();
    sync(&sandbox);
    write_state(&root, "locks", &json!({}));
    assert!(texts(&sync(&sandbox)["conflicts"]).contains("no list of locks"));
    assert_eq!(state(&root, "locks")["locks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_claim_in_a_file_is_made_in_nobodys_name_whoever_syncs_or_imports_it() {
    let (sandbox, root) = seeded();
    ann(&sandbox, &["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    for owner in ["codex", "human:ann"] {
        for args in [["sync", "collab"].as_slice(), &["import", "collab", ".", "--with-state"]] {
            for who in ["gemini", "human:ann"] {
                edit(&root, "tasks", |tasks| {
                    tasks["tasks"][0]["status"] = json!("claimed");
                    tasks["tasks"][0]["assignee"] = json!(owner);
                });
                let report = sandbox.comity().by(who).args(args).json();
                let claim = show(&sandbox, "task-001")["claim"].clone();
                let own = who == owner && args[0] == "import";
                assert_eq!(claim["agent"].as_str(), own.then_some(who), "{who} {args:?} {report}");
                if own {
                    ann(&sandbox, &["task", "release", "task-001"]);
                }
                sync(&sandbox);
            }
        }
    }
}

#[test]
fn an_implementer_makes_no_approved_work_and_no_claim_of_another_from_a_file() {
    let words = [
        "claimed",
        "in_progress",
        "review",
        "changes_requested",
        "approved",
        "merging",
        "done",
        "failed",
        "abandoned",
    ];
    let tasks: Vec<Value> = words.iter().enumerate().map(|(n, status)| {
        json!({"id": format!("task-{n:03}"), "title": format!("Task {n}"), "status": status, "assignee": "human:ann"})
    }).collect();
    let file = json!({"version": 1, "tasks": tasks});
    for args in [
        ["sync", "collab"].as_slice(),
        &["import", "collab", "."],
        &["import", "collab", ".", "--with-state"],
        &["import", "v1", "state.json"],
        &["import", "v1", "state.json", "--with-state"],
    ] {
        let (sandbox, root) = seeded();
        write_state(&root, "tasks", &file);
        sandbox.write("state.json", &file.to_string());
        let report = sandbox.comity().by("codex-cli").args(args).json();
        assert_eq!(report["kept_back"].as_array().unwrap().len(), words.len(), "{report}");
        let name = if args[1] == "v1" { "state.json" } else { "collaboration/state/tasks.json" };
        for (n, status) in words.iter().enumerate() {
            let task = show(&sandbox, &format!("task-{n:03}"));
            let needs = format!("{status} in {name}: a person imports it with --with-state");
            assert_eq!((&task["status"], &task["needs"]), (&json!("blocked"), &json!(needs)));
            assert_eq!(task["claim"], Value::Null);
        }
        assert_eq!(sandbox.json(&["event", "list", "--type", "task_claimed"])["events"], json!([]));
        // A person takes the states over, from the same file.
        let mut again: Vec<&str> = args.to_vec();
        if args[0] == "sync" {
            again = vec!["import", "collab", "."];
        }
        again.extend((!again.contains(&"--with-state")).then_some("--with-state"));
        let report = ann(&sandbox, &again);
        for (n, status) in words.iter().enumerate() {
            let task = show(&sandbox, &format!("task-{n:03}"));
            assert_eq!(task["status"], *status, "{again:?} {report}");
        }
        assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    }
}

#[test]
fn an_edit_that_is_found_in_a_file_is_the_files_and_came_through_who_synced_it() {
    let (sandbox, root) = seeded();
    write_state(
        &root,
        "tasks",
        &json!({"version": 1, "tasks": [{"id": "task-001", "title": "One"}]}),
    );
    sync(&sandbox);
    let found = "file:collaboration/state/tasks.json";
    let made = sandbox.json(&["event", "list", "--task", "task-001"])["events"][0].clone();
    assert_eq!(made["agent"], found);
    assert_eq!(made["via"]["login"], "tester", "{made}");
    let agents = sandbox.json(&["agent", "list"])["agents"].to_string();
    assert!(!agents.contains("file:"), "nobody is called that: {agents}");
    let (refusal, exit) = sandbox.comity().by(found).args(&["task", "create", "Two"]).refusal();
    assert_eq!((&refusal["code"], exit), (&json!("invalid-input"), 2), "{refusal}");
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["title"] = json!("Uno"));
    assert_eq!(sync(&sandbox)["taken"], json!(["task-001: title"]), "it was made there");
    ann(&sandbox, &["task", "create", "Mine", "--id", "task-002"]);
    sync(&sandbox);
    edit(&root, "tasks", |tasks| tasks["tasks"][1]["title"] = json!("Yours"));
    assert!(texts(&sync(&sandbox)["refused"]).contains("role-forbidden"));
    assert_eq!(show(&sandbox, "task-002")["title"], "Mine");
}
