//! RULES 4.1 and 4.2: two exclusive leases never meet on one file, however their patterns are written.

use crate::sandbox::Sandbox;
use std::os::unix::fs::symlink;

/// Takes a lease as one agent; another agent wants a file that it covers.
fn meets(sandbox: &Sandbox, held: &str, wanted: &str) {
    let lease = sandbox.comity().by("ann").args(&["lease", "acquire", held]).json();
    let (error, exit) = sandbox.comity().by("bob").args(&["lease", "acquire", wanted]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("lease-held"), 3), "{held} {wanted}: {error}");
    let id = lease["leases"][0]["lock_id"].as_str().unwrap();
    sandbox.comity().by("ann").args(&["lease", "release", id]).json();
}

#[test]
fn rule_4_1_an_alternative_that_becomes_a_dot_is_refused() {
    let sandbox = Sandbox::new();
    for pattern in ["{.,lib}/x.rs", "lib/{.,sub}/x", "lib/{..,sub}/x", ".{,.}/x"] {
        assert_eq!(
            sandbox.refused(&["lease", "acquire", pattern]),
            ("invalid-input".to_owned(), 2)
        );
        let create = ["task", "create", "x", "--file", pattern];
        assert_eq!(sandbox.refused(&create), ("invalid-input".to_owned(), 2), "{pattern}");
    }
    let many = "{a,b}".repeat(9);
    assert_eq!(sandbox.refused(&["lease", "acquire", &many]), ("limit-exceeded".to_owned(), 3));
}

#[test]
fn rule_4_1_a_mark_meets_its_base_across_alternatives() {
    let sandbox = Sandbox::new();
    meets(&sandbox, "src/{e,x}\u{301}.rs", "src/\u{e9}.rs");
    meets(&sandbox, "src/\u{e9}.rs", "src/e{\u{301},\u{300}}.rs");
    meets(&sandbox, "*{*,b}", "a/b/c");
}

#[test]
fn rule_4_2_a_glob_through_a_linked_directory_is_one_of_the_real_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("src/deep/x.rs", "");
    symlink("src", sandbox.root.join("link")).unwrap();
    symlink("src/deep", sandbox.root.join("there")).unwrap();
    meets(&sandbox, "link/*.rs", "src/a.rs");
    meets(&sandbox, "there/**", "src/deep/x.rs");
    meets(&sandbox, "{there,other}/x.rs", "src/deep/x.rs");
    meets(&sandbox, "src/**", "{new,link}/y.rs");
}

#[test]
fn rule_4_2_init_says_whether_case_is_folded_and_the_store_keeps_it() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init"]);
    assert_eq!(sandbox.head()["seq"], 0, "case that counts is the default and needs no event");
    sandbox.json(&["init", "--fold-case"]);
    meets(&sandbox, "src/A.rs", "SRC/a.rs");
    // The settings of the project no longer matter, and whoever runs init again changes nothing.
    sandbox.write(".comity/config.toml", "[project]\nfold_case = false\n");
    sandbox.json(&["init"]);
    meets(&sandbox, "src/A.rs", "SRC/a.rs");
    let agent = sandbox.comity().by("bob").args(&["init", "--fold-case=false"]);
    assert_eq!(agent.refusal().0["code"], "human-only");
    sandbox.comity().by("human:ann").args(&["init", "--fold-case=false"]).json();
    sandbox.comity().by("ann").args(&["lease", "acquire", "src/A.rs"]).json();
    sandbox.comity().by("bob").args(&["lease", "acquire", "src/a.rs"]).json();
    let set = sandbox.json(&["event", "list", "--type", "repository_set"]);
    assert_eq!(set["events"][0]["fold_case"], true);
    assert_eq!(set["events"][1]["fold_case"], false);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}
