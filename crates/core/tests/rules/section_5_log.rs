//! RULES section 5, as far as the core can see it: the chain, reports, the order of refusals.

use crate::verbs::{task, texts};
use crate::world::{ANN, Expect, IMPL, OBSERVER, OTHER, World};
use comity_core::chain::{Hash, Head};
use comity_core::command::{Command, Mend, NewTask, TaskVerb};
use comity_core::event::{ClockCorrected, Draft, Event, Placed};
use comity_core::facts::Moment;
use comity_core::ids::Seq;
use comity_core::refusal::Code;
use comity_core::state::State;
use comity_core::status::Status;
use comity_core::task::{CheckState, Tier};
use comity_core::time::Timestamp;
use comity_core::view;
use serde_json::json;

fn some_history() -> World {
    let mut w = World::new();
    w.have_one(Status::Done);
    w
}

fn problems(w: &World) -> Vec<String> {
    let mut head = Head::default();
    let mut found = Vec::new();
    for stored in &w.stored {
        found.extend(stored.problem_after(&head));
        head = stored.head();
    }
    found
}

#[test]
fn rule_5_1_seq_is_gap_free_and_the_chain_holds() {
    assert!(problems(&some_history()).is_empty());
}

#[test]
fn rule_5_1_an_edited_deleted_or_swapped_event_is_found() {
    let mut w = some_history();
    w.stored[3].body = Some(b"{}".to_vec());
    assert_eq!(problems(&w), ["event 4: the fields were changed"]);
    let mut w = some_history();
    w.stored[3].agent = "somebody.else".to_owned();
    assert_eq!(problems(&w).len(), 1);
    let mut w = some_history();
    w.stored.remove(3);
    assert_eq!(problems(&w)[0], "event 4 is missing (found 5 after 3)");
    let mut w = some_history();
    w.stored.swap(3, 4);
    assert!(!problems(&w).is_empty());
    let mut w = some_history();
    w.stored[3].body = Some(b"{}".to_vec());
    w.stored[3].body_hash = Hash::of(b"{}");
    assert_eq!(problems(&w).len(), 1);
}

#[test]
fn rule_5_1_every_hash_depends_on_everything_before_it() {
    let w = some_history();
    let last = w.stored.last().unwrap();
    assert_eq!(last.expected_hash(last.prev), last.hash);
    assert_ne!(last.expected_hash(Hash::of(b"another past")), last.hash);
}

#[test]
fn rule_5_1_a_purged_body_leaves_a_chain_that_still_verifies() {
    let mut w = some_history();
    w.stored[3].body = None;
    assert!(problems(&w).is_empty());
}

#[test]
fn rule_5_1_ts_is_never_before_the_previous_one() {
    let mut w = some_history();
    let last = w.head().ts;
    w.moment.now = Timestamp::from_ms(last.ms() - 5000);
    w.by(ANN).notes("the clock went back").accepted();
    assert_eq!(w.head().ts, last);
}

#[test]
fn rule_5_1_only_a_person_sets_the_log_back_and_only_one_that_is_ahead_of_the_clock() {
    let mut w = World::new();
    let mend = || Command::Mend(Mend::Clock);
    w.by(ANN).does(mend()).refused(Code::InvalidInput);
    w.moment.clock = Timestamp::from_ms(w.head().ts.ms() - 5000);
    w.by(IMPL).does(mend()).refused(Code::HumanOnly);
    w.by(ANN).does(mend()).accepted();
    assert_eq!(w.head().ts, w.moment.clock);
    assert!(problems(&w).is_empty(), "this event alone may be dated before its predecessor");
    let mut forged = w.stored.clone();
    let last = forged.last_mut().unwrap();
    last.event = "note".to_owned();
    last.hash = last.expected_hash(last.prev);
    let before = forged[forged.len() - 2].head();
    assert!(forged[forged.len() - 1].problem_after(&before).is_some());
}

#[test]
fn rule_5_1_a_corrected_clock_moves_what_is_counted_from_and_keeps_its_length() {
    let mut w = World::new();
    let ahead = Timestamp::parse("2046-01-01T00:00:00Z").unwrap();
    let clock = w.moment.now;
    w.moment = Moment { now: ahead, woke_at: None, clock };
    w.have_one(Status::InProgress);
    let event = Event::ClockCorrected(ClockCorrected { log_time: w.head().ts });
    let draft = Draft { event, ..w.log[0].draft.clone() };
    let placed = Placed { seq: Seq(w.head().seq.0 + 1), ts: clock, draft };
    let mut state = w.state.clone();
    let moved = state.apply(&placed, |_| true);
    assert!(!moved.is_empty());
    let task = state.tasks.values().next().unwrap();
    let claim = task.claim.as_ref().unwrap();
    assert_eq!((claim.claimed_at, claim.started_at), (clock, Some(clock)));
    assert!(state.leases.values().all(|lease| lease.renewed_at <= clock));
    assert_eq!(state.apply(&placed, |_| true), [], "what was moved once stays");
}

#[test]
fn rule_5_2_replaying_the_log_from_empty_gives_the_same_state() {
    let w = some_history();
    let mut replayed = State::default();
    for placed in &w.log {
        replayed.apply(placed, |_| true);
    }
    assert_eq!(replayed, w.state);
}

#[test]
fn rule_5_3_a_reported_event_is_marked_and_never_projected() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let before = w.state.clone();
    let report = json!({
        "event": "status_changed", "task": "T1", "old_status": "in_progress",
        "new_status": "done", "agent": "impostor", "ts": "1999-01-01T00:00:00Z", "seq": 7,
    });
    let done = w.by(OTHER).emits(report).accepted();
    assert_eq!(w.state, before);
    let body = String::from_utf8(done.events[0].draft.event.encode().unwrap()).unwrap();
    assert!(body.starts_with(r#"{"reported":true"#), "{body}");
    assert_eq!(done.events[0].draft.agent.as_str(), OTHER);
    assert!(body.contains(r#""reported_agent":"impostor""#), "{body}");
    assert!(!body.contains(r#""seq""#), "{body}");
}

#[test]
fn rule_1_6_a_reported_event_cannot_forge_where_it_came_from() {
    let mut w = World::new();
    let report = json!({"event": "deployed", "via": {"client": "forged", "session": "s"}});
    let done = w.by(OTHER).emits(report).accepted();
    let body = String::from_utf8(done.events[0].draft.encode().unwrap()).unwrap();
    assert!(body.starts_with(r#"{"reported":true"#), "{body}");
    assert!(body.contains(r#""reported_via":{"client":"forged","session":"s"}"#), "{body}");
    assert!(body.ends_with(r#","via":{"host":"host-1"}}"#), "{body}");
}

#[test]
fn rule_5_3_only_tests_run_counts_as_claimed_evidence() {
    let mut w = World::new();
    w.have_this(NewTask { gates: texts(&["tests"]), ..task("work") }, Status::InProgress);
    let done = w.by(IMPL).emits_tests("T1", "tests", "passed").accepted();
    assert_eq!(done.names(), ["tests_run", "tests_run"]);
    let gate = &view::gates(w.task("T1"), &w.policy)[0];
    assert_eq!((gate.state, gate.tier.as_deref()), (CheckState::Met, Some(Tier::Claimed.as_str())));
    w.by(IMPL).emits(json!({"event": "approved", "task": "T1"})).accepted();
    assert_eq!(w.status("T1"), Status::InProgress);
}

#[test]
fn rule_5_3_a_report_of_somebody_who_may_not_record_evidence_is_kept_but_does_not_count() {
    let mut w = World::new();
    w.have_this(NewTask { gates: texts(&["tests"]), ..task("work") }, Status::InProgress);
    for who in [OTHER, OBSERVER] {
        let done = w.by(who).emits_tests("T1", "tests", "fail").accepted();
        assert_eq!(done.names(), ["tests_run"]);
    }
    w.by(IMPL).emits_tests("T1", "review", "pass").accepted();
    assert!(w.task("T1").gate("review").is_none());
    assert_eq!(w.task("T1").gate("tests").unwrap().evidence, None);
    w.by(IMPL).emits_tests("T1", "a\u{1}b", "pass").refused(Code::InvalidInput);
}

#[test]
fn rule_5_3_a_report_names_its_task_exactly() {
    let mut w = World::new();
    let id = Some("T-142".to_owned());
    w.have_this(NewTask { id, gates: texts(&["tests"]), ..task("work") }, Status::InProgress);
    let done = w.by(IMPL).emits_tests("T-14", "tests", "pass").accepted();
    assert_eq!(done.names(), ["tests_run"], "the beginning of an id is another task");
    assert_eq!(w.task("T-142").gate("tests").unwrap().evidence, None);
    let done = w.by(IMPL).emits_tests("T-142", "tests", "pass").accepted();
    assert_eq!(done.names(), ["tests_run", "tests_run"]);
}

#[test]
fn rule_5_3_a_report_may_be_about_a_task_of_another_system() {
    let mut w = World::new();
    let done = w.by(IMPL).emits(json!({"event": "ci", "task": "GH#12"})).accepted();
    assert_eq!(done.events.last().unwrap().draft.task, None);
    let Event::Reported(body) = &done.events.last().unwrap().draft.event else { panic!() };
    assert_eq!(body.fields["reported_task"], "GH#12");
    w.by(IMPL).emits(json!({"task": "T1"})).refused(Code::InvalidInput);
}

#[test]
fn rule_5_7_refusals_come_in_the_order_of_the_rules() {
    let mut w = World::new();
    w.have_this(NewTask { gates: texts(&["tests"]), ..task("work") }, Status::InProgress);
    let stale = 99_999;
    let bad = TaskVerb::Approve.on("T1", Some("\u{1}".into()));
    w.by(OTHER).with_fence(stale).does(bad).refused(Code::InvalidInput);
    w.by(OTHER).with_fence(stale).submits("T9").refused(Code::NotFound);
    w.by(OTHER).with_fence(stale).starts("T1").refused(Code::StaleFence);
    w.by(OTHER).starts("T1").refused(Code::InvalidTransition);
    w.by(OTHER).approves("T1").refused(Code::InvalidTransition);
    w.by(OBSERVER).submits("T1").refused(Code::RoleForbidden);
    w.by(OTHER).submits("T1").refused(Code::NotHolder);
    w.by(IMPL).submits("T1").accepted();
    w.by(OTHER).approves("T1").refused(Code::RoleForbidden);
    w.by(ANN).approves("T1").refused(Code::GateUnmet);
}

#[test]
fn rule_5_7_the_order_holds_for_creating_editing_leasing_and_reopening() {
    let mut w = World::new();
    w.have(NewTask { id: Some("taken".into()), ..task("work") });
    w.have_one(Status::Done);
    let dup = |depends_on: &[&str], parent: Option<&str>| NewTask {
        id: Some("taken".into()),
        depends_on: texts(depends_on),
        parent: parent.map(str::to_owned),
        ..task("again")
    };
    w.by(IMPL).creates(dup(&["T77"], None)).refused(Code::NotFound);
    w.by(IMPL).creates(dup(&[], Some("T2"))).refused(Code::InvalidTransition);
    w.by(IMPL).creates(dup(&[], None)).refused(Code::DuplicateId);
    w.by(OBSERVER).makes_wait("T2", "taken").refused(Code::InvalidTransition);
    w.by(OBSERVER).reopens("T2", "").refused(Code::InvalidInput);
    w.by(OBSERVER).reopens("taken", "why").refused(Code::InvalidTransition);
    w.by(OBSERVER).reopens("T2", "why").refused(Code::HumanOnly);
    w.by(IMPL).leases(&["a"]).accepted();
    w.by(OTHER).renews(&["L1", "L2"]).refused(Code::NotFound);
    w.by(OTHER).with_fence(9999).renews(&["L1"]).refused(Code::StaleFence);
    w.by(OTHER).renews(&["L1"]).refused(Code::NotHolder);
}
