//! RULES section 3: gates, checklist, evidence.

use crate::verbs::{task, texts};
use crate::world::{ANN, BOB, CRITIC, Expect, IMPL, INTEGRATOR, OBSERVER, OTHER, World};
use comity_core::command::{Command, GateVerdict, NewTask, Submission};
use comity_core::decide::gate_state;
use comity_core::event::TaskUpdated;
use comity_core::observed::Observed;
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::{CheckState, Tier};
use comity_core::view;
use serde_json::json;

fn gated(gates: &[&str]) -> NewTask {
    NewTask { gates: texts(gates), ..task("work") }
}

fn state_of(w: &World, gate: &str) -> CheckState {
    let task = w.task("T1");
    gate_state(task, task.gate(gate), &w.policy).0
}

#[test]
fn rule_3_1_required_gates_come_from_the_task_and_from_config() {
    let mut w = World::new();
    w.policy.required_gates = texts(&["lint", "tests"]);
    w.have_this(gated(&["tests", "e2e"]), Status::Review);
    let refusal = w.by(CRITIC).approves("T1").refused(Code::GateUnmet);
    let names: Vec<&str> = refusal.details["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|missing| missing["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["tests", "e2e", "lint"]);
    let mut w = World::new();
    w.have_one(Status::Review);
    w.by(CRITIC).approves("T1").accepted();
}

#[test]
fn rule_3_1_gates_are_open_met_failed_or_waived() {
    let mut w = World::new();
    w.have_this(gated(&["a", "b", "c", "d"]), Status::InProgress);
    w.by(IMPL).records("T1", "b", true).accepted();
    w.by(IMPL).records("T1", "c", false).accepted();
    w.by(CRITIC).waives("T1", "d", "not here").accepted();
    let states: Vec<CheckState> = ["a", "b", "c", "d"].map(|gate| state_of(&w, gate)).to_vec();
    use CheckState::{Failed, Met, Open, Waived};
    assert_eq!(states, [Open, Met, Failed, Waived]);
    w.by(CRITIC).waives("T1", "unheard-of", "because").refused(Code::NotFound);
}

#[test]
fn rule_3_1_the_checklist_is_settled_item_by_item() {
    let mut w = World::new();
    let new = NewTask { dod: texts(&["documented", "tested"]), ..task("work") };
    w.have_this(new, Status::InProgress);
    w.by(OTHER).checks("T1", "documented").refused(Code::NotHolder);
    w.by(OBSERVER).checks("T1", "documented").refused(Code::RoleForbidden);
    w.by(IMPL).checks("T1", "documented").accepted();
    w.by(IMPL).checks("T1", "9").refused(Code::NotFound);
    w.by(IMPL).submits("T1").accepted();
    w.by(ANN).approves("T1").refused(Code::GateUnmet);
    w.by(CRITIC).checks("T1", "2").accepted();
    w.by(CRITIC).approves("T1").accepted();
}

#[test]
fn rule_3_1_the_gate_review_is_met_by_approve_itself() {
    let mut w = World::new();
    w.have_this(gated(&["review"]), Status::Review);
    w.by(CRITIC).records("T1", "review", true).refused(Code::InvalidInput);
    let before = view::gates(w.task("T1"), &w.policy);
    assert_eq!(before[0].state, CheckState::Open);
    w.by(CRITIC).approves("T1").accepted();
    assert_eq!(view::gates(w.task("T1"), &w.policy)[0].state, CheckState::Met);
}

#[test]
fn rule_3_3_a_person_waives_the_review_of_own_work_which_is_then_approved_and_shows_it_for_ever() {
    let mut w = World::new();
    w.have(gated(&["tests"]));
    w.by(ANN).starts("T1").accepted();
    w.by(ANN).submits("T1").accepted();
    w.by(ANN).approves("T1").refused(Code::SelfReview);
    // Not before all else is met.
    w.by(ANN).waives("T1", "review", "I work alone").accepted();
    assert_eq!(w.task("T1").status, Status::Review);
    w.by(ANN).approves("T1").refused(Code::GateUnmet);
    w.by(ANN).records("T1", "tests", true).accepted();
    w.by(ANN).approves("T1").accepted();
    assert_eq!(w.task("T1").status, Status::Approved);
    assert_eq!(state_of(&w, "review"), CheckState::Waived);

    w.have(task("alone"));
    w.by(ANN).starts("T2").accepted();
    w.by(ANN).submits("T2").accepted();
    w.by(ANN).waives("T2", "review", "I work alone").accepted();
    assert_eq!(w.task("T2").status, Status::Approved);
    w.by(ANN).merges("T2").accepted();
    w.by(ANN).finishes("T2").accepted();
    let shown = w.read(|facts| {
        let task = comity_core::decide::find_task(facts, &w.repo, "T2")?;
        Ok(view::gates(task, &w.policy))
    });
    assert_eq!((shown[0].name.as_str(), shown[0].state), ("review", CheckState::Waived));
    assert_eq!(shown[0].reason.as_deref(), Some("I work alone"));
}

#[test]
fn rule_3_3_nobody_but_a_person_waives_the_review() {
    let mut w = World::new();
    w.have_one(Status::Review);
    for agent in [IMPL, CRITIC] {
        let code = if agent == IMPL { Code::RoleForbidden } else { Code::HumanOnly };
        w.by(agent).waives("T1", "review", "it is fine").refused(code);
    }
    assert_eq!(w.task("T1").status, Status::Review);
}

#[test]
fn rule_3_2_evidence_carries_gate_verdict_tier_commit_round_agent_and_report() {
    let mut w = World::new();
    w.have_this(gated(&["tests"]), Status::InProgress);
    let record = Command::GateRecord {
        id: "T1".into(),
        gate: "tests".into(),
        pass: true,
        report: Some("target/report.xml".into()),
        commit: Some("abc1234".into()),
        new: true,
    };
    w.by(IMPL).does(record).accepted();
    let evidence = w.task("T1").gate("tests").unwrap().evidence.clone().unwrap();
    assert!(evidence.pass);
    assert_eq!((evidence.tier, evidence.round), (Tier::Claimed, 1));
    assert_eq!(evidence.commit.as_deref(), Some("abc1234"));
    assert_eq!(evidence.by.as_str(), IMPL);
    assert_eq!(evidence.report.as_deref(), Some("target/report.xml"));
}

#[test]
fn rule_3_2_only_evidence_of_the_current_round_counts() {
    let mut w = World::new();
    w.have_this(gated(&["tests"]), Status::InProgress);
    w.by(IMPL).records("T1", "tests", true).accepted();
    w.by(IMPL).submits("T1").accepted();
    w.by(CRITIC).requests_changes("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    w.by(IMPL).submits("T1").accepted();
    w.by(CRITIC).approves("T1").refused(Code::GateUnmet);
    w.by(CRITIC).records("T1", "tests", true).accepted();
    w.by(CRITIC).approves("T1").accepted();
}

#[test]
fn rule_3_2_where_commits_are_known_only_evidence_for_the_submitted_commit_counts() {
    let mut w = World::new();
    w.have_this(gated(&["tests"]), Status::InProgress);
    w.by(IMPL).records_for("T1", "tests", true, Some("1111111aaaa")).accepted();
    w.by(IMPL).submits_commit("T1", "2222222bbbb").accepted();
    w.by(CRITIC).approves("T1").refused(Code::GateUnmet);
    w.by(CRITIC).records_for("T1", "tests", true, Some("222222")).accepted();
    w.by(CRITIC).approves("T1").refused(Code::GateUnmet);
    w.by(CRITIC).records_for("T1", "tests", true, Some("2222222")).accepted();
    w.by(CRITIC).approves("T1").accepted();
}

#[test]
fn rule_3_2_the_last_record_per_gate_wins() {
    let mut w = World::new();
    w.have_this(gated(&["tests"]), Status::InProgress);
    w.by(IMPL).records("T1", "tests", true).accepted();
    w.by(IMPL).records("T1", "tests", false).accepted();
    assert_eq!(state_of(&w, "tests"), CheckState::Failed);
    w.by(IMPL).records("T1", "tests", true).accepted();
    assert_eq!(state_of(&w, "tests"), CheckState::Met);
}

#[test]
fn rule_3_2_evidence_comes_from_the_holder_or_from_those_who_judge() {
    let mut w = World::new();
    w.have_this(gated(&["tests"]), Status::InProgress);
    w.by(OTHER).records("T1", "tests", true).refused(Code::NotHolder);
    w.by(OBSERVER).records("T1", "tests", true).refused(Code::RoleForbidden);
    w.by(CRITIC).records("T1", "tests", true).accepted();
    w.have_one(Status::Done);
    w.by(CRITIC).records("T2", "tests", true).refused(Code::InvalidTransition);
}

#[test]
fn rule_3_2_setting_the_gates_of_a_task_loses_no_evidence() {
    let mut w = World::new();
    w.policy.required_gates = texts(&["lint"]);
    w.have_this(gated(&["tests"]), Status::InProgress);
    w.by(IMPL).records("T1", "lint", true).accepted();
    w.by(IMPL).records("T1", "tests", true).accepted();
    let more = TaskUpdated { gates: Some(texts(&["e2e", "tests"])), ..Default::default() };
    w.by(IMPL).updates("T1", more).accepted();
    assert_eq!(state_of(&w, "lint"), CheckState::Met);
    assert_eq!(state_of(&w, "tests"), CheckState::Met);
    assert_eq!(state_of(&w, "e2e"), CheckState::Open);
}

#[test]
fn rule_3_3_approve_is_for_a_critic_or_a_person_and_never_for_the_assignee() {
    let mut w = World::new();
    w.have_one(Status::Review);
    w.by(OTHER).approves("T1").refused(Code::RoleForbidden);
    w.give_roles(IMPL, &[Role::Implementer, Role::Critic]);
    w.by(IMPL).approves("T1").refused(Code::SelfReview);
    w.by(IMPL).requests_changes("T1").refused(Code::SelfReview);
    let done = w.by(BOB).approves("T1").accepted();
    let names = ["agent_registered", "review_taken", "approved", "status_changed", "merge_queued"];
    assert_eq!(done.names(), names);
}

#[test]
fn rule_3_3_nobody_approves_what_they_claimed_or_submitted_in_an_earlier_round() {
    let mut w = World::new();
    w.give_roles(IMPL, &[Role::Implementer, Role::Critic]);
    w.have_one(Status::InProgress);
    w.by(IMPL).releases("T1").accepted();
    w.by(OTHER).starts("T1").accepted();
    w.by(BOB).submits("T1").accepted();
    w.by(IMPL).approves("T1").refused(Code::SelfReview);
    w.by(BOB).approves("T1").refused(Code::SelfReview);
    w.by(CRITIC).approves("T1").accepted();
}

#[test]
fn rule_1_6_two_names_of_one_session_are_one_reviewer() {
    let mut w = World::new();
    w.by(ANN).creates(NewTask { dod: texts(&["documented"]), ..gated(&["tests"]) }).accepted();
    w.by(IMPL).in_session("s-1").starts("T1").accepted();
    w.by(IMPL).in_session("s-1").checks("T1", "documented").accepted();
    w.by(IMPL).in_session("s-1").submits("T1").accepted();
    let critic = |w: &mut World, session: &str| {
        let refused = w.by(CRITIC).in_session(session).waives("T1", "tests", "x");
        let checked = w.by(CRITIC).in_session(session).checks("T1", "documented");
        let sent_back = w.by(CRITIC).in_session(session).takes_review("T1");
        [refused, checked, sent_back]
    };
    for verdict in critic(&mut w, "s-1") {
        let refusal = verdict.refused(Code::SelfReview);
        assert!(refusal.message.contains(IMPL), "{}", refusal.message);
    }
    for verdict in critic(&mut w, "s-2") {
        verdict.accepted();
    }
    w.by(CRITIC).in_session("s-1").approves("T1").refused(Code::SelfReview);
    w.by(CRITIC).in_session("s-2").approves("T1").accepted();
}

#[test]
fn submit_records_evidence_for_the_submitted_commit() {
    let mut w = World::new();
    w.have_this(gated(&["tests", "lint"]), Status::InProgress);
    let verdict = |gate: &str, pass| GateVerdict { gate: gate.into(), pass };
    let submission = Submission {
        id: "T1".into(),
        gates: vec![verdict("tests", true), verdict("lint", false)],
        ..Submission::default()
    };
    for bad in [vec![verdict("", true)], vec![verdict("tests", true), verdict("tests", false)]] {
        let bad = Submission { gates: bad, ..submission.clone() };
        w.by(IMPL).does(Command::Submit(bad)).refused(Code::InvalidInput);
    }
    let of_review = Submission { gates: vec![verdict("review", true)], ..submission.clone() };
    w.by(IMPL).does(Command::Submit(of_review)).refused(Code::InvalidInput);
    w.by(IMPL).does(Command::Submit(submission)).accepted();
    assert_eq!(w.status("T1"), Status::Review);
    assert_eq!(state_of(&w, "tests"), CheckState::Met);
    assert_eq!(state_of(&w, "lint"), CheckState::Failed);
    let evidence = w.task("T1").gate("tests").unwrap().evidence.clone().unwrap();
    assert_eq!(evidence.commit, w.task("T1").commit);
    assert!(evidence.commit.is_some());
}

#[test]
fn rule_3_3_approve_lists_everything_that_is_missing() {
    let mut w = World::new();
    let new = NewTask { dod: texts(&["documented"]), ..gated(&["tests", "lint"]) };
    w.have_this(new, Status::InProgress);
    w.by(IMPL).records("T1", "lint", false).accepted();
    w.by(IMPL).submits("T1").accepted();
    let refusal = w.by(CRITIC).approves("T1").refused(Code::GateUnmet);
    assert_eq!(
        refusal.details["missing"],
        json!([
            {"kind": "gate", "name": "tests", "state": "open", "reason": "has no evidence"},
            {"kind": "gate", "name": "lint", "state": "failed", "reason": "failed"},
            {"kind": "item", "name": "documented", "state": "open", "reason": "not met"},
        ])
    );
}

#[test]
fn rule_3_3_config_may_demand_a_tier() {
    let mut w = World::new();
    w.have_this(gated(&["tests"]), Status::InProgress);
    w.by(IMPL).records("T1", "tests", true).accepted();
    w.by(IMPL).submits("T1").accepted();
    w.policy.min_tier = Tier::Observed;
    w.by(CRITIC).approves("T1").refused(Code::GateUnmet);
    w.policy.min_tier = Tier::Claimed;
    w.by(CRITIC).approves("T1").accepted();
    assert!(Tier::Claimed < Tier::Observed && Tier::Observed < Tier::Verified);
}

#[test]
fn rule_3_4_done_is_refused_where_git_says_that_the_work_is_not_in_the_merged_commit() {
    let mut w = World::new();
    w.have_one(Status::Merging);
    let done = || Command::Done {
        id: "T1".into(),
        merged: Some("feedc0de".into()),
        unmerged: false,
        reason: None,
    };
    let missing = |seen: &mut Observed| seen.merge.as_mut().unwrap().contains = false;
    w.by(INTEGRATOR).does_seeing(done(), missing).refused(Code::NotMerged);
    w.by(ANN).does_seeing(done(), missing).refused(Code::NotMerged);
    w.by(INTEGRATOR).does(done()).accepted();
    assert_eq!(w.task("T1").merged_sha.as_deref(), Some("feedc0de"));
}

#[test]
fn rule_3_5_a_gate_that_neither_the_task_nor_the_settings_know_is_refused_with_the_nearest() {
    let mut w = World::new();
    w.have_this(gated(&["tests"]), Status::InProgress);
    w.policy.gates = vec!["lint".to_owned()];
    let record = |gate: &str, new| Command::GateRecord {
        id: "T1".into(),
        gate: gate.into(),
        pass: true,
        report: None,
        commit: None,
        new,
    };
    let refusal = w.by(IMPL).does(record("test", false)).refused(Code::UnknownName);
    assert_eq!(refusal.details["nearest"], "tests");
    let refusal = w.by(IMPL).does(record("deploy", false)).refused(Code::UnknownName);
    assert!(refusal.details["nearest"].is_null());
    w.by(IMPL).does(record("lint", false)).accepted();
    w.by(IMPL).does(record("deploy", true)).accepted();
    w.by(IMPL).does(record("deploy", false)).accepted();
    let handed_in = |new| {
        let gates = vec![GateVerdict { gate: "tets".to_owned(), pass: true }];
        Command::Submit(Submission { id: "T1".into(), gates, new, ..Submission::default() })
    };
    w.by(IMPL).does(handed_in(false)).refused(Code::UnknownName);
    w.by(IMPL).does(handed_in(true)).accepted();
}

#[test]
fn rule_3_5_a_reported_event_for_an_unknown_gate_is_kept_without_effect() {
    let mut w = World::new();
    w.have_this(gated(&["tests"]), Status::InProgress);
    let reported = |gate: &str| {
        let event = serde_json::json!({
            "event": "tests_run", "task": "T1", "gate": gate, "result": "pass"
        });
        Command::EmitEvent { event: event.as_object().unwrap().clone() }
    };
    w.by(IMPL).does(reported("tets")).accepted();
    assert!(w.task("T1").gate("tets").is_none());
    w.by(IMPL).does(reported("tests")).accepted();
    assert!(w.task("T1").gate("tests").unwrap().evidence.is_some());
}

#[test]
fn rule_3_5_an_assignee_that_nobody_knows_is_refused_unless_it_is_meant_as_a_new_one() {
    let mut w = World::new();
    w.by(ANN).creates(task("work")).accepted();
    let assign =
        |new| Command::Assign { id: "T1".into(), agent: Some(crate::world::id("nobody-1")), new };
    w.by(ANN).does(assign(false)).refused(Code::UnknownName);
    let new = NewTask { assignee: Some(crate::world::id("nobody-1")), ..task("more") };
    w.by(ANN).creates(new.clone()).refused(Code::UnknownName);
    w.by(ANN).does(assign(true)).accepted();
    w.by(ANN).does(assign(false)).accepted();
    w.by(ANN).creates(new).accepted();
}
