//! Submitted work is judged by the settings of the base branch. With one checkout, the root's files are those of the work.

use crate::sandbox::Sandbox;

const CONFIG: &str = ".comity/config.toml";

/// A project whose base branch demands a gate and declared files; an agent's branch that demands nothing is checked out.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["init", "--clients", "none"]);
    sandbox.write(
        CONFIG,
        "[gates]\nrequired = [\"tests\"]\n[guard]\nundeclared = \"refuse\"\n[roles]\n",
    );
    sandbox.commit(&sandbox.root, "Settings");
    sandbox.json(&["task", "create", "Work", "--file", "a.rs"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "work"]);
    let loose = "[gates]\nrequired = []\n[guard]\nundeclared = \"allow\"\nland = \"off\"\n\
                 [roles]\nimplementer = [\"approve\", \"merge\", \"done\"]\n";
    sandbox.write(CONFIG, loose);
    sandbox.write("a.rs", "one\n");
    sandbox
}

#[test]
fn the_settings_that_work_brings_along_do_not_judge_it() {
    let sandbox = project();
    sandbox.write("b.rs", "one\n");
    sandbox.commit(&sandbox.root, "Work");
    let by = |agent: &str, args: &[&str]| sandbox.comity().by(agent).args(args).refusal().0;
    let error = by("ada", &["task", "submit", "T1"]);
    assert_eq!(error["code"], "undeclared-files", "{error}");
    sandbox.comity().by("ada").args(&["lease", "acquire", "b.rs", CONFIG, "--task", "T1"]).json();
    sandbox.comity().by("ada").args(&["task", "submit", "T1"]).json();
    assert_eq!(by("bob", &["task", "approve", "T1"])["code"], "role-forbidden");
    let error = by("human:ann", &["task", "approve", "T1"]);
    assert_eq!(error["code"], "gate-unmet", "{error}");
    let known = sandbox.comity().by("human:ann").args(&["gate", "record", "T1", "tests", "pass"]);
    assert_eq!(known.json()["gate"]["required"], true);
    sandbox.comity().by("human:ann").args(&["task", "approve", "T1"]).json();
    assert_eq!(by("bob", &["task", "merge", "T1"])["code"], "role-forbidden");
}

#[test]
fn what_another_has_leased_does_not_land_because_the_work_switches_the_rule_off() {
    let sandbox = project();
    sandbox.comity().by("bob").args(&["lease", "acquire", CONFIG]).json();
    sandbox.commit(&sandbox.root, "Work");
    for args in [&["guard", "check", "T1"][..], &["task", "submit", "T1"]] {
        let (error, _) = sandbox.comity().by("ada").args(args).refusal();
        assert!(
            ["lease-held", "undeclared-files"].contains(&error["code"].as_str().unwrap()),
            "{args:?}: {error}"
        );
    }
}

#[test]
fn settings_of_the_base_branch_that_make_no_sense_are_named() {
    let sandbox = project();
    sandbox.commit(&sandbox.root, "Work");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.write(CONFIG, "[gates]\nrequired = 3\n");
    sandbox.commit(&sandbox.root, "Broken settings");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "work"]);
    let (error, exit) = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{error}");
    assert!(error["message"].as_str().unwrap().contains(":.comity/config.toml"), "{error}");
}
