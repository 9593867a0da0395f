//! Gates, evidence and the checklist.

use crate::ids::AgentId;
use crate::time::Timestamp;
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

word_enum! {
    /// How far a piece of evidence is to be trusted.
    pub enum Tier {
        /// An agent said so.
        Claimed => "claimed",
        /// comity ran it and saw the result.
        Observed => "observed",
        /// comity ran it in a clean checkout of the submitted commit.
        Verified => "verified",
    }
}

word_enum! {
    /// Whether a gate or a checklist item is met.
    #[derive(JsonSchema)]
    pub enum CheckState {
        /// Nothing is known yet.
        Open => "open",
        /// There is evidence.
        Met => "met",
        /// There is evidence against it.
        Failed => "failed",
        /// A critic or a person let it pass, with a reason.
        Waived => "waived",
    }
}

impl CheckState {
    /// Tells whether approval may pass it.
    pub fn is_settled(self) -> bool {
        matches!(self, CheckState::Met | CheckState::Waived)
    }
}

/// One item of the checklist ("definition of done").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChecklistItem {
    /// What is to be true.
    pub text: String,
    pub state: CheckState,
    pub by: Option<AgentId>,
    pub at: Option<Timestamp>,
}

impl ChecklistItem {
    pub fn open(text: &str) -> ChecklistItem {
        ChecklistItem { text: text.to_owned(), state: CheckState::Open, by: None, at: None }
    }
}

/// The last piece of evidence for a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub pass: bool,
    pub tier: Tier,
    pub commit: Option<String>,
    pub round: u32,
    pub by: AgentId,
    pub at: Timestamp,
    pub report: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiver {
    pub by: AgentId,
    pub at: Timestamp,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub name: String,
    /// Whether this task asks for it (config may ask for it too).
    pub required: bool,
    pub evidence: Option<Evidence>,
    pub waiver: Option<Waiver>,
    /// Failures in the present round.
    pub failures: u32,
}

impl Gate {
    /// Makes a gate that nothing is known of.
    pub fn open(name: &str, required: bool) -> Gate {
        Gate { name: name.to_owned(), required, evidence: None, waiver: None, failures: 0 }
    }
}
