//! The parts of commands about pads and interfaces.

use crate::event::PadChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of a pad.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PadWrite {
    /// An initiative, an epic or a task; none is the pad of everybody.
    pub scope: Option<String>,
    pub text: String,
    pub how: PadChange,
    /// The version that the caller has seen.
    pub if_match: Option<u64>,
}

/// A version of an interface to be published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInterface {
    /// What both sides call it.
    pub name: String,
    /// The shape: types, endpoints, a schema, whatever both sides build against.
    pub text: String,
    /// Patterns of the files that have the interface; without any, those of the version before.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Who builds against it: paths, tasks or agents; without any, those of the version before.
    #[serde(default, rename = "for")]
    pub audience: Vec<String>,
    /// The task that owns the interface; of the first version only.
    #[serde(default)]
    pub task: Option<String>,
    /// The version that the caller has seen.
    #[serde(default)]
    pub if_match: Option<u64>,
}
