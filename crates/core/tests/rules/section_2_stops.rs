//! RULES 2.5 and 2.6: attempts, blocks, questions, grace.

use crate::verbs::task;
use crate::world::{ANN, CRITIC, Expect, IMPL, INTEGRATOR, OTHER, PLANNER, WATCHER, World, id};
use comity_core::command::NewTask;
use comity_core::decision::{Addressee, DecisionPurpose, DecisionState};
use comity_core::event::Event;
use comity_core::facts::CANDIDATE_PAGE;
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::Priority;

fn worn_out() -> World {
    let mut w = World::new();
    w.have_one(Status::Failed);
    w.by(IMPL).starts("T1").accepted();
    w.by(IMPL).fails("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    w.by(IMPL).fails("T1").accepted();
    w
}

#[test]
fn rule_2_5_a_failure_uses_an_attempt_release_and_review_rounds_do_not() {
    let mut w = World::new();
    w.have_one(Status::Claimed);
    w.by(IMPL).releases("T1").accepted();
    assert_eq!(w.task("T1").attempts, 0);
    w.bring("T1", Status::ChangesRequested);
    w.by(IMPL).starts("T1").accepted();
    assert_eq!(w.task("T1").attempts, 0);
    w.by(IMPL).fails("T1").accepted();
    assert_eq!(w.task("T1").attempts, 1);
    assert_eq!(w.task("T1").last_error.as_deref(), Some("it broke"));
}

#[test]
fn rule_2_5_a_reclaim_uses_an_attempt() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.pass(901);
    w.sweep();
    assert_eq!((w.task("T1").attempts, w.status("T1")), (1, Status::Queued));
}

#[test]
fn rule_2_5_at_three_attempts_the_task_is_blocked_with_an_error_report_and_a_decision() {
    let w = worn_out();
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Blocked, 3));
    let report = w.log.iter().find_map(|placed| match &placed.draft.event {
        Event::Error(report) => Some(report.clone()),
        _ => None,
    });
    let report = report.unwrap();
    assert_eq!((report.status, report.attempts), (Status::Blocked, 3));
    assert_eq!(report.error_log.as_deref(), Some("it broke"));
    let decision = w.decision("D1");
    assert_eq!(decision.to, Addressee::Planner);
    assert_eq!(decision.purpose, DecisionPurpose::Exhausted);
    let keys: Vec<&str> = decision.options.iter().map(|option| option.key.as_str()).collect();
    assert_eq!(keys, ["retry", "split", "abandon"]);
}

#[test]
fn rule_2_5_reclaims_exhaust_the_attempts_too() {
    let mut w = World::new();
    w.have(task("work"));
    for _ in 0..3 {
        w.by(IMPL).starts("T1").accepted();
        w.pass(901);
        w.sweep();
    }
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Blocked, 3));
    let names: Vec<&str> = w.log.iter().rev().take(5).map(|p| p.draft.event.name()).collect();
    let expected =
        ["status_changed", "decision_asked", "error", "status_changed", "locks_reclaimed"];
    assert_eq!(names, expected);
}

#[test]
fn rule_2_5_the_answer_retry_resets_the_count_and_queues_the_task() {
    for who in [ANN, PLANNER] {
        let mut w = worn_out();
        w.by(IMPL).answers("D1", "retry").refused(Code::RoleForbidden);
        w.by(who).answers("D1", "retry: with more memory").accepted();
        assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Queued, 0));
        w.by(IMPL).starts("T1").accepted();
    }
}

#[test]
fn rule_2_5_the_answer_split_leaves_the_task_to_the_planner_and_abandon_ends_it() {
    let mut w = worn_out();
    w.by(PLANNER).answers("D1", "split").accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
    let mut w = worn_out();
    w.by(PLANNER).answers("D1", "abandon").accepted();
    assert_eq!(w.status("T1"), Status::Abandoned);
}

#[test]
fn rule_2_5_a_planner_that_wore_the_task_out_itself_may_still_answer_for_planners() {
    let mut w = World::new();
    w.give_roles(IMPL, &[Role::Implementer, Role::Planner]);
    w.have_one(Status::Failed);
    for _ in 0..2 {
        w.by(IMPL).starts("T1").accepted();
        w.by(IMPL).fails("T1").accepted();
    }
    w.by(IMPL).answers("D1", "retry").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
}

#[test]
fn rule_2_5_only_a_person_or_a_planner_gives_a_worn_out_task_new_attempts() {
    let mut w = worn_out();
    w.by(WATCHER).unblocks("T1").refused(Code::AttemptsExhausted);
    w.by(WATCHER).requeues("T1").refused(Code::AttemptsExhausted);
    w.by(PLANNER).unblocks("T1").accepted();
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Queued, 0));
}

#[test]
fn rule_2_5_a_person_who_goes_on_with_a_worn_out_task_gives_it_new_attempts() {
    let mut w = World::new();
    w.policy.max_attempts = 1;
    w.have(task("work"));
    for _ in 0..2 {
        w.by(ANN).starts("T1").accepted();
        assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::InProgress, 0));
        w.pass(901);
        w.sweep();
        assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Blocked, 1));
    }
    let reports = w.log.iter().filter(|placed| matches!(placed.draft.event, Event::Error(_)));
    assert_eq!(reports.count(), 2, "each time the attempts run out, comity reports it");
    let mut w = worn_out();
    w.by(IMPL).starts("T1").refused(Code::AttemptsExhausted);
}

#[test]
fn rule_2_5_a_failed_task_without_attempts_is_started_only_by_who_may_give_it_new_ones() {
    let mut w = World::new();
    w.have_one(Status::Failed);
    w.policy.max_attempts = 1;
    w.by(IMPL).starts("T1").refused(Code::AttemptsExhausted);
    w.by(ANN).starts("T1").accepted();
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::InProgress, 0));
}

#[test]
fn rule_2_5_an_old_decision_does_not_end_a_later_block() {
    let mut w = worn_out();
    w.pass(10);
    w.by(PLANNER).unblocks("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    w.pass(10);
    w.by(IMPL).blocks("T1", "another thing").accepted();
    w.by(PLANNER).answers("D1", "abandon").accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
}

#[test]
fn rule_2_5_three_failures_of_one_gate_in_one_round_do_the_same() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    for gate in ["tests", "lint", "tests", "lint"] {
        w.by(IMPL).records("T1", gate, false).accepted();
    }
    assert_eq!(w.status("T1"), Status::InProgress);
    let done = w.by(IMPL).records("T1", "tests", false).accepted();
    assert_eq!(done.names(), ["tests_run", "error", "decision_asked", "status_changed"]);
    assert_eq!(w.status("T1"), Status::Blocked);
    w.by(PLANNER).answers("D1", "retry").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
}

#[test]
fn rule_2_5_failures_of_a_gate_count_anew_in_each_round() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    for _ in 0..2 {
        w.by(IMPL).records("T1", "tests", false).accepted();
    }
    w.by(IMPL).submits("T1").accepted();
    w.by(CRITIC).requests_changes("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    for _ in 0..2 {
        w.by(IMPL).records("T1", "tests", false).accepted();
    }
    assert_eq!(w.status("T1"), Status::InProgress);
}

#[test]
fn rule_2_5_six_review_rounds_do_the_same() {
    let mut w = World::new();
    w.have_one(Status::Review);
    for _ in 0..5 {
        w.by(CRITIC).requests_changes("T1").accepted();
        w.by(IMPL).starts("T1").accepted();
        w.by(IMPL).submits("T1").accepted();
    }
    let done = w.by(CRITIC).requests_changes("T1").accepted();
    let names = ["review_feedback", "status_changed", "error", "decision_asked", "status_changed"];
    assert_eq!(done.names(), names);
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Blocked, 0));
    w.by(WATCHER).unblocks("T1").refused(Code::AttemptsExhausted);
    w.by(CRITIC).answers("D1", "retry").refused(Code::RoleForbidden);
    w.by(PLANNER).answers("D1", "retry").accepted();
    assert_eq!((w.status("T1"), w.task("T1").review_rounds), (Status::Queued, 0));
}

#[test]
fn rule_2_5_all_limits_come_from_config() {
    let mut w = World::new();
    w.policy.max_attempts = 1;
    w.policy.max_gate_failures = 1;
    w.policy.max_review_rounds = 1;
    w.have_this(task("a"), Status::InProgress);
    w.by(IMPL).fails("T1").accepted();
    w.have_this(task("b"), Status::InProgress);
    w.by(IMPL).records("T2", "tests", false).accepted();
    w.have_this(task("c"), Status::Review);
    w.by(CRITIC).requests_changes("T3").accepted();
    for id in ["T1", "T2", "T3"] {
        assert_eq!(w.status(id), Status::Blocked);
    }
}

#[test]
fn rule_2_6_blocked_says_what_it_needs() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).blocks("T1", "").refused(Code::NeedsMissing);
    w.by(IMPL).blocks("T1", "  ").refused(Code::NeedsMissing);
    w.by(IMPL).blocks("T1", "the database's address").accepted();
    assert_eq!(w.task("T1").block.as_ref().unwrap().needs, "the database's address");
}

#[test]
fn rule_2_6_each_question_becomes_a_decision_and_the_last_answer_resumes_the_task() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let done = w.by(IMPL).blocks_with("T1", "answers", &["which?", "when?"], None).accepted();
    assert_eq!(done.names(), ["decision_asked", "decision_asked", "status_changed"]);
    w.by(IMPL).answers("D1", "this").refused(Code::RoleForbidden);
    w.by(OTHER).answers("D1", "this").refused(Code::HumanOnly);
    w.by(ANN).answers("D1", "this one").accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
    w.by(ANN).answers("D2", "now").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
    assert_eq!(w.decision("D1").answer.as_deref(), Some("this one"));
}

#[test]
fn rule_2_6_a_resumed_task_prefers_its_old_assignee() {
    let mut w = World::new();
    w.have(task("older"));
    w.have_this(task("asked about"), Status::InProgress);
    w.by(IMPL).blocks_with("T2", "an answer", &["which?"], None).accepted();
    w.by(ANN).answers("D1", "this").accepted();
    assert_eq!(w.task("T2").preferred, Some(id(IMPL)));
    w.have(task("younger"));
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T1");
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T3");
    assert_eq!(w.by(IMPL).claims_best().accepted().task_id(), "T2");
}

#[test]
fn rule_2_6_a_resumed_task_comes_before_older_ones_for_its_old_assignee() {
    let mut w = World::new();
    w.have(task("older"));
    w.have_this(task("asked about"), Status::InProgress);
    w.by(IMPL).blocks_with("T2", "an answer", &["which?"], None).accepted();
    w.by(ANN).answers("D1", "this").accepted();
    assert_eq!(w.by(IMPL).claims_best().accepted().task_id(), "T2");
}

#[test]
fn rule_2_6_a_resumed_task_is_found_behind_any_number_of_older_ones() {
    let mut w = World::new();
    for n in 1..=3 * CANDIDATE_PAGE {
        w.have(task(&format!("older {n}")));
    }
    w.have_this(task("asked about"), Status::InProgress);
    let id = format!("T{}", 3 * CANDIDATE_PAGE + 1);
    w.by(IMPL).blocks_with(&id, "an answer", &["which?"], None).accepted();
    w.by(ANN).answers("D1", "this").accepted();
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T1");
    assert_eq!(w.by(IMPL).claims_best().accepted().task_id(), id);
}

#[test]
fn rule_2_6_a_more_urgent_task_far_down_beats_a_preference() {
    let mut w = World::new();
    w.have_this(task("asked about"), Status::InProgress);
    w.by(IMPL).blocks_with("T1", "an answer", &["which?"], None).accepted();
    w.by(ANN).answers("D1", "this").accepted();
    let urgent = |title: String| NewTask { priority: Some(Priority::from_rank(1)), ..task(&title) };
    for n in 0..CANDIDATE_PAGE {
        let id =
            w.have(NewTask { role: Some(Role::Critic), ..urgent(format!("of another role {n}")) });
        assert_eq!(id, format!("T{}", n + 2));
    }
    let last = w.have(urgent("for anybody".to_owned()));
    assert_eq!(w.by(IMPL).claims_best().accepted().task_id(), last);
    assert_eq!(w.by(IMPL).claims_best().accepted().task_id(), "T1");
}

#[test]
fn rule_2_6_a_preference_does_not_beat_priority_and_does_not_lock_others_out() {
    let mut w = World::new();
    w.have_this(task("asked about"), Status::InProgress);
    w.by(IMPL).blocks_with("T1", "an answer", &["which?"], None).accepted();
    w.by(ANN).answers("D1", "this").accepted();
    let priority = Some(Priority::from_rank(1));
    w.have(NewTask { priority, ..task("more urgent") });
    assert_eq!(w.by(IMPL).claims_best().accepted().task_id(), "T2");
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T1");
}

#[test]
fn rule_2_6_block_with_retry_after_is_requeued_when_the_time_has_come() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).blocks_with("T1", "the build to be green", &[], Some(60)).accepted();
    w.pass(59);
    w.sweep();
    assert_eq!(w.status("T1"), Status::Blocked);
    w.pass(1);
    let done = w.sweep();
    assert_eq!(done.expired_names(), ["status_changed"]);
    assert_eq!(done.expired[0].draft.agent.as_str(), "watchdog");
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Queued, 0));
}

#[test]
fn rule_2_6_what_stays_blocked_past_the_grace_becomes_a_decision_for_a_planner_once() {
    let mut w = World::new();
    w.have_one(Status::Blocked);
    w.pass(86_399);
    w.sweep();
    assert!(w.state.decisions.is_empty());
    w.pass(1);
    let done = w.sweep();
    assert_eq!(done.expired_names(), ["decision_asked"]);
    assert_eq!(w.decision("D1").purpose, DecisionPurpose::Grace);
    assert_eq!(w.decision("D1").to, Addressee::Planner);
    w.pass(86_400);
    assert!(w.sweep().expired_names().is_empty());
    w.by(PLANNER).answers("D1", "requeue").accepted();
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Queued, 0));
}

#[test]
fn rule_2_6_the_grace_answers_split_and_abandon() {
    for (answer, status) in [("split", Status::Blocked), ("abandon", Status::Abandoned)] {
        let mut w = World::new();
        w.have_one(Status::Blocked);
        w.pass(86_400);
        w.sweep();
        w.by(ANN).answers("D1", answer).accepted();
        assert_eq!(w.status("T1"), status);
    }
}

#[test]
fn rule_2_6_a_grace_requeue_does_not_wipe_out_failures() {
    let mut w = World::new();
    w.have_one(Status::Failed);
    w.by(PLANNER).blocks("T1", "a key").accepted();
    w.pass(86_400);
    w.sweep();
    w.by(PLANNER).answers("D1", "requeue").accepted();
    assert_eq!(w.task("T1").attempts, 1);
}

#[test]
fn rule_2_6_two_defaults_at_once_resume_the_task_once() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).blocks_with("T1", "answers", &["which?", "when?"], Some(60)).accepted();
    for decision in w.state.decisions.values_mut() {
        decision.default = Some("any".to_owned());
        decision.expires_at = Some(w.moment.now.plus(comity_core::time::Millis::from_secs(60)));
    }
    w.pass(60);
    // The deadlines were put in behind the log's back, so only the events are looked at.
    let mut facts = w.facts();
    facts.put_due(w.due());
    let policy = w.policy.clone();
    let swept = w.settle(&mut facts, |facts| comity_core::decide::sweep(facts, &policy)).unwrap();
    let names: Vec<&str> = swept.events.iter().map(|draft| draft.event.name()).collect();
    assert_eq!(names, ["decision_answered", "decision_answered", "status_changed"]);
    let states = swept.events.iter().filter_map(|draft| match &draft.event {
        Event::DecisionAnswered(body) => Some(body.state),
        _ => None,
    });
    assert!(states.into_iter().all(|state| state == DecisionState::Defaulted));
}

#[test]
fn rule_2_6_who_stops_what() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    w.by(IMPL).blocks("T1", "x").refused(Code::RoleForbidden);
    w.by(PLANNER).blocks("T1", "x").accepted();
    w.have_one(Status::Review);
    w.by(OTHER).blocks("T2", "x").refused(Code::RoleForbidden);
    w.by(CRITIC).blocks("T2", "x").accepted();
    w.have_one(Status::Merging);
    w.by(CRITIC).fails("T3").refused(Code::RoleForbidden);
    w.by(INTEGRATOR).fails("T3").accepted();
    assert_eq!(w.task("T3").attempts, 0, "no claim ended by it");
    w.have_one(Status::ChangesRequested);
    w.by(OTHER).blocks("T4", "x").refused(Code::NotHolder);
    w.by(IMPL).blocks("T4", "x").accepted();
}

#[test]
fn rule_2_6_a_refused_stop_names_who_may_do_it_and_never_the_callers_own_role() {
    for status in [Status::Queued, Status::Review, Status::Merging] {
        let mut w = World::new();
        w.have_one(status);
        let refusal = w.by(IMPL).blocks("T1", "x").unwrap_err();
        let state = format!("agent.impl.1 may not block T1: it is {status}");
        assert!(refusal.message.starts_with(&state), "{refusal}");
        assert!(!refusal.message.contains("implementer"), "{refusal}");
    }
}

#[test]
fn rule_2_6_a_blocked_task_goes_to_others_only_when_it_is_unblocked() {
    let mut w = World::new();
    w.have_one(Status::Blocked);
    w.by(OTHER).starts("T1").refused(Code::NotHolder);
    w.by(IMPL).unblocks("T1").refused(Code::RoleForbidden);
    w.by(PLANNER).unblocks("T1").accepted();
    w.by(PLANNER).unblocks("T1").refused(Code::InvalidTransition);
    assert_eq!(w.task("T1").preferred, Some(id(IMPL)));
}

#[test]
fn rule_2_6_its_last_assignee_goes_on_by_start_and_nobody_else() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).blocks("T1", "a key").accepted();
    w.by(OTHER).starts("T1").refused(Code::NotHolder);
    let attempts = w.task("T1").attempts;
    w.by(IMPL).starts("T1").accepted();
    let task = w.task("T1");
    assert_eq!((task.status, task.attempts), (Status::InProgress, attempts));
    assert_eq!(task.claim.as_ref().unwrap().agent, id(IMPL));
    assert!(task.block.is_none());
}
