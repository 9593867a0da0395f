//! The dialects that come with comity.

use super::{Carrier, Dialect};
use comity_core::role::Role;
use comity_core::status::Status;

pub(super) const NAMES: [&str; 3] = ["neo", "ace", "ace-project"];

impl Dialect {
    pub fn named(name: &str) -> Option<Dialect> {
        match name {
            "neo" => Some(Dialect::neo()),
            "ace" => Some(Dialect::ace()),
            "ace-project" => Some(Dialect::ace_project()),
            _ => None,
        }
    }

    pub fn neo() -> Dialect {
        let role = |role, word: &str| (role, format!("agent-role:{word}"));
        Dialect {
            roles: vec![
                role(Role::Planner, "pm"),
                role(Role::Implementer, "dev"),
                role(Role::Critic, "qa"),
            ],
            role_prefix: Some("agent-role:".to_owned()),
            ..dialect(
                "neo",
                Carrier::Labels,
                "agent-task:",
                ["pending", "in-progress", "review", "completed", "blocked", "blocked", ""],
            )
        }
    }

    pub fn ace() -> Dialect {
        let words = ["ready", "in-progress", "done", "done", "blocked", "failed", "failed"];
        dialect("ace", Carrier::Labels, "agent:", words)
    }

    pub fn ace_project() -> Dialect {
        let words = ["Ready", "In progress", "Done", "Done", "Blocked", "Blocked", "Blocked"];
        dialect("ace-project", Carrier::Field, "", words)
    }
}

/// Picks the word for a state. Other systems have fewer states: queued, under way, in review, done, blocked, failed,
/// abandoned.
pub(crate) fn word_for(status: Status, words: [&'static str; 7]) -> &'static str {
    let [queued, under_way, review, done, blocked, failed, abandoned] = words;
    match status {
        Status::Queued => queued,
        Status::Claimed | Status::InProgress | Status::ChangesRequested => under_way,
        Status::Review | Status::Approved | Status::Merging => review,
        Status::Done => done,
        Status::Blocked => blocked,
        Status::Failed => failed,
        Status::Abandoned => abandoned,
    }
}

/// A dialect without roles; an empty word stands for a state that has none.
fn dialect(name: &str, carrier: Carrier, prefix: &str, words: [&'static str; 7]) -> Dialect {
    let words = Status::ALL.into_iter().map(|status| (status, word_for(status, words)));
    let words = words.filter(|(_, word)| !word.is_empty());
    let words = words.map(|(status, word)| (status, format!("{prefix}{word}")));
    Dialect {
        name: name.to_owned(),
        carrier,
        words: words.collect(),
        roles: Vec::new(),
        role_prefix: None,
    }
}
