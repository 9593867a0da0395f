//! The tables `[fleet]` and `[budget]`: what a project sets for runs and what they cost.

use crate::config::{Config, duration};
use crate::problem::Problem;
use crate::root::Root;
use crate::supervisor::Slots;
use crate::trust::Power;
use comity_core::money::Usd;
use comity_core::pattern::Pattern;
use comity_core::policy::FleetPolicy;
use comity_core::time::Millis;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FleetTable {
    ttl: Option<String>,
    queue: Option<usize>,
    driver: Option<String>,
    max_duration: Option<String>,
    max_runs: Option<usize>,
    max_per_repo: Option<usize>,
    retry_backoff: Option<(String, String)>,
    exclusive: Option<Vec<String>>,
}

/// How an agent is started.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DriverTable {
    kind: DriverKind,
    command: Vec<String>,
    env: BTreeMap<String, String>,
}

/// What a driver speaks with its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriverKind {
    /// Any command: the prompt on its standard input, its report among what it prints.
    #[default]
    Command,
}

/// What is set for the runs of one agent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentTable {
    driver: Option<String>,
    model: Option<String>,
    env_pass: Vec<String>,
    max_cost: Option<f64>,
}

/// A driver as the settings have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Driver {
    pub name: String,
    pub kind: DriverKind,
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
}

impl Driver {
    /// Returns what the user has to trust before it is run.
    pub fn power(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={value}"));
        env.chain(self.command.iter().cloned()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the table that it stands in.
    pub fn key(&self) -> String {
        format!("drivers.{}", self.name)
    }
}

/// What is set for the runs of one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSettings {
    pub driver: Option<String>,
    pub model: Option<String>,
    /// Variables that the agent gets beside those that every agent gets.
    pub env_pass: Vec<String>,
    pub max_cost: Option<Usd>,
}

/// How long a run works at most.
const MAX_DURATION: Millis = Millis::from_secs(3_600);

impl Config {
    /// Returns the drivers that are set, by name.
    pub fn drivers(&self) -> Result<Vec<Driver>, Problem> {
        let mut all = Vec::new();
        for (name, table) in &self.drivers {
            if table.command.first().is_none_or(String::is_empty) {
                let key = format!("drivers.{name}.command");
                return Err(Problem::new(&key, "is missing: a list of the program and its words"));
            }
            let (kind, command, env) = (table.kind, table.command.clone(), table.env.clone());
            all.push(Driver { name: name.clone(), kind, command, env });
        }
        Ok(all)
    }

    /// Returns what the user has to trust before a driver is run or checks are asked for.
    pub(crate) fn driver_powers(&self, root: &Root) -> Result<Vec<Power>, Problem> {
        let power = |driver: Driver| {
            let (kind, value) = (driver.key(), driver.power());
            Power { root: root.dir.clone(), kind, value }
        };
        Ok(self.drivers()?.into_iter().map(power).chain(self.ci_power(root)?).collect())
    }

    /// Returns what is set for the runs of an agent.
    pub fn agent(&self, name: &str) -> Result<AgentSettings, Problem> {
        let nothing = AgentTable::default();
        let table = self.agent.get(name).unwrap_or(&nothing);
        Ok(AgentSettings {
            driver: table.driver.clone().or_else(|| self.fleet.driver.clone()),
            model: table.model.clone(),
            env_pass: table.env_pass.clone(),
            max_cost: dollars(&format!("agent.{name}.max_cost"), table.max_cost)?,
        })
    }

    pub(crate) fn slots(&self) -> Slots {
        let FleetTable { max_runs, max_per_repo, retry_backoff, .. } = self.fleet.clone();
        Slots { max_runs, max_per_repo, retry_backoff }
    }

    /// Returns how long a run works at most.
    pub fn max_duration(&self) -> Result<Millis, Problem> {
        Ok(duration("fleet.max_duration", &self.fleet.max_duration)?.unwrap_or(MAX_DURATION))
    }

    /// Returns what the rules go by, after a look at all that is set for runs.
    pub(crate) fn fleet_policy(&self) -> Result<FleetPolicy, Problem> {
        self.drivers()?;
        self.max_duration()?;
        self.supervisor()?;
        self.ci_check()?;
        self.agent.keys().try_for_each(|name| self.agent(name).map(drop))?;
        policy(&self.fleet, &self.budget)
    }
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
fn policy(fleet: &FleetTable, budget: &BudgetTable) -> Result<FleetPolicy, Problem> {
    let default = FleetPolicy::default();
    let percent = budget.alert_percent.unwrap_or(default.alert_percent);
    if percent > 100 {
        return Err(Problem::new("budget.alert_percent", format!("{percent} is more than 100")));
    }
    let exclusive = fleet.exclusive.clone().unwrap_or(default.exclusive);
    for text in &exclusive {
        Pattern::parse(text)
            .map_err(|error| Problem::new("fleet.exclusive", format!("{text:?}: {error}")))?;
    }
    Ok(FleetPolicy {
        exclusive,
        ttl: duration("fleet.ttl", &fleet.ttl)?.unwrap_or(default.ttl),
        queue: fleet.queue.unwrap_or(default.queue),
        run_usd: dollars("budget.run_usd", budget.run_usd)?.unwrap_or(default.run_usd),
        day_usd: dollars("budget.day_usd", budget.day_usd)?.unwrap_or(default.day_usd),
        alert_percent: percent,
    })
}
