//! Gates, evidence and the checklist.

use crate::ids::AgentId;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a piece of evidence is to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// An agent said so.
    Claimed,
    /// comity ran it and saw the result.
    Observed,
    /// comity ran it in a clean checkout of the submitted commit.
    Verified,
}

impl Tier {
    /// Returns the word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Claimed => "claimed",
            Tier::Observed => "observed",
            Tier::Verified => "verified",
        }
    }
}

/// Whether a gate or a checklist item is met.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Nothing is known yet.
    Open,
    /// There is evidence.
    Met,
    /// There is evidence against it.
    Failed,
    /// A critic or a person let it pass, with a reason.
    Waived,
}

impl CheckState {
    /// Returns the word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckState::Open => "open",
            CheckState::Met => "met",
            CheckState::Failed => "failed",
            CheckState::Waived => "waived",
        }
    }

    /// Tells whether approval may pass it.
    pub fn is_settled(self) -> bool {
        matches!(self, CheckState::Met | CheckState::Waived)
    }
}

/// One item of the checklist ("definition of done").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChecklistItem {
    /// What is to be true.
    pub text: String,
    /// Whether it is.
    pub state: CheckState,
    /// Who said so.
    pub by: Option<AgentId>,
    pub at: Option<Timestamp>,
}

/// The last piece of evidence for a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Whether the gate was passed.
    pub pass: bool,
    /// How far it is to be trusted.
    pub tier: Tier,
    /// The commit it was recorded for.
    pub commit: Option<String>,
    /// The round of work it was recorded in.
    pub round: u32,
    /// Who recorded it.
    pub by: AgentId,
    pub at: Timestamp,
    /// Where the report is.
    pub report: Option<String>,
}

/// A reasoned exception from a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiver {
    /// Who waived it.
    pub by: AgentId,
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}

/// A gate of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub name: String,
    /// Whether this task asks for it (config may ask for it too).
    pub required: bool,
    /// The last record.
    pub evidence: Option<Evidence>,
    /// The exception, when there is one.
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
