//! Whatever comes in, it is refused clearly or taken, and a refusal changes nothing.

use crate::support::World;
use comity_core::command::{Command, GivenAnswer, NewTask, PlannedTask, Question, TaskAnswers};
use comity_core::event::Event;
use comity_core::refusal::Code;
use comity_engine::{EventFilter, Page, Query, TaskFilter};
use proptest::prelude::*;
use serde_json::{Value, json};

fn cases() -> ProptestConfig {
    let cases = if std::env::var_os("COMITY_LONG").is_some() { 5_000 } else { 150 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Text that people and machines really send: words, control characters, globs, long runs, any Unicode.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 ._/*?{}\\[\\],:-]{0,40}",
        any::<String>(),
        "\\PC{0,20}",
        Just("x".repeat(70_000)),
        Just("../../etc/passwd".to_owned()),
        Just("a\u{0}b".to_owned()),
        Just("T1".to_owned()),
        Just("D1".to_owned()),
        Just("L1".to_owned()),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(40, 64, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z_]{1,12}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn several() -> impl Strategy<Value = Command> {
    let t = text;
    prop_oneof![
        (t(), t()).prop_map(|(id, feedback)| Command::Intervene { id, feedback }),
        (t(), t(), t()).prop_map(|(id, decision, answer)| Command::AnswerTask(TaskAnswers {
            id,
            answers: vec![GivenAnswer { decision, answer: answer.clone() }],
            notes: Some(answer.clone()),
            text: Some(answer),
        })),
        (t(), t()).prop_map(|(key, title)| Command::CreateTasks {
            tasks: vec![PlannedTask {
                key: Some(key.clone()),
                task: NewTask { title, depends_on: vec![key], ..NewTask::default() },
            }],
        }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let t = text;
    prop_oneof![
        (t(), t(), t(), t(), t()).prop_map(|(title, id, file, dep, gate)| {
            Command::CreateTask(Box::new(NewTask {
                title,
                id: (!id.is_empty()).then_some(id),
                files: vec![file],
                depends_on: if dep.len() % 2 == 0 { vec![dep] } else { Vec::new() },
                gates: vec![gate],
                ..NewTask::default()
            }))
        }),
        (t(), t()).prop_map(|(id, reason)| Command::Fail { id, reason: Some(reason) }),
        (t(), t()).prop_map(|(id, on)| Command::Depend { id, on, remove: false }),
        (t(), t()).prop_map(|(id, needs)| Command::Block {
            id,
            needs: Some(needs.clone()),
            questions: vec![needs],
            retry_after: None,
            reason: None,
        }),
        proptest::collection::vec(t(), 0..4).prop_map(|patterns| Command::LeaseAcquire {
            patterns,
            task: None,
            purpose: None,
            ttl: None,
            shared: false,
        }),
        proptest::collection::vec(t(), 0..3)
            .prop_map(|ids| Command::LeaseRelease { ids, all: false }),
        (t(), t()).prop_map(|(id, answer)| Command::DecisionAnswer { id, answer }),
        several(),
        (t(), t()).prop_map(|(question, default)| Command::DecisionAsk(Box::new(Question {
            question,
            task: None,
            options: Vec::new(),
            kind: None,
            context: None,
            default: Some(default),
            to: None,
            expires: None,
        }))),
        (t(), t(), t()).prop_map(|(id, gate, report)| Command::GateRecord {
            id,
            gate,
            pass: true,
            report: Some(report),
            commit: None,
        }),
        (t(), t()).prop_map(|(kind, text)| Command::Note { kind, text, task: None }),
        (t(), json_value()).prop_map(|(name, value)| {
            let event = json!({"event": name, "value": value});
            Command::EmitEvent { event: event.as_object().cloned().unwrap_or_default() }
        }),
        (t(), t(), t()).prop_map(|(id, provider, value)| Command::Link {
            id,
            provider,
            key: "id".to_owned(),
            value,
        }),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_command_is_taken_or_refused_clearly_and_a_refusal_changes_nothing(
        commands in proptest::collection::vec(command(), 1..6),
    ) {
        let mut world = World::memory();
        for command in commands {
            let before = world.ask("human:ann", Query::Head);
            if let Err(refusal) = world.try_as("agent-1", command) {
                prop_assert_ne!(refusal.code, Code::Internal, "{}", refusal);
                prop_assert!(!refusal.message.is_empty() && !refusal.hint_text().is_empty());
                prop_assert_eq!(world.ask("human:ann", Query::Head), before);
            }
        }
        world.assert_log_is_sound();
    }

    #[test]
    fn any_question_is_answered_or_refused_clearly(id in text(), after in text()) {
        let mut world = World::memory();
        world.create("One", |_| {});
        let asker = world.asker("agent-1");
        let page = || Page { limit: Some(3), after: Some(after.clone()) };
        let queries = [
            Query::Task { id: id.clone() },
            Query::Why { id: id.clone() },
            Query::Decision { id: id.clone() },
            Query::Agent { id: id.clone() },
            Query::CheckPaths { paths: vec![id] },
            Query::Tasks(TaskFilter { page: page(), ..TaskFilter::default() }),
            Query::Leases { owner: None, page: page() },
            Query::Agents { page: page() },
            Query::Decisions { all: true, page: page() },
            Query::Events(EventFilter { page: page(), ..EventFilter::default() }),
        ];
        for query in queries {
            if let Err(refusal) = world.engine.query(&asker, query) {
                prop_assert_ne!(refusal.code, Code::Internal, "{}", refusal);
            }
        }
    }

    #[test]
    fn any_json_is_a_command_or_is_not_and_never_a_crash(value in json_value()) {
        let _ = serde_json::from_value::<Command>(value.clone());
        let _ = serde_json::from_value::<Command>(json!({"create_task": value}));
    }

    #[test]
    fn any_bytes_are_an_event_or_are_not_and_never_a_crash(
        name in "[a-z_]{0,20}",
        known in 0..Event::NAMES.len(),
        body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = Event::decode(&name, &body);
        let _ = Event::decode(Event::NAMES[known], &body);
    }
}
