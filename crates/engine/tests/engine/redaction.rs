//! Secrets do not enter the log, whatever field they come in.

use crate::support::{World, by_id};
use comity_api::{EventFilter, op};
use comity_core::command::{Command, Question};
use comity_core::decision::DecisionOption;
use comity_core::refusal::Code;
use serde_json::json;

fn secret() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

#[test]
fn rule_5_4_a_secret_in_any_text_is_gone_before_the_append() {
    for mut world in World::all() {
        let secret = secret();
        world.create(&format!("Use {secret}"), |new| {
            new.description = format!("token: {secret}");
            new.requirements = vec![format!("call with {secret}")];
            new.context.insert("password".to_owned(), json!("hunter2-hunter2"));
            new.labels = vec![secret.clone()];
        });
        let event = json!({"event": "deploy", "env": {"API": secret.clone()}});
        let event = event.as_object().unwrap().clone();
        world.run("agent-1", Command::EmitEvent { event });
        world.run(
            "agent-1",
            Command::Note {
                kind: "progress".to_owned(),
                text: format!("ann@example.org used {secret}"),
                task: None,
            },
        );
        let log = world.ask::<op::EventList>("agent-1", EventFilter::default()).to_string();
        for leaked in [secret.as_str(), "hunter2-hunter2", "ann@example.org"] {
            assert!(!log.contains(leaked), "{leaked} is in {log}");
        }
        assert!(log.contains("[redacted:"));
        world.assert_log_is_sound();
    }
}

#[test]
fn rule_5_4_ordinary_hashes_uuids_and_paths_survive() {
    let ordinary = [
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "550e8400-e29b-41d4-a716-446655440000",
        "src/store/sqlite/write.rs",
        "git@github.com:owner/repo.git",
    ];
    for mut world in World::all() {
        world.create("Keep", |new| new.description = ordinary.join("\n"));
        let task = world.ask::<op::TaskShow>("agent-1", by_id("T1"));
        assert_eq!(task["task"]["description"], ordinary.join("\n"));
    }
}

fn ask(options: &[&str], default: Option<&str>) -> Command {
    let option =
        |key: &&str| DecisionOption { key: (*key).to_owned(), label: None, description: None };
    Command::DecisionAsk(Box::new(Question {
        question: "Whom?".to_owned(),
        task: None,
        options: options.iter().map(option).collect(),
        kind: None,
        context: None,
        default: default.map(str::to_owned),
        to: None,
        expires: None,
        proposes: None,
    }))
}

#[test]
fn rule_5_4_a_name_that_would_have_to_be_redacted_is_refused() {
    for mut world in World::all() {
        // Neither could ever be given as the answer, which is redacted too.
        for key in [secret().as_str(), "ann@example.org"] {
            world.refused("agent-1", ask(&["nobody", key], None), Code::InvalidInput);
        }
        world.refused(&secret(), ask(&["a", "b"], None), Code::InvalidInput);
        world.run("agent-1", ask(&["a", "b"], Some("b")));
    }
}

#[test]
fn rule_5_4_a_default_answer_is_free_text() {
    for mut world in World::all() {
        let asked = world.run("agent-1", ask(&[], Some("ask ann@example.org")));
        assert_eq!(asked["decision"]["default"], "ask [redacted:email:15]");
    }
}
