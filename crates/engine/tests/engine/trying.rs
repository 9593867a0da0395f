//! What is tried in a copy of a store is what the store then does, and the store knows nothing of it.

use crate::support::{World, caller, claim, claim_best, request, retitle, start};
use comity_api::{Nothing, op};
use comity_core::command::{Command, Request};
use comity_engine::{Reply, Service};
use serde_json::Value;

fn answers(engine: &Service, requests: &[Request]) -> Vec<Result<Value, String>> {
    let answer = |request: &Request| {
        let answer = engine.execute(request.clone()).and_then(Reply::into_json);
        answer.map_err(|refusal| refusal.code.as_str().to_owned())
    };
    requests.iter().map(answer).collect()
}

#[test]
fn a_trial_answers_to_the_letter_what_the_store_answers_afterwards() {
    for mut world in World::all() {
        for n in 0..4 {
            world.create(&format!("Task {n}"), |new| new.files = vec![format!("f{n}")]);
        }
        world.run("agent-1", claim("T1"));
        world.sleep(600);
        world.run("agent-2", claim("T2"));
        // The first claim has run out, and no write has noticed yet.
        world.sleep(600);
        let keyed = |title: &str| Request {
            key: Some("k".to_owned()),
            ..request("human:ann", retitle("T4", title))
        };
        world.engine.execute(keyed("Fourth")).unwrap();
        let by = |actor: &str, command: Command| request(actor, command);
        let requests = [
            by("agent-3", claim_best()),
            by("agent-3", start("T1")),
            by("agent-4", claim("T2")),
            by("agent-2", start("T2")),
            keyed("Fourth"),
            keyed("Fifth"),
            by("human:ann", Command::Assign { id: "T3".to_owned(), agent: None, new: false }),
        ];
        let head = world.head();
        let trial = world.engine.trial().unwrap();
        let tried = answers(&trial, &requests);
        assert_eq!(world.head(), head);
        assert!(tried.iter().any(Result::is_err) && tried.iter().any(Result::is_ok));
        assert_eq!(answers(&world.engine, &requests), tried);
        let tried = trial.call::<op::LogHead>(&caller("human:ann"), Nothing {}).unwrap();
        let head = serde_json::to_value(tried).unwrap();
        assert_eq!(world.head(), head, "the same events in the same order");
        world.assert_log_is_sound();
    }
}

#[test]
fn an_empty_store_can_be_tried_too() {
    for world in World::all() {
        let trial = world.engine.trial().unwrap();
        let wanted = [request("human:ann", claim_best()), request("a", Command::Heartbeat)];
        assert_eq!(answers(&trial, &wanted), answers(&world.engine, &wanted));
    }
}
