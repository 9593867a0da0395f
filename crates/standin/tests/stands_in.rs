//! The stand-in does what GitHub does where the emulator below it does not, and lets calls go wrong as it is told.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails where it stands, and starts what it needs"
)]

use comity_standin::{Fault, Hub, On, Rule, Seed};
use serde_json::{Value, json};
use std::process::Command;

const ISSUES: &str = "/repos/ann/tool/issues";

fn names(labels: &Value) -> Vec<&str> {
    labels.as_array().unwrap().iter().map(|label| label["name"].as_str().unwrap()).collect()
}

#[test]
fn labels_have_rights_any_case_and_events_also_at_creation() {
    let Some(hub) = Hub::start(&Seed::default()) else { return };
    hub.person(
        "ann",
        "POST",
        "/repos/ann/tool/labels",
        json!({ "name": "Ready", "color": "00ff00" }),
    );
    let made = hub.person("ann", "POST", ISSUES, json!({ "title": "Dates", "labels": ["ready"] }));
    assert_eq!(names(&made["labels"]), ["Ready"]);
    let events = hub.person("bob", "GET", &format!("{ISSUES}/1/events"), Value::Null);
    assert_eq!(
        (events[0]["event"].as_str(), events[0]["actor"]["login"].as_str()),
        (Some("labeled"), Some("ann"))
    );
    assert!(
        events.as_array().unwrap().len() == 1
            && !made["created_at"].as_str().unwrap().contains('.')
    );
    // A stranger may write, and may not label.
    let made = hub.person("eve", "POST", ISSUES, json!({ "title": "Mine", "labels": ["Ready"] }));
    assert_eq!(names(&made["labels"]).len(), 0);
    assert_eq!(
        hub.tries("eve", "POST", &format!("{ISSUES}/1/labels"), json!({ "labels": ["x"] })).status,
        403
    );
    hub.person("eve", "POST", &format!("{ISSUES}/1/comments"), json!({ "body": "Hello" }));
    hub.person("tess", "DELETE", &format!("{ISSUES}/1/labels/READY"), Value::Null);
    assert_eq!(
        hub.tries("tess", "DELETE", &format!("{ISSUES}/1/labels/READY"), Value::Null).status,
        404
    );
    let permission = |login: &str| {
        hub.tries(
            "comity-bot",
            "GET",
            &format!("/repos/ann/tool/collaborators/{login}/permission"),
            Value::Null,
        )
    };
    let roles = ["ann", "bob", "comity-bot", "tess", "eve"]
        .map(|login| permission(login).value()["role_name"].as_str().unwrap().to_owned());
    assert_eq!(roles, ["admin", "maintain", "write", "triage", "read"]);
    assert_eq!(
        (permission("tess").value()["permission"].as_str(), permission("nobody").status),
        (Some("read"), 404)
    );
    let long = |length: usize| {
        hub.tries(
            "ann",
            "POST",
            &format!("{ISSUES}/1/comments"),
            json!({ "body": "é".repeat(length) }),
        )
        .status
    };
    assert_eq!((long(65_536), long(65_537)), (201, 422));
    assert_eq!(
        hub.tries(
            "ann",
            "POST",
            &format!("{ISSUES}/1/labels"),
            json!({ "labels": ["x".repeat(51)] })
        )
        .status,
        422
    );
    assert_eq!(hub.tries("mallory", "GET", ISSUES, Value::Null).status, 401);
}

#[test]
fn lists_have_comments_of_the_repository_pulls_pages_and_etags() {
    let Some(hub) = Hub::start(&Seed::default()) else { return };
    for number in 1..=3 {
        hub.person("ann", "POST", ISSUES, json!({ "title": format!("Issue {number}") }));
        hub.person(
            "bob",
            "POST",
            &format!("{ISSUES}/{number}/comments"),
            json!({ "body": format!("Comment {number}") }),
        );
    }
    let all = hub.person(
        "comity-bot",
        "GET",
        &format!("{ISSUES}/comments?sort=updated&direction=asc&per_page=100"),
        Value::Null,
    );
    assert_eq!(all.as_array().unwrap().len(), 3);
    let second = all[2]["updated_at"].as_str().unwrap().to_owned();
    let since =
        hub.person("comity-bot", "GET", &format!("{ISSUES}/comments?since={second}"), Value::Null);
    assert!(
        since.as_array().unwrap().iter().any(|comment| comment["body"] == "Comment 3"),
        "that second counts"
    );
    hub.person(
        "bob",
        "PATCH",
        &format!("{ISSUES}/comments/{}", all[0]["id"]),
        json!({ "body": "Edited" }),
    );
    let all = hub.person("comity-bot", "GET", &format!("{ISSUES}/comments"), Value::Null);
    assert!(
        all.as_array().unwrap().iter().any(|comment| comment["body"] == "Edited")
            && all.as_array().unwrap().len() == 3
    );
    let page =
        hub.tries("comity-bot", "GET", &format!("{ISSUES}?state=all&per_page=2"), Value::Null);
    let next =
        page.header("link").unwrap().split('>').next().unwrap().trim_start_matches('<').to_owned();
    assert_eq!(next, format!("{}{ISSUES}?state=all&per_page=2&page=2", hub.url));
    hub.forget();
    let first = hub.tries("comity-bot", "GET", ISSUES, Value::Null);
    let tag = first.header("etag").unwrap().to_owned();
    let again = |tag: &str| {
        let args = [
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "-H",
            "authorization: Bearer gho_comity-bot",
            "-H",
        ];
        let done = Command::new("curl")
            .args(args)
            .arg(format!("if-none-match: {tag}"))
            .arg(format!("{}{ISSUES}", hub.url))
            .output()
            .unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(again(&tag), "304");
    hub.person("bob", "POST", &format!("{ISSUES}/1/labels"), json!({ "labels": ["x"] }));
    assert_eq!(again(&tag), "200");
    let counted: Vec<bool> = hub.log().iter().map(|entry| entry.is_counted).collect();
    assert_eq!(counted, [true, false, true]);
}

#[test]
fn calls_go_wrong_as_the_rules_say() {
    let Some(hub) = Hub::start(&Seed::default()) else { return };
    hub.person("ann", "POST", ISSUES, json!({ "title": "Dates" }));
    let say = |text: &str| {
        hub.tries("comity-bot", "POST", &format!("{ISSUES}/1/comments"), json!({ "body": text }))
            .status
    };
    let comments = || {
        hub.person("ann", "GET", &format!("{ISSUES}/1/comments"), Value::Null)
            .as_array()
            .unwrap()
            .len()
    };
    hub.fault(Rule::every(2, On::Writes, vec![Fault::Before(502), Fault::After(500)]));
    assert_eq!(["a", "b", "c", "d"].map(say), [201, 502, 201, 500]);
    assert_eq!(comments(), 3);
    hub.calm();
    hub.fault(Rule::next(On::Call("POST", "/comments".to_owned()), Fault::Secondary(Some(72))));
    let refused =
        hub.tries("comity-bot", "POST", &format!("{ISSUES}/1/comments"), json!({ "body": "e" }));
    assert_eq!((refused.status, refused.header("retry-after")), (403, Some("72")));
    hub.quota("comity-bot", 0);
    let refused = hub.tries("comity-bot", "GET", ISSUES, Value::Null);
    assert_eq!((refused.status, refused.header("x-ratelimit-remaining")), (403, Some("0")));
    hub.quota("comity-bot", 5000);
    let list = || {
        hub.tries("comity-bot", "GET", &format!("{ISSUES}/1"), Value::Null).value()["comments"]
            .as_u64()
    };
    assert_eq!(list(), Some(3));
    hub.person("ann", "POST", &format!("{ISSUES}/1/comments"), json!({ "body": "f" }));
    hub.fault(Rule::next(On::Reads, Fault::Stale));
    assert_eq!((list(), list()), (Some(3), Some(4)));
    hub.moved("ann/tool#1", "ann/tool#2");
    assert_eq!(hub.tries("comity-bot", "GET", &format!("{ISSUES}/1"), Value::Null).status, 301);
    hub.deleted("ann/tool#1");
    assert_eq!(hub.tries("comity-bot", "GET", &format!("{ISSUES}/1"), Value::Null).status, 410);
}

#[test]
fn what_is_pushed_to_git_is_there_with_the_same_commits() {
    let Some(hub) = Hub::start(&Seed::default()) else { return };
    let dir = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(dir.path())
            .args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"])
            .args(args);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::create_dir(dir.path().join("src")).unwrap();
    std::fs::write(dir.path().join("src/a.rs"), "fn a() {}\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "Begin\n\nWith a body."]);
    git(&["switch", "-q", "-c", "feat/issue-1"]);
    std::fs::write(dir.path().join("src/b.rs"), "fn b() {}\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "Work"]);
    let tip = git(&["rev-parse", "HEAD"]);
    hub.git("ann/tool", &dir.path().join(".git"));
    let pull =
        |head: &str| json!({ "title": "Work", "head": head, "base": "main", "body": "Closes #1" });
    hub.person("ann", "POST", ISSUES, json!({ "title": "Dates" }));
    assert_eq!(hub.tries("bob", "POST", "/repos/ann/tool/pulls", pull("nothing")).status, 422);
    let made = hub.person("bob", "POST", "/repos/ann/tool/pulls", pull("feat/issue-1"));
    assert_eq!(made["head"]["sha"], tip.as_str());
    assert_eq!(hub.tries("bob", "POST", "/repos/ann/tool/pulls", pull("feat/issue-1")).status, 422);
    let among = hub.person("bob", "GET", &format!("{ISSUES}?state=all"), Value::Null);
    assert!(
        among
            .as_array()
            .unwrap()
            .iter()
            .any(|issue| issue["number"] == 2 && issue["pull_request"].is_object())
    );
    let files = hub.person("bob", "GET", "/repos/ann/tool/pulls/2/files", Value::Null);
    assert_eq!(
        (files[0]["filename"].as_str(), files.as_array().unwrap().len()),
        (Some("src/b.rs"), 1)
    );
    git(&["commit", "-q", "--allow-empty", "-m", "More"]);
    let newer = git(&["rev-parse", "HEAD"]);
    let seen = hub.person("bob", "GET", "/repos/ann/tool/pulls/2", Value::Null);
    assert_eq!(seen["head"]["sha"], newer.as_str(), "a push moves the pull request");
    let review =
        hub.person("ann", "POST", "/repos/ann/tool/pulls/2/reviews", json!({ "event": "APPROVE" }));
    assert_eq!(review["commit_id"], newer.as_str());
    assert_eq!(
        hub.tries("bob", "POST", "/repos/ann/tool/pulls/2/reviews", json!({ "event": "APPROVE" }))
            .status,
        422
    );
    hub.person(
        "ann",
        "POST",
        &format!("/repos/ann/tool/statuses/{newer}"),
        json!({ "state": "success", "context": "ci" }),
    );
    assert_eq!(
        hub.person("bob", "GET", &format!("/repos/ann/tool/commits/{newer}/status"), Value::Null)["state"],
        "success"
    );
    is_merged_once(&hub, &tip, &newer);
}

fn is_merged_once(hub: &Hub, tip: &str, newer: &str) {
    let stale = hub.tries("ann", "PUT", "/repos/ann/tool/pulls/2/merge", json!({ "sha": tip }));
    assert_eq!(stale.status, 409);
    hub.person("ann", "PUT", "/repos/ann/tool/pulls/2/merge", json!({ "sha": newer }));
    assert_eq!(hub.person("ann", "GET", &format!("{ISSUES}/1"), Value::Null)["state"], "closed");
    let compared =
        hub.person("ann", "GET", &format!("/repos/ann/tool/compare/main...{newer}"), Value::Null);
    assert_eq!(compared["status"], "behind");
}

#[test]
fn independent_clients_read_what_the_others_wrote() {
    let Some(hub) = Hub::start(&Seed::default()) else { return };
    let made: Value = serde_json::from_str(
        &hub.script("person.mjs", &["ann", "ann/tool", "open", "Dates", "Parse them", "ready"])
            .unwrap(),
    )
    .unwrap();
    assert_eq!(names(&made["labels"]), ["ready"]);
    let seen: Value = serde_json::from_str(
        &hub.script("person.py", &["bob", "ann/tool", "say", "1", "ANSWER: UTC"]).unwrap(),
    )
    .unwrap();
    assert_eq!(seen["comments"], json!([{ "by": "bob", "body": "ANSWER: UTC" }]));
    let seen: Value = serde_json::from_str(
        &hub.script("person.mjs", &["tess", "ann/tool", "read", "1"]).unwrap(),
    )
    .unwrap();
    assert_eq!(
        (seen["comments"][0]["body"].as_str(), seen["events"][0]["event"].as_str()),
        (Some("ANSWER: UTC"), Some("labeled"))
    );
}

#[test]
fn calls_are_held_against_githubs_own_document() {
    let Some(hub) = Hub::start(&Seed::default()) else { return };
    let call =
        |method: &str, target: &str, body: Value| hub.tries("comity-bot", method, target, body);
    call("POST", ISSUES, json!({ "title": "Dates", "labels": ["ready"] }));
    call(
        "GET",
        &format!(
            "{ISSUES}?state=all&sort=updated&direction=asc&per_page=100&since=2026-01-01T00:00:00Z"
        ),
        Value::Null,
    );
    call("GET", "/repos/ann/tool/git/matching-refs/heads/comity/claims/", Value::Null);
    call("DELETE", &format!("{ISSUES}/1/labels/ready"), Value::Null);
    assert_eq!(hub.requests_are_valid(), 4);
    let file = tempfile::NamedTempFile::new().unwrap();
    let wrong = [
        ("POST", ISSUES, json!({ "labels": ["ready"] }), "must have required property 'title'"),
        ("POST", ISSUES, json!({ "title": "x", "labels": 5 }), "must be array"),
        ("POST", ISSUES, json!({ "title": "x", "label": [] }), "does not know"),
        ("GET", "/repos/ann/tool/issues?state=bogus", Value::Null, "one of the allowed values"),
        ("GET", "/repos/ann/tool/issues?until=1", Value::Null, "until is unknown"),
        ("GET", "/repos/ann/tool/isues", Value::Null, "no such call"),
        ("POST", "/repos/ann/tool/issues/1/comments", Value::Null, "the body is missing"),
        ("PATCH", "/repos/ann/tool/issues/comments/1", json!({ "body": 7 }), "must be string"),
    ];
    let call = |(method, target, body, _): &(&str, &str, Value, &str)| json!({ "method": method, "target": target, "body": body });
    std::fs::write(file.path(), json!(wrong.iter().map(call).collect::<Vec<_>>()).to_string())
        .unwrap();
    let said = hub.script("openapi.mjs", &[&file.path().display().to_string()]).unwrap_err();
    for (method, target, _, why) in wrong {
        assert!(said.contains(why), "{method} {target}: {why}: {said}");
    }
}

#[test]
fn sub_issues_and_boards_are_there() {
    let Some(hub) = Hub::start(&Seed::default()) else { return };
    hub.board("ann", 1);
    let ids: Vec<Value> = ["Epic", "Part"]
        .map(|title| hub.person("ann", "POST", ISSUES, json!({ "title": title }))["id"].clone())
        .to_vec();
    hub.person("bob", "POST", &format!("{ISSUES}/1/sub_issues"), json!({ "sub_issue_id": ids[1] }));
    let again = hub.tries(
        "bob",
        "POST",
        &format!("{ISSUES}/1/sub_issues"),
        json!({ "sub_issue_id": ids[1] }),
    );
    assert_eq!(again.status, 422, "one parent");
    let parts = hub.person("bob", "GET", &format!("{ISSUES}/1/sub_issues"), Value::Null);
    let parent = hub.person("bob", "GET", &format!("{ISSUES}/2/parent"), Value::Null);
    assert_eq!((&parts[0]["title"], &parent["title"]), (&json!("Part"), &json!("Epic")));
    let board = "/users/ann/projectsV2/1";
    let fields = hub.person("bob", "GET", &format!("{board}/fields"), Value::Null);
    let option = fields[0]["options"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"]["raw"] == "In progress")
        .unwrap();
    let item = hub.person(
        "bob",
        "POST",
        &format!("{board}/items"),
        json!({ "type": "Issue", "id": ids[1] }),
    )["id"]
        .clone();
    let change = json!({ "fields": [{ "id": fields[0]["id"], "value": option["id"] }] });
    hub.person("bob", "PATCH", &format!("{board}/items/{item}"), change);
    let items = hub.person("bob", "GET", &format!("{board}/items"), Value::Null);
    assert_eq!(
        (&items[0]["fields"][0]["value"]["name"]["raw"], &items[0]["content"]["number"]),
        (&json!("In progress"), &json!(2))
    );
    assert_eq!(hub.tries("bob", "GET", "/users/ann/projectsV2/2", Value::Null).status, 404);
}
