//! Reading a state file as text and as JSON, with the place of every problem.

use super::Problem;
use crate::document::{Flaw, FlawKind, Node, Place, flaws, read_file};
use serde_json::Value;

pub(super) struct Parsed {
    pub(super) value: Value,
    root: Option<Node>,
}

impl Parsed {
    pub(super) fn read(text: &str) -> Result<Parsed, Vec<Problem>> {
        match super::read_json(text) {
            Ok(value) => Ok(Parsed { value, root: read_file(text) }),
            Err(error) => {
                let (line, column) = (error.line().max(1), error.column().max(1));
                let message = error.to_string();
                let message = message.split(" at line ").next().unwrap_or_default().to_owned();
                Err(vec![Problem { message, path: String::new(), line, column }])
            }
        }
    }

    /// A problem at a path such as `tasks[3].status`, or at the deepest part of the path that is there.
    pub(super) fn problem(&self, path: impl Into<String>, message: impl Into<String>) -> Problem {
        locate(self.root.as_ref(), path.into(), message.into())
    }

    /// What `serde_json` would change without a word: a key that is there twice.
    pub(super) fn lossy(&self) -> Vec<Problem> {
        let found = self.root.as_ref().map(flaws).unwrap_or_default();
        let problem = |flaw: Flaw| match flaw.kind {
            FlawKind::RepeatedKey(key) => {
                let message = format!("the object has the key {key:?} twice");
                Some(placed(flaw.at, flaw.path, message))
            }
            // Large integers are kept.
            FlawKind::LargeNumber(_) => None,
        };
        found.into_iter().filter_map(problem).collect()
    }
}

pub(super) fn problem_in(text: &str, path: String, message: String) -> Problem {
    locate(read_file(text).as_ref(), path, message)
}

fn locate(root: Option<&Node>, path: String, message: String) -> Problem {
    let at = root.map_or(Place::START, |root| root.place_of(&path));
    placed(at, path, message)
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Vec<Problem>> {
    std::str::from_utf8(bytes).map_err(|error| {
        let head = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let at = Place::after(&String::from_utf8_lossy(head));
        vec![placed(at, String::new(), "the file is not UTF-8".to_owned())]
    })
}

fn placed(at: Place, path: String, message: String) -> Problem {
    let (line, column) = at.numbers();
    Problem { message, path, line, column }
}
