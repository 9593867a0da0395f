//! A store that the last version wrote opens, verifies and goes on.

use crate::sandbox::Sandbox;

/// A store from before events carried `via`: tasks, a claim, leases, a decision, a memory, a directive, and a reported
/// event in which the caller wrote a `via` of its own.
const BEFORE_VIA: &str = include_str!("data/before_via.sql");

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let dir = sandbox.root.join(".git/comity");
    std::fs::create_dir_all(&dir).unwrap();
    let store = rusqlite::Connection::open(dir.join("comity.db")).unwrap();
    store.execute_batch(BEFORE_VIA).unwrap();
    sandbox
}

#[test]
fn a_store_from_before_via_verifies_and_is_rebuilt_from_its_log() {
    let sandbox = sandbox();
    let verified = sandbox.json(&["log", "verify"]);
    assert_eq!((&verified["ok"], &verified["events"]), (&true.into(), &15.into()), "{verified}");
    let before = sandbox.json(&["task", "show", "T2"]);
    assert_eq!(before["task"]["title"], "Second thing");
    sandbox.comity().by("human:ann").args(&["log", "rebuild"]).json();
    assert_eq!(sandbox.json(&["task", "show", "T2"]), before);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn a_store_from_before_via_goes_on() {
    let sandbox = sandbox();
    let ada = |args: &[&str]| sandbox.comity().by("ada").args(args).json();
    assert_eq!(ada(&["task", "claim", "T2"])["task"]["status"], "claimed");
    ada(&["task", "start", "T2"]);
    sandbox.write("a.txt", "x\n");
    sandbox.commit(&sandbox.root, "Do the second thing");
    assert_eq!(ada(&["task", "submit", "T2"])["task"]["status"], "review");
    let events = sandbox.json(&["event", "list"]);
    for event in events["events"].as_array().unwrap() {
        let is_new = event["seq"].as_u64().unwrap() > 15;
        assert_eq!(event["via"]["login"] == "tester", is_new, "{event}");
    }
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}
