//! `comity task …`

use super::deferred::Deferred;
use super::help;
use super::task_fields::{CreateArgs, UpdateArgs};
use super::values::{PageArgs, agent, contract_kind, duration, gate_verdict, role, status, text};
use clap::{Args, Subcommand};
use comity_api::op;
use comity_core::command::GateVerdict;
use comity_core::ids::AgentId;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::time::Millis;
use comity_protocol::contract::ContractKind;

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    #[command(about = help::<op::TaskCreate>(), after_help = "Example:\n  comity task create 'Parse dates' --priority high \
        --file 'src/date/**' --gate tests --dod 'leap years work'")]
    Create(Deferred<CreateArgs>),
    #[command(about = help::<op::TaskBreakdown>(), after_help = "Example:\n  comity task breakdown plan.yaml --epic 12")]
    Breakdown {
        /// The plan: a YAML list of tasks in the words of `task create`, or of task contracts; - reads standard input
        file: String,
        /// Use this epic for tasks that name none
        #[arg(long, value_name = "EPIC")]
        epic: Option<String>,
    },
    #[command(about = help::<op::TaskList>(), after_help = "Example:\n  comity task list --ready")]
    List(Deferred<ListArgs>),
    #[command(about = help::<op::TaskShow>(), after_help = "Example:\n  comity task show T1")]
    Show {
        /// The task, or the beginning of its id; several are shown one after the other
        #[arg(id = "id", value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    #[command(about = help::<op::TaskWhy>(), after_help = "Example:\n  comity task why T1")]
    Why {
        /// The task, or the beginning of its id; several are explained one after the other
        #[arg(id = "id", value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    #[command(about = help::<op::TaskUpdate>(), after_help = "Example:\n  comity task update T1 --priority P0 --if-match 3")]
    Update(Deferred<UpdateArgs>),
    #[command(about = help::<op::TaskDepend>(), after_help = "Example:\n  comity task depend T2 --on T1")]
    Depend {
        /// The tasks that wait
        #[arg(id = "id", required = true, value_name = "ID")]
        ids: Vec<String>,
        /// The task that must be done first
        #[arg(long, value_name = "ID")]
        on: String,
        /// Remove the dependency instead
        #[arg(long)]
        remove: bool,
    },
    #[command(about = help::<op::TaskAssign>(), after_help = "Example:\n  comity task assign T1 codex-cli")]
    Assign {
        /// The task, or the beginning of its id
        id: String,
        /// The agent
        #[arg(value_name = "AGENT", value_parser = agent, required_unless_present = "none")]
        agent: Option<AgentId>,
        /// Remove the reservation
        #[arg(long, conflicts_with = "agent")]
        none: bool,
        /// Register the agent if nobody knows it
        #[arg(long)]
        new: bool,
    },
    #[command(about = help::<op::TaskLink>(), after_help = "Example:\n  comity task link T1 github 42 --key issue")]
    Link {
        /// The task, or the beginning of its id
        id: String,
        /// The other system, such as github
        provider: String,
        /// What the other system calls the task, such as 42
        value: String,
        /// What kind of reference this is, such as issue
        #[arg(long, value_name = "KEY", default_value = "id")]
        key: String,
    },
    #[command(about = help::<op::TaskClaim>(), after_help = "Example:\n  comity task claim T1 --ttl 30m")]
    Claim {
        /// The task, or the beginning of its id (default: the best ready task)
        id: Option<String>,
        /// Claim only a task for this role
        #[arg(long, value_name = "ROLE", value_parser = role)]
        role: Option<Role>,
        /// Claim only a task with this label (repeatable: with any of them)
        #[arg(long = "skill", value_name = "WORD")]
        skills: Vec<String>,
        /// How long the claim lives without a sign of life (default: 15m)
        #[arg(long, value_name = "DUR", value_parser = duration)]
        ttl: Option<Millis>,
        /// Do not lease the files that the task declares
        #[arg(long)]
        no_lease: bool,
        /// Start the work at once
        #[arg(long)]
        start: bool,
        /// Wait up to this long for a task to become ready
        #[arg(long, value_name = "DUR", value_parser = duration)]
        wait: Option<Millis>,
    },
    #[command(about = help::<op::TaskStart>(), after_help = "Example:\n  comity task start T1")]
    Start {
        #[command(flatten)]
        verb: VerbArgs,
        /// How long a new claim lives without a sign of life (default: 15m)
        #[arg(long, value_name = "DUR", value_parser = duration)]
        ttl: Option<Millis>,
    },
    #[command(about = help::<op::TaskSubmit>(), after_help = "Example:\n  comity task submit T1 --pr https://example.org/pr/7")]
    Submit(Box<SubmitArgs>),
    #[command(about = help::<op::TaskReview>(), after_help = "Example:\n  comity task review T1 --as critic.1")]
    Review(VerbArgs),
    #[command(about = help::<op::TaskApprove>(), after_help = "Example:\n  comity task approve T1 --reason 'clean and tested'")]
    Approve(VerbArgs),
    #[command(about = help::<op::TaskRequestChanges>(),
        after_help = "Example:\n  comity task request-changes T1 --reason 'handle leap years'"
    )]
    RequestChanges {
        #[command(flatten)]
        verb: VerbArgs,
        /// Let the supervisor remember the reason for later work, too
        #[arg(long, requires = "reason")]
        remember: bool,
    },
    #[command(about = help::<op::TaskMerge>(), after_help = "Example:\n  comity task merge T1")]
    Merge(VerbArgs),
    #[command(about = help::<op::TaskDone>(), after_help = "Example:\n  comity task done T1 --merged \"$(git rev-parse main)\"")]
    Done {
        #[command(flatten)]
        verb: VerbArgs,
        /// The commit that contains the merged work (default: the tip of the base branch)
        #[arg(long, value_name = "SHA")]
        merged: Option<String>,
        /// Finish the task without a merge; only a person may, with --reason
        #[arg(long, requires = "reason", conflicts_with = "merged")]
        unmerged: bool,
    },
    #[command(about = help::<op::TaskLand>(), after_help = "Example:\n  comity task land T1 --strategy squash")]
    Land(LandArgs),
    #[command(about = help::<op::TaskBlock>(), after_help = "Example:\n  comity task block T1 --needs 'a decision' \
        --question 'Which calendar?'")]
    Block {
        #[command(flatten)]
        verb: VerbArgs,
        /// What the task needs
        #[arg(long, value_name = "TEXT", value_parser = text)]
        needs: Option<String>,
        /// A question that must be answered first (repeatable)
        #[arg(long = "question", value_name = "TEXT", value_parser = text)]
        questions: Vec<String>,
        /// Queue the task again after this time, such as 30m
        #[arg(long, value_name = "DUR", value_parser = duration)]
        retry_after: Option<Millis>,
    },
    #[command(about = help::<op::TaskAnswerQuestions>(), after_help = "Example:\n  comity task answer T1 --comment answer.md")]
    Answer {
        /// The task, or the beginning of its id
        id: String,
        /// The answer; in a list, each item answers one question; - reads standard input
        #[arg(
            value_name = "TEXT", value_parser = text,
            required_unless_present = "comment",
            allow_hyphen_values = true
        )]
        text: Option<String>,
        /// Read the answer from a comment: the text after a line that begins with ANSWER:, or the whole reply
        /// with the dialect ace-project; - reads standard input
        #[arg(long, value_name = "FILE", conflicts_with = "text")]
        comment: Option<String>,
    },
    #[command(about = help::<op::TaskIntervene>(), after_help = "Example:\n  comity task intervene T1 --feedback 'use the second way'")]
    Intervene {
        /// The task, or the beginning of its id
        id: String,
        /// Answer the open questions with this text and let the task continue
        #[arg(long, value_name = "TEXT", value_parser = text, allow_hyphen_values = true)]
        feedback: Option<String>,
    },
    #[command(about = help::<op::TaskUnblock>(), after_help = "Example:\n  comity task unblock T1 --reason 'the server is back'")]
    Unblock(VerbArgs),
    #[command(about = help::<op::TaskFail>(), after_help = "Example:\n  comity task fail T1 --reason 'the build does not link'")]
    Fail(VerbArgs),
    #[command(about = help::<op::TaskRelease>(), after_help = "Example:\n  comity task release T1")]
    Release(VerbArgs),
    #[command(about = help::<op::TaskAbandon>(), after_help = "Example:\n  comity task abandon T1 --reason 'no longer needed'")]
    Abandon(VerbArgs),
    #[command(about = help::<op::TaskRequeue>(), after_help = "Example:\n  comity task requeue T1")]
    Requeue(VerbArgs),
    #[command(about = help::<op::TaskReopen>(), after_help = "Example:\n  comity task reopen T1 --reason 'it came back'")]
    Reopen(VerbArgs),
    #[command(about = help::<op::TaskUndo>(), after_help = "Example:\n  comity task undo T1")]
    Undo {
        /// The task, or the beginning of its id (default: the one that you changed last)
        id: Option<String>,
    },
    #[command(about = help::<op::TaskCheck>(), after_help = "Example:\n  comity task check T1 1")]
    Check {
        #[command(flatten)]
        verb: OneArgs,
        /// The item: its text, or its number, counted from 1
        item: String,
        /// Waive the item; needs --reason
        #[arg(long)]
        waive: bool,
    },
    #[command(about = help::<op::TaskSubtask>(), after_help = "Example:\n  comity task subtask T1 start 'write the tests'")]
    Subtask {
        /// The task, or the beginning of its id
        id: String,
        /// What happens to the step
        step: Step,
        /// The step: its text; to complete it, its id or text
        #[arg(value_parser = text)]
        text: String,
    },
    #[command(about = help::<op::TaskHandoff>(),
        after_help = "Example:\n  comity task handoff T1 --subtask 'Parse time zones' --plan 'Write the test'"
    )]
    Handoff {
        /// The task, or the beginning of its id
        id: String,
        /// The next subtask: its id or its goal in one line
        #[arg(long, value_name = "TEXT", value_parser = text)]
        subtask: Option<String>,
        /// A step of the plan (repeatable)
        #[arg(long = "plan", value_name = "TEXT", value_parser = text)]
        plan: Vec<String>,
    },
    #[command(about = help::<op::TaskTransition>(), after_help = "Example:\n  comity task transition T1 in_progress")]
    Transition {
        #[command(flatten)]
        verb: OneArgs,
        /// The new status
        #[arg(value_parser = status)]
        status: Status,
        /// What the task needs, for the status blocked
        #[arg(long, value_name = "TEXT", value_parser = text)]
        needs: Option<String>,
    },
}

/// Options of `task submit`.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    #[command(flatten)]
    pub verb: VerbArgs,
    /// The commit (default: the result's, else the tip of --branch, else HEAD of this work tree)
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// The branch (default: the result's, else the one that is checked out)
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// The address of the pull request
    #[arg(long, value_name = "URL")]
    pub pr: Option<String>,
    /// The agent that should review the work
    #[arg(long, value_name = "AGENT", value_parser = agent)]
    pub reviewer: Option<AgentId>,
    /// Submit what this file says: a result in YAML or JSON, or a final comment of ACE; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub result: Option<String>,
    /// The kind of the result (default: comity recognises it)
    #[arg(long, value_name = "KIND", requires = "result", value_parser = contract_kind)]
    pub kind: Option<&'static ContractKind>,
    /// Keep the leases during the review
    #[arg(long)]
    pub keep_leases: bool,
    /// Record evidence for a gate with the submitted commit (repeatable)
    #[arg(long = "gate", short, value_name = "NAME=pass|fail", value_parser = gate_verdict)]
    pub gates: Vec<GateVerdict>,
    /// Make gates that neither the task nor the settings know
    #[arg(long)]
    pub new: bool,
    /// Submit without any change; needs --reason
    #[arg(long, requires = "reason")]
    pub empty: bool,
}

/// Tasks, and the reason for what happens to them.
#[derive(Debug, Args)]
pub struct VerbArgs {
    /// The task, or the beginning of its id; several change together, all or none
    #[arg(id = "id", required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Why; the log records it; - reads standard input
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = text)]
    pub reason: Option<String>,
}

/// A task, and the reason for what happens to it.
#[derive(Debug, Args)]
pub struct OneArgs {
    /// The task, or the beginning of its id
    pub id: String,
    /// Why; the log records it; - reads standard input
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = text)]
    pub reason: Option<String>,
}

/// What happens to a step.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Step {
    /// The step begins
    Start,
    /// The step is complete
    Complete,
}

/// Options of `task list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Show only tasks with this status (repeatable)
    #[arg(long = "status", short, value_name = "STATUS", value_parser = status, value_delimiter = ',')]
    pub statuses: Vec<Status>,
    /// Show only tasks of this agent
    #[arg(long, short, value_name = "AGENT", value_parser = agent)]
    pub assignee: Option<AgentId>,
    /// Show only tasks with this label (repeatable: with all of them)
    #[arg(long = "label", short, value_name = "WORD")]
    pub labels: Vec<String>,
    /// Show only tasks for this role
    #[arg(long, value_name = "ROLE", value_parser = role)]
    pub role: Option<Role>,
    /// Show only tasks of this initiative
    #[arg(long, value_name = "NAME")]
    pub initiative: Option<String>,
    /// Show only tasks that you could claim now
    #[arg(long)]
    pub ready: bool,
    /// Show only tasks that are assigned to you
    #[arg(long, conflicts_with = "assignee")]
    pub mine: bool,
    /// Show only tasks that have all these words in id, title, description or labels
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// Show finished tasks, too, by number
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub page: PageArgs,
}

/// What lands, and how.
#[derive(Debug, Args)]
pub struct LandArgs {
    /// The task, or the beginning of its id
    pub id: String,
    /// The branch that gets the work (default: the base branch)
    #[arg(long, value_name = "BRANCH")]
    pub into: Option<String>,
    /// How the work becomes part of the branch
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub strategy: LandStrategy,
    /// Push the branch to its remote afterwards, with your own git settings
    #[arg(long)]
    pub push: bool,
}

/// How work becomes part of a branch.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub enum LandStrategy {
    /// A merge commit
    #[default]
    Merge,
    /// One commit with all changes
    Squash,
    /// Each commit anew on top of the branch
    Rebase,
}
