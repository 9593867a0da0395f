//! Answers of the `collab.*` methods, in the shapes of the tree's own server.

use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub struct Fine {
    ok: bool,
}

impl Fine {
    pub const YES: Fine = Fine { ok: true };
}

#[derive(Serialize)]
pub struct Created {
    pub id: String,
}

#[derive(Serialize)]
pub struct Leased {
    pub lock_id: String,
}

#[derive(Serialize)]
pub struct Tasks {
    /// Entries of `tasks.json`.
    pub tasks: Vec<Map<String, Value>>,
}

#[derive(Serialize)]
pub struct Suggested {
    pub assignee: Option<String>,
}

#[derive(Serialize)]
pub struct Assigned {
    pub assignee: Option<String>,
    pub updated: bool,
}

#[derive(Serialize)]
pub struct Reclaimed {
    pub ok: bool,
    pub reclaimed: Vec<String>,
    pub tasks: Vec<String>,
}

/// A state file.
#[derive(Serialize)]
pub struct StateData {
    pub data: Value,
    pub etag: String,
}

/// Another file of the tree.
#[derive(Serialize)]
pub struct FileText {
    pub text: String,
    pub etag: String,
}

/// The log for people.
#[derive(Serialize)]
pub struct LogFile {
    pub path: String,
    pub text: String,
}
