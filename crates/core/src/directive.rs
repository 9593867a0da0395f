//! Standing instructions: what is to be done when a supervisor idles, starts or stops.

use crate::ids::{DirectiveId, RepoName, shorten};
use crate::limits::DIRECTIVE_KEPT;
use crate::origin::Origin;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// When a directive is to be followed.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Whenever there is nothing else to do.
    #[default]
    Idle,
    /// When a supervisor starts.
    Startup,
    /// When it stops.
    Shutdown,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Trigger; 3] = [Trigger::Idle, Trigger::Startup, Trigger::Shutdown];

    /// Returns the word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Trigger::Idle => "idle",
            Trigger::Startup => "startup",
            Trigger::Shutdown => "shutdown",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Result<Trigger, Refusal> {
        let word = text.trim().to_ascii_lowercase();
        Trigger::ALL.into_iter().find(|trigger| trigger.as_str() == word).ok_or_else(|| {
            Refusal::input(format!("trigger {:?} is not known", shorten(text)))
                .hint("use one of: idle, startup, shutdown")
        })
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A standing instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Directive {
    /// The repository it belongs to.
    pub repo: RepoName,
    pub id: DirectiveId,
    /// What is to be done.
    pub text: String,
    pub trigger: Trigger,
    /// Directives with a higher priority come first.
    pub priority: u64,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Why, or how.
    pub description: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops to count.
    pub expires_at: Option<Timestamp>,
    /// When it was last followed.
    pub last_triggered_at: Option<Timestamp>,
    /// What it is in the system that it was taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

impl Directive {
    /// Tells whether its time is up.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Tells whether it counts now.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.enabled && !self.is_expired(now)
    }

    /// Returns when it is removed: a while after it expired, so that one can still see what counted.
    pub fn removed_at(&self) -> Option<Timestamp> {
        self.expires_at.map(|at| at.plus(DIRECTIVE_KEPT))
    }
}

/// Which directives are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectiveFilter {
    /// For this trigger.
    pub trigger: Option<Trigger>,
    /// Only directives that apply now, highest priority first.
    pub active: bool,
}

impl DirectiveFilter {
    /// Tells whether a directive is wanted.
    pub fn fits(&self, directive: &Directive, now: Timestamp) -> bool {
        self.trigger.is_none_or(|trigger| directive.trigger == trigger)
            && (!self.active || directive.is_active(now))
    }
}
