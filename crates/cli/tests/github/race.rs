//! Engines without a shared store: one holder for one issue.

use crate::{field, is_long};
use comity_standin::{AGENT, ANN, Engine};
use std::process::Stdio;
use std::time::Duration;

fn claim_all(engines: &[&Engine]) -> Vec<(usize, String)> {
    let start = |engine: &&Engine| {
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
        // Eight engines share one account; an hour has its calls for 35 rounds.
        field.hub.quota("comity-bot", 5_000);
        let winner = &engines[only_winner(&engines, round)];
        // Half its time is over: it renews, and everybody else is still too early.
        if round % 3 == 1 {
            field.hub.later(Duration::from_secs(2 * 3600));
            winner.json(AGENT, &["task", "block", "T1", "--needs", "a word"]);
            winner.settle();
            winner.json(AGENT, &["task", "start", "T1"]);
            winner.settle();
            field.hub.later(Duration::from_secs(3 * 3600));
            let others: Vec<&Engine> =
                engines.iter().filter(|engine| engine.root != winner.root).collect();
            let others = claim_all(&others);
            let winners = others.iter().filter(|(_, what)| what == "won").count();
            assert!(winners == 0, "round {round}: a renewed claim is taken over: {others:?}");
        }
        // Nobody renews: one of the others takes over, and the first holder notices.
        if round % 3 == 2 {
            field.hub.later(Duration::from_secs(5 * 3600));
            let others: Vec<&Engine> =
                engines.iter().filter(|engine| engine.root != winner.root).collect();
            let second = others[only_winner_of(&others, round)];
            let late = winner.call(AGENT, &["task", "submit", "T1", "--empty", "-m", "late"]);
            assert_eq!((late.exit, late.code().as_str()), (3, "stale-fence"), "{late:?}");
            let pass = winner.sync();
            assert!(pass["findings"].to_string().contains("held-elsewhere"), "{pass}");
            assert_eq!(pass["writes"], 0, "nothing is written where another engine works: {pass}");
            let blockers = winner.task("T1")["blockers"].to_string();
            assert!(blockers.contains("held by agent.impl.1 of engine"), "{blockers}");
            winner.json(AGENT, &["task", "release", "T1", "-m", "it was taken over"]);
            give_back(second);
        } else {
            give_back(winner);
        }
        for engine in &engines {
            engine.settle();
        }
    }
    assert_eq!(engines[0].call(ANN, &["github", "status"]).exit, 0);
}

fn only_winner(engines: &[Engine], round: usize) -> usize {
    only_winner_of(&engines.iter().collect::<Vec<_>>(), round)
}

fn only_winner_of(engines: &[&Engine], round: usize) -> usize {
    let done = claim_all(engines);
    let winners: Vec<usize> =
        done.iter().filter(|(_, what)| what == "won").map(|(at, _)| *at).collect();
    assert_eq!(winners.len(), 1, "round {round}: {done:?}");
    let lost = |what: &str| ["won", "claimed-elsewhere"].contains(&what);
    assert!(done.iter().all(|(_, what)| lost(what)), "{done:?}");
    winners[0]
}

fn give_back(engine: &Engine) {
    engine.json(AGENT, &["task", "release", "T1", "-m", "the next round"]);
    engine.settle();
}

#[test]
fn a_claim_without_a_task_takes_the_next_one_and_the_place_is_agreed_on() {
    let Some(field) = field("ace", "claims = \"refs\"") else { return };
    let engines: Vec<Engine> = (0..2).map(|at| field.engine(&format!("e{at}"))).collect();
    engines[0].json(ANN, &["github", "setup"]);
    for title in ["First", "Second"] {
        field.open("ann", title, "Do it.", &["agent:ready"]);
    }
    for engine in &engines {
        engine.settle();
    }
    let titles: Vec<String> = engines
        .iter()
        .map(|engine| {
            engine.json(AGENT, &["task", "claim", "--start"])["task"]["title"].to_string()
        })
        .collect();
    assert_eq!(titles, ["\"First\"", "\"Second\""]);
    let none = engines[1].call("agent.impl.2", &["task", "claim"]);
    assert_eq!((none.exit, none.code().as_str()), (3, "claimed-elsewhere"), "{none:?}");
    engines[0].git(&["switch", "--quiet", "-c", "agent/1-first"]);
    field.cut_off();
    let away = engines[0].call(AGENT, &["task", "submit", "T1", "--empty", "-m", "done"]);
    assert_eq!((away.exit, away.code().as_str()), (5, "github-unreachable"), "{away:?}");
    field.hub.calm();
    engines[0].json(AGENT, &["task", "submit", "T1", "--empty", "-m", "done"]);
}
