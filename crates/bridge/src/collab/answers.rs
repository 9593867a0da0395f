//! Answers of the `collab.*` methods, in the shapes of the tree's own server.

use serde::Serialize;
use serde_json::{Map, Value};

macro_rules! answers {
    ($($name:ident { $($field:ident: $type:ty),* })*) => {
        $(#[derive(Serialize)]
        pub struct $name {
            $(pub $field: $type),*
        })*
    };
}

answers! {
    Fine { ok: bool }
    Created { id: String }
    Leased { lock_id: String }
    Tasks { tasks: Vec<Map<String, Value>> }
    Suggested { assignee: Option<String> }
    Assigned { assignee: Option<String>, updated: bool }
    Reclaimed { ok: bool, reclaimed: Vec<String>, tasks: Vec<String> }
    StateData { data: Value, etag: String }
    FileText { text: String, etag: String }
    LogFile { path: String, text: String }
}

impl Fine {
    pub const YES: Fine = Fine { ok: true };
}
