//! A question with its options, deadline and answer.

use crate::ids::{AgentId, DecisionId, RepoName, TaskId};
use crate::origin::Origin;
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of answer is wanted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DecisionType {
    /// `approved`, `approved_with_changes` or `rejected`.
    Approval,
    /// One of the options.
    Choice,
    /// Any text.
    Free,
}

impl DecisionType {
    /// Returns the word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            DecisionType::Approval => "approval",
            DecisionType::Choice => "choice",
            DecisionType::Free => "free",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Result<DecisionType, Refusal> {
        match text {
            "approval" => Ok(DecisionType::Approval),
            "choice" => Ok(DecisionType::Choice),
            "free" => Ok(DecisionType::Free),
            _ => Err(Refusal::input(format!(
                "decision type {:?} is not known",
                crate::ids::shorten(text)
            ))
            .hint("use one of: approval, choice, free")),
        }
    }
}

/// Where a decision stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionState {
    /// Waits for an answer.
    Open,
    /// Has one.
    Answered,
    /// Got its default at the deadline.
    Defaulted,
    /// Had no default at the deadline.
    Expired,
}

impl DecisionState {
    /// Returns the word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            DecisionState::Open => "open",
            DecisionState::Answered => "answered",
            DecisionState::Defaulted => "defaulted",
            DecisionState::Expired => "expired",
        }
    }
}

/// What the answer sets in motion beside waking who waits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum DecisionPurpose {
    /// A question of an agent or a person.
    #[default]
    Question,
    /// What to do with a task that used up its attempts or rounds.
    Exhausted,
    /// What to do with a task that stayed blocked past the grace period.
    Grace,
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
    /// Returns the word that users see.
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

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The repository it belongs to.
    pub repo: RepoName,
    pub id: DecisionId,
    pub question: String,
    /// What a reader must know to answer.
    pub context: Option<String>,
    /// The kind of answer.
    pub kind: DecisionType,
    pub options: Vec<DecisionOption>,
    /// The answer that comity gives at the deadline.
    pub default: Option<String>,
    /// Who is asked.
    pub to: Addressee,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// What the answer sets in motion.
    pub purpose: DecisionPurpose,
    /// Who asked.
    pub asked_by: AgentId,
    pub created_at: Timestamp,
    /// The deadline.
    pub expires_at: Option<Timestamp>,
    /// Where it stands.
    pub state: DecisionState,
    /// The option chosen, or the text of a free answer.
    pub answer: Option<String>,
    /// What was said beside the option.
    pub text: Option<String>,
    /// Who answered.
    pub answered_by: Option<AgentId>,
    pub answered_at: Option<Timestamp>,
    /// What it is in the system that it was taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

/// The options of an approval.
pub const APPROVAL_KEYS: [&str; 3] = ["approved", "approved_with_changes", "rejected"];

impl Decision {
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
    Err(Refusal::new(
        Code::InvalidAnswer,
        format!("{:?} is not one of the options", crate::ids::shorten(answer)),
    )
    .hint(format!("answer with KEY or 'KEY: text'; the keys are: {}", keys.join(", ")))
    .detail("options", keys))
}
