//! Where work began and what of it is one's own, whatever became of claims, branches and commits since.

use crate::results::{begun, result, submit};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

fn ada(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.comity().by("ada").args(args).json()
}

/// A task that ada has started on the branch that is checked out.
fn started(create: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    start(&sandbox, create);
    sandbox
}

fn start(sandbox: &Sandbox, create: &[&str]) {
    let mut args = vec!["task", "create", "Parse dates"];
    args.extend(create);
    sandbox.json(&args);
    ada(sandbox, &["task", "claim", "T1"]);
    ada(sandbox, &["task", "start", "T1"]);
}

fn commit(sandbox: &Sandbox, files: &[&str]) -> String {
    for file in files {
        sandbox.write(file, "1");
    }
    sandbox.commit(&sandbox.root, &files.join(" "))
}

fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.git(&sandbox.root, args)
}

/// Hands T1 in, which must be refused; returns the constraints and messages.
fn refused_with(sandbox: &Sandbox, more: &[&str]) -> Vec<(String, String)> {
    let call = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).args(more);
    let (error, exit) = call.refusal();
    assert_eq!(exit, 3, "{error}");
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["status"], "in_progress");
    let list = error["details"]["violations"].as_array().unwrap_or_else(|| panic!("{error}"));
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    list.iter().map(|one| (text(one, "constraint"), text(one, "message"))).collect()
}

fn refused(sandbox: &Sandbox) -> Vec<String> {
    refused_with(sandbox, &[]).into_iter().map(|(_, message)| message).collect()
}

fn accepted(sandbox: &Sandbox) -> Value {
    let task = ada(sandbox, &["task", "submit", "T1"])["task"].clone();
    assert_eq!(task["status"], "review");
    task
}

const TOO_MANY: &str = "3 files are changed, but the limit is 1";

/// Ends the claim and takes the task again, as an agent does that asks, or that gives it back.
fn again(sandbox: &Sandbox, asks: bool) {
    if asks {
        ada(sandbox, &["task", "block", "T1", "--needs", "x", "--question", "y"]);
        sandbox.json(&["--as", "human:ann", "decision", "answer", "D1", "yes"]);
    } else {
        ada(sandbox, &["task", "release", "T1"]);
    }
    ada(sandbox, &["task", "claim", "T1"]);
    ada(sandbox, &["task", "start", "T1"]);
}

#[test]
fn a_new_claim_does_not_launder_what_was_committed_under_the_one_before() {
    for asks in [true, false] {
        let sandbox = started(&["--max-files", "1"]);
        git(&sandbox, &["switch", "--quiet", "-c", "work"]);
        commit(&sandbox, &["a", "b"]);
        again(&sandbox, asks);
        commit(&sandbox, &["c"]);
        assert_eq!(refused(&sandbox), [TOO_MANY], "asks: {asks}");
    }
}

#[test]
fn work_that_is_resumed_is_counted_as_a_whole() {
    let sandbox = started(&[]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, &["g1", "g2"]);
    again(&sandbox, true);
    commit(&sandbox, &["h1"]);
    let said = result("completed", &[("created", "g1"), ("created", "g2"), ("created", "h1")], &[]);
    assert_eq!(submit(&sandbox, &said.to_string()).json()["task"]["status"], "review");
}

#[test]
fn a_claim_after_one_that_left_nothing_is_counted_from_where_it_is() {
    for key in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.json(&["task", "create", "Parse dates", "--max-files", "1"]);
        ada(&sandbox, &["task", "claim", "T1", "--idempotency-key", "c1"]);
        ada(&sandbox, &["task", "release", "T1"]);
        commit(&sandbox, &["o1"]);
        commit(&sandbox, &["o2"]);
        if key {
            ada(&sandbox, &["task", "claim", "T1", "--idempotency-key", "c2"]);
            // The answer to an old claim, given again, does not move it.
            ada(&sandbox, &["task", "claim", "T1", "--idempotency-key", "c1"]);
        }
        ada(&sandbox, &["task", "start", "T1"]);
        commit(&sandbox, &["a"]);
        accepted(&sandbox);
    }
}

#[test]
fn a_task_that_was_done_and_is_taken_up_again_begins_anew() {
    let sandbox = started(&["--max-files", "1"]);
    commit(&sandbox, &["a"]);
    accepted(&sandbox);
    let person = |args: &[&str]| sandbox.comity().by("human:ann").args(args).json();
    person(&["task", "approve", "T1"]);
    person(&["task", "merge", "T1"]);
    person(&["task", "done", "T1", "--merged", "HEAD"]);
    commit(&sandbox, &["o1", "o2"]);
    person(&["task", "reopen", "T1", "--reason", "not yet"]);
    ada(&sandbox, &["task", "start", "T1"]);
    commit(&sandbox, &["b"]);
    accepted(&sandbox);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let sandbox = begun(&["--max-files", "1"]);
    let call = sandbox.comity().by("ada").args(&["task", "submit", "T1", "--commit", "deadbeef"]);
    let (error, exit) = call.refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("unobserved"), 3));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("git knows no commit deadbeef here"), "{message}");
    git(&sandbox, &["checkout", "--quiet", "--orphan", "nowhere"]);
    commit(&sandbox, &["a", "b", "c"]);
    assert_eq!(refused(&sandbox), [TOO_MANY], "histories with nothing in common");
}

#[test]
fn a_task_that_must_not_commit_is_judged_by_its_snapshot_whatever_is_named() {
    let sandbox = started(&["--no-git-commit", "--max-files", "1"]);
    sandbox.write("a", "1");
    sandbox.write("b", "1");
    let found = refused_with(&sandbox, &["--commit", "HEAD"]);
    assert_eq!(found[0].1, "2 files are changed, but the limit is 1");
    std::fs::remove_file(sandbox.root.join("b")).unwrap();
    let task = ada(&sandbox, &["task", "submit", "T1", "--commit", "HEAD"])["task"].clone();
    let kept = git(&sandbox, &["rev-parse", "refs/comity/snapshots/T1"]);
    assert_eq!(task["commit"], kept);
}

/// A repository beside the sandbox that main is pushed to.
fn with_remote(sandbox: &Sandbox) {
    let there = sandbox.outside().join("there.git").display().to_string();
    git(sandbox, &["init", "--quiet", "--bare", "--initial-branch=main", &there]);
    git(sandbox, &["remote", "add", "origin", &there]);
    git(sandbox, &["push", "--quiet", "-u", "origin", "main"]);
}

#[test]
fn own_commits_count_also_when_the_default_branch_has_them() {
    let pushed = Sandbox::new();
    with_remote(&pushed);
    start(&pushed, &["--max-files", "1"]);
    commit(&pushed, &["a", "b"]);
    git(&pushed, &["push", "--quiet", "origin", "main"]);
    commit(&pushed, &["c"]);
    assert_eq!(refused(&pushed), [TOO_MANY], "pushed from main");
    git(&pushed, &["switch", "--quiet", "-c", "late"]);
    assert_eq!(refused(&pushed), [TOO_MANY], "on a branch that was made afterwards");
    let forwarded = begun(&["--max-files", "1"]);
    commit(&forwarded, &["a", "b", "c"]);
    git(&forwarded, &["branch", "--force", "main", "HEAD"]);
    assert_eq!(refused(&forwarded), [TOO_MANY], "main was moved");
    let silent = Sandbox::new();
    with_remote(&silent);
    start(&silent, &["--no-git-commit"]);
    commit(&silent, &["a"]);
    git(&silent, &["push", "--quiet", "origin", "main"]);
    assert!(refused(&silent)[0].ends_with(": a"));
}

#[test]
fn what_was_handed_in_with_another_task_does_not_count() {
    let sandbox = begun(&["--max-files", "1"]);
    commit(&sandbox, &["a"]);
    accepted(&sandbox);
    git(&sandbox, &["switch", "--quiet", "-c", "second", "main"]);
    sandbox.json(&["task", "create", "Print dates"]);
    ada(&sandbox, &["task", "start", "T2"]);
    commit(&sandbox, &["x", "y"]);
    ada(&sandbox, &["task", "submit", "T2"]);
    git(&sandbox, &["branch", "--force", "main", "second"]);
    sandbox.json(&["--as", "human:ann", "task", "request-changes", "T1"]);
    git(&sandbox, &["switch", "--quiet", "work"]);
    git(&sandbox, &["merge", "--quiet", "--no-edit", "main"]);
    ada(&sandbox, &["task", "start", "T1"]);
    accepted(&sandbox);
}

#[test]
fn the_first_commit_of_a_repository_is_compared_with_nothing() {
    let sandbox = Sandbox::without_git();
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    start(&sandbox, &["--max-files", "1"]);
    commit(&sandbox, &["a", "b", "c"]);
    assert_eq!(refused(&sandbox), [TOO_MANY]);
    git(&sandbox, &["rm", "--quiet", "b", "c"]);
    sandbox.commit(&sandbox.root, "Less");
    accepted(&sandbox);
    let silent = Sandbox::without_git();
    git(&silent, &["init", "--quiet", "--initial-branch=main"]);
    start(&silent, &["--no-git-commit", "--max-files", "1"]);
    silent.write("a", "1");
    accepted(&silent);
}

#[test]
fn a_commit_that_must_not_be_hides_nothing_else() {
    let sandbox = started(&["--no-git-commit", "--max-files", "1"]);
    commit(&sandbox, &["a", "b", "c"]);
    let names: Vec<String> =
        refused_with(&sandbox, &[]).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["no_git_commit", "max_files"]);
}

#[test]
fn a_deletion_is_no_move_because_something_is_alike() {
    let lines =
        |from: usize| (from..from + 10).map(|n| format!("line {n} of it\n")).collect::<String>();
    let sandbox = Sandbox::new();
    sandbox.write("old.txt", &lines(0));
    sandbox.commit(&sandbox.root, "Old");
    start(&sandbox, &[]);
    git(&sandbox, &["mv", "old.txt", "new.txt"]);
    sandbox.write("new.txt", &lines(4));
    sandbox.commit(&sandbox.root, "Six lines of ten");
    assert_eq!(refused(&sandbox), ["old.txt is deleted, but allow_delete does not cover it"]);
    sandbox.write("new.txt", &lines(1));
    sandbox.commit(&sandbox.root, "Nine lines of ten");
    accepted(&sandbox);
}

#[test]
fn a_branch_that_is_named_is_the_one_that_is_looked_at() {
    let sandbox = begun(&["--max-files", "1"]);
    let sha = commit(&sandbox, &["a", "b", "c"]);
    git(&sandbox, &["switch", "--quiet", "main"]);
    let found = refused_with(&sandbox, &["--branch", "work"]);
    assert_eq!(found[0].1, TOO_MANY);
    let call = sandbox.comity().by("ada").args(&["task", "submit", "T1", "--branch", "nowhere"]);
    let (error, exit) = call.refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{error}");
    sandbox.json(&["--as", "human:ann", "task", "update", "T1", "--max-files", "3"]);
    let task = ada(&sandbox, &["task", "submit", "T1", "--branch", "work"])["task"].clone();
    assert_eq!((&task["commit"], &task["branch"]), (&json!(sha), &json!("work")));
}

#[test]
fn a_base_branch_of_another_name_is_set() {
    for in_work_tree in [false, true] {
        let sandbox = Sandbox::new();
        git(&sandbox, &["branch", "--move", "trunk"]);
        sandbox.write(".comity/config.toml", "[project]\nbase = 'trunk'\n");
        sandbox.commit(&sandbox.root, "Settings");
        start(&sandbox, &["--max-files", "1"]);
        let tree = if in_work_tree {
            sandbox.worktree("work")
        } else {
            git(&sandbox, &["switch", "--quiet", "-c", "work"]);
            sandbox.root.clone()
        };
        if !in_work_tree {
            git(&sandbox, &["switch", "--quiet", "trunk"]);
        }
        // Others commit elsewhere.
        let others = sandbox.outside().join("others");
        let place = others.display().to_string();
        git(&sandbox, &["worktree", "add", "--quiet", "--detach", &place]);
        std::fs::write(others.join("o1"), "1").unwrap();
        std::fs::write(others.join("o2"), "1").unwrap();
        let sha = sandbox.commit(&others, "Work of others");
        git(&sandbox, &["merge", "--quiet", &sha]);
        if !in_work_tree {
            git(&sandbox, &["switch", "--quiet", "work"]);
        }
        sandbox.git(&tree, &["merge", "--quiet", "--no-edit", "trunk"]);
        std::fs::write(tree.join("a"), "1").unwrap();
        sandbox.commit(&tree, "Mine");
        let call = sandbox.comity().by("ada").at(&tree).args(&["task", "submit", "T1"]);
        assert_eq!(call.json()["task"]["status"], "review", "work tree: {in_work_tree}");
    }
}

#[test]
fn a_file_with_an_odd_name_counts_and_is_listed_like_any_other() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = begun(&["--max-files", "5", "--allow-delete", "*.txt"]);
    let bad = std::ffi::OsStr::from_bytes(b"bad\xff");
    std::fs::write(sandbox.root.join(bad), "1").unwrap();
    commit(&sandbox, &["back\\slash.txt", "a\tb", "line\nbreak", "bad\\xff", "c"]);
    assert_eq!(refused(&sandbox), ["6 files are changed, but the limit is 5"]);
    git(&sandbox, &["rm", "--quiet", "c"]);
    sandbox.commit(&sandbox.root, "Less");
    let names = ["back\\\\slash.txt", "a\\x09b", "line\\x0abreak", "bad\\\\xff", "bad\\xff"];
    let all: Vec<(&str, &str)> = names.iter().map(|name| ("created", *name)).collect();
    let (error, _) = submit(&sandbox, &result("completed", &all[..4], &[]).to_string()).refusal();
    let message = &error["details"]["violations"][0]["message"];
    assert_eq!(message, "bad\\xff is created, but the result does not list it");
    let said = result("completed", &all, &[]);
    assert_eq!(submit(&sandbox, &said.to_string()).json()["task"]["status"], "review");
}

#[test]
fn a_task_whose_id_is_no_name_of_a_ref_is_handed_in_like_any_other() {
    for id in ["x.lock", "a..b", "a."] {
        let sandbox = Sandbox::new();
        sandbox.json(&["task", "create", "Parse dates", "--id", id, "--no-git-commit"]);
        ada(&sandbox, &["task", "start", id]);
        sandbox.write("a", "1");
        let done = sandbox.comity().by("ada").args(&["task", "submit", id, "--json"]).done();
        assert_eq!(done.stderr, "", "{id}");
        let sha = done.json()["task"]["commit"].as_str().unwrap().to_owned();
        let refs = git(&sandbox, &["for-each-ref", "--points-at", &sha, "--format=%(refname)"]);
        assert!(refs.starts_with("refs/comity/snapshots/"), "{refs}");
    }
}

#[test]
fn a_snapshot_that_cannot_be_kept_is_not_handed_in_and_a_refused_one_is_not_kept() {
    let sandbox = started(&["--no-git-commit", "--max-files", "1"]);
    sandbox.write("a", "1");
    sandbox.write(".git/refs/comity/pending", "in the way");
    let (error, exit) = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("internal"), 1));
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["status"], "in_progress");
    std::fs::remove_file(sandbox.root.join(".git/refs/comity/pending")).unwrap();
    sandbox.refused(&["--as", "eve", "task", "submit", "T1"]);
    let kept = || git(&sandbox, &["for-each-ref", "refs/comity/pending", "refs/comity/snapshots"]);
    assert_eq!(kept(), "");
    accepted(&sandbox);
    assert_eq!(kept().lines().count(), 1, "{}", kept());
}

#[test]
fn work_belongs_on_the_branch_that_the_project_names() {
    let sandbox = Sandbox::new();
    sandbox.write(".comity/config.toml", "[branch]\npattern = 'feat/issue-{id}'\n");
    sandbox.commit(&sandbox.root, "Settings");
    start(&sandbox, &[]);
    commit(&sandbox, &["a"]);
    let wrong =
        [("branch".to_owned(), "the work is on main, but belongs on feat/issue-T1".to_owned())];
    assert_eq!(refused_with(&sandbox, &[]), wrong);
    let (error, _) = sandbox.comity().by("ada").args(&["guard", "check"]).refusal();
    assert_eq!(error["details"]["violations"][0]["constraint"], "branch");
    assert!(error["hint"].as_str().unwrap().contains("check that branch out"), "{error}");
    let named = refused_with(&sandbox, &["--branch", "feat/issue-T1", "--commit", "HEAD"]);
    assert!(named[0].1.contains("git does not find the work on"), "{named:?}");
    let push = |branch: &str| {
        let sha = git(&sandbox, &["rev-parse", "HEAD"]);
        let line = format!("HEAD {sha} refs/heads/{branch} {}\n", "0".repeat(40));
        sandbox.comity().by("ada").args(&["guard", "push", "origin"]).stdin(&line)
    };
    let (error, exit) = push("random").refusal();
    assert_eq!((error["details"]["branch"].as_str(), exit), (Some("feat/issue-T1"), 3));
    assert_eq!(push("feat/issue-T1").json()["ok"], true);
    git(&sandbox, &["switch", "--quiet", "-c", "feat/issue-T1"]);
    assert_eq!(ada(&sandbox, &["guard", "check"])["ok"], true);
    accepted(&sandbox);
    assert_eq!(push("random").json()["ok"], true, "nothing is held any more");
}
