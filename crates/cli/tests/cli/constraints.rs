//! Constraints against the real diff.

use crate::collab::Rpc;
use crate::results::{begun, result, submit};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// The messages of what is wrong, by constraint.
fn violations(error: &Value) -> Vec<(String, String)> {
    let list = error["details"]["violations"].as_array().unwrap();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    list.iter().map(|one| (text(one, "constraint"), text(one, "message"))).collect()
}

fn refused(sandbox: &Sandbox) -> (String, Vec<(String, String)>) {
    let (error, exit) = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).refusal();
    assert_eq!(exit, 3, "{error}");
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!(task["status"], "in_progress", "nothing moved");
    (error["code"].as_str().unwrap().to_owned(), violations(&error))
}

fn accepted(sandbox: &Sandbox) {
    let call = sandbox.comity().by("ada").args(&["task", "submit", "T1"]);
    assert_eq!(call.json()["task"]["status"], "review");
}

fn named(constraint: &str, message: &str) -> (String, String) {
    (constraint.to_owned(), message.to_owned())
}

#[test]
fn more_files_than_allowed_are_refused_on_a_branch_and_on_main() {
    for on_main in [false, true] {
        let sandbox = begun(&["--max-files", "1"]);
        if on_main {
            sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
        }
        sandbox.write("a.rs", "1");
        sandbox.commit(&sandbox.root, "One");
        sandbox.write("b.rs", "2");
        sandbox.commit(&sandbox.root, "Two");
        let (code, found) = refused(&sandbox);
        assert_eq!(code, "limit-exceeded");
        assert_eq!(found, [named("max_files", "2 files are changed, but the limit is 1")]);
        sandbox.git(&sandbox.root, &["reset", "--quiet", "--hard", "HEAD~1"]);
        accepted(&sandbox);
    }
}

#[test]
fn what_others_merged_meanwhile_does_not_count() {
    let sandbox = begun(&["--max-files", "1"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.write("other-1.rs", "");
    sandbox.write("other-2.rs", "");
    sandbox.commit(&sandbox.root, "Work of others");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "work"]);
    sandbox.git(&sandbox.root, &["merge", "--quiet", "--no-edit", "main"]);
    sandbox.write("a.rs", "1");
    sandbox.commit(&sandbox.root, "Mine");
    accepted(&sandbox);
}

#[test]
fn a_task_claimed_on_the_way_is_counted_from_its_start() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--max-files", "1"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.write("a.rs", "1");
    sandbox.write("b.rs", "2");
    sandbox.commit(&sandbox.root, "Both");
    assert_eq!(refused(&sandbox).0, "limit-exceeded");
}

#[test]
fn a_repeated_claim_does_not_move_the_beginning() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--max-files", "1"]);
    let claim = ["task", "claim", "T1", "--idempotency-key", "k"];
    sandbox.comity().by("ada").args(&claim).json();
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.write("a.rs", "1");
    sandbox.write("b.rs", "2");
    sandbox.commit(&sandbox.root, "Both");
    sandbox.comity().by("ada").args(&claim).json();
    assert_eq!(refused(&sandbox).0, "limit-exceeded");
}

#[test]
fn deletions_are_only_allowed_where_the_task_says_so() {
    for (allowed, fine) in [("docs/**", false), ("*.md", true)] {
        let sandbox = begun(&["--allow-delete", allowed]);
        sandbox.git(&sandbox.root, &["rm", "--quiet", "README.md"]);
        sandbox.commit(&sandbox.root, "Gone");
        if fine {
            accepted(&sandbox);
        } else {
            let message = "README.md is deleted, but allow_delete does not cover it";
            let expected = vec![named("allow_delete", message)];
            assert_eq!(refused(&sandbox), ("limit-exceeded".to_owned(), expected));
        }
    }
    let sandbox = begun(&[]);
    sandbox.git(&sandbox.root, &["rm", "--quiet", "README.md"]);
    sandbox.commit(&sandbox.root, "Gone");
    assert_eq!(refused(&sandbox).0, "limit-exceeded", "none is allowed when nothing is said");
}

#[test]
fn a_move_is_one_file_and_no_deletion() {
    let sandbox = begun(&["--max-files", "1"]);
    std::fs::create_dir(sandbox.root.join("docs")).unwrap();
    sandbox.git(&sandbox.root, &["mv", "README.md", "docs/Über uns.md"]);
    sandbox.commit(&sandbox.root, "Moved");
    let said =
        result("completed", &[("created", "docs/Über uns.md"), ("deleted", "README.md")], &[]);
    assert_eq!(submit(&sandbox, &said.to_string()).json()["task"]["status"], "review");
}

#[test]
fn a_task_that_must_not_commit_is_refused_its_commits_and_judged_by_its_snapshot() {
    let sandbox = begun(&["--no-git-commit", "--max-files", "1"]);
    sandbox.write("a.rs", "1");
    sandbox.commit(&sandbox.root, "Not allowed");
    let (code, found) = refused(&sandbox);
    assert_eq!((code.as_str(), found.len()), ("limit-exceeded", 1));
    assert_eq!(found[0].0, "no_git_commit");
    assert!(found[0].1.ends_with(": Not allowed"), "{found:?}");
    sandbox.git(&sandbox.root, &["reset", "--quiet", "--soft", "HEAD~1"]);
    sandbox.write("b.rs", "2");
    let (_, found) = refused(&sandbox);
    assert_eq!(found, [named("max_files", "2 files are changed, but the limit is 1")]);
    std::fs::remove_file(sandbox.root.join("b.rs")).unwrap();
    let said = result("completed", &[("created", "a.rs")], &[]).to_string();
    let task = submit(&sandbox, &said).json()["task"].clone();
    let kept = sandbox.git(&sandbox.root, &["rev-parse", "refs/comity/snapshots/T1"]);
    assert_eq!((task["status"].as_str(), task["commit"].as_str()), (Some("review"), Some(&*kept)));
}

#[test]
fn new_dependencies_are_named_and_a_new_version_is_none() {
    let sandbox = Sandbox::new();
    sandbox.write("Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\nserde = \"1\"\n");
    sandbox.write("web/package.json", r#"{"dependencies":{"react":"18"}}"#);
    sandbox.commit(&sandbox.root, "Manifests");
    sandbox.json(&["task", "create", "Parse dates", "--no-new-deps"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.write(
        "Cargo.toml",
        "[package]\nname = \"x\"\n[dependencies]\nserde = \"2\"\nrand = \"1\"\n",
    );
    sandbox.write("web/package.json", r#"{"dependencies":{"react":"19","left-pad":"1"}}"#);
    // A part of the repository may use what another part uses already.
    sandbox.write("crates/y/Cargo.toml", "[dependencies]\nserde = \"1\"\n");
    sandbox.commit(&sandbox.root, "More");
    let expected = vec![
        named("no_new_deps", "Cargo.toml adds the dependency rand"),
        named("no_new_deps", "web/package.json adds the dependency left-pad"),
    ];
    assert_eq!(refused(&sandbox), ("limit-exceeded".to_owned(), expected));
    sandbox.write("Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\nserde = \"2\"\n");
    sandbox.write("web/package.json", r#"{"dependencies":{"react":"19"}}"#);
    sandbox.commit(&sandbox.root, "Without");
    accepted(&sandbox);
}

#[test]
fn a_lockfile_that_grows_by_itself_counts() {
    let sandbox = Sandbox::new();
    let lock = |names: &[&str]| {
        let package =
            |name: &&str| format!("[[package]]\nname = \"{name}\"\nsource = \"registry\"\n");
        names.iter().map(package).collect::<String>()
    };
    sandbox.write("Cargo.lock", &lock(&["serde"]));
    sandbox.commit(&sandbox.root, "Lock");
    sandbox.json(&["task", "create", "Parse dates", "--no-new-deps"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.write("Cargo.lock", &lock(&["serde", "rand"]));
    sandbox.commit(&sandbox.root, "Grown");
    let (_, found) = refused(&sandbox);
    assert_eq!(found, [named("no_new_deps", "Cargo.lock adds the dependency rand")]);
}

/// Commits some files, starts a task that must not add dependencies, and commits others; returns what is said about it.
fn dependencies(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let sandbox = Sandbox::new();
    let write = |files: &[(&str, &str)], message: &str| {
        files.iter().for_each(|(name, text)| sandbox.write(name, text));
        sandbox.commit(&sandbox.root, message);
    };
    write(before, "Before");
    sandbox.json(&["task", "create", "Parse dates", "--no-new-deps"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    write(after, "After");
    let done = sandbox.comity().by("ada").args(&["task", "submit", "T1", "--json"]).done();
    if done.exit == 0 {
        return Vec::new();
    }
    let error: Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    violations(&error["error"]).into_iter().map(|(_, message)| message).collect()
}

#[test]
fn a_lockfile_grows_only_for_a_manifest_that_asks_for_something_else() {
    let lock = |more: &str| format!(r#"{{"packages":{{"node_modules/a":{{}}{more}}}}}"#);
    let (old, grown) = (lock(""), lock(r#","node_modules/evil":{}"#));
    let package = |version: &str, script: &str| {
        format!(r#"{{"scripts":{{"t":"{script}"}},"dependencies":{{"a":"{version}"}}}}"#)
    };
    let (first, scripted, bumped) = (package("1", "x"), package("1", "y"), package("2", "x"));
    let before = [("package.json", &*first), ("package-lock.json", &*old)];
    let with = |manifest| [("package.json", manifest), ("package-lock.json", &*grown)];
    let evil = ["package-lock.json adds the dependency evil"];
    assert_eq!(dependencies(&before, &with(&scripted)), evil, "only a script changed");
    assert!(dependencies(&before, &with(&bumped)).is_empty(), "a new version brings its own");
    let elsewhere = [("package-lock.json", &*grown), ("docs/package.json", &*bumped)];
    assert!(dependencies(&before, &elsewhere).is_empty(), "a part of a workspace");
    let other = [("web/package-lock.json", &*grown), ("package.json", &*bumped)];
    let found = dependencies(&[("web/package-lock.json", &*old), before[0]], &other);
    assert_eq!(found, ["web/package-lock.json adds the dependency evil"], "not above it");
}

#[test]
fn what_only_looks_known_is_new() {
    let plain = r#"{"dependencies":{"left":"1"}}"#;
    let other = r#"{"dependencies":{"left":"npm:evil@1"}}"#;
    let found = dependencies(&[("package.json", plain)], &[("package.json", other)]);
    assert_eq!(found, ["package.json adds the dependency evil"], "the same name for another");
    let before = [("package.json", "{}"), ("test/fixtures/x/package.json", plain)];
    let found = dependencies(&before, &[("package.json", plain)]);
    assert_eq!(found, ["package.json adds the dependency left"], "a fixture is not the project");
    let before = [("requirements.txt", "-r more.txt\n"), ("more.txt", "six\n")];
    let found = dependencies(&before, &[("more.txt", "six\nevil\n")]);
    assert_eq!(found, ["more.txt adds the dependency evil"], "a list that another one includes");
    let go = "module x\nrequire example.org/a v1\n";
    let marked = format!("{go}require example.org/evil v1 // indirect\n");
    let found = dependencies(&[("go.mod", go)], &[("go.mod", &marked)]);
    assert_eq!(
        found,
        ["go.mod adds the dependency example.org/evil"],
        "marked as needed by others"
    );
    let bumped = marked.replace("a v1", "a v2");
    assert!(dependencies(&[("go.mod", go)], &[("go.mod", &bumped)]).is_empty());
}

#[test]
fn the_refusal_names_the_files_and_says_how_to_go_on() {
    let sandbox = begun(&["--max-files", "1"]);
    (1..=10).for_each(|number| sandbox.write(&format!("f{number:02}.rs"), "x"));
    sandbox.commit(&sandbox.root, "Many");
    let done = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).done();
    assert!(done.stderr.contains("but the limit is 1: f01.rs, f02.rs"), "{}", done.stderr);
    let rest = "f08.rs and 2 more";
    assert!(done.stderr.contains(rest), "{}", done.stderr);
    let sandbox = begun(&["--no-git-commit"]);
    let base = sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]);
    sandbox.write("a.rs", "1");
    sandbox.commit(&sandbox.root, "Not allowed");
    let done = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).done();
    let way = format!("reset the branch softly to {}", &base[..10]);
    assert!(done.stderr.contains(&way), "{}", done.stderr);
    sandbox.git(&sandbox.root, &["reset", "--quiet", "--soft", &base[..10]]);
    accepted(&sandbox);
}

#[test]
fn a_check_that_is_shared_with_others_in_the_same_tree_says_so() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--max-files", "1"]);
    sandbox.json(&["task", "create", "Another one"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.comity().by("bob").args(&["task", "start", "T2"]).json();
    sandbox.write("a.rs", "1");
    sandbox.write("b.rs", "1");
    sandbox.commit(&sandbox.root, "Whose?");
    let done = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).done();
    assert!(done.stderr.contains("the check is shared with T2 (bob)"), "{}", done.stderr);
    assert!(done.stderr.contains("use one branch for each task"), "{}", done.stderr);
    let done = sandbox.comity().by("bob").args(&["task", "submit", "T2", "--json"]).done();
    assert_eq!(done.json()["shared_with"], json!([{"task": "T1", "agent": "ada"}]));
    assert!(done.stderr.contains("note: the check is shared with T1 (ada)"), "{}", done.stderr);
}

#[test]
fn an_empty_file_that_is_deleted_is_not_moved() {
    let sandbox = Sandbox::new();
    sandbox.write("src/e1", "");
    sandbox.commit(&sandbox.root, "Empty");
    sandbox.json(&["task", "create", "Parse dates"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.git(&sandbox.root, &["rm", "--quiet", "src/e1"]);
    sandbox.write("x1", "");
    sandbox.commit(&sandbox.root, "Moved?");
    let message = "src/e1 is deleted, but allow_delete does not cover it";
    assert_eq!(refused(&sandbox).1, [named("allow_delete", message)]);
}

#[test]
fn what_git_shows_in_the_place_of_a_commit_is_not_believed() {
    let sandbox = begun(&["--max-files", "1"]);
    sandbox.write("a.rs", "1");
    sandbox.write("b.rs", "2");
    sandbox.commit(&sandbox.root, "Both");
    sandbox.git(&sandbox.root, &["replace", "main", "HEAD"]);
    assert_eq!(refused(&sandbox).0, "limit-exceeded");
}

#[test]
fn what_lies_in_comitys_directory_under_another_name_is_work() {
    let sandbox = begun(&["--max-files", "1"]);
    sandbox.write(".comity/missions/T1/evil.rs", "1");
    sandbox.write(".comity/comity.db.rs", "2");
    sandbox.git(&sandbox.root, &["add", "--force", ".comity"]);
    sandbox.commit(&sandbox.root, "Hidden");
    assert_eq!(refused(&sandbox).0, "limit-exceeded");
}

#[test]
fn names_that_are_no_text_are_counted_and_asked_for() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = begun(&["--max-files", "1"]);
    for name in [b"bad\xff.txt", b"bad\xfe.txt"] {
        // Some file systems take no such name.
        if std::fs::write(sandbox.root.join(std::ffi::OsStr::from_bytes(name)), "x").is_err() {
            return;
        }
    }
    sandbox.commit(&sandbox.root, "Odd");
    let said = result("completed", &[], &[]).to_string();
    let (error, _) = submit(&sandbox, &said).refusal();
    let missing = |name: &str| {
        named("files_modified", &format!("{name} is created, but the result does not list it"))
    };
    let two = named("max_files", "2 files are changed, but the limit is 1");
    let wanted = [two, missing("bad\\xfe.txt"), missing("bad\\xff.txt")];
    assert_eq!(violations(&error), wanted);
}

#[test]
fn what_a_result_says_is_held_against_the_diff_both_ways() {
    let sandbox = begun(&[]);
    sandbox.write("src/ä b.rs", "1");
    sandbox.write("image.bin", "\u{0}\u{1}");
    sandbox.write("README.md", "changed");
    sandbox.commit(&sandbox.root, "Work");
    let said = [("modified", "src/ä b.rs"), ("created", "src/never.rs"), ("modified", "README.md")];
    let (error, exit) = submit(&sandbox, &result("completed", &said, &[]).to_string()).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3));
    let expected = [
        named("files_modified", "the result says that src/ä b.rs is modified, but it is created"),
        named(
            "files_modified",
            "the result says that src/never.rs is created, but it is unchanged",
        ),
        named("files_modified", "image.bin is created, but the result does not list it"),
    ];
    assert_eq!(violations(&error), expected);
    let said = [("created", "src/ä b.rs"), ("created", "image.bin"), ("modified", "./README.md")];
    let task = submit(&sandbox, &result("completed", &said, &[]).to_string()).json();
    assert_eq!(task["task"]["status"], "review");
}

#[test]
fn everything_that_is_wrong_comes_at_once() {
    let sandbox = begun(&["--max-files", "1", "--no-new-deps"]);
    sandbox.git(&sandbox.root, &["rm", "--quiet", "README.md"]);
    sandbox.write("go.mod", "module x\nrequire example.org/a v1\n");
    sandbox.commit(&sandbox.root, "All wrong");
    let names: Vec<String> = refused(&sandbox).1.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["max_files", "allow_delete", "no_new_deps"]);
    let (error, _) = submit(&sandbox, &result("completed", &[], &[]).to_string()).refusal();
    assert_eq!(error["code"], "limit-exceeded");
    assert_eq!(error["details"]["violations"].as_array().unwrap().len(), 5);
}

#[test]
fn a_failed_or_blocked_result_is_taken_whatever_was_changed() {
    let sandbox = begun(&["--max-files", "1"]);
    sandbox.write("a.rs", "1");
    sandbox.write("b.rs", "1");
    sandbox.commit(&sandbox.root, "Too much");
    let task = submit(&sandbox, &result("failed", &[], &[]).to_string()).json();
    assert_eq!(task["task"]["status"], "failed");
}

#[test]
fn the_holder_is_asked_for_before_the_diff() {
    let sandbox = begun(&["--max-files", "1"]);
    sandbox.write("a.rs", "1");
    sandbox.write("b.rs", "1");
    sandbox.commit(&sandbox.root, "Too much");
    assert_eq!(sandbox.refused(&["--as", "eve", "task", "submit", "T1"]).0, "not-holder");
}

#[test]
fn documents_and_work_without_git_are_not_checked() {
    let sandbox = begun(&["--max-files", "1", "--deliverable", "document"]);
    sandbox.write("a.rs", "1");
    sandbox.write("b.rs", "1");
    sandbox.commit(&sandbox.root, "Two");
    accepted(&sandbox);
}

#[test]
fn the_guard_tells_before_anything_is_handed_in_or_committed() {
    let sandbox = begun(&["--max-files", "1"]);
    sandbox.write("a.rs", "1");
    let check = || sandbox.comity().by("ada").args(&["guard", "check"]);
    let answer = check().json();
    assert_eq!((&answer["ok"], &answer["task"]), (&Value::from(true), &Value::from("T1")));
    assert_eq!(answer["files"][0]["path"], "a.rs");
    sandbox.write("b.rs", "1");
    let (error, exit) = check().refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("limit-exceeded"), 3));
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--porcelain"]), "?? a.rs\n?? b.rs");
    assert_eq!(sandbox.comity().by("eve").args(&["guard", "check"]).refusal().1, 2);
    assert_eq!(sandbox.refused(&["guard", "check", "T9"]).1, 4);
}

#[test]
fn evidence_for_a_task_that_must_not_commit_belongs_to_its_snapshot() {
    let sandbox = begun(&["--no-git-commit", "--gate", "tests"]);
    sandbox.write("a.rs", "1");
    let ada = |args: &[&str]| sandbox.comity().by("ada").args(args).json()["task"].clone();
    ada(&["gate", "record", "T1", "tests", "pass"]);
    let task = ada(&["task", "submit", "T1"]);
    assert_eq!(task["gates"][0]["state"], "met");
    assert_eq!(task["gates"][0]["commit"], task["commit"]);
    sandbox.json(&["--as", "human:ann", "task", "request-changes", "T1"]);
    ada(&["task", "start", "T1"]);
    ada(&["gate", "record", "T1", "tests", "pass"]);
    sandbox.write("a.rs", "changed after the tests");
    assert_eq!(ada(&["task", "submit", "T1"])["gates"][0]["state"], "open");
}

#[test]
fn work_past_its_time_is_shown_as_failed_and_then_is() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--timeout", "1s"]);
    let task = sandbox.comity().by("ada").args(&["task", "start", "T1"]).json()["task"].clone();
    assert!(task["claim"]["deadline"].is_string() && task["claim"]["started_at"].is_string());
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let seen = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&seen["status"], &seen["attempts"]), (&Value::from("failed"), &Value::from(1)));
    let swept = sandbox.json(&["watchdog", "--once"]);
    assert_eq!(swept["reclaimed"]["tasks"][0], "T1");
    let events = sandbox.json(&["event", "list", "--task", "T1", "--type", "status_changed"]);
    let last = events["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&last["agent"], &last["new_status"]),
        (&Value::from("watchdog"), &Value::from("failed"))
    );
    assert!(last["reason"].as_str().unwrap().contains("took longer than 1s"), "{last}");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    let late = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).refusal();
    assert_eq!(late.0["code"], "invalid-transition");
}

#[test]
fn work_is_looked_at_whichever_door_it_is_handed_in_by() {
    let sandbox = begun(&["--max-files", "1"]);
    sandbox.write("a.rs", "1");
    sandbox.write("b.rs", "1");
    let sha = sandbox.commit(&sandbox.root, "Too much");
    let by = |args: &[&str]| sandbox.comity().by("ada").args(args);
    let (error, exit) = by(&["task", "transition", "T1", "review"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("limit-exceeded"), 3));
    let too_many = "2 files are changed, but the limit is 1";
    let neo = by(&["neo", "task", "update", "T1", "--status", "done"]).done();
    assert!(neo.exit != 0 && neo.stderr.contains(too_many), "{}", neo.stderr);
    let mut rpc = Rpc::start(&sandbox.root, "ada");
    for (method, params) in [
        ("transition_task", json!({"id": "T1", "new_status": "review"})),
        ("update_task", json!({"id": "T1", "title": "New", "status": "review"})),
    ] {
        let said = rpc.fails(method, &params);
        assert!(said.contains(too_many), "{said}");
    }
    rpc.end();
    let collab = by(&["collab", "transition-task", "T1", "review"]).done();
    assert!(collab.exit != 0 && collab.stderr.contains(too_many), "{}", collab.stderr);
    let file = sandbox.root.join("collaboration/state/tasks.json");
    let edited = std::fs::read_to_string(&file).unwrap().replace("in_progress", "review");
    std::fs::write(&file, edited).unwrap();
    let report = by(&["sync", "collab"]).json();
    // An edit that is found in a file is nobody's who holds the task.
    assert!(report["refused"][0].as_str().unwrap().contains("not-holder"), "{report}");
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&task["status"], &task["title"]), (&json!("in_progress"), &json!("Parse dates")));
    sandbox.json(&["--as", "human:ann", "task", "update", "T1", "--max-files", "2"]);
    let mut rpc = Rpc::start(&sandbox.root, "ada");
    rpc.ok("transition_task", &json!({"id": "T1", "new_status": "review"}));
    rpc.end();
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!((task["status"].as_str(), task["commit"].as_str()), (Some("review"), Some(&*sha)));
}

#[test]
fn work_begins_with_a_transition_too() {
    let sandbox = Sandbox::new();
    // What the tree is written with, whenever there is time, may be in any commit and counts for nobody.
    let mut rpc = Rpc::start(&sandbox.root, "ada");
    let id = rpc.ok("create_task", &json!({"title": "Build"}))["id"].clone();
    let id = id.as_str().unwrap();
    sandbox.json(&["--as", "human:ann", "task", "update", id, "--max-files", "1"]);
    sandbox.write("before.rs", "1");
    sandbox.commit(&sandbox.root, "Before");
    rpc.ok("transition_task", &json!({"id": id, "new_status": "claimed"}));
    rpc.ok("transition_task", &json!({"id": id, "new_status": "in_progress"}));
    sandbox.write("a.rs", "1");
    sandbox.commit(&sandbox.root, "One");
    rpc.ok("transition_task", &json!({"id": id, "new_status": "review"}));
    rpc.end();
}
