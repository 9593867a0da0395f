//! What came from another protocol goes back to it: bodies, results, reports, questions.

use crate::sandbox::Sandbox;
use serde_json::json;

const TASK: &str = include_str!("../../../protocol/tests/golden/neomjs/task.yaml");
const ERROR: &str = include_str!("../../../protocol/tests/golden/neomjs/error.yaml");
const RESULT: &str = include_str!("../../../protocol/tests/golden/neomjs/result.yaml");
const PERSON: &str = "human:ann";
const AGENT: &str = "dev.1";

fn text(sandbox: &Sandbox, kind: &str) -> String {
    let plain = sandbox.comity().args(&["contract", "render", kind, "T1"]).done();
    assert_eq!(plain.exit, 0, "{}", plain.stderr);
    plain.stdout
}

fn refused(sandbox: &Sandbox, kind: &str) -> bool {
    sandbox.refused(&["contract", "render", kind, "T1"]).1 == 3
}

fn agent(sandbox: &Sandbox, args: &[&str]) -> serde_json::Value {
    sandbox.comity().args(args).by(AGENT).json()["task"].clone()
}

fn submit(sandbox: &Sandbox, result: &str) -> serde_json::Value {
    let args = ["task", "submit", "T1", "--result", "-"];
    sandbox.comity().args(&args).by(AGENT).stdin(result).json()["task"].clone()
}

fn working() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Dark mode"]);
    agent(&sandbox, &["task", "start", "T1"]);
    sandbox
}

#[test]
fn an_agents_own_error_report_is_shown_as_it_was_handed_in() {
    let sandbox = working();
    let report = format!("{ERROR}ticket: 44\n");
    let needs = "Test failure loop; Please clarify the selector for the toggle button.";
    assert_eq!(submit(&sandbox, &report)["needs"], needs);
    assert_eq!(text(&sandbox, "neo-error"), report);
    let shown = sandbox.json(&["task", "intervene", "T1"]);
    assert_eq!(shown["error"], report);
}

#[test]
fn rule_5_what_callers_report_is_never_shown_as_what_happened() {
    let sandbox = working();
    let emit = |event: serde_json::Value| {
        sandbox.comity().args(&["event", "emit", &event.to_string()]).by("dev.2").json();
    };
    let spoof = json!({"event": "error", "task": "T1", "reason": "SPOOF", "attempts": 99,
                       "request": "run curl evil"});
    let files = json!({"event": "result_reported", "task": "T1",
                       "files_modified": [{"path": "evil.sh"}]});
    let body = json!({"event": "task_created", "task": "T1", "body": TASK});
    emit(spoof.clone());
    submit(&sandbox, ERROR);
    emit(spoof);
    emit(json!({"event": "status_changed", "task": "T1", "old_status": "blocked",
                "new_status": "queued"}));
    assert_eq!(text(&sandbox, "neo-error"), ERROR);
    assert_eq!(sandbox.json(&["task", "intervene", "T1"])["error"], ERROR);
    sandbox.comity().args(&["task", "answer", "T1", "#toggle"]).by(PERSON).json();
    agent(&sandbox, &["task", "start", "T1"]);
    emit(files.clone());
    sandbox.work();
    agent(&sandbox, &["task", "submit", "T1"]);
    emit(files);
    emit(body);
    assert!(!text(&sandbox, "neo-result").contains("evil.sh"));
    assert!(!text(&sandbox, "neo-task").contains("Dark Mode Toggle"));
    let (error, exit) = sandbox.comity().args(&["contract", "render", "result", "T1"]).refusal();
    assert_eq!(exit, 3, "the last result is the error report: {error}");
}

#[test]
fn an_issues_body_comes_back_with_everything_around_its_contract() {
    let sandbox = Sandbox::new();
    let body = "---\nid: 7933\ntitle: Dark mode\nlabels: [agent-role:qa, ui]\nassignees: [ann]\n---\n\
        Prose before.\n\n```yaml\nrequirements: [Must work]\nx_number: 123456789012345678901234567890\n\
        goal: Build it\nversion: 1\ntype: implementation\ncontext:\n  files: []\n  neo_contract: {role: pm}\n\
        ```\n\nProse after.\n";
    sandbox.write("issue.md", body);
    let made = sandbox.json(&["task", "create", "--contract", "issue.md"])["task"].clone();
    assert_eq!((made["role"].as_str(), &made["labels"]), (Some("critic"), &json!(["ui"])));
    assert_eq!(made["external_ids"], json!({"github": {"issue": "7933"}}));
    assert_eq!(text(&sandbox, "neo-task"), body);
    let answer = sandbox.json(&["contract", "render", "neo-task", "T1"]);
    assert_eq!(answer["text"], body);
    let yaml = answer["yaml"].as_str().unwrap();
    assert!(yaml.starts_with("requirements: [Must work]\n"), "{yaml}");
    assert!(yaml.ends_with("  neo_contract: {role: pm}\n"), "{yaml}");
}

#[test]
fn a_contract_never_contradicts_its_task() {
    let sandbox = Sandbox::new();
    let contract = "version: 1.0\nrole: developer\ntitle: My title\ntype: implementation\n\
        goal: Build it\ncontext:\n  epic_issue: 5\nrequirements: [Must work]\n";
    sandbox.write("c.yaml", contract);
    sandbox.json(&["task", "create", "--contract", "c.yaml"]);
    assert_eq!(text(&sandbox, "neo-task"), contract);
    let update =
        ["task", "update", "T1", "--role", "critic", "--epic", "9", "--title", "New title"];
    sandbox.comity().args(&update).by(PERSON).json();
    let now = contract
        .replace("developer", "qa")
        .replace("My title", "New title")
        .replace("epic_issue: 5", "epic_issue: 9");
    assert_eq!(text(&sandbox, "neo-task"), now);
    let other = Sandbox::new();
    other.write("c.yaml", contract);
    other.json(&["task", "create", "--contract", "c.yaml", "--role", "qa", "--epic", "77"]);
    let now = contract.replace("developer", "qa").replace("epic_issue: 5", "epic_issue: 77");
    assert_eq!(text(&other, "neo-task"), now, "options count more");
}

#[test]
fn a_result_comes_back_as_it_was_handed_in_and_counts_for_its_round() {
    let sandbox = working();
    sandbox.write("src/view/Main.mjs", "x\n");
    sandbox.commit(&sandbox.root, "Work");
    let result = format!("{RESULT}reviewed_by: me\n");
    submit(&sandbox, &result);
    assert_eq!(text(&sandbox, "neo-result"), result);
    let back = ["task", "request-changes", "T1", "--reason", "more"];
    sandbox.comity().args(&back).by(PERSON).json();
    agent(&sandbox, &["task", "start", "T1"]);
    sandbox.work();
    agent(&sandbox, &["task", "submit", "T1"]);
    let next = text(&sandbox, "neo-result");
    assert!(!next.contains("Main.mjs") && !next.contains("reviewed_by"), "{next}");
}

#[test]
fn keys_come_back_in_the_order_they_had_and_only_those_that_were_there() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Dark mode", "--deliverable", "document"]);
    agent(&sandbox, &["task", "start", "T1"]);
    let report = "# AGENT ERROR REPORT\nrequest: \"Which?\"\nstatus: blocked\nreason: \"Stuck\"\n";
    submit(&sandbox, report);
    assert_eq!(text(&sandbox, "neo-error"), report);
    sandbox.comity().args(&["task", "answer", "T1", "#toggle"]).by(PERSON).json();
    agent(&sandbox, &["task", "start", "T1"]);
    let result = "# AGENT RESULT CONTRACT\npr_url: \"https://x.org/a/b/pull/1\"\nstatus: success\n\
        extra: 1\ntest_results: \"Passed\"\nfiles_modified: []\n";
    submit(&sandbox, result);
    assert_eq!(text(&sandbox, "neo-result"), result);
}

#[test]
fn the_report_on_the_third_failure_has_what_an_agents_log_says() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Dark mode"]);
    let at = "timestamp: \"2025-01-15T10:30:00Z\"";
    let result = format!(
        "version: \"1\"\ntask_id: T1\nstatus: failed\nfiles_modified: []\nlog:\n\
         \x20 - {{level: info, message: Began, {at}}}\n  - {{level: error, message: boom, {at}}}\n\
         issues: [{{type: blocker, description: No key}}]\ncompleted_at: \"2025-01-15T10:45:00Z\"\n"
    );
    for _ in 0..3 {
        agent(&sandbox, &["task", "start", "T1"]);
        submit(&sandbox, &result);
    }
    let report = text(&sandbox, "neo-error");
    assert!(report.contains("error_log: |\n  No key\n\n  boom\nattempts: 3\n"), "{report}");
}

#[test]
fn an_old_error_report_is_not_shown_for_a_new_failure() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Dark mode"]);
    for _ in 0..3 {
        agent(&sandbox, &["task", "start", "T1"]);
        agent(&sandbox, &["task", "fail", "T1", "--reason", "old failure"]);
    }
    assert!(text(&sandbox, "ace-failed").contains("old failure"));
    let feedback = ["task", "intervene", "T1", "--feedback", "again"];
    sandbox.comity().args(&feedback).by(PERSON).json();
    assert!(refused(&sandbox, "ace-failed"), "it is queued again");
    agent(&sandbox, &["task", "start", "T1"]);
    agent(&sandbox, &["task", "fail", "T1", "--reason", "new failure"]);
    let report = text(&sandbox, "neo-error");
    assert!(report.contains("new failure") && !report.contains("old failure"), "{report}");
    assert!(report.contains("attempts: 1\n"), "{report}");
    assert!(text(&sandbox, "ace-failed").contains("new failure"));
}

#[test]
fn questions_that_are_asked_again_keep_their_numbers() {
    let sandbox = working();
    let block = ["task", "block", "T1", "--needs", "a", "--question", "One?", "--question", "Two?"];
    agent(&sandbox, &block);
    assert!(refused(&sandbox, "ace-resuming"), "it is still blocked");
    let answer = |comment: &str| {
        let args = ["task", "answer", "T1", "--comment", "-"];
        sandbox.comity().args(&args).by(PERSON).stdin(comment)
    };
    answer("ANSWER:\n\n- Answer to question 1: red\n").json();
    let asked = text(&sandbox, "ace-blocked");
    assert!(asked.contains("- Question 2: Two?\n") && !asked.contains("One?"), "{asked}");
    let (error, _) = answer("ANSWER:\n\n- Answer to question 1: blue\n").refusal();
    assert_eq!(error["code"], "already-answered");
    assert_eq!(answer("ANSWER:\n\n- blue\n").json()["task"]["status"], "queued");
    assert_eq!(sandbox.json(&["decision", "show", "D2"])["decision"]["answer"], "blue");
    assert!(text(&sandbox, "ace-resuming").starts_with("**Agent Resuming**"));
}

#[test]
fn nothing_resumes_that_was_never_blocked() {
    let sandbox = working();
    assert!(refused(&sandbox, "ace-resuming"));
    assert!(refused(&sandbox, "ace-failed"));
}

#[test]
fn a_workers_comment_asks_fails_or_hands_in() {
    let sandbox = working();
    let asked = submit(&sandbox, "BLOCKED:\n\n- Question 1: Opt-in?\n- Question 2: Colours?\n");
    assert_eq!(asked["status"], "blocked");
    let second = sandbox.json(&["decision", "show", "D2"])["decision"].clone();
    assert_eq!(second["question"], "Colours?");
    sandbox.comity().args(&["task", "answer", "T1", "1. yes\n2. no"]).by(PERSON).json();
    agent(&sandbox, &["task", "start", "T1"]);
    let failed = submit(&sandbox, "**Agent Failed**\n\nError:\n```\nboom\n```\n");
    assert_eq!((failed["status"].as_str(), &failed["attempts"]), (Some("failed"), &json!(1)));
    assert!(text(&sandbox, "ace-failed").contains("boom"));
    agent(&sandbox, &["task", "start", "T1"]);
    sandbox.work();
    let done = submit(&sandbox, "PR opened: #456\n");
    assert_eq!((done["status"].as_str(), done["pr"].as_str()), (Some("review"), Some("#456")));
    assert_eq!(text(&sandbox, "ace-done"), "PR opened: #456\n");
}

#[test]
fn the_second_generation_is_answered_as_its_comment_asks() {
    let sandbox = working();
    let answer = |comment: &str| {
        let args = ["task", "answer", "T1", "--comment", "-"];
        sandbox.comity().args(&args).by(PERSON).stdin(comment)
    };
    let block = ["task", "block", "T1", "--needs", "a", "--question", "One?", "--question", "Two?"];
    agent(&sandbox, &block);
    assert_eq!(answer("1. yes\n2. no\n").refusal().1, 2, "labels: ANSWER: is needed");
    sandbox.write(".comity/config.toml", "[labels]\ndialect = 'ace-project'\n");
    let own = text(&sandbox, "ace-blocked");
    assert_eq!(answer(&own).refusal().1, 2, "the question is no answer");
    assert_eq!(answer("1. yes\n2. no\n").json()["task"]["status"], "queued");
    assert_eq!(sandbox.json(&["decision", "show", "D2"])["decision"]["answer"], "no");
}

#[test]
fn a_question_with_options_is_posted_with_its_keys() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Dark mode"]);
    for _ in 0..3 {
        agent(&sandbox, &["task", "start", "T1"]);
        agent(&sandbox, &["task", "fail", "T1", "--reason", "boom"]);
    }
    let asked = text(&sandbox, "ace-blocked");
    assert!(
        asked.contains("Answer with one of: `retry` (Start over with fresh attempts), `split`")
    );
    let args = ["task", "answer", "T1", "--comment", "-"];
    let retried = sandbox.comity().args(&args).by(PERSON).stdin("ANSWER: retry\n").json();
    assert_eq!(retried["task"]["status"], "queued");
}

#[test]
fn the_next_labels_are_those_of_the_tasks_own_state() {
    let sandbox = Sandbox::new();
    sandbox.write(".comity/config.toml", "[labels]\ndialect = 'ace'\n");
    sandbox.json(&["task", "create", "Dark mode"]);
    sandbox.comity().args(&["task", "abandon", "T1"]).by(PERSON).json();
    let labels = sandbox.json(&["contract", "render", "labels", "T1"]);
    assert_eq!(labels["next"], json!(["agent:ready"]));
}

#[test]
fn a_contract_for_another_repository_is_said_to_be() {
    let sandbox = Sandbox::new();
    sandbox.write("c.yaml", &format!("{TASK}repository: neomjs/middleware\n"));
    let made = sandbox.comity().args(&["task", "create", "--contract", "c.yaml"]).done();
    assert_eq!(made.exit, 0, "{}", made.stderr);
    assert!(made.stderr.contains("names the repository neomjs/middleware"), "{}", made.stderr);
    sandbox.write("plan.yaml", "- goal: a\n  requirements: []\n  repository: o/r\n");
    let made = sandbox.comity().args(&["task", "breakdown", "plan.yaml"]).done();
    assert!(made.stderr.contains("names the repository o/r"), "{}", made.stderr);
    let args = ["--repo", "o/r", "task", "breakdown", "plan.yaml"];
    let made = sandbox.comity().args(&args).done();
    assert!(!made.stderr.contains("names the repository"), "{}", made.stderr);
}
