//! A setting that parses but makes no sense.

use comity_core::refusal::Refusal;

/// A value that parses but makes no sense.
#[derive(Debug)]
pub struct Problem {
    pub(crate) key: String,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(key: &str, message: impl Into<String>) -> Problem {
        Problem { key: key.to_owned(), message: message.into() }
    }
}

impl From<(String, String)> for Problem {
    fn from((key, message): (String, String)) -> Problem {
        Problem { key, message }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal::input(format!("config key {}: {}", problem.key, problem.message))
    }
}
