//! What people read: the story of a task, the log, lists, and what needs them.

use crate::sandbox::Sandbox;
use std::io::{BufRead, BufReader};

/// A task that was tried, sent back and asked about.
fn eventful() -> Sandbox {
    let sandbox = Sandbox::new();
    let by = |agent: &str, args: &[&str]| sandbox.comity().by(agent).args(args).json();
    by("human:ann", &["agent", "register", "cleo", "--role", "critic"]);
    by("human:ann", &["new", "Parse dates", "-g", "tests", "-p", "high"]);
    by("human:ann", &["new", "Print dates", "--depends-on", "T1"]);
    by("human:ann", &["new", "Fix the build", "-p", "critical", "--deliverable", "none"]);
    by("ada", &["task", "claim", "T3", "--start"]);
    by("ada", &["task", "fail", "T3", "-m", "the disk is full"]);
    by("ada", &["task", "claim", "T1", "--start"]);
    by("ada", &["note", "discovery", "The parser is recursive", "-t", "T1"]);
    by("ada", &["task", "block", "T1", "--needs", "a choice", "--question", "Which calendar?"]);
    by("human:ann", &["decision", "answer", "D1", "the ISO one"]);
    by("ada", &["task", "claim", "T1", "--start"]);
    sandbox.work();
    by("ada", &["task", "submit", "T1", "-g", "tests=pass"]);
    by("cleo", &["task", "request-changes", "T1", "-m", "handle leap years"]);
    sandbox
}

#[test]
fn the_story_of_a_task_has_feedback_notes_questions_failures_and_evidence() {
    let sandbox = eventful();
    let told = sandbox.screen(&["task", "show", "T1"]);
    for part in [
        "cleo sent round 2 back, just now: handle leap years",
        "ada, just now: (discovery) The parser is recursive",
        "ada asks: Which calendar?",
        "human:ann answers: the ISO one",
        "ada, just now: tests passes (claimed)",
        "review → changes_requested",
    ] {
        assert!(told.contains(part), "{part} is missing in\n{told}");
    }
    // The newest comes first.
    let place = |text: &str| told.rfind(text).unwrap();
    assert!(place("review → changes_requested") < place("claimed it on"), "{told}");
    assert!(sandbox.screen(&["task", "show", "T3"]).contains("ada, just now: the disk is full"));
    let json = sandbox.json(&["task", "show", "T1"]);
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["task", "brief"]);
}

#[test]
fn status_names_titles_and_for_each_thing_the_command_to_run() {
    let sandbox = eventful();
    sandbox.comity().by("bob").args(&["decision", "ask", "Which way?"]).json();
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    let said = sandbox.screen(&["status", "--as", "human:ann"]);
    for part in [
        "T1  Parse dates",
        "comity decision answer D2 ANSWER",
        "Fix the build: the disk is full",
        "comity task requeue T3",
    ] {
        assert!(said.contains(part), "{part} is missing in\n{said}");
    }
    let json = sandbox.json(&["status", "--as", "human:ann"]);
    assert_eq!(json["attention"][0]["next"], "comity decision answer D2 ANSWER");
    assert_eq!(json["working"][0]["title"], "Parse dates");
}

#[test]
fn lists_have_open_tasks_in_claim_order_ready_ones_marked() {
    let sandbox = eventful();
    let ids = |args: &[&str]| {
        let tasks = sandbox.json(args)["tasks"].clone();
        let ids: Vec<String> = tasks
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["id"].as_str().unwrap().to_owned())
            .collect();
        ids.join(" ")
    };
    assert_eq!(ids(&["task", "list"]), "T3 T1 T2");
    sandbox.comity().by("human:ann").args(&["task", "abandon", "T2", "-m", "no"]).json();
    assert_eq!(ids(&["task", "list"]), "T3 T1");
    assert_eq!(ids(&["task", "list", "--all"]), "T1 T2 T3");
    assert_eq!(ids(&["task", "list", "--all", "--search", "date pars"]), "T1");
    assert_eq!(ids(&["task", "list", "--mine", "--as", "ada"]), "T3 T1");
    sandbox.comity().by("human:ann").args(&["new", "Write the manual"]).json();
    let shown = sandbox.screen(&["ls", "--as", "bob"]);
    let marked: Vec<&str> = shown.lines().filter(|line| line.contains("● ready")).collect();
    assert!(marked.len() == 1 && marked[0].starts_with("T4"), "{shown}");
    // Programs get the plain status.
    assert!(!sandbox.comity().args(&["ls"]).done().stdout.contains('●'));
}

#[test]
fn the_log_tells_what_happened_newest_first_in_words_and_local_time() {
    let sandbox = eventful();
    let log = sandbox.comity().env("TZ", "UTC-9").env("COMITY_COLUMNS", "80");
    let log = log.args(&["log", "--limit", "3"]).done().stdout;
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[0].contains("review → changes_requested: handle leap years"), "{log}");
    assert_eq!(lines.len(), 4, "three events and how to go on: {log}");
    let there = jiff_minutes(&sandbox.json(&["log"])["events"][0]["ts"]);
    let here = format!("{} {}", &lines[0][..10], &lines[0][11..16]);
    assert_ne!(here, there, "by the local clock, nine hours ahead");
    let json = sandbox.json(&["log", "--task", "T3", "-n", "2"]);
    assert_eq!(json["events"][0]["new_status"], "failed");
    let next = json["next"].as_str().unwrap();
    let rest = sandbox.json(&["log", "--task", "T3", "--after", next]);
    assert_eq!(rest["events"].as_array().unwrap().last().unwrap()["event"], "task_created");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    assert_eq!(sandbox.refused(&["log", "--task", "T9"]).1, 4);
}

fn jiff_minutes(ts: &serde_json::Value) -> String {
    ts.as_str().unwrap()[..16].replace('T', " ")
}

#[test]
fn the_log_is_followed_from_its_last_events_on() {
    let sandbox = eventful();
    let mut child =
        sandbox.comity().by("human:ann").args(&["log", "--follow", "-n", "1", "-t", "T1"]).spawn();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("changes_requested"));
    sandbox.comity().by("ada").args(&["note", "progress", "elsewhere"]).json();
    sandbox.comity().by("ada").args(&["note", "progress", "nearly", "-t", "T1"]).json();
    assert!(lines.next().unwrap().unwrap().ends_with("progress: nearly"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_person_who_works_alone_is_told_how_to_waive_the_review() {
    let sandbox = Sandbox::new();
    let ann = |args: &[&str]| sandbox.comity().by("human:ann").args(args).json();
    ann(&["new", "Parse dates"]);
    ann(&["task", "claim", "T1", "--start"]);
    sandbox.work();
    ann(&["task", "submit", "T1"]);
    let said = sandbox.screen(&["task", "why", "T1", "--as", "human:ann"]);
    assert!(said.contains("comity gate waive T1 review --reason …"), "{said}");
    let waived = ann(&["gate", "waive", "T1", "review", "--reason", "I work alone"]);
    assert_eq!(waived["task"]["status"], "approved", "what is said works");
    ann(&["task", "merge", "T1"]);
    let done = ann(&["task", "done", "T1"])["task"].clone();
    assert_eq!((&done["status"], &done["gates"][0]["state"]), (&"done".into(), &"waived".into()));
}

#[test]
fn several_tasks_are_shown_together_or_not_at_all() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    sandbox.json(&["task", "create", "Print dates"]);
    let shown = sandbox.json(&["task", "show", "1", "T2"]);
    assert_eq!(shown["tasks"][1]["title"], "Print dates");
    assert_eq!(sandbox.json(&["task", "show", "T2"])["task"]["id"], "T2");
    let words = sandbox.screen(&["task", "show", "T1", "T2"]);
    assert!(words.contains("Parse dates") && words.contains("Print dates"), "{words}");
    assert_eq!(sandbox.refused(&["task", "show", "T1", "T9"]), ("not-found".to_owned(), 4));
    let why = sandbox.json(&["task", "why", "t1", "2"]);
    assert_eq!((&why["tasks"][0]["id"], &why["tasks"][1]["ready"]), (&"T1".into(), &true.into()));
    assert_eq!(sandbox.json(&["task", "why", "T1"])["why"]["id"], "T1");
    let words = sandbox.screen(&["task", "why", "T1", "T2"]);
    assert!(words.contains("T1 ") && words.contains("T2 "), "{words}");
    assert_eq!(sandbox.refused(&["task", "why", "T1", "T9"]), ("not-found".to_owned(), 4));
}
