//! `comity init` registers comity with agent clients and git, and takes it out again.

use crate::sandbox::Sandbox;
use std::os::unix::fs::PermissionsExt;

#[test]
fn init_registers_the_clients_that_are_named_and_remove_restores_every_byte() {
    let sandbox = Sandbox::new();
    sandbox.write(".mcp.json", "{\"mcpServers\": {}}");
    sandbox.write("AGENTS.md", "# Mine");
    sandbox.commit(&sandbox.root, "Mine");
    let dry = sandbox.json(&["init", "--clients", "claude,codex", "--dry-run"]);
    assert_eq!(dry["files"]["changed"], serde_json::json!([".mcp.json", "AGENTS.md"]));
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--porcelain"]), "");
    let done = sandbox.json(&["init", "--clients", "claude,codex"]);
    assert_eq!(done["files"]["created"], dry["files"]["created"]);
    assert_eq!(
        done["hooks"]["installed"],
        serde_json::json!(["pre-commit", "commit-msg", "pre-push"])
    );
    let again = sandbox.json(&["init", "--clients", "claude,codex"]);
    assert_eq!(again["files"]["changed"].as_array().unwrap().len(), 0);
    assert_eq!(again["hooks"]["installed"].as_array().unwrap().len(), 0);
    let removed = sandbox.json(&["init", "--remove"]);
    assert_eq!(removed["files"]["left_alone"].as_array().unwrap().len(), 0);
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--porcelain"]), "?? .comity/");
    assert_eq!(sandbox.json(&["task", "create", "x"])["task"]["id"], "T1");
}

#[test]
fn a_client_that_leaves_traces_is_registered_without_being_named() {
    let sandbox = Sandbox::new();
    sandbox.write(".cursor/rules", "x");
    let done = sandbox.comity().env("PATH", "/usr/bin:/bin").args(&["init"]).json();
    assert_eq!(done["clients"], serde_json::json!(["cursor"]));
    assert!(sandbox.root.join(".cursor/mcp.json").exists());
    let (error, exit) = sandbox.comity().args(&["init", "--clients", "emacs"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_rest_is_done() {
    let sandbox = Sandbox::new();
    sandbox.write(".mcp.json", "{ broken");
    let done = sandbox.comity().args(&["init", "--clients", "claude", "--json"]).done();
    assert_eq!(done.exit, 3);
    assert!(done.stdout.contains("\"path\":\".mcp.json\""), "{}", done.stdout);
    assert!(sandbox.root.join(".claude/settings.json").exists());
    assert_eq!(std::fs::read_to_string(sandbox.root.join(".mcp.json")).unwrap(), "{ broken");
}

#[test]
fn an_agents_commit_to_anothers_file_is_stopped_and_a_persons_is_told() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/hooks/pre-commit", "#!/bin/sh\necho mine ran >&2\n");
    let own = sandbox.root.join(".git/hooks/pre-commit");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.json(&["init", "--clients", "claude"]);
    sandbox.comity().by("bob").args(&["lease", "acquire", "src/"]).json();
    sandbox.write("src/a.rs", "x\n");
    sandbox.git(&sandbox.root, &["add", "src"]);
    let commit = |agent: &str| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x"]);
        command.current_dir(&sandbox.root).env_remove("COMITY_AGENT").env_remove("CLAUDECODE");
        if !agent.is_empty() {
            command.env("COMITY_AGENT", agent);
        }
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (done, said) = commit("eve");
    assert!(!done && said.contains("mine ran") && said.contains("leased to bob"), "{said}");
    let (done, said) = commit("bob");
    assert!(done, "{said}");
    sandbox.write("src/a.rs", "y\n");
    sandbox.git(&sandbox.root, &["add", "src"]);
    let (done, said) = commit("");
    assert!(done && said.contains("warning: src/a.rs"), "{said}");
}
