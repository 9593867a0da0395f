//! Reports of neo's agents: checked, explained, applied.

use crate::sandbox::Sandbox;
use serde_json::json;

const REVIEWER: &str = include_str!("../../../protocol/tests/golden/neotx/reviewer.json");
const SCOUT: &str = include_str!("../../../protocol/tests/golden/neotx/scout.json");

fn in_review(sandbox: &Sandbox) {
    sandbox.json(&["task", "create", "one", "--deliverable", "none"]);
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    sandbox.json(&["task", "submit", "T1", "--as", "dev"]);
    sandbox.json(&["agent", "register", "rev", "--role", "critic", "--as", "human:ann"]);
}

#[test]
fn a_review_is_applied_by_a_critic_and_blocks_whatever_it_says() {
    let sandbox = Sandbox::new();
    in_review(&sandbox);
    sandbox.write("review.json", REVIEWER);
    let apply = ["contract", "apply", "review.json", "--task", "T1"];
    let by = |agent: &str| sandbox.comity().by(agent).args(&apply);
    assert_eq!(by("dev").refusal().0["code"], "role-forbidden");
    let done = by("rev").args(&["--json"]).done();
    assert!(
        done.stderr
            .contains("note: review.json:2:14: comity counts the verdict as CHANGES_REQUESTED")
    );
    let answer = done.json();
    assert_eq!(answer["kind"], "reviewer");
    assert_eq!(answer["applied"][0]["task"]["status"], "changes_requested");
    let told = sandbox.json(&["event", "list", "--task", "T1", "--type", "review_feedback"]);
    assert!(told["events"][0]["notes"].as_str().unwrap().contains("CRITICAL src/auth.ts:42"));
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    sandbox.json(&["task", "submit", "T1", "--as", "dev"]);
    sandbox.write("review.json", &REVIEWER.replace("CRITICAL", "WARNING"));
    assert_eq!(by("rev").json()["applied"][0]["task"]["status"], "approved");
}

#[test]
fn a_critical_finding_blocks_whatever_words_stand_beside_it() {
    let sandbox = Sandbox::new();
    in_review(&sandbox);
    let review = json!({
        "verdict": "APPROVED", "summary": "s", "pr_comment": "",
        "verification": {"typecheck": "passed", "secrets_scan": "pass"},
        "spec_deviations": [{"type": "wrong", "description": "d"}],
        "issues": [{"severity": "CRITICAL", "lens": "correctness", "file": "a.rs",
                    "line": "10-12", "description": "Leaks"}],
    });
    let apply = ["contract", "apply", "-", "--task", "T1"];
    let answer = sandbox.comity().by("rev").args(&apply).stdin(&review.to_string()).json();
    assert_eq!(answer["applied"][0]["task"]["status"], "changes_requested");
    let told = sandbox.json(&["event", "list", "--task", "T1", "--type", "review_feedback"]);
    assert!(told["events"][0]["notes"].as_str().unwrap().contains("CRITICAL a.rs:10-12: Leaks"));
}

#[test]
fn a_supervisors_context_is_what_one_must_know_to_answer_it() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one", "--deliverable", "none"]);
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    let report = r#"{"reason":"r","question":"q?","context":"ctx","urgency":"low"}"#;
    let submit = ["task", "submit", "T1", "--result", "-"];
    let task = sandbox.comity().by("dev").args(&submit).stdin(report).json()["task"].clone();
    assert_eq!(task["needs"], "r; q?");
    let asked = sandbox.json(&["decision", "list"])["decisions"][0].clone();
    assert_eq!((&asked["question"], &asked["context"]), (&json!("q?"), &json!("r\n\nctx")));
}

#[test]
fn a_scouts_report_applied_twice_asks_once() {
    let sandbox = Sandbox::new();
    sandbox.write("scout.md", &format!("I looked around.\n\n```json\n{SCOUT}```\n"));
    let first = sandbox.json(&["contract", "apply", "scout.md"]);
    assert_eq!(first["applied"].as_array().unwrap().len(), 4);
    let head = sandbox.head();
    assert_eq!(sandbox.json(&["contract", "apply", "scout.md"]), first);
    assert_eq!(sandbox.head(), head);
    let asked = sandbox.json(&["decision", "list"]);
    assert_eq!(asked["decisions"].as_array().unwrap().len(), 1);
    assert_eq!(asked["decisions"][0]["question"], "F-1 CRITICAL: Secrets in the log");
    let answer = ["decision", "answer", "D1", "yes", "--as", "human:ann"];
    assert_eq!(sandbox.json(&answer)["decision"]["answer"], "yes");
    let shown = sandbox.comity().args(&["contract", "apply", "scout.md"]).done();
    assert!(shown.stdout.starts_with("asked D1: F-1 CRITICAL"), "{}", shown.stdout);
}

#[test]
fn a_yes_to_what_a_scout_found_makes_the_task() {
    let finding = |id: &str, severity: &str, title: &str| {
        json!({"id": id, "severity": severity, "title": title, "description": "Why it matters",
               "suggestion": "Mask them", "effort": "S", "files": ["src/log.rs:12"], "decision_id": null})
    };
    let report = json!({"summary": "Looks well", "health_score": 7, "findings": [
        finding("F-1", "CRITICAL", "Secrets in the log"), finding("F-2", "HIGH", "No limit"),
        finding("F-3", "HIGH", "Slow")], "decisions_created": 0, "memories_written": 0, "strengths": []});
    let sandbox = Sandbox::new();
    sandbox.write("scout.json", &report.to_string());
    sandbox.comity().by("eye").args(&["contract", "apply", "scout.json"]).json();
    let answer = |id: &str, answer: &str| {
        let args = ["decision", "answer", id, answer];
        sandbox.comity().by("human:ann").args(&args).json()
    };
    assert_eq!(answer("D3", "no")["task"], json!(null));
    answer("D2", "later");
    assert_eq!(sandbox.json(&["task", "list", "--all"])["tasks"], json!([]));
    assert_eq!(answer("D1", "yes: soon")["task"]["id"], "T1");
    let tasks = sandbox.json(&["task", "list", "--all"])["tasks"].clone();
    assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks}");
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&task["title"], &task["status"]), (&json!("Secrets in the log"), &json!("queued")));
    assert_eq!((&task["priority"], &task["created_by"]), (&json!("P0"), &json!("human:ann")));
    assert!(task["description"].as_str().unwrap().contains("Suggestion: Mask them"), "{task}");
    assert_eq!(task["context"]["decision"], "D1");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn a_report_that_does_not_validate_moves_nothing() {
    let sandbox = Sandbox::new();
    in_review(&sandbox);
    let head = sandbox.head();
    sandbox.write("bad.json", "{\"verdict\":\"APPROVED\",\"issues\":[{}]}");
    let apply = ["contract", "apply", "bad.json", "--task", "T1"];
    let (error, exit) = sandbox.comity().by("rev").args(&apply).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3));
    assert_eq!(error["details"]["problems"].as_array().unwrap().len(), 3);
    assert_eq!(sandbox.head(), head);
    sandbox.write("review.json", REVIEWER);
    assert_eq!(sandbox.refused(&["contract", "apply", "review.json"]).1, 2);
    let checked = sandbox.comity().args(&["contract", "validate", "bad.json", "--json"]).done();
    assert_eq!(checked.exit, 2);
    let checked: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((&checked["kind"], &checked["valid"]), (&json!("reviewer"), &json!(false)));
}

#[test]
fn a_developers_report_is_handed_in_with_its_concerns_and_pull_request() {
    let sandbox = Sandbox::new();
    for title in ["one", "two"] {
        sandbox.json(&["task", "create", title, "--deliverable", "none"]);
    }
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    let report = "{\"task_id\":\"T1\",\"status\":\"DONE_WITH_CONCERNS\",\"concerns\":[\"The retry has no limit\"]}";
    sandbox.write(
        "done.md",
        &format!("Done.\n\nPR_URL: https://x.org/a/b/pull/7\n\n```json\n{report}\n```\n"),
    );
    let submit = ["task", "submit", "T1", "--result", "done.md", "--as", "dev"];
    let task = sandbox.json(&submit)["task"].clone();
    assert_eq!(
        (&task["status"], &task["pr"]),
        (&json!("review"), &json!("https://x.org/a/b/pull/7"))
    );
    let noted = sandbox.json(&["event", "list", "--task", "T1"]).to_string();
    assert!(noted.contains("The retry has no limit"), "{noted}");
    sandbox.json(&["task", "start", "T2", "--as", "dev"]);
    sandbox.write(
        "stuck.json",
        "{\"status\":\"NEEDS_CONTEXT\",\"concerns\":[\"Which key signs the tokens?\"]}",
    );
    let apply = ["contract", "apply", "stuck.json", "--task", "T2", "--as", "dev"];
    assert_eq!(sandbox.json(&apply)["applied"][0]["task"]["status"], "blocked");
    let asked = sandbox.json(&["decision", "list"])["decisions"].clone();
    assert!(asked.to_string().contains("Which key signs the tokens?"), "{asked}");
}

#[test]
fn the_same_review_in_a_later_round_sends_the_work_back_again() {
    let sandbox = Sandbox::new();
    in_review(&sandbox);
    sandbox.write("review.json", REVIEWER);
    let apply = || {
        let args = ["contract", "apply", "review.json", "--task", "T1"];
        sandbox.comity().by("rev").args(&args).json()["applied"][0]["task"].clone()
    };
    let status = || sandbox.json(&["task", "show", "T1"])["task"]["status"].clone();
    let first = apply();
    assert_eq!(first["status"], "changes_requested");
    assert_eq!(apply(), first, "the same call again");
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    sandbox.json(&["task", "submit", "T1", "--as", "dev"]);
    assert_eq!(apply()["round"], 2);
    assert_eq!(status(), "changes_requested");
}

#[test]
fn every_report_can_come_from_stdin() {
    let sandbox = Sandbox::new();
    let task = || sandbox.json(&["task", "create", "one", "--deliverable", "none"]);
    let apply = |id: &str, text: &str| {
        let args = ["contract", "apply", "-", "--task", id];
        sandbox.comity().by("dev").args(&args).stdin(text).json()
    };
    for (id, text, status) in [
        ("T1", "{\"task_id\":\"T1\",\"status\":\"DONE\"}", "review"),
        ("T2", "status: success\npr_url: https://x.org/1\n", "review"),
        ("T3", "status: blocked\nreason: stuck\nrequest: Which?\n", "blocked"),
        ("T4", "{\"summary\":\"s\",\"commands_run\":[]}", "review"),
    ] {
        task();
        sandbox.json(&["task", "start", id, "--as", "dev"]);
        assert_eq!(apply(id, text)["applied"][0]["task"]["status"], status, "{text}");
    }
    let scouted = sandbox.comity().args(&["contract", "apply", "-"]).stdin(SCOUT).json();
    assert_eq!(scouted["kind"], "scout");
    task();
    sandbox.json(&["task", "start", "T5", "--as", "dev"]);
    let args = ["contract", "apply", "-", "--task", "T5"];
    let report = "{\"task_id\":\"T5\",\"status\":\"DONE\"}";
    let done = sandbox.comity().by("dev").args(&args).stdin(report).done();
    assert_eq!((done.exit, done.stdout.as_str()), (0, "T5 is review now\n"));
}

#[test]
fn a_report_is_found_before_code_that_follows_it() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one", "--deliverable", "none"]);
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    let report = "```json\n{\"task_id\":\"T1\",\"status\":\"DONE\"}\n```";
    sandbox.write("done.md", &format!("Done.\n\n{report}\n\n```\nwarning: unused\n```\n"));
    let submit = ["task", "submit", "T1", "--result", "done.md", "--as", "dev"];
    assert_eq!(sandbox.json(&submit)["task"]["status"], "review");
}

#[test]
fn the_commit_and_branch_that_a_developer_reports_are_what_is_handed_in() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one"]);
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "feat/other"]);
    let wanted = sandbox.work();
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    let submit = |commit: &str| {
        let report = format!(
            "{{\"task_id\":\"T1\",\"status\":\"DONE\",\"commit\":\"{commit}\",\"branch\":\"feat/other\"}}"
        );
        let args = ["task", "submit", "T1", "--result", "-"];
        sandbox.comity().by("dev").args(&args).stdin(&report)
    };
    let task = submit(&wanted).json()["task"].clone();
    assert_eq!((&task["commit"], &task["branch"]), (&json!(wanted), &json!("feat/other")));
}

#[test]
fn a_plan_hands_in_the_commit_of_its_last_task_and_claims_its_tests() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one", "--gate", "tests"]);
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "feat/other"]);
    let (first, last) = (sandbox.work(), sandbox.work());
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    let step = |id: &str, commit: &str| json!({"task_id": id, "status": "DONE", "commit": commit});
    let report = json!({"tasks": [step("T1", &first), step("T2", &last)], "tests": "all passing"});
    let submit = ["task", "submit", "T1", "--result", "-"];
    let call = sandbox.comity().by("dev").args(&submit).stdin(&report.to_string());
    let task = call.json()["task"].clone();
    assert_eq!(task["commit"], json!(last));
    let gate = &task["gates"][0];
    assert_eq!((&gate["state"], &gate["tier"]), (&json!("met"), &json!("claimed")));
}

#[test]
fn a_message_of_a_supervisor_hands_in_or_uses_an_attempt() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one"]);
    let submit = |message: serde_json::Value| {
        sandbox.json(&["task", "start", "T1", "--as", "dev"]);
        sandbox.work();
        let args = ["contract", "apply", "-", "--task", "T1"];
        let call = sandbox.comity().by("dev").args(&args).stdin(&message.to_string());
        call.json()["applied"][0]["task"].clone()
    };
    let failed = submit(json!({"type": "failed", "supervisorId": "s", "error": "out of budget"}));
    assert_eq!((&failed["status"], &failed["attempts"]), (&json!("failed"), &json!(1)));
    let url = "https://github.com/o/r/pull/42";
    let done = json!({"type": "complete", "supervisorId": "s", "summary": "ok", "evidence": [url]});
    let done = submit(done);
    assert_eq!((&done["status"], &done["pr"]), (&json!("review"), &json!(url)));
}

#[test]
fn a_commit_that_git_does_not_know_is_remarked_and_what_is_there_is_handed_in() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one"]);
    sandbox.json(&["task", "start", "T1", "--as", "dev"]);
    let head = sandbox.work();
    let report = "{\"task_id\":\"T1\",\"status\":\"DONE\",\"commit\":\"deadbeef\",\"branch\":\"feat/other\"}";
    let args = ["task", "submit", "T1", "--result", "-", "--json"];
    let done = sandbox.comity().by("dev").args(&args).stdin(report).done();
    let task = done.json()["task"].clone();
    assert_eq!((&task["commit"], &task["branch"]), (&json!(head), &json!("main")));
    for name in ["commit deadbeef", "branch feat/other"] {
        let said = format!("git does not know the {name}");
        assert!(done.stderr.contains(&said), "{}", done.stderr);
    }
}
