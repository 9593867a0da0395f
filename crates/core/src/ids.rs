//! Names and numbers that identify things. Each kind has a type of its own, so that none is taken for another.

use crate::hint::say;
use crate::refusal::Refusal;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

pub const REPO_BYTES_MAX: usize = 200;
pub const AGENT_BYTES_MAX: usize = 128;
pub const TASK_ID_BYTES_MAX: usize = 64;
/// Highest task number that may be given; generated ones count on from the highest.
pub const TASK_NUMBER_MAX: u64 = 1_000_000_000;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// Shared, since every look at the state makes a key of it.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                // Most keys of a batch share one repository.
                if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextOf($name::parse))
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string"})
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl TryFrom<String> for $name {
            type Error = Refusal;
            fn try_from(text: String) -> Result<Self, Refusal> {
                $name::parse(&text)
            }
        }
    };
}

text_id!(
    /// A repository's name inside a store, such as `owner/name`.
    RepoName
);
text_id!(
    /// Who acts: `human:<name>`, `script:<name>`, `watchdog`, or an agent's id.
    AgentId
);
text_id!(
    /// A task's id: given, or `T<number>`.
    TaskId
);

/// Reads an id from a text without a copy in between.
struct TextOf<T>(fn(&str) -> Result<T, Refusal>);

impl<T> Visitor<'_> for TextOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

fn plain_name(text: &str, bytes_max: usize) -> bool {
    !text.is_empty()
        && text.len() <= bytes_max
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-:/@+".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

impl RepoName {
    /// Reads a repository name: letters, digits and `._-:/@+`, at most 200 bytes.
    pub fn parse(text: &str) -> Result<RepoName, Refusal> {
        if plain_name(text, REPO_BYTES_MAX)
            || (text.starts_with('.') && plain_name(&text[1..], REPO_BYTES_MAX))
        {
            return Ok(RepoName(text.into()));
        }
        Err(Refusal::input(format!("repository name {text:?} is not valid")).hint(
            say("use letters, digits and ._-:/@+, at most 200 bytes; set it with ")
                .ask("repo", "NAME"),
        ))
    }
}

/// What the identities begin with that stand for somebody in another system.
const ELSEWHERE: &str = "import:";
/// What the identities begin with that stand for whoever edited a file.
const IN_A_FILE: &str = "file:";
/// Who applies what has expired.
const WATCHDOG: &str = "watchdog";
/// Who sits in the supervisor's seat for comity.
pub const SUPERVISOR: &str = "supervisor";
/// What the identities of workers begin with: the name of a host follows.
pub const WORKER: &str = "worker:";
/// Who records what GitHub says.
const GITHUB: &str = "github";

impl AgentId {
    /// Reads an identity: letters, digits and `._-:/@+`, at most 128 bytes.
    pub fn parse(text: &str) -> Result<AgentId, Refusal> {
        if plain_name(text, AGENT_BYTES_MAX) && text != "human:" && text != "script:" {
            return Ok(AgentId(text.into()));
        }
        Err(Refusal::input(format!("agent id {text:?} is not valid")).hint(
            "use letters, digits and ._-:/@+ such as codex-cli or human:ann, at most 128 bytes",
        ))
    }

    /// Returns the identity that applies what has expired.
    pub fn watchdog() -> AgentId {
        AgentId(WATCHDOG.into())
    }

    /// Returns the identity that records what GitHub says. It speaks for nobody.
    pub fn github() -> AgentId {
        AgentId(GITHUB.into())
    }

    pub fn is_github(&self) -> bool {
        &*self.0 == GITHUB
    }

    /// Refuses the identities that comity itself writes into the log: nobody acts under them, and nobody gets them.
    pub fn not_reserved(&self) -> Result<(), Refusal> {
        let starts = [ELSEWHERE, IN_A_FILE, WORKER];
        let is_reserved = [WATCHDOG, GITHUB, SUPERVISOR].contains(&&*self.0)
            || starts.iter().any(|start| self.0.starts_with(start));
        if !is_reserved {
            return Ok(());
        }
        Err(Refusal::input(format!("the agent id {self} is reserved for comity itself"))
            .hint(format!(
                "choose an id that is not {WATCHDOG}, {GITHUB} or {SUPERVISOR}, and does not begin with {}",
                starts.join(", ")
            )))
    }

    pub fn is_person(&self) -> bool {
        self.0.starts_with("human:")
    }

    /// Tells whether this is a program that a user runs without a terminal, and no agent.
    pub fn is_script(&self) -> bool {
        self.0.starts_with("script:")
    }

    /// Returns the identity that stands for whoever did in another system what was imported from there.
    pub fn elsewhere(system: &str) -> Result<AgentId, Refusal> {
        AgentId::parse(&format!("{ELSEWHERE}{system}"))
    }

    /// Returns the identity that stands for whoever wrote what was found in a file. What an id cannot hold becomes `_`,
    /// and of a long path the end is kept.
    pub fn file(path: &str) -> AgentId {
        let plain =
            |c: char| if c.is_ascii_alphanumeric() || "._-:/@+".contains(c) { c } else { '_' };
        let path: String = path.chars().map(plain).collect();
        let start = path.len().saturating_sub(AGENT_BYTES_MAX - IN_A_FILE.len());
        AgentId(format!("{IN_A_FILE}{}", &path[start..]).into())
    }

    /// Tells whether this stands for whoever wrote something into a file. Nobody acts under such a name, and nothing
    /// gives it another role than that of an implementer.
    pub fn is_file(&self) -> bool {
        self.0.starts_with(IN_A_FILE)
    }

    /// Tells whether this stands for somebody in another system: nobody here, who could go on with the work.
    pub fn is_elsewhere(&self) -> bool {
        self.0.starts_with(ELSEWHERE)
    }
}

impl TaskId {
    /// Reads a task id: a letter, then letters, digits, `.`, `_`, `-`, at most 64 in all.
    pub fn parse(text: &str) -> Result<TaskId, Refusal> {
        let mut chars = text.chars();
        let starts_well = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
        let goes_on_well = chars.all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if starts_well && goes_on_well && text.len() <= TASK_ID_BYTES_MAX {
            return Ok(TaskId(text.into()));
        }
        Err(Refusal::input(format!("task id {:?} is not valid", shorten(text))).hint(
            "an id is a letter, then letters, digits, '.', '_' or '-', at most 64 characters",
        ))
    }

    /// Reads what people type for short: `12` and `t12` mean `T12`.
    pub fn numbered(text: &str) -> Option<TaskId> {
        let digits = text.strip_prefix('t').unwrap_or(text);
        let fits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        TaskId::parse(&format!("T{digits}")).ok().filter(|_| fits)
    }

    /// Returns a value that sorts before every real id, to start a range with.
    pub fn first() -> TaskId {
        TaskId("".into())
    }

    /// Makes the id that a number gets when none is given.
    pub fn generated(number: u64) -> TaskId {
        TaskId(format!("T{number}").into())
    }

    /// Returns n when the id has the form `T<n>`; such an id takes that number.
    pub fn number(&self) -> Option<u64> {
        let digits = self.0.strip_prefix('T')?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        // A run of digits beyond u64 is far above TASK_NUMBER_MAX and refused there.
        Some(digits.parse().unwrap_or(u64::MAX))
    }
}

/// Cuts text for an error message, on a character boundary.
pub fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    if text.chars().count() <= CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(CHARS_MAX).chain("…".chars()).collect()
}

macro_rules! numbered_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub u64);

        impl $name {
            pub fn parse(text: &str) -> Option<$name> {
                let digits = text.strip_prefix($letter)?;
                let clean = !digits.is_empty()
                    && !digits.starts_with('0')
                    && digits.bytes().all(|b| b.is_ascii_digit());
                if clean { digits.parse().ok().map($name) } else { None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                $name::parse(&text)
                    .ok_or_else(|| format!(concat!("{:?} is not of the form ", $letter, "<number>"), text))
            }
        }
    };
}

numbered_id!(
    /// A lease's id, `L<number>`.
    LeaseId, "L"
);
numbered_id!(
    /// A decision's id, `D<number>`.
    DecisionId, "D"
);
numbered_id!(
    /// A memory's id, `M<number>`.
    MemoryId, "M"
);
numbered_id!(
    /// A directive's id, `I<number>`.
    DirectiveId, "I"
);
numbered_id!(
    /// A run's id, `R<number>`.
    RunId, "R"
);

/// The place of an event in the log: 1, 2, 3, … without gaps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A number that only grows: the seq of the event that granted a claim or a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(NonZeroU64);

impl Fence {
    /// Makes a fence; zero is none.
    pub fn new(number: u64) -> Option<Fence> {
        NonZeroU64::new(number).map(Fence)
    }

    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_ids_of_every_seed_are_accepted_and_others_refused() {
        for good in ["T1", "T042", "T-142", "task-007-01", "a", "x.y_z"] {
            assert!(TaskId::parse(good).is_ok(), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", "1", "-a", "a b", "a/b", "é", "a\n", long.as_str()] {
            assert!(TaskId::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(TaskId::parse("T042").unwrap().number(), Some(42));
        assert_eq!(TaskId::parse("T-142").unwrap().number(), None);
        assert_eq!(TaskId::parse("T99999999999999999999999").unwrap().number(), Some(u64::MAX));
    }

    #[test]
    fn a_person_is_known_by_the_prefix() {
        assert!(AgentId::parse("human:ann").unwrap().is_person());
        assert!(!AgentId::parse("humanoid").unwrap().is_person());
        assert!(AgentId::parse("human:").is_err());
        assert!(AgentId::parse("a b").is_err());
    }
}
