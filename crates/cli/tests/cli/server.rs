//! A project whose store is on PostgreSQL: same commands, same answers, same refusals.

use crate::sandbox::{Call, Sandbox};
use comity_store::conformance::server::{Cluster, empty_store, empty_store_at};
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
