//! RULES section 1: who acts.

use crate::sandbox::{Done, Sandbox, Terminal};

#[test]
fn rule_1_without_a_terminal_a_script_acts() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["status"])["me"], "script:tester");
}

#[test]
fn rule_1_as_beats_the_environment_which_beats_a_marker() {
    let sandbox = Sandbox::new();
    let claude = |call: crate::sandbox::Call| {
        call.env("CLAUDECODE", "1")
            .env("CLAUDE_CODE_SESSION_ID", "019a92c4-5b1e-7c30-9d6f-1f4b8a2c7e01")
    };
    let me = |call: crate::sandbox::Call| call.args(&["status"]).json()["me"].clone();
    assert_eq!(me(claude(sandbox.comity())), "claude-code:8a2c7e01");
    assert_eq!(me(claude(sandbox.comity().by("ada"))), "ada");
    assert_eq!(me(claude(sandbox.comity().by("ada").args(&["--as", "bob"]))), "bob");
    let gemini = me(sandbox.comity().env("GEMINI_CLI", "1"));
    assert!(gemini.as_str().unwrap().starts_with("gemini"), "{gemini}");
    assert_eq!(me(sandbox.comity().env("GEMINI_CLI", "1")), gemini, "one process, one agent");
}

#[test]
fn whoami_says_who_why_and_what_is_held() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--file", "src/"]);
    sandbox.comity().by("ada").args(&["task", "claim", "1"]).json();
    let ada = sandbox.comity().by("ada").args(&["whoami"]).json();
    assert_eq!((&ada["me"], &ada["roles"][0]), (&"ada".into(), &"implementer".into()));
    assert_eq!(ada["holds"], serde_json::json!({"tasks": ["T1"], "leases": ["L1"]}));
    assert_eq!(ada["why"], "COMITY_AGENT names you");
    let session = "019a92c4-5b1e-7c30-9d6f-1f4b8a2c7e01";
    let call = sandbox.comity().env("CLAUDE_CODE_SESSION_ID", session).args(&["whoami"]);
    let client = call.json();
    assert_eq!(client["me"], "claude-code:8a2c7e01");
    assert_eq!(client["why"], "CLAUDE_CODE_SESSION_ID is set, which claude-code does");
    assert_eq!(client["via"]["session"], session);
    assert_eq!(client["holds"]["tasks"], serde_json::json!([]));
    assert_eq!(
        sandbox.screen(&["whoami"]),
        "You are script:tester: there is no terminal, and no agent client runs you.\n  roles   implementer\n"
    );
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
        let taken_for = error["details"]["taken_for"].as_str().unwrap();
        assert!(error["message"].as_str().unwrap().contains(taken_for), "{error}");
    }
    assert_eq!(sandbox.json(&["status", "--as", "human:ann"])["me"], "human:ann");
}

/// `script` gives its command a terminal on all three streams, and the command takes two of them away again.
#[test]
fn rule_1_2_a_terminal_on_one_stream_is_enough_for_a_person() {
    let sandbox = Sandbox::new();
    let comity = env!("CARGO_BIN_EXE_comity");
    for streams in ["</dev/null 2>err >out", "2>err >out", "</dev/null >out", "</dev/null 2>err"] {
        let line = format!("{comity} status --json {streams}");
        let mut script = std::process::Command::new("script");
        script.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("USER", "tester");
        script.current_dir(&sandbox.root).args(["-qec", &line, "typescript"]);
        script.stdin(std::process::Stdio::null());
        let Ok(done) = script.output() else { return };
        let file = if streams.contains(">out") { "out" } else { "typescript" };
        let said = std::fs::read_to_string(sandbox.root.join(file)).unwrap();
        let person = streams != "</dev/null 2>err >out";
        assert_eq!(said.contains("human:tester"), person, "{streams}: {said} {done:?}");
    }
}

#[test]
fn a_name_under_which_comity_acts_is_given_to_nobody() {
    let sandbox = Sandbox::new();
    for args in [
        &["agent", "register", "supervisor", "--role", "implementer"][..],
        &["agent", "register", "worker:one", "--role", "planner"],
        &["token", "create", "--agent", "supervisor"],
        &["token", "create", "--agent", "worker:one"],
        &["token", "create", "--agent", "watchdog", "--role", "watchdog"],
    ] {
        let (error, exit) = sandbox.comity().by("human:ann").args(args).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{args:?}: {error}");
    }
}

#[test]
fn rule_1_6_events_say_which_session_they_came_from_whoever_acts() {
    let sandbox = Sandbox::new();
    let note = ["note", "progress", "hello"];
    let session = "019a92c4-5b1e-7c30-9d6f-1f4b8a2c7e01";
    sandbox.comity().env("CODEX_THREAD_ID", session).by("ada").args(&note).json();
    sandbox.comity().args(&note).json();
    let listed = sandbox.json(&["event", "list", "--type", "note"]);
    let via = |index: usize| listed["events"][index]["via"].clone();
    assert_eq!((&via(0)["client"], &via(0)["session"]), (&"codex".into(), &session.into()));
    assert_eq!((&via(1)["client"], &via(1)["login"]), (&serde_json::Value::Null, &"tester".into()));
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn two_agents_under_one_id_at_two_terminals_are_both_told() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--file", "src/"]);
    sandbox.json(&["task", "create", "Parse times"]);
    let (one, two) = (Terminal::new(80), Terminal::new(80));
    let at = |terminal: &Terminal, args: &[&str]| -> Done {
        sandbox.comity().by("ada").at_terminal(terminal).args(args).done()
    };
    let told = |done: &Done| done.stderr.contains("ada also works on T1 from terminal /dev/");
    let first = at(&one, &["task", "claim", "T1"]);
    assert!(first.exit == 0 && !told(&first), "{first:?}");
    let second = at(&two, &["task", "start", "T1"]);
    assert!(second.exit == 0 && told(&second), "the second at its command: {second:?}");
    assert!(second.stderr.contains("give each an id of its own (COMITY_AGENT)"), "{second:?}");
    let again = at(&two, &["lease", "acquire", "docs/"]);
    assert!(again.exit == 0 && !told(&again), "one is told once: {again:?}");
    for terminal in [&one, &two] {
        assert!(told(&at(terminal, &["whoami"])), "whoami says it to both");
    }
    let refused = at(&one, &["task", "claim", "T1"]);
    assert!(refused.exit != 0 && told(&refused), "a refusal says it, too: {refused:?}");
    let process = sandbox.comity().by("ada").args(&["lease", "acquire", "etc/"]).done();
    assert!(process.exit == 0 && !told(&process), "a process without a terminal: {process:?}");
    let next = at(&one, &["task", "release", "T1"]);
    assert!(next.exit == 0 && told(&next), "the first at its next command: {next:?}");
    assert!(!told(&at(&two, &["task", "claim", "T2"])), "nothing is held by both any more");
}

#[test]
fn a_person_at_two_terminals_is_one_person() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    let (one, two) = (Terminal::new(80), Terminal::new(80));
    for (terminal, verb) in [(&one, "claim"), (&two, "start"), (&one, "release")] {
        let call = sandbox.comity().by("human:ann").at_terminal(terminal);
        let done = call.args(&["task", verb, "T1"]).done();
        assert!(done.exit == 0 && !done.stderr.contains("also works"), "{done:?}");
    }
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
