//! What needs somebody: one list for `status` and for the inbox.

use crate::verbs::question;
use crate::world::{ANN, CRITIC, Expect, IMPL, World, id};
use comity_core::attention::{Item, Kind, Scene, Seen, Write, attention};
use comity_core::command::Question;
use comity_core::facts::Moment;
use comity_core::ids::{AgentId, Seq};
use comity_core::status::Status;
use comity_core::time::Millis;

fn scene(w: &World) -> Scene {
    let open = w.state.decisions.values().filter(|decision| decision.answer.is_none());
    let seen = |task: &comity_core::task::Task| {
        let life = task.claim.as_ref().map(|claim| {
            let until = w.read(|facts| facts.claim_expiry(claim));
            (comity_core::time::Timestamp::from_ms(until.ms() - claim.ttl.ms()), until)
        });
        Seen { task: task.clone(), since: task.updated_at, life }
    };
    Scene {
        decisions: open.map(|decision| (decision.clone(), None)).collect(),
        tasks: w.state.tasks.values().map(|task| seen(task)).collect(),
        ..Scene::default()
    }
}

fn needs(w: &World, viewer: &str) -> Vec<Item> {
    // The clock goes with the time of this world.
    let moment = Moment { clock: w.now(), ..w.moment };
    attention(&scene(w), &id(viewer), moment, &w.policy)
}

fn kinds(w: &World, viewer: &str) -> Vec<Kind> {
    needs(w, viewer).iter().map(|item| item.kind).collect()
}

#[test]
fn an_item_is_there_as_long_as_its_cause_is() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    assert_eq!(kinds(&w, ANN), []);
    w.by(IMPL).asks(question("which one?")).accepted();
    assert_eq!(kinds(&w, ANN), [Kind::Decision]);
    w.by(ANN).answers("D1", "this one").accepted();
    assert_eq!(kinds(&w, ANN), []);
}

#[test]
fn a_question_past_half_its_time_is_urgent_and_comes_first() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).asks(question("early")).accepted();
    w.pass(1);
    let expires = Some(Millis::from_secs(100));
    w.by(IMPL).asks(Question { expires, ..question("late") }).accepted();
    assert_eq!(needs(&w, ANN)[0].id, "D1", "the older one");
    w.pass(60);
    let items = needs(&w, ANN);
    assert_eq!((items[0].id.as_str(), items[0].urgent), ("D2", true));
}

#[test]
fn a_holder_without_a_sign_of_life_for_half_its_time_is_silent() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.pass(449);
    assert_eq!(kinds(&w, ANN), []);
    w.pass(2);
    let items = needs(&w, ANN);
    assert_eq!((items[0].kind, items[0].agent.clone()), (Kind::Silent, Some(id(IMPL))));
}

#[test]
fn a_review_needs_everybody_until_somebody_takes_it() {
    let mut w = World::new();
    w.have_one(Status::Review);
    assert_eq!(kinds(&w, ANN), [Kind::Review]);
    w.by(CRITIC).takes_review("T1").accepted();
    assert_eq!(kinds(&w, ANN), []);
    assert_eq!(kinds(&w, CRITIC), [Kind::Review]);
    w.by(CRITIC).requests_changes("T1").accepted();
    assert_eq!((kinds(&w, CRITIC), kinds(&w, IMPL)), (vec![], vec![Kind::SentBack]));
}

#[test]
fn a_blocked_task_that_waits_for_an_answer_is_there_once() {
    let mut w = World::new();
    w.have_one(Status::Blocked);
    assert_eq!(kinds(&w, ANN), [Kind::Blocked]);
    w.by(ANN).asks(Question { task: Some("T1".into()), ..question("what now?") }).accepted();
    assert_eq!(kinds(&w, ANN), [Kind::Decision]);
}

#[test]
fn kinds_are_ranked_and_every_kind_has_words() {
    let w = World::new();
    let by = AgentId::parse("w2").unwrap();
    let write = |seq: u64, path: &str| Write {
        seq: Seq(seq),
        at: w.now(),
        by: by.clone(),
        path: path.to_owned(),
        holder: "w1".to_owned(),
    };
    let scene = Scene { writes: vec![write(2, "b"), write(1, "a")], ..scene(&w) };
    let items = attention(&scene, &id(ANN), w.moment, &w.policy);
    assert_eq!(items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(Kind::Decision < Kind::Exhausted && Kind::RedGate < Kind::Blocked);
    assert!(Kind::Blocked < Kind::Review && Kind::Review < Kind::Merge);
    assert!(Kind::Merge < Kind::Silent && Kind::Silent < Kind::WriteSeen);
    assert!(Kind::ALL.iter().all(|kind| !kind.words().is_empty()));
}
