//! Whatever comes in, it is refused clearly or taken, and a refusal changes nothing.

use crate::support::{World, by_id, request};
use comity_api::{
    AgentFilter, CheckPaths, DecisionFilter, EventFilter, LeaseFilter, TaskFilter, op,
};
use comity_core::command::{
    Command, GivenAnswer, LeaseChange, NewTask, PlannedTask, Question, Request, TaskAnswers,
    TaskVerb,
};
use comity_core::event::Event;
use comity_core::refusal::Code;
use comity_engine::Intake;
use comity_engine::redact::RedactOptions;
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
        Just("ask ann@example.org".to_owned()),
        Just(format!("with ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")),
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
        (t(), t()).prop_map(|(id, reason)| TaskVerb::Fail.on(id, Some(reason))),
        (t(), t()).prop_map(|(id, on)| Command::Depend {
            id,
            on,
            remove: false,
            awaits_unknown: false
        }),
        (t(), t()).prop_map(|(id, needs)| Command::Block {
            id,
            needs: Some(needs.clone()),
            questions: vec![needs],
            retry_after: None,
            reason: None,
        }),
        proptest::collection::vec(t(), 0..4).prop_map(|patterns| Command::Lease(
            LeaseChange::Acquire { patterns, task: None, purpose: None, ttl: None, shared: false }
        )),
        proptest::collection::vec(t(), 0..3)
            .prop_map(|ids| Command::Lease(LeaseChange::Release { ids, all: false })),
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
            proposes: None,
        }))),
        (t(), t(), t()).prop_map(|(id, gate, report)| Command::GateRecord {
            id,
            gate,
            pass: true,
            report: Some(report),
            commit: None,
            new: true,
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
            let before = world.head();
            if let Err(refusal) = world.try_as("agent-1", command) {
                prop_assert_ne!(refusal.code, Code::Internal, "{}", refusal);
                prop_assert!(!refusal.message.is_empty() && !refusal.next_step().is_empty());
                prop_assert_eq!(world.head(), before);
            }
        }
        world.assert_log_is_sound();
    }

    /// With a key, all of the command is made JSON of and looked through; without one, its strings are looked at
    /// where they are.
    #[test]
    fn rule_5_4_the_quick_look_for_secrets_finds_what_the_thorough_one_finds(
        command in command(),
        context in json_value(),
    ) {
        let intake = Intake::new(RedactOptions::default()).unwrap();
        let context = json!({"value": context}).as_object().cloned().unwrap_or_default();
        let with_context = NewTask { title: "One".to_owned(), context, ..NewTask::default() };
        for command in [command, Command::CreateTask(Box::new(with_context))] {
            let quick = request("agent-1", command);
            let thorough = Request { key: Some("k".to_owned()), ..quick.clone() };
            let told = |request| match intake.prepare(request) {
                Ok(prepared) => Ok(prepared.request.command),
                Err(refusal) => Err(refusal.to_string()),
            };
            prop_assert_eq!(told(quick), told(thorough));
        }
    }

    #[test]
    fn any_question_is_answered_or_refused_clearly(id in text(), after in text()) {
        let mut world = World::memory();
        world.create("One", |_| {});
        let (limit, after) = (Some(3), Some(after));
        let tasks = TaskFilter { limit, after: after.clone(), ..TaskFilter::default() };
        let leases = LeaseFilter { limit, after: after.clone(), owner: None };
        let agents = AgentFilter { limit, after: after.clone() };
        let decisions = DecisionFilter { all: true, limit, after: after.clone() };
        let events = EventFilter { limit, after, ..EventFilter::default() };
        let answers = [
            world.try_ask::<op::TaskShow>("agent-1", by_id(&id)),
            world.try_ask::<op::TaskWhy>("agent-1", by_id(&id)),
            world.try_ask::<op::DecisionShow>("agent-1", by_id(&id)),
            world.try_ask::<op::AgentShow>("agent-1", by_id(&id)),
            world.try_ask::<op::LeaseCheck>("agent-1", CheckPaths { paths: vec![id] }),
            world.try_ask::<op::TaskList>("agent-1", tasks),
            world.try_ask::<op::LeaseList>("agent-1", leases),
            world.try_ask::<op::AgentList>("agent-1", agents),
            world.try_ask::<op::DecisionList>("agent-1", decisions),
            world.try_ask::<op::EventList>("agent-1", events),
        ];
        for answer in answers {
            if let Err(refusal) = answer {
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
