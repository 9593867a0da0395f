//! What the supervisor sees, and what it wants done.

use super::table::Trigger;
use crate::command::{Command, Supervision};
use crate::decision::{Addressee, Decision, DecisionPurpose};
use crate::directive::{Directive, Trigger as When};
use crate::ids::{DirectiveId, RunId, TaskId};
use crate::memory::Memory;
use crate::policy::Policy;
use crate::run::Run;
use crate::task::Task;
use crate::time::Millis;
use crate::word_enum::word_enum;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What a project sets for its supervisor.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The longest time between two looks.
    pub heartbeat: Millis,
    /// How long the seat is kept without a sign of life.
    pub seat_ttl: Millis,
    /// Designs that pass the checks are approved without a person.
    pub auto_decide: bool,
    /// Files that may be pushed without a pull request.
    pub push_ok: Vec<String>,
    /// How far back work counts that a ticket may be covered by, in days.
    pub dedup_days: i64,
    /// The time between two starts of one directive.
    pub cooldown: Millis,
    /// Live runs of this host.
    pub max_runs: usize,
    /// Live runs of the repository.
    pub max_per_repo: usize,
    /// The first and the longest wait after an error that uses no attempt.
    pub retry_backoff: (Millis, Millis),
    /// How long a check of a pull request may be pending.
    pub ci_timeout: Millis,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            heartbeat: Millis::from_secs(30),
            seat_ttl: Millis::from_secs(60),
            auto_decide: false,
            push_ok: vec!["**/*.md".to_owned(), "docs/**".to_owned()],
            dedup_days: 7,
            cooldown: Millis::from_secs(3_600),
            max_runs: 5,
            max_per_repo: 4,
            retry_backoff: (Millis::from_secs(10), Millis::from_secs(300)),
            ci_timeout: Millis::from_secs(7_200),
        }
    }
}

word_enum! {
    /// What the checks of a pull request say.
    pub enum Ci as "check" {
        Pass => "pass",
        Pending => "pending",
        Fail => "fail",
    }
}

/// What the door saw with its own eyes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// What the checks of handed in work say, with the end of their output.
    pub ci: BTreeMap<TaskId, (Ci, String)>,
    /// Runs of which a commit is not in their branch any more.
    pub diverged: BTreeSet<RunId>,
    /// Open pull requests by others: number and title.
    pub open_prs: Vec<(String, String)>,
    /// Texts of files that nobody has to remember.
    pub known_texts: Vec<String>,
    /// Tasks that could not be started just now.
    pub passed_over: BTreeSet<TaskId>,
    /// Directives that could not be followed just now.
    pub not_feasible: BTreeSet<DirectiveId>,
    /// What the supervisor is doing itself: starting, stopping, or neither.
    pub moment: Option<When>,
    /// Live runs of other repositories on this host.
    pub live_elsewhere: usize,
}

/// Everything that rules look at.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Tasks that are not finished, and those that were finished a short while ago.
    pub tasks: Vec<Task>,
    /// Their runs.
    pub runs: Vec<Run>,
    pub decisions: Vec<Decision>,
    pub directives: Vec<Directive>,
    pub memories: Vec<Memory>,
    pub policy: Policy,
    pub settings: Settings,
    pub seen: Seen,
}

/// A question that a step asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub question: String,
    pub context: Option<String>,
    pub options: Vec<String>,
    pub to: Addressee,
    pub purpose: DecisionPurpose,
    /// The task goes on only after the answer.
    pub blocks: bool,
}

/// A run that a step starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dispatch {
    pub agent: String,
    /// The task; without one, the prompt makes a new task.
    pub task: Option<TaskId>,
    pub prompt: Option<String>,
    /// The run that failed, and that this one goes on with.
    pub resumed_from: Option<RunId>,
    /// The work begins anew: nothing of the last run counts.
    pub fresh: bool,
    /// The question that the run answers.
    pub answers: Option<String>,
    /// What is changed before, in the same transaction.
    pub before: Vec<Command>,
    /// What is done before about a branch that lost commits of a run.
    pub settle: Option<Settle>,
}

/// What a person wants of a branch that lost commits of a run. What the other side has stays reachable under a ref of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// The branch goes back to the last commit of the run.
    Restore(RunId),
    /// The work goes on with the branch as it is.
    TakeBranch(RunId),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// Commands, all or none; without any, only the step itself is logged.
    Write(Vec<Command>),
    Ask(Box<Ask>),
    Dispatch(Box<Dispatch>),
    /// Merge approved work.
    Land(TaskId),
    /// Keep the work of a run under a ref of its own, then do this.
    Discard(RunId, Vec<Command>),
    /// Push the branch of a run, and open its pull request.
    Push(RunId),
    /// Run the gates of the project, after this was written.
    Gates(Vec<Command>),
}

/// One step: the row that asks for it, what it rests on, and what is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub rule: String,
    pub on: Trigger,
    pub subject: String,
    /// What the subject was like: another state is another step.
    pub version: String,
    pub task: Option<TaskId>,
    pub facts: Map<String, Value>,
    pub because: String,
    /// The action in the words of the table.
    pub action: String,
    pub deed: Deed,
}

impl Step {
    /// Returns the key under which the step happens once.
    pub fn key(&self) -> String {
        format!("sup:{}:{}:{}", self.rule, self.subject, self.version)
    }

    /// Returns the step as a command with these steps below it.
    pub fn supervision(&self, steps: Vec<Command>) -> Supervision {
        let ask = match &self.deed {
            Deed::Ask(ask) => Some(ask.clone()),
            Deed::Write(_)
            | Deed::Dispatch(_)
            | Deed::Land(_)
            | Deed::Discard(..)
            | Deed::Push(_)
            | Deed::Gates(_) => None,
        };
        Supervision {
            rule: self.rule.clone(),
            on: self.on.to_string(),
            subject: self.subject.clone(),
            facts: self.facts.clone(),
            because: self.because.clone(),
            action: self.action.clone(),
            task: self.task.as_ref().map(ToString::to_string),
            steps,
            ask,
        }
    }
}
