//! A run: one agent at work on one task, from its dispatch to its end.

use crate::ids::{AgentId, DecisionId, Fence, RepoName, RunId, TaskId};
use crate::money::Usd;
use crate::refusal::Refusal;
use crate::role::Role;
use crate::task::Priority;
use crate::time::{Millis, Timestamp};
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

word_enum! {
    /// Where a run stands.
    #[derive(JsonSchema)]
    pub enum RunState as "run state" {
        /// Nobody has taken it yet.
        Queued => "queued",
        /// A keeper has taken it; the agent has not been heard of yet.
        Starting => "starting",
        Running => "running",
        /// It waits for the answer to a question.
        Waiting => "waiting",
        /// Somebody or a budget holds it.
        Paused => "paused",
        /// The agent has ended, and its work is being looked at.
        Finishing => "finishing",
        Succeeded => "succeeded",
        Failed => "failed",
        Stopped => "stopped",
        /// Its keeper was not heard of for too long.
        Lost => "lost",
    }
}

impl RunState {
    pub fn next(self) -> &'static [RunState] {
        use RunState::*;
        match self {
            Queued => &[Starting, Stopped, Failed],
            Starting => &[Running, Queued, Failed, Stopped, Lost],
            Running => &[Waiting, Paused, Finishing, Failed, Stopped, Lost],
            Waiting => &[Running, Paused, Failed, Stopped, Lost],
            Paused => &[Queued, Running, Stopped, Failed],
            Finishing => &[Succeeded, Failed, Lost],
            Succeeded | Failed | Stopped | Lost => &[],
        }
    }

    pub fn may_become(self, to: RunState) -> bool {
        self.next().contains(&to)
    }

    pub fn is_live(self) -> bool {
        !self.next().is_empty()
    }
}

word_enum! {
    /// What a run is there for.
    #[derive(JsonSchema)]
    pub enum Stage as "stage" {
        Plan => "plan",
        Develop => "develop",
        Review => "review",
        Scout => "scout",
    }
}

word_enum! {
    /// How far the work of a run goes when it is handed in.
    #[derive(JsonSchema)]
    pub enum GitStrategy as "git strategy" {
        /// Its branch stays where it is, whatever the report recommends.
        Branch => "branch",
        /// Its branch is pushed and gets a pull request, unless the report wants it kept or discarded.
        Pr => "pr",
    }
}

impl GitStrategy {
    /// Where the facts of a run say its strategy.
    pub const META: &str = "gitStrategy";
}

impl Stage {
    /// Returns the least role that can do it.
    pub fn role(self) -> Role {
        match self {
            Stage::Plan | Stage::Develop | Stage::Scout => Role::Implementer,
            Stage::Review => Role::Critic,
        }
    }

    /// Tells whether it works under a claim on its task.
    pub fn claims(self) -> bool {
        self != Stage::Review
    }
}

word_enum! {
    /// Why a run failed.
    #[derive(JsonSchema)]
    pub enum RunFault as "error type" {
        Spawn => "spawn",
        InitTimeout => "init_timeout",
        Stall => "stall",
        Timeout => "timeout",
        MaxTurns => "max_turns",
        Budget => "budget",
        RateLimit => "rate_limit",
        Api => "api",
        Auth => "auth",
        Sandbox => "sandbox",
        NoResult => "no_result",
        BadReport => "bad_report",
        Scope => "scope",
        Loop => "loop",
        Crash => "crash",
        Lost => "lost",
        Diverged => "diverged",
        Hook => "hook",
    }
}

impl RunFault {
    /// A vendor that refuses to serve is no failure of the work.
    pub fn uses_attempt(self) -> bool {
        !matches!(self, RunFault::RateLimit | RunFault::Api | RunFault::Auth)
    }
}

word_enum! {
    /// Where the cost of a run comes from.
    #[derive(JsonSchema)]
    pub enum CostBasis as "cost basis" {
        /// The driver said it in dollars.
        Reported => "reported",
        /// Tokens times the price of the model.
        Priced => "priced",
        /// The process ended without its total.
        Estimated => "estimated",
        /// Nobody knows the price of the model.
        Unpriced => "unpriced",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
}

impl Tokens {
    #[must_use]
    pub fn plus(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunError {
    #[serde(rename = "type")]
    pub kind: RunFault,
    pub message: String,
    /// The same for the same error, wherever and whenever it happens.
    pub fingerprint: String,
}

/// Longest message of an error that is kept, in characters.
const ERROR_CHARS_MAX: usize = 2_000;
const FINGERPRINT_CHARS_MAX: usize = 200;

impl RunError {
    pub fn new(kind: RunFault, message: &str) -> RunError {
        let message: String = message.trim().chars().take(ERROR_CHARS_MAX).collect();
        let fingerprint = fingerprint(kind, &message);
        RunError { kind, message, fingerprint }
    }
}

/// The type and the first line, without what differs from one time to the next: digits, hexadecimal and paths.
fn fingerprint(kind: RunFault, message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let told: Vec<&str> = line
        .split_whitespace()
        .filter(|word| !word.contains('/') && !word.contains('\\'))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| {
            let hex = word.len() >= 4 && word.chars().all(|c| c.is_ascii_hexdigit());
            !word.is_empty() && !hex && !word.chars().any(|c| c.is_ascii_digit())
        })
        .collect();
    format!("{kind}: {}", told.join(" ")).chars().take(FINGERPRINT_CHARS_MAX).collect()
}

/// A step of a plan that is done, and the commit that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Milestone {
    pub step: Option<String>,
    pub sha: String,
    /// comity itself saw the commit.
    pub verified: bool,
}

/// What a run spent on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaySpent {
    pub day: i64,
    pub usd: Usd,
    pub tokens: Tokens,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub repo: RepoName,
    pub id: RunId,
    pub task: TaskId,
    /// The agent's name, such as `developer`.
    pub agent: String,
    /// Who acts in it, such as `developer:R7`.
    pub identity: AgentId,
    pub driver: String,
    pub model: Option<String>,
    pub stage: Stage,
    /// It may change files.
    pub writable: bool,
    pub meta: Map<String, Value>,
    pub branch: Option<String>,
    pub base: Option<String>,
    pub head: Option<String>,
    pub state: RunState,
    pub reason: Option<String>,
    pub error: Option<RunError>,
    pub attempt: u32,
    pub resumed_from: Option<RunId>,
    pub parent: Option<RunId>,
    /// The task of the run that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<TaskId>,
    /// The runs that it started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<RunId>,
    pub priority: Priority,
    pub labels: Vec<String>,
    /// The rule of the supervisor that dispatched it.
    pub rule: Option<String>,
    pub prompt_sha256: String,
    #[serde(default)]
    pub prompt_bytes: u64,
    pub worker: Option<AgentId>,
    pub host: Option<String>,
    pub workspace: Option<String>,
    pub sandbox: Option<String>,
    pub session: Option<String>,
    pub fence: Fence,
    /// How long it lives without a sign of life.
    pub ttl: Millis,
    pub turns: u64,
    pub tokens: Tokens,
    pub cost: Usd,
    pub cost_basis: Option<CostBasis>,
    /// What is kept for it in every budget that it counts in.
    pub reserved: Usd,
    /// What its last calls cost, the newest last.
    pub last_calls: Vec<Usd>,
    pub days: Vec<DaySpent>,
    pub waiting_on: Option<DecisionId>,
    pub not_before: Option<Timestamp>,
    pub report: Option<String>,
    /// What its report says that rules go by, such as `status` and `concerns`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub said: Map<String, Value>,
    pub pr: Option<String>,
    pub wip: Option<String>,
    pub exit: Option<i32>,
    pub milestones: Vec<Milestone>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Calls that the reserve of a turn is reckoned from.
pub const CALLS_KEPT: usize = 3;
/// The reserve of a turn, in percent of the dearest of the last calls.
const TURN_RESERVE_PERCENT: u64 = 150;

impl Run {
    /// Returns what the next turn will cost, as far as the last calls tell.
    fn turn_reserve(&self) -> Usd {
        let dearest = self.last_calls.iter().max().copied().unwrap_or_default();
        dearest.percent(TURN_RESERVE_PERCENT)
    }

    /// Returns what the next turn wants beyond what is kept already.
    pub fn next_turn(&self) -> Usd {
        self.turn_reserve().less(self.reserved)
    }

    /// Returns the time that its life is counted from, leaving signs of life aside.
    pub fn alive_since(&self) -> Timestamp {
        self.started_at.unwrap_or(self.created_at)
    }

    /// Tells whether it ends without a sign of life. A labelled run may wait for its worker for ever.
    pub fn must_be_heard_of(&self) -> bool {
        self.state.is_live() && (self.state != RunState::Queued || self.labels.is_empty())
    }
}

/// Names of `comity run` that are not those of agents.
pub const RESERVED_NAMES: [&str; 9] =
    ["show", "why", "logs", "stop", "pause", "resume", "steer", "diff", "define"];
/// Longest name of an agent, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Checks the name of an agent: the identity of its runs is made of it.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let fits = name.len() <= NAME_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(plain);
    if !fits || RESERVED_NAMES.contains(&name) || name == "human" || name == "script" {
        let text = format!("{:?} is not the name of an agent", crate::ids::shorten(name));
        return Err(Refusal::input(text).hint(
            "a name is a letter, then letters, digits, '-' or '_', such as developer or reviewer",
        ));
    }
    Ok(())
}

/// Returns who acts in a run.
pub fn identity(agent: &str, run: RunId) -> Result<AgentId, Refusal> {
    AgentId::parse(&format!("{agent}:{run}"))
}

/// Returns the run that an identity belongs to, as far as its form tells.
pub fn run_of(identity: &AgentId) -> Option<RunId> {
    RunId::parse(identity.as_str().rsplit_once(':')?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ended_goes_nowhere_and_every_other_can_be_ended() {
        for state in RunState::ALL {
            assert_eq!(state.is_live(), !state.next().is_empty());
            let ends = [RunState::Failed, RunState::Lost, RunState::Stopped];
            if state.is_live() {
                assert!(ends.iter().any(|end| state.may_become(*end)), "{state}");
            }
        }
        assert!(!RunState::Queued.may_become(RunState::Running));
        assert!(RunState::Finishing.may_become(RunState::Succeeded));
    }

    #[test]
    fn the_same_error_has_the_same_fingerprint_wherever_it_happens() {
        let one = RunError::new(RunFault::Crash, "exit 101 in /a/b.rs: thread 7 panicked deadbeef");
        let two =
            RunError::new(RunFault::Crash, "exit 3 in /c/d.rs: thread 12 panicked 00ff00ff\nx");
        assert_eq!(one.fingerprint, two.fingerprint);
        assert_eq!(one.fingerprint, "crash: exit in thread panicked");
        let other = RunError::new(RunFault::Stall, "exit");
        assert_ne!(one.fingerprint, other.fingerprint);
    }

    #[test]
    fn words_of_the_command_line_are_not_names_of_agents() {
        for name in RESERVED_NAMES {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("developer").is_ok());
        assert!(check_name("a:b").is_err());
        assert_eq!(run_of(&identity("developer", RunId(7)).unwrap()), Some(RunId(7)));
    }
}
