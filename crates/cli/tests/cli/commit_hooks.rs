//! What git's hooks ask before a commit and a push.

use crate::sandbox::Sandbox;
use serde_json::Value;
use std::ffi::OsStr;

const TOKEN: [&str; 2] = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"];

/// A project with git's hooks, and a task that eve has begun.
fn begun(create: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "one\n");
    sandbox.write("src/b.rs", "one\n");
    sandbox.commit(&sandbox.root, "Files");
    sandbox.json(&["init", "--clients", "claude"]);
    let mut args = vec!["task", "create", "Work"];
    args.extend(create);
    sandbox.json(&args);
    sandbox.git(&sandbox.root, &["add", "-A"]);
    sandbox.git(&sandbox.root, &["commit", "-qm", "Set up"]);
    sandbox.comity().by("eve").args(&["task", "start", "T1"]).json();
    sandbox
}

/// Runs git as an agent, or as nobody known; returns whether it went well, and what was said.
fn git_as(sandbox: &Sandbox, agent: &str, env: &[(&str, &str)], args: &[&str]) -> (bool, String) {
    let mut command = sandbox.clean(OsStr::new("git"));
    command.current_dir(&sandbox.root).args(args).envs(env.iter().copied());
    if !agent.is_empty() {
        command.env("COMITY_AGENT", agent);
    }
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn refusal(sandbox: &Sandbox) -> Value {
    let (error, exit) = sandbox.comity().by("eve").args(&["guard", "commit"]).refusal();
    assert_eq!(exit, 3);
    error
}

#[test]
fn a_commit_of_some_files_is_checked_as_it_will_be() {
    let sandbox = begun(&[]);
    sandbox.comity().by("bob").args(&["lease", "acquire", "src/a.rs"]).json();
    sandbox.write("src/a.rs", "two\n");
    sandbox.write("src/b.rs", "two\n");
    // Nothing is staged: git makes an index for this commit alone.
    for args in [&["commit", "-qam", "x"][..], &["commit", "-qm", "x", "src/a.rs"]] {
        let (done, said) = git_as(&sandbox, "eve", &[], args);
        assert!(!done && said.contains("src/a.rs is leased to bob"), "{said}");
    }
    let (done, said) = git_as(&sandbox, "eve", &[], &["commit", "-qm", "x", "src/b.rs"]);
    assert!(done, "{said}");
    let moved = ["mv", "src/a.rs", "src/c.rs"];
    assert!(git_as(&sandbox, "eve", &[], &moved).0);
    let found = refusal(&sandbox);
    assert_eq!(found["details"]["violations"][0]["path"], "src/a.rs");
    let (done, said) = git_as(&sandbox, "", &[], &["commit", "-qm", "x"]);
    assert!(done && said.contains("warning: src/a.rs is leased to bob"), "{said}");
}

#[test]
fn secrets_in_added_lines_are_named_by_file_line_and_rule() {
    let sandbox = begun(&[]);
    sandbox.write("src/a.rs", &format!("one\nlet t = \"{}\";\n", TOKEN.concat()));
    sandbox.git(&sandbox.root, &["add", "-A"]);
    let error = refusal(&sandbox);
    let one = &error["details"]["violations"][0];
    assert_eq!(error["code"], "limit-exceeded");
    assert_eq!((one["path"].as_str(), one["line"].as_u64()), (Some("src/a.rs"), Some(2)));
    assert!(one["rule"].is_string() && !error.to_string().contains(TOKEN[1]));
    let (done, said) = git_as(&sandbox, "", &[], &["commit", "-qm", "x"]);
    assert!(done && said.contains("src/a.rs:2"), "{said}");
}

#[test]
fn constraints_and_a_stale_fence_stop_a_commit() {
    let sandbox = begun(&["--max-files", "1"]);
    sandbox.write("src/a.rs", "two\n");
    sandbox.write("src/b.rs", "two\n");
    sandbox.git(&sandbox.root, &["add", "-A"]);
    assert_eq!(refusal(&sandbox)["details"]["violations"][0]["constraint"], "max_files");
    sandbox.git(&sandbox.root, &["reset", "-q", "--", "src/b.rs"]);
    let (done, said) = git_as(&sandbox, "eve", &[("COMITY_FENCE", "1")], &["commit", "-qm", "x"]);
    assert!(!done && said.contains("stale-fence"), "{said}");
    let fence = sandbox.json(&["task", "show", "T1"])["task"]["fence"].to_string();
    let (done, said) =
        git_as(&sandbox, "eve", &[("COMITY_FENCE", &fence)], &["commit", "-qm", "x"]);
    assert!(done, "{said}");
    let sandbox = begun(&["--no-git-commit"]);
    sandbox.write("src/a.rs", "two\n");
    let (done, said) = git_as(&sandbox, "eve", &[], &["commit", "-qam", "x"]);
    assert!(!done && said.contains("T1 forbids commits"), "{said}");
}

#[test]
fn a_large_commit_is_warned_of_or_refused_unless_the_task_is_mechanical() {
    let sandbox = begun(&[]);
    // Settings count once the base branch has them.
    let set = |key: &str, value: &str| {
        let done = sandbox.comity().by("human:ann").args(&["config", "set", key, value]).done();
        assert!(done.stderr.contains("judged by the settings of the base branch"), "{done:?}");
        let config = ".comity/config.toml";
        sandbox.git(&sandbox.root, &["commit", "-qnm", "Settings", "--only", config]);
    };
    set("guard.max_commit_lines", "3");
    set("guard.max_commit_files", "1");
    sandbox.write("src/a.rs", "1\n2\n3\n4\n");
    sandbox.write("src/b.rs", "two\n");
    sandbox.git(&sandbox.root, &["add", "-A"]);
    let warned = sandbox.comity().by("eve").args(&["guard", "commit"]).done();
    assert_eq!(warned.exit, 0, "{}", warned.stderr);
    assert!(warned.stderr.contains("the files of the commit are 2, but the limit is 1"));
    assert!(warned.stderr.contains("changed lines of the commit are 7, but the limit is 3"));
    set("guard.size", "refuse");
    let names: Vec<String> = refusal(&sandbox)["details"]["violations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["constraint"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["max_commit_files", "max_commit_lines"]);
    set("guard.max_pr_lines", "5");
    assert!(refusal(&sandbox)["message"].as_str().unwrap().contains("the whole work"));
    sandbox.git(&sandbox.root, &["switch", "-qc", "feat/T1-work"]);
    sandbox.git(&sandbox.root, &["commit", "-qnm", "Large"]);
    let tip = sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]);
    let line = format!("refs/heads/x {tip} refs/heads/feat/T1-work {}\n", "0".repeat(40));
    let push = |by: &str| {
        sandbox.comity().by(by).args(&["guard", "push", "origin", "url"]).stdin(&line).done()
    };
    let (refused, warned) = (push("eve"), push("human:ann"));
    let said = "the changed lines of feat/T1-work are 7, but the limit is 5";
    assert!(refused.exit == 3 && refused.stderr.contains(said), "{refused:?}");
    assert!(warned.exit == 0 && warned.stderr.contains(said), "{warned:?}");
    let typed = ["task", "update", "T1", "--type", "mechanical"];
    sandbox.comity().by("human:ann").args(&typed).json();
    assert_eq!(sandbox.comity().by("eve").args(&["guard", "commit"]).done().exit, 0);
    assert_eq!(push("eve").exit, 0);
}

#[test]
fn the_message_is_checked_where_the_project_wants_the_template() {
    let sandbox = begun(&[]);
    sandbox.write("src/a.rs", "two\n");
    let commit = ["commit", "-qam", "no template"];
    sandbox.json(&["config", "set", "commit.template", "true"]);
    let (done, said) = git_as(&sandbox, "eve", &[], &commit);
    assert!(!done && said.contains("the commit message is not valid"), "{said}");
    let (done, said) = git_as(&sandbox, "", &[], &commit);
    assert!(done && said.contains("warning: the commit message is not valid"), "{said}");
    sandbox.write("src/a.rs", "three\n");
    sandbox.json(&["config", "set", "commit.template", "false"]);
    assert!(git_as(&sandbox, "eve", &[], &commit).0);
    let by_hand = sandbox.comity().args(&["guard", "commit", "-"]).stdin("no template\n").refusal();
    assert_eq!(by_hand.0["code"], "contract-invalid", "as it was");
}

#[test]
fn pushed_commits_are_noted_in_the_log_with_their_task() {
    let sandbox = begun(&[]);
    let remote = sandbox.outside().join("remote.git").display().to_string();
    sandbox.git(&sandbox.root, &["init", "-q", "--bare", &remote]);
    sandbox.git(&sandbox.root, &["remote", "add", "origin", &remote]);
    let (done, said) = git_as(&sandbox, "", &[], &["push", "-q", "origin", "main"]);
    assert!(done && said.contains("warning: script:tester may not push to main"), "{said}");
    let branch =
        sandbox.json(&["task", "show", "T1"])["task"]["branch"].as_str().unwrap().to_owned();
    sandbox.git(&sandbox.root, &["switch", "-qc", &branch]);
    let sha = sandbox.work();
    let (done, said) = git_as(&sandbox, "eve", &[], &["push", "-q", "origin", &branch]);
    assert!(done, "{said}");
    let events = sandbox.json(&["event", "list", "--type", "commit_pushed", "--limit", "100"]);
    let last = events["events"].as_array().unwrap().last().unwrap();
    assert_eq!((last["sha"].as_str(), last["task"].as_str()), (Some(&*sha), Some("T1")));
    assert_eq!((last["agent"].as_str(), last["summary"].as_str()), (Some("eve"), Some("Work")));
    for number in 0..60 {
        sandbox.git(&sandbox.root, &["commit", "-qn", "--allow-empty", "-m", &number.to_string()]);
    }
    assert!(git_as(&sandbox, "eve", &[], &["push", "-q", "origin", &branch]).0);
    let all = sandbox.json(&["event", "list", "--type", "commit_pushed", "--limit", "500"]);
    let count = |events: &Value| events["events"].as_array().unwrap().len();
    assert_eq!(count(&all) - count(&events), 50);
}
