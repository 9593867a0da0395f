//! Each effect once, whatever is lost on the way: answers, processes, patience of GitHub.

use crate::{field, is_long};
use comity_standin::{AGENT, ANN, Engine, Fault, Field, On, Rule, operations};
use std::collections::BTreeMap;
use std::time::Duration;

/// What an agent does with a task, again and again; each step is said on GitHub.
fn step(engine: &Engine, task: &str, at: usize) {
    let done = match at % 4 {
        0 | 2 => engine.call(AGENT, &["task", "claim", task, "--start"]),
        1 => engine.call(AGENT, &["task", "release", task, "-m", "a pause"]),
        _ => {
            let done = engine.call(
                AGENT,
                &["task", "block", task, "--needs", "an answer", "--question", "Which one?"],
            );
            assert_eq!(done.exit, 0, "{done:?}");
            engine.call(ANN, &["task", "answer", task, "The first"])
        }
    };
    assert_eq!(done.exit, 0, "{at}: {done:?}");
}

/// The operations that were said under each issue, by kind, in order.
fn said(field: &Field, issues: u64) -> BTreeMap<u64, Vec<String>> {
    let kind = |operation: String| operation.rsplit('/').next().unwrap().to_owned();
    let of = |issue: u64| {
        let all: Vec<String> = field.said(issue).iter().flat_map(|text| operations(text)).collect();
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(all.len(), once.len(), "twice under #{issue}: {all:?}");
        (issue, all.into_iter().map(kind).collect())
    };
    (1..=issues).map(of).collect()
}

fn run(steps: usize, goes_wrong: bool) -> Option<BTreeMap<u64, Vec<String>>> {
    const ISSUES: u64 = 4;
    let field = field("ace", "")?;
    let engine = field.engine("one");
    for number in 1..=ISSUES {
        field.open("ann", &format!("Issue {number}"), "Do it.", &["agent:ready"]);
    }
    engine.settle();
    if goes_wrong {
        let faults = vec![
            Fault::Lost,
            Fault::After(502),
            Fault::Before(500),
            Fault::Secondary(Some(1)),
            Fault::After(500),
            Fault::Refused,
        ];
        field.hub.fault(Rule::every(5, On::Writes, faults));
        let fails = vec![Fault::Before(503), Fault::Primary(1)];
        field.hub.fault(Rule::every(41, On::Reads, fails));
        // Lists of issues may lag. Lists of comments may, too, but not for as long as comity waits, which is no time here.
        let lags = On::Call("GET", "/issues?".to_owned());
        field.hub.fault(Rule::every(7, lags, vec![Fault::Stale]));
    }
    for at in 0..steps {
        let (round, issue) = (at / 4, at as u64 % ISSUES + 1);
        step(&engine, &format!("T{issue}"), round);
        if goes_wrong && at % 8 == 7 {
            // A pass that is killed in the middle, wherever that is.
            let mut pass = engine.start_sync();
            std::thread::sleep(Duration::from_millis(40 + (at as u64 * 37) % 400));
            pass.kill().unwrap();
            pass.wait().unwrap();
        } else if at % 3 == 2 {
            engine.call(ANN, &["github", "sync"]);
        }
    }
    engine.settle();
    field.hub.calm();
    engine.settle();
    let sync = engine.sync();
    assert_eq!((&sync["writes"], &sync["dead"]), (&0.into(), &0.into()), "{sync}");
    for number in 1..=ISSUES {
        assert_eq!(field.labels(number).len(), 1, "one state word");
    }
    Some(said(&field, ISSUES))
}

#[test]
fn each_effect_happens_once_under_lost_answers_limits_and_kills() {
    let steps = if is_long() { 1000 } else { 48 };
    let Some(calm) = run(steps, false) else { return };
    let stormy = run(steps, true).unwrap();
    assert_eq!(stormy, calm, "the same is said, in the same order");
}

#[test]
fn both_rate_limits_are_waited_for_and_cost_no_try() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    field.hub.fault(Rule::next(On::Writes, Fault::Secondary(Some(3600))));
    field.hub.forget();
    let sync = engine.sync();
    assert!(sync["pending"].as_u64().unwrap() > 0, "{sync}");
    let before = field.hub.log().iter().filter(|entry| entry.is_write()).count();
    assert_eq!(before, 1, "nothing is tried after GitHub asked for a pause");
    let calls = field.hub.log().len();
    let again = engine.call(ANN, &["github", "sync"]);
    assert_eq!((again.exit, again.code().as_str()), (5, "github-unreachable"), "{again:?}");
    assert_eq!(field.hub.log().len(), calls, "nor is anything asked in the next pass");
    let status = engine.json(ANN, &["github", "status"])["github"].clone();
    assert!(status["pending"].as_u64().unwrap() > 0 && status["dead"] == 0, "{status}");
}

#[test]
fn a_comment_that_lists_show_late_is_not_said_twice() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    field.hub.fault(Rule::next(On::Call("POST", "/issues/1/comments".to_owned()), Fault::Lost));
    for who in [AGENT, "agent.impl.2"] {
        engine.json(who, &["task", "claim", "T1", "--start"]);
        engine.json(who, &["task", "release", "T1", "-m", "later"]);
        engine.settle();
        let list = On::Call("GET", "/issues/1/comments".to_owned());
        field.hub.fault(Rule::next(list, Fault::Stale));
        let post = On::Call("POST", "/issues/1/comments".to_owned());
        field.hub.fault(Rule::next(post, Fault::Lost));
    }
    said(&field, 1);
}

#[test]
fn a_mark_beyond_a_hundred_comments_is_found() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    for number in 0..105 {
        field.say("eve", 1, &format!("Me too, {number}."));
    }
    engine.settle();
    field.hub.fault(Rule::next(On::Call("POST", "/issues/1/comments".to_owned()), Fault::Lost));
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine.settle();
    assert_eq!(said(&field, 1)[&1], ["claim"]);
}

#[test]
fn a_token_that_github_does_not_know_is_said_and_nothing_happens() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    let head = engine.head();
    let mut command = engine.comity(ANN, &["github", "sync"]);
    let done = comity_standin::Done::from(command.env("GH_TOKEN", "gho_nobody").output().unwrap());
    assert_eq!((done.code().as_str(), done.exit), ("github-unauthorized", 5));
    assert_eq!(engine.head(), head);
    field.cut_off();
    let done = engine.call(ANN, &["github", "sync"]);
    assert_eq!(
        (done.code().as_str(), done.exit),
        ("github-unreachable", 5),
        "this is not \"nothing to do\""
    );
}

#[test]
fn a_pass_that_fails_in_the_middle_loses_nothing() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    for number in 1..=3 {
        field.open("ann", &format!("Issue {number}"), "Do it.", &["agent:ready"]);
    }
    engine.settle();
    for number in 1..=3 {
        field.label("ann", number, "agent:blocked");
    }
    let broken = Rule::always(On::Call("GET", "/issues/2/events".to_owned()), Fault::Before(503));
    field.hub.fault(broken);
    assert_eq!(engine.call(ANN, &["github", "sync"]).exit, 5);
    field.hub.calm();
    engine.settle();
    let statuses: Vec<String> =
        (1..=3).map(|number| engine.status(&format!("T{number}"))).collect();
    assert_eq!(statuses, ["blocked", "blocked", "blocked"]);
}

#[test]
fn a_change_on_the_second_page_is_seen() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    engine.settle();
    for number in 1..=130 {
        field.open("ann", &format!("Issue {number}"), "Later.", &[]);
    }
    let last = field.open("ann", "The last", "Do it.", &[]);
    engine.settle();
    engine.settle();
    field.label("ann", last, "agent:ready");
    engine.settle();
    assert_eq!(engine.tasks().len(), 1);
}
