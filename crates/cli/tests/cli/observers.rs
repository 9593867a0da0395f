//! What an observer asks for at a door of this host: an operation of many steps is refused before its first one.

use crate::landing::{approved, project};
use comity_api::{Door, Kind, TABLE};
use comity_core::role::Role;
use std::collections::BTreeSet;

/// An operation with a command line that gets as far as the rule. The operations of GitHub are tried with a GitHub.
const CALLS: [(&str, &[&str]); 8] = [
    ("task.land", &["task", "land", "T1"]),
    ("gate.run", &["gate", "run", "T1", "test"]),
    ("run", &["run", "developer", "--task", "T2", "--driver", "own"]),
    ("merge.probe", &["merge", "probe"]),
    ("merge.run", &["merge", "run"]),
    ("release", &["release", "v1.0.0"]),
    ("workspace.remove", &["workspace", "remove", "R1"]),
    ("workspace.gc", &["workspace", "gc"]),
];

#[test]
fn rule_1_an_operation_of_many_steps_is_refused_before_its_first_one() {
    let here = TABLE.iter().filter(|row| {
        let is_for_all = row.verb.is_none_or(|verb| verb.roles() == Role::ALL);
        row.kind == Kind::Write && !is_for_all && !row.doors.contains(&Door::Http)
    });
    let mut left: BTreeSet<&str> = here.map(|row| row.name).collect();
    left.retain(|name| !name.starts_with("github."));
    // They do what follows from the log and the clock alone, whoever asks.
    left.retain(|name| !["log.rebuild", "watchdog"].contains(name));
    let config = "[gate.test]\ncommand = 'true'\n[drivers.own]\ncommand = ['true']\n";
    let sandbox = project(config);
    approved(&sandbox, "T1", &[("one", "1\n")]);
    sandbox.json(&["task", "create", "Parse dates", "--id", "T2"]);
    sandbox.json(&["--as", "human:tester", "agent", "register", "watcher", "--role", "observer"]);
    let (before, main) = (sandbox.head(), sandbox.git(&sandbox.root, &["rev-parse", "main"]));
    for (name, args) in CALLS {
        left.remove(name);
        let (error, exit) = sandbox.comity().by("watcher").args(args).refusal();
        assert_eq!((&error["code"], exit), (&"role-forbidden".into(), 3), "{name}: {error}");
        let row = TABLE.iter().find(|row| row.name == name).unwrap();
        let verb = row.verb.unwrap().as_str();
        assert_eq!(error["details"]["verb"], verb, "{name}: {error}");
        assert_eq!(sandbox.head(), before, "{name} wrote into the log");
    }
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "main"]), main);
    assert!(left.is_empty(), "not tried: {left:?}");
}
