//! What callers say about pads, interfaces and briefs.

use comity_core::command::{CHANGE_NOTE, Command, PadWrite};
use comity_core::event::PadChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A note for the log, or a change that those who work on its paths are told about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteNote {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
    #[serde(default)]
    pub task: Option<String>,
    /// Of a change: patterns of the paths that it is about. Another note has none.
    #[serde(default)]
    pub paths: Vec<String>,
}

impl From<WriteNote> for Command {
    fn from(WriteNote { kind, text, task, paths }: WriteNote) -> Command {
        if kind == CHANGE_NOTE {
            Command::NoteChange { text, paths, task }
        } else {
            Command::Note { kind, text, task }
        }
    }
}

/// A pad.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PadOf {
    /// An initiative, an epic, or a task, whose nearest parent, epic or initiative it is. Without a scope, the pad of the
    /// task that the caller holds, or the one of everybody.
    pub scope: Option<String>,
}

/// A text for the end of a pad.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendToPad {
    pub text: String,
    /// An initiative, an epic or a task.
    #[serde(default)]
    pub scope: Option<String>,
}

/// A new text of a pad, or of one section of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WritePad {
    pub text: String,
    /// An initiative, an epic or a task.
    #[serde(default)]
    pub scope: Option<String>,
    /// The heading below which the text goes; what stands there is replaced.
    #[serde(default)]
    pub section: Option<String>,
    /// The version that the caller has seen; needed to replace a whole page.
    #[serde(default)]
    pub if_match: Option<u64>,
}

impl From<AppendToPad> for Command {
    fn from(AppendToPad { text, scope }: AppendToPad) -> Command {
        let given = PadWrite { scope, text, how: PadChange::Append, if_match: None };
        Command::PadWrite(Box::new(given))
    }
}

impl From<WritePad> for Command {
    fn from(WritePad { text, scope, section, if_match }: WritePad) -> Command {
        let how = section.map_or(PadChange::Replace, PadChange::Section);
        Command::PadWrite(Box::new(PadWrite { scope, text, how, if_match }))
    }
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowInterface {
    pub name: String,
    /// The version; without one, the newest.
    #[serde(default)]
    pub version: Option<u64>,
    /// Also what differs from the version before.
    #[serde(default)]
    pub diff: bool,
}

/// Which interfaces are wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ListInterfaces {
    /// Only those that are about this path, or for whoever works there.
    pub path: Option<String>,
    pub limit: Option<usize>,
    pub after: Option<String>,
}

/// What a brief is wanted for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AskBrief {
    /// A task.
    pub task: Option<String>,
    /// Paths or patterns, relative to the root. With neither, what the caller holds.
    pub paths: Vec<String>,
    /// How many entries; without a number, the twelve that come with a claim.
    pub limit: Option<usize>,
}
