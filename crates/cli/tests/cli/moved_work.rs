//! Whose work a commit is, where the work moves: to another work tree, another branch, or onto the default branch.

use crate::sandbox::Sandbox;
use crate::whose_work::{
    NOTHING, a_second, by, commit, commit_in, create, git, hand_in, hand_in_from, outcome, plainly,
    too_many,
};
use std::path::{Path, PathBuf};

fn plainly_from(sandbox: &Sandbox, tree: &Path, agent: &str, id: &str) -> Vec<String> {
    outcome(&sandbox.comity().by(agent).at(tree).args(&["task", "submit", id, "--json"]).done())
}

/// Makes a linked work tree.
fn linked(sandbox: &Sandbox, name: &str, args: &[&str]) -> PathBuf {
    let tree = sandbox.outside().join(name);
    let place = tree.display().to_string();
    let (options, from) = args.split_at(args.len().min(2));
    git(sandbox, &[&["worktree", "add", "--quiet"], options, &[&place], from].concat());
    tree
}

/// A repository with a remote and a colleague's clone of it.
fn with_colleague(sandbox: &Sandbox) -> PathBuf {
    let there = sandbox.outside().join("there.git").display().to_string();
    git(sandbox, &["init", "--quiet", "--bare", "--initial-branch=main", &there]);
    git(sandbox, &["remote", "add", "origin", &there]);
    git(sandbox, &["push", "--quiet", "-u", "origin", "main"]);
    let clone = sandbox.outside().join("colleague");
    git(sandbox, &["clone", "--quiet", &there, &clone.display().to_string()]);
    clone
}

#[test]
fn work_that_moves_to_another_work_tree_counts_there_as_a_whole() {
    for (first, args) in [
        ("f", ["-b", "x", "f"].as_slice()),
        ("main", &["-b", "x"]),
        ("f", &["-b", "x", "@{0}"]),
        ("f", &["--detach", "f"]),
    ] {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", &["--max-files", "2"]);
        if first != "main" {
            git(&sandbox, &["switch", "--quiet", "-c", first]);
        }
        by(&sandbox, "ada", &["task", "start", "T1"]);
        commit(&sandbox, "mine", &["a", "b"]);
        let tree = if args.contains(&"--detach") {
            let place = sandbox.outside().join("second");
            git(
                &sandbox,
                &["worktree", "add", "--quiet", "--detach", &place.display().to_string()],
            );
            sandbox.git(&place, &["switch", "--quiet", "-c", "x"]);
            place
        } else {
            linked(&sandbox, "second", args)
        };
        let missing = ["a is created, but not listed", "b is created, but not listed"];
        assert_eq!(hand_in_from(&sandbox, &tree, "ada", "T1", &[]), missing, "{args:?}");
        commit_in(&sandbox, &tree, "more", &["c"]);
        assert_eq!(plainly_from(&sandbox, &tree, "ada", "T1"), too_many(3, 2), "{args:?}");
        sandbox.git(&tree, &["reset", "--quiet", "--hard", "HEAD~1"]);
        assert_eq!(hand_in_from(&sandbox, &tree, "ada", "T1", &["a", "b"]), NOTHING, "{args:?}");
    }
}

#[test]
fn who_takes_a_branch_over_in_a_work_tree_of_their_own_goes_on_with_it() {
    for removed in [false, true] {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", &["--max-files", "2"]);
        let first = linked(&sandbox, "first", &["-b", "fa"]);
        sandbox.comity().by("ada").at(&first).args(&["task", "start", "T1"]).json();
        commit_in(&sandbox, &first, "first", &["a"]);
        sandbox.comity().by("ada").at(&first).args(&["task", "release", "T1"]).json();
        if removed {
            git(&sandbox, &["worktree", "remove", &first.display().to_string()]);
        }
        let second = linked(&sandbox, "second", &["-b", "fb", "fa"]);
        sandbox.comity().by("bob").at(&second).args(&["task", "start", "T1"]).json();
        commit_in(&sandbox, &second, "second", &["b"]);
        let missing = ["a is created, but not listed"];
        assert_eq!(hand_in_from(&sandbox, &second, "bob", "T1", &["b"]), missing);
        assert_eq!(hand_in_from(&sandbox, &second, "bob", "T1", &["a", "b"]), NOTHING);
    }
}

#[test]
fn a_branch_that_was_there_before_the_claim_is_not_charged_to_it() {
    for fetched in [false, true] {
        let sandbox = Sandbox::new();
        if fetched {
            let colleague = with_colleague(&sandbox);
            sandbox.git(&colleague, &["switch", "--quiet", "-c", "release"]);
            commit_in(&sandbox, &colleague, "theirs", &["k1", "k2", "k3"]);
            sandbox.git(&colleague, &["push", "--quiet", "origin", "release"]);
        } else {
            git(&sandbox, &["switch", "--quiet", "-c", "release"]);
            commit(&sandbox, "theirs", &["k1", "k2", "k3"]);
            git(&sandbox, &["switch", "--quiet", "main"]);
            a_second();
        }
        create(&sandbox, "T1", &["--max-files", "1"]);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        if fetched {
            git(&sandbox, &["fetch", "--quiet"]);
        }
        git(&sandbox, &["switch", "--quiet", "release"]);
        commit(&sandbox, "mine", &["a"]);
        assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), NOTHING, "fetched: {fetched}");
    }
}

#[test]
fn what_a_colleague_pushed_to_the_same_branch_is_theirs_and_may_be_listed() {
    for listed in [["a"].as_slice(), &["a", "h"]] {
        let sandbox = Sandbox::new();
        let colleague = with_colleague(&sandbox);
        create(&sandbox, "T1", &["--max-files", "1"]);
        git(&sandbox, &["switch", "--quiet", "-c", "f"]);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        commit(&sandbox, "mine", &["a"]);
        git(&sandbox, &["push", "--quiet", "-u", "origin", "f"]);
        sandbox.git(&colleague, &["fetch", "--quiet"]);
        sandbox.git(&colleague, &["switch", "--quiet", "f"]);
        commit_in(&sandbox, &colleague, "theirs", &["h"]);
        sandbox.git(&colleague, &["push", "--quiet", "origin", "f"]);
        git(&sandbox, &["pull", "--quiet", "--rebase"]);
        assert_eq!(hand_in(&sandbox, "ada", "T1", listed), NOTHING);
    }
}

#[test]
fn work_that_is_squashed_into_main_and_merged_back_counts() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "1"]);
    git(&sandbox, &["switch", "--quiet", "-c", "f"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a", "b"]);
    git(&sandbox, &["switch", "--quiet", "main"]);
    git(&sandbox, &["merge", "--quiet", "--squash", "f"]);
    sandbox.commit(&sandbox.root, "all of f");
    git(&sandbox, &["switch", "--quiet", "f"]);
    git(&sandbox, &["merge", "--quiet", "--no-edit", "main"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1));
}

#[test]
fn work_that_the_host_squashed_may_be_listed() {
    let sandbox = Sandbox::new();
    let colleague = with_colleague(&sandbox);
    create(&sandbox, "T1", &[]);
    git(&sandbox, &["switch", "--quiet", "-c", "f"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a"]);
    git(&sandbox, &["push", "--quiet", "origin", "f"]);
    sandbox.git(&colleague, &["fetch", "--quiet"]);
    sandbox.git(&colleague, &["merge", "--quiet", "--squash", "origin/f"]);
    sandbox.commit(&colleague, "all of f");
    commit_in(&sandbox, &colleague, "theirs", &["o"]);
    sandbox.git(&colleague, &["push", "--quiet", "origin", "main"]);
    git(&sandbox, &["fetch", "--quiet"]);
    git(&sandbox, &["merge", "--quiet", "--no-edit", "origin/main"]);
    let untrue = ["o is said to be created, but is unchanged"];
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "o"]), untrue);
    assert_eq!(hand_in(&sandbox, "ada", "T1", &["a"]), NOTHING);
}

#[test]
fn who_only_puts_handed_in_work_on_main_makes_no_work_for_others_in_that_tree() {
    for (must_not_commit, squashed) in [(true, false), (true, true), (false, false), (false, true)]
    {
        let sandbox = Sandbox::new();
        let wanted = if must_not_commit { "--no-git-commit" } else { "--max-files=1" };
        create(&sandbox, "T1", &[wanted]);
        create(&sandbox, "T2", &[]);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        let tree = linked(&sandbox, "second", &["-b", "feat/b"]);
        sandbox.comity().by("bob").at(&tree).args(&["task", "start", "T2"]).json();
        commit_in(&sandbox, &tree, "one", &["b1"]);
        commit_in(&sandbox, &tree, "two", &["b2"]);
        assert_eq!(hand_in_from(&sandbox, &tree, "bob", "T2", &["b1", "b2"]), NOTHING);
        if !must_not_commit {
            commit(&sandbox, "mine", &["a"]);
        }
        if squashed {
            git(&sandbox, &["merge", "--quiet", "--squash", "feat/b"]);
            sandbox.commit(&sandbox.root, "all of feat/b");
        } else {
            git(&sandbox, &["merge", "--quiet", "--no-ff", "--no-edit", "feat/b"]);
        }
        if must_not_commit {
            std::fs::write(sandbox.root.join("a"), "a").unwrap();
        }
        let found = hand_in(&sandbox, "ada", "T1", &["a"]);
        assert_eq!(found, NOTHING, "must not commit: {must_not_commit}, squashed: {squashed}");
    }
}

#[test]
fn what_a_merge_takes_away_by_hand_counts_after_a_push() {
    for by_hand in [true, false] {
        let sandbox = Sandbox::new();
        let colleague = with_colleague(&sandbox);
        create(&sandbox, "T1", &["--max-files", "9"]);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        commit(&sandbox, "mine", &["a"]);
        git(&sandbox, &["push", "--quiet"]);
        sandbox.git(&colleague, &["pull", "--quiet"]);
        commit_in(&sandbox, &colleague, "theirs", &["c1", "c2"]);
        sandbox.git(&colleague, &["push", "--quiet", "origin", "main"]);
        commit(&sandbox, "more", &["b"]);
        git(&sandbox, &["fetch", "--quiet"]);
        if by_hand {
            git(&sandbox, &["merge", "--quiet", "--no-commit", "--no-ff", "origin/main"]);
            git(&sandbox, &["rm", "--quiet", "-f", "c1"]);
            sandbox.commit(&sandbox.root, "merge");
            let deleted = ["c1 is deleted, which allow_delete does not allow"];
            assert_eq!(plainly(&sandbox, "ada", "T1"), deleted);
        } else {
            git(&sandbox, &["merge", "--quiet", "--no-edit", "origin/main"]);
            assert_eq!(hand_in(&sandbox, "ada", "T1", &["a", "b"]), NOTHING);
        }
    }
}

#[test]
fn a_commit_that_must_not_be_is_found_on_another_branch_until_it_is_gone() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--no-git-commit"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    git(&sandbox, &["switch", "--quiet", "-c", "g"]);
    let made = commit(&sandbox, "mine", &["a"]);
    git(&sandbox, &["switch", "--quiet", "main"]);
    let short: String = made.chars().take(10).collect();
    let expected = [format!("T1 must not commit, but {short} was made: mine")];
    assert_eq!(plainly(&sandbox, "ada", "T1"), expected);
    git(&sandbox, &["branch", "--quiet", "-D", "g"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING);
}
