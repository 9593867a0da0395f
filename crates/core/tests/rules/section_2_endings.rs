//! RULES 2.7 (steps) and 2.9: steps inside a claim, submitting, rounds.

use crate::verbs::task;
use crate::world::{CRITIC, Expect, IMPL, OTHER, PLANNER, World, id};
use comity_core::command::{Command, StepVerb, Submission, TaskVerb};
use comity_core::event::Event;
use comity_core::ids::AgentId;
use comity_core::refusal::Code;
use comity_core::status::Status;

#[test]
fn rule_2_7_steps_inside_a_claim_are_numbered_below_the_task() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let done = w.by(IMPL).step("T1", StepVerb::Start, "write the test").accepted();
    assert_eq!(done.names(), ["subtask_started"]);
    w.by(IMPL).step("T1", StepVerb::Start, "mend the code").accepted();
    let done = w.by(IMPL).step("T1", StepVerb::Complete, "write the test").accepted();
    assert_eq!(done.names(), ["subtask_completed"]);
    w.by(IMPL).step("T1", StepVerb::Complete, "T1-02").accepted();
    let steps: Vec<(&str, bool)> =
        w.task("T1").steps.iter().map(|step| (step.id.as_str(), step.complete)).collect();
    assert_eq!(steps, [("T1-01", true), ("T1-02", true)]);
    assert_eq!(w.state.tasks.len(), 1, "steps are not tasks");
}

#[test]
fn rule_2_7_steps_belong_to_the_holder_of_a_claim() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    w.by(IMPL).step("T1", StepVerb::Start, "a").refused(Code::InvalidTransition);
    w.by(IMPL).claims("T1").accepted();
    w.by(OTHER).step("T1", StepVerb::Start, "a").refused(Code::NotHolder);
    w.by(IMPL).step("T1", StepVerb::Complete, "a").refused(Code::NotFound);
    w.by(IMPL).step("T1", StepVerb::Start, " ").refused(Code::InvalidInput);
    w.by(IMPL).step("T1", StepVerb::Start, "a").accepted();
    w.by(IMPL).step("T1", StepVerb::Start, "a").refused(Code::DuplicateId);
}

#[test]
fn rule_2_7_a_complete_step_is_not_completed_again() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).step("T1", StepVerb::Start, "parse").accepted();
    w.by(IMPL).step("T1", StepVerb::Complete, "parse").accepted();
    w.by(IMPL).step("T1", StepVerb::Complete, "parse").refused(Code::InvalidTransition);
    w.by(IMPL).step("T1", StepVerb::Complete, "T1-01").refused(Code::InvalidTransition);
}

#[test]
fn rule_5_what_is_said_with_a_start_or_a_review_is_in_the_log_with_it() {
    let mut w = World::new();
    w.have_one(Status::Claimed);
    let reason = Some("the parser first".to_owned());
    let start = Command::Start { id: "T1".into(), ttl: None, reason };
    let done = w.by(IMPL).does(start).accepted();
    let Event::StatusChanged(change) = &done.events[0].draft.event else { panic!("no change") };
    assert_eq!(change.reason.as_deref(), Some("the parser first"));
    w.by(IMPL).submits("T1").accepted();
    let reason = Some("looking at it now".to_owned());
    let done = w.by(CRITIC).does(TaskVerb::Review.on("T1", reason)).accepted();
    assert_eq!(done.names(), ["review_taken", "note"]);
}

#[test]
fn rule_2_7_a_step_that_is_started_again_is_completed_again() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    for step in [StepVerb::Start, StepVerb::Complete, StepVerb::Start, StepVerb::Complete] {
        w.by(IMPL).step("T1", step, "run the tests").accepted();
    }
    assert!(w.task("T1").steps.iter().all(|step| step.complete));
    assert_eq!(w.task("T1").steps.len(), 2);
}

#[test]
fn rule_2_9_submit_records_commit_branch_pull_request_and_wanted_reviewer() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let submission = Submission {
        id: "T1".into(),
        commit: Some("abc1234".into()),
        branch: Some("feat/mine".into()),
        pr: Some("https://example.org/7".into()),
        reviewer: Some(AgentId::parse(CRITIC).unwrap()),
        ..Submission::default()
    };
    let done = w.by(IMPL).does(Command::Submit(submission)).accepted();
    assert_eq!(done.names(), ["pr_opened", "review_requested", "status_changed"]);
    let task = w.task("T1");
    assert_eq!(task.commit.as_deref(), Some("abc1234"));
    assert_eq!(task.branch.as_deref(), Some("feat/mine"));
    assert_eq!(task.pr.as_deref(), Some("https://example.org/7"));
    assert_eq!(task.reviewer, Some(id(CRITIC)));
    assert!(!task.review_taken);
}

#[test]
fn rule_2_9_round_counts_entries_into_in_progress() {
    let mut w = World::new();
    w.have_one(Status::Claimed);
    assert_eq!(w.task("T1").round, 0);
    w.by(IMPL).starts("T1").accepted();
    assert_eq!(w.task("T1").round, 1);
    w.by(IMPL).submits("T1").accepted();
    w.by(CRITIC).requests_changes("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    assert_eq!(w.task("T1").round, 2);
    w.by(IMPL).releases("T1").accepted();
    w.by(OTHER).starts("T1").accepted();
    assert_eq!(w.task("T1").round, 3);
}

#[test]
fn rule_2_9_only_work_in_progress_is_submitted() {
    let mut w = World::new();
    w.have_one(Status::Claimed);
    w.by(IMPL).submits("T1").refused(Code::InvalidTransition);
}

#[test]
fn rule_2_every_transition_is_an_event_with_old_and_new_status_actor_and_reason() {
    let mut w = World::new();
    w.have_this(task("work"), Status::Review);
    let done = w.by(CRITIC).requests_changes("T1").accepted();
    let change = done.events.last().unwrap();
    assert_eq!(change.draft.agent, id(CRITIC));
    let text = String::from_utf8(change.draft.event.encode().unwrap()).unwrap();
    assert_eq!(
        text,
        r#"{"old_status":"review","new_status":"changes_requested","reason":"please mend it"}"#
    );
}

#[test]
fn rule_2_a_task_sent_back_may_be_given_to_another_by_requeue() {
    let mut w = World::new();
    w.have_one(Status::ChangesRequested);
    w.by(OTHER).claims("T1").refused(Code::NotReady);
    w.by(PLANNER).requeues("T1").accepted();
    w.by(OTHER).claims("T1").accepted();
}

#[test]
fn rule_2_9_who_hands_in_too_early_is_told_what_comes_first() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    let hint = |refusal: comity_core::refusal::Refusal| {
        let calls: Vec<String> =
            refusal.next_step().calls().map(|call| call.operation.to_string()).collect();
        calls
    };
    assert_eq!(hint(w.by(IMPL).submits("T1").refused(Code::InvalidTransition)), ["task.claim"]);
    w.by(IMPL).claims("T1").accepted();
    assert_eq!(hint(w.by(IMPL).submits("T1").refused(Code::InvalidTransition)), ["task.start"]);
}
