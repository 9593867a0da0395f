//! Contracts, comments and labels of other protocols, in and out.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

const TASK: &str = include_str!("../../../protocol/tests/golden/neomjs/task.yaml");
const PERSON: &str = "human:ann";

fn rendered(sandbox: &Sandbox, kind: &str, id: &str) -> String {
    let answer = sandbox.json(&["contract", "render", kind, id]);
    assert_eq!(answer["kind"], kind);
    answer["text"].as_str().unwrap().to_owned()
}

fn working(sandbox: &Sandbox) {
    sandbox.json(&["task", "create", "Dark mode"]);
    sandbox.comity().args(&["task", "start", "T1"]).by("dev.1").json();
}

fn failed_three_times(sandbox: &Sandbox) {
    sandbox.json(&["task", "create", "--contract", "task.yaml"]);
    for attempt in 1..=3 {
        sandbox.comity().args(&["task", "start", "T1"]).by("dev.1").json();
        let reason = format!("Error: no #toggle ({attempt})\n  at Main.mjs:20");
        sandbox.comity().args(&["task", "fail", "T1", "--reason", &reason]).by("dev.1").json();
    }
}

#[test]
fn a_contract_becomes_a_task_and_comes_back_word_for_word() {
    let sandbox = Sandbox::new();
    sandbox.write("task.yaml", TASK);
    let made = sandbox.json(&["task", "create", "--contract", "task.yaml"]);
    let task = &made["task"];
    assert_eq!(task["title"], "Implement the \"Dark Mode Toggle\" in the MainView.");
    assert_eq!(task["role"], "implementer");
    assert_eq!(task["type"], "implementation");
    assert_eq!(task["files"], json!(["src/view/Main.mjs", "resources/scss/theme-dark.scss"]));
    assert_eq!(rendered(&sandbox, "neo-task", "T1"), TASK);
    let plain = sandbox.comity().args(&["contract", "render", "neo-task", "T1"]).done();
    assert_eq!(plain.stdout, TASK);
    let spaced = format!("{TASK}\n\n");
    sandbox.comity().args(&["task", "create", "--contract", "-"]).stdin(&spaced).json();
    let plain = sandbox.comity().args(&["contract", "render", "neo-task", "T2"]).done();
    assert_eq!(plain.stdout, spaced, "blank lines at the end, too");
}

#[test]
fn options_beside_a_contract_count_and_a_comment_from_stdin_is_unwrapped() {
    let sandbox = Sandbox::new();
    let quoted: String = TASK.lines().map(|line| format!("> ✦ {line}\n")).collect();
    let comment = format!("**Input from gemini:**\n\n{quoted}");
    let made = sandbox
        .comity()
        .args(&[
            "task",
            "create",
            "Toggle",
            "--contract",
            "-",
            "--priority",
            "P0",
            "--require",
            "fast",
        ])
        .stdin(&comment)
        .json();
    assert_eq!(made["task"]["title"], "Toggle");
    assert_eq!(made["task"]["priority"], "P0");
    assert_eq!(made["task"]["requirements"].as_array().unwrap().len(), 4);
    assert!(rendered(&sandbox, "neo-task", "T1").contains("Implement the \"Dark Mode Toggle\""));
}

#[test]
fn a_contract_that_is_not_valid_makes_no_task_and_all_its_problems_are_listed() {
    let sandbox = Sandbox::new();
    sandbox.write("task.yaml", "version: 1.0\nrole: king\ngoal: it\n");
    let (error, exit) =
        sandbox.comity().args(&["task", "create", "--contract", "task.yaml"]).refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("contract-invalid", 3));
    assert!(
        error["message"].as_str().unwrap().contains("line 2, column 7: role must be pm, dev, qa")
    );
    let problems = error["details"]["problems"].as_array().unwrap();
    let messages: Vec<&str> = problems.iter().map(|p| p["message"].as_str().unwrap()).collect();
    assert!(
        messages.contains(&"requirements is missing: what the result must satisfy"),
        "{messages:?}"
    );
    assert_eq!(sandbox.json(&["task", "list"])["tasks"], json!([]));
    assert_eq!(sandbox.refused(&["task", "create"]), ("invalid-input".into(), 2));
    let answer = sandbox.comity().args(&["contract", "validate", "task.yaml", "--json"]).done();
    assert_eq!(answer.exit, 2);
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answer["kind"], "neo-task");
}

#[test]
fn every_kind_has_a_schema() {
    let sandbox = Sandbox::new();
    for kind in ["neo-task", "neo-result", "neo-error"] {
        let answer = sandbox.json(&["contract", "schema", kind]);
        assert_eq!(answer["schema"]["type"], "object", "{kind}");
    }
}

#[test]
fn a_plan_becomes_the_tasks_of_an_epic_or_nothing() {
    let sandbox = Sandbox::new();
    let item = |extra: &str| {
        format!(
            "- version: 1.0\n  type: implementation\n  role: dev\n  requirements: [tested]\n{extra}"
        )
    };
    let plan = format!(
        "{}{}",
        item("  key: ui\n  goal: Build the toggle\n  depends_on: [store]\n"),
        item("  key: store\n  goal: Keep the state\n  priority: high\n"),
    );
    sandbox.write("plan.yaml", &plan);
    let made = sandbox.json(&["task", "breakdown", "plan.yaml", "--epic", "E7"]);
    let tasks = made["tasks"].as_array().unwrap();
    assert_eq!(tasks[0]["title"], "Build the toggle");
    assert_eq!(tasks[0]["dependencies"], json!([tasks[1]["id"]]));
    assert_eq!(tasks[1]["priority"], "P1");
    assert_eq!(tasks[0]["epic"], "E7");
    let head = sandbox.head();
    sandbox.write("plan.yaml", &format!("{plan}{}", item("  goal: No\n  depends_on: [T99]\n")));
    assert_eq!(sandbox.refused(&["task", "breakdown", "plan.yaml"]), ("not-found".into(), 4));
    sandbox.write("plan.yaml", &format!("{plan}- goal: half\n"));
    assert_eq!(
        sandbox.refused(&["task", "breakdown", "plan.yaml"]),
        ("contract-invalid".into(), 3)
    );
    sandbox.write("plan.yaml", &plan.replace("goal: Keep the state", "goal: x\n  depends_on: ui"));
    assert_eq!(
        sandbox.refused(&["task", "breakdown", "plan.yaml"]),
        ("dependency-cycle".into(), 3)
    );
    assert_eq!(sandbox.head(), head, "nothing was made");
}

#[test]
fn a_blocked_task_asks_in_a_comment_and_a_full_answer_resumes_it() {
    let sandbox = Sandbox::new();
    working(&sandbox);
    let questions = ["Opt-in or default?", "Which colours?"];
    let block = [
        "task",
        "block",
        "T1",
        "--needs",
        "answers",
        "--question",
        questions[0],
        "--question",
        questions[1],
    ];
    sandbox.comity().args(&block).by("dev.1").json();
    let asked = rendered(&sandbox, "ace-blocked", "T1");
    assert_eq!(
        asked,
        "BLOCKED:\n\n- Question 1: Opt-in or default?\n- Question 2: Which colours?\n\nReply with \
         `ANSWER:` followed by your responses when ready."
    );
    let own = sandbox
        .comity()
        .args(&["task", "answer", "T1", "--comment", "-"])
        .by(PERSON)
        .stdin(&asked)
        .refusal();
    assert_eq!(own.1, 2, "the question is no answer: {}", own.0);
    let half = "Thanks.\n\nANSWER:\n\n- Answer to question 2: those of the theme\n";
    let by_hand = |text: &str| {
        sandbox.comity().args(&["task", "answer", "T1", "--comment", "-"]).by(PERSON).stdin(text)
    };
    assert_eq!(by_hand(half).json()["task"]["status"], "blocked");
    let agent = ["task", "answer", "T1", "1. yes"];
    let (error, exit) = sandbox.comity().args(&agent).by("dev.1").refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("role-forbidden", 3));
    sandbox.write("answer.md", "> Opt-in?\n\nANSWER:\n1. opt-in\n");
    let full = ["task", "answer", "T1", "--comment", "answer.md", "--idempotency-key", "k"];
    let answered = sandbox.comity().args(&full).by(PERSON).json();
    assert_eq!(answered["task"]["status"], "queued");
    assert_eq!(sandbox.comity().args(&full).by(PERSON).json(), answered, "the same again");
    assert_eq!(sandbox.json(&["decision", "show", "D1"])["decision"]["answer"], "opt-in");
    let claim = sandbox.comity().args(&["task", "claim", "T1"]).by("dev.1").json();
    let instruction = claim["mission"]["instruction"].as_str().unwrap();
    assert!(instruction.contains("Which colours? — those of the theme"), "{instruction}");
    let (error, exit) = by_hand("ANSWER: late").refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("invalid-transition", 3));
}

#[test]
fn the_comments_of_a_tasks_life_are_written_from_it() {
    let sandbox = Sandbox::new();
    working(&sandbox);
    let claim = rendered(&sandbox, "ace-claim", "T1");
    assert!(claim.starts_with("**Agent Claim**\n\n- Agent ID: dev.1\n- Host: "), "{claim}");
    assert!(claim.contains("\n- Branch: feat/T1-dark-mode\n"), "{claim}");
    let worker = rendered(&sandbox, "ace-task", "T1");
    assert!(
        worker.starts_with(
            "# T1\n\nDark mode\n\n## Rules\n\n- Work on the branch `feat/T1-dark-mode`;"
        )
    );
    assert_eq!(sandbox.refused(&["contract", "render", "ace-done", "T1"]).1, 3);
    assert_eq!(sandbox.refused(&["contract", "render", "neo-error", "T1"]).1, 3);
    assert_eq!(sandbox.refused(&["contract", "render", "neo-result", "T1"]).1, 3);
    assert_eq!(sandbox.refused(&["contract", "render", "ace-poem", "T1"]).1, 2);
    let url = "https://github.com/o/r/pull/5";
    sandbox.work();
    sandbox.comity().args(&["task", "submit", "T1", "--pr", url]).by("dev.1").json();
    assert_eq!(rendered(&sandbox, "ace-done", "T1"), "PR opened: #5");
    let result = rendered(&sandbox, "neo-result", "T1");
    assert_eq!(result, format!("# AGENT RESULT CONTRACT\nstatus: success\npr_url: \"{url}\"\n"));
    sandbox.write(".comity/config.toml", "[labels]\ndialect = 'ace-project'\n");
    let done = rendered(&sandbox, "ace-done", "T1");
    assert_eq!(done, format!("**Agent Complete**\n\nPR: #5\nURL: {url}\n\nStatus: Done\n"));
}

#[test]
fn labels_are_those_of_the_projects_dialect() {
    let sandbox = Sandbox::new();
    sandbox.write("task.yaml", TASK);
    sandbox.json(&["task", "create", "--contract", "task.yaml"]);
    let labels = || sandbox.json(&["contract", "render", "labels", "T1"])["labels"].clone();
    assert_eq!(labels(), json!(["agent-task:pending", "agent-role:dev"]));
    sandbox.write(".comity/config.toml", "[labels]\ndialect = 'ace'\n");
    assert_eq!(labels(), json!(["agent:ready"]));
    sandbox.write(
        ".comity/config.toml",
        "[labels.states]\nqueued = 'todo'\nin_progress = 'doing'\nreview = 'look'\ndone = 'shipped'\nblocked = \
         'stuck'\n[labels.roles]\nimplementer = 'for: agents'\n",
    );
    assert_eq!(labels(), json!(["todo", "for: agents"]));
    sandbox.write(".comity/config.toml", "[labels.states]\nqueued = 'todo'\n");
    let (error, exit) = sandbox.comity().args(&["task", "list"]).refusal();
    assert_eq!(exit, 2);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("config.toml:1: key labels.states: the state in_progress has no word"),
        "{message}"
    );
}

#[test]
fn after_the_third_failure_a_person_sees_everything_and_lets_the_task_go_on() {
    let sandbox = Sandbox::new();
    sandbox.write("task.yaml", TASK);
    failed_three_times(&sandbox);
    assert_eq!(
        rendered(&sandbox, "neo-error", "T1"),
        "# AGENT ERROR REPORT\nstatus: blocked\nreason: \"3 attempts failed\"\nerror_log: |\n  Error: no \
         #toggle (3)\n    at Main.mjs:20\nattempts: 3\nrequest: \"Decide what to do with T1: retry, split or \
         abandon.\"\n"
    );
    let shown = sandbox.json(&["task", "intervene", "T1"]);
    assert_eq!(shown["contract"], TASK);
    assert_eq!(shown["events"].as_array().unwrap().len(), 5);
    assert_eq!(shown["questions"][0]["id"], "D1");
    assert!(shown["error"].as_str().unwrap().contains("attempts: 3"));
    let feedback = ["task", "intervene", "T1", "--feedback", "The button is #toggle-2"];
    let (error, exit) = sandbox.comity().args(&feedback).by("dev.1").refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("human-only", 3));
    let task = sandbox.comity().args(&feedback).by(PERSON).json()["task"].clone();
    assert_eq!((task["status"].as_str().unwrap(), &task["attempts"]), ("queued", &json!(0)));
    let claim = sandbox.comity().args(&["task", "claim", "T1"]).by("dev.1").json();
    assert!(claim["mission"]["instruction"].as_str().unwrap().contains("The button is #toggle-2"));
}

#[test]
fn a_stuck_task_is_shown_in_words() {
    let sandbox = Sandbox::new();
    sandbox.write("task.yaml", TASK);
    failed_three_times(&sandbox);
    insta::assert_snapshot!(sandbox.screen(&["task", "intervene", "T1"]));
}

#[test]
fn a_result_contract_hands_in_with_pull_request_and_claimed_evidence() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Dark mode", "--gate", "tests"]);
    sandbox.comity().args(&["task", "start", "T1"]).by("dev.1").json();
    sandbox.work();
    let url = "https://github.com/neomjs/neo/pull/456";
    let comment = format!(
        "**Input from dev:**\n\n> ✦ # AGENT RESULT CONTRACT\n> ✦ status: success\n> ✦ pr_url: \"{url}\"\n> ✦ \
         test_results: \"Passed (3/3)\"\n"
    );
    let submit = ["task", "submit", "T1", "--result", "-"];
    let task = sandbox.comity().args(&submit).by("dev.1").stdin(&comment).json()["task"].clone();
    assert_eq!((task["status"].as_str().unwrap(), task["pr"].as_str().unwrap()), ("review", url));
    let gate = &task["gates"][0];
    assert_eq!((gate["state"].as_str().unwrap(), &gate["tier"]), ("met", &json!("claimed")));
    assert_eq!(gate["commit"], task["commit"], "evidence is for what was handed in");
    let result = rendered(&sandbox, "neo-result", "T1");
    assert!(result.contains("test_results: \"Passed (3/3)\""), "{result}");
}

#[test]
fn a_result_whose_tests_failed_leaves_the_gate_unmet() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Dark mode", "--gate", "tests"]);
    sandbox.comity().args(&["task", "start", "T1"]).by("dev.1").json();
    sandbox.work();
    sandbox.write("result.yaml", "status: success\ntest_results: Failed (1/3)\n");
    let submit = ["task", "submit", "T1", "--result", "result.yaml"];
    let task = sandbox.comity().args(&submit).by("dev.1").json()["task"].clone();
    assert_eq!(task["gates"][0]["state"], "failed");
    let (error, _) = sandbox.comity().args(&["task", "approve", "T1"]).by(PERSON).refusal();
    assert_eq!(error["code"], "gate-unmet");
}

#[test]
fn a_comment_that_names_the_pull_request_hands_in() {
    let sandbox = Sandbox::new();
    working(&sandbox);
    sandbox.work();
    let submit = ["task", "submit", "T1", "--result", "-"];
    let call = sandbox.comity().args(&submit).by("dev.1");
    let task = call.stdin("PR Created: https://example.org/pull/9\n").json()["task"].clone();
    assert_eq!(task["status"], "review");
    assert_eq!(task["pr"], "https://example.org/pull/9");
}

#[test]
fn an_error_report_blocks_the_task_with_its_request_as_the_question() {
    let sandbox = Sandbox::new();
    working(&sandbox);
    let report = include_str!("../../../protocol/tests/golden/neomjs/error.yaml");
    let submit = ["task", "submit", "T1", "--result", "-"];
    let call = sandbox.comity().args(&submit).by("dev.1");
    assert_eq!(call.stdin(report).json()["task"]["status"], "blocked");
    let decision = sandbox.json(&["decision", "show", "D1"])["decision"].clone();
    assert_eq!(decision["question"], "Please clarify the selector for the toggle button.");
    let about =
        "Test failure loop\n\nError: Element not found #my-button\nat test/spec/Main.mjs:20";
    assert_eq!(decision["context"], about, "who answers sees why");
    let answer = ["task", "answer", "T1", "It is #toggle"];
    let task = sandbox.comity().args(&answer).by(PERSON).json()["task"].clone();
    assert_eq!(task["status"], "queued");
}

#[test]
fn an_agent_cannot_push_to_a_protected_branch_and_can_push_its_own() {
    let sandbox = Sandbox::new();
    let there = sandbox.outside().join("there.git");
    let there = there.display().to_string();
    sandbox.git(&sandbox.root, &["init", "--quiet", "--bare", &there]);
    sandbox.git(&sandbox.root, &["remote", "add", "origin", &there]);
    let hook = sandbox.root.join(".git/hooks/pre-push");
    let binary = env!("CARGO_BIN_EXE_comity");
    let script = format!("#!/bin/sh\nexec '{binary}' --as dev.1 guard push \"$@\"\n");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, script).unwrap();
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let refused = sandbox.git_fails(&sandbox.root, &["push", "origin", "main"]);
    assert!(refused.contains("dev.1 may not push to main directly"), "{refused}");
    sandbox.git(&sandbox.root, &["push", "--quiet", "origin", "main:refs/heads/feat/issue-1"]);
    let guard = |who: &str, text: &str| {
        sandbox.comity().args(&["guard", "push", "origin", "url"]).by(who).stdin(text)
    };
    let line = "refs/heads/x 1 refs/heads/master 0\n";
    let (error, exit) = guard("dev.1", line).refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("human-only", 3));
    assert_eq!(guard(PERSON, line).json()["ok"], true);
    assert_eq!(guard("dev.1", "what\n").refusal().1, 2);
    sandbox.write(".comity/config.toml", "[branch]\nprotected = ['release']\n");
    assert_eq!(guard("dev.1", line).json()["refs"], json!(["refs/heads/master"]));
    assert_eq!(guard("dev.1", &line.replace("master", "release")).refusal().1, 3);
}

#[test]
fn files_that_a_result_lists_are_held_against_the_real_diff() {
    let sandbox = Sandbox::new();
    working(&sandbox);
    sandbox.write("src/new.rs", "fn main() {}\n");
    sandbox.commit(&sandbox.root, "Work");
    let result = |files: &str| format!("status: success\nfiles_modified: [{files}]\n");
    let submit = |text: &str| {
        let submit = ["task", "submit", "T1", "--result", "-"];
        sandbox.comity().args(&submit).by("dev.1").stdin(text)
    };
    let (error, exit) = submit(&result("src/other.rs")).refusal();
    assert_eq!(exit, 3, "{error}");
    assert!(
        error.to_string().contains("src/new.rs is created, but the result does not list it"),
        "{error}"
    );
    assert_eq!(submit(&result("src/new.rs")).json()["task"]["status"], "review");
    let written = rendered(&sandbox, "neo-result", "T1");
    assert!(
        written.ends_with("status: success\nfiles_modified:\n  - \"src/new.rs\"\n"),
        "{written}"
    );
}

#[test]
fn what_a_worn_out_task_asks_is_answered_like_any_question() {
    let sandbox = Sandbox::new();
    sandbox.write("task.yaml", TASK);
    failed_three_times(&sandbox);
    let answer = |text: &str| sandbox.comity().args(&["task", "answer", "T1", text]).by(PERSON);
    let (error, exit) = answer("maybe").refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("invalid-answer", 3));
    assert_eq!(answer("retry: with the other selector").json()["task"]["status"], "queued");
}

#[test]
fn the_hand_over_file_of_a_worker_hands_in_or_asks() {
    let sandbox = Sandbox::new();
    working(&sandbox);
    let submit = |text: &str| {
        sandbox.write("ACE_TASK_DONE.json", text);
        sandbox
            .comity()
            .args(&["task", "submit", "T1", "--result", "ACE_TASK_DONE.json"])
            .by("dev.1")
    };
    let refused =
        r#"{"task_id":"T1","summary":"I'm sorry, no","files_changed":[],"commands_run":[]}"#;
    let (error, exit) = submit(refused).refusal();
    assert_eq!((error["code"].as_str().unwrap(), exit), ("contract-invalid", 3));
    let asks = r#"{"task_id":"T1","summary":"s","commands_run":[],"blocked":true,"blocked_questions":["Which?"]}"#;
    assert_eq!(submit(asks).json()["task"]["status"], "blocked");
    assert_eq!(sandbox.json(&["decision", "show", "D1"])["decision"]["question"], "Which?");
}

#[test]
fn a_mission_becomes_a_task() {
    let sandbox = Sandbox::new();
    let mission = "version: '1'\ntask_id: T042\nepic_id: E007\nprd_id: PRD-0\ninstruction: |\n  Parse dates\n\n  \
        All of them.\ncontext:\n  dev_md: /haven/DEV.md\n  epic_file: docs/epic.md\n  task_file: docs/task.md\n  \
        memory: null\nconstraints:\n  max_files: 3\n  no_git_commit: true\ntimeout: 600\n";
    sandbox.write("mission.yaml", mission);
    let made = sandbox.json(&["task", "create", "--contract", "mission.yaml"])["task"].clone();
    assert_eq!((&made["id"], &made["number"]), (&json!("T042"), &json!(42)), "{made}");
    assert_eq!(
        (&made["title"], &made["description"]),
        (&json!("Parse dates"), &json!("All of them."))
    );
    assert_eq!((&made["epic"], &made["prd"]), (&json!("E007"), &Value::Null));
    let again = sandbox.json(&["contract", "render", "mission", "T042"]);
    let again = again.get("mission").unwrap_or(&again);
    assert_eq!(again["task_id"], "T042");
    assert_eq!(
        (&again["timeout"], &again["context"]["epic_file"]),
        (&json!(600), &json!("docs/epic.md"))
    );
    let limits = json!({"max_files": 3, "no_git_commit": true, "no_new_deps": false});
    assert_eq!(again["constraints"], limits);
    let args = ["task", "create", "--contract", "mission.yaml"];
    assert_eq!(sandbox.comity().args(&args).refusal().0["code"], "duplicate-id");
    let args =
        ["task", "create", "Mine", "--id", "T7", "--contract", "mission.yaml", "--max-files", "9"];
    let made = sandbox.json(&args)["task"].clone();
    assert_eq!((&made["id"], &made["title"]), (&json!("T7"), &json!("Mine")));
    assert_eq!(made["description"], "Parse dates\n\nAll of them.");
    assert_eq!(made["constraints"]["max_files"], 9);
    sandbox.write("mission.yaml", &mission.replace("E007", "seven"));
    let (error, exit) = sandbox.comity().args(&args).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3), "{error}");
}

/// An issue's file with this front matter.
fn issue_file(front: &str) -> String {
    format!("---\ntitle: Dark mode\n{front}---\n{TASK}")
}

#[test]
fn an_issue_keeps_its_state_as_far_as_the_caller_may_take_it_over() {
    let sandbox = Sandbox::new();
    let made = |agent: &str, front: &str| {
        sandbox.write("issue.md", &issue_file(front));
        let args = ["task", "create", "--contract", "issue.md"];
        sandbox.comity().by(agent).args(&args).json()["task"].clone()
    };
    let closed = "state: CLOSED\nstateReason: COMPLETED\nlabels: [agent-task:completed]\n";
    assert_eq!(made("human:ann", closed)["status"], "done");
    let kept = made("ada", closed);
    assert_eq!(kept["status"], "blocked", "an implementer takes no state over");
    assert!(kept["needs"].as_str().unwrap().starts_with("done in issue.md"), "{kept}");
    let given_up = "state: closed\nstateReason: NOT_PLANNED\n";
    assert_eq!(made("human:ann", given_up)["status"], "abandoned");
    assert_eq!(made("human:ann", "state: OPEN\nlabels: [agent-task:review]\n")["status"], "review");
    assert_eq!(made("ada", "state: OPEN\nlabels: [agent-task:in-progress]\n")["status"], "blocked");
    assert_eq!(made("ada", "state: OPEN\nlabels: [agent-task:pending]\n")["status"], "queued");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn the_labels_of_a_task_are_written_with_it() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Dark mode", "--label", "ai-generated", "--label", "ui"]);
    let labels = sandbox.json(&["contract", "render", "labels", "T1"])["labels"].clone();
    assert_eq!(labels, json!(["agent-task:pending", "ai-generated", "ui"]));
    let text = rendered(&sandbox, "neo-task", "T1");
    let front = "---\nlabels:\n  - ai-generated\n  - ui\n---\n# AGENT TASK CONTRACT\n";
    assert!(text.starts_with(front), "{text}");
    let answer = sandbox.json(&["contract", "render", "neo-task", "T1"]);
    assert!(answer["yaml"].as_str().unwrap().starts_with("# AGENT TASK CONTRACT\n"), "{answer}");
    let front = "labels:\n  - agent-role:dev\n  - ai-generated\nassignees: [ann]\n";
    sandbox.write("issue.md", &issue_file(front));
    sandbox.json(&["task", "create", "--contract", "issue.md"]);
    assert_eq!(rendered(&sandbox, "neo-task", "T2"), issue_file(front), "as it came");
    sandbox.json(&["task", "update", "T2", "--label", "ui"]);
    let now = sandbox.json(&["task", "show", "T2"])["task"]["labels"].clone();
    let text = rendered(&sandbox, "neo-task", "T2");
    sandbox.write("again.md", &text);
    let again = sandbox.json(&["task", "create", "--contract", "again.md"])["task"].clone();
    assert_eq!(again["labels"], now, "{text}");
    assert!(text.contains("agent-role:dev") && text.contains("assignees: [ann]"), "{text}");
}
