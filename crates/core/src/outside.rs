//! What somebody does in another system, such as GitHub: how far their rights there reach here.

use crate::role::Verb;
use crate::task::Tier;
use crate::word_enum::word_enum;
use serde::{Deserialize, Serialize};

word_enum! {
    /// What a login may do in the repository of another system, the least first.
    pub enum Level as "level" {
        None => "none",
        Read => "read",
        Triage => "triage",
        Write => "write",
        Maintain => "maintain",
        Admin => "admin",
    }
}

impl Level {
    /// Tells whether a person with these rights may do this here. Nothing from outside waives a check, gives a role or
    /// spends money.
    pub fn allows(self, verb: Verb) -> bool {
        match verb {
            // They queue, withdraw, queue again, answer and hold.
            Verb::Create
            | Verb::Update
            | Verb::Link
            | Verb::Block
            | Verb::Unblock
            | Verb::Requeue
            | Verb::Ask
            | Verb::AnswerForPlanner
            | Verb::Note => self >= Level::Triage,
            Verb::Claim
            | Verb::Start
            | Verb::Submit
            | Verb::Release
            | Verb::Fail
            | Verb::Review
            | Verb::Approve
            | Verb::RequestChanges
            | Verb::Merge
            | Verb::Done
            | Verb::Abandon
            | Verb::Reopen => self >= Level::Write,
            Verb::Assign
            | Verb::Subtask
            | Verb::Check
            | Verb::Waive
            | Verb::Record
            | Verb::Lease
            | Verb::Reclaim
            | Verb::Register
            | Verb::Heartbeat
            | Verb::Emit
            | Verb::Remember
            | Verb::Forget
            | Verb::Direct
            | Verb::Trigger
            | Verb::Dispatch
            | Verb::Work
            | Verb::Budget
            | Verb::Supervise
            | Verb::MergeQueue => false,
        }
    }
}

/// Who did something in the other system, as that system says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideSeen {
    pub login: String,
    pub level: Level,
}

/// A check of the submitted commit that the other system ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSeen {
    /// Whether the work left alone what defines the checks, and the system says who ran it.
    pub trusted: bool,
}

impl CheckSeen {
    pub fn tier(&self) -> Tier {
        if self.trusted { Tier::Observed } else { Tier::Claimed }
    }
}

/// What the log keeps of an issue, beside what happens to its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum OutsideNote {
    /// Somebody asked there for what cannot be.
    Refused {
        issue: String,
        wish: String,
        by: String,
        code: String,
        why: String,
    },
    /// Nothing is written there until somebody resumes it.
    Paused {
        issue: String,
        cause: String,
    },
    Resumed {
        issue: String,
    },
    /// The text of a stranger may be worked on, exactly as it is: the hash of title and body.
    Accepted {
        issue: String,
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_github_who_may_only_read_does_nothing() {
        for verb in Verb::ALL {
            assert!(!Level::None.allows(*verb) && !Level::Read.allows(*verb), "{verb}");
        }
    }

    #[test]
    fn rule_github_triage_queues_and_answers_and_judges_nothing() {
        for verb in [Verb::Create, Verb::Requeue, Verb::Block, Verb::AnswerForPlanner] {
            assert!(Level::Triage.allows(verb), "{verb}");
        }
        for verb in [Verb::Approve, Verb::Done, Verb::Abandon, Verb::Reopen, Verb::Claim] {
            assert!(!Level::Triage.allows(verb) && Level::Write.allows(verb), "{verb}");
        }
    }

    #[test]
    fn rule_github_nobody_waives_gives_roles_or_spends_from_outside() {
        for verb in [Verb::Waive, Verb::Register, Verb::Budget, Verb::Record, Verb::Dispatch] {
            assert!(!Level::Admin.allows(verb), "{verb}");
        }
    }
}
