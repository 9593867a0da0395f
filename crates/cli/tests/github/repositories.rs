//! Tasks in several repositories of one store.

use crate::field_of;
use comity_standin::{ANN, Fault, Field, On, Rule, Seed};
use serde_json::{Value, json};

const SATELLITE: &str = "ann/middleware";

fn two(settings: &str) -> Option<Field> {
    let mut seed = Seed::default();
    seed.repositories.push(SATELLITE.to_owned());
    let there = |(_, who, level): &(String, String, String)| {
        (SATELLITE.to_owned(), who.clone(), level.clone())
    };
    let levels: Vec<_> = seed.levels.iter().map(there).collect();
    seed.levels.extend(levels);
    field_of("neo", settings, &seed)
}

fn get(field: &Field, path: &str) -> Value {
    field.hub.person("ann", "GET", &format!("/repos/{SATELLITE}/{path}"), Value::Null)
}

fn names(labels: &Value) -> Vec<String> {
    let name = |label: &Value| label["name"].as_str().unwrap().to_owned();
    let mut names: Vec<String> = labels.as_array().unwrap().iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_part_in_another_repository_is_made_there_and_the_epic_knows_it() {
    let Some(field) = two("") else { return };
    let engine = field.engine("one");
    let epic = field.open("ann", "Dark mode", "All of it.", &[]).to_string();
    engine.settle();
    let contract = "version: 1.0\ntype: implementation\nrole: dev\nrepository: ann/middleware\ngoal: Serve the theme\nrequirements:\n  - \"Has a test.\"\n";
    engine.write("task.yaml", contract);
    engine.json("agent.pm.1", &["task", "create", "--contract", "task.yaml"]);
    engine.json(ANN, &["task", "create", "Draw the toggle"]);
    // The first answer is lost: whoever publishes again finds the issue.
    field.hub.fault(Rule::next(On::Call("POST", "middleware/issues".to_owned()), Fault::Lost));
    let args = ["github", "publish", "T1", "T2", "--epic", &epic];
    let made = engine.json(ANN, &args)["published"].clone();
    assert_eq!(
        (&made[0]["issue"], &made[1]["issue"]),
        (&json!("ann/middleware#1"), &json!("ann/tool#2"))
    );
    let again = engine.json(ANN, &args)["published"].clone();
    assert_eq!((&again[0]["state"], &again[1]["state"]), (&json!("found"), &json!("found")));
    let there = get(&field, "issues?state=all");
    assert_eq!(there.as_array().unwrap().len(), 1, "made once");
    let labels = ["agent-role:dev", "agent-task:pending", "ai-generated", "repo:middleware"];
    assert_eq!(names(&there[0]["labels"]), labels);
    let body = there[0]["body"].as_str().unwrap();
    assert!(body.contains("# AGENT TASK CONTRACT") && body.contains("Serve the theme"), "{body}");
    assert!(field.labels(1).contains(&"project:middleware".to_owned()), "{:?}", field.labels(1));
    let said = field.said(1);
    assert!(said.len() == 1 && said[0].contains("- ann/middleware#1: Serve the theme"), "{said:?}");
    let parts =
        field.hub.person("ann", "GET", &comity_standin::at("issues/1/sub_issues"), Value::Null);
    assert_eq!(parts.as_array().unwrap().len(), 2);
    engine.settle();
    engine.json("agent.dev.1", &["task", "claim", "T1", "--start"]);
    engine.settle();
    let there = get(&field, "issues/1");
    assert!(names(&there["labels"]).contains(&"agent-task:in-progress".to_owned()), "{there}");
    // What people do there counts, too.
    let path = format!("/repos/{SATELLITE}/issues/1");
    field.hub.person(
        "ann",
        "PATCH",
        &path,
        json!({ "state": "closed", "state_reason": "not_planned" }),
    );
    engine.settle();
    assert_eq!(engine.status("T1"), "abandoned");
    assert_eq!(engine.sync()["writes"], 0);
}

#[test]
fn each_repository_may_speak_its_own_words() {
    let Some(field) =
        two("repositories = [\"ann/middleware\"]\ndialects = { \"ann/middleware\" = \"ace\" }")
    else {
        return;
    };
    let engine = field.engine("one");
    let made = json!({ "title": "Serve", "body": "Serve it.", "labels": ["agent:ready"] });
    field.hub.person("ann", "POST", &format!("/repos/{SATELLITE}/issues"), made);
    engine.settle();
    assert_eq!(engine.tasks().len(), 1);
    assert_eq!(engine.task("T1")["external_ids"]["github"]["issue"], "ann/middleware#1");
    engine.json("agent.dev.1", &["task", "claim", "T1", "--start"]);
    engine.settle();
    assert_eq!(names(&get(&field, "issues/1")["labels"]), ["agent:in-progress"]);
}

#[test]
fn a_task_goes_with_its_issue_to_another_repository() {
    let Some(field) = two("dialects = { \"ann/middleware\" = \"ace\", \"ann/tool\" = \"ace\" }")
    else {
        return;
    };
    let engine = field.engine("one");
    let number = field.open("ann", "Serve", "Serve it.", &["agent:ready"]);
    engine.settle();
    let made = json!({ "title": "Serve", "body": "Serve it.", "labels": ["agent:ready"] });
    field.hub.person("ann", "POST", &format!("/repos/{SATELLITE}/issues"), made);
    field.hub.moved(&format!("ann/tool#{number}"), "ann/middleware#1");
    engine.json("agent.dev.1", &["task", "claim", "T1", "--start"]);
    engine.settle();
    engine.settle();
    assert_eq!(engine.task("T1")["external_ids"]["github"]["issue"], "ann/middleware#1");
    assert_eq!(names(&get(&field, "issues/1")["labels"]), ["agent:in-progress"]);
    let said = get(&field, "issues/1/comments").to_string();
    assert_eq!(said.matches("**Agent Claim**").count(), 1, "{said}");
}
