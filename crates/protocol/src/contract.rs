//! The kinds of contract that can be read, checked and handed in: one row each.

use crate::ace;
use crate::agent_protocol::{mission_check, result, schema};
use crate::document::{self, Fault, Node};
use crate::neomjs;
use crate::neotx::{agent, architect, developer, resume, reviewer, scout, supervisor, wrapped};
use crate::problem::Problems;
use comity_core::command::WorkReport;
use serde_json::Value;
use std::fmt;

/// How strictly a contract is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything that can be told from the text.
    #[default]
    Full,
    /// Exactly what the original tool checks.
    Compat,
}

/// One kind of contract.
pub struct Kind {
    /// Its name on the command line and in answers.
    pub name: &'static str,
    /// What it is, in a few words.
    pub help: &'static str,
    /// Reads the text, which may be wrapped in something.
    pub read: fn(&str) -> Result<Node, Fault>,
    /// Counts what speaks for this kind, in the text or in the tree when it could be read as a whole.
    pub likeness: fn(&str, Option<&Node>) -> u32,
    /// Finds everything that is wrong.
    pub validate: fn(&Node, Mode) -> Problems,
    /// The JSON Schema.
    pub schema: fn() -> Value,
    /// For those that end a piece of work: what a valid one reports.
    pub report: Option<fn(&Node) -> WorkReport>,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every kind, in the order of the documentation. Of kinds that are equally likely the first is taken.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "mission",
        help: "Agent Protocol v1: what an agent is to do",
        read: document::read,
        likeness: mission_check::likeness,
        validate: mission_check::validate,
        schema: schema::mission,
        report: None,
    },
    Kind {
        name: "result",
        help: "Agent Protocol v1: what came of it",
        read: document::read,
        likeness: result::likeness,
        validate: result::validate,
        schema: schema::result,
        report: Some(result::report),
    },
    neomjs::TASK,
    neomjs::RESULT,
    neomjs::ERROR,
    Kind {
        name: "developer",
        help: "neo: what a developer reports",
        read: wrapped::read,
        likeness: developer::likeness,
        validate: developer::validate,
        schema: developer::schema,
        report: Some(developer::report),
    },
    Kind {
        name: "reviewer",
        help: "neo: what a reviewer found",
        read: wrapped::read,
        likeness: reviewer::likeness,
        validate: reviewer::validate,
        schema: reviewer::schema,
        report: None,
    },
    Kind {
        name: "scout",
        help: "neo: what a scout found",
        read: wrapped::read,
        likeness: scout::likeness,
        validate: scout::validate,
        schema: scout::schema,
        report: None,
    },
    Kind {
        name: "architect",
        help: "neo: where the plan is",
        read: wrapped::read,
        likeness: architect::likeness,
        validate: architect::validate,
        schema: architect::schema,
        report: None,
    },
    Kind {
        name: "supervisor",
        help: "neo: what a focused supervisor ends with",
        read: wrapped::read,
        likeness: supervisor::likeness,
        validate: supervisor::validate,
        schema: supervisor::schema,
        report: Some(supervisor::report),
    },
    Kind {
        name: "agent",
        help: "neo: the definition of an agent",
        read: document::read,
        likeness: agent::likeness,
        validate: agent::validate,
        schema: agent::schema,
        report: None,
    },
    Kind {
        name: "resume",
        help: "neo: where to go on after a crash",
        read: resume::read,
        likeness: resume::likeness,
        validate: resume::validate,
        schema: resume::schema,
        report: None,
    },
    ace::DONE,
];

/// Returns the kind of that name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// Tells the kind of a contract from its content.
pub fn recognise(text: &str) -> Option<&'static Kind> {
    // Reports may stand in prose; a contract that is the whole text is read the same way.
    let tree = wrapped::read(text).ok();
    let mut best: Option<(&Kind, u32)> = None;
    for kind in KINDS {
        let found = (kind.likeness)(text, tree.as_ref());
        if found > best.map_or(0, |(_, most)| most) {
            best = Some((kind, found));
        }
    }
    best.map(|(kind, _)| kind)
}

/// A contract that was looked at.
pub struct Checked {
    /// Its kind, when it is known.
    pub kind: Option<&'static Kind>,
    /// What is in it, when it could be read.
    pub tree: Option<Node>,
    /// What is wrong with it.
    pub problems: Problems,
}

impl Checked {
    /// Tells whether it can be used.
    pub fn is_valid(&self) -> bool {
        self.tree.is_some() && self.kind.is_some() && self.problems.is_valid()
    }
}

/// Reads and checks a contract of a given kind, or of the kind that it looks like.
pub fn check(text: &str, given: Option<&'static Kind>, mode: Mode) -> Checked {
    let kind = given.or_else(|| recognise(text));
    let read = kind.map_or(document::read as fn(&str) -> _, |kind| kind.read);
    match (read(text), kind) {
        (Err(fault), _) => Checked { kind, tree: None, problems: fault.into() },
        (Ok(tree), Some(kind)) => {
            Checked { kind: Some(kind), problems: (kind.validate)(&tree, mode), tree: Some(tree) }
        }
        (Ok(tree), None) => {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let mut problems = Problems::new();
            let message = format!(
                "the kind of this contract cannot be told from its content; give it with --kind ({})",
                names.join(", ")
            );
            problems.error(tree.at, "", message);
            Checked { kind: None, tree: Some(tree), problems }
        }
    }
}

/// Counts the keys that are there; what a likeness is made of.
pub fn keys_there(tree: Option<&Node>, keys: &[&str]) -> u32 {
    let Some(tree) = tree else { return 0 };
    keys.iter().map(|key| u32::from(tree.entry(key).is_some())).sum()
}

/// Tells whether a key holds one of the words.
pub fn says(tree: Option<&Node>, key: &str, words: &[&str]) -> bool {
    let text = tree.and_then(|tree| tree.get(key)).and_then(Node::text);
    text.is_some_and(|text| words.contains(&text))
}

#[cfg(test)]
mod tests;
