//! `task undo`: the last own command on a task, taken back by a new one.

use crate::properties::any_commands;
use crate::verbs::task;
use crate::world::{ANN, Expect, IMPL, OTHER, PLANNER, World};
use comity_core::command::{Command, Request, Submission, TaskVerb};
use comity_core::event::Event;
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::undo::{Act, undoing};
use proptest::prelude::*;

/// The events of a task, as the engine hands them to the rule.
fn acts(w: &World, id: &str) -> Vec<Act> {
    let of_task = w
        .log
        .iter()
        .filter(|placed| placed.draft.task.as_ref().is_some_and(|task| task.as_str() == id));
    of_task
        .map(|placed| Act { by: placed.draft.agent.clone(), event: placed.draft.event.clone() })
        .collect()
}

/// The command that an undo of an agent is.
fn undo(w: &World, id: &str, who: &str) -> Result<Command, Refusal> {
    let task = w.task(id).clone();
    let verb = undoing(&task, &acts(w, id), &AgentId::parse(who).unwrap())?;
    Ok(Command::Undo { id: id.to_owned(), version: task.version, verb })
}

#[track_caller]
fn undone(w: &mut World, who: &'static str, to: Status) {
    let command = undo(w, "T1", who).unwrap();
    w.by(who).does(command).accepted();
    assert_eq!(w.status("T1"), to);
}

#[test]
fn a_claim_a_start_and_a_block_are_taken_back_by_who_made_them() {
    let mut w = World::new();
    w.by(ANN).creates(task("work")).accepted();
    w.by(IMPL).claims("T1").accepted();
    undone(&mut w, IMPL, Status::Queued);
    w.by(IMPL).starts("T1").accepted();
    undone(&mut w, IMPL, Status::Queued);
    w.by(IMPL).starts("T1").accepted();
    w.by(IMPL).blocks("T1", "a key").accepted();
    undone(&mut w, IMPL, Status::Queued);
    assert_eq!(w.task("T1").attempts, 0);
}

#[test]
fn a_person_takes_an_end_back_and_an_agent_does_not() {
    let mut w = World::new();
    w.by(ANN).creates(task("work")).accepted();
    w.by(ANN).does(TaskVerb::Abandon.on("T1", None)).accepted();
    undone(&mut w, ANN, Status::Queued);
    w.by(PLANNER).does(TaskVerb::Abandon.on("T1", None)).accepted();
    assert_eq!(undo(&w, "T1", PLANNER).unwrap_err().code, Code::InvalidTransition);
    let refusal = undo(&w, "T1", ANN).unwrap_err();
    assert_eq!(refusal.details["by"], PLANNER, "another one's step");
}

#[test]
fn nothing_is_taken_back_after_somebody_else_acted_or_where_no_verb_leads_back() {
    let mut w = World::new();
    w.by(ANN).creates(task("work")).accepted();
    w.by(IMPL).claims("T1").accepted();
    let early = undo(&w, "T1", IMPL).unwrap();
    let note = Command::Note {
        kind: "progress".to_owned(),
        text: "mine".to_owned(),
        task: Some("T1".to_owned()),
    };
    w.by(IMPL).does(note.clone()).accepted();
    undo(&w, "T1", IMPL).expect("own notes do not matter");
    w.by(OTHER).does(note).accepted();
    assert_eq!(undo(&w, "T1", IMPL).unwrap_err().details["by"], OTHER);
    w.by(IMPL).starts("T1").accepted();
    w.by(IMPL).does(early).refused(Code::VersionMismatch);
    let submit = Command::Submit(Submission { id: "T1".to_owned(), ..Submission::default() });
    w.by(IMPL).does(submit).accepted();
    assert_eq!(undo(&w, "T1", IMPL).unwrap_err().code, Code::InvalidTransition);
}

#[test]
fn a_task_that_gave_up_trying_is_not_freed_by_an_undo() {
    let mut w = World::new();
    w.policy.max_gate_failures = 1;
    w.have_one(Status::InProgress);
    w.by(IMPL).records("T1", "tests", false).accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
    undo(&w, "T1", IMPL).unwrap_err();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn an_undo_leads_only_where_the_table_allows_and_uses_up_no_attempt(steps in any_commands(40)) {
        let mut world = World::new();
        for step in &steps {
            world.pass(step.wait);
            let request = step.request(&world);
            if world.run(&request).is_err() {
                continue;
            }
            let Some(id) = world.log.last().and_then(|placed| placed.draft.task.clone()) else {
                continue;
            };
            let mut trial = world.clone();
            let before = trial.task(id.as_str()).clone();
            let Ok(command) = undo(&trial, id.as_str(), request.actor.as_str()) else { continue };
            let undoing = Request { command, fence: None, ..request };
            let events = trial.log.len();
            if trial.run(&undoing).is_err() {
                continue;
            }
            let after = trial.task(id.as_str());
            prop_assert!(before.status.may_become(after.status), "{} {}", before.status, after.status);
            prop_assert!(after.attempts <= before.attempts);
            let uses = |event: &Event| matches!(event, Event::StatusChanged(c) if c.uses_attempt);
            prop_assert!(!trial.log[events..].iter().any(|placed| uses(&placed.draft.event)));
        }
    }
}
