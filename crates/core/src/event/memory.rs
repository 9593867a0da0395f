//! The fields of events about memories and directives, and about things that were taken over.

use crate::directive::Trigger;
use crate::ids::{DecisionId, DirectiveId, MemoryId};
use crate::memory::MemoryType;
use crate::origin::Origin;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What a memory says from now on; of a change, the fields after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryWritten {
    pub memory: MemoryId,
    #[serde(rename = "type")]
    pub kind: MemoryType,
    pub scope: String,
    pub text: String,
    pub tags: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySuperseded {
    pub memory: MemoryId,
    pub by: MemoryId,
}

/// A memory is gone, because somebody said so or because its time was up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryGone {
    pub memory: MemoryId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectiveCreated {
    pub directive: DirectiveId,
    pub text: String,
    pub trigger: Trigger,
    pub priority: u64,
    pub description: Option<String>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectiveToggled {
    pub directive: DirectiveId,
    pub enabled: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectiveTriggered {
    pub directive: DirectiveId,
    /// Which of the three triggers it was.
    pub trigger: Trigger,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectiveDeleted {
    pub directive: DirectiveId,
    /// Why, when nobody asked for it.
    pub reason: Option<String>,
}

/// A question, a memory or a directive was made in another system. One of the three is named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TakenOver {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<DirectiveId>,
    pub origin: Box<Origin>,
}
