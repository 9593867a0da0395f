//! States as words on a board.

use crate::field;
use comity_standin::{AGENT, ANN, Field, REPO};
use serde_json::{Value, json};

const BOARD: &str = "/users/ann/projectsV2/1";

fn boarded() -> Option<Field> {
    let field = field("ace-project", "project = { owner = \"ann\", number = 1 }")?;
    field.hub.board("ann", 1);
    Some(field)
}

/// Somebody puts an issue to a word of the board.
fn put(field: &Field, login: &str, issue: u64, word: &str) {
    let (owner, repo) = REPO.split_once('/').unwrap();
    let body = json!({ "type": "Issue", "owner": owner, "repo": repo, "number": issue });
    let item = field.hub.person(login, "POST", &format!("{BOARD}/items"), body)["id"].clone();
    let fields = field.hub.person(login, "GET", &format!("{BOARD}/fields"), Value::Null);
    let options = fields[0]["options"].as_array().unwrap();
    let option = options.iter().find(|one| one["name"]["raw"] == word).unwrap();
    let change = json!({ "fields": [{ "id": fields[0]["id"], "value": option["id"] }] });
    field.hub.person(login, "PATCH", &format!("{BOARD}/items/{item}"), change);
}

/// The word that an issue has on the board.
fn word(field: &Field, issue: u64) -> String {
    let items = field.hub.person("ann", "GET", &format!("{BOARD}/items"), Value::Null);
    let items = items.as_array().unwrap();
    let item = items.iter().find(|item| item["content"]["number"] == issue);
    let word = item.map(|item| &item["fields"][0]["value"]["name"]["raw"]);
    word.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn an_issue_goes_over_the_board_in_the_words_of_the_board() {
    let Some(field) = boarded() else { return };
    let engine = field.engine("one");
    let number = field.open("ann", "Parse dates", "All of them.", &["ui"]);
    engine.settle();
    assert_eq!(engine.tasks().len(), 0, "it is not on the board");
    put(&field, "ann", number, "Ready");
    engine.settle();
    assert_eq!(engine.status("T1"), "queued");
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    let planned = engine.json(ANN, &["github", "sync", "--dry-run"])["sync"]["out"].clone();
    assert!(planned.to_string().contains("In progress on the board"), "{planned}");
    engine.settle();
    assert_eq!(word(&field, number), "In progress");
    assert_eq!(field.labels(number), ["ui"], "labels are nobody's state here");
    engine.json(AGENT, &["task", "block", "T1", "--needs", "a word", "--question", "Which zone?"]);
    engine.settle();
    assert_eq!(word(&field, number), "Blocked");
    field.say("ann", number, "UTC, please.");
    engine.settle();
    assert_eq!(word(&field, number), "In progress", "any reply answers");
    let claimed = engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    assert!(claimed.to_string().contains("UTC, please."), "{claimed}");
    let branch = claimed["branch"].as_str().unwrap().to_owned();
    engine.work(&branch, "src/dates.rs");
    engine.json(AGENT, &["task", "submit", "T1"]);
    engine.settle();
    assert_eq!(
        (word(&field, number).as_str(), &field.issue(number)["state"]),
        ("Done", &json!("open"))
    );
    assert_eq!(engine.sync()["writes"], 0);
}

#[test]
fn who_moves_an_issue_on_the_board_needs_the_rights_for_it() {
    let Some(field) = boarded() else { return };
    let engine = field.engine("one");
    let number = field.open("ann", "Parse dates", "All of them.", &[]);
    put(&field, "ann", number, "Ready");
    engine.settle();
    put(&field, "eve", number, "Blocked");
    engine.settle();
    assert_eq!((engine.status("T1").as_str(), word(&field, number).as_str()), ("queued", "Ready"));
    put(&field, "tess", number, "Blocked");
    engine.settle();
    assert_eq!(
        (engine.status("T1").as_str(), word(&field, number).as_str()),
        ("blocked", "Blocked")
    );
    put(&field, "bob", number, "Ready");
    engine.settle();
    assert_eq!(engine.status("T1"), "queued");
    put(&field, "bob", number, "In progress");
    engine.settle();
    assert_eq!(engine.status("T1"), "in_progress", "{:?}", engine.task("T1"));
    assert_eq!(engine.sync()["writes"], 0);
}

#[test]
fn a_board_that_is_not_there_is_said() {
    let Some(field) = field("ace-project", "project = { owner = \"ann\", number = 7 }") else {
        return;
    };
    let done = field.engine("one").call(ANN, &["github", "sync"]);
    assert_eq!((done.exit, done.code().as_str()), (2, "github-unsupported"), "{done:?}");
}
