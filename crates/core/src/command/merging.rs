//! What is asked about approved work on its way into a branch.

use crate::merging::{BatchId, Ejection, Probe};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step of whoever works through the merge queue. No door offers these: comity sends them with what it saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeStep {
    /// Freeze a batch.
    Start { target: String, base: String, tasks: Vec<String> },
    /// A group of it is the tip of the branch, and its tasks are done.
    Landed { batch: BatchId, target: String, sha: String, tasks: Vec<String> },
    /// Send work back.
    Eject(Box<Eject>),
    /// Two runs were compared.
    Probed { a: String, b: Option<String>, state: Probe, paths: Vec<String> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Eject {
    pub id: String,
    pub batch: Option<BatchId>,
    pub target: String,
    pub reason: Ejection,
    pub with: String,
    pub paths: Vec<String>,
    pub gate: Option<String>,
    pub output_tail: Option<String>,
    /// What the worker is told.
    pub words: String,
}

/// Say that merged work was given to its users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRelease {
    pub tag: String,
    pub sha: String,
    /// The tasks that are in it and in no release before.
    pub tasks: Vec<String>,
    #[serde(default)]
    pub reason: Option<String>,
}
