//! Roles, verbs, and the one table that says which role may do what. Whatever is not in it is refused.

use crate::refusal::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an agent is there for. One agent may have several.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Breaks work down, edits, assigns, answers.
    Planner,
    /// Claims tasks and works on them.
    Implementer,
    /// Reviews, approves, sends back, waives.
    Critic,
    /// Merges and finishes.
    Integrator,
    /// Reclaims what is stale and re-queues.
    Watchdog,
    /// Reads, asks, creates tasks.
    Observer,
}

impl Role {
    /// Every role, in the order of the documentation.
    pub const ALL: [Role; 6] = [
        Role::Planner,
        Role::Implementer,
        Role::Critic,
        Role::Integrator,
        Role::Watchdog,
        Role::Observer,
    ];

    /// Every word that is read: comity's own and those of the other protocols.
    pub const WORDS: [(&'static str, Role); 14] = [
        ("planner", Role::Planner),
        ("pm", Role::Planner),
        ("architect", Role::Planner),
        ("supervisor", Role::Planner),
        ("implementer", Role::Implementer),
        ("dev", Role::Implementer),
        ("developer", Role::Implementer),
        ("critic", Role::Critic),
        ("qa", Role::Critic),
        ("reviewer", Role::Critic),
        ("integrator", Role::Integrator),
        ("watchdog", Role::Watchdog),
        ("observer", Role::Observer),
        ("scout", Role::Observer),
    ];

    /// Returns comity's word for the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Planner => "planner",
            Role::Implementer => "implementer",
            Role::Critic => "critic",
            Role::Integrator => "integrator",
            Role::Watchdog => "watchdog",
            Role::Observer => "observer",
        }
    }

    /// Reads a role by comity's word or by one of the other protocols' words.
    pub fn parse(text: &str) -> Result<Role, Refusal> {
        let word = text.trim();
        let known = Role::WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        known.map(|(_, role)| *role).ok_or_else(|| {
            Refusal::input(format!("role {:?} is not known", crate::ids::shorten(text))).hint(
                "use one of: planner (pm, architect, supervisor), implementer (dev, developer), \
                 critic (qa, reviewer), integrator, watchdog, observer (scout)",
            )
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
            /// Every verb, in the order of the documentation.
            pub const ALL: &'static [Verb] = &[$(Verb::$variant,)*];

            /// Returns the word that users write.
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
}

impl Verb {
    /// Reads the word that users write.
    pub fn parse(text: &str) -> Option<Verb> {
        Verb::ALL.iter().copied().find(|verb| verb.as_str() == text)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Renders the table verb × role for the documentation.
pub fn permission_table() -> String {
    let mut out = String::from("| verb |");
    for role in Role::ALL {
        out.push_str(&format!(" {role} |"));
    }
    out.push_str(" person |\n|---|");
    out.push_str(&"---|".repeat(Role::ALL.len() + 1));
    for verb in Verb::ALL {
        out.push_str(&format!("\n| {verb} |"));
        for role in Role::ALL {
            out.push_str(if verb.roles().contains(&role) { " yes |" } else { " – |" });
        }
        out.push_str(" yes |");
    }
    out.push('\n');
    out
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
