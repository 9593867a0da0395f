//! `comity task …`

use super::deferred::Deferred;
use super::task_fields::{CreateArgs, UpdateArgs};
use super::values::{PageArgs, agent, contract_kind, duration, role, status};
use clap::{Args, Subcommand};
use comity_core::ids::AgentId;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::time::Millis;
use comity_protocol::contract::Kind;

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Make a task
    #[command(after_help = "Example:\n  comity task create 'Parse dates' --priority high \
        --file 'src/date/**' --gate tests --dod 'leap years work'")]
    Create(Deferred<CreateArgs>),
    /// Make the tasks of a plan, all or none
    #[command(after_help = "Example:\n  comity task breakdown plan.yaml --epic 12")]
    Breakdown {
        /// The plan: a YAML list of task contracts, or a list under `tasks`; - reads stdin
        file: String,
        /// Name the epic of those that name none
        #[arg(long, value_name = "EPIC")]
        epic: Option<String>,
    },
    /// List tasks by number
    #[command(after_help = "Example:\n  comity task list --ready")]
    List(Deferred<ListArgs>),
    /// Show one task in full
    #[command(after_help = "Example:\n  comity task show T1")]
    Show(IdArgs),
    /// Explain why a task is where it is, and what to do next
    #[command(after_help = "Example:\n  comity task why T1")]
    Why(IdArgs),
    /// Change fields of a task
    #[command(after_help = "Example:\n  comity task update T1 --priority P0 --if-match 3")]
    Update(Deferred<UpdateArgs>),
    /// Make a task wait for another
    #[command(after_help = "Example:\n  comity task depend T2 --on T1")]
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
    /// Reserve a task for an agent
    #[command(after_help = "Example:\n  comity task assign T1 codex-cli")]
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
    /// Note what another system calls a task
    #[command(after_help = "Example:\n  comity task link T1 github 42 --key issue")]
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
    /// Take a task with its files, or the best ready one
    #[command(after_help = "Example:\n  comity task claim T1 --ttl 30m")]
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
    },
    /// Begin or go on with the work
    #[command(after_help = "Example:\n  comity task start T1")]
    Start {
        #[command(flatten)]
        verb: VerbArgs,
        /// Keep the claim so long without a sign of life, when one is taken
        #[arg(long, value_name = "DUR", value_parser = duration)]
        ttl: Option<Millis>,
    },
    /// Hand the work in for review
    #[command(after_help = "Example:\n  comity task submit T1 --pr https://example.org/pr/7")]
    Submit {
        #[command(flatten)]
        verb: VerbArgs,
        /// The commit (default: the one a result names, that of --branch, or HEAD of this work tree)
        #[arg(long, value_name = "SHA")]
        commit: Option<String>,
        /// The branch (default: the one a result names, else the one checked out)
        #[arg(long, value_name = "BRANCH")]
        branch: Option<String>,
        /// The pull request
        #[arg(long, value_name = "URL")]
        pr: Option<String>,
        /// Who should review it
        #[arg(long, value_name = "AGENT", value_parser = agent)]
        reviewer: Option<AgentId>,
        /// A result contract in YAML or JSON, or a comment of ACE that ends the work; - reads stdin
        #[arg(long, value_name = "FILE")]
        result: Option<String>,
        /// What the result is (default: told from its content)
        #[arg(long, value_name = "KIND", requires = "result", value_parser = contract_kind)]
        kind: Option<&'static Kind>,
        /// Keep the leases during the review
        #[arg(long)]
        keep_leases: bool,
    },
    /// Take a review, so that two do not do it twice
    #[command(after_help = "Example:\n  comity task review T1 --as critic.1")]
    Review(VerbArgs),
    /// Accept the work
    #[command(after_help = "Example:\n  comity task approve T1 --reason 'clean and tested'")]
    Approve(VerbArgs),
    /// Send the work back
    #[command(
        after_help = "Example:\n  comity task request-changes T1 --reason 'handle leap years'"
    )]
    RequestChanges(VerbArgs),
    /// Begin to integrate approved work
    #[command(after_help = "Example:\n  comity task merge T1")]
    Merge(VerbArgs),
    /// Finish a task
    #[command(after_help = "Example:\n  comity task done T1 --merged \"$(git rev-parse main)\"")]
    Done {
        #[command(flatten)]
        verb: VerbArgs,
        /// The commit that has the work merged
        #[arg(long, value_name = "SHA")]
        merged: Option<String>,
    },
    /// Stop until something is given
    #[command(after_help = "Example:\n  comity task block T1 --needs 'a decision' \
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
    /// Answer the questions that a blocked task waits for, all in one go
    #[command(after_help = "Example:\n  comity task answer T1 --comment answer.md")]
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
    /// Show what a stuck task is about, and say as a person how it goes on
    #[command(after_help = "Example:\n  comity task intervene T1 --feedback 'use the second way'")]
    Intervene {
        /// The task, or the beginning of its id
        id: String,
        /// Answer what is open with this, and let the task go on
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        feedback: Option<String>,
    },
    /// Say that nothing is in the way any more
    #[command(after_help = "Example:\n  comity task unblock T1 --reason 'the server is back'")]
    Unblock(VerbArgs),
    /// Say that the attempt failed
    #[command(after_help = "Example:\n  comity task fail T1 --reason 'the build does not link'")]
    Fail(VerbArgs),
    /// Give a task back
    #[command(after_help = "Example:\n  comity task release T1")]
    Release(VerbArgs),
    /// Give a task up for good
    #[command(after_help = "Example:\n  comity task abandon T1 --reason 'no longer needed'")]
    Abandon(VerbArgs),
    /// Put a task back into the queue
    #[command(after_help = "Example:\n  comity task requeue T1")]
    Requeue(VerbArgs),
    /// Take a finished task up again
    #[command(after_help = "Example:\n  comity task reopen T1 --reason 'it came back'")]
    Reopen(VerbArgs),
    /// Settle an item of the checklist
    #[command(after_help = "Example:\n  comity task check T1 1")]
    Check {
        #[command(flatten)]
        verb: VerbArgs,
        /// The item: its text, or its place counted from 1
        item: String,
        /// Let it pass without, with a --reason
        #[arg(long)]
        waive: bool,
    },
    /// Start or complete a step of the work
    #[command(after_help = "Example:\n  comity task subtask T1 start 'write the tests'")]
    Subtask {
        /// The task
        id: String,
        /// start or complete
        step: Step,
        /// The step
        text: String,
    },
    /// Hand a task over to a fresh context
    #[command(
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
    /// Go to a status by whatever verb leads there
    #[command(after_help = "Example:\n  comity task transition T1 in_progress")]
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
