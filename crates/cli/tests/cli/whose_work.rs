//! Whose work a commit is, where several work in one tree, or where work began before its claim.

use crate::results::result;
use crate::sandbox::{Done, Sandbox};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

pub fn by(sandbox: &Sandbox, agent: &str, args: &[&str]) -> Value {
    sandbox.comity().by(agent).args(args).json()
}

fn person(sandbox: &Sandbox, args: &[&str]) -> Value {
    by(sandbox, "human:ann", args)
}

pub fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.git(&sandbox.root, args)
}

pub fn create(sandbox: &Sandbox, id: &str, more: &[&str]) {
    let args = ["task", "create", "Parse dates", "--id", id];
    person(sandbox, &[&args, more].concat());
}

/// Commits files that are new.
pub fn commit(sandbox: &Sandbox, message: &str, files: &[&str]) -> String {
    commit_in(sandbox, &sandbox.root, message, files)
}

pub fn commit_in(sandbox: &Sandbox, tree: &Path, message: &str, files: &[&str]) -> String {
    for file in files {
        let path = tree.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{message}\n")).unwrap();
    }
    sandbox.commit(tree, message)
}

/// Logs of git count in seconds.
pub fn a_second() {
    std::thread::sleep(Duration::from_millis(1100));
}

/// Hands a result in that lists files as created; returns nothing, or what is wrong with it.
pub fn hand_in(sandbox: &Sandbox, agent: &str, id: &str, files: &[&str]) -> Vec<String> {
    hand_in_from(sandbox, &sandbox.root, agent, id, files)
}

pub fn hand_in_from(
    sandbox: &Sandbox,
    tree: &Path,
    agent: &str,
    id: &str,
    files: &[&str],
) -> Vec<String> {
    let files: Vec<(&str, &str)> = files.iter().map(|file| ("created", *file)).collect();
    let mut said = result("completed", &files, &[]);
    said["task_id"] = id.into();
    let args = ["task", "submit", id, "--result", "-", "--json"];
    outcome(&sandbox.comity().by(agent).at(tree).args(&args).stdin(&said.to_string()).done())
}

/// Hands work in without a list.
pub fn plainly(sandbox: &Sandbox, agent: &str, id: &str) -> Vec<String> {
    outcome(&sandbox.comity().by(agent).args(&["task", "submit", id, "--json"]).done())
}

pub fn outcome(done: &Done) -> Vec<String> {
    if done.exit == 0 {
        assert_eq!(done.json()["task"]["status"], "review");
        return Vec::new();
    }
    let error: Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    let list = error["error"]["details"]["violations"].as_array();
    let list = list.unwrap_or_else(|| panic!("{error}"));
    list.iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect()
}

pub const NOTHING: [&str; 0] = [];

pub fn too_many(files: usize, most: usize) -> Vec<String> {
    vec![format!("{files} files are changed, at most {most} may be")]
}

#[test]
fn what_others_commit_on_main_while_nobody_has_the_task_is_not_charged_to_it() {
    for ends in ["release", "review"] {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", &["--max-files", "2"]);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        commit(&sandbox, "mine", &["a"]);
        if ends == "release" {
            by(&sandbox, "ada", &["task", "release", "T1"]);
        } else {
            by(&sandbox, "ada", &["task", "submit", "T1"]);
            person(&sandbox, &["task", "request-changes", "T1"]);
        }
        commit(&sandbox, "theirs", &["o1", "o2", "o3"]);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        commit(&sandbox, "mine again", &["b"]);
        assert_eq!(hand_in(&sandbox, "ada", "T1", &["b"]), ["a is created, but not listed"]);
        assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "b"]), NOTHING, "{ends}");
    }
}

#[test]
fn what_was_committed_before_a_task_was_given_back_counts_after_it_was_taken_again() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a"]);
    by(&sandbox, "ada", &["task", "release", "T1"]);
    commit(&sandbox, "theirs", &["o1", "o2"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine again", &["b"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1));
}

#[test]
fn work_that_was_rebased_while_nobody_had_the_task_counts_and_what_it_was_put_on_does_not() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "2"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a"]);
    by(&sandbox, "ada", &["task", "release", "T1"]);
    git(&sandbox, &["switch", "--quiet", "-c", "other", "HEAD~1"]);
    commit(&sandbox, "theirs", &["o1", "o2", "o3"]);
    git(&sandbox, &["switch", "--quiet", "main"]);
    git(&sandbox, &["rebase", "--quiet", "other"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine again", &["b"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "b"]), NOTHING);
}

#[test]
fn what_others_handed_in_or_made_between_two_claims_is_known_after_a_rebase() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "2"]);
    create(&sandbox, "T2", &[]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a"]);
    by(&sandbox, "bob", &["task", "start", "T2"]);
    commit(&sandbox, "second", &["x"]);
    by(&sandbox, "bob", &["task", "submit", "T2"]);
    by(&sandbox, "ada", &["task", "release", "T1"]);
    commit(&sandbox, "theirs", &["o1", "o2"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    git(&sandbox, &["switch", "--quiet", "-c", "other", "HEAD~3"]);
    commit(&sandbox, "before all", &["z"]);
    git(&sandbox, &["switch", "--quiet", "main"]);
    git(&sandbox, &["rebase", "--quiet", "other"]);
    git(&sandbox, &["branch", "--quiet", "-D", "other"]);
    commit(&sandbox, "mine again", &["b"]);
    // Nothing tells whose the commit is that all of it was put on.
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 2));
    person(&sandbox, &["task", "update", "T1", "--max-files", "3"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "b", "z"]), NOTHING);
}

#[test]
fn what_a_holder_committed_on_main_without_holding_may_be_listed() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &[]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a"]);
    by(&sandbox, "ada", &["task", "submit", "T1"]);
    person(&sandbox, &["task", "request-changes", "T1"]);
    commit(&sandbox, "mended at once", &["b"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    let none = ["c is said to be created, but is unchanged"];
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "b", "c"]), none);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "b"]), NOTHING);
}

/// Two that work on main of one tree, each on a task of its own.
fn side_by_side(first: &[&str], second: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", first);
    create(&sandbox, "T2", second);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    by(&sandbox, "bob", &["task", "start", "T2"]);
    sandbox
}

#[test]
fn two_that_commit_to_main_of_one_tree_may_each_list_what_is_theirs() {
    let sandbox = side_by_side(&[], &[]);
    commit(&sandbox, "one", &["a"]);
    commit(&sandbox, "two", &["b"]);
    let none = ["c is said to be created, but is unchanged"];
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "c"]), none);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), NOTHING);
    assert_eq!(hand_in(&sandbox, "bob", "T2", &["b"]), NOTHING, "handed in with the other one");
}

#[test]
fn a_list_is_complete_where_nobody_else_is_at_work() {
    let sandbox = side_by_side(&[], &[]);
    by(&sandbox, "bob", &["task", "release", "T2"]);
    commit(&sandbox, "one", &["a", "b"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), ["b is created, but not listed"]);
    let sandbox = side_by_side(&[], &[]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, "one", &["a", "b"]);
    let found = hand_in(&sandbox, "ada", "T1", &["a"]);
    assert_eq!(found, ["b is created, but not listed"], "on a branch of its own");
}

#[test]
fn a_commit_that_names_the_task_of_another_who_is_at_work_is_theirs() {
    let sandbox = side_by_side(&["--max-files", "1"], &["--max-files", "2"]);
    commit(&sandbox, "one", &["a"]);
    commit(&sandbox, "feat(T2): two", &["b1", "b2"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING);
    commit(&sandbox, "feat(T2): three", &["b3"]);
    assert_eq!(plainly(&sandbox, "bob", "T2"), too_many(3, 2), "though T1 was handed in on top");
}

#[test]
fn a_commit_stays_ones_own_whatever_other_task_it_names() {
    let own = side_by_side(&["--max-files", "1"], &[]);
    by(&own, "bob", &["task", "release", "T2"]);
    by(&own, "ada", &["task", "start", "T2"]);
    for (sandbox, named) in [
        (side_by_side(&["--max-files", "1"], &[]), "T9"),
        (own, "T2"),
        (side_by_side(&["--max-files", "1"], &[]), "T3"),
    ] {
        create(&sandbox, "T3", &[]);
        commit(&sandbox, &format!("feat({named}): x"), &["a", "b"]);
        assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1), "{named}");
    }
    let sandbox = side_by_side(&["--max-files", "1"], &[]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, "feat(T2): x", &["a", "b"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1), "on a branch of its own");
}

#[test]
fn files_that_another_who_is_at_work_has_declared_are_theirs() {
    let sandbox = side_by_side(&["--max-files", "1"], &["--file", "web/**"]);
    commit(&sandbox, "one", &["a"]);
    commit(&sandbox, "two", &["web/b1", "web/b2"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), NOTHING);
    let sandbox = side_by_side(&["--max-files", "1", "--file", "src/**"], &["--file", "web/**"]);
    commit(&sandbox, "one", &["src/a", "src/b", "web/c"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1));
}

/// A claim of ada's that expired with one commit made under it, and one after.
fn expired() -> Sandbox {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "3"]);
    create(&sandbox, "T2", &[]);
    by(&sandbox, "ada", &["task", "claim", "T1", "--ttl", "1s"]);
    commit(&sandbox, "mine", &["a"]);
    std::thread::sleep(Duration::from_millis(2100));
    sandbox
}

#[test]
fn work_of_a_claim_that_expired_goes_on_when_its_holder_takes_it_again() {
    let sandbox = expired();
    by(&sandbox, "bob", &["task", "start", "T2"]);
    commit(&sandbox, "theirs", &["o1", "o2", "o3"]);
    by(&sandbox, "bob", &["task", "submit", "T2"]);
    commit(&sandbox, "mine, late", &["b"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine again", &["c"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["c"]), ["a is created, but not listed"]);
    commit(&sandbox, "more", &["d"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(4, 3));
    person(&sandbox, &["task", "update", "T1", "--max-files", "4"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "b", "c", "d"]), NOTHING);
}

#[test]
fn work_of_a_claim_that_expired_goes_on_with_somebody_else_from_where_it_was() {
    let sandbox = expired();
    commit(&sandbox, "theirs", &["o1", "o2", "o3"]);
    by(&sandbox, "bob", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["b"]);
    assert_eq!(hand_in(&sandbox, "bob", "T1", &["b"]), ["a is created, but not listed"]);
    assert_eq!(hand_in(&sandbox, "bob", "T1", &["a", "b"]), NOTHING);
}

#[test]
fn a_claim_that_somebody_else_ended_goes_on_too_and_one_of_another_tree_does_not() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a"]);
    person(&sandbox, &["task", "release", "T1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine again", &["b"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1));
    let sandbox = Sandbox::new();
    let tree = sandbox.worktree("side");
    create(&sandbox, "T1", &["--max-files", "1"]);
    sandbox.comity().by("ada").at(&tree).args(&["task", "start", "T1"]).json();
    commit(&sandbox, "theirs", &["o1", "o2"]);
    person(&sandbox, &["task", "release", "T1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["b"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING);
}

/// A task, and a branch with a commit that was made before the claim.
fn early(create_with: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", create_with);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, "early", &["a", "b"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "later", &["c"]);
    sandbox
}

#[test]
fn what_was_committed_on_its_branch_before_the_claim_counts_and_may_be_listed() {
    let sandbox = early(&["--max-files", "2"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 2));
    let listed = |files: &[&str]| hand_in(&early(&[]), "ada", "T1", files);
    assert_eq!(listed(&["a", "b", "c"]), NOTHING);
    assert_eq!(listed(&["c"]), NOTHING, "since the claim");
    assert_eq!(listed(&["a"]), ["c is created, but not listed"]);
    assert_eq!(listed(&["c", "d"]), ["d is said to be created, but is unchanged"]);
}

#[test]
fn what_was_committed_on_a_branch_before_the_task_was_there_does_not_count() {
    let sandbox = Sandbox::new();
    git(&sandbox, &["switch", "--quiet", "-c", "develop"]);
    commit(&sandbox, "old", &["a", "b"]);
    a_second();
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["c"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["c"]), NOTHING);
    person(&sandbox, &["task", "request-changes", "T1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["c"]), NOTHING, "in the next round, too");
}

#[test]
fn a_branch_of_the_tasks_own_name_counts_as_a_whole() {
    let sandbox = Sandbox::new();
    git(&sandbox, &["switch", "--quiet", "-c", "feat/T1-parse-dates"]);
    commit(&sandbox, "early", &["a", "b"]);
    a_second();
    create(&sandbox, "T1", &["--max-files", "2"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["c"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 2));
}

#[test]
fn what_was_handed_in_before_is_no_others_when_the_work_begins_anew() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "2"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    let sha = commit(&sandbox, "mine", &["a", "b"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING);
    person(&sandbox, &["task", "request-changes", "T1"]);
    git(&sandbox, &["reset", "--quiet", "--hard", "HEAD~1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    git(&sandbox, &["reset", "--quiet", "--hard", &sha]);
    commit(&sandbox, "more", &["c"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 2));
}

#[test]
fn work_on_another_task_before_the_claim_is_not_charged_to_this_one() {
    for ends in ["submit", "release"] {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", &["--max-files", "1"]);
        create(&sandbox, "T2", &[]);
        git(&sandbox, &["switch", "--quiet", "-c", "work"]);
        by(&sandbox, "ada", &["task", "start", "T2"]);
        commit(&sandbox, "second", &["x", "y"]);
        by(&sandbox, "ada", &["task", ends, "T2"]);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        commit(&sandbox, "first", &["a"]);
        assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), NOTHING, "{ends}");
    }
}

#[test]
fn of_two_tasks_of_one_agent_each_may_list_what_is_its_own() {
    for on_main in [true, false] {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", &["--max-files", "3"]);
        create(&sandbox, "T2", &["--max-files", "1"]);
        if !on_main {
            git(&sandbox, &["switch", "--quiet", "-c", "work"]);
        }
        by(&sandbox, "ada", &["task", "start", "T1"]);
        commit(&sandbox, "first", &["x", "y"]);
        by(&sandbox, "ada", &["task", "start", "T2"]);
        commit(&sandbox, "second", &["a"]);
        assert_eq!(hand_in(&sandbox, "ada", "T2", &["a"]), NOTHING, "main: {on_main}");
        assert_eq!(hand_in(&sandbox, "ada", "T1", &["x", "y"]), NOTHING, "main: {on_main}");
    }
}

#[test]
fn two_that_begin_a_repository_may_each_list_what_is_theirs() {
    let sandbox = Sandbox::without_git();
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    create(&sandbox, "T1", &[]);
    create(&sandbox, "T2", &[]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    by(&sandbox, "bob", &["task", "start", "T2"]);
    commit(&sandbox, "one", &["a"]);
    commit(&sandbox, "two", &["b"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), NOTHING);
    assert_eq!(hand_in(&sandbox, "bob", "T2", &["b"]), NOTHING);
}

#[test]
fn a_task_that_must_not_commit_is_not_blamed_for_what_was_committed_before() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--no-git-commit", "--max-files", "1"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, "early", &["a", "b"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    sandbox.write("c", "1");
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["c"]), NOTHING);
}

#[test]
fn a_branch_that_was_made_from_anothers_unfinished_one_begins_there() {
    for linked in [false, true] {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", &[]);
        create(&sandbox, "T2", &["--max-files", "1"]);
        by(&sandbox, "bob", &["task", "start", "T1"]);
        git(&sandbox, &["switch", "--quiet", "-c", "feat/1"]);
        commit(&sandbox, "theirs", &["o1", "o2"]);
        git(&sandbox, &["switch", "--quiet", "main"]);
        a_second();
        by(&sandbox, "ada", &["task", "start", "T2"]);
        let tree = if linked {
            let tree = sandbox.outside().join("second");
            let place = tree.display().to_string();
            git(&sandbox, &["worktree", "add", "--quiet", "-b", "feat/2", &place, "feat/1"]);
            tree
        } else {
            git(&sandbox, &["checkout", "--quiet", "-b", "feat/2", "feat/1"]);
            sandbox.root.clone()
        };
        commit_in(&sandbox, &tree, "mine", &["a"]);
        let found = hand_in_from(&sandbox, &tree, "ada", "T2", &["a"]);
        assert_eq!(found, NOTHING, "linked: {linked}");
    }
}

#[test]
fn a_branch_that_is_made_from_ones_own_hides_nothing() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    git(&sandbox, &["switch", "--quiet", "-c", "x"]);
    commit(&sandbox, "mine", &["a", "b"]);
    git(&sandbox, &["switch", "--quiet", "main"]);
    git(&sandbox, &["checkout", "--quiet", "-b", "y", "x"]);
    commit(&sandbox, "more", &["c"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 1));
}

#[test]
fn a_branch_that_came_from_the_remote_is_the_same_branch() {
    let sandbox = Sandbox::new();
    let there = sandbox.outside().join("there.git").display().to_string();
    git(&sandbox, &["init", "--quiet", "--bare", "--initial-branch=main", &there]);
    git(&sandbox, &["remote", "add", "origin", &there]);
    git(&sandbox, &["push", "--quiet", "-u", "origin", "main"]);
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    let tree = sandbox.worktree("work");
    commit_in(&sandbox, &tree, "mine", &["a", "b"]);
    sandbox.git(&tree, &["push", "--quiet", "origin", "work"]);
    git(&sandbox, &["worktree", "remove", &tree.display().to_string()]);
    git(&sandbox, &["branch", "--quiet", "-D", "work"]);
    git(&sandbox, &["switch", "--quiet", "work"]);
    commit(&sandbox, "more", &["c"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 1));
}

#[test]
fn work_that_somebody_committed_for_a_task_that_must_not_may_be_listed_again() {
    for on_main in [true, false] {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", &["--no-git-commit", "--max-files", "2"]);
        if !on_main {
            git(&sandbox, &["switch", "--quiet", "-c", "work"]);
        }
        by(&sandbox, "ada", &["task", "start", "T1"]);
        sandbox.write("a", "1");
        assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), NOTHING);
        for (round, file) in ["b", "c"].into_iter().enumerate() {
            sandbox.commit(&sandbox.root, "integrated");
            person(&sandbox, &["task", "request-changes", "T1"]);
            by(&sandbox, "ada", &["task", "start", "T1"]);
            sandbox.write(file, "1");
            let all = &["a", "b", "c"][..round + 2];
            let found = hand_in(&sandbox, "ada", "T1", &[all, &["d"]].concat());
            assert_eq!(found, ["d is said to be created, but is unchanged"]);
            assert_eq!(hand_in(&sandbox, "ada", "T1", all), NOTHING, "main: {on_main}, {round}");
        }
        person(&sandbox, &["task", "request-changes", "T1"]);
        sandbox.commit(&sandbox.root, "integrated");
        by(&sandbox, "ada", &["task", "start", "T1"]);
        std::fs::remove_file(sandbox.root.join("c")).unwrap();
        let gone = ["c is deleted, which allow_delete does not allow"];
        assert_eq!(plainly(&sandbox, "ada", "T1"), gone, "what is there now is what counts");
    }
}

#[test]
fn files_that_comity_writes_by_itself_count_for_nobody() {
    let sandbox = Sandbox::without_git();
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    sandbox.json(&["init", "--yes"]);
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a"]);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), NOTHING);
    person(&sandbox, &["task", "request-changes", "T1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    person(&sandbox, &["export", "collab", "collaboration"]);
    person(&sandbox, &["sync", "collab"]);
    commit(&sandbox, "along", &["README.md"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1));
    person(&sandbox, &["task", "update", "T1", "--max-files", "2"]);
    let all = ["a", "README.md", ".comity/config.toml", "collaboration/state/tasks.json"];
    assert_eq!(hand_in(&sandbox, "ada", "T1", &all), NOTHING);
}

#[test]
fn a_directory_that_only_has_the_same_name_is_work_like_any_other() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init", "--yes"]);
    sandbox.commit(&sandbox.root, "Settings");
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    sandbox.write(".comity/config.toml", "[limits]\n");
    commit(&sandbox, "mine", &["collaboration/state/tasks.json", "collaboration/logs/log.md"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 1));
    git(&sandbox, &["reset", "--quiet", "--hard", "HEAD~1"]);
    person(&sandbox, &["export", "collab", "collaboration"]);
    commit(&sandbox, "mine", &["collaboration/notes.md", "collaboration/state/x.json"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1), "comity does not write these");
}
