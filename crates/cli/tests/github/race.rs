//! Engines without a shared store: one holder for one issue.

use crate::{field, is_long};
use comity_standin::{AGENT, ANN, Engine};
use std::process::Stdio;
use std::time::Duration;

fn claim_all(engines: &[Engine]) -> Vec<(usize, String)> {
    let start = |engine: &Engine| {
        let mut command = engine.comity(AGENT, &["task", "claim", "T1", "--start"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let calls: Vec<_> = engines.iter().map(start).collect();
    let done = calls
        .into_iter()
        .map(|child| comity_standin::Done::from(child.wait_with_output().unwrap()));
    done.enumerate()
        .map(|(at, done)| (at, if done.exit == 0 { "won".to_owned() } else { done.code() }))
        .collect()
}

#[test]
fn of_eight_engines_one_holds_the_issue() {
    let rounds = if is_long() { 100 } else { 3 };
    let Some(field) = field("ace", "claims = \"refs\"") else { return };
    let engines: Vec<Engine> = (0..8).map(|at| field.engine(&format!("e{at}"))).collect();
    field.open("ann", "Dates", "Do it.", &["agent:ready"]);
    for engine in &engines {
        engine.settle();
    }
    for round in 0..rounds {
        let done = claim_all(&engines);
        let winners: Vec<usize> =
            done.iter().filter(|(_, what)| what == "won").map(|(at, _)| *at).collect();
        assert_eq!(winners.len(), 1, "round {round}: {done:?}");
        assert!(
            done.iter().all(|(_, what)| what == "won" || what == "claimed-elsewhere"),
            "{done:?}"
        );
        engines[winners[0]].json(AGENT, &["task", "release", "T1", "-m", "the next round"]);
        engines[winners[0]].settle();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(engines[0].call(ANN, &["github", "status"]).exit, 0);
}
