//! What happens to approved work on its way into a branch.

use crate::ids::{RunId, TaskId};
use crate::merging::{BatchId, Ejection, Probe};
use serde::{Deserialize, Serialize};

/// Approved work waits to be merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeQueued {
    /// The branch; none is the base branch.
    pub target: Option<String>,
    pub commit: String,
}

/// A batch was frozen: its tasks are merged and tested together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeStarted {
    pub batch: BatchId,
    pub target: String,
    pub base: String,
    pub tasks: Vec<TaskId>,
}

/// A group of a batch became the tip of the branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeLanded {
    pub batch: BatchId,
    pub target: String,
    pub sha: String,
    pub tasks: Vec<TaskId>,
}

/// Work left the queue and was sent back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeEjected {
    pub batch: Option<BatchId>,
    pub target: String,
    pub reason: Ejection,
    /// The commit that it was merged with.
    pub with: String,
    pub paths: Vec<String>,
    pub gate: Option<String>,
    pub output_tail: Option<String>,
}

/// Two runs were compared while they were at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeProbed {
    pub a: RunId,
    /// The run that began later; none stands for the branch that both go into.
    pub b: Option<RunId>,
    pub state: Probe,
    pub paths: Vec<String>,
}
