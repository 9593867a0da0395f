//! Hosts whose clocks are wrong, and the server's clock that decides.
//!
//! `faketime` shows a process another time; what comity asks the server is not touched by it.

use crate::sandbox::Sandbox;
use comity_store::test_server::{Cluster, empty_store_at};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

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
