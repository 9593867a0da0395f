//! Ways around the constraints of a task, tried with real git. RULES 2.9 says what the work is: everything from where it left the base
//! branch, or from the base of the claim for commits on the base branch itself.

use crate::landing;
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Claims T1, which may change one file, as ada.
fn held() -> Sandbox {
    let sandbox = Sandbox::new();
    take(&sandbox, &["--max-files", "1"]);
    sandbox
}

fn take(sandbox: &Sandbox, constraints: &[&str]) {
    let create = ["task", "create", "Parse dates", "--id", "T1"];
    sandbox.json(&[&create, constraints].concat());
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
}

/// Commits new files.
fn commit(sandbox: &Sandbox, tree: &Path, files: &[&str]) -> String {
    for file in files {
        std::fs::write(tree.join(file), "x\n").unwrap();
    }
    sandbox.commit(tree, &format!("Add {}", files.join(" ")))
}

fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.git(&sandbox.root, args)
}

/// Hands T1 in; returns how many files were too many, or none when it was accepted.
fn too_many(sandbox: &Sandbox, more: &[&str]) -> Option<u64> {
    let args = [&["task", "submit", "T1", "--json"], more].concat();
    let done = sandbox.comity().by("ada").args(&args).done();
    if done.exit == 0 {
        return None;
    }
    let error: Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    let list = &error["error"]["details"]["violations"];
    assert_eq!(list[0]["constraint"], "max_files", "{error}");
    list[0]["message"].as_str().unwrap().split(' ').next().unwrap().parse().ok()
}

fn clone(sandbox: &Sandbox, name: &str) -> PathBuf {
    let place = sandbox.outside().join(name);
    git(sandbox, &["clone", "--quiet", ".", &place.display().to_string()]);
    place
}

#[test]
fn work_that_comes_from_a_clone_counts_like_any_other() {
    let sandbox = held();
    let other = clone(&sandbox, "clone");
    commit(&sandbox, &other, &["a", "b"]);
    sandbox.git(&other, &["push", "--quiet", "origin", "HEAD:refs/heads/theirs"]);
    assert_eq!(too_many(&sandbox, &["--branch", "theirs"]), Some(2), "pushed");
    let place = other.display().to_string();
    git(&sandbox, &["fetch", "--quiet", &place, "main"]);
    assert_eq!(too_many(&sandbox, &["--commit", "FETCH_HEAD"]), Some(2), "fetched");
    git(&sandbox, &["switch", "--quiet", "-c", "work", "theirs"]);
    commit(&sandbox, &sandbox.root, &["c"]);
    assert_eq!(too_many(&sandbox, &[]), Some(3), "and gone on with");
}

#[test]
fn what_is_pushed_to_the_base_branch_and_handed_in_from_there_counts_from_the_claim() {
    let origin = Sandbox::new();
    let sandbox = Sandbox::without_git();
    let bare = origin.root.join(".git").display().to_string();
    git(&sandbox, &["clone", "--quiet", &bare, "."]);
    take(&sandbox, &["--max-files", "1"]);
    origin.git(&origin.root, &["switch", "--quiet", "--detach"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, &sandbox.root, &["a", "b"]);
    git(&sandbox, &["push", "--quiet", "origin", "work:main"]);
    git(&sandbox, &["fetch", "--quiet"]);
    assert_eq!(too_many(&sandbox, &[]), Some(2), "the local base branch does not have it");
    git(&sandbox, &["switch", "--quiet", "main"]);
    git(&sandbox, &["pull", "--quiet"]);
    assert_eq!(too_many(&sandbox, &[]), Some(2), "pulled, and handed in from the base branch");
    git(&sandbox, &["switch", "--quiet", "work"]);
    assert_eq!(too_many(&sandbox, &[]), Some(2), "merged already");
    git(&sandbox, &["branch", "--quiet", "-D", "main"]);
    assert_eq!(too_many(&sandbox, &[]), Some(2), "only the remote has a base branch");
}

/// The rule is simple, and this is its price: what the base branch has is nobody's work on a branch. Whoever may not write to the base
/// branch is kept from it where it is written, by the guard of pushes.
#[test]
fn what_the_base_branch_has_does_not_count_for_a_branch_that_left_it_later() {
    let sandbox = held();
    commit(&sandbox, &sandbox.root, &["a", "b"]);
    assert_eq!(too_many(&sandbox, &[]), Some(2), "on the base branch it counts");
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, &sandbox.root, &["c"]);
    assert_eq!(too_many(&sandbox, &[]), None);
}

#[test]
fn a_base_branch_that_was_moved_elsewhere_does_not_hide_work() {
    let sandbox = held();
    let root = &sandbox.root;
    git(&sandbox, &["switch", "--quiet", "--orphan", "nowhere"]);
    git(&sandbox, &["checkout", "--quiet", "main", "--", "."]);
    commit(&sandbox, root, &["a", "b"]);
    assert_eq!(too_many(&sandbox, &[]), Some(2), "a history of its own");
    git(&sandbox, &["branch", "--quiet", "-f", "main", "nowhere"]);
    assert_eq!(too_many(&sandbox, &[]), Some(2), "as the base branch");
    commit(&sandbox, root, &["c"]);
    assert_eq!(too_many(&sandbox, &[]), Some(3), "and gone on with");
    let claimed = sandbox.json(&["event", "list", "--task", "T1", "--type", "task_claimed"]);
    let base = claimed["events"][0]["base"].as_str().unwrap();
    let tree = git(&sandbox, &["rev-parse", &format!("{base}^{{tree}}")]);
    let beside = git(&sandbox, &["commit-tree", &tree, "-m", "Beside"]);
    git(&sandbox, &["switch", "--quiet", "--detach", &beside]);
    commit(&sandbox, root, &["d", "e"]);
    git(&sandbox, &["branch", "--quiet", "-f", "main", "HEAD"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, root, &["f"]);
    assert_eq!(too_many(&sandbox, &[]), Some(3));
}

#[test]
fn grafts_replacements_and_shallow_marks_do_not_hide_work() {
    let sandbox = held();
    let main = git(&sandbox, &["rev-parse", "main"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    let early = commit(&sandbox, &sandbox.root, &["a", "b"]);
    let late = commit(&sandbox, &sandbox.root, &["c"]);
    assert_eq!(too_many(&sandbox, &[]), Some(3));
    // The base branch would have the early commit.
    sandbox.write(".git/info/grafts", &format!("{main} {early}\n"));
    assert_eq!(too_many(&sandbox, &[]), Some(3), "a graft");
    std::fs::remove_file(sandbox.root.join(".git/info/grafts")).unwrap();
    let base = format!("{main}^{{tree}}");
    let beside = git(&sandbox, &["commit-tree", &base, "-m", "Beside"]);
    let tree = git(&sandbox, &["rev-parse", &format!("{early}^{{tree}}")]);
    let same = git(&sandbox, &["commit-tree", &tree, "-p", &beside, "-m", "Begin"]);
    git(&sandbox, &["replace", &main, &same]);
    assert_eq!(too_many(&sandbox, &[]), Some(3), "a replacement");
    git(&sandbox, &["replace", "-d", &main]);
    for mark in [&early, &late, &main] {
        sandbox.write(".git/shallow", &format!("{mark}\n"));
        assert_eq!(too_many(&sandbox, &[]), Some(3), "a shallow mark");
    }
}

#[test]
fn refs_of_comity_decide_nothing() {
    let sandbox = Sandbox::new();
    take(&sandbox, &["--no-git-commit", "--max-files", "1"]);
    sandbox.write("a", "1");
    assert_eq!(too_many(&sandbox, &[]), None);
    let commit = || sandbox.json(&["task", "show", "T1"])["task"]["commit"].clone();
    let handed_in = commit();
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    let move_refs = || {
        for name in ["snapshots/T1", "base/T1", "claims/T1", "begin/T1"] {
            git(&sandbox, &["update-ref", &format!("refs/comity/{name}"), &head]);
        }
    };
    move_refs();
    assert_eq!(commit(), handed_in, "the log says what was handed in");
    sandbox.json(&["task", "request-changes", "T1", "--as", "human:ann"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.write("b", "1");
    move_refs();
    assert_eq!(too_many(&sandbox, &[]), Some(2));
}

#[test]
fn refs_of_a_landing_finish_nothing() {
    let config = "[gates]\nrequired = ['test']\n[gate.test]\ncommand = 'test -e one'\n";
    let sandbox = landing::project(config);
    landing::approved(&sandbox, "T1", &[("one", "1\n")]);
    let before = landing::tip(&sandbox);
    let work = git(&sandbox, &["rev-parse", "w/T1"]);
    let base = git(&sandbox, &["rev-parse", "main~1"]);
    for (name, commit) in [("base", &base), ("work", &work), ("merged", &before)] {
        git(&sandbox, &["update-ref", &format!("refs/comity/landing/T1/{name}"), commit]);
    }
    let by = |args: &[&str]| sandbox.comity().by("ivy").args(args);
    by(&["task", "merge", "T1"]).json();
    for args in [&["task", "done", "T1"][..], &["task", "done", "T1", "--merged", &before]] {
        assert_eq!(by(args).refusal().0["code"], "not-merged", "{args:?}");
    }
    let answer = by(&["task", "land", "T1"]).json();
    assert_eq!(answer["gates"][0]["name"], "test", "{answer}");
    assert_ne!(landing::tip(&sandbox), before);
    git(&sandbox, &["cat-file", "-e", "main:one"]);
}

#[test]
fn settings_that_somebody_wrote_are_work() {
    let sandbox = held();
    sandbox.write(".comity/config.toml", "[guard]\nundeclared = \"allow\"\n");
    commit(&sandbox, &sandbox.root, &["a"]);
    assert_eq!(too_many(&sandbox, &[]), Some(2));
    git(&sandbox, &["reset", "--quiet", "--hard", "HEAD~1"]);
    sandbox.json(&["init", "--yes"]);
    commit(&sandbox, &sandbox.root, &["a"]);
    assert_eq!(too_many(&sandbox, &[]), None, "what init wrote is nobody's");
}

#[test]
fn a_task_does_not_start_anew_while_it_is_looked_at() {
    let sandbox = held();
    commit(&sandbox, &sandbox.root, &["a", "b"]);
    let script = sandbox.outside().join("monitor");
    let comity = env!("CARGO_BIN_EXE_comity");
    let text = format!(
        "#!/bin/sh\ntouch {}\nexport COMITY_AGENT=ada\n{comity} task release T1\n{comity} task start T1\n",
        sandbox.outside().join("ran").display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    git(&sandbox, &["config", "core.fsmonitor", &script.display().to_string()]);
    assert_eq!(too_many(&sandbox, &[]), Some(2));
    assert!(!sandbox.outside().join("ran").exists());
    let claims = sandbox.json(&["event", "list", "--task", "T1", "--type", "task_claimed"]);
    assert_eq!(claims["events"].as_array().unwrap().len(), 1);
}
