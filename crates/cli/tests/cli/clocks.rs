//! Hosts whose clocks are wrong, and the server's clock that decides.
//!
//! `faketime` shows a process another time; what comity asks the server is not touched by it.

use crate::sandbox::Sandbox;
use comity_store::test_server::{Cluster, empty_store_at};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

#[test]
fn a_clock_far_ahead_stops_expiry_until_a_person_corrects_it() {
    let sandbox = Sandbox::new();
    let file = format!("sqlite:{}", sandbox.outside().join("clock.db").display());
    expires_again(&sandbox, &file);
}

/// Lets one command run under a clock twenty years ahead.
fn expires_again(sandbox: &Sandbox, store: &str) {
    let host = |agent, off| Host { sandbox, store, agent, off };
    let (ada, bob, ann) = (host("ada", None), host("bob", None), host("human:ann", None));
    ada.done(&["task", "create", "Parse", "--file", "src/"]);
    ada.done(&["task", "claim", "--ttl", "6s"]);
    host("eve", Some("+20y")).done(&["lease", "acquire", "docs/", "--ttl", "6s"]);
    host("eve", Some("+20y")).done(&["decision", "ask", "Which?", "--expires", "6s"]);
    ada.done(&["agent", "heartbeat"]);
    std::thread::sleep(Duration::from_millis(6_500));

    // The log's time holds, so nothing expires, and status says so.
    assert_eq!(bob.refused(&["lease", "acquire", "docs/a.md"]), "lease-held");
    let attention = bob.done(&["status"])["attention"].clone();
    let kinds: Vec<&str> =
        attention.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"clock"), "{attention}");
    assert_eq!(clock(&bob), "warn");

    // Only a person sets the log back.
    bob.call(&["doctor", "--fix"]);
    assert_eq!(clock(&bob), "warn", "an agent does not correct the log");
    let (report, exit) = ann.call(&["doctor", "--fix"]);
    assert_eq!(exit, 0, "{report}");
    let held = bob.refused(&["lease", "acquire", "docs/a.md"]);
    assert_eq!(held, "lease-held", "its time counts from the correction");
    assert_eq!(clock(&bob), "ok");
    assert_eq!(ann.done(&["log", "verify"])["ok"], true);
    let corrected = ann.done(&["event", "list", "--type", "clock_corrected"]);
    let corrected = &corrected["events"][0];
    assert!(corrected["ts"].as_str().unwrap() < corrected["log_time"].as_str().unwrap());

    // From there on everything expires as it should.
    std::thread::sleep(Duration::from_millis(6_500));
    bob.done(&["lease", "acquire", "docs/a.md"]);
    bob.done(&["task", "claim", "T1"]);
    assert_eq!(bob.done(&["decision", "show", "D1"])["decision"]["state"], "expired");
    let kinds = bob.done(&["status"])["attention"].to_string();
    assert!(!kinds.contains("\"clock\""), "{kinds}");
    assert_eq!(ann.done(&["log", "verify"])["ok"], true);
    ann.done(&["log", "rebuild"]);
    assert_eq!(ann.done(&["log", "verify"])["ok"], true);
}

/// What doctor says of the clock.
fn clock(host: &Host<'_>) -> String {
    let (report, _) = host.call(&["doctor"]);
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "clock").unwrap();
    found["state"].as_str().unwrap().to_owned()
}

struct Host<'s> {
    sandbox: &'s Sandbox,
    store: &'s str,
    agent: &'static str,
    /// By how much its clock is wrong, in faketime's words.
    off: Option<&'static str>,
}

impl Host<'_> {
    fn call(&self, args: &[&str]) -> (Value, i32) {
        let mut command = match self.off {
            Some(off) => {
                let mut command = Command::new("faketime");
                command.args(["-f", off, env!("CARGO_BIN_EXE_comity")]);
                command
            }
            None => Command::new(env!("CARGO_BIN_EXE_comity")),
        };
        command.args(["--json", "--as", self.agent, "--store", self.store]).args(args);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.sandbox.outside()).current_dir(&self.sandbox.root);
        let output = command.output().unwrap();
        let exit = output.status.code().unwrap();
        let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        let said = String::from_utf8_lossy(text);
        (serde_json::from_slice(text).unwrap_or_else(|_| panic!("{args:?}: {said}")), exit)
    }

    fn done(&self, args: &[&str]) -> Value {
        let (answer, exit) = self.call(args);
        assert_eq!(exit, 0, "{args:?}: {answer}");
        answer
    }

    fn refused(&self, args: &[&str]) -> String {
        let (answer, exit) = self.call(args);
        assert_eq!(exit, 3, "{args:?}: {answer}");
        answer["error"]["code"].as_str().unwrap().to_owned()
    }

    fn skew(&self) -> Value {
        let (report, _) = self.call(&["doctor"]);
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "skew").unwrap()["state"].clone()
    }
}

#[test]
fn a_host_whose_clock_is_an_hour_off_can_neither_steal_nor_keep_a_lease() {
    let server = Cluster::start(&["fsync=off"]);
    let store = empty_store_at(&server.url);
    let sandbox = Sandbox::new();
    let host = |agent, off| Host { sandbox: &sandbox, store: &store, agent, off };
    let (right, ahead, behind) =
        (host("right", None), host("ahead", Some("+1h")), host("behind", Some("-1h")));
    assert_eq!(right.skew(), "ok");
    assert_ne!(ahead.skew(), "ok", "its clock is not shifted");
    assert_ne!(behind.skew(), "ok", "its clock is not shifted");

    // To the host ahead everything looks long expired.
    right.done(&["task", "create", "Parse", "--file", "src/"]);
    let claimed = right.done(&["task", "claim", "--ttl", "10m"]);
    right.done(&["lease", "acquire", "docs/", "--ttl", "10m"]);
    assert_eq!(ahead.refused(&["lease", "acquire", "docs/a.md"]), "lease-held");
    assert_eq!(ahead.refused(&["lease", "acquire", "src/a.rs"]), "lease-held");
    ahead.done(&["watchdog", "--once"]);
    ahead.done(&["lease", "reclaim"]);
    assert_eq!(ahead.refused(&["task", "claim", "T1"]), "not-ready");
    let leases = ahead.done(&["lease", "list"]);
    assert_eq!(leases["leases"].as_array().unwrap().len(), 2, "{leases}");
    let shown = ahead.done(&["task", "show", "T1"]);
    assert_eq!(shown["task"]["claim"]["fence"], claimed["fence"]);

    // The host behind believes for an hour that its lease lives.
    behind.done(&["lease", "acquire", "web/", "--ttl", "1s"]);
    std::thread::sleep(Duration::from_millis(1_600));
    let taken = right.done(&["lease", "acquire", "web/app.ts"]);
    assert_eq!(taken["leases"][0]["owner"], "right");
    assert_eq!(behind.refused(&["lease", "acquire", "web/"]), "lease-held");

    // Times in the log are the server's, whoever wrote it.
    let events = right.done(&["event", "list", "--limit", "500"]);
    let times: Vec<&str> =
        events["events"].as_array().unwrap().iter().map(|e| e["ts"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let (first, last) = (times[0], times[times.len() - 1]);
    assert_eq!(first[..10], last[..10], "an hour off would show");
    assert_eq!(right.done(&["log", "verify"])["ok"], true);
}
