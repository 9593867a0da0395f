//! What is asked for about runs of agents.

use crate::chance::Chance;
use comity_core::command::{Command, ModelCall, NewRun, RunChange, RunEnd, RunProgress};
use comity_core::money::Usd;
use comity_core::run::{CostBasis, RunError, RunFault, RunState, Stage, Tokens};
use serde_json::Map;

/// Runs: dispatched on any task, and changed as a worker or a person may, in any order.
pub(super) fn fleet(task: &str, chance: &mut Chance) -> Command {
    const RUNS: i64 = 40;
    let id = format!("R{}", chance.between(1, RUNS));
    let stage = chance.pick(&Stage::ALL).copied().unwrap_or(Stage::Develop);
    let usd = Usd::from_micros(chance.below(400_000));
    let end = |state, error: Option<RunFault>| {
        RunChange::End(Box::new(RunEnd {
            state,
            reason: None,
            error: error.map(|kind| RunError::new(kind, "it broke")),
            exit: None,
            head: None,
            wip: None,
            report_kind: None,
            steps: Vec::new(),
            said: Map::new(),
        }))
    };
    let change = match chance.below(12) {
        0..=3 => {
            return Command::RunDispatch(Box::new(NewRun {
                agent: "developer".to_owned(),
                task: Some(task.to_owned()),
                new_task: None,
                stage,
                writable: stage == Stage::Develop,
                driver: "command".to_owned(),
                model: None,
                branch: None,
                base: None,
                meta: Map::new(),
                prompt_sha256: String::new(),
                prompt_bytes: 0,
                sandbox: None,
                labels: Vec::new(),
                resumed_from: None,
                parent: None,
                rule: None,
                max_cost: chance.percent(50).then_some(usd),
                skip_design: None,
            }));
        }
        4 | 5 => RunChange::Take {
            worker: None,
            workspace: None,
            driver_version: None,
            sandbox: None,
            session: None,
        },
        6 | 7 => {
            let call = ModelCall {
                call: "c".to_owned(),
                tokens: Tokens::default(),
                usd: Some(usd),
                basis: CostBasis::Reported,
            };
            let calls = vec![call];
            RunChange::Progress(Box::new(RunProgress { calls, ..RunProgress::default() }))
        }
        8 => end(RunState::Failed, chance.pick(&RunFault::ALL).copied()),
        9 => end(RunState::Succeeded, None),
        10 => RunChange::Resume { fresh: false },
        _ => RunChange::Stop { now: true, reason: None },
    };
    Command::RunChange { id, change }
}
