//! What a person does at the command line: a backlog taken in, issues paused and resumed, and calls that cannot be.

use crate::field;
use comity_standin::{AGENT, ANN, Done, Fault, On, Rule, at};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_backlog_is_imported_by_label_state_and_number_and_only_shown_on_a_dry_run() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "A bug", "It breaks.", &["bug"]);
    field.open("bob", "A wish", "It could.", &["wish"]);
    field.open("ann", "Blocked bug", "It waits.", &["bug", "agent:blocked"]);
    let closed = field.open("ann", "An old bug", "It broke.", &["bug"]);
    let path = at(&format!("issues/{closed}"));
    field.hub.person("ann", "PATCH", &path, json!({ "state": "closed" }));
    let head = engine.head();
    field.hub.forget();
    let planned = engine.json(ANN, &["import", "github", "--label", "bug", "--dry-run"]);
    assert_eq!(engine.head(), head);
    assert!(field.hub.log().iter().all(|entry| !entry.is_write()));
    let rows = |answer: &serde_json::Value| {
        let row = |one: &serde_json::Value| {
            (one["issue"].to_string(), one["status"].to_string(), one["state"].to_string())
        };
        answer["imported"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let made = engine.json(ANN, &["import", "github", "--label", "bug"]);
    let planned: Vec<_> = rows(&planned)
        .into_iter()
        .map(|(issue, status, state)| (issue, status, state.replace("planned", "made")))
        .collect();
    assert_eq!(planned, rows(&made), "a dry run shows what is done");
    assert_eq!((engine.status("T1").as_str(), engine.status("T2").as_str()), ("queued", "blocked"));
    let again = engine.json(ANN, &["import", "github", "--label", "bug", "--state", "all"]);
    let states: Vec<String> = rows(&again).into_iter().map(|(_, _, state)| state).collect();
    assert_eq!(states, ["\"present\"", "\"present\"", "\"made\""]);
    assert_eq!(engine.status("T3"), "done");
    engine.json(ANN, &["import", "github", "2"]);
    assert_eq!(engine.tasks().len(), 4);
    // From then on both sides are kept in step.
    engine.settle();
    assert_eq!(field.labels(1), ["agent:ready", "bug"]);
    assert_eq!(engine.sync()["writes"], 0);
    // An issue that was closed long ago stays as it is, also when it is seen again.
    field.hub.person("ann", "PATCH", &path, json!({ "title": "A very old bug" }));
    engine.settle();
    assert_eq!(engine.sync()["writes"], 0);
    assert_eq!(field.labels(closed), ["bug"]);
    // What somebody does there counts as everywhere.
    field.hub.person("ann", "PATCH", &path, json!({ "state": "open" }));
    field.label("ann", closed, "agent:ready");
    engine.settle();
    assert_eq!(
        (engine.status("T3").as_str(), field.labels(closed)),
        ("queued", vec!["agent:ready".to_owned(), "bug".to_owned()])
    );
    let bad = engine.call(ANN, &["import", "github", "--state", "half"]);
    assert_eq!(bad.exit, 2, "{bad:?}");
}

#[test]
fn a_paused_issue_hears_nothing_until_it_is_resumed() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(ANN, &["github", "pause", "1", "--reason", "we discuss it"]);
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    let sync = engine.sync();
    assert_eq!(
        (&sync["writes"], &sync["pending"], &sync["paused"]),
        (&json!(0), &json!(0), &json!(["ann/tool#1"])),
        "{sync}"
    );
    assert!(sync["held"].as_u64().unwrap() > 0, "{sync}");
    let status = engine.json(ANN, &["github", "status"])["github"].clone();
    assert_eq!((&status["held"], &status["pending"]), (&json!(1), &json!(0)), "{status}");
    engine.json(ANN, &["github", "resume", "1"]);
    engine.settle();
    assert_eq!((field.labels(1), field.said(1).len()), (vec!["agent:in-progress".to_owned()], 1));
    // The label does the same, and nobody claims what is held.
    engine.json(AGENT, &["task", "release", "T1", "-m", "later"]);
    field.label("ann", 1, "comity:hold");
    let sync = engine.sync();
    assert_eq!(sync["paused"], json!(["ann/tool#1"]), "{sync}");
    let refused = engine.call(AGENT, &["task", "claim", "T1"]);
    assert_eq!((refused.exit, refused.code().as_str()), (3, "not-ready"), "{refused:?}");
    field.unlabel("ann", 1, "comity:hold");
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
}

#[test]
fn what_is_put_back_twice_pauses_the_issue() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(ANN, &["task", "block", "T1", "--needs", "an answer", "--question", "Which?"]);
    engine.settle();
    for round in 0..2 {
        field.label("bob", 1, "agent:done");
        let sync = engine.sync();
        assert_eq!(sync["in"][0]["verdict"], "refused", "{round}: {sync}");
        engine.settle();
    }
    let refusals =
        field.said(1).iter().filter(|text| text.contains("cannot do what bob asked")).count();
    assert_eq!(refusals, 1, "said once: {:?}", field.said(1));
    assert_eq!(engine.sync()["paused"], json!(["ann/tool#1"]));
    let asked = engine.json(ANN, &["decision", "list"])["decisions"].to_string();
    assert_eq!(asked.matches("comity writes no more to ann/tool#1").count(), 1, "{asked}");
}

#[test]
fn what_is_forgotten_is_read_again_and_said_no_second_time() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine.json(AGENT, &["task", "block", "T1", "--needs", "an answer", "--question", "Which?"]);
    engine.settle();
    field.say("ann", 1, "ANSWER:\n\n- This one");
    engine.settle();
    let forget = || engine.json(ANN, &["github", "forget"])["forgotten"].as_u64().unwrap();
    let (said, head) = (field.said(1), engine.head());
    assert!(forget() > 0);
    engine.settle();
    assert_eq!((field.said(1), engine.head()), (said, head));
    // What comity did there it still knows: whom it asks, which comment goes on, which text is worked on.
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine.json(AGENT, &["note", "milestone", "Half of it", "--task", "T1"]);
    engine.settle();
    assert!(forget() > 0);
    engine.json(AGENT, &["note", "milestone", "All of it", "--task", "T1"]);
    engine.json(AGENT, &["task", "block", "T1", "--needs", "an answer", "--question", "And now?"]);
    engine.settle();
    let progress = field.said(1).iter().filter(|text| text.contains("Agent Progress")).count();
    assert_eq!(
        (progress, field.assignees(1)),
        (1, vec!["ann".to_owned(), "comity-bot".to_owned()])
    );
    assert!(forget() > 0);
    field.say("ann", 1, "ANSWER:\n\n- Now rest");
    engine.settle();
    assert_eq!(field.assignees(1), ["comity-bot"], "whoever comity assigned it takes off again");
    let text = json!({ "body": "Do it well." });
    field.hub.person("ann", "PATCH", &at("issues/1"), text);
    engine.settle();
    assert_eq!(engine.task("T1")["description"], "Do it well.");
}

#[test]
fn a_pause_in_the_middle_of_a_pass_stops_it_before_the_next_write() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    field.hub.forget();
    field.hub.fault(Rule::always(On::Writes, Fault::Slow(Duration::from_secs(4))));
    let mut pass = engine.start_sync();
    let writes = || field.hub.log().iter().filter(|entry| entry.is_write()).count();
    while writes() == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    engine.json(ANN, &["github", "pause", "1"]);
    pass.wait().unwrap();
    assert!(writes() <= 2, "what was on its way arrives, and nothing else: {:?}", field.hub.log());
    assert_eq!(field.said(1).len(), 0);
    field.hub.calm();
    engine.json(ANN, &["github", "resume", "1"]);
    engine.settle();
    assert_eq!((field.labels(1), field.said(1).len()), (vec!["agent:in-progress".to_owned()], 1));
}

#[test]
fn a_dry_run_shows_only_as_many_writes_as_are_allowed() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    let args = ["github", "sync", "--dry-run", "--max-writes", "2"];
    let out = engine.json(ANN, &args)["sync"]["out"].clone();
    assert_eq!(out.as_array().unwrap().len(), 2, "{out}");
}

#[test]
fn what_github_takes_and_does_not_do_is_said_and_tried_again_when_the_issue_is_resumed() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    let removal = On::Call("DELETE", "/issues/1/labels/".to_owned());
    field.hub.fault(Rule::always(removal, Fault::Dropped));
    let sync = engine.sync();
    assert!(sync["findings"].to_string().contains("no-effect"), "{sync}");
    assert_eq!(engine.sync()["writes"], 0, "it is not tried for ever");
    assert_eq!(field.labels(1), ["agent:in-progress", "agent:ready"]);
    field.hub.calm();
    engine.json(ANN, &["github", "resume", "1"]);
    engine.settle();
    assert_eq!(field.labels(1), ["agent:in-progress"]);
}

#[test]
fn only_one_process_keeps_a_store_in_step() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    engine.settle();
    let mut watch = engine.comity(ANN, &["github", "sync", "--watch"]);
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let second = engine.call(ANN, &["github", "sync"]);
    assert_eq!((second.exit, second.code().as_str()), (3, "sync-busy"), "{second:?}");
    // Ctrl-C ends it, and leaves the turn to others at once.
    let pid = watch.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(watch.wait().unwrap().code().is_some());
    engine.settle();
    // So does a sudden end.
    let mut watch = engine.comity(ANN, &["github", "sync", "--watch"]);
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(engine.call(ANN, &["github", "sync"]).exit, 0);
}

#[test]
fn what_cannot_be_asked_says_what_to_do() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    let without = |name: &str, args: &[&str]| {
        let mut command = engine.comity(ANN, args);
        Done::from(command.env_remove(name).output().unwrap())
    };
    let none = without("GH_TOKEN", &["github", "sync"]);
    assert_eq!((none.exit, none.code().as_str()), (5, "github-unauthorized"));
    assert!(none.stderr.contains("set GH_TOKEN"), "{none:?}");
    assert_eq!(without("GH_TOKEN", &["github", "status"]).exit, 0, "this asks nobody");
    let checks = without("GH_TOKEN", &["github", "doctor"]);
    assert_eq!(checks.exit, 5, "{checks:?}");
    let checks: serde_json::Value = serde_json::from_str(&checks.stdout).unwrap();
    let first = &checks["checks"][0];
    assert_eq!((&first["name"], &first["state"]), (&json!("token"), &json!("failed")));
    assert!(first["hint"].to_string().contains("set GH_TOKEN"), "{checks}");
    let bad = without("GH_TOKEN", &["import", "github", "--state", "half"]);
    assert_eq!(bad.exit, 2, "{bad:?}");
    field.hub.fault(Rule::next(On::Call("GET", "/user".to_owned()), Fault::Before(401)));
    let wrong = engine.call(ANN, &["github", "setup"]);
    assert_eq!((wrong.exit, wrong.code().as_str()), (5, "github-unauthorized"));
    let setup = engine.json(ANN, &["github", "setup"]);
    assert_eq!(setup["labels"].as_array().unwrap().len(), 6, "{setup}");
    let checks = engine.json(ANN, &["github", "doctor"])["checks"].as_array().unwrap().clone();
    assert!(checks.iter().all(|check| check["state"] == "ok"), "{checks:?}");
    for name in ["token", "repository", "clock", "rights", "labels"] {
        assert!(checks.iter().any(|check| check["name"] == name), "{name}: {checks:?}");
    }
    let none = engine.call(ANN, &["github", "pause", "seven"]);
    assert_eq!(none.exit, 2, "{none:?}");
}

#[test]
fn an_issue_that_was_deleted_is_a_finding_and_its_task_stays() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    field.hub.deleted("ann/tool#1");
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    let sync = engine.sync();
    assert!(sync["findings"].to_string().contains("\"gone\""), "{sync}");
    assert_eq!(engine.status("T1"), "in_progress");
    assert_eq!((&engine.sync()["pending"], &engine.sync()["writes"]), (&json!(0), &json!(0)));
}
