//! The states of a task and the one table of transitions between them.

use crate::refusal::Refusal;
use crate::word_enum::word_enum;
use schemars::JsonSchema;

word_enum! {
    /// The state of a task.
    #[derive(JsonSchema)]
    pub enum Status {
        /// Waits to be claimed.
        Queued => "queued",
        /// Taken, not started.
        Claimed => "claimed",
        /// Being worked on.
        InProgress => "in_progress",
        /// Submitted; waits for a critic.
        Review => "review",
        /// Sent back by a critic.
        ChangesRequested => "changes_requested",
        /// Accepted; waits for integration.
        Approved => "approved",
        /// Being integrated.
        Merging => "merging",
        /// Integrated, or accepted where there is nothing to integrate.
        Done => "done",
        /// Cannot go on until something is given.
        Blocked => "blocked",
        /// An attempt failed.
        Failed => "failed",
        /// Given up.
        Abandoned => "abandoned",
    }
}

impl Status {
    /// Reads the word; a dash counts as an underscore.
    pub fn parse(text: &str) -> Result<Status, Refusal> {
        let wanted = text.trim().replace('-', "_");
        Status::ALL.into_iter().find(|status| status.as_str() == wanted).ok_or_else(|| {
            let words: Vec<&str> = Status::ALL.iter().map(|s| s.as_str()).collect();
            Refusal::input(format!("status {:?} is not known", crate::ids::shorten(text)))
                .hint(format!("use one of: {}", words.join(", ")))
        })
    }

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
