//! Memories and directives in the shapes that users and programs hold on to.

use crate::directive::{Directive, Trigger};
use crate::memory::{Memory, MemoryType, Source};
use crate::origin::Origin;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryView {
    pub id: String,
    pub r#type: MemoryType,
    pub scope: String,
    pub text: String,
    pub tags: Vec<String>,
    pub source: Source,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub superseded_by: Option<String>,
    /// Present only if it was imported from another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// DIRECTIVE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectiveView {
    pub id: String,
    pub text: String,
    pub trigger: Trigger,
    pub priority: u64,
    pub enabled: bool,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_triggered_at: Option<Timestamp>,
    /// Present only if it was imported from another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

pub fn memory(memory: &Memory) -> MemoryView {
    MemoryView {
        id: memory.id.to_string(),
        r#type: memory.kind,
        scope: memory.scope.clone(),
        text: memory.text.clone(),
        tags: memory.tags.clone(),
        source: memory.source.clone(),
        created_at: memory.created_at,
        expires_at: memory.expires_at,
        superseded_by: memory.superseded_by.map(|id| id.to_string()),
        origin: memory.origin.as_deref().cloned(),
    }
}

pub fn directive(directive: &Directive) -> DirectiveView {
    DirectiveView {
        id: directive.id.to_string(),
        text: directive.text.clone(),
        trigger: directive.trigger,
        priority: directive.priority,
        enabled: directive.enabled,
        description: directive.description.clone(),
        created_at: directive.created_at,
        expires_at: directive.expires_at,
        last_triggered_at: directive.last_triggered_at,
        origin: directive.origin.as_deref().cloned(),
    }
}
