//! What is written a second time by who does not know what happened since, and what is refused and stays.

use super::files::{seeded, sync, texts, widened};
use super::{edit, entry, state, state_file, titles, write_state};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn ann(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.comity().by("human:ann").args(args).json()
}

fn show(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.json(&["task", "show", id])["task"].clone()
}

/// Stamps in the files are a second wide.
fn next_second() {
    std::thread::sleep(Duration::from_millis(1100));
}

/// A time as other tools write it.
fn now_there() -> Value {
    let out = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output();
    json!(String::from_utf8(out.unwrap().stdout).unwrap().trim())
}

/// A tree with one task, titled A, exported a while ago.
fn with_task() -> (Sandbox, std::path::PathBuf) {
    let (sandbox, root) = widened();
    ann(&sandbox, &["task", "create", "A", "--id", "task-001"]);
    sync(&sandbox);
    next_second();
    (sandbox, root)
}

/// Changes what an editor holds and saves it.
fn save(root: &Path, buffer: &mut Value, change: impl FnOnce(&mut Value)) {
    change(&mut buffer["tasks"][0]);
    write_state(root, "tasks", buffer);
}

fn retitle(sandbox: &Sandbox, title: &str) {
    next_second();
    ann(sandbox, &["task", "update", "task-001", "--title", title]);
    sync(sandbox);
}

#[test]
fn an_edit_that_was_taken_is_none_when_the_editor_saves_again() {
    let (sandbox, root) = with_task();
    let mut buffer = state(&root, "tasks");
    save(&root, &mut buffer, |task| task["title"] = json!("B"));
    assert_eq!(sync(&sandbox)["taken"], json!(["task-001: title"]));
    retitle(&sandbox, "C");
    save(&root, &mut buffer, |_| ());
    let report = sync(&sandbox);
    assert_eq!((&report["taken"], &report["conflicts"]), (&json!([]), &json!([])), "{report}");
    assert_eq!(show(&sandbox, "task-001")["title"], "C");
    // What is changed on top of it is an edit, and the only one.
    save(&root, &mut buffer, |task| task["description"] = json!("more"));
    assert_eq!(sync(&sandbox)["taken"], json!(["task-001: description"]));
    let task = show(&sandbox, "task-001");
    assert_eq!((&task["title"], &task["description"]), (&json!("C"), &json!("more")));
}

#[test]
fn what_is_left_out_is_said_once() {
    let (sandbox, root) = with_task();
    let short = json!({"version": 1, "tasks": [{"id": "task-001", "title": "A"}]});
    write_state(&root, "tasks", &short);
    assert!(texts(&sync(&sandbox)["refused"]).contains("labels is not taken away"));
    write_state(&root, "tasks", &short);
    let report = sync(&sandbox);
    assert_eq!((&report["taken"], &report["refused"]), (&json!([]), &json!([])), "{report}");
}

#[test]
fn a_new_task_in_a_buffer_that_is_saved_twice_is_made_once_whoever_has_its_id() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    ann(&sandbox, &["task", "create", "Ours", "--id", "task-001"]);
    let tasks = json!([{"id": "task-001", "title": "Theirs"}, {"id": "new", "title": "New"}]);
    let buffer = json!({"version": 1, "tasks": tasks});
    write_state(&root, "tasks", &buffer);
    sync(&sandbox);
    ann(&sandbox, &["task", "update", "new", "--title", "Newer"]);
    sync(&sandbox);
    write_state(&root, "tasks", &buffer);
    let report = sync(&sandbox);
    assert_eq!((&report["taken"], &report["refused"]), (&json!([]), &json!([])), "{report}");
    assert_eq!(titles(&root), ["Ours", "Newer", "Theirs"]);
    let said = texts(&report["conflicts"]);
    assert!(said.contains("new: title is \"New\" in the file as it was before"), "{said}");
}

#[test]
fn what_was_refused_is_looked_at_again_and_what_was_taken_beside_it_is_not() {
    let (sandbox, root) = with_task();
    let mut buffer = state(&root, "tasks");
    save(&root, &mut buffer, |task| {
        task["title"] = json!("B");
        task["status"] = json!("review");
    });
    let report = sync(&sandbox);
    assert_eq!(report["taken"], json!(["task-001: title"]), "{report}");
    assert!(texts(&report["refused"]).contains("invalid-transition"), "{report}");
    next_second();
    ann(&sandbox, &["task", "update", "task-001", "--title", "C"]);
    sync(&sandbox);
    edit(&root, "tasks", |tasks| tasks["tasks"][0]["status"] = json!("in_progress"));
    assert_eq!(sync(&sandbox)["taken"], json!(["task-001: status in_progress"]));
    save(&root, &mut buffer, |_| ());
    let report = sync(&sandbox);
    assert_eq!(report["taken"], json!(["task-001: status review"]), "{report}");
    let task = show(&sandbox, "task-001");
    assert_eq!((&task["title"], &task["status"]), (&json!("C"), &json!("review")));
}

#[test]
fn a_tool_that_sets_a_new_time_sets_an_older_value_again() {
    let (sandbox, root) = with_task();
    retitle(&sandbox, "B");
    next_second();
    edit(&root, "tasks", |tasks| {
        tasks["tasks"][0]["title"] = json!("A");
        tasks["tasks"][0]["updated_at"] = now_there();
    });
    assert_eq!(sync(&sandbox)["taken"], json!(["task-001: title"]));
    assert_eq!(show(&sandbox, "task-001")["title"], "A");
}

#[test]
fn an_older_value_that_may_be_meant_is_said() {
    let (sandbox, root) = seeded();
    ann(&sandbox, &["task", "create", "A", "--id", "task-001"]);
    sync(&sandbox);
    let mut bare = state(&root, "tasks");
    bare["tasks"][0].as_object_mut().unwrap().remove("updated_at");
    retitle(&sandbox, "B");
    write_state(&root, "tasks", &bare);
    let said = texts(&sync(&sandbox)["conflicts"]);
    assert!(said.contains("title is \"A\" in the file as it was before"), "{said}");
    assert_eq!(show(&sandbox, "task-001")["title"], "B");
}

#[test]
fn work_after_an_import_is_not_undone_by_the_first_sync() {
    let (sandbox, root) = seeded();
    let tasks = json!([{"id": "task-001", "title": "A"}]);
    write_state(&root, "tasks", &json!({"version": 1, "tasks": tasks}));
    ann(&sandbox, &["import", "collab", "collaboration"]);
    ann(&sandbox, &["task", "update", "task-001", "--title", "C"]);
    assert_eq!(sync(&sandbox)["taken"], json!([]));
    assert_eq!(show(&sandbox, "task-001")["title"], "C");
    assert_eq!(state(&root, "tasks")["tasks"][0]["title"], "C");
}

fn copy(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

#[test]
fn who_is_killed_after_the_takeover_does_not_take_the_same_edit_twice() {
    let (sandbox, root) = with_task();
    let (beside, aside) = (root.join(".comity/collab"), sandbox.outside().join("before"));
    edit(&root, "tasks", |tasks| {
        tasks["tasks"][0]["title"] = json!("B");
        tasks["tasks"][0]["description"] = json!("b");
        let new = json!({"id": "task-002", "title": "New"});
        tasks["tasks"].as_array_mut().unwrap().push(new);
    });
    std::fs::create_dir(&aside).unwrap();
    copy(&beside, &aside.join("collab"));
    copy(&root.join("collaboration"), &aside.join("collaboration"));
    sync(&sandbox);
    // The store has the edit; all else is as if the process had been killed before it wrote a byte.
    std::fs::remove_dir_all(&beside).unwrap();
    std::fs::remove_dir_all(root.join("collaboration")).unwrap();
    copy(&aside.join("collab"), &beside);
    copy(&aside.join("collaboration"), &root.join("collaboration"));
    ann(&sandbox, &["task", "update", "task-001", "--title", "C"]);
    ann(&sandbox, &["task", "update", "task-002", "--title", "Newer"]);
    sync(&sandbox);
    let task = show(&sandbox, "task-001");
    assert_eq!((&task["title"], &task["description"]), (&json!("C"), &json!("b")));
    let file = state(&root, "tasks");
    assert_eq!(file["tasks"].as_array().unwrap().len(), 2, "{file}");
    assert_eq!(entry(&file, "tasks", "task-002")["title"], "Newer");
}

fn critic(agents: &mut Value) {
    let new = json!({"id": "crit-1", "role": "critic", "skills": [], "status": "idle", "last_seen": null});
    agents["agents"].as_array_mut().unwrap().push(new);
}

#[test]
fn a_refused_agent_stays_in_the_file_is_said_again_and_taken_once_it_is_allowed() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    let before = state(&root, "agents");
    edit(&root, "agents", critic);
    let by_gemini = || sandbox.comity().by("gemini").args(&["sync", "collab"]).json();
    for _ in 0..2 {
        let report = by_gemini();
        assert!(texts(&report["refused"]).contains("agent crit-1"), "{report}");
        entry(&state(&root, "agents"), "agents", "crit-1");
    }
    // An older tree that is brought back takes it away as little as anything else.
    std::fs::write(state_file(&root, "agents"), format!("{before:#}\n")).unwrap();
    by_gemini();
    entry(&state(&root, "agents"), "agents", "crit-1");
    let report = sandbox.comity().by("human:ann").args(&["import", "collab", "."]).json();
    assert_eq!(report["taken"], json!(["agent crit-1"]));
    let agent = sandbox.json(&["agent", "show", "crit-1"])["agent"].clone();
    assert_eq!(agent["roles"], json!(["critic"]));
    assert_eq!(sync(&sandbox)["taken"], json!([]));
}

#[test]
fn what_goes_from_a_file_and_is_nowhere_else_is_said() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    edit(&root, "agents", |agents| {
        agents["$schema"] = json!("x");
        critic(agents);
    });
    let report = sandbox.comity().by("gemini").args(&["sync", "collab"]).json();
    assert_eq!(report["taken"], json!(["agents.json: $schema"]), "{report}");
    edit(&root, "agents", |agents| *agents = json!({"version": 1, "agents": [], "more": 1}));
    let report = sandbox.comity().by("gemini").args(&["sync", "collab"]).json();
    assert_eq!(report["taken"], json!(["agents.json: $schema, more"]), "{report}");
    let said = texts(&report["conflicts"]);
    assert!(said.contains("crit-1 was refused and is no longer in the file"), "{said}");
}

#[test]
fn an_agent_that_was_seen_elsewhere_is_shown_with_that_time() {
    let (sandbox, root) = widened();
    sync(&sandbox);
    edit(&root, "agents", critic);
    sync(&sandbox);
    let seen = now_there();
    edit(&root, "agents", |agents| {
        let list = agents["agents"].as_array_mut().unwrap();
        list.iter_mut()
            .filter(|agent| agent["id"] == "crit-1")
            .for_each(|agent| agent["last_seen"] = seen.clone());
    });
    assert_eq!(sync(&sandbox)["taken"], json!(["agent crit-1"]));
    assert_eq!(entry(&state(&root, "agents"), "agents", "crit-1")["last_seen"], seen);
}

#[test]
fn no_secret_of_a_file_or_of_a_key_is_kept_beside_the_store() {
    let (sandbox, root) = seeded();
    let secret = format!("ghp{}{}", "_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    write_state(
        &root,
        "tasks",
        &json!({"version": 1, "note": secret, "tasks": [
            {"id": "task-001", "title": format!("push with {secret}"), "field": secret},
            {"id": "task-002", "title": "", "why": secret}]}),
    );
    let done = sandbox.comity().by("human:ann").args(&["sync", "collab"]).done();
    assert_eq!(done.exit, 2, "{}", done.stdout);
    let keyed = ["task", "create", "One", "--idempotency-key", &secret];
    let first = ann(&sandbox, &keyed);
    assert_eq!(ann(&sandbox, &keyed), first, "the key still counts");
    sandbox.comity().by("human:ann").args(&["import", "collab", "."]).done();
    let beside = root.join(".comity");
    let holds = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
    };
    let mut left = vec![beside];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => left.push(entry.path()),
                false => assert!(!holds(&entry.path()), "{}", entry.path().display()),
            }
        }
    }
}
