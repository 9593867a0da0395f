//! Standing instructions: what is to be done when a supervisor idles, starts or stops.

use crate::ids::{DirectiveId, RepoName};
use crate::limits::DIRECTIVE_KEPT;
use crate::origin::Origin;
use crate::time::Timestamp;
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

word_enum! {
    /// When a directive is to be followed.
    #[derive(Default, JsonSchema)]
    pub enum Trigger as "trigger" {
        /// Whenever there is nothing else to do.
        #[default]
        Idle => "idle",
        /// When a supervisor starts.
        Startup => "startup",
        /// When it stops.
        Shutdown => "shutdown",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Directive {
    pub repo: RepoName,
    pub id: DirectiveId,
    pub text: String,
    pub trigger: Trigger,
    /// Directives with a higher priority come first.
    pub priority: u64,
    pub enabled: bool,
    pub description: Option<String>,
    pub created_at: Timestamp,
    /// When it stops to count.
    pub expires_at: Option<Timestamp>,
    pub last_triggered_at: Option<Timestamp>,
    /// What it is in the system that it was taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

impl Directive {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    pub fn is_active(&self, now: Timestamp) -> bool {
        self.enabled && !self.is_expired(now)
    }

    /// Returns when it is removed: a while after it expired, so that one can still see what counted.
    pub fn removed_at(&self) -> Option<Timestamp> {
        self.expires_at.map(|at| at.plus(DIRECTIVE_KEPT))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectiveFilter {
    pub trigger: Option<Trigger>,
    /// Only directives that apply now, highest priority first.
    pub active: bool,
}

impl DirectiveFilter {
    pub fn fits(&self, directive: &Directive, now: Timestamp) -> bool {
        self.trigger.is_none_or(|trigger| directive.trigger == trigger)
            && (!self.active || directive.is_active(now))
    }
}
