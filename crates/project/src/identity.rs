//! Who acts: who was asked for, else the agent client that started this process, else a person or a script.
//!
//! A marker is a variable that an agent client sets for the commands that it runs. The list is kept by hand; a client
//! that is not in it sets `COMITY_AGENT`.

use crate::machine::{Environment, Machine};
use comity_core::hint::say;
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::via::Via;
use std::path::Path;

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
        client: "codex",
        present: &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"],
        session: &["CODEX_THREAD_ID"],
    },
    Marker { client: "gemini", present: &["GEMINI_CLI"], session: &["GEMINI_SESSION_ID"] },
    Marker { client: "qwen-code", present: &["QWEN_CODE"], session: &[] },
    Marker {
        client: "opencode",
        present: &["OPENCODE", "OPENCODE_PID"],
        session: &["OPENCODE_SESSION_ID", PID_VARIABLE],
    },
    Marker { client: "cursor", present: &["CURSOR_AGENT"], session: &["CURSOR_TRACE_ID"] },
    Marker {
        client: "copilot",
        present: &["COPILOT_AGENT", "COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"],
        session: &["COPILOT_AGENT_SESSION_ID"],
    },
    Marker { client: "aider", present: &["AIDER"], session: &[] },
    Marker { client: "goose", present: &["GOOSE_TERMINAL"], session: &["AGENT_SESSION_ID"] },
    Marker { client: "augment", present: &["AUGMENT_AGENT"], session: &[] },
];

/// Returns every variable that shows an agent client.
pub(crate) fn marker_variables() -> impl Iterator<Item = &'static str> {
    MARKERS.iter().flat_map(|marker| marker.present.iter().copied())
}

/// The client whose first session id is kept: `/clear` begins a new session in the same process, which is the same agent.
const CLAUDE: &str = "claude-code";
/// This variable names Claude's process in the commands that it runs.
const CLAUDE_PID: &str = "CLAUDE_PID";
/// How far up the client's process is looked for.
const ANCESTORS_MAX: usize = 32;
/// The fields of `/proc/PID/stat`, counted after the command's name.
const PARENT_FIELD: usize = 1;
const START_FIELD: usize = 19;
/// Longest session id that is kept or read back.
const SESSION_BYTES_MAX: u64 = 200;
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
    pub fn agent(&self, machine: &Machine) -> String {
        agent_of(self.name, self.told(machine).as_deref().unwrap_or_default())
    }

    /// Returns the session as the client tells it, or the client's process.
    fn told(&self, machine: &Machine) -> Option<String> {
        match &self.session {
            Some((_, session)) => Some(session.clone()),
            None => {
                let process = client_process(machine.parent?, self.variable)?;
                Some(process_session(machine.host.as_deref(), &process.to_string()))
            }
        }
    }

    /// Returns the session, so that no other session on any host ever has the same one.
    fn session(&self, machine: &Machine) -> Option<String> {
        match &self.session {
            Some((PID_VARIABLE, pid)) => Some(process_session(machine.host.as_deref(), pid)),
            _ => self.told(machine),
        }
    }
}

/// Finds the process of a client from a command that it runs, by walking up: the client sets its marker for others, so it is
/// the first process without the marker.
fn client_process(parent: u32, variable: &str) -> Option<u32> {
    let is_marked = |environment: Vec<u8>| {
        let mut all = environment.split(|byte| *byte == 0);
        all.any(|one| {
            one.strip_prefix(variable.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
        })
    };
    let mut process = parent;
    for _ in 0..ANCESTORS_MAX {
        if !is_marked(std::fs::read(format!("/proc/{process}/environ")).ok()?) {
            return Some(process);
        }
        process = stat_field(&process.to_string(), PARENT_FIELD)?.try_into().ok()?;
    }
    None
}

/// Returns the id of a client's agent in a session.
fn agent_of(client: &str, session: &str) -> String {
    let mut last: Vec<char> = session.chars().rev().filter(char::is_ascii_alphanumeric).collect();
    last.truncate(SESSION_CHARS);
    match last.is_empty() {
        true => client.to_owned(),
        false => format!("{client}:{}", last.iter().rev().collect::<String>()),
    }
}

/// What a door that an agent client started heard of its caller, beside the environment.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The name of the client, from the door's own arguments. It counts more than a marker: a client that another one
    /// started has the other's markers, too.
    pub client: Option<String>,
    /// The session of this one call, such as the thread of Codex.
    pub session: Option<String>,
    /// The session that the call's session was started from.
    pub root_session: Option<String>,
    /// The process of the client.
    pub process: Option<u32>,
}

/// Who calls through a door that an agent client started, and why comity thinks so.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub actor: AgentId,
    pub because: String,
    pub via: Via,
    /// Whether the same will be said of the same session as long as this process lives.
    pub lasts: bool,
}

/// Tells who calls through a door that an agent client started. Nobody is a person there, with a terminal or without.
/// None: nothing names the client, so the caller may only read.
pub fn of_client(
    named: Option<(&str, &str)>,
    machine: &Machine,
    said: &Said,
    sessions: &Path,
) -> Result<Option<Known>, Refusal> {
    let marked = Client::find(&machine.environment);
    let client = match (&said.client, &marked) {
        (Some(name), _) => Some(name.as_str()),
        (None, marked) => marked.as_ref().map(|client| client.name),
    };
    let host = machine.host.as_deref();
    let marked = marked.filter(|marked| Some(marked.name) == client);
    let of_process = || said.process.map(|pid| process_session(host, &pid.to_string()));
    let first = said.process.filter(|_| client == Some(CLAUDE));
    let first = first.and_then(|pid| first_session(sessions, pid));
    // The first session of a process of Claude may be noted only after it has started its servers.
    let lasts = named.is_some() || client != Some(CLAUDE) || first.is_some();
    let of_marker = marked.as_ref().and_then(|marked| marked.session(machine));
    let current = said.session.clone().or(of_marker).or_else(of_process);
    let told = marked.as_ref().and_then(|marked| marked.told(machine));
    let session = first.or_else(|| said.session.clone()).or(told).or_else(|| current.clone());
    let via = Via {
        client: client.map(str::to_owned),
        session: said.root_session.clone().or(current),
        login: Some(machine.login.clone()).filter(|login| !login.is_empty()),
        host: machine.host.clone(),
        source: None,
        terminal: None,
    };
    if let Some((name, source)) = named {
        let actor = AgentId::parse(name)?;
        if actor.is_person() {
            return Err(no_person(&actor, source));
        }
        return Ok(Some(Known { actor, because: format!("{source} names you"), via, lasts }));
    }
    let Some(client) = client else { return Ok(None) };
    let actor = AgentId::parse(&agent_of(client, session.as_deref().unwrap_or_default()))?;
    Ok(Some(Known { actor, because: format!("{client} runs this server"), via, lasts }))
}

fn no_person(id: &AgentId, source: &str) -> Refusal {
    Refusal::new(Code::HumanOnly, format!("{source} names {id}, and nobody is a person here"))
        .hint(say("agent clients run this door; name an agent, or leave ").say(source).say(" out"))
}

/// Returns the session of a client that tells none: its process on its host.
fn process_session(host: Option<&str>, pid: &str) -> String {
    let start = process_start(pid).map(|start| format!("@{start}"));
    format!("{}/{pid}{}", host.unwrap_or_default(), start.unwrap_or_default())
}

/// Keeps the first session of a client's process; a later one changes nothing.
pub fn keep_first_session(sessions: &Path, pid: u32, session: &str) -> std::io::Result<()> {
    let Some(start) = process_start(&pid.to_string()) else { return Ok(()) };
    std::fs::create_dir_all(sessions)?;
    match std::fs::File::create_new(sessions.join(format!("{pid}-{start}"))) {
        Ok(mut file) => std::io::Write::write_all(&mut file, session.as_bytes()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn first_session(sessions: &Path, pid: u32) -> Option<String> {
    let start = process_start(&pid.to_string())?;
    let file = sessions.join(format!("{pid}-{start}"));
    let is_short = std::fs::metadata(&file).is_ok_and(|about| about.len() <= SESSION_BYTES_MAX);
    let text = is_short.then(|| std::fs::read_to_string(&file).ok()).flatten()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the process of Claude that runs this one, and its session now.
pub fn claude_process(environment: &Environment) -> Option<u32> {
    environment.own(CLAUDE_PID)?.parse().ok()
}

/// Returns when a process began, in clock ticks since the host did.
fn process_start(pid: &str) -> Option<u64> {
    stat_field(pid, START_FIELD)
}

/// Returns a number that the system keeps of a process.
fn stat_field(pid: &str, field: usize) -> Option<u64> {
    let pid: u32 = pid.parse().ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the command, in parentheses, may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(field)?.parse().ok()
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
        session: client.as_ref().and_then(|client| client.session(machine)),
        client: client.map(|client| client.name.to_owned()),
        login: Some(machine.login.clone()).filter(|login| !login.is_empty()),
        host: machine.host.clone(),
        terminal: machine.terminal.clone(),
        source: None,
    }
}

/// Decides who acts. `given` is what the caller asked for.
pub(crate) fn actor(
    given: Option<&str>,
    machine: &Machine,
    sessions: &Path,
) -> Result<AgentId, Refusal> {
    let client = Client::find(&machine.environment);
    let Some(text) = given else {
        let login = &machine.login;
        return AgentId::parse(&match client {
            Some(client) => {
                let pid = claude_process(&machine.environment).filter(|_| client.name == CLAUDE);
                let first = pid.and_then(|pid| first_session(sessions, pid));
                first.map_or_else(|| client.agent(machine), |first| agent_of(client.name, &first))
            }
            None if machine.at_terminal => format!("human:{login}"),
            None => format!("script:{login}"),
        });
    };
    let id = AgentId::parse(text)?;
    id.not_reserved()?;
    match client {
        Some(client) if id.is_person() => Err(person_refused(&id, &client, machine)),
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

fn person_refused(id: &AgentId, client: &Client, machine: &Machine) -> Refusal {
    let (agent, variable) = (client.agent(machine), client.variable);
    let text = format!(
        "{id} cannot act here: {variable} is set, so comity takes you for the agent {agent}"
    );
    Refusal::new(Code::HumanOnly, text)
        .hint(say(format!("to act as {agent}, leave out ")).mention("as").say("; or ask a person"))
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
        actor(given, &machine(variables, at_terminal), Path::new("")).map(|id| id.to_string())
    }

    #[test]
    fn rule_1_a_person_at_a_terminal_and_a_script_elsewhere() {
        assert_eq!(who(None, &[], true).unwrap(), "human:ann");
        assert_eq!(who(None, &[], false).unwrap(), "script:ann");
        assert_eq!(who(Some("bot"), &[], true).unwrap(), "bot");
    }

    #[test]
    fn rule_1_8_nobody_acts_under_a_name_that_comity_itself_uses() {
        for name in ["watchdog", "file:tasks.json", "import:beads", "supervisor", "worker:one"] {
            assert_eq!(who(Some(name), &[], true).unwrap_err().code, Code::InvalidInput, "{name}");
        }
        assert_eq!(who(Some("watchdog-2"), &[], true).unwrap(), "watchdog-2");
    }

    #[test]
    fn rule_1_a_marker_makes_an_agent_also_at_a_terminal() {
        let claude = [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "3f2a91bc-77aa-4d")];
        assert_eq!(who(None, &claude, true).unwrap(), "claude-code:bc77aa4d");
        assert_eq!(who(None, &[("CODEX_SANDBOX", "seatbelt")], false).unwrap(), "codex");
        assert_eq!(who(None, &[("GEMINI_CLI", "1")], false).unwrap(), "gemini");
        assert_eq!(who(None, &[("OPENCODE_PID", "4711")], false).unwrap(), "opencode:4711");
        assert_eq!(who(None, &[("GEMINI_CLI", "0")], false).unwrap(), "script:ann");
    }

    #[test]
    fn rule_1_2_two_codex_sessions_of_one_minute_are_two_agents() {
        // Both ids begin with the same clock.
        let of = |session| {
            let machine = machine(&[("CODEX_THREAD_ID", session)], false);
            (actor(None, &machine, Path::new("")).unwrap().to_string(), via(&machine))
        };
        let (first, first_via) = of("019a92c4-5b1e-7c30-9d6f-1f4b8a2c7e01");
        let (second, second_via) = of("019a92c4-5b1e-7f11-8a02-77d0c3e95b42");
        assert_eq!((first.as_str(), second.as_str()), ("codex:8a2c7e01", "codex:c3e95b42"));
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
        assert_eq!((agent.client, agent.session), (text("gemini"), text("s-1")));
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_client_without_a_session_id_is_its_process_for_shell_and_server_alike() {
        // This process has no marker, so it is the client.
        let parent = Some(std::process::id());
        let machine = Machine { parent, ..machine(&[("GEMINI_CLI", "1")], false) };
        let shell = actor(None, &machine, Path::new("")).unwrap();
        assert!(shell.as_str().len() > "gemini:".len(), "{shell}");
        let said = Said { process: parent, ..Said::default() };
        let server = of_client(None, &machine, &said, Path::new("")).unwrap().unwrap();
        assert_eq!(
            (&server.actor, server.via.session.as_ref()),
            (&shell, via(&machine).session.as_ref())
        );
        let said = Said { client: Some("gemini".to_owned()), ..said };
        let unmarked = Machine { environment: Environment::default(), ..machine };
        let server = of_client(None, &unmarked, &said, Path::new("")).unwrap().unwrap();
        assert_eq!(server.actor, shell);
    }

    #[test]
    fn what_is_said_of_a_client_counts_more_than_the_marker_of_another() {
        let machine = machine(&[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s-1")], true);
        let said = Said {
            client: Some("codex".to_owned()),
            session: Some("thread-00000042".to_owned()),
            root_session: Some("root-1".to_owned()),
            process: None,
        };
        let known = of_client(None, &machine, &said, Path::new("")).unwrap().unwrap();
        assert_eq!(known.actor.as_str(), "codex:00000042");
        let session = known.via.session.as_deref();
        assert_eq!((known.via.client.as_deref(), session), (Some("codex"), Some("root-1")));
        let person = of_client(Some(("human:ann", "--as")), &machine, &said, Path::new(""));
        assert_eq!(person.unwrap_err().code, Code::HumanOnly);
    }

    #[test]
    fn nobody_is_a_person_at_a_door_of_agents_and_without_a_client_nobody_is_known() {
        let at_terminal = machine(&[], true);
        let known = of_client(None, &at_terminal, &Said::default(), Path::new("")).unwrap();
        assert_eq!(known, None);
    }

    #[test]
    fn every_marker_names_a_valid_agent() {
        for marker in MARKERS {
            assert!(AgentId::parse(marker.client).is_ok(), "{}", marker.client);
            assert!(!marker.present.is_empty(), "{}", marker.client);
        }
    }
}
