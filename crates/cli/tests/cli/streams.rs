//! Commands that wait or follow.

use crate::people::heard;
use crate::sandbox::{Done, Sandbox};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

#[test]
fn tail_prints_one_object_a_line_and_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one"]);
    let mut child = sandbox.comity().args(&["event", "tail", "--from", "1", "--json"]).spawn();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["seq"], 1);
    assert_eq!(next()["event"], "task_created");
    sandbox.json(&["task", "create", "two"]);
    assert_eq!(next()["title"], "two");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn neo_logs_follow_each_event_once() {
    let sandbox = Sandbox::new();
    let id = sandbox.json(&["task", "create", "one"])["task"]["id"].as_str().unwrap().to_owned();
    let mut child = sandbox.comity().args(&["neo", "logs", &id, "--follow", "--short"]).spawn();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().ends_with(" task_created one"));
    sandbox.json(&["note", "progress", "two", "--task", &id]);
    assert!(next().ends_with(" progress two"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn who_waits_for_an_answer_is_woken_by_another_process() {
    let sandbox = Sandbox::new();
    let ask = [
        "decision",
        "ask",
        "Which?",
        "--option",
        "a",
        "--option",
        "b",
        "--wait",
        "--timeout",
        "30s",
        "--json",
    ];
    let child = sandbox.comity().by("ada").args(&ask).spawn();
    let until = Instant::now() + Duration::from_secs(20);
    while sandbox.json(&["decision", "list"])["decisions"].as_array().unwrap().is_empty() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    sandbox.comity().by("human:ann").args(&["decision", "answer", "D1", "b: please"]).json();
    let done = Done::from(child.wait_with_output().unwrap());
    let decision = done.json()["decision"].clone();
    assert_eq!(
        (decision["answer"].as_str(), decision["text"].as_str()),
        (Some("b"), Some("please"))
    );
}

#[test]
fn waiting_in_vain_is_exit_6() {
    let sandbox = Sandbox::new();
    let ask = ["decision", "ask", "Which?", "--wait", "--timeout", "1s"];
    assert_eq!(sandbox.refused(&ask), ("timed-out".to_owned(), 6));
    let done = sandbox.comity().args(&ask).args(&["--json"]).done();
    assert_eq!(done.stderr.lines().count(), 1, "only the refusal: {}", done.stderr);
    assert_eq!(sandbox.json(&["decision", "show", "D1"])["decision"]["state"], "open");
    sandbox.comity().by("ada").args(&["lease", "acquire", "a.rs"]).json();
    let (error, exit) =
        sandbox.comity().by("bob").args(&["lease", "acquire", "*.rs", "--wait", "1s"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("timed-out"), 6));
    assert_eq!(error["details"]["conflicts"][0]["witness"], "a.rs");
}

#[test]
fn a_waiting_lease_is_granted_when_the_holder_releases() {
    let sandbox = Sandbox::new();
    sandbox.comity().by("ada").args(&["lease", "acquire", "a.rs"]).json();
    let child = sandbox
        .comity()
        .by("bob")
        .args(&["lease", "acquire", "a.rs", "--wait", "30s", "--json"])
        .spawn();
    std::thread::sleep(Duration::from_millis(200));
    sandbox.comity().by("ada").args(&["lease", "release", "--all"]).json();
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!(done.json()["leases"][0]["owner"], "bob");
}

#[test]
fn a_reader_who_leaves_early_is_no_failure() {
    let sandbox = Sandbox::new();
    for n in 0..30 {
        sandbox.json(&["task", "create", &format!("task {n} {}", "x".repeat(400))]);
    }
    let mut child = sandbox.comity().args(&["report", "log"]).spawn();
    drop(child.stdout.take());
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!((done.exit, done.stderr.as_str()), (0, ""));
}

#[test]
fn the_watchdog_reclaims_once_and_ends_well_on_a_signal() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one"]);
    sandbox.comity().by("carl").args(&["task", "claim", "--ttl", "1s"]).json();
    std::thread::sleep(Duration::from_millis(1100));
    let swept = sandbox.json(&["watchdog", "--once"]);
    assert_eq!(swept["reclaimed"]["tasks"], serde_json::json!(["T1"]));
    let child = sandbox.comity().args(&["watchdog"]).spawn();
    std::thread::sleep(Duration::from_millis(500));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(Done::from(child.wait_with_output().unwrap()).exit, 0);
}

#[test]
fn the_demo_ends_well_and_leaves_nothing_behind() {
    let sandbox = Sandbox::without_git();
    let tmp = sandbox.outside().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let call = || sandbox.comity().env("TMPDIR", &tmp.display().to_string());
    let demo = call().args(&["demo"]).json();
    assert_eq!(
        (demo["demo"]["ok"].as_bool(), demo["demo"]["tasks_done"].as_u64()),
        (Some(true), Some(3))
    );
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0);
    let child = call().args(&["demo"]).spawn();
    std::thread::sleep(Duration::from_millis(700));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(Done::from(child.wait_with_output().unwrap()).exit, 130);
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0);
}

#[test]
fn the_demo_opens_the_dashboard_and_ends_with_the_reader() {
    let sandbox = Sandbox::without_git();
    let outside = sandbox.outside();
    let (tmp, bin, opened) = (outside.join("tmp"), outside.join("bin"), outside.join("opened"));
    std::fs::create_dir(&tmp).unwrap();
    std::fs::create_dir(&bin).unwrap();
    let browser = bin.join("xdg-open");
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$1\" > {0}.new && mv {0}.new {0}\n", opened.display());
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let call = sandbox.comity().env("TMPDIR", &tmp.display().to_string()).env("PATH", &path);
    let child = call.args(&["demo", "--open"]).spawn();
    let began = Instant::now();
    while !opened.exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "no browser is opened");
        std::thread::sleep(Duration::from_millis(50));
    }
    let link = std::fs::read_to_string(&opened).unwrap();
    let (url, key) = link.trim().split_once("/#k=").unwrap();
    let (host, body) = (url.strip_prefix("http://").unwrap(), format!("{{\"key\":\"{key}\"}}"));
    let mut page = TcpStream::connect(host).unwrap();
    let length = body.len();
    write!(
        page,
        "POST /api/v1/session HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let session = heard(page);
    assert_eq!((session.status, &session.json()["me"]), (200, &serde_json::json!("human:you")));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0);
    assert!(TcpStream::connect(host).is_err(), "the server ends with it");
}

#[test]
fn a_scene_is_played_through_the_rules_into_a_store_that_can_be_looked_at() {
    let sandbox = Sandbox::without_git();
    let dir = sandbox.outside().join("scene");
    let place = dir.display().to_string();
    let demo = sandbox.comity().args(&["demo", "--scene", "ledger", "--dir", &place]).json();
    let root = demo["demo"]["dir"].as_str().unwrap().to_owned();
    let at = |args: &[&str]| sandbox.comity().args(&[&["--root", &root], args].concat()).json();
    assert_eq!(at(&["log", "verify"])["ok"], true);
    let board = at(&["board"]);
    let counts: Vec<u64> =
        board["columns"].as_array().unwrap().iter().map(|c| c["count"].as_u64().unwrap()).collect();
    assert_eq!(counts[..5], [12, 9, 4, 3, 2], "{counts:?}");
    let status = at(&["status"]);
    let kinds: Vec<&str> = status["attention"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["kind"].as_str().unwrap())
        .collect();
    for kind in ["decision", "exhausted", "red_gate", "blocked", "review", "merge", "write_seen"] {
        assert!(kinds.contains(&kind), "{kind} is missing: {kinds:?}");
    }
    let again = sandbox.comity().args(&["demo", "--scene", "ledger", "--dir", &place]).refusal();
    assert_eq!(again.0["code"], "invalid-input", "what is there is not touched");
}
