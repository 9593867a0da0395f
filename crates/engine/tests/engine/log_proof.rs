//! Edits, deletions and swaps in the log, and in the rows beside it, are found and named.

use crate::support::{World, claim_best, start};
use comity_core::command::{Command, NewTask};
use comity_core::refusal::Code;
use rusqlite::Connection;

fn tampered(change: &str) -> Vec<String> {
    let mut world = World::sqlite();
    world.create("One", |new| new.files = vec!["a".to_owned()]);
    world.create("Two", |_| {});
    world.run("agent-1", claim_best());
    world.run("agent-1", start("T1"));
    world.assert_log_is_sound();
    let path = world.path().unwrap();
    let db = Connection::open(path).unwrap();
    assert!(db.execute_batch(change).is_ok(), "{change}");
    drop(db);
    let report = world.engine.verify().unwrap();
    assert!(!report.ok, "{change}: {report:?}");
    report.problems
}

#[test]
fn rule_5_1_an_edited_event_is_named() {
    let body = "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'One', 'Won') AS BLOB)
                WHERE seq = 2";
    assert!(tampered(body)[0].contains("event 2"));
    assert!(tampered("UPDATE events SET agent = 'agent-9' WHERE seq = 4")[0].contains("event 4"));
    assert!(tampered("UPDATE events SET ts = ts - 1 WHERE seq = 3")[0].contains("event 3"));
}

#[test]
fn rule_5_1_a_deleted_event_is_named() {
    assert!(tampered("DELETE FROM events WHERE seq = 3")[0].contains("event 3 is missing"));
}

#[test]
fn rule_5_1_swapped_events_are_named() {
    let swap = "UPDATE events SET seq = -1 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 4;
                UPDATE events SET seq = 4 WHERE seq = -1;";
    assert!(tampered(swap)[0].contains("event 3"));
}

#[test]
fn rule_5_2_a_row_that_the_log_does_not_explain_is_named_and_mended_by_a_rebuild() {
    let edit = "UPDATE tasks SET body = replace(body, 'in_progress', 'review') WHERE id = 'T1'";
    assert!(tampered(edit)[0].contains("task T1"));
    assert!(tampered("DELETE FROM tasks WHERE id = 'T2'")[0].contains("task T2"));
    let found_by = "UPDATE tasks SET status = 'done' WHERE id = 'T1'";
    assert!(tampered(found_by)[0].contains("1 tasks have columns that differ from their content"));
    let mut world = World::sqlite();
    world.create("One", |_| {});
    let db = Connection::open(world.path().unwrap()).unwrap();
    db.execute_batch("UPDATE tasks SET body = replace(body, 'One', 'Won')").unwrap();
    drop(db);
    assert!(!world.engine.verify().unwrap().ok);
    world.engine.rebuild().unwrap();
    world.assert_log_is_sound();
}

#[test]
fn a_damaged_log_is_not_rebuilt_from() {
    let mut world = World::sqlite();
    world.create("One", |_| {});
    let db = Connection::open(world.path().unwrap()).unwrap();
    db.execute_batch("UPDATE events SET agent = 'human:eve' WHERE seq = 1").unwrap();
    drop(db);
    assert!(world.engine.rebuild().is_err());
    assert_eq!(world.status("T1"), "queued");
}

#[test]
fn what_could_not_be_committed_is_not_acknowledged_and_leaves_nothing() {
    let mut world = World::sqlite();
    world.create("One", |_| {});
    let db = Connection::open(world.path().unwrap()).unwrap();
    db.execute_batch(
        "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'broken'); END",
    )
    .unwrap();
    let new = NewTask { title: "Two".to_owned(), ..NewTask::default() };
    let create = Command::CreateTask(Box::new(new));
    world.refused("agent-1", create.clone(), Code::StoreUnavailable);
    assert_eq!(world.head()["seq"], 2);
    db.execute_batch("DROP TRIGGER broken").unwrap();
    drop(db);
    assert_eq!(world.run("agent-1", create)["task"]["id"], "T2");
    world.assert_log_is_sound();
}
