//! Fifty agents under one budget, and runs in random orders: the bound holds, and nothing is left held.

use crate::properties::cases;
use crate::runs::{call, change, dispatch, end, new_run, take, usd};
use crate::verbs::task;
use crate::world::{ANN, World};
use comity_core::budget::{Per, Scope};
use comity_core::command::{Command, NewBudget, NewRun, RunChange};
use comity_core::ids::RunId;
use comity_core::money::Usd;
use comity_core::run::{RunFault, RunState, Stage};
use proptest::prelude::*;

const AGENTS: usize = 50;

/// What happens next to which run.
#[derive(Clone, Debug)]
enum Next {
    Dispatch,
    Call(u64),
    End(bool),
    Wait(i64),
    Answer(&'static str),
}

fn next() -> impl Strategy<Value = (usize, Next)> {
    let what = prop_oneof![
        4 => Just(Next::Dispatch),
        // Between one cent and forty.
        20 => (10_000..400_000u64).prop_map(Next::Call),
        2 => any::<bool>().prop_map(Next::End),
        1 => (1..200i64).prop_map(Next::Wait),
        1 => prop_oneof![Just("raise"), Just("stop"), Just("finish")].prop_map(Next::Answer),
    ];
    (0..AGENTS, what)
}

fn do_next(w: &mut World, agent: usize, what: &Next, beyond: &mut Usd) {
    let task = format!("T{}", agent + 1);
    let of_task = |w: &World| {
        let runs = w.state.runs.values();
        runs.filter(|run| run.task.as_str() == task && run.state.is_live()).map(|run| run.id).next()
    };
    let Some(id) = of_task(w) else {
        if matches!(what, Next::Dispatch) {
            let max_cost = agent.is_multiple_of(3).then(|| usd(0.7));
            let new = new_run("developer", Some(&task), Stage::Develop);
            if w.by(ANN).does(dispatch(NewRun { max_cost, ..new })).is_ok() {
                let id = of_task(w).unwrap();
                let who = format!("developer:{id}");
                w.by(&who).does(change(&id.to_string(), take())).unwrap();
            }
        }
        return;
    };
    let (who, text) = (format!("developer:{id}"), id.to_string());
    match what {
        Next::Call(micros) => {
            let run = &w.state.runs[&(w.repo.clone(), id)];
            // A run that is paused makes no call.
            if run.state == RunState::Paused {
                return;
            }
            let (cost, reserved) = (Usd::from_micros(*micros), run.reserved);
            w.by(&who).does(change(&text, call(cost.dollars()))).unwrap();
            // Whoever gets more has it reserved. Whoever gets no more pauses, and one call of it may have cost too much.
            if w.state.runs[&(w.repo.clone(), id)].state == RunState::Paused {
                *beyond = beyond.plus(cost.less(reserved));
            }
        }
        Next::End(fails) => {
            let of = match fails {
                true => end(RunState::Failed, Some(RunFault::Api)),
                false => RunChange::Stop { now: true, reason: None },
            };
            w.by(&who).does(change(&text, of)).unwrap();
        }
        Next::Wait(secs) => {
            w.pass(*secs);
            w.sweep();
        }
        Next::Dispatch | Next::Answer(_) => {}
    }
}

fn spent(w: &World) -> Usd {
    spent_in(w, Scope::repo())
}

fn spent_in(w: &World, scope: Scope) -> Usd {
    let budget = w.state.budgets.get(&(w.repo.clone(), scope));
    budget.map(|budget| budget.spent(Per::Total, w.now()).usd).unwrap_or_default()
}

/// Schedules of a handful of agents: the short form tries a few, the long one a hundred thousand.
fn schedules() -> u32 {
    if std::env::var_os("COMITY_LONG").is_some() { 100_000 } else { 200 }
}

const FEW: usize = 4;

fn world(cap: f64) -> World {
    world_of(AGENTS, cap)
}

fn world_of(agents: usize, cap: f64) -> World {
    let mut w = World::new();
    for _ in 0..agents {
        w.have(task("work"));
    }
    for per in [Per::Total, Per::Day] {
        let new = NewBudget { scope: "repo".to_owned(), per, usd: Some(usd(cap)), runs: None };
        w.by(ANN).does(Command::BudgetSet(new)).unwrap();
    }
    w
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(8)))]

    /// What is spent beyond the cap is at most what single calls took beyond their reserve.
    #[test]
    fn fifty_agents_stay_within_their_budget(
        steps in proptest::collection::vec(next(), 100..300),
    ) {
        let cap = usd(10.0);
        let mut w = world(10.0);
        let mut beyond = Usd::ZERO;
        for (agent, what) in &steps {
            // Nobody raises the budget here.
            if matches!(what, Next::Answer(_)) {
                continue;
            }
            do_next(&mut w, *agent, what, &mut beyond);
            prop_assert!(spent(&w) <= cap.plus(beyond), "{} of {cap}, {beyond} beyond", spent(&w));
        }
    }

    /// The invariants that the world checks after every command hold whatever is answered.
    #[test]
    fn no_claim_is_orphaned_whatever_becomes_of_the_runs(
        steps in proptest::collection::vec(next(), 50..150),
    ) {
        let mut w = world(3.0);
        let mut beyond = Usd::ZERO;
        for (agent, what) in &steps {
            if let Next::Answer(answer) = what {
                let open = w.state.decisions.values().find(|d| d.answer.is_none()).map(|d| d.id);
                if let Some(id) = open {
                    w.by(ANN).answers(&id.to_string(), answer).unwrap();
                }
            }
            do_next(&mut w, *agent, what, &mut beyond);
        }
        w.pass(10_000);
        w.sweep();
        let live: Vec<RunId> =
            w.state.runs.values().filter(|run| run.state.is_live()).map(|run| run.id).collect();
        prop_assert!(live.is_empty(), "{live:?} outlived everybody");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(schedules()))]

    /// In every scope at once, whatever the order in which a few agents start, pay and end.
    #[test]
    fn no_schedule_spends_beyond_the_budget_of_any_scope(
        steps in proptest::collection::vec(next(), 4..24),
    ) {
        let mut w = world_of(FEW, 2.0);
        let scopes = [("repo", 2.0), ("agent:developer", 1.5), ("task:T1", 1.0), ("task:T2", 0.8)];
        for (scope, cap) in scopes {
            let new = NewBudget { scope: scope.to_owned(), per: Per::Total, usd: Some(usd(cap)), runs: None };
            w.by(ANN).does(Command::BudgetSet(new)).unwrap();
        }
        let mut beyond = Usd::ZERO;
        for (agent, what) in &steps {
            if matches!(what, Next::Answer(_)) {
                continue;
            }
            do_next(&mut w, agent % FEW, what, &mut beyond);
            for (name, cap) in scopes {
                let (scope, cap) = (Scope::parse(name).unwrap(), usd(cap));
                let spent = spent_in(&w, scope);
                prop_assert!(spent <= cap.plus(beyond), "{name}: {spent} of {cap}, {beyond} beyond");
            }
        }
        let live = w.state.runs.values().filter(|run| run.state.is_live());
        let reserved = live.fold(Usd::ZERO, |sum, run| sum.plus(run.reserved));
        let kept = w.state.budgets[&(w.repo.clone(), Scope::repo())].reserved();
        prop_assert_eq!(kept, reserved, "what is reserved is what live runs have");
    }
}
