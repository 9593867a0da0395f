//! The short form of the simulation; `comity-sim` runs the long one.
#![expect(clippy::panic, reason = "a failed test is a panic")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests run real processes and read what they are told by the environment"
)]

use comity_sim::{Beside, FleetPlan, Plan, run, run_fleet, run_shared};
use comity_store::test_server::empty_store;

/// Seeds that once found something stay here for good.
const KEPT_SEEDS: &str = include_str!("../seeds.txt");

fn hold(plan: &Plan) {
    let report = run(plan).unwrap_or_else(|found| panic!("{plan:?}: {found}"));
    println!("{plan:?}: {report:?}");
    assert!(report.accepted > plan.steps / 4, "the simulation does too little: {report:?}");
}

fn times() -> u64 {
    if std::env::var_os("COMITY_LONG").is_some() { 20 } else { 1 }
}

#[test]
fn hundreds_of_agents_break_no_property_over_the_model() {
    for seed in 1..=6 * times() {
        hold(&Plan { seed, agents: 300, steps: 700, beside: Beside::Nothing });
    }
}

#[test]
fn a_fleet_doubles_nothing_holds_nothing_and_leaves_nothing_undone() {
    for seed in 1..=2 * times() {
        let plan = FleetPlan { seed, beats: 120, tickets: 12 };
        let report = run_fleet(&plan).unwrap_or_else(|found| panic!("{plan:?}: {found}"));
        println!("{plan:?}: {report:?}");
        assert!(report.done > 0 && report.runs > 20 && report.seats > 1, "{plan:?}: {report:?}");
    }
}

#[test]
fn the_real_store_answers_exactly_as_the_model() {
    for seed in 100..100 + 2 * times() {
        hold(&Plan { seed, agents: 200, steps: 500, beside: Beside::Sqlite });
    }
}

#[test]
fn threads_that_share_a_service_break_no_property() {
    for seed in 500..500 + times() {
        let plan = Plan { seed, agents: 60, steps: 400, beside: Beside::Sqlite };
        let report = run_shared(&plan, 6).unwrap_or_else(|found| panic!("{plan:?}: {found}"));
        println!("{plan:?}: {report:?}");
        assert_eq!(report.commands, 6 * plan.steps);
        assert!(report.accepted > report.commands / 4, "too little is done: {report:?}");
    }
}

#[test]
fn postgresql_answers_exactly_as_the_model() {
    for seed in 300..300 + times() {
        hold(&Plan { seed, agents: 100, steps: 150, beside: Beside::Postgres(empty_store()) });
    }
}

#[test]
fn every_seed_that_ever_failed_holds_now() {
    for line in KEPT_SEEDS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut numbers = line.split_whitespace();
        let mut next = || numbers.next().unwrap().parse::<u64>().unwrap();
        let (seed, agents, steps, sqlite) = (next(), next(), next(), next());
        let agents = usize::try_from(agents).unwrap();
        let beside = if sqlite == 1 { Beside::Sqlite } else { Beside::Nothing };
        hold(&Plan { seed, agents, steps, beside });
    }
}
