//! The parts of commands about memories and directives, and about what is taken over from elsewhere.

use super::{Command, Question};
use crate::directive::Trigger;
use crate::directive_duration::End;
use crate::memory::MemoryType;
use crate::origin::Origin;
use crate::time::Millis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something to be remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMemory {
    pub text: String,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// What the memory is about; without a scope, everything.
    #[serde(default)]
    pub scope: Option<String>,
    /// The labels.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The time until the memory is forgotten.
    #[serde(default, with = "crate::time::written")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Millis>,
    /// The task on which it was learnt.
    #[serde(default)]
    pub task: Option<String>,
    /// The memory that this one replaces.
    #[serde(default)]
    pub supersedes: Option<String>,
}

/// The fields of a memory to change. An absent field stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryChanges {
    pub text: Option<String>,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: Option<MemoryType>,
    /// What it is about.
    pub scope: Option<String>,
    /// The labels; they replace the old ones.
    pub tags: Option<Vec<String>>,
    /// The time from now until the memory is forgotten.
    #[serde(default, with = "crate::time::written")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Millis>,
    /// Keep the memory for ever.
    pub keep: bool,
}

/// A standing instruction to be given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDirective {
    /// What is to be done.
    pub text: String,
    #[serde(default)]
    pub trigger: Trigger,
    /// Directives with a higher priority come first.
    #[serde(default)]
    pub priority: u64,
    /// Why, or how.
    #[serde(default)]
    pub description: Option<String>,
    /// How long the directive applies, as the caller wrote it.
    #[serde(default)]
    pub duration: Option<String>,
    /// When the directive ends; for times of day, by the caller's clock.
    #[serde(default)]
    pub end: End,
}

/// Something that was made in another system, to be made here with what it is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adoption {
    pub origin: Origin,
    pub made: Made,
    /// The answer that a question has there.
    #[serde(default)]
    pub answer: Option<String>,
    /// Whether a directive is switched off there.
    #[serde(default)]
    pub disabled: bool,
}

/// What can be made of something in another system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Made {
    #[serde(rename = "decision_ask")]
    Decision(Box<Question>),
    #[serde(rename = "memory_write")]
    Memory(Box<NewMemory>),
    #[serde(rename = "directive_create")]
    Directive(Box<NewDirective>),
}

impl Made {
    pub fn command(&self) -> Command {
        match self.clone() {
            Made::Decision(question) => Command::DecisionAsk(question),
            Made::Memory(new) => Command::MemoryWrite(new),
            Made::Directive(new) => Command::DirectiveCreate(new),
        }
    }
}
