//! Several processes, and several engines, at one repository.

use crate::{field, field_of, is_long};
use comity_standin::{AGENT, ANN, Fault, On, Rule, Seed};
use serde_json::json;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn two_live_bridges_past_a_minute_say_everything_once() {
    if !is_long() {
        return;
    }
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    field.hub.fault(Rule::always(On::Writes, Fault::Slow(Duration::from_secs(25))));
    let mut first = engine.start_sync();
    std::thread::sleep(Duration::from_secs(65));
    let second = engine.call(ANN, &["github", "sync"]);
    assert_eq!((second.exit, second.code().as_str()), (3, "sync-busy"), "{second:?}");
    assert!(first.wait().unwrap().success());
    field.hub.calm();
    engine.settle();
    assert_eq!(field.said(1).len(), 1, "{:?}", field.said(1));
}

#[test]
fn an_engine_that_finds_another_one_at_work_writes_nothing_until_somebody_resumes_the_issue() {
    let Some(field) = field("ace", "") else { return };
    let engines = ["one", "two"].map(|name| field.engine(name));
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engines.iter().for_each(|engine| drop(engine.settle()));
    engines[0].json(AGENT, &["task", "claim", "T1", "--start"]);
    engines[0].settle();
    let sync = engines[1].sync();
    assert!(sync["findings"].to_string().contains("other-engine"), "{sync}");
    engines[1].json(ANN, &["task", "block", "T1", "--needs", "a word"]);
    for _ in 0..2 {
        let sync = engines[1].sync();
        assert!(sync["findings"].to_string().contains("other-engine"), "{sync}");
        assert_eq!(
            (&sync["writes"], &sync["paused"]),
            (&json!(0), &json!(["ann/tool#1"])),
            "{sync}"
        );
    }
    assert_eq!(field.labels(1), ["agent:in-progress"]);
    engines[1].json(ANN, &["github", "resume", "1"]);
    engines[1].settle();
    assert_eq!(field.labels(1), ["agent:blocked"]);
}

#[test]
fn what_happens_here_is_on_github_within_seconds() {
    // Sent within two seconds, where the machine has nothing else to do; this one may have.
    const MOST: Duration = Duration::from_secs(20);
    let Some(field) = field("ace", "poll = \"1h\"") else { return };
    let engine = field.engine("one");
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    engine.settle();
    let mut watch = engine.comity(ANN, &["github", "sync", "--watch"]);
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Its first pass looks at everything; from then on it is woken by the store alone.
    let status = || engine.json(ANN, &["github", "status"])["github"]["last_ok"].to_string();
    let (before, end) = (status(), Instant::now() + MOST);
    while status() == before {
        assert!(Instant::now() < end, "it does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    let begun = Instant::now();
    while field.said(1).is_empty() {
        assert!(begun.elapsed() < MOST, "nothing is said");
        std::thread::sleep(Duration::from_millis(50));
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(field.labels(1), ["agent:in-progress"]);
}

#[test]
fn a_server_of_a_company_has_its_api_below_a_path() {
    let seed = Seed { base: "/api/v3".to_owned(), ..Seed::default() };
    let Some(field) = field_of("ace", "", &seed) else { return };
    let engine = field.engine("one");
    for number in 1..=120 {
        field.open("ann", &format!("Issue {number}"), "Do it.", &["agent:ready"]);
    }
    engine.settle();
    assert_eq!(engine.status("T120"), "queued", "the second page is there, too");
    engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    engine.json(AGENT, &["task", "block", "T1", "--needs", "an answer", "--question", "Which?"]);
    engine.settle();
    field.say("ann", 1, "ANSWER:\n\n- This one");
    engine.settle();
    assert_ne!(engine.status("T1"), "blocked");
    // What was asked is held against the document of such a server when the test ends.
}
