//! Runs the simulation from the command line: `comity-sim [--seed N] [--seeds N] [--agents N] [--steps N] [--sqlite | --postgres URL]`,
//! or that of a fleet with its supervisors: `comity-sim --fleet [--seed N] [--seeds N] [--beats N] [--tickets N]`.

use comity_sim::{Beside, FleetPlan, Plan, run, run_fleet};
use std::process::ExitCode;

fn number(arguments: &[String], name: &str, default: u64) -> u64 {
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|at| arguments.get(at + 1)).and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Simulates a fleet for each seed.
fn fleet(arguments: &[String]) -> ExitCode {
    let (beats, tickets) =
        (number(arguments, "--beats", 2_000), number(arguments, "--tickets", 200));
    let first = number(arguments, "--seed", 1);
    let (mut hours, mut runs, mut done, mut violations) = (0.0, 0, 0, 0);
    for seed in first..first + number(arguments, "--seeds", 1) {
        match run_fleet(&FleetPlan { seed, beats, tickets }) {
            Ok(report) => {
                hours += report.agent_hours;
                runs += report.runs;
                done += report.done;
            }
            Err(found) => {
                violations += 1;
                println!("violation: {found}");
                println!(
                    "replay: comity-sim --fleet --seed {seed} --beats {beats} --tickets {tickets}"
                );
            }
        }
    }
    println!(
        "{hours:.0} simulated agent-hours, {runs} runs, {done} tasks done, {violations} violations"
    );
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--fleet") {
        return fleet(&arguments);
    }
    let first = number(&arguments, "--seed", 1);
    let server = arguments.iter().position(|argument| argument == "--postgres");
    let server = server.and_then(|at| arguments.get(at + 1));
    let beside = match server {
        Some(url) => Beside::Postgres(url.clone()),
        None if arguments.iter().any(|argument| argument == "--sqlite") => Beside::Sqlite,
        None => Beside::Nothing,
    };
    let agents = usize::try_from(number(&arguments, "--agents", 200)).unwrap_or(200);
    let steps = number(&arguments, "--steps", 2_000);
    let (mut hours, mut commands, mut events, mut violations) = (0.0, 0, 0, 0);
    for seed in first..first + number(&arguments, "--seeds", 1) {
        let plan = Plan { seed, agents, steps, beside: beside.clone() };
        match run(&plan) {
            Ok(report) => {
                hours += report.agent_hours;
                commands += report.commands;
                events += report.events;
            }
            Err(found) => {
                violations += 1;
                let flag = match beside {
                    Beside::Nothing => "",
                    Beside::Sqlite => " --sqlite",
                    Beside::Postgres(_) => " --postgres URL",
                };
                println!("violation: {found}");
                println!(
                    "replay: comity-sim --seed {seed} --agents {agents} --steps {steps}{flag}"
                );
            }
        }
    }
    println!(
        "{hours:.0} simulated agent-hours, {commands} commands, {events} events, {violations} violations"
    );
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
