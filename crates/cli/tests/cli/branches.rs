//! The branch of a task: the claim prints the command that checks it out, also on the second attempt.

use crate::sandbox::Sandbox;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const BRANCH: &str = "feat/T1-parse-dates";

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    sandbox
}

fn claim(sandbox: &Sandbox, agent: &str, tree: &Path, id: &str) -> Value {
    sandbox.comity().by(agent).at(tree).args(&["task", "claim", "--start", id]).json()
}

/// Does what the claim says; returns the branch that is checked out then.
fn obey(sandbox: &Sandbox, tree: &Path, claim: &Value) -> String {
    let line = claim["checkout"].as_str().unwrap();
    let script = format!("set -e\n{line}");
    let done = Command::new("sh").args(["-c", &script]).current_dir(tree).output().unwrap();
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    sandbox.git(tree, &["branch", "--show-current"])
}

#[test]
fn a_new_branch_begins_at_the_base_branch_wherever_the_agent_is() {
    let sandbox = project();
    sandbox.json(&["task", "create", "Print dates"]);
    let first = claim(&sandbox, "ada", &sandbox.root, "T1");
    assert_eq!(obey(&sandbox, &sandbox.root, &first), BRANCH);
    sandbox.work();
    sandbox.comity().by("ada").args(&["task", "submit", "T1"]).json();
    let second = claim(&sandbox, "ada", &sandbox.root, "T2");
    // By its commit: git itself would look a branch up twice, and somebody may merge in between.
    let tip = sandbox.git(&sandbox.root, &["rev-parse", "--short=12", "main"]);
    assert_eq!(second["checkout"], format!("git switch -c feat/T2-print-dates {tip}"));
    assert_eq!(obey(&sandbox, &sandbox.root, &second), "feat/T2-print-dates");
    let ahead = sandbox.git(&sandbox.root, &["rev-list", "--count", "main..HEAD"]);
    assert_eq!(ahead, "0", "the work on T1 is no part of T2");
    let shown = sandbox.comity().by("ada").args(&["task", "release", "T2"]).done();
    assert_eq!(shown.exit, 0);
    let again = sandbox.comity().by("ada").args(&["task", "claim", "T2"]).done();
    assert!(!again.stdout.contains("git switch"), "it is checked out: {}", again.stdout);
}

#[test]
fn a_repository_without_a_commit_gets_the_branch_as_well() {
    let sandbox = Sandbox::without_git();
    sandbox.git(&sandbox.root, &["init", "--quiet", "--initial-branch=main"]);
    sandbox.json(&["task", "create", "Parse dates"]);
    let first = claim(&sandbox, "ada", &sandbox.root, "T1");
    assert_eq!(obey(&sandbox, &sandbox.root, &first), BRANCH);
    sandbox.comity().by("ada").args(&["task", "release", "T1"]).json();
    let again = claim(&sandbox, "ada", &sandbox.root, "T1");
    assert_eq!(again["checkout"], Value::Null);
}

#[test]
fn a_branch_that_exists_is_switched_to() {
    let sandbox = project();
    let first = claim(&sandbox, "ada", &sandbox.root, "T1");
    obey(&sandbox, &sandbox.root, &first);
    let work = sandbox.work();
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.comity().by("ada").args(&["task", "release", "T1"]).json();
    let second = claim(&sandbox, "bob", &sandbox.root, "T1");
    assert_eq!(second["checkout"], format!("git switch {BRANCH}"));
    assert_eq!(obey(&sandbox, &sandbox.root, &second), BRANCH);
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]), work);
}

/// Ada has begun T1 in a tree of her own and is gone; what she did not commit is still there.
fn left_behind(sandbox: &Sandbox) -> (std::path::PathBuf, String) {
    let tree = sandbox.tree_of("ada tree");
    obey(sandbox, &tree, &claim(sandbox, "ada", &tree, "T1"));
    std::fs::write(tree.join("date.rs"), "fn parse() {}\n").unwrap();
    let commit = sandbox.commit(&tree, "Begin T1");
    std::fs::write(tree.join("date.rs"), "fn parse() { half }\n").unwrap();
    sandbox.comity().by("ada").args(&["task", "release", "T1"]).json();
    (tree, commit)
}

impl Sandbox {
    fn tree_of(&self, agent: &str) -> std::path::PathBuf {
        let tree = self.outside().join(agent);
        let place = tree.display().to_string();
        self.git(&self.root, &["worktree", "add", "--quiet", "--detach", &place]);
        tree
    }
}

#[test]
fn a_branch_that_a_dead_agents_work_tree_holds_is_taken_from_it_and_nothing_is_lost() {
    let sandbox = project();
    let (old, commit) = left_behind(&sandbox);
    let new = sandbox.tree_of("bob");
    sandbox.git_fails(&new, &["switch", "--quiet", BRANCH]);
    let second = claim(&sandbox, "bob", &new, "T1");
    assert_eq!(obey(&sandbox, &new, &second), BRANCH);
    assert_eq!(sandbox.git(&new, &["rev-parse", "HEAD"]), commit);
    let kept = std::fs::read_to_string(old.join("date.rs")).unwrap();
    assert_eq!(kept, "fn parse() { half }\n");
    assert_eq!(sandbox.git(&old, &["rev-parse", "HEAD"]), commit);
}

#[test]
fn a_branch_whose_work_tree_was_removed_can_be_had_as_well() {
    let sandbox = project();
    let (old, commit) = left_behind(&sandbox);
    std::fs::remove_dir_all(&old).unwrap();
    let new = sandbox.tree_of("bob");
    let second = claim(&sandbox, "bob", &new, "T1");
    assert_eq!(obey(&sandbox, &new, &second), BRANCH);
    assert_eq!(sandbox.git(&new, &["rev-parse", "HEAD"]), commit);
}

#[test]
fn work_that_is_submitted_from_another_tasks_branch_is_noticed() {
    let sandbox = project();
    sandbox.json(&["task", "create", "Print dates"]);
    obey(&sandbox, &sandbox.root, &claim(&sandbox, "ada", &sandbox.root, "T1"));
    claim(&sandbox, "ada", &sandbox.root, "T2");
    sandbox.work();
    let done = sandbox.comity().by("ada").args(&["task", "submit", "T2"]).done();
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let note =
        format!("note: {BRANCH} is the branch of T1; the branch of T2 is feat/T2-print-dates");
    assert!(done.stderr.contains(&note), "{}", done.stderr);
    let done = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).done();
    assert!(!done.stderr.contains("is the branch of"), "{}", done.stderr);
}
