//! What people see, at 80 columns.

use crate::sandbox::Sandbox;

/// A project with a bit of everything.
fn busy() -> Sandbox {
    let sandbox = Sandbox::new();
    let by = |agent: &str, args: &[&str]| sandbox.comity().by(agent).args(args).json();
    by("human:ann", &["agent", "register", "cleo", "--role", "critic", "--skill", "rust"]);
    by(
        "human:ann",
        &[
            "task",
            "create",
            "Parse dates",
            "--priority",
            "high",
            "--file",
            "src/date/**",
            "--gate",
            "tests",
            "--gate",
            "review",
            "--dod",
            "leap years work",
            "--dod",
            "documented",
            "--label",
            "rust",
            "--require",
            "no panics",
            "--description",
            "Dates come in three forms.\n\n- ISO 8601, with and without an offset, and this line is longer than eighty columns\n- RFC 2822",
            "--max-files",
            "5",
            "--no-new-deps",
            "--context",
            "depth=3",
        ],
    );
    by("human:ann", &["task", "create", "Print dates", "--depends-on", "T1"]);
    by(
        "human:ann",
        &[
            "task",
            "create",
            "Write the manual, with a chapter on 日本語 dates and a title that goes on for far too long",
        ],
    );
    by("ada", &["task", "claim", "T1"]);
    by("ada", &["task", "start", "T1"]);
    by("ada", &["task", "subtask", "T1", "start", "write the tests"]);
    by("ada", &["task", "check", "T1", "1"]);
    by("bob", &["lease", "acquire", "docs/", "--shared"]);
    by(
        "bob",
        &[
            "decision",
            "ask",
            "Which calendar do we follow?",
            "--option",
            "iso:ISO 8601",
            "--option",
            "local",
            "--default",
            "iso",
            "--expires",
            "2h",
            "--context",
            "Both are in use.",
        ],
    );
    sandbox
}

#[test]
fn an_empty_project_says_what_to_do_first() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("status_empty", sandbox.screen(&["status"]));
    insta::assert_snapshot!("task_list_empty", sandbox.screen(&["task", "list"]));
    insta::assert_snapshot!("init", sandbox.screen(&["init"]));
}

#[test]
fn a_busy_project_is_seen_at_a_glance() {
    let sandbox = busy();
    insta::assert_snapshot!("status", sandbox.screen(&["status"]));
    insta::assert_snapshot!("task_list", sandbox.screen(&["task", "list"]));
    insta::assert_snapshot!("task_show", sandbox.screen(&["task", "show", "T1"]));
    insta::assert_snapshot!("task_why", sandbox.screen(&["task", "why", "T2"]));
    insta::assert_snapshot!("lease_list", sandbox.screen(&["lease", "list"]));
    insta::assert_snapshot!(
        "lease_check",
        sandbox.screen(&["lease", "check", "src", "docs/a.md", "x"])
    );
    insta::assert_snapshot!("agent_list", sandbox.screen(&["agent", "list"]));
    insta::assert_snapshot!("agent_show", sandbox.screen(&["agent", "show", "cleo"]));
    insta::assert_snapshot!(
        "agent_suggest",
        sandbox.screen(&["agent", "suggest", "--label", "rust"])
    );
    insta::assert_snapshot!("gate_list", sandbox.screen(&["gate", "list", "T1"]));
    insta::assert_snapshot!("decision_list", sandbox.screen(&["decision", "list"]));
    insta::assert_snapshot!("decision_show", sandbox.screen(&["decision", "show", "D1"]));
    insta::assert_snapshot!("event_list", sandbox.screen(&["event", "list"]));
    insta::assert_snapshot!("log_verify", sandbox.screen(&["log", "verify"]));
}

#[test]
fn a_claim_shows_the_next_steps() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--file", "src/**", "--gate", "tests"]);
    insta::assert_snapshot!("task_claim", sandbox.screen(&["task", "claim"]));
}

#[test]
fn refusals_say_why_and_what_to_do_next() {
    let sandbox = busy();
    insta::assert_snapshot!("refused_lease", sandbox.screen(&["lease", "acquire", "src/*/a.rs"]));
    insta::assert_snapshot!("refused_claim", sandbox.screen(&["task", "claim", "T2"]));
    insta::assert_snapshot!("refused_missing", sandbox.screen(&["task", "show", "T9"]));
    insta::assert_snapshot!("refused_approve", sandbox.screen(&["task", "approve", "T1"]));
}

#[test]
fn where_nobody_looks_lists_are_tabs_without_headings() {
    let sandbox = busy();
    let done = sandbox.comity().args(&["task", "list"]).done();
    insta::assert_snapshot!("task_list_piped", sandbox.normal(&done.stdout));
    assert!(!done.stdout.contains('\u{1b}'));
}

#[test]
fn hostile_text_does_not_steer_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "x", "--description", "a\u{202e}b\nc"]);
    sandbox.json(&["note", "progress", "tab\there \u{2066}x"]);
    for args in [&["task", "show", "T1"][..], &["event", "list"]] {
        let out = sandbox.screen(args);
        assert!(!out.contains(['\u{202e}', '\u{2066}', '\u{1b}']), "{out:?}");
    }
}
