//! RULES 4.1 to 4.3 and 4.6: patterns, conflicts, fences. Overlap itself is tested beside its code.

use crate::verbs::{task, task_on, texts};
use crate::world::{ANN, CRITIC, Expect, IMPL, OTHER, World};
use comity_core::command::{Command, LeaseChange, NewTask, StepVerb};
use comity_core::lease::LeaseMode;
use comity_core::refusal::Code;
use comity_core::status::Status;

#[test]
fn rule_4_1_overlap_is_exact_between_literals_directories_and_globs() {
    let cases = [
        ("src", "src/deep/a.rs", true),
        ("src/", "src/a.rs", true),
        ("src/*.rs", "src/a.rs", true),
        ("src/*.rs", "src/deep/a.rs", false),
        ("src/**/*.rs", "src/deep/a.rs", true),
        ("src/{a,b}.rs", "src/c.rs", false),
        ("src/[a-c].rs", "src/?.rs", true),
        ("src", "srcs/a.rs", false),
    ];
    for (held, wanted, collide) in cases {
        let mut w = World::new();
        w.by(IMPL).leases(&[held]).accepted();
        let verdict = w.by(OTHER).leases(&[wanted]);
        assert_eq!(verdict.is_err(), collide, "{held} and {wanted}");
        if collide {
            let refusal = verdict.refused(Code::LeaseHeld);
            assert!(refusal.details["conflicts"][0]["witness"].is_string());
            assert_eq!(refusal.details["conflicts"][0]["held"]["lock_id"], "L1");
        }
    }
}

#[test]
fn rule_4_1_leases_of_different_repositories_do_not_meet() {
    let mut w = World::new();
    w.by(IMPL).leases(&["src/"]).accepted();
    w.repo = comity_core::ids::RepoName::parse("acme/other").unwrap();
    w.by(OTHER).leases(&["src/"]).accepted();
}

#[test]
fn rule_4_1_and_4_2_what_is_no_path_inside_the_root_is_refused() {
    let mut w = World::new();
    let long = "a".repeat(1025);
    for bad in ["", "../x", "/etc/passwd", "a\\b", "a\u{7}b", "[z", "{a", long.as_str()] {
        w.by(IMPL).leases(&[bad]).refused(Code::InvalidInput);
    }
    w.by(IMPL).leases(&[]).refused(Code::InvalidInput);
    w.by(IMPL).leases(&["./src//a.rs"]).accepted();
    assert_eq!(w.paths_of(IMPL), ["src/a.rs"]);
}

#[test]
fn rule_4_2_case_folding_is_a_property_of_the_store() {
    let mut w = World::new();
    w.by(IMPL).leases(&["src/A.rs"]).accepted();
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
    let mut w = World::new();
    w.policy.fold_case = true;
    w.by(IMPL).leases(&["src/A.rs"]).accepted();
    let refusal = w.by(OTHER).leases(&["SRC/a.rs"]).refused(Code::LeaseHeld);
    assert_eq!(refusal.details["conflicts"][0]["witness"], "src/a.rs");
    w.by(OTHER).leases(&["SRC/b.rs", "src/*.MD"]).accepted();
    w.by(OTHER).leases(&["Src/[a-c].rs"]).refused(Code::LeaseHeld);
    w.have(NewTask { files: vec!["Docs/".to_owned()], ..task("folded") });
    w.have(NewTask { files: vec!["SRC/A.RS".to_owned()], ..task("held") });
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T1");
    w.by(OTHER).claims("T2").refused(Code::LeaseHeld);
}

#[test]
fn rule_4_2_what_the_store_says_about_case_comes_before_the_settings() {
    let set = |fold_case, keep| Command::SetRepository { fold_case, keep };
    let mut w = World::new();
    w.by(IMPL).does(set(true, true)).accepted();
    w.by(IMPL).leases(&["src/A.rs", "ς"]).accepted();
    w.by(OTHER).leases(&["SRC/a.rs"]).refused(Code::LeaseHeld);
    w.by(OTHER).leases(&["Σ"]).refused(Code::LeaseHeld);
    let before = w.log.len();
    w.by(OTHER).does(set(false, true)).accepted();
    w.by(ANN).does(set(true, false)).accepted();
    assert_eq!(w.log.len(), before, "what is set already stays and is not set again");
    w.by(OTHER).does(set(false, false)).refused(Code::HumanOnly);
    w.by(ANN).does(set(false, false)).refused(Code::LeaseHeld);
    w.by(IMPL).does(Command::Lease(LeaseChange::Release { ids: vec![], all: true })).accepted();
    w.by(ANN).does(set(false, false)).accepted();
    w.policy.fold_case = true;
    w.by(IMPL).leases(&["src/A.rs"]).accepted();
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
}

#[test]
fn rule_4_3_a_conflict_is_between_different_owners() {
    let mut w = World::new();
    w.by(IMPL).leases(&["src/"]).accepted();
    w.by(IMPL).leases(&["src/a.rs"]).accepted();
    w.by(OTHER).leases(&["src/a.rs"]).refused(Code::LeaseHeld);
}

#[test]
fn rule_4_3_shared_leases_stand_beside_each_other_but_not_beside_exclusive_ones() {
    let mut w = World::new();
    w.by(IMPL).shares(&["docs/"]).accepted();
    w.by(OTHER).shares(&["docs/a.md"]).accepted();
    w.by(ANN).leases(&["docs/a.md"]).refused(Code::LeaseHeld);
    w.by(OTHER).leases(&["docs/a.md"]).refused(Code::LeaseHeld);
    assert_eq!(w.lease("L2").unwrap().mode, LeaseMode::Shared);
}

#[test]
fn rule_4_3_the_same_owner_asking_for_the_same_pattern_gets_its_lease_renewed() {
    let mut w = World::new();
    w.by(IMPL).leases_for(&["src/a.rs"], 60).accepted();
    w.pass(30);
    let done = w.by(IMPL).leases_for(&["src/a.rs", "src/b.rs"], 120).accepted();
    assert_eq!(done.names(), ["lease_renewed", "file_locked"]);
    assert_eq!(done.lease_ids(), ["L1", "L2"]);
    assert_eq!(w.lease("L1").unwrap().renewed_at, w.now());
    w.pass(119);
    w.by(OTHER).leases(&["src/a.rs"]).refused(Code::LeaseHeld);
}

#[test]
fn rule_4_3_several_patterns_are_taken_all_or_none() {
    let mut w = World::new();
    w.by(OTHER).leases(&["src/b.rs"]).accepted();
    let refusal = w.by(IMPL).leases(&["src/a.rs", "src/b.rs", "src/*.rs"]).refused(Code::LeaseHeld);
    assert_eq!(refusal.details["conflicts"].as_array().unwrap().len(), 2);
    assert!(w.paths_of(IMPL).is_empty());
}

#[test]
fn rule_4_3_a_pattern_given_twice_is_taken_once() {
    let mut w = World::new();
    let done = w.by(IMPL).leases(&["src/a.rs", "./src/a.rs"]).accepted();
    assert_eq!(done.lease_ids(), ["L1"]);
}

#[test]
fn rule_4_3_leases_are_renewed_and_released_by_their_owner_or_a_person() {
    let mut w = World::new();
    w.by(IMPL).leases(&["a", "b", "c"]).accepted();
    w.by(OTHER).renews(&["L1"]).refused(Code::NotHolder);
    w.by(OTHER).gives_back(&["L1"]).refused(Code::NotHolder);
    w.by(IMPL).renews(&["L1", "L9"]).refused(Code::NotFound);
    w.by(IMPL).renews(&["x"]).refused(Code::InvalidInput);
    w.by(IMPL).renews(&["L1", "L2"]).accepted();
    w.by(ANN).gives_back(&["L1"]).accepted();
    w.by(IMPL).gives_back(&[]).refused(Code::InvalidInput);
    let done = w.by(IMPL).gives_back_all().accepted();
    assert_eq!(done.lease_ids(), ["L2", "L3"]);
    assert!(w.state.leases.is_empty());
}

#[test]
fn rule_4_3_one_lease_of_a_claim_may_be_released_and_the_task_stays() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs", "src/b.rs"]), Status::InProgress);
    w.by(IMPL).gives_back(&["L1"]).accepted();
    assert_eq!(w.paths_of(IMPL), ["src/b.rs"]);
    assert_eq!(w.task("T1").claim.as_ref().unwrap().leases.len(), 1);
    w.by(IMPL).gives_back_all().accepted();
    assert_eq!(w.status("T1"), Status::InProgress);
    assert!(w.task("T1").claim.as_ref().unwrap().leases.is_empty());
}

#[test]
fn rule_4_3_a_lease_for_a_held_task_ends_with_its_claim() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(OTHER).leases_for_task("T1", &["src/a.rs"]).refused(Code::NotHolder);
    w.by(IMPL).leases_for_task("T1", &["src/a.rs"]).accepted();
    assert_eq!(w.task("T1").claim.as_ref().unwrap().leases.len(), 1);
    w.by(IMPL).renews(&["L1"]).accepted();
    w.by(IMPL).submits("T1").accepted();
    assert!(w.state.leases.is_empty());
}

#[test]
fn rule_4_6_a_fence_is_the_seq_of_the_event_that_granted_it_and_only_grows() {
    let mut w = World::new();
    let mut last = 0;
    for n in 0..5 {
        let done = w.by(IMPL).leases(&[&format!("f{n}")]).accepted();
        let fence = w.lease(&done.lease_ids()[0]).unwrap().fence.get();
        assert_eq!(fence, done.events[0].seq.0);
        assert!(fence > last);
        last = fence;
        w.by(IMPL)
            .gives_back(&done.lease_ids().iter().map(String::as_str).collect::<Vec<_>>())
            .accepted();
    }
}

#[test]
fn rule_4_6_a_verb_that_needs_the_holder_needs_the_live_grant_of_the_task_named() {
    let mut w = World::new();
    w.have_this(task_on("a", &["a"]), Status::InProgress);
    w.have_this(task_on("b", &["b"]), Status::InProgress);
    let (first, second) = (w.fence("T1"), w.fence("T2"));
    w.by(IMPL).with_fence(second).submits("T1").refused(Code::StaleFence);
    w.by(IMPL).with_fence(99_999).submits("T1").refused(Code::StaleFence);
    w.by(IMPL).with_fence(second).step("T1", StepVerb::Start, "a").refused(Code::StaleFence);
    w.by(IMPL).with_fence(second).blocks("T1", "x").refused(Code::StaleFence);
    w.by(IMPL).with_fence(second).fails("T1").refused(Code::StaleFence);
    w.by(IMPL).with_fence(second).releases("T1").refused(Code::StaleFence);
    w.by(IMPL).with_fence(first).submits("T1").accepted();
    w.by(CRITIC).requests_changes("T1").accepted();
    w.by(IMPL).with_fence(first).starts("T1").refused(Code::StaleFence);
}

#[test]
fn rule_4_6_the_fence_of_a_former_holder_is_stale_even_when_the_task_is_its_own_again() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let old = w.fence("T1");
    w.pass(901);
    w.by(IMPL).starts("T1").accepted();
    w.by(IMPL).with_fence(old).submits("T1").refused(Code::StaleFence);
    let new = w.fence("T1");
    w.by(IMPL).with_fence(new).submits("T1").accepted();
}

#[test]
fn rule_4_6_a_lease_is_named_with_its_own_fence_or_with_that_of_its_claim() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let claim = w.fence("T1");
    w.by(IMPL).leases_for_task("T1", &["a"]).accepted();
    w.by(IMPL).leases(&["b"]).accepted();
    let (bound, free) = (w.lease("L1").unwrap().fence.get(), w.lease("L2").unwrap().fence.get());
    w.by(IMPL).with_fence(claim).renews(&["L1"]).accepted();
    w.by(IMPL).with_fence(bound).renews(&["L1"]).accepted();
    w.by(IMPL).with_fence(free).renews(&["L1"]).refused(Code::StaleFence);
    w.by(IMPL).with_fence(claim).renews(&["L2"]).refused(Code::StaleFence);
    w.by(IMPL).with_fence(free).gives_back(&["L2"]).accepted();
}

#[test]
fn rule_4_6_no_other_operation_looks_at_a_fence() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let fence = w.fence("T1");
    w.by(IMPL).with_fence(fence).submits("T1").accepted();
    // The claim has ended, and its fence is still in the agent's environment.
    w.by(IMPL).with_fence(fence).creates(task("b")).accepted();
    w.by(IMPL).with_fence(fence).heartbeats().accepted();
    w.by(IMPL).with_fence(fence).notes_on("T1", "x").accepted();
    w.by(IMPL).with_fence(fence).leases(&["a"]).accepted();
    w.by(IMPL).with_fence(fence).does(Command::Sweep).accepted();
    let all = Command::Lease(LeaseChange::Release { ids: texts(&[]), all: true });
    w.by(IMPL).with_fence(fence).does(all).accepted();
    w.by(IMPL).with_fence(fence).claims_best().accepted();
    assert!(w.fence("T2") > fence);
}
