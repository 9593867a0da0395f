//! A focused supervisor: it starts runs, one deep, and ends with evidence that comity knows.

use crate::runs::{change, dispatch, end, new_run, run, take, usd};
use crate::verbs::{task, task_on};
use crate::world::{ANN, Done, Expect, World};
use comity_core::budget::Per;
use comity_core::command::{
    Command, CriterionEvidence, NewBudget, NewRun, NewTask, RunChange, RunEnd, Submission,
};
use comity_core::observed::{RunSeen, TreeSeen};
use comity_core::refusal::{Code, Refusal};
use comity_core::run::{RunError, RunFault, RunState, Stage};
use comity_core::status::Status;
use comity_core::task::Deliverable;
use serde_json::{Map, json};

const LEAD: &str = "focused:R1";

/// A focused supervisor with two criteria at work on T1.
fn leading() -> World {
    let mut w = World::new();
    let criteria = ["Dates are parsed", "The tests pass"].map(str::to_owned).to_vec();
    let context = [("objective".to_owned(), json!(true))].into_iter().collect();
    w.have(NewTask {
        dod: criteria,
        deliverable: Deliverable::None,
        context,
        ..task("parse dates")
    });
    w.by(ANN).does(dispatch(new_run("focused", Some("T1"), Stage::Scout))).accepted();
    w.by(LEAD).does(change("R1", take())).accepted();
    w
}

/// A piece of work that the focused supervisor hands out, in its own words.
fn piece(words: &str, files: &[&str]) -> Command {
    let new_task = Some(Box::new(task_on(words, files)));
    dispatch(NewRun {
        new_task,
        prompt_sha256: words.to_owned(),
        ..new_run("developer", None, Stage::Develop)
    })
}

fn fails(w: &mut World, id: &str) {
    let who = run(w, id).identity.to_string();
    w.by(&who).does(change(id, end(RunState::Failed, Some(RunFault::Crash)))).accepted();
}

fn hands_in(w: &mut World, id: &str) {
    let (who, of) = (run(w, id).identity.to_string(), run(w, id).task.to_string());
    w.by(&who).does(change(id, take())).accepted();
    let ended = RunEnd {
        state: RunState::Succeeded,
        reason: None,
        error: None::<RunError>,
        exit: Some(0),
        head: None,
        wip: None,
        report_kind: None,
        steps: vec![Command::Submit(Submission { id: of, ..Submission::default() })],
        said: Map::new(),
    };
    w.by(&who).does(change(id, RunChange::Progress(Box::default()))).accepted();
    w.by(&who).does(change(id, RunChange::End(Box::new(ended)))).accepted();
}

fn completes(w: &mut World, evidence: &[(&str, &str)]) -> Result<Done, Refusal> {
    let evidence = evidence.iter().map(|(criterion, evidence)| CriterionEvidence {
        criterion: (*criterion).to_owned(),
        evidence: (*evidence).to_owned(),
    });
    let complete =
        RunChange::Complete { evidence: evidence.collect(), summary: Some("done".to_owned()) };
    w.by(LEAD).does(change("R1", complete))
}

#[test]
fn runs_start_runs_one_deep_and_what_they_spend_counts_for_the_objective() {
    let mut w = leading();
    let budget =
        NewBudget { scope: "task:T1".to_owned(), per: Per::Total, usd: Some(usd(5.0)), runs: None };
    w.by(ANN).does(Command::BudgetSet(budget)).accepted();
    w.by(LEAD).does(piece("one", &["a"])).accepted();
    assert_eq!(run(&w, "R2").parent, Some(run(&w, "R1").id));
    assert_eq!(run(&w, "R2").parent_task.as_ref().unwrap().as_str(), "T1");
    assert_eq!(run(&w, "R1").children, [run(&w, "R2").id]);
    let refusal = w.by(LEAD).does(piece("two", &["b"])).refused(Code::BudgetExceeded);
    assert_eq!(refusal.details["scopes"][0]["scope"], json!("task:T1"));
    w.by("developer:R2").does(piece("three", &["c"])).refused(Code::SpawnLimit);
}

#[test]
fn no_prompt_that_failed_is_sent_out_twice() {
    let mut w = leading();
    w.by(LEAD).does(piece("mend it", &["a"])).accepted();
    fails(&mut w, "R2");
    let refusal = w.by(LEAD).does(piece("mend it", &["b"])).refused(Code::LoopGuard);
    assert_eq!(refusal.details["run"], json!("R2"));
    w.by(LEAD).does(piece("mend it, the parser panics at noon", &["a"])).accepted();
}

#[test]
fn after_three_failures_the_same_agent_does_not_get_the_same_files() {
    let mut w = leading();
    for number in 2..=4 {
        w.by(LEAD).does(piece(&format!("try {number}"), &["b", "a"])).accepted();
        fails(&mut w, &format!("R{number}"));
    }
    let refusal = w.by(LEAD).does(piece("try 5", &["a", "b"])).refused(Code::LoopGuard);
    assert_eq!((&refusal.details["count"], &refusal.details["limit"]), (&json!(3), &json!(3)));
    w.by(LEAD).does(piece("try 5", &["a"])).accepted();
    let Command::RunDispatch(mut other) = piece("try 6", &["b", "a"]) else { unreachable!() };
    other.agent = "fixer".to_owned();
    w.by(LEAD).does(Command::RunDispatch(other)).accepted();
}

#[test]
fn an_objective_is_reached_only_with_evidence_that_comity_knows_for_every_criterion() {
    let mut w = leading();
    let refusal = completes(&mut w, &[]).refused(Code::EvidenceMissing);
    assert_eq!(
        refusal.details["criteria"],
        json!([
            {"criterion": "Dates are parsed", "why": "no evidence was given"},
            {"criterion": "The tests pass", "why": "no evidence was given"},
        ])
    );
    w.by(LEAD).does(piece("one", &["a"])).accepted();
    let said = [("Dates are parsed", "R2"), ("The tests pass", "the agent said so")];
    let refusal = completes(&mut w, &said).refused(Code::EvidenceMissing);
    assert_eq!(refusal.details["criteria"][0]["why"], json!("R2 is queued"));
    assert_eq!(
        refusal.details["criteria"][1]["why"],
        json!("comity knows nothing of \"the agent said so\"")
    );
    hands_in(&mut w, "R2");
    let said = [("dates are parsed", "run R2."), ("The tests pass", "(R2)")];
    completes(&mut w, &said).accepted();
    assert_eq!(w.status("T1"), Status::Done);
    w.by(LEAD).does(change("R1", RunChange::Progress(Box::default()))).accepted();
    w.by(LEAD).does(change("R1", end(RunState::Succeeded, None))).accepted();
    assert_eq!(run(&w, "R1").state, RunState::Succeeded);
}

#[test]
fn a_gate_is_evidence_when_comity_saw_it_pass_and_not_when_an_agent_says_so() {
    let mut w = leading();
    w.by(LEAD).does(piece("one", &["a"])).accepted();
    w.by("developer:R2").does(change("R2", take())).accepted();
    let record = |pass| Command::GateRecord {
        id: "T2".to_owned(),
        gate: "tests".to_owned(),
        pass,
        report: None,
        commit: None,
        new: true,
    };
    w.by("developer:R2").does(record(true)).accepted();
    let said = [("Dates are parsed", "T2:tests"), ("The tests pass", "gate:tests")];
    let refusal = completes(&mut w, &said).refused(Code::EvidenceMissing);
    let why = refusal.details["criteria"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("the gate tests of T2 is met, as far as comity saw"), "{why}");
    w.by("developer:R2")
        .does_seeing(record(true), |seen| {
            let tree = TreeSeen::Clean;
            seen.run = Some(RunSeen { is_other_command: false, tree, report: None });
        })
        .accepted();
    completes(&mut w, &said).accepted();
}

#[test]
fn whoever_ends_without_completing_or_asking_has_failed() {
    let mut w = leading();
    w.by(LEAD).does(change("R1", RunChange::Progress(Box::default()))).accepted();
    w.by(LEAD).does(change("R1", end(RunState::Succeeded, None))).accepted();
    assert_eq!(run(&w, "R1").state, RunState::Failed);
    let mut w = leading();
    w.by(LEAD).does(change("R1", RunChange::Progress(Box::default()))).accepted();
    let block = Command::Block {
        id: "T1".to_owned(),
        needs: Some("a decision".to_owned()),
        questions: vec!["Which format?".to_owned()],
        retry_after: None,
        reason: None,
    };
    w.by(LEAD).does(block).accepted();
    w.by(LEAD).does(change("R1", end(RunState::Succeeded, None))).accepted();
    assert_eq!((run(&w, "R1").state, w.status("T1")), (RunState::Succeeded, Status::Blocked));
}
