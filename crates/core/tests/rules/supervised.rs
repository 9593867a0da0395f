//! Seats, steps of the supervisor, the design gate, and what reports do at the end of a run.

use crate::runs::{call, change, dispatch, end, new_run, run, take};
use crate::verbs::{question, task, task_on};
use crate::world::{ANN, CRITIC, Expect, IMPL, INTEGRATOR, PLANNER, World};
use comity_core::command::{
    Command, NewRun, NewTask, Question, RunChange, RunEnd, SeatChange, Supervision, TaskVerb,
};
use comity_core::decision::{Addressee, DecisionPurpose, DecisionState, DecisionType};
use comity_core::refusal::Code;
use comity_core::run::{RunFault, RunState, Stage};
use comity_core::status::Status;
use comity_core::supervise::Ask;
use comity_core::task::{CheckState, Deliverable};
use comity_core::time::Millis;
use serde_json::{Map, Value, json};

const ARCHITECT: &str = "architect:R1";
const DESIGN: &str = "Design approval for T1";

pub fn seat(name: &str) -> Command {
    Command::Seat(SeatChange::Take { seat: name.to_owned(), ttl: Millis::from_secs(60) })
}

fn fence(w: &World, name: &str) -> u64 {
    w.state.repos[&w.repo].seats[name].fence.get()
}

fn supervise(rule: &str, task: Option<&str>, steps: Vec<Command>) -> Command {
    Command::Supervise(Box::new(Supervision {
        rule: rule.to_owned(),
        on: "task.ready".to_owned(),
        subject: task.unwrap_or("T1").to_owned(),
        because: "it is so".to_owned(),
        action: "dispatch developer".to_owned(),
        task: task.map(str::to_owned),
        steps,
        ..Supervision::default()
    }))
}

#[test]
fn a_seat_is_taken_by_one_at_a_time_and_free_again_after_silence() {
    let mut w = World::new();
    w.by(IMPL).does(seat("supervisor")).refused(Code::RoleForbidden);
    w.by(INTEGRATOR).does(seat("supervisor")).refused(Code::RoleForbidden);
    w.by(PLANNER).does(seat("throne")).refused(Code::InvalidInput);
    w.by(PLANNER).does(seat("supervisor")).accepted();
    w.by(INTEGRATOR).does(seat("merge:main")).accepted();
    let first = fence(&w, "supervisor");
    let refusal = w.by(ANN).does(seat("supervisor")).refused(Code::SeatHeld);
    assert_eq!(refusal.details["holder"], PLANNER);
    w.pass(50);
    w.by(PLANNER).with_fence(first).does(Command::Heartbeat).accepted();
    w.pass(50);
    w.by(ANN).does(seat("supervisor")).refused(Code::SeatHeld);
    w.pass(11);
    let done = w.by(ANN).does(seat("supervisor")).accepted();
    assert_eq!(done.names(), ["seat_left", "seat_taken"]);
    assert!(fence(&w, "supervisor") > first);
    let leave = Command::Seat(SeatChange::Leave { seat: "supervisor".to_owned(), reason: None });
    w.by(PLANNER).with_fence(first).does(leave.clone()).refused(Code::StaleFence);
    let now = fence(&w, "supervisor");
    w.by(ANN).with_fence(now).does(leave).accepted();
    assert!(!w.state.repos[&w.repo].seats.contains_key("supervisor"));
}

#[test]
fn a_holder_whose_process_has_ended_is_replaced_at_once() {
    let mut w = World::new();
    w.by(PLANNER).does(seat("supervisor")).accepted();
    let dead = comity_core::ids::Fence::new(fence(&w, "supervisor"));
    let other = comity_core::ids::Fence::new(1);
    w.by(PLANNER).does_seeing(seat("supervisor"), |seen| seen.dead = other).refused(Code::SeatHeld);
    w.by(PLANNER).does_seeing(seat("supervisor"), |seen| seen.dead = dead).accepted();
}

#[test]
fn a_step_of_the_supervisor_is_done_under_the_fence_of_its_seat_and_says_why() {
    let mut w = World::new();
    w.have(task("a"));
    let new = || {
        let new = Box::new(new_run("developer", Some("T1"), Stage::Develop));
        supervise("route.direct", Some("T1"), vec![Command::RunDispatch(new)])
    };
    w.by(PLANNER).does(new()).refused(Code::StaleFence);
    w.by(PLANNER).does(seat("supervisor")).accepted();
    w.by(PLANNER).does(new()).refused(Code::StaleFence);
    let fence = fence(&w, "supervisor");
    w.by(IMPL).with_fence(fence).does(new()).refused(Code::RoleForbidden);
    let done = w.by(PLANNER).with_fence(fence).does(new()).accepted();
    assert_eq!(done.names().last(), Some(&"supervised"));
    assert!(done.names().contains(&"run_queued"));
    assert_eq!(w.status("T1"), Status::Claimed);
}

#[test]
fn what_a_rule_asks_stops_the_task_until_the_answer() {
    let mut w = World::new();
    w.have(task("Remove the old parser"));
    w.by(PLANNER).does(seat("supervisor")).accepted();
    let fence = fence(&w, "supervisor");
    let Command::Supervise(mut step) = supervise("route.deletion", Some("T1"), Vec::new()) else {
        unreachable!()
    };
    step.ask = Some(Box::new(Ask {
        question: "Only this?".to_owned(),
        context: None,
        options: ["only", "also", "cancel"].map(str::to_owned).to_vec(),
        to: Addressee::Person,
        purpose: DecisionPurpose::Question,
        blocks: true,
    }));
    w.by(PLANNER).with_fence(fence).does(Command::Supervise(step)).accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
    assert_eq!(w.decision("D1").rule.as_deref(), Some("route.deletion"));
    w.by(PLANNER).answers("D1", "only").refused(Code::RoleForbidden);
    w.by(ANN).answers("D1", "only").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
}

/// An architect at work on T1.
fn planning() -> World {
    let mut w = World::new();
    w.have(task_on("parse", &["src/a.rs"]));
    w.by(ANN).does(dispatch(new_run("architect", Some("T1"), Stage::Plan))).accepted();
    w.by(ARCHITECT).does(change("R1", take())).accepted();
    w.by(ARCHITECT).does(change("R1", call(0.1))).accepted();
    w
}

fn approval(text: &str) -> Question {
    Question { kind: Some(DecisionType::Approval), ..question(text) }
}

fn wait(decision: &str) -> RunChange {
    RunChange::Wait { decision: decision.to_owned() }
}

#[test]
fn a_run_that_waits_for_its_design_goes_on_with_the_answer() {
    let mut w = planning();
    w.by(ARCHITECT).asks(approval(DESIGN)).accepted();
    assert_eq!(w.decision("D1").to, Addressee::Planner, "asks of runs go to planners");
    assert_eq!(w.decision("D1").task.as_ref().unwrap().as_str(), "T1");
    w.by(ARCHITECT).does(change("R1", wait("D1"))).accepted();
    assert_eq!(run(&w, "R1").state, RunState::Waiting);
    w.by(ARCHITECT).answers("D1", "approved").refused(Code::RoleForbidden);
    w.by(PLANNER).answers("D1", "approved_with_changes: smaller").accepted();
    assert_eq!(run(&w, "R1").state, RunState::Running);
    assert_eq!(w.decision("D1").text.as_deref(), Some("smaller"));
}

#[test]
fn a_question_that_time_settles_wakes_its_run() {
    let mut w = planning();
    let expires = Some(Millis::from_secs(30));
    w.by(ARCHITECT).asks(Question { expires, ..approval(DESIGN) }).accepted();
    w.by(ARCHITECT).does(change("R1", wait("D1"))).accepted();
    w.pass(31);
    w.sweep();
    assert_eq!(run(&w, "R1").state, RunState::Running);
}

#[test]
fn the_third_question_about_a_design_is_refused_and_a_person_sees_all_proposals() {
    let mut w = planning();
    for (number, answer) in [("D1", "rejected"), ("D2", "approved_with_changes: no")] {
        let context = Some(format!("proposal {number}"));
        w.by(ARCHITECT).asks(Question { context, ..approval(DESIGN) }).accepted();
        w.by(ANN).answers(number, answer).accepted();
    }
    w.by(ARCHITECT).asks(approval("Which library?")).accepted();
    w.by(ANN).answers("D3", "approved").accepted();
    w.by(ARCHITECT).asks(approval(DESIGN)).refused(Code::GateCycles);
    w.by(ARCHITECT).does(change("R1", end(RunState::Failed, Some(RunFault::NoResult)))).accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
    let asked = w.decision("D4");
    assert_eq!((asked.purpose, &asked.to), (DecisionPurpose::Exhausted, &Addressee::Person));
    let context = asked.context.clone().unwrap();
    assert!(context.contains("proposal D1") && context.contains("proposal D2"), "{context}");
    w.by(ANN).answers("D4", "fresh").accepted();
    w.by(ANN).does(dispatch(new_run("architect", Some("T1"), Stage::Plan))).accepted();
    w.by("architect:R2").does(change("R2", take())).accepted();
    w.by("architect:R2").asks(approval(DESIGN)).accepted();
}

#[test]
fn a_run_that_ends_while_its_question_is_open_leaves_its_task_blocked_on_it() {
    let mut w = planning();
    w.by(ARCHITECT).asks(approval(DESIGN)).accepted();
    w.by(ARCHITECT).does(change("R1", end(RunState::Failed, Some(RunFault::NoResult)))).accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
    assert_eq!(w.task("T1").attempts, 0);
    w.by(ANN).answers("D1", "approved").accepted();
    assert_eq!(w.status("T1"), Status::Queued, "the answer queues it again");
}

fn reported(stage: Stage, said: Value, steps: Vec<Command>) -> RunChange {
    let _ = stage;
    let RunChange::End(mut ended) = end(RunState::Succeeded, None) else { unreachable!() };
    let Value::Object(said) = said else { unreachable!() };
    *ended = RunEnd { said, steps, ..*ended };
    RunChange::End(ended)
}

fn release() -> Command {
    TaskVerb::Release.on("T1".to_owned(), Some("the report is in".to_owned()))
}

#[test]
fn nobody_develops_a_task_before_its_plan_is_in_the_branch() {
    let mut w = planning();
    let said = json!({"plan_path": ".comity/specs/t1.md"});
    w.by(ARCHITECT).does(change("R1", reported(Stage::Plan, said, vec![release()]))).accepted();
    assert_eq!(w.task("T1").context["plan_path"], ".comity/specs/t1.md");
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Queued, 0));
    let new = || new_run("developer", Some("T1"), Stage::Develop);
    w.by(ANN).does(dispatch(new())).refused(Code::DesignOpen);
    let other = Some("other.md".to_owned());
    w.by(ANN).does_seeing(dispatch(new()), |seen| seen.plan = other).refused(Code::DesignOpen);
    let skip_design = Some("it is trivial".to_owned());
    let skipping = || NewRun { skip_design: skip_design.clone(), ..new() };
    w.by(PLANNER).does(dispatch(skipping())).refused(Code::HumanOnly);
    let mut other = World::new();
    std::mem::swap(&mut other, &mut w);
    let plan = Some(".comity/specs/t1.md".to_owned());
    other.by(PLANNER).does_seeing(dispatch(new()), |seen| seen.plan = plan).accepted();
}

#[test]
fn a_person_starts_without_the_plan_and_says_why() {
    let mut w = planning();
    w.by(ARCHITECT).does(change("R1", end(RunState::Stopped, None))).accepted();
    let new = new_run("developer", Some("T1"), Stage::Develop);
    let skip_design = Some("it is trivial".to_owned());
    let done = w.by(ANN).does(dispatch(NewRun { skip_design, ..new })).accepted();
    assert!(done.names().contains(&"note"), "{:?}", done.names());
}

#[test]
fn an_architect_without_a_plan_has_failed() {
    let mut w = planning();
    w.by(ARCHITECT).does(change("R1", end(RunState::Succeeded, None))).accepted();
    assert_eq!(run(&w, "R1").error.as_ref().unwrap().kind, RunFault::BadReport);
    assert_eq!(w.status("T1"), Status::Failed);
}

#[test]
fn work_is_discarded_only_after_a_person_said_so() {
    let mut w = World::new();
    w.have(task("parse"));
    w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
    w.by("developer:R1").does(change("R1", take())).accepted();
    w.by("developer:R1").does(change("R1", call(0.1))).accepted();
    let said = json!({"status": "DONE", "recommendation": "discard", "reason": "wrong way"});
    w.by("developer:R1").does(change("R1", reported(Stage::Develop, said, vec![]))).accepted();
    assert_eq!((w.status("T1"), run(&w, "R1").state), (Status::Blocked, RunState::Succeeded));
    let asked = w.decision("D1");
    assert_eq!(asked.rule.as_deref(), Some("branch.discard"));
    assert_eq!((&asked.to, asked.context.as_deref()), (&Addressee::Person, Some("wrong way")));
    w.by(ANN).answers("D1", "no").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
}

#[test]
fn an_approval_with_spec_pass_meets_the_checklist() {
    for (said, state) in [
        (json!({"verdict": "APPROVED", "spec_compliance": "PASS"}), Some(CheckState::Met)),
        (json!({"verdict": "APPROVED"}), None),
    ] {
        let mut w = World::new();
        let new = NewTask { dod: vec!["dates are parsed".to_owned()], ..task("a") };
        w.have_this(new, Status::Review);
        w.by(ANN).does(dispatch(new_run("reviewer", Some("T1"), Stage::Review))).accepted();
        w.by("reviewer:R1").does(change("R1", take())).accepted();
        w.by("reviewer:R1").does(change("R1", call(0.1))).accepted();
        let approve = TaskVerb::Approve.on("T1".to_owned(), None);
        let ended = change("R1", reported(Stage::Review, said, vec![approve]));
        let verdict = w.by("reviewer:R1").does(ended);
        match state {
            Some(state) => {
                verdict.accepted();
                assert_eq!(w.status("T1"), Status::Approved);
                assert_eq!(w.task("T1").dod[0].state, state);
            }
            None => drop(verdict.refused(Code::GateUnmet)),
        }
    }
}

#[test]
fn a_scouts_own_task_is_done_with_its_report_and_its_summary_answers_the_question() {
    let mut w = World::new();
    let to = Some(Addressee::try_from("scout".to_owned()).unwrap());
    w.by(IMPL).asks(Question { to, ..question("Where are dates parsed?") }).accepted();
    let mut context = Map::new();
    context.insert("answers".to_owned(), json!("D1"));
    let made = NewTask { deliverable: Deliverable::None, context, ..task("look") };
    let new = new_run("scout", None, Stage::Scout);
    w.by(ANN).does(dispatch(NewRun { new_task: Some(Box::new(made)), ..new })).accepted();
    w.by("scout:R1").does(change("R1", take())).accepted();
    w.by("scout:R1").does(change("R1", call(0.1))).accepted();
    let said = json!({"summary": "in src/date.rs"});
    w.by("scout:R1").does(change("R1", reported(Stage::Scout, said, vec![]))).accepted();
    assert_eq!(w.status("T1"), Status::Done);
    assert_eq!(w.decision("D1").state, DecisionState::Answered);
    assert_eq!(w.decision("D1").answer.as_deref(), Some("in src/date.rs"));
    let _ = CRITIC;
}
