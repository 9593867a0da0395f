//! Help, options, unknown commands, completions.

use crate::sandbox::Sandbox;

#[test]
fn global_options_stand_before_or_after_the_command() {
    let sandbox = Sandbox::new();
    let before = sandbox.comity().args(&["--json", "--as", "ada", "status"]).done().json();
    let after = sandbox.comity().args(&["status", "--as", "ada", "--json"]).done().json();
    assert_eq!(before, after);
    assert_eq!(before["me"], "ada");
    let between = sandbox.comity().args(&["task", "--json", "list"]).done().json();
    assert_eq!(between["tasks"], serde_json::json!([]));
}

#[test]
fn commands_that_are_not_there_yet_are_unknown() {
    let sandbox = Sandbox::new();
    for command in [
        "memory",
        "directive",
        "contract",
        "store",
        "mcp",
        "serve",
        "run",
        "runs",
        "cost",
        "supervise",
        "worker",
        "github",
        "nonsense",
    ] {
        let (error, exit) = sandbox.comity().args(&[command]).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{command}");
    }
    assert_eq!(sandbox.comity().args(&["gate", "run", "T1"]).done().exit, 2);
    assert_eq!(sandbox.comity().args(&["--url", "http://x", "status"]).done().exit, 2);
}

#[test]
fn help_and_version_go_to_stdout() {
    let sandbox = Sandbox::without_git();
    for args in [&["help"][..], &["--help"], &["task", "create", "--help"], &["help", "lease"]] {
        let done = sandbox.comity().args(args).done();
        assert_eq!((done.exit, done.stderr.as_str()), (0, ""), "{args:?}");
        assert!(done.stdout.contains("Example:"), "{args:?}");
    }
    let version = sandbox.comity().args(&["--version"]).done();
    assert!(version.stdout.starts_with("comity "), "{version:?}");
    let nothing = sandbox.comity().done();
    assert_eq!((nothing.exit, nothing.stdout.as_str()), (2, ""));
}

#[test]
fn completions_know_the_commands() {
    let sandbox = Sandbox::without_git();
    for shell in ["bash", "zsh", "fish"] {
        let done = sandbox.comity().args(&["completions", shell]).done();
        assert_eq!(done.exit, 0);
        assert!(done.stdout.contains("request-changes"), "{shell}");
    }
    let json = sandbox.json(&["completions", "bash"]);
    assert_eq!(json["shell"], "bash");
    // Also those that `help` is asked about.
    let script = json["script"].as_str().unwrap();
    assert!(
        script.contains("help,task)") && script.contains("help__subcmd__task,claim)"),
        "{script}"
    );
}

#[test]
fn the_help_of_the_whole_is_as_recorded() {
    let sandbox = Sandbox::without_git();
    let call = |args: &[&str]| sandbox.comity().env("COLUMNS", "80").args(args).done().stdout;
    insta::assert_snapshot!("help", call(&["--help"]));
    insta::assert_snapshot!("help_task", call(&["task", "--help"]));
    insta::assert_snapshot!("help_task_claim", call(&["task", "claim", "--help"]));
}
