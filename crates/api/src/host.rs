//! What is asked about runs on this host: starting one, its work tree, the agents that there are; and the answers.

use comity_core::merging::Probe;
use comity_core::money::Usd;
use comity_core::run::{GitStrategy, Stage};
use comity_core::time::Millis;
use comity_core::view::RunView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Start an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StartRun {
    /// The name of its definition, such as `developer`.
    pub agent: String,
    pub prompt: Option<String>,
    /// The task; without one, comity creates a task from the prompt.
    pub task: Option<String>,
    /// The branch; without one, that of the task.
    pub branch: Option<String>,
    /// The commit to start from; without one, the tip of the base branch.
    pub base: Option<String>,
    /// What the run is for; without it, what the agent is for.
    pub stage: Option<Stage>,
    /// Facts about the run that only the caller knows.
    pub meta: Map<String, Value>,
    pub driver: Option<String>,
    pub model: Option<String>,
    /// The most US dollars that the run may cost.
    pub budget: Option<Usd>,
    pub max_turns: Option<u32>,
    /// How long the run may work; without it, `[fleet] max_duration`.
    #[serde(with = "comity_core::time::written")]
    #[schemars(with = "Option<String>")]
    pub timeout: Option<Millis>,
    /// What a worker must offer to take it, as `KEY=VALUE`; without any, this host runs it.
    pub labels: Vec<String>,
    /// Why a person starts without the plan that was begun.
    pub skip_design: Option<String>,
    /// How far the work goes when it is handed in; without it, what the agent is set to, else what its report recommends.
    pub git_strategy: Option<GitStrategy>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartedRun {
    pub run: RunView,
    /// The process on this host that keeps it; none where a worker takes it.
    pub pid: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteerRun {
    pub id: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDiffAnswer {
    pub run: String,
    pub diff: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbesAnswer {
    pub probes: Vec<ProbeView>,
}

/// What two sides are to each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeView {
    pub a: Side,
    pub b: Side,
    pub state: Probe,
    pub paths: Vec<ProbePath>,
}

/// A run at work, or the branch that its work goes into.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Side {
    Run {
        run: String,
        task: String,
        head: String,
    },
    Target {
        #[serde(rename = "ref")]
        name: String,
    },
}

impl Side {
    /// Returns the word that people know it by.
    pub fn name(&self) -> &str {
        match self {
            Side::Run { run, .. } => run,
            Side::Target { name } => name,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbePath {
    pub path: String,
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveSpace {
    /// The path, the run or the task of the work tree.
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CollectSpaces {
    /// How long ago the last run in a work tree has to have ended; without it, 7 days.
    #[serde(with = "comity_core::time::written")]
    #[schemars(with = "Option<String>")]
    pub older_than: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpacesAnswer {
    pub workspaces: Vec<SpaceView>,
}

/// A work tree of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpaceView {
    pub path: String,
    pub host: Option<String>,
    pub task: Option<String>,
    pub branch: Option<String>,
    /// The last run in it.
    pub run: Option<String>,
    /// Something in it is not committed.
    pub dirty: bool,
    /// The last snapshot of it.
    pub wip: Option<String>,
    pub removable: bool,
    /// Why it stays.
    pub why: Option<String>,
}

/// What an agent is there for, and how it may work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentDefinition {
    pub name: String,
    pub description: String,
    pub stage: Stage,
    /// It may change files that are kept.
    pub writable: bool,
    pub model: Option<String>,
    /// Tools of its client that it has; it uses them without a question.
    pub tools: Vec<String>,
    /// What every prompt of it begins with.
    pub prompt: String,
    /// Agents that it may start inside of its own session.
    pub agents: BTreeMap<String, Subagent>,
    pub max_turns: Option<u32>,
    pub max_cost: Option<Usd>,
    pub driver: Option<String>,
    /// Where it may write, if it only plans.
    pub spec_dirs: Vec<String>,
    /// The file that defines it; none of comity's own.
    pub file: Option<String>,
}

/// An agent inside of another one's session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subagent {
    pub description: String,
    pub prompt: String,
    pub tools: Vec<String>,
    pub model: Option<String>,
}

/// A definition that cannot be used, and why. It hides only itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BadDefinition {
    pub file: String,
    pub problems: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefinitionOf {
    /// The name of the agent.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DefinedAgent {
    pub agent: AgentDefinition,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DefinedAgents {
    pub agents: Vec<AgentDefinition>,
    /// Definitions that cannot be used.
    pub bad: Vec<BadDefinition>,
}
