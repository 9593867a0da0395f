//! RULES 4.4 and 4.5: signs of life, expiry, sleep.

use crate::verbs::{task, task_on};
use crate::world::{ANN, Expect, IMPL, OTHER, World, id};
use comity_core::command::{Command, LeaseChange};
use comity_core::event::Event;
use comity_core::refusal::Code;
use comity_core::status::Status;

#[test]
fn rule_4_4_a_lease_expires_its_ttl_after_it_was_granted() {
    let mut w = World::new();
    w.by(IMPL).leases_for(&["a"], 60).accepted();
    w.pass(59);
    w.by(OTHER).leases(&["a"]).refused(Code::LeaseHeld);
    w.pass(1);
    w.by(OTHER).leases(&["a"]).accepted();
}

#[test]
fn rule_4_4_any_accepted_command_of_the_owner_is_a_sign_of_life() {
    let mut w = World::new();
    w.have(task("work"));
    w.by(IMPL).leases_for(&["a"], 60).accepted();
    w.by(IMPL).claims_for("T1", 60).accepted();
    for _ in 0..3 {
        w.pass(50);
        w.by(IMPL).notes("still here").accepted();
    }
    assert_eq!(w.status("T1"), Status::Claimed);
    w.by(OTHER).leases(&["a"]).refused(Code::LeaseHeld);
}

#[test]
fn rule_4_4_a_refused_command_is_no_sign_of_life() {
    let mut w = World::new();
    w.by(IMPL).leases_for(&["a"], 60).accepted();
    w.pass(50);
    w.by(IMPL).claims("T9").refused(Code::NotFound);
    w.pass(10);
    w.by(OTHER).leases(&["a"]).accepted();
}

#[test]
fn rule_4_4_renewing_extends_one_lease_and_may_change_its_ttl() {
    let mut w = World::new();
    w.by(IMPL).leases_for(&["a"], 60).accepted();
    let ids = vec!["L1".to_owned()];
    let ttl = Some(comity_core::time::Millis::from_secs(300));
    w.by(IMPL).does(Command::Lease(LeaseChange::Renew { ids, ttl })).accepted();
    w.pass(299);
    w.by(OTHER).leases(&["a"]).refused(Code::LeaseHeld);
}

#[test]
fn rule_4_4_a_sign_of_life_with_a_fence_counts_for_that_grant_only() {
    let mut w = World::new();
    w.by(IMPL).leases_for(&["a"], 60).accepted();
    w.by(IMPL).leases_for(&["b"], 60).accepted();
    let fence = w.lease("L1").unwrap().fence.get();
    w.pass(40);
    w.by(IMPL).with_fence(fence).heartbeats().accepted();
    w.pass(40);
    w.by(OTHER).leases(&["a"]).refused(Code::LeaseHeld);
    w.by(OTHER).leases(&["b"]).accepted();
}

#[test]
fn rule_4_4_a_sign_of_life_for_a_claim_counts_for_all_leases_of_that_claim() {
    let mut w = World::new();
    w.have_this(task_on("work", &["a"]), Status::InProgress);
    w.by(IMPL).leases_for_task("T1", &["b"]).accepted();
    let fence = w.fence("T1");
    for _ in 0..3 {
        w.pass(800);
        w.by(IMPL).with_fence(fence).heartbeats().accepted();
    }
    assert_eq!(w.paths_of(IMPL), ["a", "b"]);
    w.by(OTHER).leases(&["b"]).refused(Code::LeaseHeld);
}

#[test]
fn rule_4_4_signs_of_life_stay_outside_the_log() {
    let mut w = World::new();
    w.by(IMPL).heartbeats().accepted();
    let events = w.log.len();
    w.pass(100);
    w.by(IMPL).heartbeats().accepted();
    assert_eq!(w.log.len(), events);
    assert_eq!(w.presence[&id(IMPL)].general, Some(w.now()));
}

#[test]
fn rule_4_5_a_mutation_first_applies_what_has_expired_as_actor_watchdog() {
    let mut w = World::new();
    w.have_this(task_on("work", &["a", "b"]), Status::InProgress);
    w.by(IMPL).leases(&["c"]).accepted();
    let seen = w.now();
    w.pass(901);
    let done = w.by(ANN).notes("hello").accepted();
    let names = ["locks_reclaimed", "status_changed", "locks_reclaimed"];
    assert_eq!(done.expired_names(), names);
    assert!(done.expired.iter().all(|placed| placed.draft.agent.as_str() == "watchdog"));
    let Event::LocksReclaimed(body) = &done.expired[0].draft.event else { panic!("not that") };
    assert_eq!((body.owner.as_str(), body.last_seen), (IMPL, Some(seen)));
    let paths: Vec<&str> = body.locks.iter().map(|lock| lock.path.as_str()).collect();
    assert_eq!(paths, ["a", "b"]);
}

#[test]
fn rule_4_5_what_expired_is_applied_even_when_the_command_is_refused() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.pass(901);
    w.by(OTHER).submits("T1").refused(Code::InvalidTransition);
    assert_eq!(w.status("T1"), Status::Queued);
}

#[test]
fn rule_4_5_after_the_host_slept_everything_gets_one_ttl_of_grace() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).leases(&["a"]).accepted();
    w.sleep_host(8 * 3600);
    w.sweep();
    assert_eq!(w.status("T1"), Status::InProgress);
    w.pass(899);
    w.by(OTHER).leases(&["a"]).refused(Code::LeaseHeld);
    w.pass(1);
    w.by(OTHER).leases(&["a"]).accepted();
    assert_eq!(w.status("T1"), Status::Queued);
}

#[test]
fn rule_4_5_a_reclaim_after_sleep_uses_no_attempt_unless_the_holder_was_heard_since() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.sleep_host(3600);
    w.pass(901);
    w.sweep();
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Queued, 0));
    w.by(IMPL).starts("T1").accepted();
    w.sleep_host(3600);
    w.pass(10);
    w.by(IMPL).heartbeats().accepted();
    w.pass(901);
    w.sweep();
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Queued, 1));
}

#[test]
fn rule_4_5_a_lease_that_ran_out_unswept_does_not_come_back_beside_the_one_that_took_its_place() {
    let mut w = World::new();
    w.have_this(task_on("work", &["a"]), Status::InProgress);
    w.by(IMPL).leases(&["b"]).accepted();
    w.have(task_on("next", &["b"]));
    w.due_max = 0;
    w.pass(901);
    let done = w.by(OTHER).leases(&["a"]).accepted();
    assert_eq!(done.names(), ["locks_reclaimed", "file_locked"]);
    w.by(OTHER).claims("T2").accepted();
    w.by(IMPL).heartbeats().accepted();
    assert!(w.paths_of(IMPL).is_empty());
    w.by(IMPL).leases(&["a"]).refused(Code::LeaseHeld);
}

#[test]
fn rule_4_5_a_sweep_reports_what_has_time_left() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.pass(10);
    let mut facts = w.facts();
    facts.put_due(w.due());
    let policy = w.policy.clone();
    let swept = w.settle(&mut facts, |facts| comity_core::decide::sweep(facts, &policy)).unwrap();
    assert!(swept.events.is_empty());
    assert_eq!(swept.later.len(), 1);
    assert!(swept.later[0].1 > w.now());
}

#[test]
fn rule_4_6_the_fence_of_a_claim_that_ran_out_unswept_is_stale() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let fence = w.fence("T1");
    w.due_max = 0;
    w.pass(901);
    w.by(IMPL).with_fence(fence).submits("T1").refused(Code::StaleFence);
}
