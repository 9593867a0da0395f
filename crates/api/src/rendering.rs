//! A task as another protocol writes it.

use comity_protocol::ace::Generation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form in which a task is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rendering {
    /// Neo.mjs: the contract of the task.
    NeoTask,
    /// Neo.mjs: the contract of its result.
    NeoResult,
    /// Neo.mjs: the report of what the task is stuck on.
    NeoError,
    /// ACE: the instructions for a worker.
    AceTask,
    /// ACE: the comment that says who has taken the task.
    AceClaim,
    /// ACE: the comment that asks its questions.
    AceBlocked,
    /// ACE: the comment that says that the task goes on.
    AceResuming,
    /// ACE: the comment that names its pull request.
    AceDone,
    /// ACE: the comment that says why it failed.
    AceFailed,
}

impl Rendering {
    /// Every one, with the word that users write.
    pub const ALL: [(Rendering, &'static str); 9] = [
        (Rendering::NeoTask, "neo-task"),
        (Rendering::NeoResult, "neo-result"),
        (Rendering::NeoError, "neo-error"),
        (Rendering::AceTask, "ace-task"),
        (Rendering::AceClaim, "ace-claim"),
        (Rendering::AceBlocked, "ace-blocked"),
        (Rendering::AceResuming, "ace-resuming"),
        (Rendering::AceDone, "ace-done"),
        (Rendering::AceFailed, "ace-failed"),
    ];

    pub fn as_str(self) -> &'static str {
        Rendering::ALL.iter().find(|(known, _)| *known == self).map_or("", |(_, word)| word)
    }

    pub fn parse(text: &str) -> Option<Rendering> {
        Rendering::ALL.iter().find(|(_, word)| *word == text).map(|(known, _)| *known)
    }
}

/// A task to be written as another protocol writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenderTask {
    pub id: String,
    pub kind: Rendering,
    /// The form of ACE's comments to write.
    #[serde(default)]
    pub generation: Generation,
}
