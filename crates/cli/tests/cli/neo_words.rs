//! What neo's commands say, under keys, for programs, and in the name of neo's agents.

use crate::sandbox::{Done, Sandbox};
use serde_json::{Value, json};

fn neo(sandbox: &Sandbox, who: &str, args: &[&str]) -> Done {
    sandbox.comity().by(who).args(&["neo"]).args(args).done()
}

#[test]
fn a_key_stands_for_all_steps_of_a_command() {
    let sandbox = Sandbox::new();
    let log =
        |text: &str| neo(&sandbox, "dev", &["log", "discovery", text, "--idempotency-key", "k1"]);
    assert_eq!((log("found A").exit, log("found A").exit), (0, 0));
    assert_eq!(sandbox.json(&["memory", "list"])["memories"].as_array().unwrap().len(), 1);
    assert!(log("found B").stderr.contains("key"), "another input under the same key");
    neo(&sandbox, "dev", &["task", "create", "one"]);
    let update = |key: &str| {
        let done = neo(
            &sandbox,
            "dev",
            &["task", "update", "T1", "--status", "done", "--idempotency-key", key],
        );
        (done.exit, done.stdout)
    };
    let first = update("k2");
    assert_eq!(first, (0, "✓ Task updated: T1 → in review\n".to_owned()), "and not in_progress");
    let head = sandbox.head();
    assert_eq!(update("k2"), first, "the first answer again");
    assert_eq!(sandbox.head(), head);
    neo(&sandbox, "dev", &["task", "create", "two"]);
    let review = neo(&sandbox, "dev", &["task", "update", "T2", "--status", "in review"]);
    assert_eq!(
        review.stdout, "✓ Task updated: T2 → in review\n",
        "the tracker's words are taken, too"
    );
    assert_eq!(sandbox.json(&["task", "show", "T2"])["task"]["status"], "review");
}

#[test]
fn a_refused_update_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    neo(&sandbox, "sup", &["task", "create", "one"]);
    neo(&sandbox, "sup", &["task", "update", "T1", "--status", "in_progress"]);
    let args = ["task", "update", "T1", "--status", "blocked", "--context", "cat notes"];
    let done = neo(&sandbox, "other", &args);
    assert_eq!(done.exit, 1, "{}", done.stderr);
    let task = &sandbox.json(&["task", "show", "T1"])["task"];
    assert_eq!((&task["context"], &task["status"]), (&json!({}), &json!("in_progress")));
    assert_eq!(neo(&sandbox, "sup", &args).exit, 0);
    let task = &sandbox.json(&["task", "show", "T1"])["task"];
    assert_eq!(
        (&task["context"]["retrieve"], &task["status"]),
        (&json!("cat notes"), &json!("blocked"))
    );
}

#[test]
fn json_is_neos_after_its_command_and_comitys_before_it_and_errors_are_always_objects() {
    let sandbox = Sandbox::new();
    neo(&sandbox, "arch", &["decision", "create", "Go on?"]);
    let list = neo(&sandbox, "arch", &["decision", "list", "--json"]).stdout;
    assert!(list.starts_with("[\n") && serde_json::from_str::<Value>(&list).unwrap().is_array());
    for args in [&["decision", "list"][..], &["decision", "pending"]] {
        let done = sandbox.comity().args(&["--json", "neo"]).args(args).done();
        assert_eq!(done.stdout.lines().count(), 1);
        assert_eq!(done.json()["decisions"][0]["question"], "Go on?");
    }
    let one = sandbox.comity().args(&["--json", "neo", "decision", "get", "D1"]).done();
    assert_eq!(one.json()["decision"]["question"], "Go on?");
    for (args, code, exit) in [
        (&["decision", "get", "nope", "--json"][..], "not-found", 4),
        (&["decision", "create", "--json"], "invalid-input", 2),
        (&["decision", "create", "q", "-e", "soon", "--json"], "invalid-input", 2),
        (&["decision", "frob", "--json"], "invalid-input", 2),
        (&["memory", "list", "--type", "task", "--json"], "invalid-input", 2),
        (&["logs", "nothing", "--json"], "not-found", 4),
        (&["decision", "create", "Ok?", "-w", "--timeout", "1s", "--json"], "timed-out", 6),
    ] {
        let done = neo(&sandbox, "arch", args);
        let error: Value = serde_json::from_str(&done.stderr).unwrap_or_default();
        assert_eq!(
            (&error["error"]["code"], done.exit),
            (&json!(code), exit),
            "{args:?}: {done:?}"
        );
        assert_eq!(done.stdout, "", "{args:?}");
    }
    let late = neo(&sandbox, "arch", &["decision", "create", "Ok?", "-w", "-e", "1s"]);
    assert!(late.exit == 1 && late.stderr.contains("expired after 1s"), "{}", late.stderr);
}

#[test]
fn usage_and_what_is_not_there_are_said_in_neos_words() {
    let sandbox = Sandbox::new();
    for (args, said) in [
        (&["decision", "create"][..], "✗ Usage: neo decision create <question>"),
        (&["decision", "get"], "✗ Usage: neo decision get <id>\n"),
        (&["decision", "answer", "D1"], "✗ Usage: neo decision answer <id> <answer>\n"),
        (&["directive", "create"], "✗ Usage: neo directive create"),
        (&["directive", "show"], "✗ Usage: neo directive show <id>\n"),
        (&["memory", "write"], "✗ Usage: neo memory write <content>"),
        (&["memory", "search"], "✗ Usage: neo memory search <query>\n"),
        (&["task", "update"], "✗ Usage: neo task update <id>"),
        (
            &["decision", "frob", "x"],
            "✗ Unknown action \"frob\". Must be one of: create, list, get",
        ),
        (&["directive", "frob"], "✗ Unknown action \"frob\". Must be one of: create, list, delete"),
        (&["memory", "frob"], "✗ Unknown action \"frob\". Must be one of: write, forget,"),
        (
            &["decision", "get", "nope"],
            "✗ Decision not found: nope\n  see `comity neo decision list`",
        ),
        (
            &["directive", "show", "nope"],
            "✗ Directive not found: nope\n  see `comity neo directive",
        ),
        (&["memory", "forget", "nope"], "✗ Memory not found: nope\n  see `comity neo memory list`"),
    ] {
        let done = neo(&sandbox, "arch", args);
        assert_eq!((done.exit, done.stdout.as_str()), (1, ""), "{args:?}");
        assert!(done.stderr.starts_with(said), "{args:?}: {}", done.stderr);
    }
    let low = neo(&sandbox, "arch", &["directive", "create", "last", "-p", "-1"]);
    assert!(low.exit == 0 && low.stderr.contains("0 is the lowest"), "{}", low.stderr);
    let shown = neo(&sandbox, "arch", &["log", "blocker", "stuck", "--preview"]).stdout;
    assert!(shown.contains("\"id\": \"") && shown.contains("\"timestamp\": \"20"), "{shown}");
}

#[test]
fn neos_agents_act_in_their_own_name_everywhere_and_never_as_a_person() {
    let sandbox = Sandbox::new();
    let by = |name: &str, args: &[&str]| {
        let call =
            sandbox.comity().env("NEO_AGENT_NAME", name).env("NEO_RUN_ID", "3f2a91bc-1111-2222");
        call.args(&["neo"]).args(args).done()
    };
    assert_eq!(by("architect", &["decision", "create", "Ok?"]).exit, 0);
    let asked = sandbox.json(&["decision", "show", "D1"])["decision"]["asked_by"].clone();
    assert_eq!(asked, "neo:architect:3f2a91bc-1111-2222");
    by("human:ann", &["memory", "write", "alpha one"]);
    let memory = sandbox.json(&["memory", "list"])["memories"][0].clone();
    assert_eq!(memory["source"]["agent"], "neo:humanann:3f2a91bc-1111-2222");
    by("developer", &["memory", "write", "alpha two"]);
    let sources = sandbox.json(&["neo", "memory", "recent"]);
    assert_eq!(sources["memories"][0]["source"], "developer");
    neo(&sandbox, "script:root", &["memory", "write", "mine"]);
    assert_eq!(sandbox.json(&["neo", "memory", "recent"])["memories"][0]["source"], "user");
    by("developer", &["log", "progress", "half"]);
    let logs = |id: &str| neo(&sandbox, "x", &["logs", id]).stdout;
    assert!(logs("3f2a91bc").contains("half") && logs("3f2a91bc-1111-2222").contains("half"));
    assert!(!logs("3f2a91bc-9999-8888").contains("half"), "that is another run");
    let task = neo(&sandbox, "sup", &["task", "create", "one"]).stdout;
    assert!(logs(task.trim_end()).contains("task_created"), "a task by neo's id");
    let by_itself = sandbox.comity().env("NEO_AGENT_NAME", "developer").env("NEO_RUN_ID", "9");
    by_itself.args(&["task", "claim", "T1"]).json();
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!(task["claim"]["agent"], "neo:developer:9", "in every command");
}

#[test]
fn lists_are_in_neos_order_and_form() {
    let sandbox = Sandbox::new();
    for text in ["first", "second"] {
        assert_eq!(neo(&sandbox, "arch", &["directive", "create", text]).exit, 0);
        assert_eq!(neo(&sandbox, "arch", &["memory", "write", text]).exit, 0);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let lines = |args: &[&str]| -> Vec<String> {
        neo(&sandbox, "arch", args).stdout.lines().skip(2).map(str::to_owned).collect()
    };
    let directives = lines(&["directive", "list"]);
    assert!(directives[0].contains("second") && directives[1].contains("first"), "{directives:?}");
    let memories = lines(&["memory", "list"]);
    assert!(memories[0].contains("first") && memories[1].contains("second"), "{memories:?}");
    let recent = lines(&["memory", "recent"]);
    assert!(recent[0].contains("second") && recent[1].contains("first"), "{recent:?}");
    neo(&sandbox, "arch", &["log", "progress", &"x".repeat(61)]);
    let log = lines(&["log"]);
    let words: Vec<&str> = log[0].split_whitespace().collect();
    assert!(words[0].split(':').count() == 3 && ["AM", "PM"].contains(&words[1]), "{log:?}");
    assert!(log[0].ends_with(&format!("  {}...", "x".repeat(59))), "{log:?}");
}

#[test]
fn milestones_of_who_held_the_task_are_its_checkpoints_after_a_crash() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Plan of dates"]);
    let by = |run: &str, args: &[&str]| {
        let call = sandbox.comity().env("NEO_AGENT_NAME", "developer").env("NEO_RUN_ID", run);
        assert_eq!(call.args(args).done().exit, 0, "{args:?}");
    };
    by("run-6", &["neo", "log", "milestone", "T9 done — commit 9999999"]);
    by("run-7", &["task", "claim", "T1"]);
    by("run-7", &["task", "start", "T1"]);
    by("run-6", &["neo", "log", "milestone", "T8 done — commit 8888888"]);
    by("run-7", &["neo", "log", "milestone", "T1 done — commit abc1234"]);
    by("run-7", &["neo", "log", "progress", "T3 done"]);
    by("run-7", &["neo", "log", "milestone", "T2 done — commit def5678"]);
    by("run-7", &["task", "fail", "T1", "--reason", "error_max_turns"]);
    by("run-7", &["neo", "log", "milestone", "T7 done — commit 7777777"]);
    let text = sandbox.comity().args(&["contract", "render", "resume", "T1"]).done().stdout;
    let header = "RESUMING FROM CRASH\nPrevious run: run-7\n\
        Completed tasks: T1 (commit abc1234), T2 (commit def5678)\n\
        Failed at: T3 — error: error_max_turns (attempt 1 of 3)\n";
    assert!(text.starts_with(header), "{text}");
}

#[test]
fn memories_are_found_before_they_are_cut_and_shown_with_score_and_top() {
    let sandbox = Sandbox::new();
    let write = |args: &[&str]| neo(&sandbox, "dev", &[&["memory", "write"], args].concat());
    write(&[
        "alpha alpha alpha",
        "--type",
        "warning",
        "--category",
        "testing",
        "--severity",
        "high",
    ]);
    write(&["alpha is a fact with many more words", "--scope", "/srv/a"]);
    let run = |args: &[&str]| neo(&sandbox, "dev", &[&["memory"], args].concat()).stdout;
    let found = run(&["search", "alpha", "--type", "knowledge", "--limit", "1"]);
    assert!(found.contains("alpha is a fact") && found.contains("80%"), "{found}");
    assert!(found.starts_with("ID                TYPE       SCOPE   SCORE  CONTENT"), "{found}");
    let both = run(&["search", "alpha"]);
    assert!(both.contains("100%") && both.contains("  0%"), "{both}");
    assert_eq!(run(&["list", "--scope", "global"]).lines().count(), 4, "global is everything");
    assert_eq!(run(&["list", "--severity", "high"]).lines().count(), 3);
    assert_eq!(run(&["list", "--category", "other"]), "No memories found.\n");
    let stats = run(&["stats"]);
    assert!(stats.contains("\nTop 5 most-accessed memories:\n\nID  "), "{stats}");
}

#[test]
fn the_header_after_a_crash_is_written_from_the_log_and_checked() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    assert_eq!(sandbox.refused(&["contract", "render", "resume", "T1"]).0, "invalid-transition");
    for args in [
        &["task", "claim", "T1"][..],
        &["task", "start", "T1"],
        &["task", "subtask", "T1", "start", "read"],
        &["event", "emit", "{\"event\":\"commit_pushed\",\"task\":\"T1\",\"commit\":\"abc1234\"}"],
        &["task", "subtask", "T1", "complete", "read"],
        &["task", "subtask", "T1", "start", "write"],
        &["task", "fail", "T1", "--reason", "error_max_turns"],
    ] {
        sandbox.comity().by("neo:developer:run-7").args(args).json();
    }
    let text = sandbox.comity().args(&["contract", "render", "resume", "T1"]).done().stdout;
    assert!(
        text.starts_with(
            "RESUMING FROM CRASH\nPrevious run: run-7\nCompleted tasks: T1-01 (commit abc1234)\n\
             Failed at: T1-02 — error: error_max_turns (attempt 1 of 3)\n"
        ),
        "{text}"
    );
    sandbox.write("resume.txt", &text);
    let checked = sandbox.json(&["contract", "validate", "resume.txt"]);
    assert_eq!((&checked["kind"], &checked["valid"]), (&json!("resume"), &json!(true)));
    sandbox.write("resume.txt", "RESUMING FROM CRASH\nFailed at: T1\n");
    let done = sandbox.comity().args(&["contract", "validate", "resume.txt", "--json"]).done();
    assert_eq!(done.exit, 2);
    assert!(done.stdout.contains("previous_run is missing"), "{}", done.stdout);
}

#[test]
fn a_long_entry_of_the_log_is_cut_as_neo_cuts_it() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(61);
    neo(&sandbox, "dev", &["log", "progress", &long]);
    let shown = neo(&sandbox, "dev", &["log"]).stdout;
    assert!(shown.contains(&format!("  {}...", "x".repeat(59))), "{shown}");
}
