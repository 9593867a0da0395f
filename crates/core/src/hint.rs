//! Next steps: what a caller can do, as words, calls of operations and mentions of arguments.
//!
//! A rule names the operation, and each door words it for its own callers: a command line for people, a tool
//! call for a model. Here there is only the plain wording of [`Plain`], for logs and tests.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Operations that help the owner of a machine. Only a command line offers them, so no table of operations has them.
pub const OF_THE_MACHINE: &[&str] = &["doctor", "init", "store.copy", "trust"];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hint(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Words(String),
    Call(Call),
    Argument(Argument),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The name of the operation, such as `task.done`.
    pub operation: Cow<'static, str>,
    /// The arguments, in the order in which they are said.
    pub arguments: Vec<Argument>,
}

/// An argument of a call, or one that a sentence mentions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    pub name: Cow<'static, str>,
    pub given: Given,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    Value(String),
    /// A value that the caller fills in; the text says of which kind.
    Placeholder(Cow<'static, str>),
    /// Nothing: a switch, or an argument that is only named.
    Nothing,
}

impl schemars::JsonSchema for Hint {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Hint".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"description": "the next step, in the words of the door"})
    }
}

/// How a door words calls and arguments.
pub trait Wording {
    /// Words a call.
    fn call(&self, call: &Call) -> String;
    /// Words an argument that a sentence mentions.
    fn argument(&self, argument: &Argument) -> String;
}

/// Begins a next step with words.
pub fn say(words: impl Into<String>) -> Hint {
    Hint::default().say(words)
}

/// Begins a next step with an argument that the caller fills in.
pub fn ask(name: &'static str, placeholder: &'static str) -> Hint {
    Hint::default().ask(name, placeholder)
}

/// Names an operation.
pub fn op(operation: &'static str) -> Call {
    Call { operation: operation.into(), arguments: Vec::new() }
}

impl Call {
    /// Says which thing the call is about.
    #[must_use]
    pub fn id(self, id: &(impl ToString + ?Sized)) -> Call {
        self.arg("id", id)
    }

    /// Adds an argument with its value.
    #[must_use]
    pub fn arg(self, name: &'static str, value: &(impl ToString + ?Sized)) -> Call {
        self.and(name, Given::Value(value.to_string()))
    }

    /// Adds an argument that the caller fills in.
    #[must_use]
    pub fn ask(self, name: &'static str, placeholder: &'static str) -> Call {
        self.and(name, Given::Placeholder(placeholder.into()))
    }

    /// Adds a switch.
    #[must_use]
    pub fn flag(self, name: &'static str) -> Call {
        self.and(name, Given::Nothing)
    }

    fn and(mut self, name: &'static str, given: Given) -> Call {
        self.arguments.push(Argument { name: name.into(), given });
        self
    }
}

impl Hint {
    /// Goes on with words.
    #[must_use]
    pub fn say(self, words: impl Into<String>) -> Hint {
        self.and(Piece::Words(words.into()))
    }

    /// Goes on with a call.
    #[must_use]
    pub fn call(self, call: Call) -> Hint {
        self.and(Piece::Call(call))
    }

    /// Goes on with a call that is set off from the sentence around it.
    #[must_use]
    pub fn quote(self, call: Call) -> Hint {
        self.say("`").call(call).say("`")
    }

    /// Goes on with the name of an argument.
    #[must_use]
    pub fn mention(self, name: &'static str) -> Hint {
        self.argument(name, Given::Nothing)
    }

    /// Goes on with an argument and its value.
    #[must_use]
    pub fn arg(self, name: &'static str, value: &(impl ToString + ?Sized)) -> Hint {
        self.argument(name, Given::Value(value.to_string()))
    }

    /// Goes on with an argument that the caller fills in.
    #[must_use]
    pub fn ask(self, name: &'static str, placeholder: &'static str) -> Hint {
        self.argument(name, Given::Placeholder(placeholder.into()))
    }

    /// Tells whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the calls that it names.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Call(call) => Some(call),
            Piece::Words(_) | Piece::Argument(_) => None,
        })
    }

    /// Words it for the callers of a door.
    pub fn worded(&self, wording: &dyn Wording) -> String {
        let word = |piece: &Piece| match piece {
            Piece::Words(words) => words.clone(),
            Piece::Call(call) => wording.call(call),
            Piece::Argument(argument) => wording.argument(argument),
        };
        self.0.iter().map(word).collect()
    }

    fn argument(self, name: &'static str, given: Given) -> Hint {
        self.and(Piece::Argument(Argument { name: name.into(), given }))
    }

    fn and(mut self, piece: Piece) -> Hint {
        self.0.push(piece);
        self
    }
}

impl From<&str> for Hint {
    fn from(words: &str) -> Hint {
        say(words)
    }
}

impl From<String> for Hint {
    fn from(words: String) -> Hint {
        say(words)
    }
}

impl From<Call> for Hint {
    fn from(call: Call) -> Hint {
        Hint::default().call(call)
    }
}

/// The wording of no door: names and values as they are.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Wording for Plain {
    fn call(&self, call: &Call) -> String {
        let arguments: Vec<String> = call.arguments.iter().map(Argument::to_string).collect();
        match arguments.is_empty() {
            true => call.operation.to_string(),
            false => format!("{} {{{}}}", call.operation, arguments.join(", ")),
        }
    }

    fn argument(&self, argument: &Argument) -> String {
        match &argument.given {
            Given::Value(_) => argument.to_string(),
            Given::Placeholder(_) | Given::Nothing => argument.name.to_string(),
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.given {
            Given::Value(value) => write!(f, "{}: {value:?}", self.name),
            Given::Placeholder(kind) => write!(f, "{}: {kind}", self.name),
            Given::Nothing => write!(f, "{}: true", self.name),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.worded(&Plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_step_in_plain_words_has_no_shell_in_it() {
        let merged = op("task.done").id("T1").ask("merged", "SHA").flag("unmerged");
        let hint = say("run ").quote(merged).say(" or give ").ask("reason", "TEXT");
        let plain = "run `task.done {id: \"T1\", merged: SHA, unmerged: true}` or give reason";
        assert_eq!(hint.to_string(), plain);
    }

    #[test]
    fn a_next_step_reads_back() {
        let hint = say("see ").quote(op("task.why").id("T1")).mention("all").ask("reason", "TEXT");
        let json = serde_json::to_value(&hint).unwrap();
        assert_eq!(serde_json::from_value::<Hint>(json).unwrap(), hint);
    }
}
