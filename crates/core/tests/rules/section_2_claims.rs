//! RULES 2.3 and 2.4: claims, their leases, assignment, review ownership.

use crate::verbs::{task, task_on};
use crate::world::{ANN, CRITIC, Done, Expect, IMPL, INTEGRATOR, OTHER, PLANNER, World, id};
use comity_core::command::{ClaimWish, Command, NewTask};
use comity_core::event::Event;
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::{Deliverable, Priority};
use comity_core::time::Millis;

#[test]
fn rule_2_3_a_claim_carries_agent_host_workspace_fence_ttl_and_leases() {
    let mut w = World::new();
    w.have(task_on("work", &["src/a.rs", "docs/"]));
    let done = w.by(IMPL).claims_for("T1", 60).accepted();
    assert_eq!(done.names(), ["task_claimed", "file_locked", "file_locked", "status_changed"]);
    let claim = w.task("T1").claim.clone().unwrap();
    assert_eq!(claim.agent, id(IMPL));
    assert_eq!(claim.host.as_deref(), Some("host-1"));
    assert_eq!(claim.workspace.as_deref(), Some("/trees/one"));
    assert_eq!(claim.ttl, Millis::from_secs(60));
    assert_eq!(claim.fence.get(), done.events[0].seq.0);
    for lease in done.lease_ids() {
        let lease = w.lease(&lease).unwrap();
        assert_eq!((lease.fence, lease.ttl), (claim.fence, claim.ttl));
    }
    assert_eq!(w.paths_of(IMPL), ["src/a.rs", "docs/"]);
}

#[test]
fn rule_2_3_the_ttl_is_900_seconds_unless_given_and_lies_between_1_second_and_7_days() {
    let mut w = World::new();
    w.have(task("work"));
    for bad in [0, 7 * 86_400 + 1] {
        w.by(IMPL).claims_for("T1", bad).refused(Code::InvalidInput);
    }
    for good in [1, 7 * 86_400] {
        w.by(IMPL).claims_for("T1", good).accepted();
        w.by(IMPL).releases("T1").accepted();
    }
    w.by(IMPL).claims("T1").accepted();
    assert_eq!(w.task("T1").claim.as_ref().unwrap().ttl, Millis::from_secs(900));
}

/// Lets a claim with leases end and shows that they end with it, by the same command.
fn ends(end: impl FnOnce(&mut World) -> Done, expected: Status) {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs", "src/b.rs"]), Status::InProgress);
    assert_eq!(w.paths_of(IMPL).len(), 2);
    let done = end(&mut w);
    assert_eq!(w.status("T1"), expected);
    assert!(w.task("T1").claim.is_none());
    assert!(w.paths_of(IMPL).is_empty());
    let released = done.names().iter().filter(|name| **name == "lease_released").count();
    assert_eq!(released, 2);
}

#[test]
fn rule_2_3_a_claim_ends_on_submit_and_its_leases_end_with_it() {
    ends(|w| w.by(IMPL).submits("T1").accepted(), Status::Review);
}

#[test]
fn rule_2_3_a_claim_ends_on_block_and_its_leases_end_with_it() {
    ends(|w| w.by(IMPL).blocks("T1", "a key").accepted(), Status::Blocked);
}

#[test]
fn rule_2_3_a_claim_ends_on_fail_and_its_leases_end_with_it() {
    ends(|w| w.by(IMPL).fails("T1").accepted(), Status::Failed);
}

#[test]
fn rule_2_3_a_claim_ends_on_release_and_its_leases_end_with_it() {
    ends(|w| w.by(IMPL).releases("T1").accepted(), Status::Queued);
}

#[test]
fn rule_2_3_a_claim_ends_on_abandon_and_its_leases_end_with_it() {
    ends(|w| w.by(PLANNER).abandons("T1").accepted(), Status::Abandoned);
}

#[test]
fn rule_2_3_a_claim_ends_on_requeue_and_its_leases_end_with_it() {
    ends(|w| w.by(PLANNER).requeues("T1").accepted(), Status::Queued);
}

#[test]
fn rule_2_3_a_claim_ends_on_reclaim_and_its_leases_end_with_it() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs"]), Status::InProgress);
    w.pass(901);
    let done = w.sweep();
    assert_eq!(done.expired_names(), ["locks_reclaimed", "status_changed"]);
    assert_eq!(w.status("T1"), Status::Queued);
    assert!(w.paths_of(IMPL).is_empty());
}

#[test]
fn rule_2_3_submit_with_keep_leases_keeps_them_while_heartbeats_come() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs"]), Status::InProgress);
    let done = w.by(IMPL).submits_keeping_leases("T1").accepted();
    assert_eq!(done.names(), ["lease_renewed", "review_requested", "status_changed"]);
    assert_eq!(w.lease("L1").unwrap().claim_of, None);
    for _ in 0..3 {
        w.pass(800);
        w.by(IMPL).heartbeats().accepted();
        w.by(OTHER).leases(&["src/a.rs"]).refused(Code::LeaseHeld);
    }
    w.pass(901);
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
}

#[test]
fn rule_2_3_start_from_changes_requested_takes_a_new_claim_and_uses_no_attempt() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs"]), Status::ChangesRequested);
    assert!(w.paths_of(IMPL).is_empty());
    w.by(OTHER).starts("T1").refused(Code::NotHolder);
    let done = w.by(IMPL).starts("T1").accepted();
    assert_eq!(done.names(), ["task_claimed", "file_locked", "status_changed"]);
    assert_eq!(w.paths_of(IMPL), ["src/a.rs"]);
    assert_eq!((w.task("T1").attempts, w.task("T1").round), (0, 2));
}

#[test]
fn rule_2_2_claim_takes_the_callers_own_sent_back_work_first() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs"]), Status::ChangesRequested);
    w.by(ANN)
        .creates(NewTask { priority: Some(Priority::from_rank(0)), ..task("urgent") })
        .accepted();
    let done = w.by(IMPL).claims_best().accepted();
    assert_eq!(done.names(), ["task_claimed", "file_locked", "status_changed"]);
    assert_eq!(w.status("T1"), Status::InProgress);
    assert_eq!((w.task("T1").attempts, w.task("T1").round), (0, 2));
    let feedback = w.task("T1").feedback.clone().unwrap();
    assert_eq!((feedback.by.as_str(), feedback.round), (CRITIC, 1));
    w.by(OTHER).claims_best().accepted();
    assert_eq!(w.status("T2"), Status::Claimed, "others get what is queued");
}

#[test]
fn rule_2_2_sent_back_work_whose_files_another_leases_does_not_stop_a_claim() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs"]), Status::ChangesRequested);
    w.by(OTHER).leases(&["src/"]).accepted();
    w.by(ANN).creates(task("next")).accepted();
    w.by(IMPL).claims_best().accepted();
    assert_eq!((w.status("T1"), w.status("T2")), (Status::ChangesRequested, Status::Claimed));
}

#[test]
fn rule_2_3_sent_back_work_goes_to_the_queue_when_its_assignee_is_silent_for_a_ttl() {
    let mut w = World::new();
    w.have_one(Status::ChangesRequested);
    w.pass(800);
    w.by(IMPL).heartbeats().accepted();
    w.pass(800);
    w.sweep();
    assert_eq!(w.status("T1"), Status::ChangesRequested, "its assignee is alive");
    w.pass(101);
    w.sweep();
    let task = w.task("T1");
    assert_eq!((task.status, task.attempts), (Status::Queued, 0));
    assert_eq!(task.preferred.as_ref().map(|id| id.as_str()), Some(IMPL));
    assert!(task.feedback.is_some(), "the feedback goes with it");
}

#[test]
fn a_claim_may_begin_the_work_at_once() {
    let mut w = World::new();
    w.by(ANN).creates(task_on("work", &["src/a.rs"])).accepted();
    let wish = ClaimWish { start: true, ..ClaimWish::default() };
    let done = w.by(IMPL).does(Command::Claim(wish)).accepted();
    assert_eq!(done.names(), ["task_claimed", "file_locked", "status_changed"]);
    assert_eq!((w.status("T1"), w.task("T1").round), (Status::InProgress, 1));
    assert!(w.task("T1").claim.clone().unwrap().started_at.is_some());
}

#[test]
fn rule_2_3_leases_kept_over_a_review_are_taken_again_by_the_new_claim_and_not_twice() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs", "docs/"]), Status::InProgress);
    w.by(IMPL).leases(&["elsewhere/"]).accepted();
    w.by(IMPL).submits_keeping_leases("T1").accepted();
    w.by(CRITIC).requests_changes("T1").accepted();
    assert_eq!(w.paths_of(IMPL), ["src/a.rs", "docs/", "elsewhere/"]);
    let done = w.by(IMPL).starts("T1").accepted();
    let released = done.names().iter().filter(|name| **name == "lease_released").count();
    assert_eq!(released, 2);
    assert_eq!(w.paths_of(IMPL), ["elsewhere/", "src/a.rs", "docs/"]);
    let claim = w.task("T1").claim.clone().unwrap();
    assert_eq!(claim.leases.len(), 2);
    w.by(IMPL).submits("T1").accepted();
    assert_eq!(w.paths_of(IMPL), ["elsewhere/"], "they end with the new claim");
}

#[test]
fn rule_2_3_start_from_changes_requested_waits_for_files_that_another_leased_meanwhile() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/a.rs"]), Status::ChangesRequested);
    w.by(OTHER).leases(&["src/"]).accepted();
    w.by(IMPL).starts("T1").refused(Code::LeaseHeld);
    assert_eq!(w.status("T1"), Status::ChangesRequested);
}

#[test]
fn rule_2_3_start_of_a_queued_or_failed_task_claims_on_the_way() {
    for from in [Status::Queued, Status::Failed] {
        let mut w = World::new();
        w.have_this(task_on("work", &["src/a.rs"]), from);
        let done = w.by(OTHER).starts("T1").accepted();
        assert_eq!(done.names(), ["task_claimed", "file_locked", "status_changed"]);
        assert_eq!(w.task("T1").assignee, Some(id(OTHER)));
        assert_eq!(w.status("T1"), Status::InProgress);
    }
}

#[test]
fn rule_2_3_only_the_holder_submits_releases_and_starts() {
    let mut w = World::new();
    w.have_one(Status::Claimed);
    w.by(OTHER).starts("T1").refused(Code::NotHolder);
    w.by(OTHER).releases("T1").refused(Code::NotHolder);
    w.by(IMPL).starts("T1").accepted();
    w.by(OTHER).submits("T1").refused(Code::NotHolder);
    w.by(OTHER).fails("T1").refused(Code::NotHolder);
    w.by(OTHER).blocks("T1", "a key").refused(Code::NotHolder);
    w.by(IMPL).submits("T1").accepted();
    w.by(IMPL).releases("T1").refused(Code::InvalidTransition);
}

#[test]
fn rule_2_3_a_claim_without_leases_takes_none() {
    let mut w = World::new();
    w.have(task_on("work", &["src/a.rs"]));
    let wish = ClaimWish { id: Some("T1".into()), no_lease: true, ..ClaimWish::default() };
    w.by(IMPL).does(Command::Claim(wish)).accepted();
    assert!(w.paths_of(IMPL).is_empty());
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
}

#[test]
fn rule_2_4_assign_reserves_a_task_without_claiming_it() {
    let mut w = World::new();
    w.have(task("work"));
    w.by(PLANNER).assigns("T1", Some(IMPL)).accepted();
    assert_eq!(w.status("T1"), Status::Queued);
    assert!(w.task("T1").claim.is_none());
    assert_eq!(w.task("T1").assignee, Some(id(IMPL)));
    w.by(OTHER).claims("T1").refused(Code::NotReady);
    w.by(PLANNER).assigns("T1", None).accepted();
    assert_eq!(w.task("T1").assignee, None);
    w.by(OTHER).claims("T1").accepted();
    w.by(PLANNER).assigns("T1", Some(IMPL)).refused(Code::NotReady);
    w.by(OTHER).releases("T1").accepted();
    w.by(IMPL).assigns("T1", Some(IMPL)).refused(Code::RoleForbidden);
}

#[test]
fn rule_2_4_a_task_is_created_for_oneself_but_for_another_only_by_who_assigns() {
    let mut w = World::new();
    let for_other = || NewTask { assignee: Some(id(OTHER)), ..task("work") };
    w.by(IMPL).creates(for_other()).refused(Code::RoleForbidden);
    w.by(OTHER).creates(for_other()).accepted();
    w.by(PLANNER).creates(for_other()).accepted();
}

#[test]
fn rule_2_4_assigning_does_not_hide_who_did_the_work_from_self_review() {
    let mut w = World::new();
    w.give_roles(IMPL, &[Role::Implementer, Role::Critic, Role::Planner]);
    w.have_one(Status::Review);
    w.by(IMPL).approves("T1").refused(Code::SelfReview);
    w.by(IMPL).assigns("T1", Some(OTHER)).accepted();
    w.by(IMPL).approves("T1").refused(Code::SelfReview);
    w.by(CRITIC).approves("T1").accepted();
}

#[test]
fn rule_2_4_a_review_that_was_taken_is_left_to_that_critic() {
    let mut w = World::new();
    w.give_roles("agent.critic.2", &[Role::Critic]);
    w.have_one(Status::Review);
    w.by(CRITIC).takes_review("T1").accepted();
    assert_eq!(w.task("T1").reviewer, Some(id(CRITIC)));
    w.by("agent.critic.2").takes_review("T1").refused(Code::NotHolder);
    w.by("agent.critic.2").approves("T1").refused(Code::NotHolder);
    w.by("agent.critic.2").requests_changes("T1").refused(Code::NotHolder);
    w.by(ANN).takes_review("T1").accepted();
    w.by(CRITIC).approves("T1").refused(Code::NotHolder);
    w.by(ANN).approves("T1").accepted();
    w.by(CRITIC).takes_review("T1").refused(Code::InvalidTransition);
}

#[test]
fn rule_2_8_without_code_there_is_no_branch_and_no_merging() {
    for deliverable in [Deliverable::Document, Deliverable::None] {
        let mut w = World::new();
        w.have_this(NewTask { deliverable, ..task("work") }, Status::Approved);
        assert_eq!(w.task("T1").branch, None);
        w.by(INTEGRATOR).merges("T1").refused(Code::InvalidTransition);
        let done = w.by(INTEGRATOR).finishes("T1").accepted();
        assert_eq!(done.names(), ["status_changed"]);
    }
}

#[test]
fn rule_2_8_code_has_a_branch_and_is_merged_before_it_is_done() {
    let mut w = World::new();
    w.have_this(task("Mend the *broken* parser!"), Status::Approved);
    assert_eq!(w.task("T1").branch.as_deref(), Some("feat/T1-mend-the-broken-parser"));
    w.by(INTEGRATOR).finishes("T1").refused(Code::InvalidTransition);
    w.by(INTEGRATOR).merges("T1").accepted();
    let done = w.by(INTEGRATOR).finishes("T1").accepted();
    assert_eq!(done.names(), ["merged", "status_changed"]);
    assert!(done.events.iter().any(|placed| matches!(placed.draft.event, Event::Merged(_))));
}
