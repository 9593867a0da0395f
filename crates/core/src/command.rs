//! Commands: everything that a caller can ask to be changed.

mod lease;
mod memory;
mod merging;
mod post;
mod report;
mod run;
mod verb;
mod wish;

pub use lease::LeaseChange;
pub use memory::{Adoption, Made, MemoryChanges, NewDirective, NewMemory};
pub use merging::{Eject, MergeStep, NewRelease};
pub use post::{NewInterface, PadWrite};
pub use report::{
    Extra, FileAction, IssueKind, REASON_KEY, ReportStatus, ReportedEvidence, ReportedFile,
    ReportedIssue, ReportedLine, TIP_LEVEL, WorkReport, grave_lines,
};
pub use run::{
    CriterionEvidence, ModelCall, NewBudget, NewRun, RunChange, RunEnd, RunProgress, SeatChange,
    Supervision,
};
pub use verb::TaskVerb;
pub use wish::{
    ClaimWish, ConstraintChanges, GateVerdict, GivenAnswer, ImportedTask, NewTask, PlannedTask,
    Question, StepVerb, Submission, TaskAnswers,
};

use crate::directive_duration::End;
use crate::event::{EventsLost, TaskUpdated};
use crate::ids::{AgentId, Fence, RepoName};
use crate::observed::Observed;
use crate::outside::OutsideNote;
use crate::role::Role;
use crate::status::Status;
use crate::time::{Millis, Timestamp};
use crate::via::Via;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub actor: AgentId,
    pub repo: RepoName,
    /// The grant it is made under.
    pub fence: Option<Fence>,
    /// The idempotency key.
    pub key: Option<String>,
    /// The process it comes from, as the door saw it.
    pub via: Via,
    /// The work tree it comes from.
    pub workspace: Option<String>,
    pub command: Command,
    /// What the door saw; no caller can state it.
    pub observed: Observed,
}

/// What is asked. Ids are given as text and may be unambiguous prefixes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    CreateTask(Box<NewTask>),
    /// Make several tasks, all or none.
    CreateTasks {
        tasks: Vec<PlannedTask>,
    },
    /// Take a task over from another system, in the state that it has there.
    ImportTask(Box<ImportedTask>),
    /// Change tasks in several ways, all or none; each step sees what those before it did.
    Several {
        /// The tasks that the steps are about, as the steps name them.
        ids: Vec<String>,
        /// What is done to them, in order.
        steps: Vec<Command>,
    },
    UpdateTask {
        id: String,
        changes: Box<TaskUpdated>,
        /// Single constraints; the others stay as they are.
        #[serde(default)]
        constraints: ConstraintChanges,
        /// The version that the caller has seen.
        if_match: Option<u64>,
    },
    Depend {
        id: String,
        /// Tasks that must be done first.
        on: String,
        remove: bool,
        /// `on` is an exact id, and nobody has to have made that task yet. Other systems name tasks in any order.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        awaits_unknown: bool,
    },
    /// Reserve a task for an agent, or for nobody.
    Assign {
        id: String,
        agent: Option<AgentId>,
        /// An agent that nobody knows is registered, not refused.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new: bool,
    },
    /// Set a reference to another system.
    Link {
        id: String,
        provider: String,
        key: String,
        value: String,
    },
    /// Take a task, or the best ready one.
    Claim(ClaimWish),
    /// Begin or go on with the work.
    Start {
        id: String,
        /// The life of the claim, when one is taken on the way.
        #[serde(default, with = "crate::time::written")]
        ttl: Option<Millis>,
        reason: Option<String>,
    },
    Submit(Submission),
    /// Do what takes nothing but a reason.
    Move {
        verb: TaskVerb,
        id: String,
        reason: Option<String>,
    },
    /// Take the caller's last command on a task back, by the verb that the log says does so.
    Undo {
        id: String,
        /// The version that the log was read at: nobody acted since.
        version: u64,
        verb: TaskVerb,
    },
    Done {
        id: String,
        /// The commit that has the work merged.
        merged: Option<String>,
        /// Whether a person says that the work was not merged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unmerged: bool,
        reason: Option<String>,
    },
    /// Finish a task whose work comity merged: what `merge` and `done` do, all or none.
    Land {
        id: String,
        /// The commit that has the work merged.
        merged: String,
        reason: Option<String>,
    },
    /// Stop until something is given.
    Block {
        id: String,
        needs: Option<String>,
        /// Questions that must be answered.
        questions: Vec<String>,
        /// The time after which comity queues the task again.
        #[serde(default, with = "crate::time::written")]
        retry_after: Option<Millis>,
        reason: Option<String>,
    },
    /// Settle a checklist item.
    Check {
        id: String,
        /// The item: its text or its place, counted from one.
        item: String,
        waive: bool,
        reason: Option<String>,
    },
    Subtask {
        id: String,
        step: StepVerb,
        text: String,
    },
    /// Go to a status by whatever verb leads there.
    Transition {
        id: String,
        status: Status,
        reason: Option<String>,
        needs: Option<String>,
    },
    /// Take, renew or end leases of the caller.
    Lease(LeaseChange),
    /// Do one of the lease commands for an owner that the caller names.
    LeaseFor {
        owner: AgentId,
        /// When the owner took or renewed them elsewhere; none is now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Timestamp>,
        command: LeaseChange,
    },
    /// Apply what has expired and nothing else.
    Sweep,
    /// Say how paths are compared in the repository, whatever was set before.
    SetRepository {
        /// Whether `A` and `a` are one name.
        fold_case: bool,
        /// Leave what is set already as it is.
        #[serde(default)]
        keep: bool,
    },
    AgentRegister {
        id: AgentId,
        /// What it is there for; empty keeps what it has.
        roles: Vec<Role>,
        /// What it can do; empty keeps what it has.
        skills: Vec<String>,
    },
    /// Say what is known of an agent; whoever is new is registered.
    AgentDescribe {
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
        id: String,
        /// The next subtask: its id or its goal.
        subtask: Option<String>,
    },
    Heartbeat,
    GateRecord {
        id: String,
        gate: String,
        pass: bool,
        report: Option<String>,
        commit: Option<String>,
        /// A gate that neither the task nor the settings know is made, not refused.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new: bool,
    },
    GateWaive {
        id: String,
        gate: String,
        reason: String,
    },
    DecisionAsk(Box<Question>),
    DecisionAnswer {
        id: String,
        /// `KEY`, `KEY: text`, or any text.
        answer: String,
    },
    MemoryWrite(Box<NewMemory>),
    MemoryUpdate {
        id: String,
        changes: Box<MemoryChanges>,
    },
    MemoryForget {
        id: String,
    },
    DirectiveCreate(Box<NewDirective>),
    DirectiveToggle {
        id: String,
        /// On or off; without a word, the other than now.
        enabled: Option<bool>,
    },
    /// Say that a directive is followed now.
    DirectiveTrigger {
        id: String,
    },
    DirectiveDelete {
        id: String,
    },
    /// Take a question, a memory or a directive over from another system. Only an import sends it: what it says
    /// about the origin is never read from a text.
    TakeOver(Box<Adoption>),
    /// Answer several questions of one task, all or none.
    AnswerTask(TaskAnswers),
    /// Say, as a person, what to do with a task that is stuck, and let it go on.
    Intervene {
        id: String,
        feedback: String,
    },
    Note {
        #[serde(rename = "type")]
        kind: String,
        text: String,
        task: Option<String>,
    },
    /// Say what is different now, to those who work on these paths.
    NoteChange {
        text: String,
        paths: Vec<String>,
        task: Option<String>,
    },
    /// Send a short text to somebody.
    Tell {
        /// An agent, a task, a role, or `all`.
        to: String,
        text: String,
    },
    PadWrite(Box<PadWrite>),
    InterfacePublish(Box<NewInterface>),
    /// Keep in the log what happened to an issue of another system.
    Outside {
        task: Option<String>,
        note: OutsideNote,
    },
    EmitEvent {
        /// The event: `event` and any fields.
        event: Map<String, Value>,
    },
    /// Start an agent on a task.
    RunDispatch(Box<NewRun>),
    RunChange {
        id: String,
        change: RunChange,
    },
    /// Set what may be spent; without a limit, remove it.
    BudgetSet(NewBudget),
    /// Work through the merge queue.
    MergeStep(MergeStep),
    /// Say that merged work was given to its users.
    Release(NewRelease),
    /// Take or leave a seat. No door offers it as an operation: whoever sits there does.
    Seat(SeatChange),
    /// Do what a rule of the supervisor asks for, and say why. Only whoever has the seat does.
    Supervise(Box<Supervision>),
    /// Go on, as a person, after the store was damaged. No door offers it as an operation: whoever mends the store
    /// looks at it first.
    Mend(Mend),
}

/// What was wrong with the store, and is accepted now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mend {
    /// Events at the end of the log are gone.
    Loss(EventsLost),
    /// The time of the log is ahead of the clock.
    Clock,
}

pub const NOTE_TYPES: [&str; 6] =
    ["progress", "action", "decision", "blocker", "milestone", "discovery"];
/// The word for a note that those who work on its paths are told about.
pub const CHANGE_NOTE: &str = "change";

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
