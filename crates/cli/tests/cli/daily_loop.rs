//! What an agent or a person does all day: several ids at once, typos, undo, names that are taken.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

fn with_tasks(titles: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    for title in titles {
        sandbox.json(&["task", "create", title]);
    }
    sandbox
}

/// A person's call.
fn ann(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.comity().by("human:ann").args(args).json()
}

/// The code and the exit status of a call of a person that is refused.
fn ann_may_not(sandbox: &Sandbox, args: &[&str]) -> (String, i32) {
    let (error, exit) = sandbox.comity().by("human:ann").args(args).refusal();
    (error["code"].as_str().unwrap().to_owned(), exit)
}

fn status(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.json(&["task", "show", id])["task"]["status"].clone()
}

#[test]
fn a_verb_takes_several_ids_and_does_all_or_none() {
    let sandbox = with_tasks(&["One", "Two", "Three"]);
    let answer = ann(&sandbox, &["task", "abandon", "T1", "2", "--reason", "no"]);
    let ids: Vec<&Value> = answer["tasks"].as_array().unwrap().iter().map(|t| &t["id"]).collect();
    assert_eq!(ids, [&json!("T1"), &json!("T2")]);
    let one = ann(&sandbox, &["task", "reopen", "T1", "--reason", "yes"]);
    assert_eq!(one["task"]["status"], "queued", "one id is answered as before");
    let head = sandbox.head();
    assert_eq!(
        ann_may_not(&sandbox, &["task", "abandon", "T3", "T9"]),
        ("not-found".to_owned(), 4)
    );
    let twice = ann_may_not(&sandbox, &["task", "abandon", "T3", "T2"]);
    assert_eq!(twice, ("invalid-transition".to_owned(), 3));
    assert_eq!(sandbox.head(), head, "a refused second id leaves nothing");
    let claims = ann_may_not(&sandbox, &["task", "claim", "T1", "T3"]);
    assert_eq!(claims.1, 2, "a claim takes one");
}

#[test]
fn work_on_several_tasks_is_looked_at_one_by_one() {
    let sandbox = with_tasks(&["One", "Two"]);
    let ada = |args: &[&str]| sandbox.comity().by("ada").args(args).json();
    ada(&["task", "start", "T1", "T2"]);
    sandbox.work();
    let answer = ada(&["task", "submit", "T1", "T2"]);
    let commit = |n: usize| answer["tasks"][n]["commit"].clone();
    assert!(commit(0).is_string());
    assert_eq!(commit(0), commit(1));
    ann(&sandbox, &["task", "approve", "T1", "T2"]);
    ann(&sandbox, &["task", "merge", "T1", "T2"]);
    ann(&sandbox, &["task", "done", "T1", "T2"]);
    assert_eq!(status(&sandbox, "T2"), "done");
}

#[test]
fn a_typo_in_a_gate_or_an_assignee_is_refused_with_the_nearest_name() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "One", "--gate", "tests"]);
    sandbox.comity().by("ada-impl").args(&["task", "start", "T1"]).json();
    let ada = |args: &[&str]| sandbox.comity().by("ada-impl").args(args).refusal();
    for args in [
        &["gate", "record", "T1", "test", "pass"][..],
        &["task", "submit", "T1", "--gate", "test=pass"],
    ] {
        let (error, exit) = ada(args);
        assert_eq!((&error["code"], exit), (&json!("unknown-name"), 2), "{args:?}");
        assert_eq!(error["details"]["nearest"], "tests");
    }
    let with = ["with", "--gate", "test", "--", "touch", "ran"];
    let refused = sandbox.comity().by("ada-impl").args(&with).done();
    assert_eq!(refused.exit, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("did you mean tests?"), "{}", refused.stderr);
    assert!(!sandbox.root.join("ran").exists(), "a typo is found before the command runs");
    let made = ["gate", "record", "T1", "lint", "pass", "--new"];
    sandbox.comity().by("ada-impl").args(&made).json();
    sandbox.json(&["task", "create", "Two"]);
    let (error, exit) =
        sandbox.comity().by("human:ann").args(&["task", "assign", "T2", "ada-imp"]).refusal();
    assert_eq!((&error["code"], exit), (&json!("unknown-name"), 2));
    assert_eq!(error["details"]["nearest"], "ada-impl");
    assert!(error["hint"].as_str().unwrap().contains("--new"), "{error}");
    let new = ["task", "create", "Three", "--assignee", "bob-1"];
    assert_eq!(ann_may_not(&sandbox, &new), ("unknown-name".to_owned(), 2));
    let assigned = ann(&sandbox, &["task", "assign", "T2", "bob-1", "--new"]);
    assert_eq!(assigned["task"]["assignee"], "bob-1");
    ann(&sandbox, &new);
}

#[test]
fn a_task_says_whether_the_caller_could_claim_it() {
    let sandbox = with_tasks(&["One"]);
    sandbox.json(&["task", "create", "Two", "--depends-on", "T1"]);
    let ready = |id: &str| sandbox.json(&["task", "show", id])["task"]["ready"].clone();
    assert_eq!((ready("T1"), ready("T2")), (json!(true), json!(false)));
    assert_eq!(sandbox.json(&["task", "create", "Three"])["task"]["ready"], true);
    let claimed = sandbox.comity().by("ada").args(&["task", "claim", "T1"]).json();
    assert_eq!(claimed["task"]["ready"], false);
    let listed = sandbox.json(&["task", "list"]);
    let marks: Vec<&Value> =
        listed["tasks"].as_array().unwrap().iter().map(|task| &task["ready"]).collect();
    assert_eq!(marks.iter().filter(|mark| **mark == &json!(true)).count(), 1, "{listed}");
}

#[test]
fn the_last_own_command_is_taken_back_until_somebody_else_acts() {
    let sandbox = with_tasks(&["One", "Two"]);
    let ada = |args: &[&str]| sandbox.comity().by("ada").args(args).json()["task"].clone();
    ada(&["task", "claim", "T1"]);
    ada(&["task", "claim", "T2", "--start"]);
    let undone = ada(&["task", "undo"]);
    assert_eq!((&undone["id"], &undone["status"]), (&json!("T2"), &json!("queued")));
    assert_eq!(ada(&["task", "undo", "T1"])["status"], "queued");
    ada(&["task", "start", "T1"]);
    ada(&["task", "block", "T1", "--needs", "a key"]);
    assert_eq!(ada(&["task", "undo"])["status"], "queued");
    ada(&["task", "start", "T1"]);
    ann(&sandbox, &["note", "progress", "careful", "--task", "T1"]);
    let (error, exit) = sandbox.comity().by("ada").args(&["task", "undo", "T1"]).refusal();
    assert_eq!((&error["code"], exit), (&json!("invalid-transition"), 3));
    assert_eq!(error["details"]["by"], "human:ann");
    ann(&sandbox, &["task", "abandon", "T2"]);
    assert_eq!(ann(&sandbox, &["task", "undo"])["task"]["status"], "queued");
    let nothing = sandbox.comity().by("bob").args(&["task", "undo"]).refusal();
    assert_eq!((&nothing.0["code"], nothing.1), (&json!("not-found"), 4));
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn names_that_comity_itself_uses_are_reserved() {
    let sandbox = with_tasks(&["One"]);
    for name in ["watchdog", "file:tasks.json", "import:beads"] {
        let (error, exit) = sandbox.comity().args(&["--as", name, "task", "claim"]).refusal();
        assert_eq!((&error["code"], exit), (&json!("invalid-input"), 2), "{name}");
        assert_eq!(ann_may_not(&sandbox, &["agent", "register", name]).1, 2, "{name}");
        assert_eq!(ann_may_not(&sandbox, &["task", "assign", "T1", name, "--new"]).1, 2);
    }
    sandbox.json(&["watchdog", "--once"]);
}

#[test]
fn rule_4_6_the_fence_of_an_ended_claim_stops_nothing_that_needs_no_holder() {
    let sandbox = with_tasks(&["One", "Two"]);
    let fence =
        sandbox.comity().by("ada").args(&["task", "claim", "T1"]).json()["fence"].to_string();
    let ada = |args: &[&str]| sandbox.comity().by("ada").env("COMITY_FENCE", &fence).args(args);
    let alive = ada(&["task", "subtask", "T1", "start", "read"]).done();
    assert!(alive.exit == 0 && !alive.stderr.contains("has ended"), "{alive:?}");
    let released = ada(&["task", "release", "T1"]).done();
    assert!(released.stderr.contains("the claim of COMITY_FENCE has ended"), "{released:?}");
    for args in [
        &["task", "claim", "T2"][..],
        &["task", "create", "Three"],
        &["agent", "heartbeat"],
        &["note", "progress", "on we go"],
        &["lease", "acquire", "docs/"],
    ] {
        assert_eq!(ada(args).done().exit, 0, "{args:?}");
    }
    let (error, exit) = ada(&["task", "start", "T2"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("stale-fence"), 3));
}

#[test]
fn rule_2_2_a_claim_waits_until_something_is_ready_or_says_why_nothing_is() {
    let sandbox = with_tasks(&["One"]);
    sandbox.comity().by("bob").args(&["task", "claim", "T1"]).json();
    let claim = |wait: &str| sandbox.comity().by("ada").args(&["task", "claim", "--wait", wait]);
    let (error, exit) = claim("1s").refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("timed-out"), 6));
    let nothing = sandbox.comity().by("ada").args(&["task", "claim"]).refusal().0;
    assert_eq!(error["details"]["reasons"], nothing["details"]["reasons"], "{error} {nothing}");
    let waiting = claim("60s").args(&["--json"]).spawn();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let begun = std::time::Instant::now();
    ann(&sandbox, &["task", "create", "Two"]);
    let done = waiting.wait_with_output().unwrap();
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "it was woken");
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(answer["task"]["id"], "T2");
}

#[test]
fn help_is_json_where_that_is_asked_for() {
    let sandbox = Sandbox::new();
    for args in [
        &["help", "--json"][..],
        &["--json", "help"],
        &["help", "task", "--json"],
        &["task", "help", "claim", "--json"],
    ] {
        let done = sandbox.comity().args(args).done();
        assert_eq!(done.exit, 0, "{args:?}: {}", done.stderr);
        let answer: Value = serde_json::from_str(&done.stdout).unwrap();
        assert!(answer["help"].as_str().unwrap().contains("Usage: comity"), "{args:?}: {answer}");
    }
}

#[test]
fn a_setting_that_nobody_set_is_told_with_its_default() {
    let sandbox = Sandbox::new();
    let got = sandbox.comity().args(&["config", "get", "limits.max_attempts"]).done();
    assert_eq!(got.stdout, "3\n");
    assert_eq!(got.stderr, "note: this is the default of limits.max_attempts\n");
    let setting = &sandbox.json(&["config", "get", "limits.max_attempts"])["setting"];
    assert_eq!((&setting["value"], &setting["default"]), (&Value::Null, &"3".into()));
    assert_eq!(setting["origin"], "default");
    let got = sandbox.comity().args(&["config", "get", "gates.required"]).done();
    assert_eq!(got.stdout, "\n", "an example is no default");
    assert!(got.stderr.contains("gates.required is not set"), "{}", got.stderr);
    sandbox.json(&["config", "set", "limits.max_attempts", "5", "--as", "human:ann"]);
    let got = sandbox.comity().args(&["config", "get", "limits.max_attempts"]).done();
    assert_eq!((got.stdout.as_str(), got.stderr.as_str()), ("5\n", ""));
}

#[test]
fn who_finds_nothing_queued_hears_for_whom_work_waits_that_was_sent_back() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Do a", "--as", "human:ann"]);
    let by = |who: &str, args: &[&str]| sandbox.comity().by(who).args(args).json();
    by("w1", &["task", "claim", "T1", "--start"]);
    by("w1", &["task", "submit", "T1", "--empty", "--reason", "nothing to change"]);
    by("human:ann", &["task", "request-changes", "T1", "--reason", "it is not right"]);
    let (error, exit) = sandbox.comity().by("w2").args(&["task", "claim"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("nothing-ready"), 3));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("T1 was sent back and waits for w1 until 20"), "{message}");
    assert!(error["hint"].as_str().unwrap().contains("comity task why T1"), "{error}");
    assert_eq!(error["details"]["sent_back"], json!(["T1"]));
}
