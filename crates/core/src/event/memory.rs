//! The fields of events about memories and directives, and about things that were taken over.

use crate::directive::Trigger;
use crate::ids::{DecisionId, DirectiveId, MemoryId};
use crate::memory::MemoryType;
use crate::origin::Origin;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Something is to be remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryWritten {
    /// Its id.
    pub memory: MemoryId,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// What it is about.
    pub scope: String,
    /// What is remembered.
    pub text: String,
    /// The labels.
    pub tags: Vec<String>,
    /// When it is forgotten by itself.
    pub expires_at: Option<Timestamp>,
}

/// A memory says something else from now on; the fields are those after the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryUpdated {
    /// Its id.
    pub memory: MemoryId,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// What it is about.
    pub scope: String,
    /// What is remembered.
    pub text: String,
    /// The labels.
    pub tags: Vec<String>,
    /// When it is forgotten by itself.
    pub expires_at: Option<Timestamp>,
}

/// A memory was replaced by a newer one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySuperseded {
    /// Its id.
    pub memory: MemoryId,
    /// What replaced it.
    pub by: MemoryId,
}

/// A memory is gone, because somebody said so or because its time was up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryGone {
    /// Its id.
    pub memory: MemoryId,
}

/// A standing instruction was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectiveCreated {
    /// Its id.
    pub directive: DirectiveId,
    /// What is to be done.
    pub text: String,
    pub trigger: Trigger,
    /// Directives with a higher priority come first.
    pub priority: u64,
    /// Why, or how.
    pub description: Option<String>,
    /// When it stops to count.
    pub expires_at: Option<Timestamp>,
}

/// A standing instruction was switched on or off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectiveToggled {
    /// Its id.
    pub directive: DirectiveId,
    /// Whether it counts from now on.
    pub enabled: bool,
}

/// A standing instruction is followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectiveTriggered {
    /// Its id.
    pub directive: DirectiveId,
    /// Which of the three triggers it was.
    pub trigger: Trigger,
}

/// A standing instruction is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectiveDeleted {
    /// Its id.
    pub directive: DirectiveId,
    /// Why, when nobody asked for it.
    pub reason: Option<String>,
}

/// A question, a memory or a directive was made in another system. One of the three is named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TakenOver {
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<DirectiveId>,
    /// What it is over there.
    pub origin: Box<Origin>,
}
