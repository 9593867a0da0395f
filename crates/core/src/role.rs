//! Roles, verbs, and the one table that says which role may do what. Whatever is not in it is refused.

use crate::ids::{AgentId, SUPERVISOR, WORKER};
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use std::fmt;

word_enum! {
    /// What an agent is there for. One agent may have several.
    #[derive(JsonSchema)]
    pub enum Role as "role" {
        /// Breaks work down, edits, assigns, answers.
        Planner => "planner" | "pm" | "architect" | "supervisor",
        /// Claims tasks and works on them.
        Implementer => "implementer" | "dev" | "developer",
        /// Reviews, approves, sends back, waives.
        Critic => "critic" | "qa" | "reviewer",
        /// Merges and finishes.
        Integrator => "integrator",
        /// Reclaims what is stale and re-queues.
        Watchdog => "watchdog",
        /// Reads, asks, creates tasks.
        Observer => "observer" | "scout",
    }
}

impl Role {
    /// Returns the roles of what comity itself starts: its supervisor, and workers. Nobody else has their names.
    pub fn of_helper(id: &AgentId) -> Option<&'static [Role]> {
        match id.as_str() {
            SUPERVISOR => Some(&[Role::Planner, Role::Critic, Role::Integrator, Role::Watchdog]),
            name => name.starts_with(WORKER).then_some(&[Role::Watchdog]),
        }
    }
}

macro_rules! verbs {
    ($($variant:ident => $text:literal, [$($role:ident),*];)*) => {
        /// A thing that a caller does, as far as permission is concerned.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verb {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        impl Verb {
            pub const ALL: &'static [Verb] = &[$(Verb::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Verb::$variant => $text,)* }
            }

            /// Returns the roles that may do this without any configuration.
            pub fn roles(self) -> &'static [Role] {
                match self { $(Verb::$variant => &[$(Role::$role),*],)* }
            }
        }
    };
}

verbs! {
    Create => "create", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    Update => "update", [Planner];
    Assign => "assign", [Planner];
    Link => "link", [Planner, Implementer, Critic, Integrator];
    Claim => "claim", [Implementer];
    Start => "start", [Implementer];
    Submit => "submit", [Implementer];
    Subtask => "subtask", [Implementer];
    Check => "check", [Implementer, Critic];
    Release => "release", [Implementer];
    Block => "block", [Implementer, Critic, Integrator, Planner];
    Fail => "fail", [Implementer, Critic, Integrator, Planner];
    Review => "review", [Critic];
    Approve => "approve", [Critic];
    RequestChanges => "request-changes", [Critic, Integrator];
    Waive => "waive", [Critic];
    Record => "record", [Implementer, Critic, Integrator, Planner];
    Merge => "merge", [Integrator];
    Done => "done", [Integrator];
    Abandon => "abandon", [Planner];
    Requeue => "requeue", [Planner, Watchdog];
    Unblock => "unblock", [Planner, Watchdog];
    Reopen => "reopen", [];
    Lease => "lease", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    Reclaim => "reclaim", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    Register => "register", [Planner];
    Heartbeat => "heartbeat", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    Ask => "ask", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    AnswerForPlanner => "answer-for-planner", [Planner];
    Note => "note", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    Emit => "emit", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    Remember => "remember", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    Forget => "forget", [Planner, Implementer, Critic, Integrator, Watchdog, Observer];
    Direct => "direct", [Planner, Implementer];
    Trigger => "trigger", [Planner, Implementer, Watchdog];
    Dispatch => "dispatch", [Planner, Implementer];
    Work => "work", [Watchdog];
    Budget => "budget", [];
    Supervise => "supervise", [Planner];
    MergeQueue => "merge-queue", [Integrator];
}

impl Verb {
    pub fn parse(text: &str) -> Option<Verb> {
        Verb::ALL.iter().copied().find(|verb| verb.as_str() == text)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_1_every_role_creates_asks_notes_and_leases() {
        for verb in [Verb::Create, Verb::Ask, Verb::Note, Verb::Lease] {
            assert_eq!(verb.roles(), Role::ALL);
        }
    }

    #[test]
    fn rule_1_only_a_critic_approves_and_nobody_but_a_person_reopens() {
        assert_eq!(Verb::Approve.roles(), [Role::Critic]);
        assert_eq!(Verb::Waive.roles(), [Role::Critic]);
        assert_eq!(Verb::Merge.roles(), [Role::Integrator]);
        assert_eq!(Verb::Claim.roles(), [Role::Implementer]);
        assert!(Verb::Reopen.roles().is_empty());
    }

    #[test]
    fn the_words_of_the_other_protocols_are_roles_too() {
        assert_eq!(Role::parse("pm").unwrap(), Role::Planner);
        assert_eq!(Role::parse("Developer").unwrap(), Role::Implementer);
        assert_eq!(Role::parse("qa").unwrap(), Role::Critic);
        assert_eq!(Role::parse("scout").unwrap(), Role::Observer);
        assert!(Role::parse("king").is_err());
    }
}
