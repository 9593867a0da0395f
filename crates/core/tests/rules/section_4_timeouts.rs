//! The time that work may take, counted from its start.

use crate::verbs::task;
use crate::world::{ANN, Expect, IMPL, OTHER, PLANNER, World};
use comity_core::command::{Command, NewTask};
use comity_core::event::Event;
use comity_core::refusal::Code;
use comity_core::status::Status;
use comity_core::time::Millis;

/// A task on a file that may take a minute.
fn limited() -> World {
    let mut w = World::new();
    let timeout = Some(Millis::from_secs(60));
    w.have(NewTask { timeout, files: vec!["a.rs".into()], ..task("work") });
    w
}

#[test]
fn work_past_its_time_is_failed_by_the_watchdog_and_uses_an_attempt() {
    let mut w = limited();
    w.by(IMPL).claims_for("T1", 3600).accepted();
    w.by(IMPL).starts("T1").accepted();
    w.pass(59);
    w.sweep();
    assert_eq!(w.status("T1"), Status::InProgress);
    w.pass(1);
    let done = w.sweep();
    assert_eq!(done.expired_names(), ["locks_reclaimed", "status_changed"]);
    let Event::StatusChanged(change) = &done.expired[1].draft.event else { panic!("no step") };
    let why = change.reason.as_deref().unwrap();
    assert!(why.contains("took longer than 1m"), "{why}");
    assert_eq!(done.expired[1].draft.agent.as_str(), "watchdog");
    let task = w.task("T1");
    assert_eq!((task.status, task.attempts), (Status::Failed, 1));
    w.by(OTHER).leases(&["a.rs"]).accepted();
}

#[test]
fn signs_of_life_do_not_give_more_time() {
    let mut w = limited();
    w.by(IMPL).claims("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    for _ in 0..3 {
        w.pass(19);
        w.by(IMPL).notes("still here").accepted();
    }
    w.pass(3);
    w.by(IMPL).submits("T1").refused(Code::InvalidTransition);
    assert_eq!(w.status("T1"), Status::Failed);
}

#[test]
fn the_time_is_counted_from_the_start_and_not_from_the_claim() {
    let mut w = limited();
    w.by(IMPL).claims("T1").accepted();
    w.pass(500);
    w.by(IMPL).starts("T1").accepted();
    w.pass(59);
    w.by(IMPL).submits("T1").accepted();
}

#[test]
fn zero_is_no_limit() {
    let mut w = World::new();
    w.have(NewTask { timeout: Some(Millis::default()), ..task("work") });
    w.by(IMPL).claims_for("T1", 86_400).accepted();
    w.by(IMPL).starts("T1").accepted();
    w.pass(80_000);
    w.by(IMPL).submits("T1").accepted();
}

#[test]
fn each_round_has_the_whole_time() {
    let mut w = limited();
    w.by(IMPL).starts("T1").accepted();
    w.pass(50);
    w.by(IMPL).submits("T1").accepted();
    w.pass(5000);
    assert_eq!(w.status("T1"), Status::Review, "waiting for a review takes none of it");
    w.by(ANN).requests_changes("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    w.pass(50);
    w.by(IMPL).submits("T1").accepted();
}

#[test]
fn a_silent_holder_is_reclaimed_when_that_comes_first() {
    let mut w = limited();
    w.by(IMPL).claims_for("T1", 30).accepted();
    w.by(IMPL).starts("T1").accepted();
    w.pass(100);
    w.sweep();
    assert_eq!(w.status("T1"), Status::Queued);
}

#[test]
fn the_third_time_asks_what_to_do() {
    let mut w = limited();
    for attempt in 1..=3 {
        w.by(IMPL).starts("T1").accepted();
        w.pass(60);
        w.sweep();
        assert_eq!(w.task("T1").attempts, attempt);
    }
    assert_eq!(w.status("T1"), Status::Blocked);
    assert_eq!(w.task("T1").decisions.len(), 1);
}

#[test]
fn a_planner_may_give_more_time_while_the_work_goes_on() {
    let mut w = limited();
    w.by(IMPL).starts("T1").accepted();
    w.pass(50);
    let changes = comity_core::event::TaskUpdated {
        timeout: Some(Millis::from_secs(600)),
        ..Default::default()
    };
    let update = |changes| Command::UpdateTask {
        id: "T1".into(),
        changes: Box::new(changes),
        constraints: Default::default(),
        if_match: None,
    };
    w.by(IMPL).does(update(changes.clone())).refused(Code::RoleForbidden);
    w.by(PLANNER).does(update(changes)).accepted();
    w.pass(100);
    w.by(IMPL).submits("T1").accepted();
}

#[test]
fn a_host_that_slept_gets_one_life_of_the_claim_as_grace() {
    let mut w = limited();
    w.by(IMPL).claims_for("T1", 100).accepted();
    w.by(IMPL).starts("T1").accepted();
    w.pass(1000);
    w.moment.woke_at = Some(w.moment.now);
    w.by(IMPL).notes("awake").accepted();
    w.pass(99);
    assert_eq!(w.status("T1"), Status::InProgress);
    w.by(IMPL).notes("still here").accepted();
    w.pass(1);
    w.sweep();
    assert_eq!(w.status("T1"), Status::Failed);
}
