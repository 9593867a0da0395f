//! The fields of events about reviews, evidence, questions, agents and notes.

use crate::command::{ReportStatus, ReportedFile, ReportedIssue, ReportedLine};
use crate::decision::{Addressee, DecisionOption, DecisionPurpose, DecisionState, DecisionType};
use crate::ids::{AgentId, DecisionId};
use crate::observed::SharedWith;
use crate::role::Role;
use crate::status::Status;
use crate::task::{CheckState, Tier};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Work was submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewRequested {
    /// The submitted commit.
    pub commit: Option<String>,
    /// The branch of the task.
    pub branch: Option<String>,
    /// The pull request.
    pub pr: Option<String>,
    /// The agent that should review the work.
    pub reviewer: Option<AgentId>,
    /// The round of work.
    pub round: u32,
    /// Changed files that the task neither declared nor leased.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undeclared: Vec<String>,
    /// Other live claims in the same work tree on the same branch: the check was shared with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<SharedWith>,
}

/// A pull request was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrOpened {
    /// Where.
    pub pr: String,
    /// The branch of the task.
    pub branch: Option<String>,
}

/// A critic took a review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewTaken {
    pub reviewer: AgentId,
}

/// A critic said what is to be changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewFeedback {
    /// `approved` or `changes_requested`.
    pub status: Status,
    /// What was said.
    pub notes: Option<String>,
}

/// Work was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approved {
    /// The commit that was accepted.
    pub commit: Option<String>,
    /// The round of work.
    pub round: u32,
    /// What was said.
    pub notes: Option<String>,
}

/// Work was merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    /// The commit that has it.
    pub sha: Option<String>,
    /// The branch of the task.
    pub branch: Option<String>,
    /// Why a person says that it is finished without a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
}

/// A holder gave a task back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Released {
    /// Why.
    pub reason: Option<String>,
}

/// A gate was run, or somebody says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestsRun {
    pub gate: String,
    /// `pass` or `fail`.
    pub result: Verdict,
    /// How far it is to be trusted.
    pub tier: Tier,
    /// The commit it is for.
    pub commit: Option<String>,
    /// The round of work it is for.
    pub round: u32,
    /// Where the report is.
    pub report: Option<String>,
}

/// Passed or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Passed.
    Pass,
    /// Failed.
    Fail,
}

/// A gate was waived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateWaived {
    pub gate: String,
    /// Why.
    pub reason: String,
}

/// A checklist item was settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemChecked {
    /// The item's text.
    pub item: String,
    /// Met or waived.
    pub state: CheckState,
    /// Why, when waived.
    pub reason: Option<String>,
}

/// A step inside a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subtask {
    /// `<task>-NN`.
    pub subtask: String,
    /// What is done in it.
    pub notes: String,
}

/// A question was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionAsked {
    /// Its id.
    pub decision: DecisionId,
    pub question: String,
    /// What a reader must know to answer.
    pub context: Option<String>,
    /// The kind of answer.
    #[serde(rename = "type")]
    pub kind: DecisionType,
    pub options: Vec<DecisionOption>,
    /// The answer that comity gives at the deadline.
    pub default: Option<String>,
    /// Who is asked.
    pub to: Addressee,
    /// What the answer sets in motion.
    pub purpose: DecisionPurpose,
    /// The deadline.
    pub expires_at: Option<Timestamp>,
}

/// A question was answered, by somebody or by its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionAnswered {
    /// Its id.
    pub decision: DecisionId,
    /// The option, or the free answer.
    pub answer: String,
    /// What was said beside it.
    pub text: Option<String>,
    /// Answered or defaulted.
    pub state: DecisionState,
}

/// A question's time was up without a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionExpired {
    /// Its id.
    pub decision: DecisionId,
}

/// An agent was registered or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRegistered {
    pub id: AgentId,
    /// What it is there for.
    pub roles: Vec<Role>,
    /// What it can do.
    pub skills: Vec<String>,
}

/// An agent handed a result contract in. It tells what the agent says; what follows are events of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultReported {
    /// The kind of contract.
    pub contract: String,
    /// How the work ended.
    pub status: ReportStatus,
    /// What the agent says it changed.
    pub files_modified: Vec<ReportedFile>,
    /// What the agent says it did.
    pub log: Vec<ReportedLine>,
    /// What the agent could not settle.
    pub issues: Vec<ReportedIssue>,
    /// What it learnt that is of use elsewhere.
    pub tips: Vec<String>,
    /// When it ended, in the agent's words.
    pub completed_at: Option<String>,
    /// Fields that the contract does not know.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub other: Map<String, Value>,
    /// The order of the keys, if it differs from the protocol's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// Something was said about an agent that is neither role nor skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentDescribed {
    pub id: AgentId,
    /// What; null removes an entry.
    pub about: Map<String, Value>,
}

/// The work goes on in a fresh context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextReset {
    /// The next subtask, when it is known.
    pub subtask: Option<String>,
    /// Always `boundary`.
    pub reason: String,
}

/// Somebody said something worth keeping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// `progress`, `action`, `decision`, `blocker`, `milestone` or `discovery`.
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
}

/// A task gave up trying by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Always `blocked`.
    pub status: Status,
    /// What went wrong, in short.
    pub reason: String,
    /// The last failure in its own words.
    pub error_log: Option<String>,
    /// Attempts used.
    pub attempts: u32,
    /// What is asked for.
    pub request: String,
}
