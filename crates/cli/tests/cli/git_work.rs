//! What git is asked: commits handed in, snapshots, merges.

use crate::sandbox::Sandbox;
use serde_json::Value;

/// A task that ada has begun; the critic and the person are known.
fn begun(create: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut args = vec!["task", "create", "Parse dates"];
    args.extend(create);
    sandbox.json(&args);
    sandbox.comity().by("ada").args(&["task", "claim", "T1"]).json();
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox
}

fn by(sandbox: &Sandbox, agent: &str, args: &[&str]) -> Value {
    sandbox.comity().by(agent).args(args).json()["task"].clone()
}

#[test]
fn rule_2_submit_records_head_and_branch_of_the_callers_work_tree() {
    let sandbox = begun(&[]);
    let tree = sandbox.worktree("side");
    std::fs::write(tree.join("a.rs"), "fn a() {}").unwrap();
    let sha = sandbox.commit(&tree, "Work");
    let task =
        sandbox.comity().by("ada").at(&tree).args(&["task", "submit", "T1"]).json()["task"].clone();
    assert_eq!(
        (task["commit"].as_str(), task["branch"].as_str()),
        (Some(sha.as_str()), Some("side"))
    );
    assert_eq!(task["status"], "review");
}

#[test]
fn rule_5_6_a_submit_sent_again_after_head_moved_gets_the_first_answer() {
    let sandbox = begun(&[]);
    sandbox.write("a.rs", "fn a() {}");
    let first = sandbox.commit(&sandbox.root, "Work");
    let submit = ["task", "submit", "T1", "--idempotency-key", "once"];
    let answer = by(&sandbox, "ada", &submit);
    assert_eq!(answer["commit"], *first);
    sandbox.write("b.rs", "fn b() {}");
    sandbox.commit(&sandbox.root, "More");
    assert_eq!(by(&sandbox, "ada", &submit), answer);
    let (error, exit) = sandbox
        .comity()
        .by("ada")
        .args(&["task", "submit", "T1", "--idempotency-key", "once", "--commit", "HEAD"])
        .refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("idempotency-mismatch"), 2));
}

#[test]
fn rule_2_a_task_that_must_not_commit_gets_a_snapshot_and_the_work_tree_stays() {
    let sandbox = begun(&["--no-git-commit"]);
    let head = sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]);
    sandbox.write("new.rs", "fn new() {}");
    let before = sandbox.git(&sandbox.root, &["status", "--porcelain"]);
    let task = by(&sandbox, "ada", &["task", "submit", "T1"]);
    let kept = sandbox.git(&sandbox.root, &["rev-parse", "refs/comity/snapshots/T1"]);
    assert_eq!(task["commit"].as_str(), Some(kept.as_str()));
    assert_eq!(sandbox.git(&sandbox.root, &["show", &format!("{kept}:new.rs")]), "fn new() {}");
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--porcelain"]), before);
}

#[test]
fn a_refused_submit_does_not_replace_the_snapshot_of_the_present_holder() {
    let sandbox = begun(&["--no-git-commit"]);
    sandbox.write("new.rs", "fn new() {}");
    by(&sandbox, "ada", &["task", "submit", "T1"]);
    let kept = sandbox.git(&sandbox.root, &["rev-parse", "refs/comity/snapshots/T1"]);
    sandbox.write("new.rs", "something else");
    sandbox.refused(&["--as", "eve", "task", "submit", "T1"]);
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "refs/comity/snapshots/T1"]), kept);
}

#[test]
fn a_submit_sent_again_does_not_replace_the_snapshot_that_was_handed_in() {
    let sandbox = begun(&["--no-git-commit"]);
    sandbox.write("new.rs", "fn new() {}");
    let submit = ["task", "submit", "T1", "--idempotency-key", "once"];
    let first = by(&sandbox, "ada", &submit);
    sandbox.write("new.rs", "something else");
    assert_eq!(by(&sandbox, "ada", &submit), first);
    let kept = sandbox.git(&sandbox.root, &["rev-parse", "refs/comity/snapshots/T1"]);
    assert_eq!(first["commit"], kept);
}

fn approved() -> (Sandbox, String) {
    let sandbox = begun(&["--gate", "tests"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "work"]);
    sandbox.write("a.rs", "fn a() {}");
    sandbox.commit(&sandbox.root, "First");
    sandbox.write("b.rs", "fn b() {}");
    let sha = sandbox.commit(&sandbox.root, "Second");
    by(&sandbox, "ada", &["task", "submit", "T1"]);
    by(&sandbox, "ada", &["gate", "record", "T1", "tests", "pass"]);
    by(&sandbox, "human:ann", &["task", "approve", "T1"]);
    by(&sandbox, "human:ann", &["task", "merge", "T1"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    (sandbox, sha)
}

#[test]
fn rule_3_done_wants_the_submitted_commit_in_the_merged_one() {
    let (sandbox, _) = approved();
    sandbox.write("other.rs", "");
    sandbox.commit(&sandbox.root, "Something else");
    let args = ["--as", "human:ann", "task", "done", "T1", "--merged", "HEAD"];
    assert_eq!(sandbox.refused(&args), ("not-merged".to_owned(), 3));
    sandbox.git(&sandbox.root, &["merge", "--quiet", "--no-edit", "work"]);
    let sha = sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]);
    let task = by(&sandbox, "human:ann", &["task", "done", "T1", "--merged", "HEAD"]);
    assert_eq!(
        (task["status"].as_str(), task["merged_sha"].as_str()),
        (Some("done"), Some(sha.as_str()))
    );
}

#[test]
fn rule_3_a_rebase_and_a_squash_are_equal_patches() {
    for squash in [false, true] {
        let (sandbox, _) = approved();
        sandbox.write("other.rs", "x");
        sandbox.commit(&sandbox.root, "Something else");
        if squash {
            sandbox.git(&sandbox.root, &["merge", "--quiet", "--squash", "work"]);
            sandbox.commit(&sandbox.root, "Squashed");
        } else {
            sandbox.git(&sandbox.root, &["cherry-pick", "main..work"]);
        }
        let task = by(&sandbox, "human:ann", &["task", "done", "T1", "--merged", "HEAD"]);
        assert_eq!(task["status"], "done", "squash: {squash}");
    }
}

#[test]
fn rule_3_an_equal_patch_is_seen_whatever_a_user_has_set_for_diffs() {
    let (sandbox, _) = approved();
    for (key, value) in [("color.ui", "always"), ("diff.external", "true"), ("diff.context", "9")] {
        sandbox.git(&sandbox.root, &["config", key, value]);
    }
    sandbox.write("other.rs", "x");
    sandbox.commit(&sandbox.root, "Something else");
    sandbox.git(&sandbox.root, &["merge", "--quiet", "--squash", "work"]);
    sandbox.commit(&sandbox.root, "Squashed");
    let task = by(&sandbox, "human:ann", &["task", "done", "T1", "--merged", "HEAD"]);
    assert_eq!(task["status"], "done");
}

#[test]
fn a_commit_that_git_does_not_know_is_a_mistake_unless_it_is_a_hash() {
    let (sandbox, _) = approved();
    let person = ["--as", "human:ann"];
    for args in [
        ["task", "done", "T1", "--merged", "no-such-branch"].as_slice(),
        &["gate", "record", "T1", "tests", "pass", "--commit", "no-such-branch"],
    ] {
        let (error, exit) = sandbox.comity().args(&person).args(args).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{args:?}");
    }
    // Not fetched yet, so git cannot be asked about it.
    let away = "0123456789abcdef0123456789abcdef01234567";
    let args = ["--as", "human:ann", "task", "done", "T1", "--merged", away];
    assert_eq!(sandbox.refused(&args), ("unobserved".to_owned(), 3));
}

#[test]
fn rule_3_evidence_counts_for_the_submitted_commit_only() {
    let sandbox = begun(&["--gate", "tests"]);
    sandbox.work();
    by(&sandbox, "ada", &["task", "submit", "T1"]);
    sandbox.commit(&sandbox.root, "Later");
    let args = ["gate", "record", "T1", "tests", "pass"];
    let gate = sandbox.comity().by("ada").args(&args).json()["gate"].clone();
    assert_eq!((&gate["name"], &gate["state"]), (&"tests".into(), &"open".into()));
    assert!(gate["reason"].as_str().unwrap().starts_with("has evidence for "), "{gate}");
    let args = ["--as", "human:ann", "task", "approve", "T1"];
    assert_eq!(sandbox.refused(&args), ("gate-unmet".to_owned(), 3));
    by(&sandbox, "ada", &["gate", "record", "T1", "tests", "pass", "--commit", "HEAD~1"]);
    assert_eq!(by(&sandbox, "human:ann", &["task", "approve", "T1"])["status"], "approved");
}

#[test]
fn variables_of_git_do_not_lead_astray() {
    let sandbox = begun(&[]);
    sandbox.work();
    let call =
        sandbox.comity().by("ada").env("GIT_DIR", "/nonexistent").env("GIT_INDEX_FILE", "/x");
    assert_eq!(call.args(&["task", "submit", "T1"]).json()["task"]["status"], "review");
}

#[test]
fn rule_3_4_without_a_name_the_tip_of_the_base_branch_must_have_the_work() {
    let (sandbox, _) = approved();
    let done = ["--as", "human:ann", "task", "done", "T1"];
    assert_eq!(sandbox.refused(&done), ("not-merged".to_owned(), 3));
    sandbox.git(&sandbox.root, &["merge", "--quiet", "--no-edit", "work"]);
    let sha = sandbox.git(&sandbox.root, &["rev-parse", "main"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "elsewhere"]);
    assert_eq!(sandbox.json(&done)["task"]["merged_sha"], sha);
}

#[test]
fn rule_3_4_a_person_finishes_unmerged_work_with_a_reason_that_is_shown() {
    let (sandbox, _) = approved();
    let done = ["task", "done", "T1", "--unmerged"];
    assert_eq!(sandbox.comity().by("human:ann").args(&done).done().exit, 2, "without a reason");
    let task = by(&sandbox, "human:ann", &[&done[..], &["--reason", "moot now"]].concat());
    assert_eq!((&task["status"], &task["unmerged"]), (&"done".into(), &"moot now".into()));
    let events = sandbox.json(&["event", "list", "--task", "T1", "--type", "merged"]);
    assert_eq!(events["events"][0]["unmerged"], "moot now");
    let shown = sandbox.comity().args(&["task", "show", "T1"]).done().stdout;
    assert!(shown.contains("unmerged") && shown.contains("moot now"), "{shown}");
}

#[test]
fn rule_2_9_work_without_a_change_is_handed_in_only_as_such() {
    let sandbox = begun(&[]);
    let submit = ["task", "submit", "T1"];
    let (error, exit) = sandbox.comity().by("ada").args(&submit).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("nothing-changed"), 3));
    sandbox.commit(&sandbox.root, "Empty");
    let (error, _) = sandbox.comity().by("ada").args(&submit).refusal();
    assert_eq!(error["code"], "nothing-changed");
    let empty = [&submit[..], &["--empty", "--reason", "it was there"]].concat();
    assert_eq!(by(&sandbox, "ada", &empty)["status"], "review");
}

#[test]
fn rule_2_9_files_that_the_task_did_not_declare_are_named_and_may_be_refused() {
    let sandbox = begun(&["--file", "src/"]);
    sandbox.work();
    let submit = ["task", "submit", "T1", "--json"];
    let done = sandbox.comity().by("ada").args(&submit).done();
    let undeclared = done.json()["undeclared"].clone();
    let name = undeclared[0].as_str().unwrap();
    assert!(name.starts_with("work/"), "{name}");
    assert!(done.stderr.contains(&format!("did not declare {name}")), "{}", done.stderr);
    let events = sandbox.json(&["event", "list", "--task", "T1", "--type", "review_requested"]);
    assert_eq!(events["events"][0]["undeclared"], undeclared);
    let sandbox = Sandbox::new();
    sandbox.write(".comity/config.toml", "[guard]\nundeclared = 'refuse'\n");
    sandbox.json(&["task", "create", "Parse dates", "--file", "src/"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    sandbox.work();
    let (error, exit) = sandbox.comity().by("ada").args(&submit[..3]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("undeclared-files"), 3));
    sandbox.comity().by("ada").args(&["lease", "acquire", "work/"]).json();
    assert_eq!(by(&sandbox, "ada", &submit[..3])["status"], "review");
}
