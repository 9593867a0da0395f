//! Dependencies on tasks that other systems name before anybody makes them.

use crate::verbs::{task, texts};
use crate::world::{Expect, IMPL, PLANNER, World};
use comity_core::command::{Command, ImportedTask, NewTask};
use comity_core::ids::TaskId;
use comity_core::refusal::Code;
use comity_core::status::Status;

fn after(title: &str, on: &[&str]) -> NewTask {
    NewTask { depends_on: texts(on), ..task(title) }
}

fn awaiting(id: &str, on: &[&str]) -> NewTask {
    NewTask { id: Some(id.to_owned()), awaits_unknown: true, ..after(id, on) }
}

fn awaits(id: &str, on: &str) -> Command {
    Command::Depend { id: id.to_owned(), on: on.to_owned(), remove: false, awaits_unknown: true }
}

fn names(w: &World, id: &str) -> Vec<String> {
    w.task(id).dependencies.iter().map(TaskId::to_string).collect()
}

#[test]
fn a_task_waits_for_an_id_that_nobody_has_made_until_that_task_is_done() {
    let mut w = World::new();
    w.by(PLANNER).creates(awaiting("a", &["T-9"])).accepted();
    w.have(task("T-97 is another one"));
    assert_eq!(names(&w, "a"), ["T-9"]);
    w.by(IMPL).claims("a").refused(Code::NotReady);
    let done = ImportedTask {
        task: NewTask { id: Some("T-9".to_owned()), ..task("the one") },
        status: Some(Status::Done),
        source: "elsewhere".to_owned(),
        with_state: true,
        ..ImportedTask::default()
    };
    w.by(crate::world::ANN).does(Command::ImportTask(Box::new(done))).accepted();
    w.by(IMPL).claims("a").accepted();
}

#[test]
fn by_hand_an_unknown_id_is_refused_as_a_dependency() {
    let mut w = World::new();
    w.by(PLANNER).creates(after("a", &["T-9"])).refused(Code::NotFound);
    w.have(task("b"));
    w.by(PLANNER).makes_wait("T1", "T-9").refused(Code::NotFound);
    w.by(PLANNER).does(awaits("T1", "T-9")).accepted();
    assert_eq!(names(&w, "T1"), ["T-9"]);
    let remove =
        Command::Depend { id: "T1".into(), on: "T-9".into(), remove: true, awaits_unknown: false };
    w.by(PLANNER).does(remove).accepted();
    assert_eq!(names(&w, "T1"), [""; 0]);
}

#[test]
fn what_was_waited_for_cannot_wait_for_those_who_wait_for_it() {
    let mut w = World::new();
    w.by(PLANNER).creates(awaiting("a", &["b"])).accepted();
    w.by(PLANNER).creates(awaiting("b", &["a"])).refused(Code::DependencyCycle);
    w.by(PLANNER).creates(awaiting("c", &["c"])).refused(Code::DependencyCycle);
    w.by(PLANNER).creates(awaiting("d", &["a", "e"])).accepted();
    w.by(PLANNER).creates(awaiting("b", &["d"])).refused(Code::DependencyCycle);
    w.by(PLANNER).creates(awaiting("b", &[])).accepted();
    w.by(PLANNER).does(awaits("b", "d")).refused(Code::DependencyCycle);
}

#[test]
fn what_waits_for_a_task_that_arrives_abandoned_is_blocked() {
    let mut w = World::new();
    w.by(PLANNER).creates(awaiting("a", &["b"])).accepted();
    let gone = ImportedTask {
        task: NewTask { id: Some("b".to_owned()), ..task("given up") },
        status: Some(Status::Abandoned),
        source: "elsewhere".to_owned(),
        with_state: true,
        ..ImportedTask::default()
    };
    w.by(PLANNER).does(Command::ImportTask(Box::new(gone))).accepted();
    assert_eq!(w.status("a"), Status::Blocked);
}
