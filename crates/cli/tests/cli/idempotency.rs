//! The same key gives the first answer again.

use crate::sandbox::Sandbox;

#[test]
fn a_repeated_key_does_nothing_twice() {
    let sandbox = Sandbox::new();
    let args = ["task", "create", "one", "--idempotency-key", "k1"];
    let first = sandbox.json(&args);
    let head = sandbox.head();
    assert_eq!(sandbox.json(&args), first);
    assert_eq!(sandbox.head(), head);
    let other = ["task", "create", "two", "--idempotency-key", "k1"];
    assert_eq!(sandbox.refused(&other), ("idempotency-mismatch".to_owned(), 2));
    assert_eq!(sandbox.head(), head);
    let by_another = sandbox.comity().by("bob").args(&args).json();
    assert_eq!(by_another["task"]["id"], "T2");
}

#[test]
fn a_repeated_change_of_a_constraint_gives_the_first_answer() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one", "--no-new-deps"]);
    let args = ["task", "update", "T1", "--max-files", "5", "--idempotency-key", "k"];
    let first = sandbox.json(&args);
    assert_eq!(first["task"]["constraints"]["no_new_deps"], true);
    sandbox.json(&["task", "update", "T1", "--title", "two"]);
    assert_eq!(sandbox.json(&args), first);
}

#[test]
fn a_repeated_claim_gives_the_same_fence() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one"]);
    let args = ["--idempotency-key", "c", "task", "claim"];
    let first = sandbox.json(&args);
    assert_eq!(sandbox.json(&args)["fence"], first["fence"]);
}
