//! RULES section 2: the table, ids, readiness, dependencies, versions.

use crate::verbs::{task, task_on, texts};
use crate::world::{ANN, Expect, IMPL, OTHER, PLANNER, World};
use comity_core::command::{ClaimWish, Command, ConstraintChanges, NewTask};
use comity_core::event::{Event, TaskUpdated};
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::Priority;
use serde_json::json;

fn named(id: &str) -> NewTask {
    NewTask { id: Some(id.to_owned()), ..task("work") }
}

fn urgent(title: &str, priority: &str) -> NewTask {
    NewTask { priority: Some(Priority::parse(priority).unwrap()), ..task(title) }
}

fn after(title: &str, on: &[&str]) -> NewTask {
    NewTask { depends_on: texts(on), ..task(title) }
}

#[test]
fn rule_2_no_step_outside_the_table_is_taken_by_anybody() {
    for from in Status::ALL {
        for to in Status::ALL {
            let mut w = World::new();
            w.have_one(from);
            let verdict = w.by(ANN).moves("T1", to);
            if from.may_become(to) {
                let allowed_later = (from, to) == (Status::Approved, Status::Done);
                assert_eq!(verdict.is_ok(), !allowed_later, "{from} → {to}: {verdict:?}");
            } else {
                verdict.refused(Code::InvalidTransition);
                assert_eq!(w.status("T1"), from);
            }
        }
    }
}

#[test]
fn rule_2_done_and_abandoned_are_reopened_by_a_person_with_a_reason() {
    for end in [Status::Done, Status::Abandoned] {
        let mut w = World::new();
        w.have_one(end);
        w.by(PLANNER).reopens("T1", "again").refused(Code::HumanOnly);
        w.by(PLANNER).requeues("T1").refused(Code::InvalidTransition);
        w.by(ANN).reopens("T1", "").refused(Code::InvalidInput);
        w.by(ANN).reopens("T1", "it came back").accepted();
        assert_eq!(w.status("T1"), Status::Queued);
    }
    let mut w = World::new();
    w.have_one(Status::Review);
    w.by(ANN).reopens("T1", "again").refused(Code::InvalidTransition);
}

#[test]
fn rule_2_1_generated_ids_are_t_and_the_number() {
    let mut w = World::new();
    assert_eq!([w.have(task("a")), w.have(task("b"))], ["T1", "T2"]);
    assert_eq!(w.have(named("bug-7")), "bug-7");
    assert_eq!(w.task("bug-7").number, 3);
    assert_eq!(w.have(task("c")), "T4");
}

#[test]
fn rule_2_1_a_given_t_n_takes_number_n_and_is_refused_when_taken() {
    let mut w = World::new();
    w.have(named("T042"));
    assert_eq!(w.task("T042").number, 42);
    w.by(ANN).creates(named("T42")).refused(Code::DuplicateId);
    w.by(ANN).creates(named("T042")).refused(Code::DuplicateId);
    assert_eq!(w.have(named("T7")), "T7");
    assert_eq!(w.have(task("next")), "T43");
    w.by(ANN).creates(named("T43")).refused(Code::DuplicateId);
    for bad in ["T0", "T99999999999", "7", "a b"] {
        w.by(ANN).creates(named(bad)).refused(Code::InvalidInput);
    }
}

#[test]
fn rule_2_1_an_exact_id_beats_a_prefix_and_an_ambiguous_prefix_is_refused() {
    let mut w = World::new();
    for id in ["alpha", "alpha-2", "beta"] {
        w.have(named(id));
    }
    assert_eq!(w.by(IMPL).claims("alpha").accepted().task_id(), "alpha");
    assert_eq!(w.by(IMPL).claims("be").accepted().task_id(), "beta");
    let refusal = w.by(IMPL).claims("al").refused(Code::AmbiguousId);
    assert_eq!(refusal.details["matches"], json!(["alpha", "alpha-2"]));
    w.by(IMPL).claims("gamma").refused(Code::NotFound);
}

#[test]
fn rule_2_1_a_number_and_a_small_t_mean_the_generated_id_and_never_the_number_of_another() {
    let mut w = World::new();
    w.have(NewTask { id: Some("other".into()), ..task("first") });
    w.have(task("second"));
    w.by(IMPL).notes_on("2", "x").accepted();
    w.by(IMPL).notes_on("t2", "x").accepted();
    w.by(IMPL).claims("2").accepted();
    assert_eq!(w.status("T2"), Status::Claimed);
    w.by(IMPL).notes_on("1", "x").refused(Code::NotFound);
    w.by(IMPL).notes_on("t", "x").refused(Code::NotFound);
    w.have(NewTask { id: Some("t9".into()), ..task("third") });
    w.by(IMPL).claims("t9").accepted();
}

#[test]
fn rule_2_1_titles_texts_and_lists_are_bounded() {
    let mut w = World::new();
    w.by(ANN).creates(task(&"é".repeat(500))).accepted();
    w.by(ANN).creates(task(&"x".repeat(501))).refused(Code::InvalidInput);
    w.by(ANN).creates(task("two\nlines")).refused(Code::InvalidInput);
    w.by(ANN).creates(task("  ")).refused(Code::InvalidInput);
    let long = |n: usize| NewTask { description: "x".repeat(n), ..task("a") };
    w.by(ANN).creates(long(64 * 1024)).accepted();
    w.by(ANN).creates(long(64 * 1024 + 1)).refused(Code::InvalidInput);
    let many =
        |n: usize| NewTask { labels: (0..n).map(|i| format!("l{i}")).collect(), ..task("a") };
    w.by(ANN).creates(many(200)).accepted();
    w.by(ANN).creates(many(201)).refused(Code::InvalidInput);
}

#[test]
fn rule_2_1_lists_that_grow_later_are_bounded_too() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    for n in 0..200 {
        w.by(IMPL).records("T1", &format!("g{n}"), true).accepted();
    }
    w.by(IMPL).records("T1", "g200", true).refused(Code::LimitExceeded);
    w.by(IMPL).records("T1", "g7", true).accepted();
}

#[test]
fn rule_2_2_ready_is_queued_with_dependencies_done() {
    let mut w = World::new();
    w.have(task("first"));
    w.have(after("second", &["T1"]));
    w.by(IMPL).claims("T2").refused(Code::NotReady);
    w.bring("T1", Status::Done);
    w.by(IMPL).claims("T2").accepted();
    w.by(OTHER).claims("T2").refused(Code::NotReady);
}

#[test]
fn rule_2_2_ready_is_without_blocker_and_not_assigned_to_another() {
    let mut w = World::new();
    w.have(NewTask { blockers: texts(&["vendor"]), ..task("a") });
    w.by(IMPL).claims("T1").refused(Code::NotReady);
    w.have(task("b"));
    w.by(PLANNER).assigns("T2", Some(OTHER)).accepted();
    w.by(IMPL).claims("T2").refused(Code::NotReady);
    let refusal = w.by(IMPL).claims_best().refused(Code::NothingReady);
    assert_eq!(refusal.details["reasons"], json!({"assigned_to_others": 1, "blockers": 1}));
    w.by(OTHER).claims("T2").accepted();
}

#[test]
fn rule_2_2_ready_is_without_a_live_lease_of_another_owner_on_a_declared_file() {
    let mut w = World::new();
    w.have(task_on("a", &["src/**/*.rs"]));
    w.by(OTHER).leases_for(&["src/lib.rs"], 60).accepted();
    let refusal = w.by(IMPL).claims("T1").refused(Code::LeaseHeld);
    assert_eq!(refusal.details["conflicts"][0]["witness"], "src/lib.rs");
    w.by(IMPL).claims_best().refused(Code::NothingReady);
    w.by(OTHER).claims("T1").accepted();
    w.by(OTHER).releases("T1").accepted();
    w.pass(61);
    w.by(IMPL).claims("T1").accepted();
}

#[test]
fn rule_2_2_a_missing_role_is_said_before_other_reasons() {
    let mut w = World::new();
    w.have(task("first"));
    w.have(NewTask { role: Some(Role::Critic), ..after("second", &["T1"]) });
    w.by(IMPL).claims("T2").refused(Code::RoleForbidden);
}

#[test]
fn rule_2_2_the_best_is_p0_first_then_by_number() {
    let mut w = World::new();
    for (title, priority) in [("a", "low"), ("b", "P1"), ("c", "critical"), ("d", "P0")] {
        w.have(urgent(title, priority));
    }
    w.have(task("e"));
    assert_eq!(w.task("T5").priority, Priority::parse("medium").unwrap());
    let taken: Vec<String> =
        (0..5).map(|_| w.by(IMPL).claims_best().accepted().task_id()).collect();
    assert_eq!(taken, ["T3", "T4", "T2", "T5", "T1"]);
    w.by(IMPL).claims_best().refused(Code::NothingReady);
}

#[test]
fn rule_2_2_claim_looks_at_200_candidates_at_most_and_counts_the_reasons() {
    let mut w = World::new();
    for n in 0..200 {
        w.have(NewTask { blockers: texts(&["vendor"]), ..task(&format!("t{n}")) });
    }
    w.have(task("free"));
    w.have(after("later", &["T1"]));
    let refusal = w.by(IMPL).claims_best().refused(Code::NothingReady);
    assert_eq!(refusal.details["looked_at"], 200);
    assert_eq!(refusal.details["reasons"], json!({"blockers": 200, "dependencies": 1}));
    w.by(ANN)
        .updates("T1", TaskUpdated { blockers: Some(Vec::new()), ..Default::default() })
        .accepted();
    assert_eq!(w.by(IMPL).claims_best().accepted().task_id(), "T1");
    assert_eq!(w.by(IMPL).claims_best().accepted().task_id(), "T201");
}

#[test]
fn rule_2_2_candidates_of_another_role_or_skill_count_as_looked_at() {
    let mut w = World::new();
    for n in 0..199 {
        w.have(task(&format!("t{n}")));
    }
    w.have(NewTask { role: Some(Role::Critic), labels: texts(&["sql"]), ..task("critic's") });
    w.have(NewTask { labels: texts(&["rust"]), ..task("beyond") });
    let wish = |skills: &[&str]| {
        Command::Claim(ClaimWish { skills: texts(skills), ..ClaimWish::default() })
    };
    w.by(IMPL).does(wish(&["rust"])).refused(Code::NothingReady);
    assert_eq!(w.by("human:bob").does(wish(&["sql"])).accepted().task_id(), "T200");
    w.by("human:bob").releases("T200").accepted();
    let done = w.by("human:bob").claims_best_of(Role::Critic).accepted();
    assert_eq!(done.task_id(), "T200");
    assert_eq!(w.by(IMPL).claims_best_of(Role::Implementer).accepted().task_id(), "T1");
    assert_eq!(w.by(IMPL).does(wish(&["rust"])).accepted().task_id(), "T201");
}

#[test]
fn rule_2_7_a_cycle_is_refused_and_named() {
    let mut w = World::new();
    w.have(task("a"));
    w.have(after("b", &["T1"]));
    w.have(after("c", &["T2"]));
    let refusal = w.by(PLANNER).makes_wait("T1", "T3").refused(Code::DependencyCycle);
    assert_eq!(refusal.details["cycle"], json!(["T1", "T3", "T2", "T1"]));
    w.by(PLANNER).makes_wait("T1", "T1").refused(Code::DependencyCycle);
    w.by(PLANNER).makes_wait("T3", "T1").accepted();
}

#[test]
fn rule_2_7_an_abandoned_dependency_blocks_its_dependants_with_that_reason() {
    let mut w = World::new();
    w.have(task("a"));
    w.have(after("b", &["T1"]));
    w.have(after("c", &["T2"]));
    w.by(PLANNER).abandons("T1").accepted();
    assert_eq!(w.status("T2"), Status::Blocked);
    assert_eq!(w.task("T2").block.as_ref().unwrap().needs, "dependency T1 was abandoned");
    assert_eq!(w.status("T3"), Status::Queued);
    w.have(after("d", &["T1"]));
    assert_eq!(w.status("T4"), Status::Blocked);
    w.by(PLANNER).makes_wait("T3", "T1").accepted();
    assert_eq!(w.status("T3"), Status::Blocked);
}

/// Lets T2 be held while T1, on which it depends, is abandoned.
fn held_while_its_dependency_ends() -> World {
    let mut w = World::new();
    w.have(task("a"));
    w.have_this(task("b"), Status::InProgress);
    w.by(PLANNER).makes_wait("T2", "T1").accepted();
    w.by(PLANNER).abandons("T1").accepted();
    assert_eq!(w.status("T2"), Status::InProgress, "who works on it is not disturbed");
    w
}

fn assert_blocked_by_t1(w: &World) {
    assert_eq!(w.status("T2"), Status::Blocked);
    assert_eq!(w.task("T2").block.as_ref().unwrap().needs, "dependency T1 was abandoned");
}

#[test]
fn rule_2_7_a_released_task_does_not_wait_in_the_queue_for_an_abandoned_one() {
    let mut w = held_while_its_dependency_ends();
    let done = w.by(IMPL).releases("T2").accepted();
    assert_eq!(done.names(), ["released", "status_changed", "status_changed"]);
    assert_blocked_by_t1(&w);
}

#[test]
fn rule_2_7_nor_does_one_that_is_reclaimed() {
    let mut w = held_while_its_dependency_ends();
    w.pass(901);
    w.sweep();
    assert_blocked_by_t1(&w);
    assert_eq!(w.task("T2").attempts, 1);
}

#[test]
fn rule_2_7_nor_does_one_that_is_requeued_reopened_or_tried_again() {
    let mut w = held_while_its_dependency_ends();
    w.by(IMPL).fails("T2").accepted();
    w.by(PLANNER).requeues("T2").accepted();
    assert_blocked_by_t1(&w);
    w.by(PLANNER).abandons("T2").accepted();
    w.by(ANN).reopens("T2", "again").accepted();
    assert_blocked_by_t1(&w);
    let mut w = held_while_its_dependency_ends();
    w.by(IMPL).blocks_with("T2", "time", &[], Some(60)).accepted();
    w.pass(61);
    w.sweep();
    assert_blocked_by_t1(&w);
}

#[test]
fn rule_2_7_nor_does_one_whose_questions_are_answered() {
    let mut w = held_while_its_dependency_ends();
    w.by(IMPL).blocks_with("T2", "an answer", &["which?"], None).accepted();
    w.by(ANN).answers("D1", "this").accepted();
    assert_blocked_by_t1(&w);
}

#[test]
fn rule_2_7_such_a_task_is_not_unblocked_while_the_reason_lasts() {
    let mut w = held_while_its_dependency_ends();
    w.by(IMPL).releases("T2").accepted();
    let refusal = w.by(ANN).unblocks("T2").refused(Code::NotReady);
    assert_eq!(refusal.details["dependency"], "T1");
    w.by(ANN).requeues("T2").refused(Code::NotReady);
    assert_blocked_by_t1(&w);
}

#[test]
fn rule_2_7_reopening_or_removing_the_dependency_ends_the_block() {
    let mut w = held_while_its_dependency_ends();
    w.by(IMPL).releases("T2").accepted();
    w.by(ANN).reopens("T1", "needed after all").accepted();
    assert_eq!(w.status("T2"), Status::Queued);
    w.by(PLANNER).abandons("T1").accepted();
    assert_blocked_by_t1(&w);
    let remove =
        Command::Depend { id: "T2".into(), on: "T1".into(), remove: true, awaits_unknown: false };
    w.by(PLANNER).does(remove).accepted();
    assert_eq!(w.status("T2"), Status::Queued);
    w.by(IMPL).claims("T2").accepted();
}

#[test]
fn rule_2_7_a_second_abandoned_dependency_and_another_block_keep_their_own_reason() {
    let mut w = World::new();
    for title in ["a", "b"] {
        w.have(task(title));
    }
    w.have(after("c", &["T1", "T2"]));
    w.have_this(task("d"), Status::Blocked);
    w.by(PLANNER).makes_wait("T4", "T1").accepted();
    w.by(PLANNER).abandons("T1").accepted();
    w.by(PLANNER).abandons("T2").accepted();
    w.by(ANN).reopens("T1", "needed after all").accepted();
    assert_eq!(w.task("T3").block.as_ref().unwrap().needs, "dependency T2 was abandoned");
    assert_eq!(w.status("T4"), Status::Blocked, "it was blocked for a reason of its own");
}

#[test]
fn rule_2_7_a_dependency_is_removed_by_a_planner_only() {
    let mut w = World::new();
    w.have(task("a"));
    w.by(IMPL).creates(after("b", &["T1"])).accepted();
    let remove = |on: &str| Command::Depend {
        id: "T2".into(),
        on: on.into(),
        remove: true,
        awaits_unknown: false,
    };
    w.by(IMPL).does(remove("T1")).refused(Code::RoleForbidden);
    w.by(PLANNER).does(remove("T1")).accepted();
    w.by(PLANNER).does(remove("T1")).refused(Code::NotFound);
    w.by(IMPL).claims("T2").accepted();
}

#[test]
fn rule_2_7_a_parent_is_done_only_when_its_children_are() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let part = || NewTask { parent: Some("T1".into()), ..task("part") };
    w.have(part());
    w.have(part());
    w.by(IMPL).submits("T1").accepted();
    w.by(ANN).approves("T1").accepted();
    w.by(ANN).merges("T1").accepted();
    let refusal = w.by(ANN).finishes("T1").refused(Code::NotReady);
    assert_eq!(refusal.details["children"], json!(["T2", "T3"]));
    w.bring("T2", Status::Done);
    w.by(PLANNER).abandons("T3").accepted();
    w.by(ANN).finishes("T1").accepted();
    w.by(ANN).creates(part()).refused(Code::InvalidTransition);
    w.by(ANN).reopens("T2", "more to do").refused(Code::NotReady);
    w.by(ANN).reopens("T1", "more to do").accepted();
    w.by(ANN).reopens("T2", "more to do").accepted();
}

#[test]
fn one_constraint_is_changed_without_touching_the_others() {
    let mut w = World::new();
    let mut new = task("a");
    new.constraints.no_new_deps = true;
    w.have(new);
    let set = |constraints| Command::UpdateTask {
        id: "T1".into(),
        changes: Box::default(),
        constraints,
        if_match: None,
    };
    w.by(ANN).does(set(ConstraintChanges::default())).refused(Code::InvalidInput);
    w.by(ANN).does(set(ConstraintChanges { max_files: Some(3), ..Default::default() })).accepted();
    let task = w.task("T1");
    assert_eq!((task.constraints.max_files, task.constraints.no_new_deps), (Some(3), true));
    w.by(ANN).does(set(ConstraintChanges { max_files: Some(0), ..Default::default() })).accepted();
    assert_eq!(w.task("T1").constraints.max_files, None);
}

#[test]
fn rule_2_10_every_change_counts_up_the_version_and_if_match_refuses_a_lost_update() {
    let mut w = World::new();
    w.have(task("a"));
    let rename = |title: &str, if_match| Command::UpdateTask {
        id: "T1".into(),
        changes: Box::new(TaskUpdated { title: Some(title.into()), ..Default::default() }),
        constraints: ConstraintChanges::default(),
        if_match,
    };
    assert_eq!(w.task("T1").version, 1);
    w.by(ANN).does(rename("b", Some(1))).accepted();
    assert_eq!(w.task("T1").version, 2);
    let refusal = w.by(ANN).does(rename("c", Some(1))).refused(Code::VersionMismatch);
    assert_eq!(refusal.details["version"], 2);
    assert_eq!(w.task("T1").title, "b");
    w.by(ANN).does(rename("c", None)).accepted();
}

#[test]
fn rule_2_an_update_needs_something_to_change() {
    let mut w = World::new();
    w.have(task("a"));
    w.by(ANN).updates("T1", TaskUpdated::default()).refused(Code::InvalidInput);
}

#[test]
fn the_text_that_a_task_is_made_of_is_in_the_log_as_it_came_and_bounded() {
    let mut w = World::new();
    let with = |body: String| NewTask { body: Some(body), ..task("a") };
    let text = "Prose.\r\n\r\ngoal: a\n";
    let done = w.by(ANN).creates(with(text.to_owned())).accepted();
    let Event::TaskCreated(made) = &done.events[0].draft.event else { panic!("no task") };
    assert_eq!(made.body.as_deref(), Some(text));
    w.by(ANN).creates(with("x".repeat(256 * 1024 + 1))).refused(Code::InvalidInput);
    w.by(ANN).creates(with("a\u{1b}b".to_owned())).refused(Code::InvalidInput);
}
