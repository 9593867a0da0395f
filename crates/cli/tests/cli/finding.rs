//! INTERFACE section 1: root, store, repository.

use crate::sandbox::Sandbox;
use std::path::Path;

#[test]
fn worktrees_and_subdirectories_find_the_same_root_and_store() {
    let sandbox = Sandbox::new();
    sandbox.write("src/deep/x.rs", "");
    let tree = sandbox.worktree("side");
    std::fs::create_dir_all(tree.join("src/deep")).unwrap();
    let home = sandbox.json(&["status"]);
    assert_eq!(home["root"], sandbox.root.display().to_string());
    let store = format!("sqlite:{}/.git/comity/comity.db", sandbox.root.display());
    assert_eq!(home["store"], store);
    for dir in [
        sandbox.root.join("src/deep"),
        tree.clone(),
        tree.join("src/deep"),
        sandbox.root.join(".git"),
    ] {
        let seen = sandbox.comity().at(&dir).args(&["status"]).json();
        assert_eq!((&seen["root"], &seen["store"]), (&home["root"], &home["store"]), "{dir:?}");
    }
    sandbox.comity().at(&tree.join("src/deep")).args(&["lease", "acquire", "x.rs"]).json();
    let held = sandbox.comity().by("bob").args(&["lease", "check", "src/deep/x.rs"]).json();
    assert_eq!(held["paths"][0]["free"], false);
}

#[test]
fn a_bare_repository_shares_its_store_with_its_worktrees() {
    let sandbox = Sandbox::new();
    let bare = sandbox.outside().join("bare.git");
    let (from, to) = (sandbox.root.display().to_string(), bare.display().to_string());
    sandbox.git(&sandbox.root, &["clone", "--quiet", "--bare", &from, &to]);
    let tree = sandbox.outside().join("tree");
    sandbox.git(&bare, &["worktree", "add", "--quiet", "-b", "x", &tree.display().to_string()]);
    let inside = sandbox.comity().at(&bare).args(&["status"]).json();
    let linked = sandbox.comity().at(&tree).args(&["status"]).json();
    assert_eq!(inside["store"], linked["store"]);
    assert_eq!(inside["root"], linked["root"]);
    let made = sandbox.comity().at(&tree).args(&["lease", "acquire", "a.rs"]).json();
    assert_eq!(made["leases"][0]["path"], "a.rs");
}

#[test]
fn a_git_directory_kept_elsewhere_is_found_from_every_worktree_after_init() {
    let sandbox = Sandbox::without_git();
    let meta = sandbox.outside().join("meta").display().to_string();
    sandbox.git(&sandbox.root, &["init", "--quiet", "--separate-git-dir", &meta]);
    sandbox.commit(&sandbox.root, "Begin");
    sandbox.json(&["init"]);
    let tree = sandbox.worktree("side");
    let linked = sandbox.comity().at(&tree).args(&["status"]).json();
    assert_eq!(linked["root"], sandbox.root.display().to_string());
    assert_eq!(linked["store"], sandbox.json(&["status"])["store"]);
}

#[test]
fn a_clone_can_name_the_root_in_its_git_config() {
    let sandbox = Sandbox::new();
    let clone = sandbox.outside().join("clone");
    let (from, to) = (sandbox.root.display().to_string(), clone.display().to_string());
    sandbox.git(&sandbox.root, &["clone", "--quiet", &from, &to]);
    sandbox.git(&clone, &["config", "comity.root", &from]);
    let home = sandbox.json(&["status"]);
    let seen = sandbox.comity().at(&clone).args(&["status"]).json();
    assert_eq!(
        (&seen["root"], &seen["store"], &seen["repo"]),
        (&home["root"], &home["store"], &home["repo"])
    );
    let lease = sandbox.comity().at(&clone).args(&["lease", "acquire", "README.md"]).json();
    assert_eq!(lease["leases"][0]["path"], "README.md");
}

#[test]
fn without_git_the_nearest_parent_with_settings_counts() {
    let sandbox = Sandbox::without_git();
    let (code, exit) = sandbox.refused(&["status"]);
    assert_eq!((code.as_str(), exit), ("store-unavailable", 5));
    sandbox.json(&["init", "--yes"]);
    std::fs::create_dir_all(sandbox.root.join("a/b")).unwrap();
    let seen = sandbox.comity().at(&sandbox.root.join("a/b")).args(&["status"]).json();
    assert_eq!(seen["root"], sandbox.root.display().to_string());
    assert_eq!(seen["store"], format!("sqlite:{}/.comity/comity.db", sandbox.root.display()));
}

#[test]
fn root_and_store_can_be_given() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.outside();
    let root = sandbox.root.display().to_string();
    let by_option = sandbox.comity().at(&elsewhere).args(&["--root", &root, "status"]).json();
    let by_variable =
        sandbox.comity().at(&elsewhere).env("COMITY_ROOT", &root).args(&["status"]).json();
    assert_eq!(by_option["store"], sandbox.json(&["status"])["store"]);
    assert_eq!(by_option["store"], by_variable["store"]);
    let seen = sandbox.json(&["--store", "sqlite:x/own.db", "status"]);
    assert_eq!(seen["store"], format!("sqlite:{root}/x/own.db"));
    sandbox.write(".comity/config.toml", "[store]\nurl = \"sqlite:from-config.db\"\n");
    std::fs::create_dir(sandbox.root.join("sub")).unwrap();
    sandbox.comity().by("human:ann").args(&["trust"]).json();
    let seen = sandbox.comity().at(&sandbox.root.join("sub")).args(&["status"]).json();
    assert_eq!(seen["store"], format!("sqlite:{root}/from-config.db"));
    let (code, exit) = sandbox.refused(&["--store", "postgres://h/db", "status"]);
    assert_eq!((code.as_str(), exit), ("store-unavailable", 5));
    assert_eq!(sandbox.refused(&["--root", "missing", "status"]).1, 2);
}

#[test]
fn the_repository_is_named_by_option_variable_config_remote_or_directory() {
    let sandbox = Sandbox::new();
    let repo = || sandbox.json(&["status"])["repo"].clone();
    assert_eq!(repo(), "tool");
    sandbox.git(&sandbox.root, &["remote", "add", "origin", "git@example.org:ann/tool.git"]);
    assert_eq!(repo(), "ann/tool");
    sandbox.write(".comity/config.toml", "[project]\nrepo = \"set/here\"\n");
    assert_eq!(repo(), "set/here");
    let by_variable = sandbox.comity().env("COMITY_REPO", "by/env").args(&["status"]).json();
    assert_eq!(by_variable["repo"], "by/env");
    assert_eq!(sandbox.json(&["status", "--repo", "by/option"])["repo"], "by/option");
}

#[test]
fn repositories_in_one_store_are_kept_apart() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one", "--repo", "a", "--file", "x"]);
    sandbox.json(&["task", "create", "two", "--repo", "b", "--file", "x"]);
    let list = |repo: &str| sandbox.json(&["task", "list", "--repo", repo])["tasks"].clone();
    assert_eq!(list("a").as_array().unwrap().len(), 1);
    assert_eq!(
        (list("a")[0]["id"].clone(), list("b")[0]["id"].clone()),
        ("T1".into(), "T1".into())
    );
    sandbox.comity().by("ann").args(&["task", "claim", "T1", "--repo", "a"]).json();
    sandbox.comity().by("bob").args(&["task", "claim", "T1", "--repo", "b"]).json();
    // The same id in two repositories is two things.
    let held =
        |repo: &str| sandbox.json(&["agent", "show", "bob", "--repo", repo])["agent"].clone();
    assert_eq!(held("b")["holds"]["tasks"], serde_json::json!(["T1"]));
    assert_eq!(held("a")["holds"]["tasks"], serde_json::json!(["b#T1"]));
}

#[test]
fn a_read_makes_no_store_and_a_write_does() {
    let sandbox = Sandbox::new();
    let store = sandbox.root.join(".git/comity/comity.db");
    for args in [&["task", "list"][..], &["status"], &["lease", "list"], &["log", "verify"]] {
        sandbox.json(args);
        assert!(!store.exists(), "{args:?}");
    }
    let (code, exit) = sandbox.refused(&["decision", "wait", "D1", "--timeout", "1s"]);
    assert_eq!((code.as_str(), exit), ("not-found", 4));
    assert!(!store.exists(), "waiting for what is not there makes no store");
    sandbox.json(&["task", "create", "x"]);
    assert!(store.exists());
    assert!(Path::new(&store).metadata().unwrap().len() > 0);
}

#[test]
fn a_claim_outside_every_project_leaves_its_directory_alone() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init", "--clients", "none"]);
    sandbox.json(&["task", "create", "Parse dates"]);
    let store = format!("sqlite:{}", sandbox.root.join(".git/comity/comity.db").display());
    let elsewhere = sandbox.outside().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let args = ["--store", &store, "--repo", "tool", "task", "claim"];
    sandbox.comity().by("ada").at(&elsewhere).args(&args).json();
    assert!(std::fs::read_dir(&elsewhere).unwrap().next().is_none());
}
