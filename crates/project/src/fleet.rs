//! The tables `[fleet]` and `[budget]`: what a project sets for runs and what they cost.

use crate::config::{Config, duration};
use crate::problem::Problem;
use crate::root::Root;
use crate::supervisor::{Slots, bytes};
use crate::trust::Power;
use comity_core::money::Usd;
use comity_core::pattern::Pattern;
use comity_core::policy::FleetPolicy;
use comity_core::progress::Patience;
use comity_core::run::{GitStrategy, Tokens};
use comity_core::time::Millis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FleetTable {
    ttl: Option<String>,
    queue: Option<usize>,
    driver: Option<String>,
    max_duration: Option<String>,
    init: Option<String>,
    stall: Option<String>,
    post_result: Option<String>,
    repair_turns: Option<u32>,
    exclusive: Option<Vec<String>>,
    max_runs: Option<usize>,
    max_per_repo: Option<usize>,
    retry_backoff: Option<(String, String)>,
    remote: Option<String>,
    push_every: Option<String>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriverKind {
    /// Any command: the prompt on its standard input, its report among what it prints.
    #[default]
    Command,
    /// Claude Code.
    Claude,
    /// Codex, as its app-server.
    Codex,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
}

/// Drivers that are there without any settings: their programs are those of the user.
const BUILT_IN: [(&str, DriverKind); 2] =
    [("claude", DriverKind::Claude), ("codex", DriverKind::Codex)];

impl DriverKind {
    /// Returns the variables that a client of this kind gets beside those that every agent gets. A star stands for any end.
    pub fn env_pass(self) -> &'static [&'static str] {
        match self {
            DriverKind::Claude => &["ANTHROPIC_*", "CLAUDE_CODE_OAUTH_TOKEN"],
            DriverKind::Codex => &["OPENAI_API_KEY", "CODEX_API_KEY"],
            DriverKind::Command | DriverKind::Acp => &[],
        }
    }
}

/// How agents are shut in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SandboxTable {
    require: Option<String>,
    caches: Vec<String>,
}

/// What keeps an agent from writing elsewhere, the strongest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confinement {
    None,
    Landlock,
    Bwrap,
}

impl Confinement {
    pub fn as_str(self) -> &'static str {
        match self {
            Confinement::None => "none",
            Confinement::Landlock => "landlock",
            Confinement::Bwrap => "bwrap",
        }
    }
}

/// What is set about shutting agents in.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxSettings {
    /// Less than this is refused.
    pub require: Confinement,
    /// Directories below the user's home that agents may write to.
    pub caches: Vec<String>,
}

/// What a million tokens of a model cost, in dollars.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PriceTable {
    input: f64,
    cached: f64,
    cache_write: f64,
    output: f64,
}

/// List prices in US dollars for a million tokens, as of November 2026. Claude Code says itself what a session cost; these count
/// until it does.
const LIST_PRICES: [(&str, PriceTable); 2] = [
    ("claude-opus-5-5", PriceTable { input: 4.0, cached: 0.2, cache_write: 5.0, output: 20.0 }),
    ("gpt-5", PriceTable { input: 1.25, cached: 0.125, cache_write: 0.0, output: 10.0 }),
];

/// How long the stages of a run may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunTimes {
    /// From the start of the process to its first word.
    pub init: Millis,
    /// Without a word, and without any work of the processor.
    pub stall: Millis,
    /// From the last result to the end of the process.
    pub post_result: Millis,
    /// Times that an agent may mend its report.
    pub repair_turns: u32,
}

/// What is set for the runs of one agent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentTable {
    driver: Option<String>,
    model: Option<String>,
    env_pass: Vec<String>,
    max_cost: Option<f64>,
    allow: Vec<String>,
    labels: Vec<String>,
    git_strategy: Option<String>,
}

/// A driver as the settings have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Driver {
    pub name: String,
    pub kind: DriverKind,
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// The settings of the project name it, so the user has to trust it.
    pub is_set: bool,
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
    /// Tools that it may use without a question, beside those of its definition.
    pub allow: Vec<String>,
    /// What a worker must offer to take its runs; without any, they start on the host that asks for them.
    pub labels: Vec<String>,
    /// How far the work of its runs goes when it is handed in; without it, its reports say.
    pub git_strategy: Option<GitStrategy>,
}

/// What is set about runs on other hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    /// The remote that workers share with everybody else.
    pub remote: String,
    /// How often a worker pushes what is not finished.
    pub push_every: Millis,
}

/// Reads a label: a name and a value.
pub fn label(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("{text:?} is no label: write it as NAME=VALUE, such as gpu=1");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let plain = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
    };
    if plain(name) && plain(value) { Ok((name.to_owned(), value.to_owned())) } else { Err(wrong()) }
}

/// The driver of agents that name none.
const DRIVER: &str = "claude";
/// The remote that hosts share.
const REMOTE: &str = "origin";
const PUSH_EVERY: Millis = Millis::from_secs(60);
const INIT: Millis = Millis::from_secs(120);
const STALL: Millis = Millis::from_secs(300);
const KEEP: Millis = Millis::from_secs(7 * 86_400);
const UNTRACKED_FILE_MAX: u64 = 50 * 1024 * 1024;
const EVERY: Millis = Millis::from_secs(5);
const MEMORIES: usize = 25;
const POST_RESULT: Millis = Millis::from_secs(10);
const REPAIR_TURNS: u32 = 1;
/// How long a run works at most.
const MAX_DURATION: Millis = Millis::from_secs(3_600);

impl Config {
    /// Returns the drivers that are set, by name.
    pub fn drivers(&self) -> Result<Vec<Driver>, Problem> {
        let mut all = Vec::new();
        for (name, table) in &self.drivers {
            let own = BUILT_IN.iter().find(|(_, kind)| *kind == table.kind);
            let command = match (table.command.is_empty(), own) {
                (true, Some((program, _))) => vec![(*program).to_owned()],
                _ => table.command.clone(),
            };
            if command.first().is_none_or(String::is_empty) {
                let key = format!("drivers.{name}.command");
                return Err(Problem::new(&key, "is missing: a list of the program and its words"));
            }
            let (kind, env) = (table.kind, table.env.clone());
            all.push(Driver { name: name.clone(), kind, command, env, is_set: true });
        }
        for (name, kind) in BUILT_IN.iter().filter(|(name, _)| !self.drivers.contains_key(*name)) {
            let (name, command) = ((*name).to_owned(), vec![(*name).to_owned()]);
            all.push(Driver { name, kind: *kind, command, env: BTreeMap::new(), is_set: false });
        }
        Ok(all)
    }

    /// Returns what is set about shutting agents in.
    pub fn sandbox(&self) -> Result<SandboxSettings, Problem> {
        let require = match self.sandbox.require.as_deref() {
            None | Some("none") => Confinement::None,
            Some("landlock") => Confinement::Landlock,
            Some("bwrap") => Confinement::Bwrap,
            Some(other) => {
                let text = format!("{other:?} is none of none, landlock and bwrap");
                return Err(Problem::new("sandbox.require", text));
            }
        };
        let outside = |dir: &String| {
            dir.is_empty() || dir.starts_with('/') || dir.split('/').any(|part| part == "..")
        };
        if let Some(dir) = self.sandbox.caches.iter().find(|dir| outside(dir)) {
            let text = format!("{dir:?} is no directory below the home directory");
            return Err(Problem::new("sandbox.caches", text));
        }
        Ok(SandboxSettings { require, caches: self.sandbox.caches.clone() })
    }

    /// Returns what a call of a model costs; none where nobody knows. The longest name that a model begins with counts.
    pub fn price(&self, model: &str, tokens: Tokens) -> Option<Usd> {
        let set = self.prices.iter().map(|(name, price)| (name.as_str(), *price));
        let longest = |all: Vec<(&str, PriceTable)>| {
            let fitting = all.into_iter().filter(|(name, _)| model.starts_with(name));
            fitting.max_by_key(|(name, _)| name.len()).map(|(_, price)| price)
        };
        let price = longest(set.collect()).or_else(|| longest(LIST_PRICES.to_vec()))?;
        let parts = [
            (tokens.input, price.input),
            (tokens.cached, price.cached),
            (tokens.cache_write, price.cache_write),
            (tokens.output, price.output),
        ];
        // Dollars for a million tokens are micro-dollars for one.
        #[expect(clippy::cast_precision_loss, reason = "no call has 2^53 tokens")]
        let micros: f64 = parts.iter().map(|(count, price)| *count as f64 * price).sum();
        Usd::from_dollars(micros / 1_000_000.0)
    }

    /// Tells whether a model without a price may be used where a budget in dollars applies.
    pub fn allows_unpriced(&self) -> Result<bool, Problem> {
        match self.budget.unpriced.as_deref() {
            None | Some("allow") => Ok(true),
            Some("refuse") => Ok(false),
            Some(other) => {
                let text = format!("{other:?} is neither allow nor refuse");
                Err(Problem::new("budget.unpriced", text))
            }
        }
    }

    /// Returns how long the stages of a run may take.
    pub fn run_times(&self) -> Result<RunTimes, Problem> {
        let or = |key: &str, given: &Option<String>, default: Millis| {
            duration(key, given).map(|given| given.unwrap_or(default))
        };
        Ok(RunTimes {
            init: or("fleet.init", &self.fleet.init, INIT)?,
            stall: or("fleet.stall", &self.fleet.stall, STALL)?,
            post_result: or("fleet.post_result", &self.fleet.post_result, POST_RESULT)?,
            repair_turns: self.fleet.repair_turns.unwrap_or(REPAIR_TURNS),
        })
    }

    /// Returns what the user has to trust before a driver is run or checks are asked for.
    pub(crate) fn driver_powers(&self, root: &Root) -> Result<Vec<Power>, Problem> {
        let power = |driver: Driver| {
            let (kind, value) = (driver.key(), driver.power());
            Power { root: root.dir.clone(), kind, value }
        };
        let set = self.drivers()?.into_iter().filter(|driver| driver.is_set).map(power);
        Ok(set.chain(self.pull_powers(root)?).collect())
    }

    /// Returns what is set for the runs of an agent.
    pub fn agent(&self, name: &str) -> Result<AgentSettings, Problem> {
        let nothing = AgentTable::default();
        let table = self.agent.get(name).unwrap_or(&nothing);
        Ok(AgentSettings {
            driver: table
                .driver
                .clone()
                .or_else(|| self.fleet.driver.clone())
                .or_else(|| Some(DRIVER.to_owned())),
            model: table.model.clone(),
            env_pass: table.env_pass.clone(),
            max_cost: dollars(&format!("agent.{name}.max_cost"), table.max_cost)?,
            allow: table.allow.clone(),
            labels: Self::labels_of(name, &table.labels)?,
            git_strategy: strategy(name, table.git_strategy.as_deref())?,
        })
    }

    fn labels_of(name: &str, given: &[String]) -> Result<Vec<String>, Problem> {
        let wrong = |text| Problem::new(&format!("agent.{name}.labels"), text);
        given.iter().try_for_each(|one| label(one).map(drop)).map_err(wrong)?;
        Ok(given.to_vec())
    }

    /// Returns what is set about runs on other hosts.
    pub fn elsewhere(&self) -> Result<Elsewhere, Problem> {
        let push_every = duration("fleet.push_every", &self.fleet.push_every)?;
        let remote = self.fleet.remote.clone().unwrap_or_else(|| REMOTE.to_owned());
        // A name of git's own settings: an address in a repository's file could lead anywhere.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if remote.is_empty() || remote.starts_with(['-', '.']) || !remote.chars().all(plain) {
            let text = format!("{remote:?} is not the name of a remote");
            return Err(Problem::new("fleet.remote", text));
        }
        Ok(Elsewhere { remote, push_every: push_every.unwrap_or(PUSH_EVERY) })
    }

    pub(crate) fn slots(&self) -> Slots {
        let FleetTable { max_runs, max_per_repo, retry_backoff, .. } = self.fleet.clone();
        Slots { max_runs, max_per_repo, retry_backoff }
    }

    /// Returns how long an agent may work without getting on.
    pub fn patience(&self) -> Result<Patience, Problem> {
        let (table, default) = (&self.budget, Patience::default());
        let time = duration("budget.no_progress", &table.no_progress)?;
        Ok(Patience {
            turns: table.no_progress_turns.unwrap_or(default.turns),
            time: time.unwrap_or(default.time),
            same_call: table.same_tool_call.unwrap_or(default.same_call),
        })
    }

    /// Returns what is set about the work trees of runs.
    pub fn spaces(&self) -> Result<SpaceSettings, Problem> {
        let table = &self.workspace;
        let untracked_file_max = match &table.untracked_file_max {
            None => UNTRACKED_FILE_MAX,
            Some(text) => {
                bytes(text).and_then(|size| u64::try_from(size).ok()).ok_or_else(|| {
                    let message = format!("{text:?} is not a size such as 50MiB");
                    Problem::new("workspace.untracked_file_max", message)
                })?
            }
        };
        Ok(SpaceSettings {
            keep: duration("workspace.keep", &table.keep)?.unwrap_or(KEEP),
            untracked_file_max,
            snapshot_every: duration("snapshot.every", &self.snapshot.every)?.unwrap_or(EVERY),
        })
    }

    /// Returns how many memories an agent is told.
    pub fn memories(&self) -> usize {
        self.supervisor.as_ref().and_then(|table| table.memories).unwrap_or(MEMORIES)
    }

    /// Returns how long a run works at most.
    pub fn max_duration(&self) -> Result<Millis, Problem> {
        Ok(duration("fleet.max_duration", &self.fleet.max_duration)?.unwrap_or(MAX_DURATION))
    }

    /// Returns what the rules go by, after a look at all that is set for runs.
    pub(crate) fn fleet_policy(&self) -> Result<FleetPolicy, Problem> {
        self.drivers()?;
        self.max_duration()?;
        self.run_times()?;
        self.patience()?;
        self.spaces()?;
        self.elsewhere()?;
        self.sandbox()?;
        self.allows_unpriced()?;
        self.supervisor()?;
        self.ci_check()?;
        self.agent.keys().try_for_each(|name| self.agent(name).map(drop))?;
        policy(&self.fleet, &self.budget)
    }
}

fn strategy(agent: &str, given: Option<&str>) -> Result<Option<GitStrategy>, Problem> {
    let key = format!("agent.{agent}.git_strategy");
    let wrong = |refusal: comity_core::refusal::Refusal| Problem::new(&key, refusal.message);
    given.map(GitStrategy::parse).transpose().map_err(wrong)
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BudgetTable {
    day_usd: Option<f64>,
    run_usd: Option<f64>,
    alert_percent: Option<u64>,
    unpriced: Option<String>,
    no_progress_turns: Option<u64>,
    no_progress: Option<String>,
    same_tool_call: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SnapshotTable {
    every: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WorkspaceTable {
    keep: Option<String>,
    untracked_file_max: Option<String>,
}

/// What is set about the work trees of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceSettings {
    /// How long one stays when its task is finished.
    pub keep: Millis,
    /// New files that are larger are left out of snapshots, in bytes.
    pub untracked_file_max: u64,
    /// How often a snapshot is made at most.
    pub snapshot_every: Millis,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn claude_and_codex_are_there_without_settings_and_only_what_is_set_wants_trust() {
        let config = config("[drivers.codex]\nkind = 'codex'\n[drivers.x]\ncommand = ['x']");
        let all = config.drivers().unwrap();
        let found: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.is_set)).collect();
        assert_eq!(found, [("codex", true), ("x", true), ("claude", false)]);
        assert_eq!(all[0].command, ["codex"]);
    }

    #[test]
    fn a_call_costs_what_the_longest_fitting_name_says() {
        let config = config("[prices.m]\ninput = 1.0\noutput = 2.0\n[prices.m-large]\ninput = 3.0");
        let tokens = Tokens { input: 1_000_000, output: 500_000, ..Tokens::default() };
        assert_eq!(config.price("m-small", tokens), Usd::from_dollars(2.0));
        assert_eq!(config.price("m-large-2", tokens), Usd::from_dollars(3.0));
        assert_eq!(config.price("other", tokens), None);
        // As Claude Code 2.1.325 says of the same call.
        let call = Tokens { input: 940, cached: 11_000, cache_write: 0, output: 370 };
        assert_eq!(config.price("claude-opus-5-5", call), Usd::from_dollars(0.01336));
    }

    #[test]
    fn caches_lie_below_the_home_directory() {
        assert!(config("[sandbox]\ncaches = ['.cargo']").sandbox().is_ok());
        for wrong in ["/etc", "../x", "a/../../b", ""] {
            assert!(config(&format!("[sandbox]\ncaches = ['{wrong}']")).sandbox().is_err());
        }
        assert!(config("[sandbox]\nrequire = 'jail'").sandbox().is_err());
    }
}
