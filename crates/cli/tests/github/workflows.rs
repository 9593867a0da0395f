//! A team labels an issue; an agent takes it, asks, is answered, delivers; people use clients that nobody here wrote.

use crate::field;
use comity_standin::{AGENT, ANN, Engine, Field, REPO, at, operations};
use serde_json::{Value, json};

fn octokit(field: &Field, args: &[&str]) -> Value {
    serde_json::from_str(&field.hub.script("person.mjs", args).unwrap()).unwrap()
}

fn pygithub(field: &Field, args: &[&str]) -> Value {
    serde_json::from_str(&field.hub.script("person.py", args).unwrap()).unwrap()
}

#[test]
fn an_issue_is_taken_asked_about_answered_and_reviewed_in_the_words_of_ace() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    octokit(
        &field,
        &["ann", REPO, "open", "Parse dates", "Parse dates in the log.", "agent:ready"],
    );
    let sync = engine.sync();
    assert_eq!(
        (&sync["in"][0]["issue"], &sync["in"][0]["verdict"]),
        (&json!("ann/tool#1"), &json!("applied")),
        "{sync}"
    );
    let task = engine.json(AGENT, &["task", "claim", "--start"])["task"].clone();
    let id = task["id"].as_str().unwrap();
    assert_eq!(
        (task["title"].as_str(), task["status"].as_str()),
        (Some("Parse dates"), Some("in_progress"))
    );
    engine.settle();
    assert_eq!(
        (field.labels(1), field.assignees(1)),
        (vec!["agent:in-progress".to_owned()], vec!["comity-bot".to_owned()])
    );
    assert!(field.said(1)[0].contains("**Agent Claim**"), "{:?}", field.said(1));
    engine.json(
        AGENT,
        &["task", "block", id, "--needs", "an answer", "--question", "Which time zone?"],
    );
    engine.settle();
    assert_eq!(field.labels(1), ["agent:blocked"]);
    assert!(field.assignees(1).contains(&"ann".to_owned()), "who queued it is asked");
    assert!(
        field.said(1).last().unwrap().starts_with("BLOCKED:\n\n- Question 1: Which time zone?\n"),
        "{:?}",
        field.said(1)
    );
    pygithub(&field, &["ann", REPO, "say", "1", "ANSWER:\r\n\r\n- Answer to question 1: UTC"]);
    engine.settle();
    assert!(
        !field.labels(1).contains(&"agent:blocked".to_owned())
            && !field.assignees(1).contains(&"ann".to_owned())
    );
    let again = engine.json(AGENT, &["task", "claim", "--start"]);
    assert_eq!(again["task"]["id"], id);
    assert!(again.to_string().contains("UTC"), "the answer is in the mission: {again}");
    engine.settle();
    assert!(
        field.said(1).iter().any(|text| text.contains("**Agent Resuming**")),
        "{:?}",
        field.said(1)
    );
    delivered(&field, &engine, id, again["branch"].as_str().unwrap());
}

/// From the work to the review.
fn delivered(field: &Field, engine: &Engine, id: &str, branch: &str) {
    assert_eq!(branch, "agent/1-parse-dates");
    let commit = engine.work(branch, "src/dates.rs");
    engine.json(AGENT, &["task", "submit", id]);
    engine.json(ANN, &["github", "pr", id]);
    engine.settle();
    assert_eq!(field.labels(1), ["agent:done"]);
    let pull = field.hub.person("ann", "GET", &at("pulls"), Value::Null)[0].clone();
    assert_eq!(pull["head"]["sha"], commit.as_str());
    let number = pull["number"].to_string();
    octokit(field, &["ann", REPO, "review", &number, "APPROVE", "Good"]);
    engine.settle();
    assert_eq!(engine.status(id), "approved");
    // Everything was said once, and a further pass has nothing to say.
    let all: Vec<String> = field.said(1).iter().flat_map(|text| operations(text)).collect();
    let mut once = all.clone();
    once.sort();
    once.dedup();
    assert_eq!(
        (all.len(), field.said(1).iter().all(|text| !operations(text).is_empty())),
        (once.len(), true),
        "{all:?}"
    );
    assert_eq!(engine.sync()["writes"], 0);
}

const CONTRACT: &str = r#"```yaml
# AGENT TASK CONTRACT
version: 1.0
type: implementation
role: dev

goal: >
  Implement the "Dark Mode Toggle" in the MainView.

context:
  files:
    - "src/view/Main.mjs"

requirements:
  - "Must use CSS variables for colors."
```
"#;

#[test]
fn an_issue_with_a_contract_is_claimed_in_the_words_of_neo() {
    let Some(field) = field("neo", "") else { return };
    let engine = field.engine("one");
    pygithub(
        &field,
        &[
            "ann",
            REPO,
            "open",
            "Dark mode",
            CONTRACT,
            "agent-task:pending",
            "agent-role:dev",
            "theme",
        ],
    );
    engine.settle();
    let task = engine.json(AGENT, &["task", "claim", "--start"]);
    assert_eq!(task["branch"], "feat/issue-1");
    engine.settle();
    assert_eq!(field.labels(1), ["agent-role:dev", "agent-task:in-progress", "theme"]);
    assert_eq!(field.assignees(1), ["comity-bot"]);
    assert_eq!(engine.sync()["writes"], 0);
}

#[test]
fn an_issue_without_a_contract_makes_no_task_and_is_told_once() {
    let Some(field) = field("neo", "") else { return };
    let engine = field.engine("one");
    let number = field.open("ann", "Something", "Please do something.", &["agent-task:pending"]);
    engine.settle();
    engine.settle();
    assert_eq!(
        (engine.tasks().len(), field.said(number).len()),
        (0, 1),
        "{:?}",
        field.said(number)
    );
    field.hub.person("ann", "PATCH", &at(&format!("issues/{number}")), json!({ "body": CONTRACT }));
    engine.settle();
    assert_eq!(engine.tasks().len(), 1);
}

#[test]
fn a_dry_run_asks_and_changes_nothing_and_says_exactly_what_will_be_done() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    for number in 1..=3 {
        field.open("ann", &format!("Issue {number}"), "All of it.", &["agent:ready"]);
    }
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine.json(AGENT, &["task", "claim", "T2", "--start"]);
    engine.json(AGENT, &["task", "block", "T2", "--needs", "a word", "--question", "Which?"]);
    field.label("tess", 3, "agent:blocked");
    field.open("ann", "Another", "Do it.", &["agent:ready"]);
    let head = engine.head();
    field.hub.forget();
    let planned = engine.json(ANN, &["github", "sync", "--dry-run"])["sync"].clone();
    assert_eq!((engine.head(), planned["dry_run"].clone()), (head, json!(true)));
    assert!(field.hub.log().iter().all(|entry| !entry.is_write()), "{:?}", field.hub.log());
    let done = engine.sync();
    let rows = |sync: &Value, list: &str, keys: [&str; 4]| {
        let row = |one: &Value| keys.map(|key| one[key].clone());
        sync[list].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    for (list, keys) in
        [("in", ["issue", "wish", "verb", "verdict"]), ("out", ["issue", "kind", "what", "task"])]
    {
        let (will, did) = (rows(&planned, list, keys), rows(&done, list, keys));
        assert!(will == did && !did.is_empty(), "{list}: {will:?} and {did:?}");
    }
}
