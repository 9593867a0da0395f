//! Who may do what from GitHub, and what becomes of the wishes of others.

use crate::{field, field_of};
use comity_standin::{AGENT, ANN, Engine, Field, Seed, at};
use serde_json::{Value, json};

fn close(field: &Field, login: &str, reason: &str) {
    let body = json!({ "state": "closed", "state_reason": reason });
    field.hub.person(login, "PATCH", &at("issues/1"), body);
}

fn contract(extra: &str) -> String {
    format!(
        "```yaml\n# AGENT TASK CONTRACT\nversion: 1.0\ntype: implementation\nrole: dev\n{extra}\ngoal: >\n  \
         Implement it.\n\nrequirements:\n  - \"Has a test.\"\n```\n"
    )
}

fn deletable(engine: &Engine) -> Value {
    engine.task("T1")["constraints"]["allow_delete"].clone()
}

#[test]
fn the_author_may_close_an_issue_and_is_told_what_is_missing() {
    for reason in ["completed", "not_planned"] {
        let Some(field) = field("ace", "") else { return };
        let engine = field.engine("one");
        field.open("eve", "Dates", "Parse dates.", &[]);
        field.label("ann", 1, "agent:ready");
        engine.settle();
        close(&field, "eve", reason);
        engine.settle();
        engine.settle();
        assert_eq!(field.issue(1)["state"], "closed", "{reason}: it is not undone");
        let blockers = engine.task("T1")["blockers"].to_string();
        assert!(blockers.contains("closed on GitHub by eve"), "{reason}: {blockers}");
        let said = field.said(1);
        let told = said.iter().filter(|text| text.contains("may close it, but not finish")).count();
        assert_eq!(told, 1, "{reason}: {said:?}");
        assert_eq!(engine.sync()["writes"], 0);
    }
}

#[test]
fn a_strangers_contract_allows_no_deletions() {
    let text = contract("allow_delete:\n  - \"src/old/**\"");
    for (author, wanted) in [("ann", json!(["src/old/**"])), ("eve", json!([]))] {
        let Some(field) = field("neo", "") else { return };
        let engine = field.engine("one");
        field.open(author, "Dates", &text, &[]);
        field.label("ann", 1, "agent-task:pending");
        engine.settle();
        assert_eq!(engine.task("T1")["title"], "Dates", "{author}: the text is worked on");
        let found = deletable(&engine);
        assert_eq!(
            found.as_array().cloned().unwrap_or_default(),
            wanted.as_array().cloned().unwrap(),
            "{author}"
        );
    }
}

#[test]
fn an_edited_contract_is_taken_over_whole_and_a_broken_one_is_told_once() {
    let Some(field) = field("neo", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", &contract(""), &["agent-task:pending"]);
    engine.settle();
    let edit = |body: &str| {
        field.hub.person("ann", "PATCH", &at("issues/1"), json!({ "body": body }));
    };
    edit(&contract("allow_delete:\n  - \"src/old/**\"\ncontext:\n  theme: \"dark\""));
    engine.settle();
    let task = engine.task("T1");
    assert_eq!(
        (deletable(&engine), &task["context"]["theme"]),
        (json!(["src/old/**"]), &json!("dark"))
    );
    edit(&contract("").replace("role: dev", "role: [x"));
    let sync = engine.sync();
    assert!(sync["findings"].to_string().contains("no valid contract any more"), "{sync}");
    engine.settle();
    engine.json(ANN, &["github", "sync", "--full"]);
    engine.settle();
    let told = field.said(1).iter().filter(|text| text.contains("is not valid")).count();
    assert_eq!(told, 1, "{:?}", field.said(1));
    assert_eq!(deletable(&engine), json!(["src/old/**"]), "the task stays as it was");
}

#[test]
fn who_queued_the_work_is_asked_else_its_author() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &[]);
    field.label("bob", 1, "agent:ready");
    field.open("ann", "Times", "Do it.", &["bug"]);
    engine.settle();
    engine.json(ANN, &["import", "github", "2"]);
    engine.settle();
    for id in ["T1", "T2"] {
        engine.json(AGENT, &["task", "claim", id, "--start"]);
        engine.json(AGENT, &["task", "block", id, "--needs", "an answer", "--question", "Which?"]);
    }
    engine.settle();
    assert_eq!(field.assignees(1), ["bob", "comity-bot"]);
    assert_eq!(field.assignees(2), ["ann", "comity-bot"]);
}

#[test]
fn an_app_that_nobody_listed_asks_for_nothing() {
    let mut seed = Seed::default();
    seed.users.push("helper[bot]".to_owned());
    seed.levels.push(("ann/tool".to_owned(), "helper[bot]".to_owned(), "write".to_owned()));
    let Some(field) = field_of("ace", "", &seed) else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine.json(AGENT, &["task", "block", "T1", "--needs", "an answer", "--question", "Which?"]);
    engine.settle();
    field.say("helper[bot]", 1, "ANSWER:\n\n- Mine");
    field.label("helper[bot]", 1, "agent:done");
    let (inside, _) = engine.settle();
    assert!(inside.iter().all(|one| one["verdict"] == "ignored"), "{inside:?}");
    assert_eq!(
        (engine.status("T1").as_str(), field.labels(1)),
        ("blocked", vec!["agent:blocked".to_owned()])
    );
}

#[test]
fn a_part_of_the_answers_waits_for_the_rest() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    let ask = [
        "task",
        "block",
        "T1",
        "--needs",
        "answers",
        "--question",
        "Which?",
        "--question",
        "When?",
    ];
    engine.json(AGENT, &ask);
    engine.settle();
    field.say("ann", 1, "ANSWER:\n\n- Answer to question 2: Tomorrow");
    engine.settle();
    assert_eq!(engine.status("T1"), "blocked");
    field.say("ann", 1, "ANSWER:\n\n- Answer to question 1: This one");
    engine.settle();
    assert_ne!(engine.status("T1"), "blocked");
    let mission = engine.json(AGENT, &["task", "claim", "T1", "--start"]).to_string();
    assert!(mission.contains("Tomorrow") && mission.contains("This one"), "{mission}");
}

#[test]
fn the_token_of_the_process_enters_no_log() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    engine.json(ANN, &["task", "create", "Dates"]);
    let text = format!("I write with {}, see", engine.token);
    engine.json(AGENT, &["note", "discovery", &text, "--task", "T1"]);
    let log = engine.call(ANN, &["log"]).stdout;
    assert!(log.contains("known-secret") && !log.contains(&engine.token), "{log}");
}
