//! `comity task land`: approved work becomes part of a branch, with real git and real processes.

use crate::sandbox::{Call, Sandbox};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A repository with these settings on its base branch, trusted by its person; nobody has the branch checked out.
pub fn project(config: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".comity/config.toml", config);
    sandbox.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    sandbox.commit(&sandbox.root, "Settings");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "--detach"]);
    sandbox.json(&["--as", "human:tester", "trust"]);
    for (agent, role) in [("eve", "critic"), ("ivy", "integrator")] {
        sandbox.json(&["--as", "human:tester", "agent", "register", agent, "--role", role]);
    }
    sandbox
}

/// Work on a new task in a work tree of its own, up to its approval; returns the work tree.
pub fn approved(sandbox: &Sandbox, id: &str, files: &[(&str, &str)]) -> PathBuf {
    sandbox.json(&["task", "create", &format!("Work {id}"), "--id", id]);
    let place = sandbox.outside().join(id);
    let name = place.display().to_string();
    sandbox.git(
        &sandbox.root,
        &["worktree", "add", "--quiet", "-b", &format!("w/{id}"), &name, "main"],
    );
    again(sandbox, id, &place, files);
    place
}

/// One round of work, up to the approval.
pub fn again(sandbox: &Sandbox, id: &str, tree: &Path, files: &[(&str, &str)]) {
    sandbox.comity().at(tree).by("ada").args(&["task", "start", id]).json();
    for (name, text) in files {
        std::fs::write(tree.join(name), text).unwrap();
        sandbox.commit(tree, &format!("Change {name}"));
    }
    sandbox.comity().at(tree).by("ada").args(&["task", "submit", id]).json();
    let required = sandbox.json(&["gate", "list", id])["gates"].as_array().unwrap().clone();
    for gate in required {
        let name = gate["name"].as_str().unwrap();
        sandbox.comity().at(tree).by("eve").args(&["gate", "record", id, name, "pass"]).json();
    }
    sandbox.comity().by("eve").args(&["task", "approve", id]).json();
}

fn land(sandbox: &Sandbox, id: &str) -> Call {
    sandbox.comity().by("ivy").args(&["task", "land", id])
}

pub fn tip(sandbox: &Sandbox) -> String {
    sandbox.git(&sandbox.root, &["rev-parse", "main"])
}

pub fn status(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.json(&["task", "show", id])["task"]["status"].clone()
}

pub fn landing_refs(sandbox: &Sandbox) -> String {
    sandbox.git(&sandbox.root, &["for-each-ref", "refs/comity/landing"])
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn approved_work_is_merged_without_a_work_tree_and_its_task_is_done() {
    let sandbox = project("");
    approved(&sandbox, "T1", &[("new.txt", "n\n")]);
    let (before, head) = (tip(&sandbox), sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]));
    let answer = land(&sandbox, "T1").json();
    let merged = tip(&sandbox);
    assert_eq!(answer["task"]["status"], "done");
    assert_eq!(answer["task"]["merged_sha"], *merged);
    assert_eq!((&answer["merged"], &answer["base"]), (&json!(merged), &json!(before)));
    assert_eq!((&answer["branch"], &answer["strategy"]), (&json!("main"), &json!("merge")));
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "main^1"]), before);
    assert_eq!(sandbox.git(&sandbox.root, &["show", "main:new.txt"]), "n");
    assert_eq!(
        sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]),
        head,
        "nobody's work tree is touched"
    );
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--short"]), "");
    assert_eq!(landing_refs(&sandbox), "");
    let events = sandbox.json(&["event", "list", "--task", "T1"])["events"].clone();
    let changes: Vec<&str> = events
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event["new_status"].as_str())
        .collect();
    assert!(changes.ends_with(&["approved", "merging", "done"]), "{changes:?}");
    let (error, exit) = land(&sandbox, "T1").refusal();
    assert_eq!((&error["code"], exit), (&json!("invalid-transition"), 3));
}

#[test]
fn a_squash_is_one_commit_of_the_author_and_a_rebase_keeps_each() {
    let sandbox = project("");
    let files = [("one.txt", "1\n"), ("two.txt", "2\n")];
    approved(&sandbox, "T1", &files);
    approved(&sandbox, "T2", &[("three.txt", "3\n"), ("four.txt", "4\n")]);
    // Changes beside the work, so that no patch has the same lines around it.
    approved(&sandbox, "T3", &[("a.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.write("a.txt", "1\n2\nthree\n4\n5\n6\n7\n8\n9\n");
    sandbox.commit(&sandbox.root, "Beside");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "--detach"]);
    let before = tip(&sandbox);
    land(&sandbox, "T1").args(&["--strategy", "squash"]).json();
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "main^"]), before);
    let message = sandbox.git(&sandbox.root, &["log", "-1", "--format=%an %B", "main"]);
    assert!(
        message.starts_with("tester Work T1 (T1)\n\n- Change one.txt\n- Change two.txt"),
        "{message}"
    );
    land(&sandbox, "T2").args(&["--strategy", "rebase"]).json();
    let log = sandbox.git(&sandbox.root, &["log", "-3", "--format=%s", "main"]);
    assert_eq!(log, "Change four.txt\nChange three.txt\nWork T1 (T1)");
    land(&sandbox, "T3").args(&["--strategy", "squash"]).json();
    assert_eq!(sandbox.git(&sandbox.root, &["log", "-1", "--format=%s", "main"]), "Change a.txt");
    let text = sandbox.git(&sandbox.root, &["show", "main:a.txt"]);
    assert_eq!(text, "1\n2\nthree\n4\nfive\n6\n7\n8\n9");
}

#[test]
fn a_conflict_sends_the_work_back_with_its_paths() {
    let sandbox = project("");
    let tree = approved(&sandbox, "T1", &[("a.txt", "mine\n")]);
    approved(&sandbox, "T2", &[("a.txt", "yours\n")]);
    land(&sandbox, "T2").json();
    for strategy in ["merge", "squash", "rebase"] {
        let before = tip(&sandbox);
        let (error, exit) = land(&sandbox, "T1").args(&["--strategy", strategy]).refusal();
        assert_eq!((&error["code"], exit), (&json!("merge-conflict"), 3), "{strategy}");
        assert_eq!(error["details"]["paths"], json!(["a.txt"]));
        assert_eq!(tip(&sandbox), before);
        assert_eq!(landing_refs(&sandbox), "");
        let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
        assert_eq!(task["status"], "changes_requested");
        let text = task["feedback"]["text"].as_str().unwrap();
        assert!(text.contains("conflicts with main at") && text.contains("a.txt"), "{text}");
        again(&sandbox, "T1", &tree, &[("b.txt", strategy)]);
    }
}

#[test]
fn a_gate_that_is_red_on_the_merged_files_sends_the_work_back_with_its_output() {
    let config =
        "[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'ls; test ! -e one -o ! -e two'\n";
    let sandbox = project(config);
    approved(&sandbox, "T1", &[("one", "1\n")]);
    let tree = approved(&sandbox, "T2", &[("two", "2\n")]);
    let gates = land(&sandbox, "T1").json()["gates"].clone();
    assert_eq!((&gates[0]["name"], &gates[0]["result"]), (&json!("test"), &json!("pass")));
    // The log keeps what passed on the merged files.
    let merged = sandbox.json(&["event", "list", "--type", "merged"])["events"][0].clone();
    let kept = &merged["gates"][0];
    assert_eq!((&kept["gate"], &kept["tier"]), (&json!("test"), &json!("verified")), "{merged}");
    assert_eq!((&kept["exit_code"], &merged["sha"]), (&json!(0), &json!(tip(&sandbox))));
    let report = sandbox.root.join(".git/comity").join(kept["report"].as_str().unwrap());
    assert!(std::fs::read_to_string(report).unwrap().contains("one\n"), "{merged}");
    let before = tip(&sandbox);
    let (error, exit) = land(&sandbox, "T2").refusal();
    assert_eq!((&error["code"], exit), (&json!("gate-failed"), 3));
    assert_eq!(error["details"]["gates"][0]["exit_code"], 1);
    assert_eq!(tip(&sandbox), before, "what is red does not land");
    let task = sandbox.json(&["task", "show", "T2"])["task"].clone();
    assert_eq!(task["status"], "changes_requested");
    assert!(task["feedback"]["text"].as_str().unwrap().contains("\none\ntwo\n"), "{task}");
    // The work cannot change the gate that it is checked by.
    let loose = "[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'true'\n";
    again(&sandbox, "T2", &tree, &[(".comity/config.toml", loose)]);
    let (error, _) = land(&sandbox, "T2").refusal();
    assert_eq!(error["code"], "gate-failed");
}

#[test]
fn a_gate_that_could_not_run_lands_nothing_and_sends_nothing_back() {
    let sandbox =
        project("[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'no-such-command-at-all'\n");
    approved(&sandbox, "T1", &[("one", "1\n")]);
    let before = tip(&sandbox);
    let (error, exit) = land(&sandbox, "T1").refusal();
    assert_eq!((&error["code"], exit), (&json!("could-not-run"), 3));
    assert_eq!((status(&sandbox, "T1"), tip(&sandbox)), (json!("approved"), before));
}

#[test]
fn rule_4_6_an_integrator_or_a_person_lands_and_a_stale_fence_does_not() {
    let sandbox = project("");
    approved(&sandbox, "T1", &[("one", "1\n")]);
    let before = tip(&sandbox);
    for agent in ["ada", "eve"] {
        let (error, _) = sandbox.comity().by(agent).args(&["task", "land", "T1"]).refusal();
        assert_eq!(error["code"], "role-forbidden", "{agent}");
    }
    let (error, _) = land(&sandbox, "T1").args(&["--fence", "3"]).refusal();
    assert_eq!(error["code"], "stale-fence");
    assert_eq!(tip(&sandbox), before);
    for name in ["main~1", "nowhere", "-x"] {
        let (error, exit) = land(&sandbox, "T1").args(&[&format!("--into={name}")]).refusal();
        assert_eq!((&error["code"], exit), (&json!("invalid-input"), 2), "{name}");
    }
    sandbox.json(&["--as", "human:tester", "task", "land", "T1"]);
    let (error, exit) = land(&sandbox, "T9").refusal();
    assert_eq!((&error["code"], exit), (&json!("not-found"), 4));
    sandbox.json(&["task", "create", "More"]);
    let (error, _) = land(&sandbox, "T2").refusal();
    assert_eq!(error["code"], "not-ready");
}

#[test]
fn a_clean_work_tree_is_brought_along_and_one_with_changes_in_the_way_stops_the_landing() {
    let sandbox = project("");
    approved(&sandbox, "T1", &[("a.txt", "changed\n")]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.write("a.txt", "my own\n");
    let before = tip(&sandbox);
    let (error, exit) = land(&sandbox, "T1").refusal();
    assert_eq!((&error["code"], exit), (&json!("target-dirty"), 3));
    assert_eq!((status(&sandbox, "T1"), tip(&sandbox)), (json!("approved"), before));
    sandbox.git(&sandbox.root, &["checkout", "--quiet", "a.txt"]);
    sandbox.write("beside.txt", "mine\n");
    let answer = land(&sandbox, "T1").json();
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]), answer["merged"]);
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--short"]), "?? beside.txt");
    assert_eq!(std::fs::read_to_string(sandbox.root.join("a.txt")).unwrap(), "changed\n");
}

#[test]
fn two_that_land_at_once_both_land_and_one_task_lands_once() {
    let sandbox = project("[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'sleep 0.3'\n");
    approved(&sandbox, "T1", &[("one", "1\n")]);
    approved(&sandbox, "T2", &[("two", "2\n")]);
    let calls = ["T1", "T2", "T2"].map(|id| land(&sandbox, id).args(&["--json"]).spawn());
    let exits = calls.map(|child| child.wait_with_output().unwrap().status.code().unwrap());
    let mut twice = [exits[1], exits[2]];
    twice.sort_unstable();
    assert_eq!((exits[0], twice), (0, [0, 3]));
    let merges = sandbox.git(&sandbox.root, &["log", "--merges", "--format=%s", "main"]);
    assert_eq!(merges.lines().count(), 2, "{merges}");
    for name in ["one", "two"] {
        sandbox.git(&sandbox.root, &["cat-file", "-e", &format!("main:{name}")]);
    }
}

#[test]
fn a_branch_that_somebody_moves_meanwhile_is_merged_anew() {
    let place = tempfile::tempdir().unwrap();
    let begun = place.path().join("begun");
    let script = format!("test -e {0} || {{ touch {0}; sleep 1; }}", begun.display());
    let config = format!("[gates]\nrequired = ['test']\n[gate.test]\ncommand = '{script}'\n");
    let sandbox = project(&config);
    approved(&sandbox, "T1", &[("one", "1\n")]);
    let child = land(&sandbox, "T1").args(&["--json"]).spawn();
    wait_for("the gate began", || begun.exists());
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.write("other", "1\n");
    let other = sandbox.commit(&sandbox.root, "Other");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "--detach"]);
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "main^1"]), other);
    sandbox.git(&sandbox.root, &["cat-file", "-e", "main:one"]);
}

#[test]
fn killed_at_any_moment_it_can_be_run_again() {
    let sandbox = project("[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'true'\n");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    // One whole run tells how long the moments are.
    approved(&sandbox, "first", &[("first", "0\n")]);
    let began = Instant::now();
    land(&sandbox, "first").json();
    let whole = began.elapsed();
    let rounds = 12;
    for round in 1..=rounds {
        let id = format!("task-{round:02}");
        approved(&sandbox, &id, &[(id.as_str(), "1\n")]);
        let mut child = land(&sandbox, &id).args(&["--json"]).spawn();
        std::thread::sleep(whole * round / rounds);
        let _ = Command::new("kill").args(["-KILL", &child.id().to_string()]).status();
        child.wait().unwrap();
        let done = land(&sandbox, &id).args(&["--json"]).done();
        let is_late = done.exit == 3 && done.stderr.contains("invalid-transition");
        assert!(done.exit == 0 || is_late, "{round}: {}", done.stderr);
        assert_eq!(status(&sandbox, &id), "done");
        assert_eq!(landing_refs(&sandbox), "", "{round}");
        assert_eq!(sandbox.git(&sandbox.root, &["status", "--short"]), "", "{round}");
        let subject = format!("--grep=^Merge {id}:");
        let merges = sandbox.git(&sandbox.root, &["log", "--format=%H", &subject, "main"]);
        assert_eq!(merges.lines().count(), 1, "{round}: it landed once");
    }
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

/// Returns a `PATH` with a git that kills whoever calls it right after it has moved the base branch.
pub fn killed_after_the_move(sandbox: &Sandbox) -> String {
    let dir = sandbox.outside().join("killing");
    std::fs::create_dir_all(&dir).unwrap();
    let found = sandbox.clean(std::ffi::OsStr::new("sh")).args(["-c", "command -v git"]).output();
    let real = String::from_utf8(found.unwrap().stdout).unwrap().trim().to_owned();
    let script = format!(
        "#!/bin/sh\n{real} \"$@\" || exit $?\n\
         case \" $* \" in *\" update-ref \"*\" refs/heads/main \"*) kill -KILL $PPID;; esac\n"
    );
    std::fs::write(dir.join("git"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir.join("git"), mode).unwrap();
    format!("{}:{}", dir.display(), std::env::var("PATH").unwrap())
}

/// The gates that the events of merges keep, for each task.
pub fn merged_gates(sandbox: &Sandbox) -> Vec<Value> {
    let events = sandbox.json(&["event", "list", "--type", "merged"])["events"].clone();
    let names = |event: &Value| {
        let gates = event["gates"].as_array().into_iter().flatten();
        gates.map(|gate| gate["gate"].clone()).collect::<Vec<_>>()
    };
    events.as_array().unwrap().iter().map(|event| json!([event["task"], names(event)])).collect()
}

#[test]
fn a_landing_that_was_cut_off_after_the_branch_moved_is_finished_by_the_next_call() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let config = format!(
        "[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'echo x >> {}'\n",
        runs.display()
    );
    let sandbox = project(&config);
    approved(&sandbox, "T1", &[("one", "1\n")]);
    let base = tip(&sandbox);
    let path = killed_after_the_move(&sandbox);
    let squash = || land(&sandbox, "T1").args(&["--strategy", "squash"]);
    assert_eq!(squash().env("PATH", &path).spawn().wait().unwrap().code(), None, "it was killed");
    let made = tip(&sandbox);
    assert_ne!(made, base);
    assert_eq!(status(&sandbox, "T1"), "approved");
    let answer = squash().json();
    assert_eq!((&answer["merged"], &answer["base"]), (&json!(made), &json!(base)));
    assert_eq!(answer["gates"][0]["name"], "test", "{answer}");
    assert_eq!(merged_gates(&sandbox), [json!(["T1", ["test"]])]);
    assert_eq!(std::fs::read_to_string(&runs).unwrap().lines().count(), 1, "it ran once");
    assert_eq!((tip(&sandbox), landing_refs(&sandbox)), (made, String::new()));
}

#[test]
fn rule_3_4_who_lands_by_the_settings_before_the_work_finishes_by_them() {
    let sandbox = project("[roles]\nobserver = ['merge', 'done']\n");
    sandbox.json(&["--as", "human:tester", "agent", "register", "eye", "--role", "observer"]);
    approved(&sandbox, "T1", &[(".comity/config.toml", "[limits]\n")]);
    let landed = sandbox.comity().by("eye").args(&["task", "land", "T1"]).json();
    assert_eq!(landed["task"]["status"], "done");
    approved(&sandbox, "T2", &[("two", "2\n")]);
    let (error, _) = sandbox.comity().by("eye").args(&["task", "land", "T2"]).refusal();
    assert_eq!(error["code"], "role-forbidden", "the next work is judged by what has landed");
}

#[test]
fn work_lands_on_another_branch_and_is_pushed_with_the_users_own_hooks() {
    let sandbox = project("");
    let remote = sandbox.outside().join("remote.git");
    let place = remote.display().to_string();
    sandbox.git(&sandbox.root, &["init", "--quiet", "--bare", &place]);
    sandbox.git(&sandbox.root, &["remote", "add", "origin", &place]);
    sandbox.git(&sandbox.root, &["branch", "release", "main"]);
    approved(&sandbox, "T1", &[("one", "1\n")]);
    let hook = sandbox.root.join(".git/hooks/pre-push");
    let ran = sandbox.outside().join("ran");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(
        &hook,
        format!(
            "#!/bin/sh\ntouch {}\ntest -e {}\n",
            ran.display(),
            ran.with_extension("ok").display()
        ),
    )
    .unwrap();
    Command::new("chmod").args(["+x", &hook.display().to_string()]).status().unwrap();
    let call = || land(&sandbox, "T1").args(&["--into", "release", "--push"]);
    let (error, exit) = call().refusal();
    assert_eq!((&error["code"], exit), (&json!("could-not-run"), 3));
    assert!(ran.exists() && status(&sandbox, "T1") == "done");
    std::fs::write(ran.with_extension("ok"), "").unwrap();
    let answer = call().json();
    assert_eq!((&answer["pushed"], &answer["branch"]), (&json!(true), &json!("release")));
    assert_eq!(sandbox.git(&remote, &["rev-parse", "release"]), answer["merged"]);
    assert_eq!(landing_refs(&sandbox), "");
}
