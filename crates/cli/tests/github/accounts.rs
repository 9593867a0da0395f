//! Whose account it is: a bot's, a person's, or an App's.

use crate::{field, field_of};
use comity_standin::{AGENT, ANN, Fault, On, Rule, Seed, at, operations};
use serde_json::json;
use std::process::Command;

#[test]
fn a_person_who_shares_the_account_may_queue_and_answer() {
    let Some(field) = field("ace", "account = \"person\"") else { return };
    let mut engine = field.engine("one");
    engine.token = "gho_ann".to_owned();
    field.open("ann", "Dates", "Parse dates.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine
        .json(AGENT, &["task", "block", "T1", "--needs", "an answer", "--question", "Which zone?"]);
    engine.settle();
    assert_eq!(field.labels(1), ["agent:blocked"]);
    field.say("ann", 1, "ANSWER:\n\n- UTC");
    engine.settle();
    assert_eq!(engine.status("T1"), "queued");
    // The same account closes what is not finished: agents write with it, too, so that is nobody's decision.
    let path = at("issues/1");
    let close = json!({ "state": "closed", "state_reason": "not_planned" });
    field.hub.person("ann", "PATCH", &path, close);
    engine.settle();
    assert_eq!(engine.status("T1"), "queued");
    assert!(engine.task("T1")["blockers"].to_string().contains("closed on GitHub by ann"));
    let marks = field.comments(1).iter().filter(|(_, text)| !operations(text).is_empty()).count();
    assert!(marks >= 2, "{:?}", field.comments(1));
}

#[test]
fn an_answer_by_the_bots_own_account_is_a_finding() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Parse dates.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine
        .json(AGENT, &["task", "block", "T1", "--needs", "an answer", "--question", "Which zone?"]);
    engine.settle();
    field.say("comity-bot", 1, "ANSWER:\n\n- UTC");
    let sync = engine.sync();
    assert!(sync["findings"].to_string().contains("own-account"), "{sync}");
    assert_eq!(engine.status("T1"), "blocked");
}

#[test]
fn an_app_signs_for_itself_and_writes_under_its_own_name() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("app.pem");
    let mut openssl = Command::new("openssl");
    openssl.args(["genrsa", "-traditional", "-out"]).arg(&key).arg("2048");
    assert!(openssl.output().unwrap().status.success());
    let pem = std::fs::read_to_string(&key).unwrap();
    let settings = format!("app = {{ id = 12345, installation = 777, key_file = {} }}", json!(key));
    let seed = Seed { app_key: Some(pem), ..Seed::default() };
    let Some(field) = field_of("ace", &settings, &seed) else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Parse dates.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine.settle();
    assert_eq!(field.labels(1), ["agent:in-progress"]);
    let by: Vec<String> = field.comments(1).into_iter().map(|(by, _)| by).collect();
    assert_eq!(by, ["comity[bot]"]);
    assert_eq!(engine.sync()["writes"], 0);
    // A token that GitHub takes no longer is made anew, once, for questions and for writes.
    engine.json(AGENT, &["task", "release", "T1", "-m", "later"]);
    for (method, piece) in [("GET", "/issues"), ("POST", "/issues/1/labels")] {
        let once = Rule::next(On::Call(method, piece.to_owned()), Fault::Before(401));
        field.hub.fault(once);
    }
    field.hub.forget();
    let sync = engine.sync();
    assert_eq!((&sync["pending"], field.labels(1)), (&json!(0), vec!["agent:ready".to_owned()]));
    let tokens = field.hub.log().into_iter().filter(|one| one.target.ends_with("access_tokens"));
    assert!(tokens.count() >= 2);
    field.hub.fault(Rule::always(On::Call("GET", "/issues".to_owned()), Fault::Before(401)));
    let refused = engine.call(ANN, &["github", "sync"]);
    assert_eq!((refused.exit, refused.code().as_str()), (5, "github-unauthorized"), "{refused:?}");
}
