//! Results handed in with `task submit --result`.

use crate::sandbox::{Call, Sandbox};
use serde_json::{Value, json};

/// A task that ada works on, on a branch of its own.
pub fn begun(create: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut args = vec!["task", "create", "Parse dates"];
    args.extend(create);
    sandbox.json(&args);
    sandbox.comity().by("ada").args(&["task", "claim", "T1"]).json();
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "work"]);
    sandbox
}

/// A result with these files and issues, each as `kind text`.
pub fn result(status: &str, files: &[(&str, &str)], issues: &[(&str, &str)]) -> Value {
    let line = |level: &str, message: &str| json!({"level": level, "message": message, "timestamp": "2025-01-15T10:30:00Z"});
    let file = |(action, path): &(&str, &str)| json!({"path": path, "action": action});
    let issue = |(kind, text): &(&str, &str)| json!({"type": kind, "description": text});
    json!({
        "version": "1",
        "task_id": "T1",
        "status": status,
        "files_modified": files.iter().map(file).collect::<Vec<_>>(),
        "log": [line("error", "It was hard"), line("tip", "Leap years come every four")],
        "issues": issues.iter().map(issue).collect::<Vec<_>>(),
        "completed_at": "2025-01-15T10:45:00Z",
    })
}

pub fn submit(sandbox: &Sandbox, result: &str) -> Call {
    sandbox.comity().by("ada").args(&["task", "submit", "T1", "--result", "-"]).stdin(result)
}

fn events(sandbox: &Sandbox, name: &str) -> Vec<Value> {
    let answer = sandbox.json(&["event", "list", "--task", "T1", "--type", name, "--limit", "500"]);
    answer["events"].as_array().unwrap().clone()
}

#[test]
fn a_completed_result_moves_to_review_and_is_in_the_log() {
    let sandbox = begun(&[]);
    sandbox.write("src/date.rs", "fn date() {}");
    let sha = sandbox.commit(&sandbox.root, "Work");
    let issues = [("question", "Which calendar?"), ("concern", "It is slow")];
    let said = result("completed", &[("created", "src/date.rs")], &issues);
    sandbox.write("../result.json", &said.to_string());
    let args = ["task", "submit", "T1", "--result", "../result.json"];
    let task = sandbox.comity().by("ada").args(&args).json()["task"].clone();
    assert_eq!((&task["status"], &task["commit"]), (&json!("review"), &json!(sha)));
    let reported = &events(&sandbox, "result_reported")[0];
    assert_eq!(reported["status"], "completed");
    assert_eq!(reported["files_modified"], said["files_modified"]);
    assert_eq!(reported["log"], said["log"]);
    assert_eq!(reported["tips"], json!(["Leap years come every four"]));
    let decisions = sandbox.json(&["decision", "list"]);
    assert_eq!(decisions["decisions"][0]["question"], "Which calendar?");
    assert_eq!(decisions["decisions"].as_array().unwrap().len(), 1);
    let notes: Vec<Value> =
        events(&sandbox, "note").iter().map(|note| note["text"].clone()).collect();
    assert_eq!(notes, ["concern: It is slow"]);
    let tip = &sandbox.json(&["memory", "search", "leap year"])["memories"][0];
    assert_eq!(
        (&tip["text"], &tip["tags"]),
        (&json!("Leap years come every four"), &json!(["tip"]))
    );
    assert_eq!((&tip["source"]["agent"], &tip["source"]["task"]), (&json!("ada"), &json!("T1")));
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    let rendered = sandbox.json(&["contract", "render", "result", "T1"]);
    assert_eq!(rendered["result"], said);
    let yaml = sandbox.comity().args(&["contract", "render", "result", "T1"]).done().stdout;
    assert!(yaml.starts_with("version: '1'\ntask_id: T1\nstatus: completed\n"), "{yaml}");
    let lines =
        sandbox.comity().args(&["event", "list", "--type", "result_reported"]).done().stdout;
    assert!(lines.trim_end().ends_with("result completed, 1 file, 2 issues"), "{lines}");
}

#[test]
fn a_blocked_result_opens_decisions_and_their_answers_resume_the_task() {
    let sandbox = begun(&[]);
    let issues = [("blocker", "Which key?"), ("question", "Which calendar?")];
    let task =
        submit(&sandbox, &result("blocked", &[], &issues).to_string()).json()["task"].clone();
    let needs = json!("Which key?; Which calendar?");
    assert_eq!((&task["status"], &task["needs"]), (&json!("blocked"), &needs));
    let decisions = sandbox.json(&["decision", "list"]);
    let said = |key: &str| -> Vec<String> {
        let list = decisions["decisions"].as_array().unwrap().iter();
        list.map(|decision| decision[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(said("question"), ["Which key?", "Which calendar?"]);
    assert_eq!(said("context"), ["It was hard", "It was hard"], "what its tools said");
    for id in ["D1", "D2"] {
        sandbox.json(&["--as", "human:ann", "decision", "answer", id, "that one"]);
    }
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["status"], "queued");
}

#[test]
fn a_result_in_an_agents_message_hands_in_and_two_are_refused() {
    let sandbox = begun(&[]);
    let yaml = "version: \"1\"\ntask_id: T1\nstatus: failed\nfiles_modified: []\nlog:\n\
        - {level: info, message: Began, timestamp: 2025-01-15}\n\
        - {level: error, message: Broke, timestamp: 2025-01-15}\ncompleted_at: 2025-01-15\n";
    let message = format!("It broke: see the log.\n\n```yaml\n{yaml}```\n");
    let (error, exit) = submit(&sandbox, &format!("{message}{message}")).refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("contract-invalid", 3));
    assert!(error["message"].as_str().unwrap().contains("2 parts"), "{error}");
    assert_eq!(submit(&sandbox, &message).json()["task"]["status"], "failed");
}

#[test]
fn a_message_loses_no_part_of_its_result_and_one_that_contradicts_itself_moves_nothing() {
    let sandbox = begun(&["--deliverable", "none"]);
    let yaml = "version: \"1\"\ntask_id: T1\nstatus: completed\nfiles_modified: []\nlog:\n\
        - {level: info, message: Began, timestamp: 2025-01-15}\n\
        - {level: info, message: Ended, timestamp: 2025-01-15}\ncompleted_at: 2025-01-15\n\
        notes: |\n  I ran\n  ```\n  make\n  ```\nissues: [{type: question, description: Which key?}]\n";
    let mission = sandbox.comity().args(&["contract", "render", "mission", "T1"]).done().stdout;
    let message = format!("```yaml\n{mission}```\n\nDone.\n\n```yaml\n{yaml}```\n");
    let (error, exit) = submit(&sandbox, &format!("{message}\nBLOCKED: which key?\n")).refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("contract-invalid", 3));
    assert!(error["message"].as_str().unwrap().contains("this text reports completed"), "{error}");
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["status"], "in_progress");
    let task = &submit(&sandbox, &message).json()["task"];
    assert_eq!((&task["status"], &task["decisions"]), (&json!("review"), &json!(["D1"])));
}

#[test]
fn a_comment_that_ends_nothing_is_recognised_and_not_handed_in() {
    let sandbox = begun(&[]);
    for (text, said) in [
        ("**Agent Claim**\n\n- Agent ID: a1\n", "stdin is an ace-comment (claim); such"),
        ("ANSWER: the old one\n", "stdin is an ace-comment (answer); such"),
        ("**Agent Resuming**\n", "stdin is an ace-comment (resuming); such"),
    ] {
        let validate = sandbox.comity().args(&["contract", "validate", "-"]);
        let done = validate.stdin(text).json();
        assert_eq!((&done["valid"], &done["kind"]), (&json!(true), &json!("ace-comment")));
        let (error, exit) = submit(&sandbox, text).refusal();
        assert_eq!((error["code"].as_str().unwrap(), exit), ("contract-invalid", 3));
        assert!(error["message"].as_str().unwrap().starts_with(said), "{error}");
    }
}

#[test]
fn a_failed_result_uses_an_attempt() {
    let sandbox = begun(&[]);
    let task = submit(&sandbox, &result("failed", &[], &[]).to_string()).json()["task"].clone();
    assert_eq!((&task["status"], &task["attempts"]), (&json!("failed"), &json!(1)));
}

#[test]
fn what_does_not_parse_or_validate_is_refused_and_nothing_moves() {
    let sandbox = begun(&[]);
    let head = || sandbox.json(&["log", "head"])["seq"].clone();
    let before = head();
    let good = result("completed", &[], &[]).to_string();
    for (bad, said) in [
        // What the original took for success.
        ("---\nstatus: completed\n---\n\nAll done!\n".to_owned(), "single document"),
        ("status: [completed".to_owned(), "is not a result"),
        ("status: completed\n".to_owned(), "Missing required field: version"),
        (good.replace("completed\"", "done\""), "Invalid status: done"),
        (good.replace("2025-01-15T10:45:00Z", "soon"), "not an ISO 8601 time"),
        ("All done!".to_owned(), "is not a result"),
        (String::new(), "is not a result"),
    ] {
        let (error, exit) = submit(&sandbox, &bad).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3), "{bad}");
        assert!(error["message"].as_str().unwrap().contains(said), "{bad}: {error}");
        let problem = &error["details"]["problems"][0];
        assert!(problem["line"].is_number() && problem["column"].is_number(), "{error}");
    }
    let (error, exit) = submit(&sandbox, &good.replace("\"T1\"", "\"T2\"")).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3));
    assert!(error["message"].as_str().unwrap().contains("is for T2"));
    assert_eq!(head(), before);
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["status"], "in_progress");
}

#[test]
fn a_mission_is_no_result() {
    let sandbox = begun(&[]);
    assert_eq!(sandbox.refused(&["contract", "render", "result", "T1"]).1, 4);
    let mission = sandbox.comity().args(&["contract", "render", "mission", "T1"]).done().stdout;
    let (error, exit) = submit(&sandbox, &mission).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3));
    assert!(error["message"].as_str().unwrap().contains("submits no work"), "{error}");
}

#[test]
fn a_result_sent_again_under_its_key_gets_the_first_answer() {
    let sandbox = begun(&[]);
    let said = result("failed", &[], &[]).to_string();
    let once = |text: &str| submit(&sandbox, text).args(&["--idempotency-key", "k"]);
    let first = once(&said).json();
    assert_eq!(once(&said).json(), first);
    assert_eq!(first["task"]["attempts"], 1);
    let (error, exit) = once(&said.replace("hard", "easy")).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("idempotency-mismatch"), 2));
}

#[test]
fn secrets_in_a_result_do_not_enter_the_log() {
    let sandbox = begun(&[]);
    let key = concat!("AKIA", "Z7QJ4N2M8R5T1W3Y");
    let said = result("failed", &[], &[("concern", &format!("the key {key} leaked"))]);
    submit(&sandbox, &said.to_string().replace("It was hard", &format!("used {key}"))).json();
    let log = sandbox.json(&["event", "list", "--limit", "500"]).to_string();
    assert!(log.contains("result_reported") && !log.contains(key));
}

#[test]
fn a_report_with_a_mistake_never_passes_for_a_good_one_of_another_kind() {
    let sandbox = begun(&[]);
    let before = sandbox.head();
    for bad in [
        r#"{"task_id":"T1","status":"INCOMPLETE","files_changed":3,"concerns":["it does not compile"]}"#,
        r#"{"task_id":"T1","status":"DONE | DONE_WITH_CONCERNS | BLOCKED","files_changed":3}"#,
        r#"{"task_id":"T1","status":"DONE "}"#,
        r#"{"task_id":"T1","status":"IN_TROUBLE","tests":"3 failing"}"#,
        r#"{"task_id":"T1","status":"FAILED"}"#,
        r#"{"version":"1","task_id":"T1","status":"success","files_modified":[]}"#,
        r#"{"version":"1","task_id":"T1","status":"error","summary":"s","files_changed":[]}"#,
        // Good ones, for another task.
        r#"{"task_id":"T99","summary":"ok","files_changed":[],"commands_run":[]}"#,
        r#"{"task_id":"T99","status":"success","pr_url":"https://x.org/1"}"#,
        r#"{"task_id":"T99","status":"blocked","reason":"r","request":"q"}"#,
    ] {
        let (error, exit) = submit(&sandbox, bad).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3), "{bad}: {error}");
    }
    assert_eq!(sandbox.head(), before);
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&task["status"], &task["attempts"]), (&json!("in_progress"), &json!(0)));
    let kind = ["task", "submit", "T1", "--result", "-", "--kind"];
    let stuck = r#"{"status":"blocked","reason":"no key","request":"Which key?"}"#;
    let call = sandbox.comity().by("ada").args(&kind).args(&["result"]).stdin(stuck);
    assert!(call.refusal().0["message"].as_str().unwrap().contains("is not a valid result"));
    let call = sandbox.comity().by("ada").args(&kind).args(&["neo-error"]).stdin(stuck);
    assert_eq!(call.json()["task"]["status"], "blocked");
}

#[test]
fn what_a_result_adds_to_its_entries_is_in_the_log_and_comes_back_in_its_place() {
    let sandbox = begun(&[]);
    sandbox.write("src/date.rs", "fn date() {}");
    sandbox.commit(&sandbox.root, "Work");
    let said = r#"{"version":"1","agent":"a1","task_id":"T1","status":"completed","files_modified":[{"path":"src/date.rs","lines":3,"action":"created"}],"log":[{"level":"info","message":"m","file":"a.rs","timestamp":"2025-01-15T10:30:00Z"},{"level":"info","message":"n","timestamp":"2025-01-15T10:30:00Z"}],"issues":[{"type":"question","description":"d","options":["x"],"severity":"high"}],"completed_at":"2025-01-15T10:45:00Z"}"#;
    submit(&sandbox, said).json();
    let reported = &events(&sandbox, "result_reported")[0];
    assert_eq!(reported["files_modified"][0]["other"]["lines"], 3);
    assert_eq!(reported["log"][0]["other"]["file"], "a.rs");
    assert_eq!(reported["issues"][0]["other"]["options"], json!(["x"]));
    let rendered = sandbox.json(&["contract", "render", "result", "T1"]);
    assert_eq!(rendered["result"].to_string(), said);
}

#[test]
fn notes_are_on_stderr_with_json_too() {
    let sandbox = begun(&[]);
    let said = result("failed", &[], &[]).to_string().replace("\"1\"", "1");
    let done = submit(&sandbox, &said).args(&["--json"]).done();
    assert_eq!(done.json()["task"]["status"], "failed");
    assert!(
        done.stderr.contains("note: stdin:1:12: version 1 is not in quotes"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_missing_hand_over_has_the_name_that_its_protocol_gives_it() {
    let sandbox = begun(&[]);
    let args = ["task", "submit", "T1", "--result", "ACE_TASK_DONE.json"];
    let (error, exit) = sandbox.comity().by("ada").args(&args).refusal();
    assert_eq!(exit, 2);
    assert!(error["message"].as_str().unwrap().starts_with("missing_done_file"), "{error}");
}

#[test]
fn a_blocked_result_for_work_that_is_in_review_is_about_the_state() {
    let sandbox = begun(&["--deliverable", "none"]);
    submit(&sandbox, &result("completed", &[], &[]).to_string()).json();
    let said = result("blocked", &[], &[("blocker", "Which key?")]).to_string();
    let (error, exit) = submit(&sandbox, &said).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("invalid-transition"), 3), "{error}");
    assert!(error["message"].as_str().unwrap().starts_with("T1 is review"), "{error}");
}

#[test]
fn an_empty_list_of_files_says_that_nothing_was_changed_and_none_says_nothing() {
    let sandbox = begun(&[]);
    sandbox.write("a.rs", "1");
    sandbox.commit(&sandbox.root, "Work");
    let neo = "status: success\npr_url: https://example.org/1\n";
    let ace = r#"{"task_id":"task-1","summary":"x","files_changed":[],"commands_run":[]}"#;
    for said in [format!("{neo}files_modified: []\n"), ace.to_owned()] {
        let (error, exit) = submit(&sandbox, &said).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3), "{error}");
        let found = &error["details"]["violations"][0]["message"];
        assert_eq!(found, "a.rs is created, but the result does not list it");
    }
    for said in [neo, &ace.replace("\"files_changed\":[],", "")] {
        assert_eq!(submit(&sandbox, said).json()["task"]["status"], "review");
        sandbox.json(&["--as", "human:ann", "task", "request-changes", "T1"]);
        sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    }
}

#[test]
fn the_file_of_a_result_is_no_work() {
    let sandbox = begun(&["--no-git-commit", "--max-files", "1", "--file", "src/**"]);
    let args = ["task", "submit", "T1", "--result", "out/result.json"];
    let by_ada = || sandbox.comity().by("ada").args(&args);
    sandbox.write("out/result.json", &result("completed", &[], &[]).to_string());
    let (error, exit) = by_ada().refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("nothing-changed"), 3), "{error}");
    sandbox.write("src/date.rs", "fn date() {}");
    let said = result("completed", &[("created", "src/date.rs")], &[]);
    sandbox.write("out/result.json", &said.to_string());
    sandbox.write("out/other.json", &said.to_string());
    let (error, _) = by_ada().refusal();
    assert!(error.to_string().contains("out/other.json"), "any other file is work: {error}");
    std::fs::remove_file(sandbox.root.join("out/other.json")).unwrap();
    assert_eq!(by_ada().json()["task"]["status"], "review");
}
