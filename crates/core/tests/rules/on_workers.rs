//! Labelled runs: they wait for a worker, and go on elsewhere when the host that had them is lost.

use crate::runs::{call, change, dispatch, end, new_run, run, take};
use crate::verbs::{task, task_on};
use crate::world::{ANN, Expect, IMPL, WATCHER, World, id};
use comity_core::command::{NewRun, RunChange};
use comity_core::refusal::Code;
use comity_core::run::{RunFault, RunState, Stage};
use comity_core::status::Status;
use serde_json::json;

fn labelled(task: &str, stage: Stage) -> NewRun {
    NewRun {
        labels: vec!["gpu=1".to_owned()],
        prompt_bytes: 7,
        base: Some("b1".to_owned()),
        ..new_run("developer", Some(task), stage)
    }
}

/// A worker has a labelled run.
fn taken() -> World {
    let mut w = World::new();
    w.have(task_on("parse", &["src/a.rs"]));
    w.by(ANN).does(dispatch(labelled("T1", Stage::Develop))).accepted();
    let fence = run(&w, "R1").fence.get();
    w.by(WATCHER).with_fence(fence).does(change("R1", take())).accepted();
    w
}

#[test]
fn a_worker_takes_a_labelled_run_under_its_fence_and_no_other_takes_it_again() {
    let mut w = taken();
    assert_eq!(run(&w, "R1").state, RunState::Starting);
    assert_eq!(run(&w, "R1").worker.as_ref().unwrap().as_str(), WATCHER);
    assert_eq!(w.status("T1"), Status::InProgress, "the run itself has begun the work");
    let fence = run(&w, "R1").fence.get();
    w.by(WATCHER).with_fence(fence).does(change("R1", take())).refused(Code::InvalidTransition);
    w.by(WATCHER).with_fence(fence + 1).does(change("R1", take())).refused(Code::StaleFence);
}

#[test]
fn what_a_waiting_run_holds_is_there_when_a_worker_takes_it_late() {
    let mut w = World::new();
    w.have(task_on("parse", &["src/a.rs"]));
    w.have(task_on("other", &["src/a.rs"]));
    w.by(ANN).does(dispatch(labelled("T1", Stage::Develop))).accepted();
    w.pass(1_000);
    w.sweep();
    w.by(IMPL).claims("T2").refused(Code::LeaseHeld);
    let fence = run(&w, "R1").fence.get();
    let taken = RunChange::Take {
        worker: Some(id("worker:a")),
        workspace: None,
        driver_version: None,
        sandbox: None,
        session: None,
    };
    w.by("developer:R1").with_fence(fence).does(change("R1", taken)).accepted();
    assert_eq!(run(&w, "R1").worker.as_ref().unwrap().as_str(), "worker:a");
    w.pass(100);
    w.sweep();
    assert_eq!((run(&w, "R1").state, w.status("T1")), (RunState::Starting, Status::InProgress));
    assert_eq!(w.paths_of("developer:R1"), ["src/a.rs"]);
}

#[test]
fn whoever_sweeps_a_lost_labelled_run_queues_another_one_in_the_same_transaction() {
    let mut w = taken();
    w.pass(200);
    let done = w.sweep();
    let names = done.expired_names();
    for name in ["run_lost", "task_claimed", "file_locked", "run_queued", "budget_reserved"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let (old, new) = (run(&w, "R1"), run(&w, "R2"));
    assert_eq!((old.state, new.state), (RunState::Lost, RunState::Queued));
    assert_eq!(new.resumed_from, Some(old.id));
    assert_eq!(new.meta["resumedFrom"], json!("R1"));
    assert_eq!((&new.labels, &new.base, new.prompt_bytes), (&old.labels, &old.base, 7));
    assert_eq!((old.attempt, new.attempt), (1, 2));
    assert_eq!(w.status("T1"), Status::Claimed);
    assert_eq!(w.paths_of("developer:R2"), ["src/a.rs"]);
    assert!(new.fence > old.fence);
}

#[test]
fn a_worker_that_was_stopped_meanwhile_is_told_that_its_fence_is_stale() {
    let mut w = taken();
    let fence = run(&w, "R1").fence.get();
    w.pass(300);
    w.by("developer:R1").with_fence(fence).does(change("R1", call(0.1))).refused(Code::StaleFence);
    let failed = end(RunState::Failed, Some(RunFault::Crash));
    w.by("developer:R1").with_fence(fence).does(change("R1", failed)).refused(Code::StaleFence);
    assert_eq!(run(&w, "R2").state, RunState::Queued);
}

#[test]
fn a_run_that_was_lost_three_times_is_not_queued_again() {
    let mut w = taken();
    for number in 2..=3 {
        w.pass(200);
        w.sweep();
        let id = format!("R{number}");
        let fence = run(&w, &id).fence.get();
        w.by(WATCHER).with_fence(fence).does(change(&id, take())).accepted();
    }
    w.pass(200);
    w.sweep();
    assert_eq!(run(&w, "R3").state, RunState::Lost);
    assert_eq!(w.state.runs.len(), 3);
    assert_eq!(w.status("T1"), Status::Blocked, "a person decides");
}

#[test]
fn a_run_without_labels_is_left_to_the_supervisor() {
    let mut w = World::new();
    w.have(task("a"));
    w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
    w.by("developer:R1").does(change("R1", take())).accepted();
    w.pass(200);
    w.sweep();
    assert_eq!(w.state.runs.len(), 1);
    assert_eq!(w.status("T1"), Status::Queued);
}
