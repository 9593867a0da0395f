//! What is asked about the merge queue and releases, and the answers.

use comity_core::merging::Ejection;
use comity_core::task::Priority;
use comity_core::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergeQueueAnswer {
    pub queue: Vec<QueuedTask>,
    /// The branch that the settings name; none is the base branch.
    pub target: Option<String>,
}

/// Approved work that waits to be merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedTask {
    pub task: String,
    pub commit: String,
    pub priority: Priority,
    pub approved_at: Timestamp,
    /// `waiting` or `testing`.
    pub state: String,
    /// The batch that it is tested in.
    pub batch: Option<String>,
    /// The branch that gets it; none is the base branch.
    pub target: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunMerges {
    /// The branch; without one that of the settings, else the base branch.
    pub target: Option<String>,
    /// Stop after one batch.
    pub once: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergeRunAnswer {
    pub target: String,
    pub batches: Vec<MergeBatch>,
    /// Tasks that cannot land now. They keep their places in the queue.
    pub waiting: Vec<WaitingTask>,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergeBatch {
    pub batch: String,
    pub target: String,
    /// The commit that the branch had when the batch was frozen.
    pub base: String,
    pub landed: Vec<LandedTask>,
    pub ejected: Vec<EjectedTask>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LandedTask {
    pub task: String,
    /// The commit that has the work merged.
    pub sha: String,
}

/// Work that was sent back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EjectedTask {
    pub task: String,
    pub reason: Ejection,
    pub paths: Vec<String>,
    pub gate: Option<String>,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingTask {
    pub task: String,
    pub code: String,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseTag {
    /// The tag. It is made where it does not exist yet.
    pub tag: String,
    /// The commit; without one the tip of the base branch, or what the tag names already.
    #[serde(default)]
    pub commit: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseAnswer {
    pub tag: String,
    pub sha: String,
    /// The tasks that are in it and in no release before.
    pub tasks: Vec<String>,
    /// comity made the tag.
    pub made: bool,
}
