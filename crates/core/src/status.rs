//! The states of a task and the one table of transitions between them.

use crate::refusal::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The state of a task.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits to be claimed.
    Queued,
    /// Taken, not started.
    Claimed,
    /// Being worked on.
    InProgress,
    /// Submitted; waits for a critic.
    Review,
    /// Sent back by a critic.
    ChangesRequested,
    /// Accepted; waits for integration.
    Approved,
    /// Being integrated.
    Merging,
    /// Finished.
    Done,
    /// Cannot go on until something is given.
    Blocked,
    /// An attempt failed.
    Failed,
    /// Given up.
    Abandoned,
}

impl Status {
    /// Every status, in the order of a task's life.
    pub const ALL: [Status; 11] = [
        Status::Queued,
        Status::Claimed,
        Status::InProgress,
        Status::Review,
        Status::ChangesRequested,
        Status::Approved,
        Status::Merging,
        Status::Done,
        Status::Blocked,
        Status::Failed,
        Status::Abandoned,
    ];

    /// Returns the word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Claimed => "claimed",
            Status::InProgress => "in_progress",
            Status::Review => "review",
            Status::ChangesRequested => "changes_requested",
            Status::Approved => "approved",
            Status::Merging => "merging",
            Status::Done => "done",
            Status::Blocked => "blocked",
            Status::Failed => "failed",
            Status::Abandoned => "abandoned",
        }
    }

    /// Reads the word; a dash counts as an underscore.
    pub fn parse(text: &str) -> Result<Status, Refusal> {
        let wanted = text.trim().replace('-', "_");
        Status::ALL.into_iter().find(|status| status.as_str() == wanted).ok_or_else(|| {
            let words: Vec<&str> = Status::ALL.iter().map(|s| s.as_str()).collect();
            Refusal::input(format!("status {:?} is not known", crate::ids::shorten(text)))
                .hint(format!("use one of: {}", words.join(", ")))
        })
    }

    /// Returns the states that the table allows after this one.
    pub fn next(self) -> &'static [Status] {
        use Status::*;
        match self {
            Queued => &[Claimed, InProgress, Blocked, Abandoned],
            Claimed => &[InProgress, Queued, Blocked, Failed, Abandoned],
            InProgress => &[Review, Queued, Blocked, Failed, Abandoned],
            Review => &[Approved, ChangesRequested, Blocked, Failed, Abandoned],
            ChangesRequested => &[InProgress, Queued, Blocked, Failed, Abandoned],
            Approved => &[Merging, ChangesRequested, Done, Abandoned],
            Merging => &[Done, ChangesRequested, Blocked, Failed, Abandoned],
            Blocked => &[InProgress, Queued, Failed, Abandoned],
            Failed => &[Queued, InProgress, Blocked, Abandoned],
            Done | Abandoned => &[Queued],
        }
    }

    /// Tells whether the table allows this step.
    pub fn may_become(self, next: Status) -> bool {
        self.next().contains(&next)
    }

    /// Tells whether a task in this state has a live claim.
    pub fn is_held(self) -> bool {
        matches!(self, Status::Claimed | Status::InProgress)
    }

    /// Tells whether nothing more is to be done.
    pub fn is_finished(self) -> bool {
        matches!(self, Status::Done | Status::Abandoned)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Renders the table of transitions for the documentation.
pub fn transition_table() -> String {
    let mut out = String::from("| from | to |\n|---|---|\n");
    for from in Status::ALL {
        let next: Vec<String> = from.next().iter().map(|to| to_words(from, *to)).collect();
        out.push_str(&format!("| `{from}` | {} |\n", next.join(" · ")));
    }
    out
}

/// A step with the condition that comes with it.
fn to_words(from: Status, to: Status) -> String {
    use Status::{Abandoned, Approved, Blocked, Done, Failed, InProgress, Queued};
    let condition = match (from, to) {
        (Queued | Failed, InProgress) => " (claims on the way)",
        (Status::Claimed | InProgress, Queued) => " (released, reclaimed)",
        (Approved, Done) => " (no code to merge)",
        (Blocked, InProgress) => " (answered, claim still live)",
        (Failed, Queued) => " (attempts left)",
        (Failed, Blocked) => " (none left)",
        (Done | Abandoned, Queued) => " (a person's `reopen`, with a reason)",
        _ => "",
    };
    format!("`{to}`{condition}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_2_the_transition_table_is_the_one_of_the_rules() {
        let table: Vec<String> = Status::ALL
            .iter()
            .map(|s| {
                let next: Vec<&str> = s.next().iter().map(|n| n.as_str()).collect();
                format!("{s}: {}", next.join(" "))
            })
            .collect();
        assert_eq!(
            table,
            [
                "queued: claimed in_progress blocked abandoned",
                "claimed: in_progress queued blocked failed abandoned",
                "in_progress: review queued blocked failed abandoned",
                "review: approved changes_requested blocked failed abandoned",
                "changes_requested: in_progress queued blocked failed abandoned",
                "approved: merging changes_requested done abandoned",
                "merging: done changes_requested blocked failed abandoned",
                "done: queued",
                "blocked: in_progress queued failed abandoned",
                "failed: queued in_progress blocked abandoned",
                "abandoned: queued",
            ]
        );
    }

    #[test]
    fn every_status_word_reads_back() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()).unwrap(), status);
        }
        assert_eq!(Status::parse("in-progress").unwrap(), Status::InProgress);
        assert!(Status::parse("finished").is_err());
    }
}
