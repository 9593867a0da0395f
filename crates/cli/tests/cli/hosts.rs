//! Two hosts with networks of their own and one server between them.
//!
//! Network namespaces take root; without it there is nothing to make hosts of, and the test says so.

use crate::sandbox::Sandbox;
use comity_store::test_server::{Cluster, empty_store_at, psql};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

fn ip(args: &[&str]) {
    let output = Command::new("ip").args(args).output().unwrap();
    assert!(output.status.success(), "ip {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A host: a network namespace with one cable to this machine.
struct Host {
    name: String,
    cable: String,
    /// The address of this machine at the other end.
    server: String,
}

impl Host {
    fn new(number: u32) -> Host {
        let id = std::process::id() % 100_000;
        let name = format!("cm{id}h{number}");
        let cable = format!("cm{id}c{number}");
        let net = format!("10.{}.{}", 128 + id % 64, id / 64 % 256);
        let (here, there) = (4 * number + 1, 4 * number + 2);
        let host = Host { name, cable, server: format!("{net}.{here}") };
        ip(&["netns", "add", &host.name]);
        ip(&[
            "link",
            "add",
            &host.cable,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            &host.name,
        ]);
        ip(&["addr", "add", &format!("{}/30", host.server), "dev", &host.cable]);
        ip(&["link", "set", &host.cable, "up"]);
        ip(&["-n", &host.name, "addr", "add", &format!("{net}.{there}/30"), "dev", "eth0"]);
        ip(&["-n", &host.name, "link", "set", "eth0", "up"]);
        host
    }

    fn url(&self, store: &str) -> String {
        let (_, options) = store.split_once("options=").unwrap();
        format!("postgres://comity@{}:5432/postgres?options={options}", self.server)
    }

    fn spawn(&self, sandbox: &Sandbox, store: &str, actor: &str, args: &[&str]) -> Child {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.name, env!("CARGO_BIN_EXE_comity"), "--json"])
            .args(["--as", actor, "--repo", "acme/app", "--root"])
            .arg(&sandbox.root)
            .args(["--store", &self.url(store)])
            .args(args)
            .env_clear()
            .current_dir(&sandbox.root)
            .env("HOME", sandbox.outside())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
        let _ = Command::new("ip").args(["link", "del", &self.cable]).output();
    }
}

fn answer(child: Child) -> (Value, i32) {
    let output = child.wait_with_output().unwrap();
    let text = if output.status.success() { &output.stdout } else { &output.stderr };
    let shown = String::from_utf8_lossy(text).into_owned();
    let value = serde_json::from_slice(text).unwrap_or_else(|_| panic!("not JSON: {shown}"));
    (value, output.status.code().unwrap())
}

#[test]
fn two_hosts_claim_lease_and_answer_at_once_over_their_networks() {
    if !rustix::process::geteuid().is_root() || Command::new("ip").arg("-V").output().is_err() {
        println!("not run: hosts of their own take root and iproute2");
        return;
    }
    let hosts = [Host::new(0), Host::new(1)];
    let addresses = format!("listen_addresses={},{}", hosts[0].server, hosts[1].server);
    let server = Cluster::start(&["fsync=off", &addresses]);
    let allow = format!(
        "COPY (SELECT 'host all all 10.0.0.0/8 trust') TO PROGRAM 'cat >> {}/data/pg_hba.conf'",
        server.path()
    );
    psql(&server.url, &allow);
    psql(&server.url, "SELECT pg_reload_conf()");
    let store = empty_store_at(&server.url);
    let sandbox = Sandbox::new();
    let ask = |host: usize, actor: &str, args: &[&str]| {
        answer(hosts[host].spawn(&sandbox, &store, actor, args))
    };
    for n in 0..8 {
        let (made, exit) = ask(n % 2, "human:ann", &["task", "create", &format!("task {n}")]);
        assert_eq!(exit, 0, "{made}");
    }
    let racers: Vec<Child> = (0..8)
        .map(|n| hosts[n % 2].spawn(&sandbox, &store, &format!("bot-{n}"), &["task", "claim"]))
        .collect();
    let claimed: BTreeSet<String> = racers
        .into_iter()
        .map(|racer| answer(racer).0["task"]["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(claimed.len(), 8, "every host got tasks of its own");
    for round in 0..10 {
        let pattern = |host: usize| if host == 0 { "src/**" } else { "src/a.rs" };
        let racers: Vec<Child> = (0..2)
            .map(|host| {
                let args = ["lease", "acquire", pattern(host)];
                hosts[host].spawn(&sandbox, &store, &format!("bot-{host}"), &args)
            })
            .collect();
        let exits: Vec<i32> = racers.into_iter().map(|racer| answer(racer).1).collect();
        let winner = exits.iter().position(|exit| *exit == 0);
        assert!(exits.contains(&3) && winner.is_some(), "round {round}: {exits:?}");
        let owner = format!("bot-{}", winner.unwrap());
        ask(1 - winner.unwrap(), &owner, &["lease", "release", "--all"]);
    }
    let waits = ["decision", "ask", "Which?", "--wait", "--timeout", "30s"];
    let waiting = hosts[0].spawn(&sandbox, &store, "bot-0", &waits);
    let answered = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        ask(1, "human:ann", &["decision", "answer", "D1", "this"]).1 == 0
    });
    assert!(answered);
    assert_eq!(answer(waiting).0["decision"]["answer"], "this");
    assert_eq!(ask(1, "human:ann", &["log", "verify"]).0["ok"], true);
}
