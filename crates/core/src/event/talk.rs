//! The fields of events about reviews, evidence, questions, agents and notes.

use super::ChangeNoted;
use crate::budget::{Per, Scope};
use crate::command::{ReportStatus, ReportedFile, ReportedIssue, ReportedLine};
use crate::decision::{
    Addressee, DecisionOption, DecisionPurpose, DecisionState, DecisionType, Proposal,
};
use crate::ids::{AgentId, DecisionId, Seq, TaskId};
use crate::land::{LandRecord, LeaseViolation};
use crate::observed::{GateSeen, RunReport, SharedWith};
use crate::role::Role;
use crate::status::Status;
use crate::task::{CheckState, Tier};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Work was submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewRequested {
    pub commit: Option<String>,
    pub branch: Option<String>,
    pub pr: Option<String>,
    pub reviewer: Option<AgentId>,
    pub round: u32,
    /// Changed files that the task neither declared nor leased.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undeclared: Vec<String>,
    /// Other live claims in the same work tree on the same branch: the check was shared with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<SharedWith>,
    /// What the land rule found. An event of an older comity, or one without git, does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub land: Option<LandRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrOpened {
    pub pr: String,
    pub branch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewTaken {
    pub reviewer: AgentId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewFeedback {
    /// `approved` or `changes_requested`.
    pub status: Status,
    pub notes: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approved {
    pub commit: Option<String>,
    pub round: u32,
    pub notes: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    /// The commit that has it.
    pub sha: Option<String>,
    pub branch: Option<String>,
    /// Why a person says that it is finished without a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
    /// What the merge added to files that others had leased, where the settings only warn of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<LeaseViolation>,
    /// What whoever works nearby should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeNoted>,
    /// The gates that comity ran on this commit, all of which passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateSeen>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Released {
    pub reason: Option<String>,
    /// The tag of a release. Without one, an agent let a task go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha: Option<String>,
    /// The tasks that are in the release and in none before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
}

impl Released {
    /// An agent lets a task go.
    pub fn task(reason: Option<String>) -> Released {
        Released { reason, tag: None, sha: None, tasks: Vec::new() }
    }
}

/// A gate was run, or somebody says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestsRun {
    pub gate: String,
    pub result: Verdict,
    pub tier: Tier,
    pub commit: Option<String>,
    pub round: u32,
    pub report: Option<String>,
    /// How the run went, where comity ran the gate itself. Its fields stand beside the others.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunReport>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    Fail,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateWaived {
    pub gate: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemChecked {
    pub item: String,
    pub state: CheckState,
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionAsked {
    pub decision: DecisionId,
    pub question: String,
    pub context: Option<String>,
    #[serde(rename = "type")]
    pub kind: DecisionType,
    pub options: Vec<DecisionOption>,
    pub default: Option<String>,
    pub to: Addressee,
    pub purpose: DecisionPurpose,
    pub expires_at: Option<Timestamp>,
    /// The task that the answer `yes` makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposes: Option<Box<Proposal>>,
    /// The budget that is used up, and for which period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Box<(Scope, Per)>>,
    /// The rule of the supervisor that asks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl DecisionAsked {
    /// A question to a person that takes any answer.
    pub fn free(decision: DecisionId, question: &str, context: Option<String>) -> DecisionAsked {
        DecisionAsked {
            decision,
            question: question.trim().to_owned(),
            context,
            kind: DecisionType::Free,
            options: Vec::new(),
            default: None,
            to: Addressee::Person,
            purpose: DecisionPurpose::Question,
            expires_at: None,
            proposes: None,
            budget: None,
            rule: None,
        }
    }
}

/// A question was answered, by somebody or by its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionAnswered {
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
    pub decision: DecisionId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRegistered {
    pub id: AgentId,
    pub roles: Vec<Role>,
    pub skills: Vec<String>,
}

/// An agent handed a result contract in. It tells what the agent says; what follows are events of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultReported {
    pub contract: String,
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
    pub subtask: Option<String>,
    /// Always `boundary`.
    pub reason: String,
}

/// A person goes on although events at the end of the log are gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventsLost {
    /// The places of the first and the last of them.
    pub first: Seq,
    pub last: Seq,
    /// The hash of the last one.
    pub lost_head: String,
}

/// A person says that the clock is right and the log was ahead of it. The log goes on from the clock's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockCorrected {
    /// The time of the log until then.
    pub log_time: Timestamp,
}

/// What was set for the whole repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepositorySet {
    /// Whether `A` and `a` are one name.
    pub fold_case: bool,
}

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
    pub reason: String,
    /// The last failure in its own words.
    pub error_log: Option<String>,
    pub attempts: u32,
    pub request: String,
}
