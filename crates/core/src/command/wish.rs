//! The larger parts of commands.

use super::report::WorkReport;
use crate::decision::{Addressee, DecisionOption, DecisionType, Proposal};
use crate::event::TaskLinked;
use crate::ids::AgentId;
use crate::role::Role;
use crate::task::{Constraints, Deliverable, Priority};
use crate::time::Millis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A task to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewTask {
    /// The id; without one, comity uses the next number.
    pub id: Option<String>,
    pub title: String,
    pub description: String,
    /// For example `implementation`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// A planner's estimate.
    pub complexity: Option<u32>,
    /// What the task delivers.
    pub deliverable: Deliverable,
    /// How urgent the task is.
    pub priority: Option<Priority>,
    pub labels: Vec<String>,
    /// The role that may claim the task.
    pub role: Option<Role>,
    /// Tasks that must be done first.
    pub depends_on: Vec<String>,
    /// Outside reasons not to start.
    pub blockers: Vec<String>,
    /// Patterns of the files that the work changes.
    pub files: Vec<String>,
    /// What the result must satisfy.
    pub requirements: Vec<String>,
    /// The checklist.
    pub dod: Vec<String>,
    /// The gates that the task must pass.
    pub gates: Vec<String>,
    /// Further entries for the mission.
    pub context: Map<String, Value>,
    /// What the work may change.
    pub constraints: Constraints,
    /// How long the work may take.
    #[serde(default, with = "crate::time::written")]
    #[schemars(with = "Option<String>")]
    pub timeout: Option<Millis>,
    /// The epic that the task belongs to.
    pub epic: Option<String>,
    /// The requirements document that the task belongs to.
    pub prd: Option<String>,
    /// The initiative that the task belongs to.
    pub initiative: Option<String>,
    /// The task that this one is a part of.
    pub parent: Option<String>,
    /// The agent that the task is reserved for.
    pub assignee: Option<AgentId>,
    /// Register an assignee that nobody knows; without this, comity refuses it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// The prefix of a generated id; its number then has at least three digits.
    pub id_prefix: Option<String>,
    /// Dependencies are exact ids and may name tasks that nobody has made yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awaits_unknown: bool,
    /// The original text, such as the body of an issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// References to other systems.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<TaskLinked>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImportedTask {
    /// The task; its id must be free.
    pub task: NewTask,
    /// The state it has there; none is queued.
    pub status: Option<crate::status::Status>,
    /// What it needs, when blocked.
    pub needs: Option<String>,
    pub branch: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// What is said there about its state.
    pub reason: Option<String>,
    /// What was said about it there, oldest first.
    pub notes: Vec<String>,
    /// Who did the work when nobody is named who could do more of it here.
    pub worker: Option<AgentId>,
    /// Whether the caller asks for the state, and not only for the task.
    pub with_state: bool,
    /// Whether the task is here already: an import by somebody who could not take over its state has kept it back, and
    /// it is brought to its state now.
    pub settles: bool,
}

/// One of several tasks to be made together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    /// The name that other tasks of the plan use in their dependencies; it is not the id.
    #[serde(default)]
    pub key: Option<String>,
    pub task: NewTask,
}

/// What to claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClaimWish {
    /// The task; without an id, the best ready task.
    pub id: Option<String>,
    /// Only tasks for this role.
    pub role: Option<Role>,
    /// Only tasks with one of these labels.
    pub skills: Vec<String>,
    /// How long the claim lives without a sign of life.
    #[serde(default, with = "crate::time::written")]
    #[schemars(with = "Option<String>")]
    pub ttl: Option<Millis>,
    /// Do not lease the declared files.
    pub no_lease: bool,
    /// Start the work at once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub start: bool,
    /// The agent that gets the task, if it is not the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<AgentId>,
}

/// Constraints to be set one by one, against the task as it is when the command is decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConstraintChanges {
    /// The largest number of files that may change; 0 for any number.
    pub max_files: Option<u32>,
    /// Whether commits are forbidden.
    pub no_git_commit: Option<bool>,
    /// Whether new dependencies are forbidden.
    pub no_new_deps: Option<bool>,
    /// Files that may be deleted.
    pub allow_delete: Option<Vec<String>>,
}

impl ConstraintChanges {
    pub fn is_empty(&self) -> bool {
        *self == ConstraintChanges::default()
    }

    pub fn applied_to(&self, mut to: Constraints) -> Constraints {
        if let Some(most) = self.max_files {
            to.max_files = Some(most).filter(|most| *most > 0);
        }
        to.no_git_commit = self.no_git_commit.unwrap_or(to.no_git_commit);
        to.no_new_deps = self.no_new_deps.unwrap_or(to.no_new_deps);
        if let Some(globs) = &self.allow_delete {
            to.allow_delete.clone_from(globs);
        }
        to
    }
}

/// Work that is handed in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Submission {
    pub id: String,
    pub commit: Option<String>,
    /// The branch of the task.
    pub branch: Option<String>,
    /// The pull request.
    pub pr: Option<String>,
    /// The agent that should review the work.
    pub reviewer: Option<AgentId>,
    /// Keep the leases during the review.
    pub keep_leases: bool,
    /// What the log should say about it.
    pub reason: Option<String>,
    /// Submit without any change, with a reason.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// Evidence for gates; it is recorded for the submitted commit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateVerdict>,
    /// Make gates that neither the task nor the settings know; without this, comity refuses them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// The result contract of the work; a result that is not completed blocks or fails the task instead.
    pub report: Option<Box<WorkReport>>,
}

/// What the caller says about a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateVerdict {
    pub gate: String,
    pub pass: bool,
}

/// What happens to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepVerb {
    /// It begins.
    Start,
    /// It is complete.
    Complete,
}

/// A question to be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub question: String,
    /// The task it is about.
    #[serde(default)]
    pub task: Option<String>,
    #[serde(default)]
    pub options: Vec<DecisionOption>,
    /// The type; without one, a question with options is a choice, any other is free.
    #[serde(default, rename = "type")]
    pub kind: Option<DecisionType>,
    /// What a reader must know to answer.
    #[serde(default)]
    pub context: Option<String>,
    /// The answer that comity gives at the deadline.
    #[serde(default)]
    pub default: Option<String>,
    /// Who should answer; without one, a person.
    #[serde(default)]
    pub to: Option<Addressee>,
    /// The time until the deadline.
    #[serde(default, with = "crate::time::written")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Millis>,
    /// The task that the answer `yes` makes. Contracts give it; a caller makes a task by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub proposes: Option<Box<Proposal>>,
}

/// Answers to several questions of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskAnswers {
    pub id: String,
    pub answers: Vec<GivenAnswer>,
    /// What was said that belongs to no single question.
    #[serde(default)]
    pub notes: Option<String>,
    /// The whole as it was said, where the answers were read from one text: what a key stands for.
    #[serde(default)]
    pub text: Option<String>,
}

/// The answer to one question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenAnswer {
    pub decision: String,
    /// `KEY`, `KEY: text`, or any text.
    pub answer: String,
}
