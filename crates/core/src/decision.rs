//! A question with its options, deadline and answer.

use crate::budget::{Per, Scope};
use crate::ids::{AgentId, DecisionId, RepoName, TaskId};
use crate::origin::Origin;
use crate::refusal::{Code, Refusal};
use crate::task::Priority;
use crate::time::Timestamp;
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

word_enum! {
    /// What kind of answer is wanted.
    #[derive(JsonSchema)]
    pub enum DecisionType as "decision type" {
        /// `approved`, `approved_with_changes` or `rejected`.
        Approval => "approval",
        /// One of the options.
        Choice => "choice",
        /// Any text.
        Free => "free",
    }
}

word_enum! {
    pub enum DecisionState {
        Open => "open",
        Answered => "answered",
        /// Got its default at the deadline.
        Defaulted => "defaulted",
        /// Had no default at the deadline.
        Expired => "expired",
    }
}

/// What the answer sets in motion beside waking who waits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum DecisionPurpose {
    #[default]
    Question,
    /// What to do with a task that used up its attempts or rounds.
    Exhausted,
    /// What to do with a task that stayed blocked past the grace period.
    Grace,
    /// What to do with runs whose budget is used up.
    Budget,
}

/// Who is asked.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub enum Addressee {
    /// Any person.
    Person,
    /// Any planner.
    Planner,
    /// One identity.
    Agent(AgentId),
}

impl Addressee {
    pub fn as_str(&self) -> &str {
        match self {
            Addressee::Person => "person",
            Addressee::Planner => "planner",
            Addressee::Agent(id) => id.as_str(),
        }
    }
}

impl From<Addressee> for String {
    fn from(to: Addressee) -> String {
        to.as_str().to_owned()
    }
}

impl TryFrom<String> for Addressee {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        match text.as_str() {
            "person" | "human" => Ok(Addressee::Person),
            "planner" => Ok(Addressee::Planner),
            _ => AgentId::parse(&text).map(Addressee::Agent),
        }
    }
}

/// One way to answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionOption {
    /// The key to answer with.
    pub key: String,
    /// What the option means, in short.
    #[serde(default)]
    pub label: Option<String>,
    /// What the option means, in full.
    #[serde(default)]
    pub description: Option<String>,
}

/// A task that a question proposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    pub title: String,
    pub description: String,
    pub priority: Option<Priority>,
    /// How much work it is: XS, S, M or L.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

/// The answer that makes a proposed task.
pub const PROPOSAL_KEY: &str = "yes";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub repo: RepoName,
    pub id: DecisionId,
    pub question: String,
    /// What a reader must know to answer.
    pub context: Option<String>,
    pub kind: DecisionType,
    pub options: Vec<DecisionOption>,
    /// The answer that comity gives at the deadline.
    pub default: Option<String>,
    pub to: Addressee,
    pub task: Option<TaskId>,
    pub purpose: DecisionPurpose,
    pub asked_by: AgentId,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub state: DecisionState,
    /// The option chosen, or the text of a free answer.
    pub answer: Option<String>,
    /// What was said beside the option.
    pub text: Option<String>,
    pub answered_by: Option<AgentId>,
    pub answered_at: Option<Timestamp>,
    /// What it is in the system that it was taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// The task that the answer `yes` makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposes: Option<Box<Proposal>>,
    /// The budget that is used up, and for which period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Box<(Scope, Per)>>,
    /// The rule of the supervisor that asked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// What every question begins with that asks for the approval of a design.
pub const DESIGN_QUESTION: &str = "Design approval for";
/// How often one design may be asked about.
pub const DESIGN_ASKS_MAX: usize = 2;

pub const APPROVAL_KEYS: [&str; 3] = ["approved", "approved_with_changes", "rejected"];

impl Decision {
    /// Tells whether a run asks for the approval of a design.
    pub fn is_design(&self) -> bool {
        self.question.trim_start().starts_with(DESIGN_QUESTION)
            && crate::run::run_of(&self.asked_by).is_some()
    }

    /// Splits an answer into the option's key and the text beside it, or says what is wrong with it.
    pub fn read_answer(&self, answer: &str) -> Result<(String, Option<String>), Refusal> {
        read_answer(self.kind, &self.options, answer)
    }
}

/// Splits an answer to a question of that kind, or says what is wrong with it.
pub fn read_answer(
    kind: DecisionType,
    options: &[DecisionOption],
    answer: &str,
) -> Result<(String, Option<String>), Refusal> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Err(Refusal::new(Code::InvalidAnswer, "the answer is empty"));
    }
    if kind == DecisionType::Free {
        return Ok((answer.to_owned(), None));
    }
    let keys: Vec<&str> = match kind {
        DecisionType::Approval => APPROVAL_KEYS.to_vec(),
        DecisionType::Choice | DecisionType::Free => {
            options.iter().map(|o| o.key.as_str()).collect()
        }
    };
    if keys.contains(&answer) {
        return Ok((answer.to_owned(), None));
    }
    if let Some((key, text)) = answer.split_once(':')
        && keys.contains(&key.trim())
    {
        let text = text.trim();
        return Ok((key.trim().to_owned(), (!text.is_empty()).then(|| text.to_owned())));
    }
    let message = format!("{:?} is not one of the options", crate::ids::shorten(answer));
    Err(Refusal::new(Code::InvalidAnswer, message)
        .hint(format!("answer with KEY or 'KEY: text'; the keys are: {}", keys.join(", ")))
        .detail("options", keys))
}
