//! Commands: everything that a caller can ask to be changed.

mod lease;
mod memory;
mod report;
mod verb;
mod wish;

pub use lease::LeaseChange;
pub use memory::{Adoption, Made, MemoryChanges, NewDirective, NewMemory};
pub use report::{
    Extra, FileAction, IssueKind, REASON_KEY, ReportStatus, ReportedEvidence, ReportedFile,
    ReportedIssue, ReportedLine, TIP_LEVEL, WorkReport, grave_lines,
};
pub use verb::TaskVerb;
pub use wish::{
    ClaimWish, ConstraintChanges, GateVerdict, GivenAnswer, ImportedTask, NewTask, PlannedTask,
    Question, StepVerb, Submission, TaskAnswers,
};

use crate::directive_duration::End;
use crate::event::TaskUpdated;
use crate::ids::{AgentId, Fence, RepoName};
use crate::observed::Observed;
use crate::role::Role;
use crate::status::Status;
use crate::time::{Millis, Timestamp};
use crate::via::Via;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A command with who sends it and from where.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Who acts.
    pub actor: AgentId,
    /// The repository it is about.
    pub repo: RepoName,
    /// The grant it is made under.
    pub fence: Option<Fence>,
    /// The idempotency key.
    pub key: Option<String>,
    /// The process it comes from, as the door saw it.
    pub via: Via,
    /// The work tree it comes from.
    pub workspace: Option<String>,
    /// What is asked.
    pub command: Command,
    /// What the door saw; no caller can state it.
    pub observed: Observed,
}

/// What is asked. Ids are given as text and may be unambiguous prefixes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Make a task.
    CreateTask(Box<NewTask>),
    /// Make several tasks, all or none.
    CreateTasks {
        /// The tasks.
        tasks: Vec<PlannedTask>,
    },
    /// Take a task over from another system, in the state that it has there.
    ImportTask(Box<ImportedTask>),
    /// Change one task in several ways, all or none; each step sees what those before it did.
    Several {
        /// The task.
        id: String,
        /// What is done to it, in order.
        steps: Vec<Command>,
    },
    /// Set fields of a task.
    UpdateTask {
        /// The task.
        id: String,
        /// The fields.
        changes: Box<TaskUpdated>,
        /// Single constraints; the others stay as they are.
        #[serde(default)]
        constraints: ConstraintChanges,
        /// The version that the caller has seen.
        if_match: Option<u64>,
    },
    /// Add or remove a dependency.
    Depend {
        /// The task.
        id: String,
        /// What must be done first.
        on: String,
        /// Whether to remove it.
        remove: bool,
    },
    /// Reserve a task for an agent, or for nobody.
    Assign {
        /// The task.
        id: String,
        /// For whom.
        agent: Option<AgentId>,
    },
    /// Set a reference to another system.
    Link {
        /// The task.
        id: String,
        /// The system.
        provider: String,
        /// The kind of reference.
        key: String,
        /// The reference.
        value: String,
    },
    /// Take a task, or the best ready one.
    Claim(ClaimWish),
    /// Begin or go on with the work.
    Start {
        /// The task.
        id: String,
        /// The life of the claim, when one is taken on the way.
        #[serde(default, with = "crate::time::written")]
        ttl: Option<Millis>,
        /// What to say.
        reason: Option<String>,
    },
    /// Hand the work in.
    Submit(Submission),
    /// Do what takes nothing but a reason.
    Move {
        /// What is done.
        verb: TaskVerb,
        /// The task.
        id: String,
        /// Why, or what to say.
        reason: Option<String>,
    },
    /// Finish.
    Done {
        /// The task.
        id: String,
        /// The commit that has the work merged.
        merged: Option<String>,
        /// Whether a person says that the work was not merged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unmerged: bool,
        /// What to say.
        reason: Option<String>,
    },
    /// Stop until something is given.
    Block {
        /// The task.
        id: String,
        /// What is needed.
        needs: Option<String>,
        /// Questions that must be answered.
        questions: Vec<String>,
        /// When to try again without an answer.
        #[serde(default, with = "crate::time::written")]
        retry_after: Option<Millis>,
        /// What to say.
        reason: Option<String>,
    },
    /// Settle a checklist item.
    Check {
        /// The task.
        id: String,
        /// The item: its text or its place, counted from one.
        item: String,
        /// Whether to waive it.
        waive: bool,
        /// Why, when waived.
        reason: Option<String>,
    },
    /// Start or complete a step.
    Subtask {
        /// The task.
        id: String,
        /// Which of the two.
        step: StepVerb,
        /// The step.
        text: String,
    },
    /// Go to a status by whatever verb leads there.
    Transition {
        /// The task.
        id: String,
        /// The status.
        status: Status,
        /// Why.
        reason: Option<String>,
        /// What is needed, when blocked.
        needs: Option<String>,
    },
    /// Take, renew or end leases of the caller.
    Lease(LeaseChange),
    /// Do one of the lease commands for an owner that the caller names.
    LeaseFor {
        /// Whose leases they are.
        owner: AgentId,
        /// When the owner took or renewed them elsewhere; none is now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Timestamp>,
        /// The lease command.
        command: LeaseChange,
    },
    /// Apply what has expired and nothing else.
    Sweep,
    /// Register an agent or change one.
    AgentRegister {
        /// Who.
        id: AgentId,
        /// What it is there for; empty keeps what it has.
        roles: Vec<Role>,
        /// What it can do; empty keeps what it has.
        skills: Vec<String>,
    },
    /// Say what is known of an agent; whoever is new is registered.
    AgentDescribe {
        /// Who.
        id: AgentId,
        /// What it is there for; empty keeps what it has.
        roles: Vec<Role>,
        /// What it can do; none keeps what it has.
        skills: Option<Vec<String>>,
        /// Whatever else is known; null removes an entry.
        about: Map<String, Value>,
    },
    /// Hand a task over to a fresh context at the border of a subtask.
    Handoff {
        /// The task.
        id: String,
        /// The next subtask: its id or its goal.
        subtask: Option<String>,
    },
    /// Give a sign of life.
    Heartbeat,
    /// Record evidence for a gate.
    GateRecord {
        /// The task.
        id: String,
        /// The gate.
        gate: String,
        /// Whether it passed.
        pass: bool,
        /// Where the report is.
        report: Option<String>,
        /// The commit it is for.
        commit: Option<String>,
    },
    /// Let a gate pass, with a reason.
    GateWaive {
        /// The task.
        id: String,
        /// The gate.
        gate: String,
        /// Why.
        reason: String,
    },
    /// Ask a question.
    DecisionAsk(Box<Question>),
    /// Answer a question.
    DecisionAnswer {
        /// The decision.
        id: String,
        /// `KEY`, `KEY: text`, or any text.
        answer: String,
    },
    /// Remember something.
    MemoryWrite(Box<NewMemory>),
    /// Change what a memory says.
    MemoryUpdate {
        /// The memory.
        id: String,
        /// What is to be changed.
        changes: Box<MemoryChanges>,
    },
    /// Forget something.
    MemoryForget {
        /// The memory.
        id: String,
    },
    /// Give a standing instruction.
    DirectiveCreate(Box<NewDirective>),
    /// Switch a directive on or off.
    DirectiveToggle {
        /// The directive.
        id: String,
        /// On or off; without a word, the other than now.
        enabled: Option<bool>,
    },
    /// Say that a directive is followed now.
    DirectiveTrigger {
        /// The directive.
        id: String,
    },
    /// Take a directive back.
    DirectiveDelete {
        /// The directive.
        id: String,
    },
    /// Take a question, a memory or a directive over from another system. Only an import sends it: what it says
    /// about the origin is never read from a text.
    TakeOver(Box<Adoption>),
    /// Answer several questions of one task, all or none.
    AnswerTask(TaskAnswers),
    /// Say, as a person, what to do with a task that is stuck, and let it go on.
    Intervene {
        /// The task.
        id: String,
        /// What is said.
        feedback: String,
    },
    /// Say something worth keeping.
    Note {
        /// Its type.
        #[serde(rename = "type")]
        kind: String,
        /// What.
        text: String,
        /// The task it is about.
        task: Option<String>,
    },
    /// Append what the caller reports.
    EmitEvent {
        /// The event: `event` and any fields.
        event: Map<String, Value>,
    },
}

/// The types of a note.
pub const NOTE_TYPES: [&str; 6] =
    ["progress", "action", "decision", "blocker", "milestone", "discovery"];

impl Command {
    /// Returns what an idempotency key stands for: the command without what differs when the same thing is said again.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most commands are as they were given")]
    pub fn as_given(&self) -> Cow<'_, Command> {
        match self {
            // Said again later, the same words may mean another time.
            Command::DirectiveCreate(new) if new.duration.is_some() => {
                let mut given = new.clone();
                given.end = End::default();
                Cow::Owned(Command::DirectiveCreate(given))
            }
            // What is left until a deadline differs when the same thing is taken over again.
            Command::TakeOver(adoption) => {
                let mut given = adoption.clone();
                match &mut given.made {
                    Made::Decision(question) => question.expires = None,
                    Made::Memory(new) => new.expires = None,
                    Made::Directive(_) => {}
                }
                Cow::Owned(Command::TakeOver(given))
            }
            // Which questions are open differs when the same answer is sent again.
            Command::AnswerTask(given) if given.text.is_some() => {
                let (id, text) = (given.id.clone(), given.text.clone());
                Cow::Owned(Command::AnswerTask(TaskAnswers { id, text, ..TaskAnswers::default() }))
            }
            other => Cow::Borrowed(other),
        }
    }
}
