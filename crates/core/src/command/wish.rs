//! The larger parts of commands.

use super::report::WorkReport;
use crate::decision::{Addressee, DecisionOption, DecisionType};
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
    /// A given id.
    pub id: Option<String>,
    /// The title.
    pub title: String,
    /// Free text.
    pub description: String,
    /// For example `implementation`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// A planner's estimate.
    pub complexity: Option<u32>,
    /// What it delivers.
    pub deliverable: Deliverable,
    /// How urgent it is.
    pub priority: Option<Priority>,
    /// Free words.
    pub labels: Vec<String>,
    /// Who may claim it.
    pub role: Option<Role>,
    /// What must be done first.
    pub depends_on: Vec<String>,
    /// Outside reasons not to start.
    pub blockers: Vec<String>,
    /// Patterns of its files.
    pub files: Vec<String>,
    /// What the result must satisfy.
    pub requirements: Vec<String>,
    /// The checklist.
    pub dod: Vec<String>,
    /// The gates.
    pub gates: Vec<String>,
    /// Whatever else the mission should carry.
    pub context: Map<String, Value>,
    /// The constraints.
    pub constraints: Constraints,
    /// How long the work may take.
    #[serde(default, with = "crate::time::written")]
    #[schemars(with = "Option<String>")]
    pub timeout: Option<Millis>,
    /// Its epic.
    pub epic: Option<String>,
    /// Its requirements document.
    pub prd: Option<String>,
    /// Its initiative.
    pub initiative: Option<String>,
    /// The task it is a part of.
    pub parent: Option<String>,
    /// For whom it is reserved.
    pub assignee: Option<AgentId>,
    /// What a generated id starts with; its number then has at least three digits.
    pub id_prefix: Option<String>,
    /// The text that it is made of, such as an issue's body, as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// References to other systems.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<TaskLinked>,
}

/// A task of another system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImportedTask {
    /// The task; its id must be free.
    pub task: NewTask,
    /// The state it has there; none is queued.
    pub status: Option<crate::status::Status>,
    /// What it needs, when blocked.
    pub needs: Option<String>,
    /// The branch of the work.
    pub branch: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// What is said there about its state.
    pub reason: Option<String>,
    /// What was said about it there, oldest first.
    pub notes: Vec<String>,
    /// Who did the work when nobody is named who could do more of it here.
    pub worker: Option<AgentId>,
    /// The blocker of a task that is here already: an import by somebody who may not finish it left it there. The
    /// task is freed of it and brought to its state.
    pub kept_back: Option<String>,
}

/// One of several tasks to be made together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    /// What the others call it in their dependencies; it is not its id.
    #[serde(default)]
    pub key: Option<String>,
    /// The task.
    pub task: NewTask,
}

/// What to claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClaimWish {
    /// The task; without one, the best ready one.
    pub id: Option<String>,
    /// Only tasks of this role.
    pub role: Option<Role>,
    /// Only tasks with one of these labels.
    pub skills: Vec<String>,
    /// The life of the claim.
    #[serde(default, with = "crate::time::written")]
    #[schemars(with = "Option<String>")]
    pub ttl: Option<Millis>,
    /// Whether to leave the declared files unleased.
    pub no_lease: bool,
    /// Whether the work begins at once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub start: bool,
    /// Who gets it, when that is not the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<AgentId>,
}

/// Constraints to be set one by one, against the task as it is when the command is decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConstraintChanges {
    /// Most files that may be changed; 0 for any.
    pub max_files: Option<u32>,
    /// Whether commits are forbidden.
    pub no_git_commit: Option<bool>,
    /// Whether new dependencies are forbidden.
    pub no_new_deps: Option<bool>,
    /// Files that may be deleted.
    pub allow_delete: Option<Vec<String>>,
}

impl ConstraintChanges {
    /// Tells whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        *self == ConstraintChanges::default()
    }

    /// Returns the constraints with the changes made.
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
    /// The task.
    pub id: String,
    /// The commit.
    pub commit: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// The pull request.
    pub pr: Option<String>,
    /// Who is wanted as reviewer.
    pub reviewer: Option<AgentId>,
    /// Whether the leases outlive the claim.
    pub keep_leases: bool,
    /// What to say.
    pub reason: Option<String>,
    /// Whether the caller says that there is nothing to change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// Evidence for gates, recorded for the submitted commit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateVerdict>,
    /// The result contract that comes with it; one that is not completed stops the task instead.
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
    /// The question.
    pub question: String,
    /// The task it is about.
    #[serde(default)]
    pub task: Option<String>,
    /// The options.
    #[serde(default)]
    pub options: Vec<DecisionOption>,
    /// The kind of answer; without one, by the options.
    #[serde(default, rename = "type")]
    pub kind: Option<DecisionType>,
    /// What one must know to answer it.
    #[serde(default)]
    pub context: Option<String>,
    /// The answer that is given at the deadline.
    #[serde(default)]
    pub default: Option<String>,
    /// Who is asked; without one, a person.
    #[serde(default)]
    pub to: Option<Addressee>,
    /// The time until the deadline.
    #[serde(default, with = "crate::time::written")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Millis>,
}

/// Answers to several questions of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskAnswers {
    /// The task.
    pub id: String,
    /// The answers.
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
    /// The decision.
    pub decision: String,
    /// `KEY`, `KEY: text`, or any text.
    pub answer: String,
}
