//! What goes wrong around a run: stores and disks that are away, keepers that stand still, locks that are left, red gates.

use crate::run_processes::cases;
use crate::runs::{DONE, alive, kill, run, start, task, wait_for, waited, with_agent};
use crate::sandbox::Sandbox;
use comity_store::test_server::{Cluster, cluster, empty_store_at};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const COMMIT: &str = "echo 1 >> date; git add date; git commit -q -m 'feat(T1): dates'";

fn keeper(sandbox: &Sandbox) -> Option<u32> {
    let own = sandbox.outside().display().to_string();
    alive("__keeper").into_iter().find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&own)
    })
}

fn only_one_run(sandbox: &Sandbox) {
    assert_eq!(sandbox.json(&["runs"])["runs"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn a_database_that_is_killed_and_away_for_a_while_ends_no_run() {
    for number in 0..cases(1, 30) {
        let server = Cluster::start(&["fsync=off"]);
        let store = empty_store_at(&server.url);
        let sandbox = with_agent(
            &format!("echo draft > draft.txt; sleep 8; rm draft.txt; {COMMIT}; {DONE}"),
            "",
        );
        let on_server =
            |args: &[&str]| sandbox.comity().by("human:ann").env("COMITY_STORE", &store).args(args);
        on_server(&["task", "create", "Parse dates", "--file", "src/date.rs"]).json();
        start(&sandbox).env("COMITY_STORE", &store).json();
        let state = || on_server(&["run", "show", "R1"]).json()["run"].clone();
        wait_for("the agent works", || state()["state"] == "running");
        let postmaster = Path::new(server.path()).join("data/postmaster.pid");
        let pid = std::fs::read_to_string(&postmaster).unwrap();
        kill(pid.lines().next().unwrap().parse().unwrap());
        // Away longer than the agent works: its keeper waits with what it has to tell.
        let away = if cases(0, 1) == 1 && number == 0 { 60 } else { 12 };
        std::thread::sleep(Duration::from_secs(away));
        assert!(keeper(&sandbox).is_some(), "the keeper waits for its store");
        let _ = std::fs::remove_file(postmaster);
        cluster(&["start", server.path()]);
        wait_for("the run ends", || state()["ended_at"] != Value::Null);
        let run = state();
        assert_eq!((&run["state"], &run["error"]), (&json!("succeeded"), &Value::Null));
        assert_eq!(on_server(&["task", "show", "T1"]).json()["task"]["status"], "review");
        assert_eq!(on_server(&["runs"]).json()["runs"].as_array().unwrap().len(), 1);
        assert_eq!(on_server(&["log", "verify"]).json()["ok"], true);
        wait_for("the keeper ends", || keeper(&sandbox).is_none());
    }
}

#[test]
fn a_keeper_that_stood_still_finds_its_run_lost_and_ends_its_agent() {
    let word = format!("17320.{}", std::process::id());
    let sandbox =
        with_agent(&format!("setsid sleep {word} &\nsleep {word}"), "[fleet]\nttl = '3s'");
    start(&sandbox).json();
    wait_for("the agent works", || alive(&format!("sleep {word}")).len() >= 2);
    let pid = keeper(&sandbox).unwrap().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().is_ok());
    signal("-STOP");
    wait_for("the run is lost", || {
        sandbox.json(&["watchdog", "--once"]);
        run(&sandbox, "R1")["state"] == "lost"
    });
    assert_eq!(task(&sandbox)["claim"], Value::Null);
    signal("-CONT");
    wait_for("no process is left", || alive(&word).is_empty());
    wait_for("the keeper ends", || keeper(&sandbox).is_none());
    assert_eq!(run(&sandbox, "R1")["state"], "lost", "nobody takes a lost run up again");
    only_one_run(&sandbox);
}

#[test]
fn locks_that_a_killed_git_left_stop_no_later_run() {
    let script = format!(
        "if test -e date; then {COMMIT}; {DONE}\n\
         else {COMMIT}; for lock in index HEAD refs/heads/$(git branch --show-current); do touch .git/$lock.lock; done; exit 3; fi"
    );
    let sandbox = with_agent(&script, "");
    assert_eq!(start(&sandbox).args(&["--wait"]).done().exit, 3);
    let tree = PathBuf::from(run(&sandbox, "R1")["workspace"].as_str().unwrap());
    assert!(tree.join(".git/index.lock").exists());
    sandbox.comity().by("human:ann").args(&["run", "resume", "R1"]).json();
    wait_for("it ends", || run(&sandbox, "R2")["ended_at"] != Value::Null);
    let second = run(&sandbox, "R2");
    assert_eq!(second["state"], "succeeded", "{second}");
    assert_eq!(sandbox.git(&tree, &["rev-list", "--count", "origin/main..HEAD"]), "2");
}

#[test]
fn a_disk_that_an_agent_fills_costs_its_run_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=12m", "tmpfs"];
    let mounted = Command::new("mount").args(mount).arg(dir.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped: this user cannot mount a file system");
        return;
    }
    let word = format!("26457.{}", std::process::id());
    let script = format!(
        "echo kept > kept.txt; sleep 6; setsid sleep {word} & head -c 64M /dev/zero > large || true\n\
         {COMMIT}\n{DONE}"
    );
    let sandbox = with_agent(&script, "");
    let state = dir.path().display().to_string();
    let done = start(&sandbox).env("XDG_STATE_HOME", &state).args(&["--wait", "--json"]).done();
    let ended = run(&sandbox, "R1");
    assert_eq!((done.exit, &ended["state"]), (3, &json!("failed")), "{}", done.stderr);
    assert_eq!(task(&sandbox)["claim"], Value::Null);
    assert_eq!(alive(&word), Vec::<u32>::new());
    let tree = PathBuf::from(ended["workspace"].as_str().unwrap());
    let kept = sandbox.git(&tree, &["show", "refs/comity/run/R1/wip:kept.txt"]);
    assert_eq!(kept, "kept", "what was kept before the disk was full is there");
    only_one_run(&sandbox);
    let _ = Command::new("umount").arg("-l").arg(dir.path()).status();
}

#[test]
fn required_gates_run_before_the_review_and_a_red_one_is_seen_there() {
    let settings = "[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'test -e good'";
    let script = format!(
        "{COMMIT}\nif test -e ask; then file=good; else file=ask; fi\n\
         touch $file; git add $file; git commit -q -m \"feat(T1): $file\"\n{DONE}"
    );
    let sandbox = with_agent(&script, settings);
    assert_eq!(waited(&sandbox)["state"], "succeeded");
    let gate = || {
        let gates = task(&sandbox)["gates"].clone();
        let test = gates.as_array().unwrap().iter().find(|gate| gate["name"] == "test").cloned();
        let gate = test.unwrap();
        (gate["state"].clone(), gate["tier"].clone(), gate["commit"].clone())
    };
    let first = task(&sandbox)["commit"].clone();
    assert_eq!(gate(), (json!("failed"), json!("verified"), first));
    sandbox
        .comity()
        .by("human:ann")
        .args(&["task", "request-changes", "T1", "--reason", "red"])
        .json();
    assert_eq!(waited(&sandbox)["state"], "succeeded");
    let second = task(&sandbox)["commit"].clone();
    assert_eq!(gate(), (json!("met"), json!("verified"), second));
}
