//! The same key gives the first answer again, with nothing done twice.

use crate::support::{World, caller};
use comity_core::command::{Command, NewTask, Request};
use comity_core::refusal::Code;
use comity_engine::Keyed;
use serde_json::{Value, json};

fn keyed(world: &World, actor: &str, key: &str, title: &str) -> Request {
    let new = NewTask { title: title.to_owned(), ..NewTask::default() };
    let mut request = world.request(actor, Command::CreateTask(Box::new(new)));
    request.key = Some(key.to_owned());
    request
}

fn run(world: &World, request: Request) -> Value {
    world.engine.execute(request).unwrap().into_json().unwrap()
}

#[test]
fn rule_5_6_a_repeated_key_gives_the_first_answer_and_does_nothing() {
    for world in World::all() {
        let request = keyed(&world, "agent-1", "k1", "Once");
        let first = run(&world, request.clone());
        let head = world.head();
        assert_eq!(run(&world, request), first);
        assert_eq!(world.head(), head);
    }
}

#[test]
fn rule_5_6_other_input_under_the_same_key_is_refused() {
    for world in World::all() {
        let first = keyed(&world, "agent-1", "k1", "Once");
        world.engine.execute(first).unwrap();
        let other = keyed(&world, "agent-1", "k1", "Twice");
        let refusal = world.engine.execute(other).unwrap_err();
        assert_eq!(refusal.code, Code::IdempotencyMismatch);
        assert_eq!(refusal.code.exit_status(), 2);
    }
}

#[test]
fn rule_5_6_a_key_belongs_to_its_actor_and_refusals_are_not_remembered() {
    for mut world in World::all() {
        let mine = keyed(&world, "agent-1", "k1", "Mine");
        let yours = keyed(&world, "agent-2", "k1", "Yours");
        world.engine.execute(mine).unwrap();
        assert_eq!(run(&world, yours)["task"]["title"], "Yours");
        let mut claim = world.request("agent-3", crate::support::claim("T9"));
        claim.key = Some("later".to_owned());
        assert_eq!(world.engine.execute(claim.clone()).unwrap_err().code, Code::NotFound);
        world.create("Nine", |new| new.id = Some("T9".to_owned()));
        assert!(world.engine.execute(claim).is_ok());
    }
}

#[test]
fn rule_5_6_a_key_is_forgotten_after_seven_days() {
    for world in World::all() {
        let request = keyed(&world, "agent-1", "k1", "Once");
        let first = run(&world, request.clone());
        world.sleep(7 * 86_400 + 60);
        let second = run(&world, request);
        assert_ne!(second["task"]["id"], first["task"]["id"]);
    }
}

#[test]
fn rule_5_6_what_takes_many_transactions_has_its_first_answer_remembered_too() {
    for world in World::all() {
        let caller = caller("agent-1");
        let keyed = |input: &str| Keyed::new(caller.clone(), "k1", input).unwrap();
        assert_eq!(world.engine.remembered::<Value>(&keyed("a file")).unwrap(), None);
        let first = world.engine.remember(&keyed("a file"), json!({"imported": 1})).unwrap();
        let later = world.engine.remember(&keyed("a file"), json!({"imported": 0})).unwrap();
        assert_eq!((&first, &later), (&json!({"imported": 1}), &first));
        assert_eq!(world.engine.remembered(&keyed("a file")).unwrap(), Some(first));
        let refusal = world.engine.remembered::<Value>(&keyed("another")).unwrap_err();
        assert_eq!(refusal.code, Code::IdempotencyMismatch);
        assert!(Keyed::new(caller.clone(), &"k".repeat(500), "a file").is_err());
    }
}
