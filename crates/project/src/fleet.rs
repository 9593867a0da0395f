//! The tables `[fleet]` and `[budget]`: what a project sets for runs and what they cost.

use crate::config::{Problem, duration};
use comity_core::money::Usd;
use comity_core::policy::FleetPolicy;
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FleetTable {
    ttl: Option<String>,
    queue: Option<usize>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BudgetTable {
    day_usd: Option<f64>,
    run_usd: Option<f64>,
    alert_percent: Option<u64>,
}

fn dollars(key: &str, given: Option<f64>) -> Result<Option<Usd>, Problem> {
    given
        .map(|dollars| {
            let wrong = || Problem::new(key, format!("{dollars} is no amount of dollars"));
            Usd::from_dollars(dollars).ok_or_else(wrong)
        })
        .transpose()
}

/// Returns what the rules go by.
pub(crate) fn policy(fleet: &FleetTable, budget: &BudgetTable) -> Result<FleetPolicy, Problem> {
    let default = FleetPolicy::default();
    let percent = budget.alert_percent.unwrap_or(default.alert_percent);
    if percent > 100 {
        return Err(Problem::new("budget.alert_percent", format!("{percent} is more than 100")));
    }
    Ok(FleetPolicy {
        ttl: duration("fleet.ttl", &fleet.ttl)?.unwrap_or(default.ttl),
        queue: fleet.queue.unwrap_or(default.queue),
        run_usd: dollars("budget.run_usd", budget.run_usd)?.unwrap_or(default.run_usd),
        day_usd: dollars("budget.day_usd", budget.day_usd)?.unwrap_or(default.day_usd),
        alert_percent: percent,
    })
}
