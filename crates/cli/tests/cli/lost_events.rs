//! Logs that have lost their end: noticed, refused, and gone on with by a person only.

use crate::sandbox::{Done, Sandbox};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn store(sandbox: &Sandbox) -> PathBuf {
    sandbox.root.join(".git/comity/comity.db")
}

fn beside(sandbox: &Sandbox, end: &str) -> PathBuf {
    let mut name = store(sandbox).into_os_string();
    name.push(end);
    PathBuf::from(name)
}

fn sql(sandbox: &Sandbox, text: &str) {
    let done = Command::new("sqlite3").arg(store(sandbox)).arg(text).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn note(sandbox: &Sandbox, text: &str) -> Done {
    sandbox.comity().by("ada").args(&["--json", "note", "progress", text]).done()
}

/// A project with a registration and twenty notes: events 1 to 21.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 0..20 {
        assert_eq!(note(&sandbox, &format!("note {number}")).exit, 0);
    }
    sandbox
}

fn check(sandbox: &Sandbox, by: &str, args: &[&str], name: &str) -> (Value, i32) {
    let done = sandbox.comity().by(by).args(&["doctor", "--json"]).args(args).done();
    let answer: Value = serde_json::from_str(&done.stdout).unwrap();
    let checks = answer["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name).cloned();
    (found.unwrap_or(Value::Null), done.exit)
}

/// Takes events away, which has to be noticed wherever one looks; then a person goes on.
fn loses(what: &str, first: u64, take_away: impl FnOnce(&Sandbox)) {
    let sandbox = project();
    take_away(&sandbox);
    let gone = format!("events {first} to 21 are gone");

    let verified = sandbox.comity().args(&["log", "verify", "--json"]).done();
    assert_eq!(verified.exit, 1, "{what}: {verified:?}");
    let answer: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!(answer["ok"], false, "{what}");
    assert!(answer["problems"].to_string().contains(&gone), "{what}: {answer}");

    let (found, exit) = check(&sandbox, "human:ann", &[], "end");
    assert_eq!((found["state"].as_str(), exit), (Some("fail"), 1), "{what}: {found}");
    assert!(found["message"].as_str().unwrap().contains(&gone), "{what}: {found}");

    let refused = note(&sandbox, "lost");
    let error: Value = serde_json::from_str(&refused.stderr).unwrap();
    assert_eq!((error["error"]["code"].as_str(), refused.exit), (Some("store-damaged"), 5));
    assert_eq!(error["error"]["details"]["first"], first, "{what}: {error}");

    let (found, exit) = check(&sandbox, "ada", &["--fix"], "end");
    assert_eq!((found["state"].as_str(), exit), (Some("fail"), 1), "{what}: {found}");
    assert_eq!(note(&sandbox, "lost").exit, 5, "{what}: an agent does not go on");

    let (found, exit) = check(&sandbox, "human:ann", &["--fix"], "end");
    assert_eq!((found["fixed"].as_bool(), exit), (Some(true), 0), "{what}: {found}");
    assert_eq!(note(&sandbox, "again").exit, 0, "{what}");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true, "{what}");
    let told = sandbox.json(&["event", "list", "--type", "events_lost"]);
    let told = &told["events"][0];
    assert_eq!((&told["first"], &told["last"]), (&first.into(), &21.into()), "{what}: {told}");
    assert_eq!(check(&sandbox, "human:ann", &[], "end"), (Value::Null, 0), "{what}");
}

#[test]
fn rule_5_1_a_shortened_log_is_noticed_and_only_a_person_goes_on() {
    loses("deleted events", 3, |sandbox| sql(sandbox, "DELETE FROM events WHERE seq > 2"));
    loses("an emptied file", 1, |sandbox| {
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(beside(sandbox, end));
        }
        std::fs::write(store(sandbox), "").unwrap();
    });
    loses("a deleted file", 1, |sandbox| {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(beside(sandbox, end));
        }
    });
}

/// Puts the database as it was in the place of what is there.
fn put_back(sandbox: &Sandbox, bytes: &[u8]) {
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(sandbox, end));
    }
    std::fs::write(store(sandbox), bytes).unwrap();
}

#[test]
fn rule_5_1_wherever_a_log_or_its_file_ends_too_early_it_is_noticed() {
    let sandbox = project();
    sql(&sandbox, "PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = std::fs::read(store(&sandbox)).unwrap();
    let is_noticed = |what: String| {
        let verified = sandbox.comity().args(&["log", "verify", "--json"]).done();
        assert_ne!(verified.exit, 0, "{what}: {verified:?}");
        let refused = note(&sandbox, "lost");
        assert_eq!(refused.exit, 5, "{what}: {refused:?}");
    };
    for last in 0..21 {
        put_back(&sandbox, &whole);
        sql(&sandbox, &format!("DELETE FROM events WHERE seq > {last}"));
        is_noticed(format!("no event after {last}"));
    }
    // At the edge of a page, in the middle of one, and in the header.
    let pages = whole.len() / 4096;
    let edges = [0, 1, pages / 4, pages / 2, pages - 1].map(|page| page * 4096);
    for length in edges.into_iter().chain([50, 4096 + 7]) {
        put_back(&sandbox, &whole[..length]);
        is_noticed(format!("{length} of {} bytes", whole.len()));
    }
    put_back(&sandbox, &whole);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    assert_eq!(note(&sandbox, "again").exit, 0);
}

#[test]
fn rule_5_1_a_deleted_write_ahead_log_is_noticed() {
    let sandbox = project();
    std::fs::remove_file(beside(&sandbox, "-wal")).unwrap();
    let _ = std::fs::remove_file(beside(&sandbox, "-shm"));
    let verified = sandbox.comity().args(&["log", "verify", "--json"]).done();
    assert_eq!(verified.exit, 1, "{verified:?}");
    assert!(verified.stdout.contains("gone from the end of the log"), "{verified:?}");
    assert_eq!(note(&sandbox, "x").exit, 5);
}

#[test]
fn rule_5_1_a_head_that_is_missing_torn_or_behind_means_nothing() {
    let sandbox = project();
    let head = beside(&sandbox, ".head");
    let old = std::fs::read(&head).unwrap();
    assert_eq!(note(&sandbox, "one more").exit, 0);
    let torn = [&old[..40], &std::fs::read(&head).unwrap()[40..]].concat();
    for content in [Some(old), Some(torn), Some(Vec::new()), Some(vec![0; 102]), None] {
        match content {
            Some(bytes) => std::fs::write(&head, bytes).unwrap(),
            None => std::fs::remove_file(&head).unwrap(),
        }
        assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
        assert_eq!(check(&sandbox, "human:ann", &[], "end"), (Value::Null, 0));
        assert_eq!(note(&sandbox, "and another").exit, 0);
    }
    assert!(head.exists(), "the next command keeps the head again");
}

#[test]
fn a_copied_directory_and_a_copied_store_are_whole() {
    let sandbox = project();
    let copy = sandbox.outside().join("copy");
    let copied = Command::new("cp").arg("-a").arg(&sandbox.root).arg(&copy).status().unwrap();
    assert!(copied.success());
    assert_eq!(note(&sandbox, "in the original only").exit, 0);
    let there = |args: &[&str]| sandbox.comity().at(&copy).by("ada").args(args).done();
    assert_eq!(there(&["log", "verify"]).exit, 0);
    assert_eq!(there(&["note", "progress", "in the copy only"]).exit, 0);
    let target = sandbox.outside().join("moved.db");
    let url = format!("sqlite:{}", target.display());
    sandbox.json(&["store", "copy", &format!("sqlite:{}", store(&sandbox).display()), &url]);
    assert!(target.with_extension("db.head").exists());
    let target = ["--store", &url, "note", "progress", "there"];
    assert_eq!(sandbox.comity().by("ada").args(&target).done().exit, 0);
}

#[test]
fn a_person_begins_a_new_log_and_the_old_one_is_kept() {
    let sandbox = project();
    std::fs::remove_file(store(&sandbox)).unwrap();
    let refused = sandbox.comity().by("ada").args(&["init", "--new-log"]).done();
    assert_eq!(refused.exit, 3, "{refused:?}");
    let begun = sandbox.comity().by("human:ann").args(&["init", "--new-log"]).done();
    assert_eq!(begun.exit, 0, "{begun:?}");
    assert!(begun.stderr.contains("the old log is in"), "{begun:?}");
    assert_eq!(note(&sandbox, "first").exit, 0);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    let kept = std::fs::read_dir(store(&sandbox).parent().unwrap()).unwrap();
    let kept = kept
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains(".old-"));
    assert!(kept.count() > 0);
}
