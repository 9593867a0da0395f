//! The fields of events about issues of another system.

use serde::{Deserialize, Serialize};

/// Somebody asked there for what cannot be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutsideRefused {
    /// The issue, such as `acme/app#7`.
    pub issue: String,
    /// What was asked for: the word, or `closed`.
    pub wish: String,
    pub by: String,
    pub code: String,
    pub why: String,
}

/// Nothing is written to an issue until somebody resumes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IssuePaused {
    pub issue: String,
    pub cause: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IssueResumed {
    pub issue: String,
}

/// The text of a stranger may be worked on, exactly as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextAccepted {
    pub issue: String,
    /// The hash of title and body.
    pub text: String,
}
