//! What an agent client's hooks are told: the write of a file that another one has leased does not happen.

use crate::sandbox::{Done, Sandbox};
use serde_json::{Value, json};

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["init", "--clients", "none"]);
    sandbox
}

/// Calls the hook as Claude Code would, in a session.
fn hook(sandbox: &Sandbox, session: &str, event: &str, tool: &str, input: &Value) -> Done {
    let text = json!({"session_id": session, "cwd": sandbox.root, "hook_event_name": event,
        "tool_name": tool, "tool_input": input});
    let call =
        sandbox.comity().env("CLAUDECODE", "1").args(&["guard", "hook", "--client", "claude"]);
    call.stdin(&text.to_string()).done()
}

fn edit(sandbox: &Sandbox, session: &str, file: &str) -> Done {
    hook(sandbox, session, "PreToolUse", "Edit", &json!({"file_path": file}))
}

fn bash(sandbox: &Sandbox, session: &str, event: &str) -> Done {
    hook(sandbox, session, event, "Bash", &json!({"command": "make"}))
}

#[test]
fn a_free_file_is_leased_to_who_writes_it_first_and_denied_to_the_next() {
    let sandbox = project();
    let first = edit(&sandbox, "aaaaaaaa-1", &sandbox.root.join("src/a.rs").display().to_string());
    assert_eq!((first.exit, first.stdout.as_str(), first.stderr.as_str()), (0, "", ""));
    let leases = sandbox.json(&["lease", "list"]);
    assert_eq!(leases["leases"][0]["path"], "src/a.rs");
    assert_eq!(leases["leases"][0]["owner"], "claude-code:aaaaaaa1");
    let again = edit(&sandbox, "aaaaaaaa-1", "src/../src/a.rs");
    assert_eq!(again.exit, 0, "{}", again.stderr);
    let other = edit(&sandbox, "bbbbbbbb-2", "src/a.rs");
    assert_eq!((other.exit, other.stdout.as_str()), (2, ""));
    assert!(
        other.stderr.contains("src/a.rs is leased to claude-code:aaaaaaa1"),
        "{}",
        other.stderr
    );
    assert!(other.stderr.chars().count() <= 420);
    let events = sandbox.json(&["event", "list", "--type", "write_refused"]);
    assert_eq!(events["events"][0]["path"], "src/a.rs");
    assert_eq!(sandbox.json(&["lease", "list"])["leases"].as_array().unwrap().len(), 1);
}

#[test]
fn a_patch_is_allowed_as_a_whole_or_not_at_all() {
    let sandbox = project();
    sandbox.comity().by("bob").args(&["lease", "acquire", "lib/"]).json();
    let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: lib/a.rs\n*** End Patch";
    let input = json!({"command": patch});
    let done = hook(&sandbox, "s-11111111", "PreToolUse", "apply_patch", &input);
    assert_eq!(done.exit, 2);
    assert_eq!(sandbox.json(&["lease", "list"])["leases"].as_array().unwrap().len(), 1);
    let shell = json!({"command": format!("apply_patch <<'E'\n{patch}\nE\n")});
    assert_eq!(hook(&sandbox, "s-11111111", "PreToolUse", "Bash", &shell).exit, 2);
}

#[test]
fn protected_files_are_written_only_for_a_task_that_declares_them() {
    let sandbox = project();
    assert_eq!(edit(&sandbox, "s-11111111", ".comity/config.toml").exit, 2);
    sandbox.json(&["task", "create", "Settings", "--file", ".comity/config.toml"]);
    sandbox.comity().by("claude-code:11111111").args(&["task", "claim"]).json();
    let done = edit(&sandbox, "s-11111111", ".comity/config.toml");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let outside = sandbox.outside().join("elsewhere.txt").display().to_string();
    assert_eq!(edit(&sandbox, "s-11111111", &outside).exit, 0);
}

#[test]
fn what_a_shell_command_wrote_on_anothers_files_is_told_and_noted() {
    let sandbox = project();
    sandbox.write("src/a.rs", "one\n");
    sandbox.write("src/b.rs", "one\n");
    sandbox.commit(&sandbox.root, "Two files");
    sandbox.comity().by("bob").args(&["lease", "acquire", "src/a.rs"]).json();
    assert_eq!(bash(&sandbox, "s-11111111", "PreToolUse").exit, 0);
    sandbox.write("src/a.rs", "two\n");
    sandbox.write("src/b.rs", "two\n");
    let done = bash(&sandbox, "s-11111111", "PostToolUse");
    assert_eq!(done.exit, 0);
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    let told = &told["hookSpecificOutput"];
    assert_eq!(told["hookEventName"], "PostToolUse");
    let text = told["additionalContext"].as_str().unwrap();
    assert!(text.contains("src/a.rs (bob)") && !text.contains("src/b.rs"), "{text}");
    assert_eq!(
        sandbox.json(&["event", "list", "--type", "write_seen"])["events"][0]["holder"],
        "bob"
    );
    assert_eq!(bash(&sandbox, "s-11111111", "PostToolUse").stdout, "");
    sandbox.git(&sandbox.root, &["checkout", "--quiet", "--", "src/a.rs"]);
    let back = bash(&sandbox, "s-11111111", "PostToolUse");
    assert_eq!(back.stdout, "", "whoever puts a file back did what it was told to do");
    sandbox.write("src/a.rs", "two\n");
    let failed = bash(&sandbox, "s-11111111", "PostToolUseFailure");
    assert!(failed.stdout.contains("PostToolUseFailure"), "{}", failed.stdout);
}

#[test]
fn a_guard_that_cannot_answer_says_no_before_a_tool_and_nothing_after_it() {
    let sandbox = project();
    let call = || sandbox.comity().args(&["guard", "hook", "--client", "codex"]);
    for text in ["", "{", "{}"] {
        assert_eq!(call().stdin(text).done().exit, 2, "{text:?}");
    }
    sandbox.write(".comity/config.toml", "[guard]\nleases = 'perhaps'\n");
    let done = edit(&sandbox, "s-11111111", "x.rs");
    assert_eq!(done.exit, 2);
    assert!(done.stderr.contains("the guard cannot answer"), "{}", done.stderr);
    for event in ["PostToolUse", "Stop", "SessionEnd"] {
        let done = bash(&sandbox, "s-11111111", event);
        assert_eq!((done.exit, done.stdout.as_str()), (0, ""), "{event}");
    }
    let plain = Sandbox::without_git();
    assert_eq!(edit(&plain, "s-11111111", "x.rs").exit, 0);
    let git_only = Sandbox::new();
    assert_eq!(edit(&git_only, "s-11111111", "x.rs").exit, 0);
    assert!(!git_only.root.join(".git/comity").exists());
}

#[test]
fn a_store_that_is_gone_means_no_and_is_not_made_anew() {
    let sandbox = project();
    std::fs::remove_dir_all(sandbox.root.join(".git/comity")).unwrap();
    let before = edit(&sandbox, "aaaaaaaa-1", "src/a.rs");
    assert_eq!(before.exit, 2);
    assert!(before.stderr.contains("there is no store at"), "{}", before.stderr);
    assert_eq!(bash(&sandbox, "aaaaaaaa-1", "PostToolUse").exit, 0);
    assert!(!sandbox.root.join(".git/comity/comity.db").exists());
    // Where comity was never set up, it has nothing to say.
    std::fs::remove_dir_all(sandbox.root.join(".comity")).unwrap();
    assert_eq!(edit(&sandbox, "aaaaaaaa-1", "src/a.rs").exit, 0);
}

#[test]
fn a_setting_says_whether_free_files_are_leased() {
    let sandbox = project();
    sandbox.write(".comity/config.toml", "[guard]\nleases = \"required\"\n");
    let done = edit(&sandbox, "s-11111111", "x.rs");
    assert_eq!(done.exit, 2);
    assert!(done.stderr.contains("comity lease acquire x.rs"), "{}", done.stderr);
    sandbox.write(".comity/config.toml", "[guard]\nleases = \"off\"\n");
    assert_eq!(edit(&sandbox, "s-11111111", "x.rs").exit, 0);
    sandbox.write(".comity/config.toml", "[guard]\nlease_mode = \"shared\"\n");
    assert_eq!(edit(&sandbox, "s-11111111", "x.rs").exit, 0);
    assert_eq!(sandbox.json(&["lease", "list"])["leases"][0]["mode"], "shared");
    let other = edit(&sandbox, "t-22222222", "x.rs");
    assert_eq!(other.exit, 0, "shared leases stand beside each other: {}", other.stderr);
    assert_eq!(edit(&sandbox, "s-11111111", "x.rs").exit, 0);
}

#[test]
fn where_undeclared_files_are_refused_a_file_of_no_task_is_leased_on_purpose_first() {
    let sandbox = project();
    sandbox.write(".comity/config.toml", "[guard]\nundeclared = \"refuse\"\n");
    assert_eq!(edit(&sandbox, "s-11111111", "src/b.rs").exit, 0, "it holds no task");
    sandbox.json(&["task", "create", "One file", "--file", "src/a.rs"]);
    sandbox.comity().by("claude-code:11111111").args(&["task", "claim"]).json();
    assert_eq!(edit(&sandbox, "s-11111111", "src/a.rs").exit, 0);
    let done = edit(&sandbox, "s-11111111", "src/c.rs");
    assert_eq!(done.exit, 2);
    assert!(done.stderr.contains("T1 does not declare src/c.rs"), "{}", done.stderr);
    let take = ["lease", "acquire", "src/c.rs", "--task", "T1"];
    sandbox.comity().by("claude-code:11111111").args(&take).json();
    assert_eq!(edit(&sandbox, "s-11111111", "src/c.rs").exit, 0);
}

#[test]
fn a_file_whose_name_no_pattern_can_spell_stops_no_command_and_no_commit() {
    let sandbox = project();
    sandbox.write("a\tb\\c", "one\n");
    sandbox.write("[x].rs", "one\n");
    for _ in 0..2 {
        for event in ["PreToolUse", "PostToolUse"] {
            let done = bash(&sandbox, "s-11111111", event);
            assert_eq!((done.exit, done.stdout.as_str()), (0, ""), "{}", done.stderr);
        }
        sandbox.write("a\tb\\c", "two\n");
        sandbox.comity().by("bob").args(&["lease", "acquire", "d/"]).json();
    }
    sandbox.git(&sandbox.root, &["add", "--all"]);
    sandbox.comity().by("ada").args(&["guard", "commit"]).json();
}

#[test]
fn what_the_holder_does_in_the_same_work_tree_is_the_holders() {
    let sandbox = project();
    sandbox.write("src/a.rs", "one\n");
    sandbox.commit(&sandbox.root, "A file");
    let holder = |event: &str| {
        hook(&sandbox, "b-22222222", event, "Edit", &json!({"file_path": "src/a.rs"}))
    };
    assert_eq!(holder("PreToolUse").exit, 0, "leased to who writes first");
    assert_eq!(holder("PostToolUse").exit, 0);
    // An edit of the holder begins and ends while the other one's command runs, and one more is still open.
    assert_eq!(bash(&sandbox, "s-11111111", "PreToolUse").exit, 0);
    holder("PreToolUse");
    sandbox.write("src/a.rs", "two\n");
    holder("PostToolUse");
    assert_eq!(bash(&sandbox, "s-11111111", "PostToolUse").stdout, "");
    holder("PreToolUse");
    assert_eq!(bash(&sandbox, "s-11111111", "PreToolUse").exit, 0);
    sandbox.write("src/a.rs", "three\n");
    assert_eq!(bash(&sandbox, "s-11111111", "PostToolUse").stdout, "");
    holder("PostToolUse");
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(bash(&sandbox, "s-11111111", "PreToolUse").exit, 0);
    sandbox.write("src/a.rs", "four\n");
    let told = bash(&sandbox, "s-11111111", "PostToolUse").stdout;
    assert!(told.contains("src/a.rs"), "nobody else was at work: {told:?}");
}

#[test]
fn a_refusal_is_noted_once_a_minute_and_the_end_of_a_turn_notes_what_was_written() {
    let sandbox = project();
    sandbox.comity().by("bob").args(&["lease", "acquire", "src/"]).json();
    for _ in 0..3 {
        assert_eq!(edit(&sandbox, "s-11111111", "src/a.rs").exit, 2);
    }
    assert_eq!(edit(&sandbox, "s-11111111", "src/b.rs").exit, 2);
    assert_eq!(edit(&sandbox, "t-33333333", "src/a.rs").exit, 2);
    let count = |name: &str| {
        let events = sandbox.json(&["event", "list", "--type", name]);
        events["events"].as_array().unwrap().len()
    };
    assert_eq!(count("write_refused"), 3);
    assert_eq!(bash(&sandbox, "s-11111111", "PreToolUse").exit, 0);
    sandbox.write("src/a.rs", "written\n");
    let done = bash(&sandbox, "s-11111111", "Stop");
    assert_eq!((done.exit, done.stdout.as_str()), (0, ""));
    assert_eq!(count("write_seen"), 1);
    let broken = "{\"hook_event_name\": \"Stop\", ";
    let call = sandbox.comity().args(&["guard", "hook", "--client", "codex"]).stdin(broken).done();
    assert_eq!(call.exit, 0, "a client may repeat a turn for ever");
}

#[test]
fn only_leases_that_came_by_themselves_count_towards_their_bound() {
    let sandbox = project();
    let of_agent = |args: &[&str]| sandbox.comity().by("claude-code:s1111111").args(args).json();
    let names: Vec<String> = (0..200).map(|n| format!("own/{n}.rs")).collect();
    let acquire: Vec<&str> =
        ["lease", "acquire"].into_iter().chain(names.iter().map(String::as_str)).collect();
    of_agent(&acquire);
    let done = edit(&sandbox, "s-1111111", "src/a.rs");
    assert_eq!((done.exit, done.stdout.as_str()), (0, ""), "{}", done.stderr);
    let leases = sandbox.json(&["lease", "check", "src/a.rs"]);
    let holder = &leases["paths"][0]["conflicts"][0]["held"]["owner"];
    assert_eq!(holder, "claude-code:s1111111", "{leases}");
}

#[test]
fn a_clone_that_names_the_root_is_guarded_as_its_work_tree() {
    let sandbox = project();
    sandbox.write("src/a.rs", "one\n");
    sandbox.commit(&sandbox.root, "A file");
    let clone = sandbox.outside().join("clone");
    let (from, to) = (sandbox.root.display().to_string(), clone.display().to_string());
    sandbox.git(&sandbox.root, &["clone", "--quiet", &from, &to]);
    sandbox.git(&clone, &["config", "comity.root", &from]);
    sandbox.comity().by("bob").args(&["lease", "acquire", "src/a.rs"]).json();
    let hook = |event: &str, tool: &str, input: &Value| {
        let text = json!({"session_id": "s-1111111", "cwd": clone, "hook_event_name": event,
            "tool_name": tool, "tool_input": input});
        let call = sandbox.comity().at(&clone).args(&["guard", "hook", "--client", "claude"]);
        call.stdin(&text.to_string()).done()
    };
    for file in ["src/a.rs".to_owned(), clone.join("src/a.rs").display().to_string()] {
        let denied = hook("PreToolUse", "Edit", &json!({"file_path": file}));
        assert_eq!(denied.exit, 2, "{file}");
        assert!(denied.stderr.contains("src/a.rs is leased to bob"), "{}", denied.stderr);
    }
    let free = clone.join("src/b.rs").display().to_string();
    assert_eq!(hook("PreToolUse", "Write", &json!({"file_path": free})).exit, 0);
    let leases = sandbox.json(&["lease", "list"]);
    let paths: Vec<&Value> =
        leases["leases"].as_array().unwrap().iter().map(|lease| &lease["path"]).collect();
    assert!(paths.contains(&&json!("src/b.rs")), "{leases}");
    let shell = json!({"command": "make"});
    assert_eq!(hook("PreToolUse", "Bash", &shell).exit, 0);
    std::fs::write(clone.join("src/a.rs"), "two\n").unwrap();
    let told = hook("PostToolUse", "Bash", &shell);
    assert!(told.stdout.contains("src/a.rs (bob)"), "{}", told.stdout);
}

#[test]
fn input_that_never_ends_means_no_before_a_tool_and_nothing_at_other_moments() {
    let sandbox = project();
    let mut running: Vec<(&str, i32, std::process::Child)> = Vec::new();
    for (said, exit) in [
        ("{\"hook_event_name\": \"Stop\", ", 0),
        ("{\"hook_event_name\": \"PostToolUse\", \"tool_name\": \"Ba", 0),
        ("{\"hook_event_name\": \"PreToolUse\", \"cwd\": \"/Stop", 2),
        ("{\"session_id\": \"", 2),
    ] {
        let call = sandbox.comity().args(&["guard", "hook", "--client", "codex"]);
        let mut child = call.piped().spawn();
        let stdin = child.stdin.as_mut().unwrap();
        std::io::Write::write_all(stdin, said.as_bytes()).unwrap();
        running.push((said, exit, child));
    }
    for (said, exit, mut child) in running {
        // Its input stays open until it has ended by itself.
        let stdin = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(exit), "{said}");
        drop(stdin);
    }
}
