//! `comity task …`

use super::deferred::Deferred;
use super::help;
use super::task_fields::{CreateArgs, UpdateArgs};
use super::values::{PageArgs, agent, contract_kind, duration, gate_verdict, role, status};
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
        /// The plan: a YAML list of task contracts, or a list under `tasks`; - reads stdin
        file: String,
        /// Name the epic of those that name none
        #[arg(long, value_name = "EPIC")]
        epic: Option<String>,
    },
    #[command(about = help::<op::TaskList>(), after_help = "Example:\n  comity task list --ready")]
    List(Deferred<ListArgs>),
    #[command(about = help::<op::TaskShow>(), after_help = "Example:\n  comity task show T1")]
    Show(IdArgs),
    #[command(about = help::<op::TaskWhy>(), after_help = "Example:\n  comity task why T1")]
    Why(IdArgs),
    #[command(about = help::<op::TaskUpdate>(), after_help = "Example:\n  comity task update T1 --priority P0 --if-match 3")]
    Update(Deferred<UpdateArgs>),
    #[command(about = help::<op::TaskDepend>(), after_help = "Example:\n  comity task depend T2 --on T1")]
    Depend {
        /// The task that waits
        id: String,
        /// The task that must be done first
        #[arg(long, value_name = "ID")]
        on: String,
        /// Remove the dependency instead
        #[arg(long)]
        remove: bool,
    },
    #[command(about = help::<op::TaskAssign>(), after_help = "Example:\n  comity task assign T1 codex-cli")]
    Assign {
        /// The task
        id: String,
        /// The agent
        #[arg(value_name = "AGENT", value_parser = agent, required_unless_present = "none")]
        agent: Option<AgentId>,
        /// Reserve it for nobody
        #[arg(long, conflicts_with = "agent")]
        none: bool,
    },
    #[command(about = help::<op::TaskLink>(), after_help = "Example:\n  comity task link T1 github 42 --key issue")]
    Link {
        /// The task
        id: String,
        /// The other system
        provider: String,
        /// Its name for the task
        value: String,
        /// The kind of name
        #[arg(long, value_name = "KEY", default_value = "id")]
        key: String,
    },
    #[command(about = help::<op::TaskClaim>(), after_help = "Example:\n  comity task claim T1 --ttl 30m")]
    Claim {
        /// The task; the best ready one when left out
        id: Option<String>,
        /// Take only tasks for this role
        #[arg(long, value_name = "ROLE", value_parser = role)]
        role: Option<Role>,
        /// Take only tasks with one of these labels (repeatable)
        #[arg(long = "skill", value_name = "WORD")]
        skills: Vec<String>,
        /// Keep it so long without a sign of life (default 15m)
        #[arg(long, value_name = "DUR", value_parser = duration)]
        ttl: Option<Millis>,
        /// Leave the declared files unleased
        #[arg(long)]
        no_lease: bool,
        /// Begin the work at once
        #[arg(long)]
        start: bool,
        /// Wait so long for a task to become ready
        #[arg(long, value_name = "DUR", value_parser = duration)]
        wait: Option<Millis>,
    },
    #[command(about = help::<op::TaskStart>(), after_help = "Example:\n  comity task start T1")]
    Start {
        #[command(flatten)]
        verb: VerbArgs,
        /// Keep the claim so long without a sign of life, when one is taken
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
    RequestChanges(VerbArgs),
    #[command(about = help::<op::TaskMerge>(), after_help = "Example:\n  comity task merge T1")]
    Merge(VerbArgs),
    #[command(about = help::<op::TaskDone>(), after_help = "Example:\n  comity task done T1 --merged \"$(git rev-parse main)\"")]
    Done {
        #[command(flatten)]
        verb: VerbArgs,
        /// The commit that has the work merged (default: the tip of the base branch)
        #[arg(long, value_name = "SHA")]
        merged: Option<String>,
        /// Finish it without a merge, as a person; --reason says why
        #[arg(long, requires = "reason", conflicts_with = "merged")]
        unmerged: bool,
    },
    #[command(about = help::<op::TaskBlock>(), after_help = "Example:\n  comity task block T1 --needs 'a decision' \
        --question 'Which calendar?'")]
    Block {
        #[command(flatten)]
        verb: VerbArgs,
        /// What is needed
        #[arg(long, value_name = "TEXT")]
        needs: Option<String>,
        /// A question that must be answered (repeatable)
        #[arg(long = "question", value_name = "TEXT")]
        questions: Vec<String>,
        /// Queue it again after this time
        #[arg(long, value_name = "DUR", value_parser = duration)]
        retry_after: Option<Millis>,
    },
    #[command(about = help::<op::TaskAnswerQuestions>(), after_help = "Example:\n  comity task answer T1 --comment answer.md")]
    Answer {
        /// The task, or the beginning of its id
        id: String,
        /// The answer; a list answers one question an item
        #[arg(
            value_name = "TEXT",
            required_unless_present = "comment",
            allow_hyphen_values = true
        )]
        text: Option<String>,
        /// Take the answer from a comment with a line that begins with ANSWER: (with the dialect ace-project, from any
        /// reply); - reads stdin
        #[arg(long, value_name = "FILE", conflicts_with = "text")]
        comment: Option<String>,
    },
    #[command(about = help::<op::TaskIntervene>(), after_help = "Example:\n  comity task intervene T1 --feedback 'use the second way'")]
    Intervene {
        /// The task, or the beginning of its id
        id: String,
        /// Answer what is open with this, and let the task go on
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
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
    #[command(about = help::<op::TaskCheck>(), after_help = "Example:\n  comity task check T1 1")]
    Check {
        #[command(flatten)]
        verb: VerbArgs,
        /// The item: its text, or its place counted from 1
        item: String,
        /// Let it pass without, with a --reason
        #[arg(long)]
        waive: bool,
    },
    #[command(about = help::<op::TaskSubtask>(), after_help = "Example:\n  comity task subtask T1 start 'write the tests'")]
    Subtask {
        /// The task
        id: String,
        /// start or complete
        step: Step,
        /// The step
        text: String,
    },
    #[command(about = help::<op::TaskHandoff>(),
        after_help = "Example:\n  comity task handoff T1 --subtask 'Parse time zones' --plan 'Write the test'"
    )]
    Handoff {
        /// The task
        id: String,
        /// The next subtask: its id or its goal in one line
        #[arg(long, value_name = "TEXT")]
        subtask: Option<String>,
        /// A step of the plan (repeatable)
        #[arg(long = "plan", value_name = "TEXT")]
        plan: Vec<String>,
    },
    #[command(about = help::<op::TaskTransition>(), after_help = "Example:\n  comity task transition T1 in_progress")]
    Transition {
        #[command(flatten)]
        verb: VerbArgs,
        /// The status
        #[arg(value_parser = status)]
        status: Status,
        /// What is needed, when blocked
        #[arg(long, value_name = "TEXT")]
        needs: Option<String>,
    },
}

/// Work that is handed in.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    #[command(flatten)]
    pub verb: VerbArgs,
    /// The commit (default: the one a result names, that of --branch, or HEAD of this work tree)
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// The branch (default: the one a result names, else the one checked out)
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// The pull request
    #[arg(long, value_name = "URL")]
    pub pr: Option<String>,
    /// Who should review it
    #[arg(long, value_name = "AGENT", value_parser = agent)]
    pub reviewer: Option<AgentId>,
    /// A result contract in YAML or JSON, or a comment of ACE that ends the work; - reads stdin
    #[arg(long, value_name = "FILE")]
    pub result: Option<String>,
    /// What the result is (default: told from its content)
    #[arg(long, value_name = "KIND", requires = "result", value_parser = contract_kind)]
    pub kind: Option<&'static ContractKind>,
    /// Keep the leases during the review
    #[arg(long)]
    pub keep_leases: bool,
    /// Record evidence for a gate with the submitted commit (may be repeated)
    #[arg(long = "gate", value_name = "NAME=pass|fail", value_parser = gate_verdict)]
    pub gates: Vec<GateVerdict>,
    /// There is nothing to change; --reason says why
    #[arg(long, requires = "reason")]
    pub empty: bool,
}

/// One task.
#[derive(Debug, Args)]
pub struct IdArgs {
    /// The task, or the beginning of its id
    pub id: String,
}

/// One task and why.
#[derive(Debug, Args)]
pub struct VerbArgs {
    /// The task, or the beginning of its id
    pub id: String,
    /// Say why
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// What happens to a step.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Step {
    /// It begins
    Start,
    /// It is complete
    Complete,
}

/// Options of `task list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Show only this status (repeatable)
    #[arg(long = "status", value_name = "STATUS", value_parser = status, value_delimiter = ',')]
    pub statuses: Vec<Status>,
    /// Show only tasks of this assignee
    #[arg(long, value_name = "AGENT", value_parser = agent)]
    pub assignee: Option<AgentId>,
    /// Show only tasks with this label (repeatable)
    #[arg(long = "label", value_name = "WORD")]
    pub labels: Vec<String>,
    /// Show only tasks for this role
    #[arg(long, value_name = "ROLE", value_parser = role)]
    pub role: Option<Role>,
    /// Show only tasks of this initiative
    #[arg(long, value_name = "NAME")]
    pub initiative: Option<String>,
    /// Show only what you could claim now
    #[arg(long)]
    pub ready: bool,
    #[command(flatten)]
    pub page: PageArgs,
}
