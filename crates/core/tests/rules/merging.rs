//! The fleet's leases and the merge queue.

use crate::runs::{dispatch, new_run};
use crate::verbs::{task, task_on};
use crate::world::{ANN, CRITIC, Expect, IMPL, INTEGRATOR, OTHER, PLANNER, World};
use comity_core::command::{Command, Eject, MergeStep, NewRelease, NewTask};
use comity_core::lease::LeaseMode;
use comity_core::merging::{BatchId, Ejection, Probe};
use comity_core::refusal::Code;
use comity_core::run::Stage;
use comity_core::status::Status;

fn modes(w: &World) -> Vec<(String, LeaseMode)> {
    w.state.leases.values().map(|lease| (lease.path.clone(), lease.mode)).collect()
}

#[test]
fn a_run_shares_what_git_can_merge_and_has_the_rest_for_itself() {
    let mut w = World::new();
    let files = ["src/a.rs", "Cargo.lock", "db/migrations/*.sql", "logo.png", "src/**"];
    w.have(task_on("one", &files));
    w.have(task_on("two", &["src/a.rs"]));
    w.have(task_on("three", &["Cargo.lock"]));
    let run = |task| dispatch(new_run("developer", Some(task), Stage::Develop));
    w.by(ANN).does(run("T1")).accepted();
    let (shared, alone) = (LeaseMode::Shared, LeaseMode::Exclusive);
    let held: Vec<LeaseMode> = modes(&w).into_iter().map(|(_, mode)| mode).collect();
    assert_eq!(held, [shared, alone, alone, alone, shared]);
    w.by(ANN).does(run("T2")).accepted();
    w.by(ANN).does(run("T3")).refused(Code::LeaseHeld);
}

#[test]
fn a_claim_outside_a_run_holds_its_files_alone_unless_the_project_shares_them() {
    let mut w = World::new();
    w.have(task_on("one", &["src/a.rs"]));
    w.have(task_on("two", &["src/a.rs"]));
    w.by(IMPL).claims("T1").accepted();
    w.by(OTHER).claims("T2").refused(Code::LeaseHeld);
    let mut w = World::new();
    w.policy.lease_mode = LeaseMode::Shared;
    w.have(task_on("one", &["src/a.rs"]));
    w.have(task_on("two", &["src/a.rs"]));
    w.by(IMPL).claims("T1").accepted();
    w.by(OTHER).claims("T2").accepted();
}

#[test]
fn among_equals_the_task_is_picked_whose_files_the_fewest_others_hold() {
    let mut w = World::new();
    w.policy.lease_mode = LeaseMode::Shared;
    w.have(task_on("held", &["hot.rs"]));
    w.have(task_on("two in common", &["hot.rs", "cold.rs"]));
    w.have(task_on("one in common", &["cold.rs"]));
    w.have(task_on("none", &["free.rs"]));
    w.by(IMPL).claims("T1").accepted();
    w.by(IMPL).shares(&["cold.rs"]).accepted();
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T4");
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T3");
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T2");
}

#[test]
fn a_more_urgent_task_is_picked_however_many_hold_its_files() {
    let mut w = World::new();
    w.policy.lease_mode = LeaseMode::Shared;
    w.have(task_on("held", &["hot.rs"]));
    w.have(task_on("free", &["free.rs"]));
    let urgent = comity_core::task::Priority::parse("P0").unwrap();
    w.have(NewTask { priority: Some(urgent), ..task_on("urgent", &["hot.rs"]) });
    w.by(IMPL).claims("T1").accepted();
    assert_eq!(w.by(OTHER).claims_best().accepted().task_id(), "T3");
}

fn approved(w: &mut World, id: &str) {
    w.by(IMPL).claims(id).accepted();
    w.by(IMPL).starts(id).accepted();
    w.by(IMPL).submits(id).accepted();
    w.by(CRITIC).approves(id).accepted();
}

fn step(step: MergeStep) -> Command {
    Command::MergeStep(step)
}

fn start(ids: &[&str]) -> Command {
    let tasks = ids.iter().map(|id| (*id).to_owned()).collect();
    step(MergeStep::Start { target: "main".to_owned(), base: "b45e".to_owned(), tasks })
}

fn eject(id: &str) -> Command {
    step(MergeStep::Eject(Box::new(Eject {
        id: id.to_owned(),
        batch: None,
        target: "main".to_owned(),
        reason: Ejection::Conflict,
        with: "b45e".to_owned(),
        paths: vec!["src/a.rs".to_owned()],
        gate: None,
        output_tail: None,
        words: "conflicts with main in: src/a.rs".to_owned(),
    })))
}

#[test]
fn approval_puts_code_into_the_merge_queue_and_whatever_ends_it_takes_it_out() {
    let mut w = World::new();
    w.have(task("code"));
    approved(&mut w, "T1");
    let queued = w.task("T1").merge.clone().unwrap();
    assert_eq!((queued.target, queued.batch), (None, None));
    assert_eq!(Some(&queued.commit), w.task("T1").commit.as_ref());
    w.by(ANN).requests_changes("T1").accepted();
    assert_eq!(w.task("T1").merge, None);
}

#[test]
fn a_batch_is_frozen_by_an_integrator_from_approved_work_only() {
    let mut w = World::new();
    w.have(task("code"));
    w.have(task("not yet"));
    approved(&mut w, "T1");
    w.by(IMPL).does(start(&["T1"])).refused(Code::RoleForbidden);
    w.by(INTEGRATOR).does(start(&["T1", "T2"])).refused(Code::InvalidTransition);
    let done = w.by(INTEGRATOR).does(start(&["T1"])).accepted();
    assert_eq!(done.names(), ["merge_started"]);
    let batch = BatchId(done.events[0].seq.0);
    assert_eq!(w.task("T1").merge.as_ref().unwrap().batch, Some(batch));
}

#[test]
fn work_that_does_not_merge_is_sent_back_with_the_paths() {
    let mut w = World::new();
    w.have(task("code"));
    approved(&mut w, "T1");
    w.by(CRITIC).does(eject("T1")).refused(Code::RoleForbidden);
    let done = w.by(INTEGRATOR).does(eject("T1")).accepted();
    assert_eq!(done.names(), ["merge_ejected", "review_feedback", "status_changed"]);
    let task = w.task("T1");
    assert_eq!((task.status, task.review_rounds), (Status::ChangesRequested, 1));
    assert!(task.feedback.as_ref().unwrap().text.contains("src/a.rs"));
    assert_eq!(task.merge, None);
    w.by(INTEGRATOR).does(eject("T1")).refused(Code::InvalidTransition);
}

#[test]
fn the_run_that_began_later_is_told_of_a_conflict() {
    let mut w = World::new();
    w.have(task("one"));
    w.have(task("two"));
    for id in ["T1", "T2"] {
        w.by(ANN).does(dispatch(new_run("developer", Some(id), Stage::Develop))).accepted();
    }
    let probed = |state| {
        let (a, b) = ("R1".to_owned(), Some("R2".to_owned()));
        step(MergeStep::Probed { a, b, state, paths: vec!["src/a.rs".to_owned()] })
    };
    w.by(IMPL).does(probed(Probe::Clean)).refused(Code::RoleForbidden);
    let done = w.by(ANN).does(probed(Probe::Clean)).accepted();
    assert_eq!(done.names(), ["merge_probed"]);
    let done = w.by(ANN).does(probed(Probe::Conflict)).accepted();
    assert_eq!(done.names(), ["merge_probed", "message_sent"]);
    let post = w.state.posts.values().next_back().unwrap();
    assert!(format!("{post:?}").contains("developer:R2"), "{post:?}");
}

#[test]
fn a_release_names_the_tasks_that_are_in_it() {
    let mut w = World::new();
    w.have(task("code"));
    let new = NewRelease {
        tag: "v1".to_owned(),
        sha: "b45e".to_owned(),
        tasks: vec!["T1".to_owned()],
        reason: None,
    };
    w.by(PLANNER).does(Command::Release(new.clone())).refused(Code::RoleForbidden);
    let done = w.by(INTEGRATOR).does(Command::Release(new)).accepted();
    assert_eq!(done.names(), ["released"]);
}
