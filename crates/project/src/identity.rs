//! Who acts: who was asked for, else the agent client that started this process, else a person or a script.
//!
//! A marker is a variable that an agent client sets for the commands that it runs. The list is kept by hand; a client
//! that is not in it sets `COMITY_AGENT`.

use crate::machine::{Environment, Machine};
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::via::Via;

struct Marker {
    client: &'static str,
    /// Any of these variables says that the client runs us.
    present: &'static [&'static str],
    /// The first of these variables that is set names the session.
    session: &'static [&'static str],
}

/// `CURSOR_TRACE_ID` alone is no marker: Cursor also sets it for the terminals that people type in.
const MARKERS: &[Marker] = &[
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
        session: &["OPENCODE_SESSION_ID", PID_VARIABLE],
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

/// This variable holds only a process id, which other hosts and later processes use again.
const PID_VARIABLE: &str = "OPENCODE_PID";
/// How many of a session id's last characters go into the agent's id. The first ones of a UUIDv7 are a clock, so two
/// sessions that began in the same minute share them.
const SESSION_CHARS: usize = 8;

/// An agent client that runs this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub name: &'static str,
    /// The variable that gave the client away.
    pub variable: &'static str,
    session: Option<(&'static str, String)>,
}

impl Client {
    /// Recognises the client by its marker. A marker that is not text is a marker all the same.
    pub fn find(environment: &Environment) -> Option<Client> {
        let is_on = |name: &str| match environment.own(name) {
            Some(text) => !["", "0", "false"].contains(&text.as_str()),
            None => environment.has(name),
        };
        let text = |name: &'static str| {
            let value = environment.own(name).filter(|value| !value.is_empty())?;
            Some((name, value))
        };
        MARKERS.iter().find_map(|marker| {
            let variable = marker.present.iter().find(|name| is_on(name))?;
            let session = marker.session.iter().find_map(|name| text(name));
            Some(Client { name: marker.client, variable, session })
        })
    }

    /// Returns the id of the client's agent: `<client>:<last characters of its session>`.
    pub fn agent(&self) -> String {
        let session = self.session.as_ref().map_or("", |(_, session)| session.as_str());
        let mut last: Vec<char> =
            session.chars().rev().filter(char::is_ascii_alphanumeric).collect();
        last.truncate(SESSION_CHARS);
        if last.is_empty() {
            return self.name.to_owned();
        }
        format!("{}:{}", self.name, last.iter().rev().collect::<String>())
    }

    /// Returns the session, so that no other session on any host ever has the same one.
    fn session(&self, host: Option<&str>) -> Option<String> {
        let (variable, session) = self.session.as_ref()?;
        if *variable != PID_VARIABLE {
            return Some(session.clone());
        }
        let start = process_start(session).map(|start| format!("@{start}")).unwrap_or_default();
        Some(format!("{}/{session}{start}", host.unwrap_or_default()))
    }
}

/// Returns when a process began, in clock ticks since the host did.
fn process_start(pid: &str) -> Option<u64> {
    let pid: u32 = pid.parse().ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the command, in parentheses, may hold anything; the start time is the 20th field after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// What the ids of neo's agents begin with.
pub const NEO: &str = "neo:";
/// The most characters of a neo agent's name, and of its run's id, in comity's id of the agent.
const NEO_CHARS: usize = 60;

/// Returns what of a name or a run of neo can stand in an agent's id.
pub fn neo_word(text: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    text.chars().filter(fits).take(NEO_CHARS).collect()
}

/// Returns the agent in `NEO_AGENT_NAME` and `NEO_RUN_ID`. It is never a person, whatever its name is.
pub(crate) fn neo_agent(environment: &Environment) -> Result<Option<String>, Refusal> {
    let word = |name: &str| -> Result<Option<String>, Refusal> {
        let text = environment.get(name)?.map(|text| neo_word(&text));
        Ok(text.filter(|text| !text.is_empty()))
    };
    let Some(name) = word("NEO_AGENT_NAME")? else { return Ok(None) };
    Ok(Some(match word("NEO_RUN_ID")? {
        Some(run) => format!("{NEO}{name}:{run}"),
        None => format!("{NEO}{name}"),
    }))
}

/// Returns what every event of this process says about where it came from.
pub fn via(machine: &Machine) -> Via {
    let client = Client::find(&machine.environment);
    Via {
        session: client.as_ref().and_then(|client| client.session(machine.host.as_deref())),
        client: client.map(|client| client.name.to_owned()),
        login: Some(machine.login.clone()).filter(|login| !login.is_empty()),
        host: machine.host.clone(),
        terminal: machine.terminal.clone(),
    }
}

/// Decides who acts. `given` is what the caller asked for.
pub(crate) fn actor(given: Option<&str>, machine: &Machine) -> Result<AgentId, Refusal> {
    let client = Client::find(&machine.environment);
    let Some(text) = given else {
        let login = &machine.login;
        return AgentId::parse(&match client {
            Some(client) => client.agent(),
            None if machine.at_terminal => format!("human:{login}"),
            None => format!("script:{login}"),
        });
    };
    let id = AgentId::parse(text)?;
    match client {
        Some(client) if id.is_person() => Err(person_refused(&id, &client)),
        _ => Ok(id),
    }
}

/// Says why the caller is taken for whom it is taken.
pub(crate) fn because(named_by: Option<&str>, machine: &Machine) -> String {
    if let Some(source) = named_by {
        return format!("{source} names you");
    }
    match Client::find(&machine.environment) {
        Some(client) => format!("{} is set, which {} does", client.variable, client.name),
        None if machine.at_terminal => {
            "you are at a terminal, and no agent client runs you".to_owned()
        }
        None => "there is no terminal, and no agent client runs you".to_owned(),
    }
}

fn person_refused(id: &AgentId, client: &Client) -> Refusal {
    let (agent, variable) = (client.agent(), client.variable);
    let text = format!(
        "{id} cannot act here: {variable} is set, so comity takes you for the agent {agent}"
    );
    Refusal::new(Code::HumanOnly, text)
        .hint(format!("to act as {agent}, leave out --as and COMITY_AGENT; or ask a person"))
        .detail("marker", variable)
        .detail("taken_for", agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(variables: &[(&str, &str)], at_terminal: bool) -> Machine {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        Machine {
            environment: Environment::new(variables),
            at_terminal,
            login: "ann".to_owned(),
            host: Some("h1".to_owned()),
            ..Machine::default()
        }
    }

    fn who(
        given: Option<&str>,
        variables: &[(&str, &str)],
        at_terminal: bool,
    ) -> Result<String, Refusal> {
        actor(given, &machine(variables, at_terminal)).map(|id| id.to_string())
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
        assert_eq!(who(None, &claude, true).unwrap(), "claude-code:bc77aa4d");
        assert_eq!(who(None, &[("CODEX_SANDBOX", "seatbelt")], false).unwrap(), "codex-cli");
        assert_eq!(who(None, &[("GEMINI_CLI", "1")], false).unwrap(), "gemini-cli");
        assert_eq!(who(None, &[("OPENCODE_PID", "4711")], false).unwrap(), "opencode:4711");
        assert_eq!(who(None, &[("GEMINI_CLI", "0")], false).unwrap(), "script:ann");
    }

    #[test]
    fn rule_1_2_two_codex_sessions_of_one_minute_are_two_agents() {
        // Both ids begin with the same clock.
        let of = |session| {
            let machine = machine(&[("CODEX_THREAD_ID", session)], false);
            (actor(None, &machine).unwrap().to_string(), via(&machine))
        };
        let (first, first_via) = of("019a92c4-5b1e-7c30-9d6f-1f4b8a2c7e01");
        let (second, second_via) = of("019a92c4-5b1e-7f11-8a02-77d0c3e95b42");
        assert_eq!((first.as_str(), second.as_str()), ("codex-cli:8a2c7e01", "codex-cli:c3e95b42"));
        assert_eq!(first_via.session.as_deref(), Some("019a92c4-5b1e-7c30-9d6f-1f4b8a2c7e01"));
        assert_ne!(first_via, second_via);
    }

    #[test]
    fn rule_1_2_with_a_marker_present_a_person_is_refused_and_told_who_it_was_taken_for() {
        let claude = [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "3f2a91bc")];
        let refusal = who(Some("human:ann"), &claude, true).unwrap_err();
        assert_eq!(refusal.code, Code::HumanOnly);
        let wanted = "CLAUDECODE is set, so comity takes you for the agent claude-code:3f2a91bc";
        assert!(refusal.message.contains(wanted), "{}", refusal.message);
        assert_eq!(who(Some("other-agent"), &claude, true).unwrap(), "other-agent");
    }

    #[test]
    fn rule_1_6_via_says_what_is_known_of_the_process() {
        let person = Machine { terminal: Some("/dev/pts/3".to_owned()), ..machine(&[], true) };
        let text = |text: &str| Some(text.to_owned());
        let (login, host, terminal) = (text("ann"), text("h1"), text("/dev/pts/3"));
        assert_eq!(via(&person), Via { login, host, terminal, ..Via::default() });
        let agent = via(&machine(&[("GEMINI_CLI", "1"), ("GEMINI_SESSION_ID", "s-1")], false));
        assert_eq!((agent.client, agent.session), (text("gemini-cli"), text("s-1")));
    }

    #[test]
    fn rule_1_6_a_session_that_is_only_a_pid_is_joined_with_host_and_start_time() {
        let session = |pid: &str| via(&machine(&[("OPENCODE_PID", pid)], false)).session.unwrap();
        assert_eq!(session("no number"), "h1/no number");
        let own = session(&std::process::id().to_string());
        assert!(own.starts_with(&format!("h1/{}", std::process::id())), "{own}");
        #[cfg(target_os = "linux")]
        assert!(own.split_once('@').unwrap().1.parse::<u64>().unwrap() > 0, "{own}");
    }

    #[test]
    fn every_marker_names_a_valid_agent() {
        for marker in MARKERS {
            assert!(AgentId::parse(marker.client).is_ok(), "{}", marker.client);
            assert!(!marker.present.is_empty(), "{}", marker.client);
        }
    }
}
