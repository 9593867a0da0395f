//! The comment with which an agent says that it has taken an issue.

use super::{CLAIM, Generation};
use crate::markdown::Line;
use comity_core::time::Timestamp;
use serde::Serialize;

const HEARTBEAT: &str = "Updates posted at major milestones";

/// Who took an issue, where and since when. A generation writes the parts that it knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Claim {
    pub agent: Option<String>,
    pub host: Option<String>,
    pub repository: Option<String>,
    pub branch: Option<String>,
    pub workspace: Option<String>,
    pub started: Option<Timestamp>,
    /// Lines that the protocol does not know, and known ones that could not be read.
    #[serde(skip)]
    pub other: Vec<(String, String)>,
}

impl Claim {
    pub(super) fn read(rest: &[Line<'_>]) -> Claim {
        let mut claim = Claim::default();
        for line in rest.iter().filter(|line| line.plain) {
            let item = line.text.trim().strip_prefix("- ").and_then(|item| item.split_once(':'));
            let Some((name, value)) = item else { continue };
            claim.take(name.trim(), value.trim());
        }
        claim
    }

    fn take(&mut self, name: &str, value: &str) {
        let text = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match name.to_ascii_lowercase().as_str() {
            "agent id" => self.agent = text(),
            "host" => self.host = text(),
            "repository" => self.repository = text(),
            "branch" => self.branch = text(),
            "workspace" => self.workspace = text(),
            "started" if time(value).is_some() => self.started = time(value),
            // Both are the same in every claim.
            "heartbeat" | "status" => {}
            _ => self.other.push((name.to_owned(), value.to_owned())),
        }
    }

    pub(super) fn render(&self, generation: Generation) -> String {
        let lines = [
            ("Status", Generation::Project, Some("In Progress".to_owned())),
            ("Agent ID", Generation::Labels, self.agent.clone()),
            ("Host", Generation::Labels, self.host.clone()),
            ("Repository", Generation::Project, self.repository.clone()),
            ("Branch", generation, self.branch.clone()),
            ("Workspace", Generation::Labels, self.workspace.clone()),
            ("Started", generation, self.started.map(|time| time.to_string())),
            ("Heartbeat", generation, Some(HEARTBEAT.to_owned())),
        ];
        let mut out = format!("{CLAIM}\n\n");
        for (name, _, value) in lines.into_iter().filter(|(_, known, _)| *known == generation) {
            if let Some(value) = value {
                out.push_str(&format!("- {name}: {}\n", one_line(&value)));
            }
        }
        for (name, value) in &self.other {
            out.push_str(&format!("- {}: {}\n", one_line(name), one_line(value)));
        }
        out
    }
}

/// Reads a time with or without a `Z`; without one it is UTC, as the protocol's tools write it.
fn time(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}Z")))
}

/// A value stays on its line, whatever is in it.
fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control()).collect::<Vec<_>>().join(" ")
}
