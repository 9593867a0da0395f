//! What becomes of a branch when its work was handed in, and when it lost commits of a run.

use crate::runs::{dispatch, new_run};
use crate::table::{
    developing, done, fails, reports, small, steps, steps_of, take_step, view, works,
};
use crate::world::{ANN, CRITIC, Expect, World};
use comity_core::command::{Command, NewRun, Submission};
use comity_core::refusal::Code;
use comity_core::run::{Run, RunFault, Stage};
use comity_core::supervise::{Deed, HandOver, Settle, Step, hand_over};
use serde_json::{Map, Value, json};

fn run(w: &World, id: &str) -> Run {
    w.state.runs.values().find(|run| run.id.to_string() == id).unwrap().clone()
}

fn rules(w: &World) -> Vec<String> {
    steps(w).into_iter().map(|step| step.rule).collect()
}

fn meta(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn a_branch_is_pushed_once_a_round_and_before_anybody_looks_at_its_checks() {
    let mut w = done(json!({"status": "DONE", "recommendation": "pr"}));
    assert_eq!(rules(&w), ["branch.push"], "the review waits");
    let step = steps(&w).remove(0);
    take_step(&mut w, &step);
    assert_eq!(rules(&w), ["ci.pass"]);
    assert_eq!(w.task("T1").pr.as_deref(), Some("https://x/7"));
    assert_eq!(run(&w, "R1").pr.as_deref(), Some("https://x/7"));
    w.by(CRITIC).requests_changes("T1").accepted();
    let step = steps(&w).remove(0);
    take_step(&mut w, &step);
    assert_eq!(run(&w, "R2").pr.as_deref(), Some("https://x/7"), "it is carried on");
    works(&mut w, "developer:R2");
    let submit = Command::Submit(Submission { id: "T1".to_owned(), ..Submission::default() });
    reports(
        &mut w,
        "developer:R2",
        json!({"status": "DONE", "recommendation": "pr"}),
        vec![submit],
    );
    assert_eq!(rules(&w), ["branch.push"], "what is new is pushed, too");
}

#[test]
fn how_far_work_goes_is_what_its_report_recommends_within_the_strategy() {
    for (strategy, advice, pushed) in [
        (None, Some("pr"), true),
        (None, Some("push"), true),
        (None, None, false),
        (Some("branch"), Some("pr"), false),
        (Some("pr"), None, true),
        (Some("pr"), Some("push"), true),
    ] {
        let mut w = World::new();
        w.have(small());
        let meta = strategy.map(|word| meta(&json!({"gitStrategy": word}))).unwrap_or_default();
        let new = NewRun { meta, ..new_run("developer", Some("T1"), Stage::Develop) };
        w.by(ANN).does(dispatch(new)).accepted();
        works(&mut w, "developer:R1");
        let submit = Command::Submit(Submission { id: "T1".to_owned(), ..Submission::default() });
        let said = json!({"status": "DONE", "recommendation": advice});
        reports(&mut w, "developer:R1", said, vec![submit]);
        assert_eq!(rules(&w)[0] == "branch.push", pushed, "{strategy:?} {advice:?}");
    }
}

#[test]
fn only_files_that_need_no_pull_request_are_pushed_without_one() {
    let ok = ["**/*.md", "docs/**"].map(str::to_owned);
    let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let of = |advice: &str, names: &[&str]| {
        let w = done(json!({"status": "DONE", "recommendation": advice}));
        hand_over(&run(&w, "R1"), &files(names), &ok)
    };
    assert_eq!(of("push", &["README.md", "docs/a.png"]), HandOver::Push);
    assert_eq!(of("push", &["README.md", "src/a.rs"]), HandOver::PullRequest);
    assert_eq!(of("push", &[]), HandOver::PullRequest);
    assert_eq!(of("pr", &["README.md"]), HandOver::PullRequest);
}

/// The step that follows the answer to a branch that lost commits.
fn answered(answer: &str) -> Step {
    let mut w = developing(small());
    fails(&mut w, "developer:R1", RunFault::Crash);
    let mut v = view(&w);
    v.seen.diverged.extend(w.state.runs.values().map(|run| run.id));
    let asked = steps_of(&w, &v).remove(0);
    take_step(&mut w, &asked);
    let question = "T1: a commit of R1 is not in its branch any more. What now?";
    assert_eq!(w.decision("D1").question, question);
    w.by(ANN).answers("D1", answer).accepted();
    let mut v = view(&w);
    v.seen.diverged.extend(w.state.runs.values().map(|run| run.id));
    steps_of(&w, &v).into_iter().find(|step| step.task.is_some()).unwrap()
}

#[test]
fn an_answer_about_a_diverged_branch_settles_it_before_the_next_run() {
    let settle = |answer: &str| match answered(answer).deed {
        Deed::Dispatch(new) => (new.settle, new.resumed_from.map(|run| run.to_string())),
        other => panic!("{other:?}"),
    };
    let id = run(&developing(small()), "R1").id;
    assert_eq!(settle("restore"), (Some(Settle::Restore(id)), Some("R1".to_owned())));
    assert_eq!(settle("take-branch"), (Some(Settle::TakeBranch(id)), None));
    assert!(matches!(answered("abandon").deed, Deed::Write(_)));
}

#[test]
fn the_facts_of_a_run_name_its_ticket_and_stage_and_are_bounded() {
    let mut w = World::new();
    w.have(small());
    let new = |value: Value| NewRun {
        meta: meta(&value),
        ..new_run("developer", Some("T1"), Stage::Develop)
    };
    let deep = json!({"a": [[[[[1]]]]]});
    w.by(ANN).does(dispatch(new(deep))).refused(Code::InvalidInput);
    let long = json!({"a": "x".repeat(17 * 1024)});
    w.by(ANN).does(dispatch(new(long))).refused(Code::InvalidInput);
    w.by(ANN).does(dispatch(new(json!({"stage": "mine", "own": [[[1]]]})))).accepted();
    let meta = run(&w, "R1").meta;
    assert_eq!(Value::Object(meta), json!({"ticketId": "T1", "stage": "mine", "own": [[[1]]]}));
}

#[test]
fn what_a_person_sends_back_for_good_is_remembered_once() {
    for (reason, text) in [
        ("--remember name units in every field", Some("name units in every field")),
        ("Never use floats for money", Some("Never use floats for money")),
        ("the tests are missing", None),
    ] {
        let mut w = done(json!({"status": "DONE"}));
        let changes = comity_core::command::TaskVerb::RequestChanges;
        w.by(ANN).does(changes.on("T1".to_owned(), Some(reason.to_owned()))).accepted();
        let found = steps(&w).into_iter().find(|step| step.rule == "memory.feedback");
        assert_eq!(found.is_some(), text.is_some(), "{reason}");
        if let Some(step) = found {
            take_step(&mut w, &step);
            let memory = w.state.memories.values().next().unwrap();
            assert_eq!(Some(memory.text.as_str()), text);
            assert!(!rules(&w).contains(&"memory.feedback".to_owned()));
            assert!(!w.task("T1").feedback.as_ref().unwrap().words().contains("--remember"));
        }
    }
}
