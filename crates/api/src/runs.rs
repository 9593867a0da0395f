//! What comity does with commits by itself: running gates, keeping snapshots, landing work.

use comity_core::view::GateView;
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
