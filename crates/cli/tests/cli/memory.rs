//! Memories and directives from outside.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

fn ids(answer: &Value, list: &str) -> Vec<String> {
    let entries = answer[list].as_array().unwrap();
    entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

fn remember(sandbox: &Sandbox, text: &str, options: &[&str]) -> Value {
    let mut args = vec!["memory", "write", text, "--type", "fact"];
    args.extend(options);
    sandbox.json(&args)
}

fn person(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.comity().by("human:ann").args(args).json()
}

#[test]
fn memories_have_the_shapes_of_the_interface() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    let options = ["--scope", "src/date", "--tag", "ci", "--tag", "slow", "--task", "T1"];
    let written = remember(&sandbox, "Tests need a database", &options);
    let text = sandbox.normal(&serde_json::to_string_pretty(&written).unwrap());
    insta::assert_snapshot!("json_memory", text);
    assert_eq!(sandbox.json(&["memory", "show", "M1"]), written);
    let listed = sandbox.json(&["memory", "list"]);
    assert_eq!(listed, json!({"memories": [written["memory"]], "next": null}));
    let found = sandbox.json(&["memory", "search", "testing databases"]);
    assert_eq!(found, listed);
    assert_eq!(sandbox.json(&["memory", "forget", "M1"]), written);
    assert_eq!(sandbox.refused(&["memory", "show", "M1"]), ("not-found".to_owned(), 4));
    assert_eq!(sandbox.refused(&["memory", "forget", "M1"]).1, 4);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn the_types_of_neo_are_understood_in_write_list_and_search() {
    let sandbox = Sandbox::new();
    sandbox.json(&["memory", "write", "The API is slow", "--type", "knowledge"]);
    sandbox.json(&["memory", "write", "The API breaks", "--type", "warning"]);
    for (kind, wanted) in
        [("knowledge", "M1"), ("fact", "M1"), ("warning", "M2"), ("feedback", "M2")]
    {
        let listed = sandbox.json(&["memory", "list", "--type", kind]);
        assert_eq!(ids(&listed, "memories"), [wanted], "list --type {kind}");
        let found = sandbox.json(&["memory", "search", "API", "--type", kind]);
        assert_eq!(ids(&found, "memories"), [wanted], "search --type {kind}");
    }
    assert_eq!(sandbox.json(&["memory", "show", "M1"])["memory"]["type"], "fact");
    assert_eq!(sandbox.refused(&["memory", "write", "x", "--type", "task"]).1, 2);
}

#[test]
fn a_scope_finds_its_own_memories_and_the_global_ones() {
    let sandbox = Sandbox::new();
    remember(&sandbox, "everywhere retry", &[]);
    remember(&sandbox, "here retry", &["--scope", "src/net"]);
    remember(&sandbox, "there retry", &["--scope", "docs"]);
    let listed = sandbox.json(&["memory", "list", "--scope", "src/net"]);
    assert_eq!(ids(&listed, "memories"), ["M1", "M2"]);
    let found = sandbox.json(&["memory", "search", "retries", "--scope", "docs"]);
    assert_eq!(ids(&found, "memories").len(), 2);
    assert_eq!(ids(&sandbox.json(&["memory", "list"]), "memories").len(), 3);
}

#[test]
fn an_update_changes_in_place_and_supersedes_leaves_a_trace() {
    let sandbox = Sandbox::new();
    remember(&sandbox, "The port is 80", &["--tag", "net"]);
    let updated = sandbox.json(&["memory", "update", "M1", "The port is 81", "--expires", "1h"]);
    assert_eq!(updated["memory"]["text"], "The port is 81");
    assert_eq!(updated["memory"]["tags"], json!(["net"]));
    assert!(updated["memory"]["expires_at"].is_string());
    let kept = sandbox.json(&["memory", "update", "M1", "--no-expiry", "--no-tags"]);
    assert_eq!(kept["memory"]["expires_at"], Value::Null);
    assert_eq!(kept["memory"]["tags"], json!([]));
    remember(&sandbox, "The port is 8080", &["--supersedes", "M1"]);
    assert_eq!(ids(&sandbox.json(&["memory", "list"]), "memories"), ["M2"]);
    assert_eq!(ids(&sandbox.json(&["memory", "search", "port"]), "memories"), ["M2"]);
    let all = sandbox.json(&["memory", "list", "--all"]);
    assert_eq!(ids(&all, "memories"), ["M1", "M2"]);
    assert_eq!(all["memories"][0]["superseded_by"], "M2");
    let refused = sandbox.refused(&["memory", "update", "M1", "again"]);
    assert_eq!(refused, ("invalid-transition".to_owned(), 3));
    assert_eq!(sandbox.refused(&["memory", "update", "M2"]).1, 2, "nothing to change");
}

#[test]
fn a_memory_with_an_end_is_forgotten_by_itself() {
    let sandbox = Sandbox::new();
    sandbox.json(&["memory", "write", "busy with dates", "--type", "focus", "--expires", "1s"]);
    assert_eq!(ids(&sandbox.json(&["memory", "list"]), "memories"), ["M1"]);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(ids(&sandbox.json(&["memory", "list"]), "memories"), Vec::<String>::new());
    assert_eq!(sandbox.refused(&["memory", "show", "M1"]).1, 4);
    let swept = sandbox.json(&["watchdog", "--once"]);
    assert_eq!(swept["reclaimed"]["memories"], json!(["M1"]));
    let events = sandbox.json(&["event", "list", "--type", "memory_expired"]);
    assert_eq!(events["events"][0]["agent"], "watchdog");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn hostile_queries_are_answered() {
    let sandbox = Sandbox::new();
    remember(&sandbox, "it's \"quoted\" -- and 100% fine", &[]);
    let long = "quoted ".repeat(1_500);
    for (query, wanted) in [
        ("\"", 0),
        ("'; DROP TABLE memories; --", 0),
        ("quoted\" OR \"x", 0),
        ("NEAR(quoted fine)", 0),
        ("-quoted", 1),
        ("quot*", 1),
        ("***", 0),
        ("", 0),
        ("(\"it's\") 100%", 1),
        (&long, 1),
    ] {
        let found = sandbox.json(&["memory", "search", query]);
        assert_eq!(ids(&found, "memories").len(), wanted, "{query:?}");
        assert_eq!(found["next"], Value::Null);
    }
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn directives_have_the_shapes_of_the_interface_and_live_their_life() {
    let sandbox = Sandbox::new();
    let text = "Update the dependencies";
    let options = ["--priority", "10", "--description", "one at a time", "--duration", "2h"];
    let mut args = vec!["directive", "create", text];
    args.extend(options);
    let created = person(&sandbox, &args);
    let shape = sandbox.normal(&serde_json::to_string_pretty(&created).unwrap());
    insta::assert_snapshot!("json_directive", shape);
    person(&sandbox, &["directive", "create", "Greet", "--trigger", "startup", "--priority", "3"]);
    person(&sandbox, &["directive", "create", "Scout", "--priority", "20"]);
    let listed = sandbox.json(&["directive", "list"]);
    assert_eq!(ids(&listed, "directives"), ["I1", "I2", "I3"]);
    let active = |trigger: &str| {
        let args = ["directive", "list", "--active", "--trigger", trigger];
        ids(&sandbox.json(&args), "directives")
    };
    assert_eq!(active("idle"), ["I3", "I1"]);
    assert_eq!(active("startup"), ["I2"]);
    assert_eq!(active("shutdown"), Vec::<String>::new());
    let off = person(&sandbox, &["directive", "toggle", "I3"]);
    assert_eq!(off["directive"]["enabled"], false);
    assert_eq!(active("idle"), ["I1"]);
    let refused = sandbox.comity().by("human:ann").args(&["directive", "trigger", "I3"]).refusal();
    assert_eq!(refused.0["code"], "not-ready");
    let followed = person(&sandbox, &["directive", "trigger", "I1"]);
    assert!(followed["directive"]["last_triggered_at"].is_string());
    assert_eq!(sandbox.json(&["directive", "show", "I1"]), followed);
    assert_eq!(
        person(&sandbox, &["directive", "toggle", "I3", "--on"])["directive"]["enabled"],
        true
    );
    person(&sandbox, &["directive", "delete", "I3"]);
    assert_eq!(sandbox.refused(&["directive", "show", "I3"]), ("not-found".to_owned(), 4));
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}

#[test]
fn who_only_looks_does_not_direct() {
    let sandbox = Sandbox::new();
    let create = ["directive", "create", "Scout"];
    person(&sandbox, &["agent", "register", "eye", "--role", "scout"]);
    let refusal = sandbox.comity().by("eye").args(&create).refusal();
    assert_eq!((refusal.0["code"].as_str(), refusal.1), (Some("role-forbidden"), 3));
    sandbox.comity().by("codex-cli").args(&create).json();
    person(&sandbox, &["agent", "register", "boss", "--role", "supervisor"]);
    sandbox.comity().by("boss").args(&create).json();
}

#[test]
fn durations_are_read_by_the_local_clock() {
    let sandbox = Sandbox::new();
    let ends = |duration: &str| {
        let args = ["directive", "create", "x", "--duration", duration];
        let zone = "CET-1CEST,M3.5.0,M10.5.0/3";
        let made = sandbox.comity().by("human:ann").env("TZ", zone).args(&args).json();
        made["directive"]["expires_at"].clone()
    };
    assert_eq!(ends("indefinitely"), Value::Null);
    assert_eq!(ends("forever"), Value::Null);
    let midnight = ends("until midnight");
    let midnight = midnight.as_str().unwrap();
    assert!(["T22:59:59.999Z", "T21:59:59.999Z"].iter().any(|end| midnight.ends_with(end)));
    let time = ends("until 18:05");
    assert!(
        ["T17:05:00.000Z", "T16:05:00.000Z"].iter().any(|t| time.as_str().unwrap().ends_with(t))
    );
    for duration in ["90s", "30m", "for 2 hours", "for 1 day"] {
        assert!(ends(duration).is_string(), "{duration}");
    }
    for duration in ["soon", "2", "until 25:00", "0m", "until"] {
        let args = ["directive", "create", "x", "--duration", duration];
        let refusal = sandbox.comity().by("human:ann").args(&args).refusal();
        assert_eq!((refusal.0["code"].as_str(), refusal.1), (Some("invalid-input"), 2));
    }
    let args = ["directive", "create", "x", "--priority", "-1"];
    assert_eq!(sandbox.refused(&args).1, 2);
}

#[test]
fn the_same_key_gives_the_same_directive_also_later() {
    let sandbox = Sandbox::new();
    let args =
        ["directive", "create", "x", "--duration", "until midnight", "--idempotency-key", "k"];
    assert_eq!(person(&sandbox, &args), person(&sandbox, &args));
    assert_eq!(ids(&sandbox.json(&["directive", "list"]), "directives"), ["I1"]);
}

#[test]
fn memories_and_directives_are_shown_to_people() {
    let sandbox = Sandbox::new();
    remember(&sandbox, "Tests need a database\nand time", &["--scope", "src", "--tag", "ci"]);
    remember(&sandbox, "Tests need PostgreSQL 15", &["--supersedes", "M1"]);
    person(&sandbox, &["directive", "create", "Scout for bugs", "--priority", "5"]);
    person(&sandbox, &["directive", "create", "Say goodbye", "--trigger", "shutdown"]);
    person(&sandbox, &["directive", "toggle", "I2"]);
    let screens = [
        &["memory", "list", "--all"][..],
        &["memory", "show", "M1"],
        &["memory", "search", "nothing"],
        &["memory", "forget", "M2"],
        &["directive", "list"],
        &["directive", "show", "I1"],
    ];
    let all: Vec<String> = screens
        .iter()
        .map(|args| format!("$ comity {}\n{}", args.join(" "), sandbox.screen(args)))
        .collect();
    insta::assert_snapshot!("memories_and_directives", all.join("\n"));
}

#[test]
fn agents_that_remember_at_once_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.json(&["status"]);
    let children: Vec<_> = (0..8)
        .map(|n| {
            let text = format!("parallel {n}");
            let args = ["memory", "write", &text, "--type", "fact", "--json"];
            sandbox.comity().by(&format!("agent-{n}")).args(&args).spawn()
        })
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let found = sandbox.json(&["memory", "search", "parallel"]);
    assert_eq!(ids(&found, "memories").len(), 8);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}
