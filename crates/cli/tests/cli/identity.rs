//! RULES section 1: who acts.

use crate::sandbox::Sandbox;

#[test]
fn rule_1_without_a_terminal_a_script_acts() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["status"])["me"], "script:tester");
}

#[test]
fn rule_1_as_beats_the_environment_which_beats_a_marker() {
    let sandbox = Sandbox::new();
    let claude = |call: crate::sandbox::Call| {
        call.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", "3f2a91bc-0001")
    };
    let me = |call: crate::sandbox::Call| call.args(&["status"]).json()["me"].clone();
    assert_eq!(me(claude(sandbox.comity())), "claude-code:3f2a91bc");
    assert_eq!(me(claude(sandbox.comity().by("ada"))), "ada");
    assert_eq!(me(claude(sandbox.comity().by("ada").args(&["--as", "bob"]))), "bob");
    assert_eq!(me(sandbox.comity().env("GEMINI_CLI", "1")), "gemini-cli");
}

#[test]
fn rule_1_with_a_marker_present_a_person_is_refused_also_when_asked_for() {
    let sandbox = Sandbox::new();
    let by_option =
        sandbox.comity().env("CODEX_SANDBOX", "x").args(&["--as", "human:ann", "status"]);
    let by_variable = sandbox.comity().env("OPENCODE", "1").by("human:ann").args(&["task", "list"]);
    for call in [by_option, by_variable] {
        let (error, exit) = call.refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("human-only"), 3));
    }
    assert_eq!(sandbox.json(&["status", "--as", "human:ann"])["me"], "human:ann");
}

#[test]
fn rule_1_an_implementer_gives_no_roles_and_a_person_does() {
    let sandbox = Sandbox::new();
    let args = ["agent", "register", "eve", "--role", "critic"];
    let (error, exit) = sandbox.comity().by("eve").args(&args).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("role-forbidden"), 3));
    let agent = sandbox.comity().by("human:ann").args(&args).json();
    assert_eq!(agent["agent"]["roles"], serde_json::json!(["critic"]));
}

#[test]
fn registration_may_be_required() {
    let sandbox = Sandbox::new();
    sandbox.write(".comity/config.toml", "[agents]\nregistration = \"required\"\n");
    let (_, exit) = sandbox.comity().by("eve").args(&["task", "create", "x"]).refusal();
    assert_eq!(exit, 3);
    sandbox.comity().by("human:ann").args(&["agent", "register", "eve"]).json();
    sandbox.comity().by("eve").args(&["task", "create", "x"]).json();
}
