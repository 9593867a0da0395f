//! Who acts: what was asked for, else the agent client that started us, else the person or script.
//!
//! The markers are variables that an agent client sets for the commands it runs. The list is by hand
//! and public; a client without one sets `COMITY_AGENT`.

use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};

/// How an agent client is recognised.
pub struct Marker {
    /// The id that its agents get.
    pub client: &'static str,
    /// Variables, any of which says that the client runs us.
    pub present: &'static [&'static str],
    /// Variables that tell two sessions of the client apart; the first one set counts.
    pub session: &'static [&'static str],
}

/// Every client that is recognised. `CURSOR_TRACE_ID` alone is no marker: Cursor sets it for the
/// terminals that people type in, too.
pub const MARKERS: &[Marker] = &[
    Marker {
        client: "claude-code",
        present: &["CLAUDECODE", "CLAUDE_CODE_SESSION_ID"],
        session: &["CLAUDE_CODE_SESSION_ID"],
    },
    Marker {
        client: "codex-cli",
        present: &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"],
        session: &["CODEX_THREAD_ID"],
    },
    Marker { client: "gemini-cli", present: &["GEMINI_CLI"], session: &["GEMINI_SESSION_ID"] },
    Marker { client: "qwen-code", present: &["QWEN_CODE"], session: &[] },
    Marker {
        client: "opencode",
        present: &["OPENCODE", "OPENCODE_PID"],
        session: &["OPENCODE_SESSION_ID", "OPENCODE_PID"],
    },
    Marker { client: "cursor-agent", present: &["CURSOR_AGENT"], session: &["CURSOR_TRACE_ID"] },
    Marker {
        client: "copilot",
        present: &["COPILOT_AGENT", "COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"],
        session: &["COPILOT_AGENT_SESSION_ID"],
    },
    Marker { client: "aider", present: &["AIDER"], session: &[] },
    Marker { client: "goose", present: &["GOOSE_TERMINAL"], session: &["AGENT_SESSION_ID"] },
    Marker { client: "augment", present: &["AUGMENT_AGENT"], session: &[] },
];

/// How much of a session's id goes into the agent's.
const SESSION_CHARS: usize = 8;

/// What the surroundings say about the caller.
pub struct Surroundings<'a> {
    /// Looks a variable up.
    pub var: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a person sits at the terminal.
    pub interactive: bool,
    /// The name of the user.
    pub login: &'a str,
}

/// Decides who acts. `given` is what `--as` or `COMITY_AGENT` said.
pub fn actor(given: Option<&str>, around: &Surroundings<'_>) -> Result<AgentId, Refusal> {
    let marker = recognise(around.var);
    let Some(text) = given else {
        return match marker {
            Some((_, id)) => AgentId::parse(&id),
            None if around.interactive => AgentId::parse(&format!("human:{}", around.login)),
            None => AgentId::parse(&format!("script:{}", around.login)),
        };
    };
    let id = AgentId::parse(text)?;
    match marker {
        Some((variable, client)) if id.is_person() => Err(Refusal::new(
            Code::HumanOnly,
            format!("{id} cannot act here: {variable} says that an agent runs this command"),
        )
        .hint(format!("act as the agent (leave --as out: {client}), or ask a person"))
        .detail("marker", variable)),
        _ => Ok(id),
    }
}

/// Returns the variable that gave an agent client away, and the id its agent gets.
pub fn recognise(var: &dyn Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    let on = |name: &str| var(name).is_some_and(|text| text != "0" && text != "false");
    MARKERS.iter().find_map(|marker| {
        let variable = marker.present.iter().find(|name| on(name))?;
        let session = marker.session.iter().find_map(|name| var(name)).unwrap_or_default();
        let short: String =
            session.chars().filter(char::is_ascii_alphanumeric).take(SESSION_CHARS).collect();
        let id = if short.is_empty() {
            marker.client.to_owned()
        } else {
            format!("{}:{short}", marker.client)
        };
        Some((*variable, id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(
        given: Option<&str>,
        vars: &[(&str, &str)],
        interactive: bool,
    ) -> Result<String, Refusal> {
        let var = |name: &str| {
            vars.iter().find(|(key, _)| *key == name).map(|(_, text)| (*text).to_owned())
        };
        let around = Surroundings { var: &var, interactive, login: "ann" };
        actor(given, &around).map(|id| id.to_string())
    }

    #[test]
    fn rule_1_a_person_at_a_terminal_and_a_script_elsewhere() {
        assert_eq!(who(None, &[], true).unwrap(), "human:ann");
        assert_eq!(who(None, &[], false).unwrap(), "script:ann");
        assert_eq!(who(Some("bot"), &[], true).unwrap(), "bot");
    }

    #[test]
    fn rule_1_a_marker_makes_an_agent_also_at_a_terminal() {
        let claude = [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "3f2a91bc-77aa-4d")];
        assert_eq!(who(None, &claude, true).unwrap(), "claude-code:3f2a91bc");
        assert_eq!(who(None, &[("CODEX_SANDBOX", "seatbelt")], false).unwrap(), "codex-cli");
        assert_eq!(who(None, &[("GEMINI_CLI", "1")], false).unwrap(), "gemini-cli");
        assert_eq!(who(None, &[("OPENCODE_PID", "4711")], false).unwrap(), "opencode:4711");
        assert_eq!(who(None, &[("GEMINI_CLI", "0")], false).unwrap(), "script:ann");
    }

    #[test]
    fn rule_1_with_a_marker_present_a_person_is_refused_also_when_asked_for() {
        let refusal = who(Some("human:ann"), &[("CLAUDECODE", "1")], true).unwrap_err();
        assert_eq!(refusal.code, Code::HumanOnly);
        assert_eq!(who(Some("other-agent"), &[("CLAUDECODE", "1")], true).unwrap(), "other-agent");
    }

    #[test]
    fn every_marker_names_a_valid_agent() {
        for marker in MARKERS {
            assert!(AgentId::parse(marker.client).is_ok(), "{}", marker.client);
            assert!(!marker.present.is_empty(), "{}", marker.client);
        }
    }
}
