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
            ..dialect("neo", Carrier::Labels, |status| {
                let word = match status {
                    Status::Queued => "pending",
                    Status::Claimed | Status::InProgress | Status::ChangesRequested => {
                        "in-progress"
                    }
                    Status::Review | Status::Approved | Status::Merging => "review",
                    Status::Done => "completed",
                    Status::Blocked | Status::Failed => "blocked",
                    Status::Abandoned => return None,
                };
                Some(format!("agent-task:{word}"))
            })
        }
    }

    pub fn ace() -> Dialect {
        dialect("ace", Carrier::Labels, |status| {
            let word = match status {
                Status::Queued => "ready",
                Status::Claimed | Status::InProgress | Status::ChangesRequested => "in-progress",
                Status::Review | Status::Approved | Status::Merging | Status::Done => "done",
                Status::Blocked => "blocked",
                Status::Failed | Status::Abandoned => "failed",
            };
            Some(format!("agent:{word}"))
        })
    }

    pub fn ace_project() -> Dialect {
        dialect("ace-project", Carrier::Field, |status| {
            let word = match status {
                Status::Queued => "Ready",
                Status::Claimed | Status::InProgress | Status::ChangesRequested => "In progress",
                Status::Review | Status::Approved | Status::Merging | Status::Done => "Done",
                Status::Blocked | Status::Failed | Status::Abandoned => "Blocked",
            };
            Some(word.to_owned())
        })
    }
}

fn dialect(name: &str, carrier: Carrier, word: fn(Status) -> Option<String>) -> Dialect {
    let words = Status::ALL.into_iter().filter_map(|status| Some((status, word(status)?)));
    Dialect {
        name: name.to_owned(),
        carrier,
        words: words.collect(),
        roles: Vec::new(),
        role_prefix: None,
    }
}
