//! What comity does with commits by itself: running gates, keeping snapshots, landing work.

use comity_core::view::{GateView, TaskView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which gates to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunGates {
    pub id: String,
    /// The gates; without any, those that are required, or else all that have a command.
    #[serde(default)]
    pub gates: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunGatesAnswer {
    pub task: String,
    /// The commit that was checked.
    pub commit: String,
    pub settings: SettingsFrom,
    pub gates: Vec<GateRun>,
}

/// Where the settings come from that work is checked by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsFrom {
    /// `base` for the base branch, `checkout` for the files of the root.
    pub from: String,
    /// The commit of the base branch.
    pub commit: Option<String>,
}

/// A gate as it stands now, and how its run went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRun {
    #[serde(flatten)]
    pub gate: GateView,
    /// `pass`, `fail` or `could-not-run`.
    pub result: String,
    /// None when it could not be run to its end.
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub output_tail: String,
    /// Why it could not be run.
    pub problem: Option<String>,
}

/// Keep what is not committed, or list what was kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeSnapshot {
    #[serde(default)]
    pub list: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotsAnswer {
    /// What is kept of this work tree now; none where everything is committed.
    pub snapshot: Option<SnapshotView>,
    /// All that is kept, the oldest first, when a list was asked for.
    pub snapshots: Vec<SnapshotView>,
}

/// Work that is kept as a commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotView {
    /// The ref that keeps the commit.
    #[serde(rename = "ref")]
    pub name: String,
    pub commit: String,
    pub at: String,
}

/// How work becomes part of a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// A merge commit.
    #[default]
    Merge,
    /// One commit with all changes.
    Squash,
    /// Each commit anew on top of the branch.
    Rebase,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LandTask {
    pub id: String,
    /// The branch; the base branch where none is given.
    #[serde(default)]
    pub into: Option<String>,
    #[serde(default)]
    pub strategy: Strategy,
    /// Push the branch to its remote afterwards.
    #[serde(default)]
    pub push: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LandAnswer {
    pub task: TaskView,
    /// The branch that has the work now.
    pub branch: String,
    /// The commit that the branch had before.
    pub base: String,
    /// The commit that has the work merged.
    pub merged: String,
    pub strategy: Strategy,
    /// The gates that passed on the merged files.
    pub gates: Vec<LandedGate>,
    pub settings: SettingsFrom,
    pub pushed: bool,
}

/// A gate that was run on the merged files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LandedGate {
    pub name: String,
    /// `pass`, `fail` or `could-not-run`.
    pub result: String,
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub output_tail: String,
}
