//! What a caller says. Nothing that a door has to observe can be said here: commits, merges, evidence tiers and the
//! caller's session come in beside the command.
//!
//! Ids may be unambiguous prefixes. The larger inputs are the rules' own types.

use comity_core::command::{
    ClaimWish, Command, ConstraintChanges, LeaseChange, PlannedTask, Question, StepVerb,
};
use comity_core::directive::Trigger;
use comity_core::event::TaskUpdated;
use comity_core::ids::AgentId;
use comity_core::memory::{MemoryFilter, MemoryType};
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use comity_protocol::ace::Generation;
use comity_protocol::contract::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Declares an input that is one command of the rules under other names: same fields, one conversion.
macro_rules! commands {
    ($($(#[$meta:meta])* $name:ident => $($of:ident)::+ {
        $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
    })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $type,)*
            }

            impl From<$name> for Command {
                fn from(input: $name) -> Command {
                    $($of)::+ { $($field: input.$field),* }
                }
            }
        )*
    };
}

commands! {
    Breakdown => Command::CreateTasks {
        tasks: Vec<PlannedTask>,
    }
    UpdateTask => Command::UpdateTask {
        id: String,
        /// The fields to change. An absent field stays; an empty text clears a field.
        changes: Box<TaskUpdated>,
        /// Constraints to change; the others stay.
        #[serde(default)]
        constraints: ConstraintChanges,
        /// The version that the caller has seen; comity refuses if the task has another one.
        #[serde(default)]
        if_match: Option<u64>,
    }
    Depend => Command::Depend {
        id: String,
        /// The task that must be done first.
        on: String,
        #[serde(default)]
        remove: bool,
        /// `on` is an exact id, and nobody has to have made that task yet.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        awaits_unknown: bool,
    }
    Assign => Command::Assign {
        id: String,
        /// The agent that the task is reserved for; null removes the reservation.
        #[serde(default)]
        agent: Option<AgentId>,
        /// Register an agent that nobody knows; without this, comity refuses it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new: bool,
    }
    Link => Command::Link {
        id: String,
        /// The other system.
        provider: String,
        /// The kind of reference, such as `issue`.
        key: String,
        value: String,
    }
    Start => Command::Start {
        id: String,
        /// How long a new claim lives without a sign of life; only if the task has no claim yet.
        #[serde(default, with = "comity_core::time::written")]
        #[schemars(with = "Option<String>")]
        ttl: Option<Millis>,
        #[serde(default)]
        reason: Option<String>,
    }
    Done => Command::Done {
        id: String,
        /// The commit that contains the merged work; without one, the tip of the base branch.
        #[serde(default)]
        merged: Option<String>,
        /// Finish without a merge; only a person may, with a reason.
        #[serde(default)]
        unmerged: bool,
        #[serde(default)]
        reason: Option<String>,
    }
    Block => Command::Block {
        id: String,
        #[serde(default)]
        needs: Option<String>,
        /// Questions that must be answered first; each becomes a decision.
        #[serde(default)]
        questions: Vec<String>,
        /// The time after which comity queues the task again.
        #[serde(default, with = "comity_core::time::written")]
        #[schemars(with = "Option<String>")]
        retry_after: Option<Millis>,
        #[serde(default)]
        reason: Option<String>,
    }
    CheckItem => Command::Check {
        id: String,
        /// The item's text, or its number, counted from 1.
        item: String,
        #[serde(default)]
        waive: bool,
        /// Why the item is waived.
        #[serde(default)]
        reason: Option<String>,
    }
    Subtask => Command::Subtask {
        id: String,
        step: StepVerb,
        /// The text of the step; to complete it, its id or text.
        text: String,
    }
    Handoff => Command::Handoff {
        id: String,
        /// The next step: its id or its goal.
        #[serde(default)]
        subtask: Option<String>,
    }
    Intervene => Command::Intervene {
        id: String,
        /// How the task should continue.
        feedback: String,
    }
    Transition => Command::Transition {
        id: String,
        status: Status,
        #[serde(default)]
        reason: Option<String>,
        /// What the task needs, when it is blocked.
        #[serde(default)]
        needs: Option<String>,
    }
    RegisterAgent => Command::AgentRegister {
        id: AgentId,
        /// Empty keeps the roles that the agent has.
        #[serde(default)]
        roles: Vec<Role>,
        /// Empty keeps the skills that the agent has.
        #[serde(default)]
        skills: Vec<String>,
    }
    DescribeAgent => Command::AgentDescribe {
        id: AgentId,
        /// Empty keeps the roles that the agent has.
        #[serde(default)]
        roles: Vec<Role>,
        /// Null keeps the skills that the agent has.
        #[serde(default)]
        skills: Option<Vec<String>>,
        /// Whatever else is known of the agent; null removes an entry.
        #[serde(default)]
        about: Map<String, Value>,
    }
    RecordGate => Command::GateRecord {
        id: String,
        gate: String,
        pass: bool,
        /// Where the report is.
        #[serde(default)]
        report: Option<String>,
        #[serde(default)]
        commit: Option<String>,
        /// Make a gate that neither the task nor the settings know; without this, comity refuses it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new: bool,
    }
    WaiveGate => Command::GateWaive {
        id: String,
        gate: String,
        reason: String,
    }
    AnswerDecision => Command::DecisionAnswer {
        id: String,
        /// `KEY`, `KEY: text`, or any text.
        answer: String,
    }
    ToggleDirective => Command::DirectiveToggle {
        id: String,
        /// On or off; null switches to the other.
        #[serde(default)]
        enabled: Option<bool>,
    }
    TellText => Command::Tell {
        /// An agent, a task, a role, or `all`.
        to: String,
        text: String,
    }
    EmitEvent => Command::EmitEvent {
        /// `event` is its name; the other fields are free.
        event: Map<String, Value>,
    }
    UpdateMemory => Command::MemoryUpdate {
        id: String,
        changes: Box<comity_core::command::MemoryChanges>,
    }
    ForgetMemory => Command::MemoryForget { id: String, }
    TriggerDirective => Command::DirectiveTrigger { id: String, }
    DeleteDirective => Command::DirectiveDelete { id: String, }
}

/// Declares an input that is a change of leases: of the caller, or of an owner that the caller names.
macro_rules! lease_commands {
    ($($name:ident => $change:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $type,)*
                /// The owner of the leases, if it is not the caller.
                #[serde(default)]
                pub owner: Option<AgentId>,
            }

            impl From<$name> for Command {
                fn from(input: $name) -> Command {
                    leases_of(input.owner, LeaseChange::$change { $($field: input.$field),* })
                }
            }
        )*
    };
}

lease_commands! {
    RenewLeases => Renew {
        ids: Vec<String>,
        #[serde(default, with = "comity_core::time::written")]
        #[schemars(with = "Option<String>")]
        ttl: Option<Millis>,
    }
    ReleaseLeases => Release {
        #[serde(default)]
        ids: Vec<String>,
        /// All leases of the caller.
        #[serde(default)]
        all: bool,
    }
}

/// Leases to be taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AcquireLeases {
    /// Paths or globs, relative to the root.
    pub patterns: Vec<String>,
    pub task: Option<String>,
    pub purpose: Option<String>,
    #[serde(with = "comity_core::time::written")]
    #[schemars(with = "Option<String>")]
    pub ttl: Option<Millis>,
    pub shared: bool,
    /// The owner of the leases, if it is not the caller.
    pub owner: Option<AgentId>,
    /// How long to wait for paths that others have leased.
    #[serde(with = "comity_core::time::written")]
    #[schemars(with = "Option<String>")]
    pub wait: Option<Millis>,
}

impl From<AcquireLeases> for Command {
    fn from(input: AcquireLeases) -> Command {
        let AcquireLeases { patterns, task, purpose, ttl, shared, owner, wait: _ } = input;
        leases_of(owner, LeaseChange::Acquire { patterns, task, purpose, ttl, shared })
    }
}

fn leases_of(owner: Option<AgentId>, command: LeaseChange) -> Command {
    match owner {
        None => Command::Lease(command),
        Some(owner) => Command::LeaseFor { owner, since: None, command },
    }
}

/// A task to be claimed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// The task; without an id, the best ready task.
    pub id: Option<String>,
    /// Only tasks for this role.
    pub role: Option<Role>,
    /// Only tasks with one of these labels.
    pub skills: Vec<String>,
    /// How long the claim lives without a sign of life.
    #[serde(with = "comity_core::time::written")]
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
    /// How long to wait for a task to become ready.
    #[serde(with = "comity_core::time::written")]
    #[schemars(with = "Option<String>")]
    pub wait: Option<Millis>,
}

impl From<Claim> for ClaimWish {
    fn from(input: Claim) -> ClaimWish {
        let Claim { id, role, skills, ttl, no_lease, start, owner, wait: _ } = input;
        ClaimWish { id, role, skills, ttl, no_lease, start, owner }
    }
}

macro_rules! inputs {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(default, deny_unknown_fields)]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $type,)*
            }
        )*
    };
}

inputs! {
    Nothing {}
    /// Something that is named by its id.
    ById { id: String, }
    /// A task whose last step is taken back.
    UndoStep {
        /// The task; the one that the caller changed last where none is given.
        id: Option<String>,
    }
    /// Tasks on the board.
    BoardFilter {
        /// Also tasks that were abandoned.
        abandoned: bool,
    }
    /// A stretch of time; the last four hours where nothing is given.
    TimeWindow { from: Option<Timestamp>, to: Option<Timestamp>, }
    FlowDays {
        /// How many days, up to today.
        days: Option<u32>,
    }
    TreePlace {
        /// The directory whose files are listed; empty is the root.
        under: Option<String>,
    }
    HistoryOf {
        /// A task, a path, a commit, an agent, a lease or a decision.
        of: String,
    }
    /// A task and a reason, for the verbs that take no more.
    TaskVerbInput { id: String, reason: Option<String>, }
    TaskFilter {
        /// Only tasks with one of these statuses; empty means any.
        statuses: Vec<Status>,
        assignee: Option<AgentId>,
        /// Only tasks with all these labels.
        labels: Vec<String>,
        role: Option<Role>, initiative: Option<String>,
        /// Only tasks that the caller could claim now.
        ready: bool,
        /// Only tasks that have all these words in id, title, description or labels.
        search: Option<String>,
        /// Every task by its number; without it and without a status, open tasks in the order of claims.
        all: bool,
        limit: Option<usize>, after: Option<String>,
    }
    LeaseFilter { owner: Option<AgentId>, limit: Option<usize>, after: Option<String>, }
    AgentFilter { limit: Option<usize>, after: Option<String>, }
    CheckPaths {
        /// Paths or patterns, relative to the root.
        paths: Vec<String>,
    }
    SuggestAgents { labels: Vec<String>, role: Option<Role>, }
    DecisionFilter {
        /// Also questions that are settled.
        all: bool,
        limit: Option<usize>, after: Option<String>,
    }
    WaitForDecision {
        id: String,
        #[serde(with = "comity_core::time::written")]
        #[schemars(with = "Option<String>")]
        timeout: Option<Millis>,
    }
    ListMemories {
        #[serde(rename = "type")]
        kind: Option<MemoryType>,
        /// Only memories of this scope and global ones.
        scope: Option<String>,
        /// Only memories with all these tags.
        tags: Vec<String>,
        /// Also memories that were replaced.
        all: bool,
        limit: Option<usize>, after: Option<String>,
    }
    SearchMemories {
        /// The words to find; a memory must have all of them.
        query: String,
        #[serde(rename = "type")]
        kind: Option<MemoryType>,
        scope: Option<String>, tags: Vec<String>,
        all: bool,
        limit: Option<usize>, after: Option<String>,
    }
    ListDirectives {
        trigger: Option<Trigger>,
        /// Only directives that apply now, highest priority first.
        active: bool,
        limit: Option<usize>, after: Option<String>,
    }
    EventFilter {
        task: Option<String>,
        /// The event's name.
        event: Option<String>,
        /// Start after this seq, or at this time.
        since: Option<Since>,
        /// Events of every repository in the store.
        all_repos: bool,
        limit: Option<usize>, after: Option<String>,
    }
    /// What happened, the newest first.
    LogFilter {
        task: Option<String>, limit: Option<usize>,
        /// Continue with what is older than this cursor.
        after: Option<String>,
    }
    TailEvents {
        /// The first seq; without it, only new events.
        from: Option<u64>,
    }
    /// A contract to be checked.
    ValidateContract {
        /// The contract, in YAML or JSON; other text may stand around it.
        text: String,
        /// What it is; told from its content where none is given.
        kind: Option<String>, mode: Mode,
    }
    /// A kind of contract.
    ContractOfKind { kind: String, }
    /// A report of an agent, which asks for something.
    ApplyContract {
        /// The report, in YAML or JSON; other text may stand around it.
        text: String,
        /// What it is; told from its content where none is given.
        kind: Option<String>,
        /// The task that it is about.
        task: Option<String>,
        /// What the text is called in messages.
        name: String,
    }
    CheckWork {
        /// The task; the one that the caller holds where none is given.
        id: Option<String>,
        /// What the work is compared with; where it began when none is given.
        base: Option<String>,
        /// The commit that is checked; the work tree as it is when none is given.
        head: Option<String>,
    }
    CheckPush {
        /// What git tells a pre-push hook on its standard input.
        text: String,
        /// The name of the remote.
        remote: Option<String>,
    }
    CheckMessage { message: String, }
    /// The text of another tracker's file.
    ImportFile {
        text: String,
        /// What the file is called in messages.
        name: String,
        /// Do nothing, and tell what would be done.
        dry_run: bool,
        /// Take over the states of tasks, too, as far as the caller's roles go.
        with_state: bool,
    }
    OlderState {
        /// The older state.json.
        file: String,
        /// Agents to register, each as `ID=ROLE[:SKILL,…]`.
        agents: Vec<String>,
        /// Take over the states of tasks, too, as far as the caller's roles go.
        with_state: bool,
    }
    ImportDirectory {
        dir: String,
        /// Take over the states of tasks, too, as far as the caller's roles go.
        with_state: bool,
    }
    /// A directory, from the working directory of the call.
    Directory { dir: String, }
    TreeDirectory {
        /// The tree; collaboration/ in the root where none is given.
        dir: Option<String>,
    }
    NeoDirectory {
        /// A supervisor's directory, or neo's own.
        dir: String,
        /// Write also files that changed since comity last read or wrote them.
        overwrite: bool,
    }
    /// An answer to the open questions of a blocked task.
    AnswerTask {
        id: String,
        text: String,
        /// The text is an ACE comment of this generation; the answer follows `ANSWER:` at the start of a line.
        comment: Option<Generation>,
    }
}

impl ListMemories {
    pub fn filter(&self) -> MemoryFilter {
        let (scope, tags) = (self.scope.clone(), self.tags.clone());
        MemoryFilter { kind: self.kind, scope, tags, all: self.all }
    }
}

impl SearchMemories {
    pub fn filter(&self) -> MemoryFilter {
        let (scope, tags) = (self.scope.clone(), self.tags.clone());
        MemoryFilter { kind: self.kind, scope, tags, all: self.all }
    }
}

/// Where a list of events starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Since {
    /// After this place.
    Seq(u64),
    /// Not before this time.
    Time(Timestamp),
}

/// A question with a type that only neo has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeoQuestion {
    pub question: Question,
    #[serde(rename = "type")]
    pub kind: String,
}
