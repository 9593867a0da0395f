//! `comity store backup` and `restore`.

use crate::sandbox::Sandbox;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

fn project(tasks: usize) -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    for number in 0..tasks {
        sandbox.json(&["task", "create", &format!("Task {number}")]);
    }
    let file = sandbox.outside().join("copy.db");
    let name = file.display().to_string();
    (sandbox, file, name)
}

#[test]
fn a_backup_is_restored_with_its_whole_log() {
    let (sandbox, file, name) = project(3);
    let head = sandbox.head();
    let made = sandbox.json(&["store", "backup", &name])["backup"].clone();
    assert_eq!((&made["head"], &made["events"]), (&head["hash"], &head["seq"]));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (error, exit) = sandbox.comity().args(&["store", "backup", &name]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "never overwrites");

    sandbox.json(&["task", "create", "Too late"]);
    let (error, exit) = sandbox.comity().args(&["store", "restore", &name]).refusal();
    assert_eq!(exit, 2);
    assert!(error["hint"].as_str().unwrap().contains("--replace"), "{error}");
    let done = sandbox.json(&["store", "restore", &name, "--replace"])["restore"].clone();
    assert_eq!(sandbox.head()["hash"], head["hash"]);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    assert_eq!(sandbox.refused(&["task", "show", "T4"]), ("not-found".into(), 4));
    // It is a store like any other.
    sandbox.json(&["task", "create", "Go on"]);

    // The one that was replaced is closed, still has everything, and can be restored itself.
    let replaced = done["replaced"].as_str().unwrap().to_owned();
    let url = format!("sqlite:{replaced}");
    let (error, _) = sandbox.comity().args(&["--store", &url, "task", "create", "x"]).refusal();
    assert!(error["message"].as_str().unwrap().contains("restored a backup"), "{error}");
    sandbox.json(&["store", "restore", &replaced, "--replace"]);
    assert_eq!(sandbox.json(&["task", "show", "T4"])["task"]["title"], "Too late");
    sandbox.json(&["task", "create", "And on"]);
    let left: Vec<_> = std::fs::read_dir(sandbox.root.join(".git/comity")).unwrap().collect();
    let is_workshop = |name: &str| name.starts_with("backup-");
    assert!(left.iter().all(|e| !is_workshop(&e.as_ref().unwrap().file_name().to_string_lossy())));
}

#[test]
fn a_store_that_is_gone_or_damaged_is_restored() {
    let (sandbox, _, name) = project(2);
    let head = sandbox.head();
    sandbox.json(&["store", "backup", &name]);
    let db = sandbox.root.join(".git/comity/comity.db");
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", db.display()));
    }
    let done = sandbox.json(&["store", "restore", &name]);
    assert_eq!(done["restore"]["replaced"], serde_json::Value::Null);
    assert_eq!(sandbox.head(), head);
    std::fs::write(&db, "this is no database, and it is long enough to be looked at".repeat(99))
        .unwrap();
    sandbox.json(&["store", "restore", &name, "--replace"]);
    assert_eq!(sandbox.head(), head);
}

#[test]
fn a_file_that_is_no_backup_changes_nothing() {
    let (sandbox, file, name) = project(1);
    let head = sandbox.head();
    let restore = |file: &str| sandbox.comity().args(&["store", "restore", file, "--replace"]);
    assert_eq!(restore("/nowhere/copy.db").refusal().1, 4);
    std::fs::write(&file, "no database").unwrap();
    assert_ne!(restore(&name).refusal().1, 0);
    std::fs::remove_file(&file).unwrap();
    sandbox.json(&["store", "backup", &name]);
    // Somebody edited the log of the backup.
    let edit = "UPDATE events SET body = CAST(replace(body, 'Task 0', 'Task X') AS BLOB)";
    let done = std::process::Command::new("sqlite3").args([&name, edit]).status().unwrap();
    assert!(done.success());
    let (error, exit) = restore(&name).refusal();
    assert_eq!((error["message"].as_str(), exit), (Some("the copy does not verify"), 1));
    let (error, exit) = restore(&name).by("codex-cli").refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("human-only"), 3));
    assert_eq!(sandbox.head(), head);
}

#[test]
fn a_backup_is_consistent_while_others_write() {
    let (sandbox, _, _) = project(1);
    let mut writers: Vec<_> = (0..3)
        .map(|_| {
            let binary = env!("CARGO_BIN_EXE_comity");
            let script = format!("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do {binary} note progress x --as ada || exit 1; done");
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &script]).current_dir(&sandbox.root).stdout(std::process::Stdio::null());
            command.env_remove("COMITY_AGENT").env_remove("CLAUDECODE");
            command.spawn().unwrap()
        })
        .collect();
    for number in 0..5 {
        let file = sandbox.outside().join(format!("copy-{number}.db")).display().to_string();
        let made = sandbox.json(&["store", "backup", &file])["backup"].clone();
        let url = format!("sqlite:{file}");
        let verified = sandbox.json(&["--store", &url, "log", "verify"]);
        assert_eq!((&verified["ok"], &verified["head"]), (&true.into(), &made["head"]));
    }
    assert!(writers.iter_mut().all(|writer| writer.wait().unwrap().success()));
}

#[test]
fn a_store_on_a_server_is_backed_up_as_the_same_file() {
    let (sandbox, url) = (Sandbox::new(), comity_store::test_server::empty_store());
    let name = sandbox.outside().join("copy.db").display().to_string();
    let there = |args: &[&str]| sandbox.comity().env("COMITY_STORE", &url).args(args);
    there(&["task", "create", "Parse dates"]).json();
    let made = there(&["store", "backup", &name]).json()["backup"].clone();
    assert_eq!(made["head"], there(&["log", "head"]).json()["hash"]);
    let (error, exit) = there(&["store", "restore", &name, "--replace"]).refusal();
    assert_eq!(exit, 2);
    assert!(error["hint"].as_str().unwrap().contains("comity store copy"), "{error}");
    sandbox.json(&["store", "restore", &name]);
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["title"], "Parse dates");
}
