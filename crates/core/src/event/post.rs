//! The fields of events about what agents leave for each other.

use crate::ids::TaskId;
use crate::post::Recipient;
use serde::{Deserialize, Serialize};

/// Somebody says what is different now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeNoted {
    pub paths: Vec<String>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageSent {
    pub to: Recipient,
    pub text: String,
}

/// A new version of a pad.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PadWritten {
    pub scope: String,
    pub version: u64,
    pub how: PadChange,
    pub text: String,
}

/// What a new version of a pad does with its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PadChange {
    /// It comes after what is there.
    Append,
    /// It is the whole page.
    Replace,
    /// It replaces what stands below this heading.
    Section(String),
}

/// A version of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterfacePublished {
    pub name: String,
    pub version: u64,
    pub text: String,
    pub paths: Vec<String>,
    #[serde(rename = "for")]
    pub to: Vec<Recipient>,
    /// The task whose assignee publishes the next version; of the first version only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_task: Option<TaskId>,
}
