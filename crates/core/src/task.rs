//! A task and what belongs to it: claim, block, gates, checklist, steps.

mod gate;

pub use gate::{CheckState, ChecklistItem, Evidence, Gate, Tier, Waiver};

use crate::ids::{AgentId, DecisionId, Fence, LeaseId, RepoName, Seq, TaskId};
use crate::land::LandRecord;
use crate::limits;
use crate::merging::InQueue;
use crate::refusal::Refusal;
use crate::role::Role;
use crate::status::Status;
use crate::time::{Millis, Timestamp};
use crate::word_enum::{self, word_enum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// How urgent a task is; P0 comes first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Priority(u8);

impl Priority {
    pub const DEFAULT: Priority = Priority(2);

    /// Returns 0 for the most urgent to 4 for the least.
    pub fn rank(self) -> u8 {
        self.0
    }

    /// Makes a priority of a rank; ranks beyond 4 become 4.
    pub fn from_rank(rank: u8) -> Priority {
        Priority(rank.min(4))
    }

    /// Reads `P0`..`P4` or a word.
    pub fn parse(text: &str) -> Result<Priority, Refusal> {
        const WORDS: [(&str, u8); 9] = [
            ("P0", 0),
            ("critical", 0),
            ("P1", 1),
            ("high", 1),
            ("P2", 2),
            ("medium", 2),
            ("P3", 3),
            ("low", 3),
            ("P4", 4),
        ];
        word_enum::read("priority", &WORDS, text).map(Priority)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.0)
    }
}

impl From<Priority> for String {
    fn from(priority: Priority) -> String {
        priority.to_string()
    }
}

impl TryFrom<String> for Priority {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        Priority::parse(&text)
    }
}

word_enum! {
    /// What a task delivers.
    #[derive(Default, JsonSchema)]
    pub enum Deliverable as "deliverable" {
        /// Commits on a branch, to be merged.
        #[default]
        Code => "code",
        /// A document; nothing to merge.
        Document => "document",
        /// Nothing that is kept.
        None => "none",
    }
}

/// What an agent must and must not do while it works.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Constraints {
    /// The largest number of files that may change.
    pub max_files: Option<u32>,
    /// Whether commits are forbidden.
    pub no_git_commit: bool,
    /// Whether new dependencies are forbidden.
    pub no_new_deps: bool,
    /// Files that may be deleted.
    pub allow_delete: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub agent: AgentId,
    pub host: Option<String>,
    pub workspace: Option<String>,
    pub fence: Fence,
    pub claimed_at: Timestamp,
    /// How long it lives without a sign of life.
    pub ttl: Millis,
    /// Its leases; they end with it.
    pub leases: Vec<LeaseId>,
    /// The tip of the base branch when it was made; none where git could not be seen.
    #[serde(default)]
    pub base: Option<String>,
    /// The commit that was checked out then.
    #[serde(default)]
    pub head: Option<String>,
    /// When the work under it began; its time is counted from there.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
}

/// Somebody who claimed or submitted a task, and the client session that the command came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    pub agent: AgentId,
    pub session: Option<String>,
}

/// A text of a person that begins with this is remembered for later work.
pub const REMEMBER: &str = "--remember";

/// What a review said when it sent the work back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Feedback {
    pub by: AgentId,
    pub text: String,
    /// The round that was reviewed.
    pub round: u32,
    pub at: Timestamp,
}

impl Feedback {
    /// Returns what was said, or that nothing was.
    pub fn words(&self) -> &str {
        let text = self.to_remember().unwrap_or(&self.text);
        if text.trim().is_empty() { "(no reason given)" } else { text.trim_end() }
    }

    /// Returns what is meant for later work, too, where whoever said it asked for that.
    pub fn to_remember(&self) -> Option<&str> {
        self.text.strip_prefix(REMEMBER).map(str::trim)
    }
}

/// A round that was handed in: who worked on what from when to when, as the land rule asks it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandedInRound {
    pub land: LandRecord,
    pub commit: Option<String>,
    /// The event that handed it in.
    pub seq: Seq,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub needs: String,
    pub since: Timestamp,
    /// The time after which comity queues the task again.
    pub retry_at: Option<Timestamp>,
    /// Decisions that must be answered; when all are, the task goes on.
    pub questions: Vec<DecisionId>,
    /// The decision asked of a planner after the grace period.
    pub escalated: bool,
    /// The state in another system that an import has kept back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Status>,
}

/// A step inside one claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// `<task>-NN`.
    pub id: String,
    pub text: String,
    pub complete: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub repo: RepoName,
    pub id: TaskId,
    /// Its number, unique in the repository.
    pub number: u64,
    /// Counts every change.
    pub version: u64,
    pub title: String,
    pub description: String,
    /// For example `implementation`.
    pub kind: Option<String>,
    /// A planner's estimate.
    pub complexity: Option<u32>,
    pub deliverable: Deliverable,
    pub status: Status,
    pub priority: Priority,
    pub labels: Vec<String>,
    /// The role that may claim the task.
    pub role: Option<Role>,
    /// Who works or worked on it.
    pub assignee: Option<AgentId>,
    /// For whom `assign` reserved it.
    pub reserved_for: Option<AgentId>,
    /// Who should get it back after a block.
    pub preferred: Option<AgentId>,
    /// Who reviews it, or who is wanted for that.
    pub reviewer: Option<AgentId>,
    pub review_taken: bool,
    /// Tasks that must be done first.
    pub dependencies: Vec<TaskId>,
    /// Outside reasons not to start.
    pub blockers: Vec<String>,
    /// Patterns of the files that it will change.
    pub files: Vec<String>,
    pub branch: Option<String>,
    /// The submitted commit.
    pub commit: Option<String>,
    pub pr: Option<String>,
    /// The commit that has it merged.
    pub merged_sha: Option<String>,
    /// Why a person finished it without a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
    /// Entries into `in_progress`.
    pub round: u32,
    /// Times that a review sent it back.
    pub review_rounds: u32,
    /// What the result must satisfy.
    pub requirements: Vec<String>,
    /// The checklist.
    pub dod: Vec<ChecklistItem>,
    pub gates: Vec<Gate>,
    pub constraints: Constraints,
    /// Further entries for the mission.
    pub context: Map<String, Value>,
    /// How long the work may take; zero is no limit.
    pub timeout: Millis,
    /// Claims that ended by failure or reclaim.
    pub attempts: u32,
    pub epic: Option<String>,
    /// The requirements document it belongs to.
    pub prd: Option<String>,
    pub initiative: Option<String>,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    /// References in other systems: provider → key → value.
    pub external_ids: Map<String, Value>,
    pub claim: Option<Claim>,
    /// The tip of the base branch when the task was claimed first. The settings there name its base branch for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_base: Option<String>,
    pub block: Option<Block>,
    /// Everybody who claimed or submitted the task in any round, as far as the events have `via`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
    /// What the last review said that sent the work back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The life of the last claim. An assignee has that long to take up work that was sent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ttl: Option<Millis>,
    /// The round that was handed in last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_in: Option<HandedInRound>,
    /// Its place in the merge queue, from approval on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<InQueue>,
    pub steps: Vec<Step>,
    /// Every decision asked for it.
    pub decisions: Vec<DecisionId>,
    pub last_error: Option<String>,
    pub created_by: AgentId,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Task {
    pub fn gate(&self, name: &str) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.name == name)
    }

    /// Returns where the base branch was when the task was claimed first; after it, what may stand for it where nobody has that
    /// commit: an older comity did not write it down, and the claim may have been made in another repository.
    pub fn began_at(&self) -> impl Iterator<Item = &str> {
        let claimed = self.claim.as_ref().and_then(|claim| claim.base.as_deref());
        let handed_in = self.handed_in.as_ref().and_then(|round| round.land.base.as_deref());
        self.first_base.as_deref().into_iter().chain(claimed).chain(handed_in)
    }

    /// Returns the gate of that name, made first when it is not there.
    pub fn gate_mut(&mut self, name: &str) -> &mut Gate {
        let place = match self.gates.iter().position(|gate| gate.name == name) {
            Some(place) => place,
            None => {
                self.gates.push(Gate::open(name, false));
                self.gates.len() - 1
            }
        };
        &mut self.gates[place]
    }

    /// Returns when work that a review sent back goes to the queue again, leaving signs of life aside. `default_ttl`
    /// stands for the life of a claim that an older comity granted.
    pub fn sent_back_until(&self, default_ttl: Millis) -> Option<Timestamp> {
        let sent_back = self.status == Status::ChangesRequested;
        let (feedback, ttl) = (self.feedback.as_ref()?, self.last_ttl.unwrap_or(default_ttl));
        sent_back.then(|| feedback.at.plus(ttl))
    }

    /// Returns when the work must be handed in; none when it has not begun or has no limit.
    pub fn deadline(&self) -> Option<Timestamp> {
        let started = self.claim.as_ref()?.started_at?;
        (self.timeout > Millis::default()).then(|| started.plus(self.timeout))
    }

    /// Checks what must hold of every task at all times; the text names what does not.
    pub fn broken_invariant(&self) -> Option<String> {
        let checks = [
            (self.claim.is_some() == self.status.is_held(), "a claim is live exactly while held"),
            (
                self.block.is_some() == (self.status == Status::Blocked),
                "a task is blocked exactly while it says why",
            ),
            (
                self.claim.as_ref().is_none_or(|c| self.assignee.as_ref() == Some(&c.agent)),
                "the holder is the assignee",
            ),
            (self.status != Status::Queued || self.assignee == self.reserved_for, "queued is free"),
            (!self.dependencies.contains(&self.id), "no task depends on itself"),
            (self.dependencies.len() <= limits::LIST_ENTRIES_MAX, "lists are bounded"),
            (self.version > 0 && self.number > 0, "versions and numbers start at one"),
            (self.created_at <= self.updated_at, "nothing is changed before it is created"),
            (self.reviewer.is_some() || !self.review_taken, "a taken review has a reviewer"),
        ];
        checks.iter().find(|(holds, _)| !holds).map(|(_, what)| format!("{}: {what}", self.id))
    }
}
