//! A project whose store is on PostgreSQL: same commands, same answers, same refusals.

use crate::sandbox::{Call, Sandbox};
use comity_store::test_server::{Cluster, empty_store, empty_store_at, psql};
use serde_json::Value;
use std::time::{Duration, Instant};

struct Team {
    sandbox: Sandbox,
    url: String,
}

impl Team {
    fn new() -> Team {
        Team { sandbox: Sandbox::new(), url: empty_store() }
    }

    fn call(&self, actor: &str, args: &[&str]) -> Call {
        self.sandbox.comity().env("COMITY_STORE", &self.url).by(actor).args(args)
    }

    fn json(&self, actor: &str, args: &[&str]) -> Value {
        self.call(actor, args).json()
    }
}

#[test]
fn a_whole_piece_of_work_goes_its_way() {
    let team = Team::new();
    team.json("human:ann", &["agent", "register", "crit", "--role", "critic"]);
    team.json("human:ann", &["agent", "register", "merge", "--role", "integrator"]);
    team.json("human:ann", &["task", "create", "Parse", "--file", "src/", "--gate", "tests"]);
    team.json("human:ann", &["task", "create", "Print", "--depends-on", "T1"]);
    let claimed = team.json("ada", &["task", "claim"]);
    assert_eq!(claimed["task"]["id"], "T1");
    assert_eq!(claimed["leases"][0]["path"], "src/");
    let (held, exit) = team.call("bob", &["lease", "acquire", "src/a.rs"]).refusal();
    assert_eq!((held["code"].as_str(), exit), (Some("lease-held"), 3));
    team.json("ada", &["task", "start", "T1"]);
    team.sandbox.work();
    team.json("ada", &["gate", "record", "T1", "tests", "pass"]);
    team.json("ada", &["task", "submit", "T1"]);
    team.json("crit", &["task", "review", "T1"]);
    team.json("crit", &["gate", "record", "T1", "tests", "pass"]);
    team.json("crit", &["task", "approve", "T1"]);
    team.json("merge", &["task", "merge", "T1"]);
    team.json("merge", &["task", "done", "T1"]);
    assert_eq!(team.json("bob", &["task", "claim"])["task"]["id"], "T2");
    let report = team.json("human:ann", &["log", "verify"]);
    assert_eq!(report["ok"], true, "{report}");
    let rebuilt = team.json("human:ann", &["log", "rebuild"]);
    assert_eq!(rebuilt["rebuilt"]["tasks"], 2);
    assert_eq!(team.json("human:ann", &["log", "verify"])["ok"], true);
}

#[test]
fn an_answer_from_another_process_wakes_who_waits_at_once() {
    let team = Team::new();
    team.json("ada", &["decision", "ask", "Which one?"]);
    let waiting =
        team.call("ada", &["decision", "wait", "D1", "--timeout", "60s", "--json"]).spawn();
    std::thread::sleep(Duration::from_millis(700));
    let start = Instant::now();
    team.json("human:ann", &["decision", "answer", "D1", "this one"]);
    let output = waiting.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["decision"]["answer"], "this one");
}

#[test]
fn a_server_that_is_not_there_is_exit_five_and_names_no_password() {
    let sandbox = Sandbox::new();
    let url = "postgres://ann:hunter2@127.0.0.1:9/db";
    let (error, exit) = sandbox.comity().env("COMITY_STORE", url).args(&["task", "list"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("store-unavailable"), 5));
    assert!(!error.to_string().contains("hunter2"));
}

#[test]
fn doctor_looks_at_the_server() {
    let team = Team::new();
    team.json("human:ann", &["task", "create", "x"]);
    let server = Cluster::start(&[]);
    let healthy = Team { sandbox: Sandbox::new(), url: empty_store_at(&server.url) };
    let report = healthy.json("human:ann", &["doctor"]);
    let state = |report: &Value, name: &str| {
        let checks = report["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {report}"))["state"].clone()
    };
    for name in ["store", "server", "durable", "standby", "skew", "rows", "log", "writing"] {
        assert_eq!(state(&report, name), "ok", "{name}: {report}");
    }
    let weak = Cluster::start(&["fsync=off"]);
    let risky = Team { sandbox: Sandbox::new(), url: empty_store_at(&weak.url) };
    let done = risky.call("human:ann", &["doctor", "--json"]).done();
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(state(&report, "durable"), "fail");
    assert_ne!(done.exit, 0);
}

#[test]
fn what_somebody_changed_beside_comity_is_found_and_mended_from_the_log() {
    let team = Team::new();
    team.json("human:ann", &["task", "create", "Parse", "--label", "a"]);
    team.json("human:ann", &["task", "create", "Print", "--depends-on", "T1"]);
    team.json("ada", &["decision", "ask", "Which?"]);
    team.json("ada", &["lease", "acquire", "docs/"]);
    for (tampering, said) in [
        ("UPDATE tasks SET status = 'done'", "columns that differ from their content"),
        ("UPDATE tasks SET holder = 'eve'", "columns that differ from their content"),
        ("UPDATE tasks SET waits = 3", "wrong count of open dependencies"),
        ("DELETE FROM deps", "dependencies are missing"),
        ("INSERT INTO deps VALUES ('x', 'T1', 'T9')", "dependencies belong to no task"),
        ("DELETE FROM task_labels", "labels are missing"),
        ("INSERT INTO task_labels VALUES ('x', 'l', 1, 'T1')", "labels belong to no task"),
        ("UPDATE decisions SET open = false", "column `open` that differs"),
        ("UPDATE leases SET prefix = 'elsewhere'", "a prefix that differs from their path"),
    ] {
        psql(&team.url, tampering);
        let report = team.call("human:ann", &["log", "verify", "--json"]).done();
        assert!(report.stdout.contains(said), "{tampering}: {}", report.stdout);
        team.json("human:ann", &["log", "rebuild"]);
        assert_eq!(team.json("human:ann", &["log", "verify"])["ok"], true, "{tampering}");
    }
    psql(&team.url, "DELETE FROM events WHERE seq = 2");
    let report = team.call("human:ann", &["doctor", "--json"]).done();
    assert_ne!(report.exit, 0);
    assert!(report.stdout.contains("missing from the log"), "{}", report.stdout);
}

fn history(team: &Team) {
    team.json("human:ann", &["task", "create", "Parse", "--file", "src/", "--label", "a"]);
    team.json("human:ann", &["task", "create", "Print", "--depends-on", "T1"]);
    for n in 0..30 {
        team.json("ada", &["note", "progress", &format!("step {n}")]);
    }
    team.json("ada", &["decision", "ask", "Which?"]);
    team.json("ada", &["memory", "write", "Dates are parsed twice", "--type", "fact"]);
    team.json("human:ann", &["directive", "create", "Scout", "--duration", "2h"]);
    team.json("ada", &["task", "create", "Once", "--idempotency-key", "k1"]);
}

fn log_of(team: &Team) -> Value {
    team.json("human:ann", &["event", "list", "--limit", "500"])
}

fn copy(team: &Team, to: &Team, more: &[&str]) -> Call {
    let mut args = vec!["store", "copy", &team.url, &to.url];
    args.extend(more);
    team.sandbox.comity().by("human:ann").args(&args)
}

fn in_a_file() -> Team {
    let sandbox = Sandbox::new();
    let url = format!("sqlite:{}", sandbox.outside().join("store.db").display());
    Team { sandbox, url }
}

#[test]
fn a_store_moves_to_the_server_and_back_with_its_log_byte_for_byte() {
    let (here, there, back) = (in_a_file(), Team::new(), in_a_file());
    history(&here);
    let head = here.json("human:ann", &["log", "head"]);
    let answer = copy(&here, &there, &[]).json();
    assert_eq!(answer["head"], head["hash"], "{answer} {head}");
    assert_eq!(log_of(&there), log_of(&here));
    let again = copy(&here, &there, &[]).json();
    assert_eq!(again["copied"], 0, "nothing is left to do");
    copy(&there, &back, &[]).json();
    assert_eq!(log_of(&back), log_of(&here));
    let once = ["task", "create", "Once", "--idempotency-key", "k1"];
    let first = here.json("ada", &once);
    for store in [&there, &back] {
        assert_eq!(store.json("ada", &once), first, "remembered answers come along");
        assert_eq!(store.json("human:ann", &["log", "head"]), head, "and nothing was added");
        for question in [
            &["task", "show", "T2"][..],
            &["memory", "search", "parsing date"],
            &["memory", "list"],
            &["directive", "list"],
        ] {
            assert_eq!(store.json("human:ann", question), here.json("human:ann", question));
        }
        let found = store.json("human:ann", &["memory", "search", "parsing date"]);
        assert_eq!(found["memories"][0]["id"], "M1");
    }
    let (_, tasks) =
        (back.json("ada", &["task", "claim", "T1"]), there.json("bob", &["task", "claim"]));
    assert_eq!(tasks["task"]["id"], "T1");
}

#[test]
fn a_copy_that_was_cut_off_goes_on_where_it_ended() {
    let (here, there) = (in_a_file(), Team::new());
    history(&here);
    copy(&here, &there, &[]).json();
    here.json("ada", &["note", "progress", "later"]);
    let answer = copy(&here, &there, &[]).json();
    assert_eq!(answer["copied"], 1);
    assert_eq!(log_of(&there), log_of(&here));
    there.json("ada", &["note", "progress", "only there"]);
    here.json("ada", &["note", "progress", "only here"]);
    let (error, exit) = copy(&here, &there, &[]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "another log");
}

#[test]
fn a_store_in_use_is_copied_only_when_its_writers_are_fenced() {
    let (here, there) = (in_a_file(), Team::new());
    history(&here);
    here.json("ada", &["task", "claim", "T1"]);
    let (error, exit) = copy(&here, &there, &[]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("not-ready"), 3));
    assert_eq!(error["details"]["agents"][0], "ada");
    let answer = copy(&here, &there, &["--fence-writers"]).json();
    assert_eq!(answer["fenced"], true);
    let (error, exit) = here.call("ada", &["task", "start", "T1"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("store-read-only"), 5));
    assert!(error["message"].as_str().unwrap().contains("it was moved to postgres://"));
    here.json("ada", &["task", "list"]);
    let task = there.json("ada", &["task", "start", "T1"])["task"].clone();
    assert_eq!(task["status"], "in_progress", "the claim and its fence came along");
}

#[test]
fn a_copy_that_fails_opens_only_what_it_closed_itself() {
    let (here, there, other) = (in_a_file(), in_a_file(), in_a_file());
    history(&here);
    other.json("human:ann", &["task", "create", "something else"]);
    copy(&here, &other, &["--fence-writers"]).refusal();
    here.json("ada", &["note", "progress", "still open"]);
    copy(&here, &there, &["--fence-writers"]).json();
    copy(&here, &other, &["--fence-writers"]).refusal();
    let (error, exit) = here.call("ada", &["note", "progress", "too late"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("store-read-only"), 5));
}

#[test]
fn tls_is_spoken_and_a_certificate_that_nobody_trusts_is_refused() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let port_setting = format!("port={port}");
    let listen = "listen_addresses=localhost";
    let server = Cluster::start(&["fsync=off", "ssl=on", listen, &port_setting]);
    let url = format!("postgres://comity@localhost:{port}/postgres?sslmode=require");
    let sandbox = Sandbox::new();
    let certificate = format!("{}/data/server.crt", server.path());
    let trusting = |args: &[&str]| {
        let call = sandbox.comity().env("COMITY_STORE", &url).env("SSL_CERT_FILE", &certificate);
        call.by("human:ann").args(args)
    };
    trusting(&["task", "create", "x"]).json();
    assert_eq!(trusting(&["task", "list"]).json()["tasks"][0]["id"], "T1");
    let call = sandbox.comity().env("COMITY_STORE", &url).args(&["task", "list"]);
    let (error, exit) = call.refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("store-unavailable"), 5), "{error}");
}
